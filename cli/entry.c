#include "cli/entry.h"

#include "cli/human.h"

enum { NAME_COLUMNS = 10 }; /* of a date */

static const char *kind_name(enum ledger_kind kind)
{
    switch (kind) {
    case LEDGER_BATCH:
        break;
    case LEDGER_REBUILD:
        return "rebuild";
    case LEDGER_UNDO:
        return "undo";
    case LEDGER_REDO:
        return "redo";
    }
    return "batch";
}

void entry_json_rows(struct json *j, uint64_t rows, uint64_t unfolded)
{
    if (unfolded == 0) {
        json_uint(j, "rows", rows);
    } else {
        json_null(j, "rows");
    }
    json_uint(j, "rows_folded", rows);
    json_uint(j, "changes_unfolded", unfolded);
}

static void put_rows(struct json *j, const struct ledger_entry *e)
{
    json_bool(j, "rows_seen", e->rows_seen);
    if (e->rows_seen) {
        json_uint(j, "rows_added", e->rows_added);
        json_uint(j, "rows_changed", e->rows_changed);
        json_uint(j, "rows_removed", e->rows_removed);
    } else {
        json_null(j, "rows_added");
        json_null(j, "rows_changed");
        json_null(j, "rows_removed");
    }
    entry_json_rows(j, e->rows, e->unfolded);
    json_hash(j, "view_before", e->view_before);
    json_hash(j, "view_after", e->view_after);
}

static void put_counters(struct json *j, const struct ledger_entry *e,
                         const struct df_job *job)
{
    json_open(j, "counters");
    for (size_t i = 0; job != NULL && job->counters[i] != NULL; i++) {
        json_uint(j, job->counters[i], e->counters[i]);
    }
    json_close(j);
}

/* Where time stands, and where the outcomes went: fold jobs alone. */
static void put_fold(struct json *j, const struct ledger_entry *e)
{
    if (e->clock.has_seen) {
        json_int(j, "latest_point", e->clock.latest);
    }
    if (e->clock.is_set) {
        json_int(j, "expiry_point", e->clock.start);
    }
    if (e->outcomes.len > 0) {
        json_bytes(j, "outcomes", e->outcomes);
    }
}

/* Numbers of the entries whose runs were added, those that were subtracted
 * with a minus; where it is not simply the entry's own. */
static void put_effects(struct json *j, const struct ledger_entry *e)
{
    if (!e->has_effects) {
        return;
    }
    json_open_array(j, "effects");
    for (size_t i = 0; i < ledger_effects(e); i++) {
        struct ledger_effect effect = ledger_effect(e, i);

        json_int(j, NULL,
                 effect.minus ? -(int64_t)effect.seq : (int64_t)effect.seq);
    }
    json_close_array(j);
}

static void put_history(struct json *j, const struct ledger_entry *e)
{
    json_bool(j, "kept", e->kept);
    json_bool(j, "undone", e->undone);
    put_effects(j, e);
    if (e->note.len > 0) {
        json_bytes(j, "note", e->note);
    }
    if (e->gap > 0) {
        json_uint(j, "gap", e->gap);
    }
}

void entry_json(struct json *j, const struct ledger_entry *e,
                const struct df_job *job)
{
    json_uint(j, "seq", e->seq);
    json_text(j, "kind", kind_name(e->kind));
    json_bytes(j, "name", e->name);
    json_hash(j, "digest", e->digest);
    json_text(j, "method", install_method_name(e->method));
    json_uint(j, "inserted", e->inserted);
    json_uint(j, "deleted", e->deleted);
    json_uint(j, "quarantined", e->quarantined);
    json_uint(j, "records", e->records);
    json_uint(j, "records_skipped", e->records_skipped);
    json_uint(j, "input_bytes", e->input_bytes);
    json_uint(j, "pairs", e->pairs);
    json_uint(j, "run_rows", e->run_rows);
    put_rows(j, e);
    put_counters(j, e, job);
    json_uint(j, "spills", e->spills);
    json_int(j, "time", e->time);
    json_uint(j, "predicted_us", e->predicted_us);
    json_uint(j, "model_us", e->model_us);
    json_uint(j, "model_commit_us", e->model_commit_us);
    json_uint(j, "measured_us", e->measured_us);
    json_uint(j, "map_us", e->map_us);
    json_uint(j, "reduce_us", e->reduce_us);
    json_uint(j, "install_us", e->install_us);
    json_uint(j, "map_cpu_us", e->map_cpu_us);
    json_uint(j, "reduce_cpu_us", e->reduce_cpu_us);
    json_uint(j, "install_cpu_us", e->install_cpu_us);
    json_uint(j, "threads", e->threads);
    json_uint(j, "compact_us", e->compact_us);
    json_bytes(j, "program", e->program);
    put_fold(j, e);
    put_history(j, e);
}

static void print_rows(struct output *out, const struct ledger_entry *e)
{
    char a[HUMAN_MAX];
    char b[HUMAN_MAX];
    char c[HUMAN_MAX];

    if (e->rows_seen) {
        output_printf(
            out, "%s row%s added, %s changed, %s removed",
            human_count(a, e->rows_added), human_plural(e->rows_added),
            human_count(b, e->rows_changed), human_count(c, e->rows_removed));
    } else {
        output_printf(out, "%s row%s in the view", human_count(a, e->rows),
                      human_plural(e->rows));
    }
    if (e->unfolded > 0) {
        output_printf(out, " and %s change%s not yet folded",
                      human_count(a, e->unfolded), human_plural(e->unfolded));
    }
}

static void print_documents(struct output *out, const struct ledger_entry *e)
{
    char a[HUMAN_MAX];
    char b[HUMAN_MAX];

    output_printf(out, "+%s -%s documents", human_count(a, e->inserted),
                  human_count(b, e->deleted));
    if (e->quarantined > 0) {
        output_printf(out, " (%s quarantined)",
                      human_count(a, e->quarantined));
    }
    output_printf(out, "  %s pair%s  ", human_count(a, e->pairs),
                  human_plural(e->pairs));
}

void entry_print_name(struct output *out, struct bytes name)
{
    struct shown s;
    struct bytes text = bytes_of_string(shown(&s, name));

    output_printf(out, "%s%*s  ", s.text, human_pad(text, NAME_COLUMNS), "");
}

void entry_print(struct output *out, const struct ledger_entry *e)
{
    char a[HUMAN_MAX];

    if (e->kind != LEDGER_UNDO && e->kind != LEDGER_REDO) {
        print_documents(out, e);
    }
    print_rows(out, e);
    output_printf(out, "  %s  %s", install_method_name(e->method),
                  human_duration(a, e->measured_us));
    if (e->note.len > 0) {
        output_printf(out, "  %.*s", (int)e->note.len,
                      (const char *)e->note.data);
    }
}
