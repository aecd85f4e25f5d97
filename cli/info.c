/* deltafold info: what a view is and where it stands. */
#include <stdlib.h>

#include "cli/columns.h"
#include "cli/command.h"
#include "cli/entry.h"
#include "cli/human.h"
#include "cli/json.h"
#include "cli/opened.h"
#include "runtime/fold_state.h"
#include "state/history.h"
#include "state/settings.h"

struct info {
    bool json;
};

static const struct option options[] = { { .name = "json",
                                           .kind = OPTION_FLAG,
                                           .offset =
                                               offsetof(struct info, json),
                                           .help = "a JSON object" },
                                         { 0 } };

/* The job's options as an object of strings. */
static enum df_status json_options(struct json *j, struct bytes definition,
                                   struct df_error *err)
{
    char *text = malloc(definition.len + 1);
    struct bytes rest = definition;
    struct bytes word;

    if (text == NULL) {
        return error_no_memory(err);
    }
    json_open(j, "options");
    for (size_t i = 0; opened_word(&rest, &word); i++) {
        size_t len = opened_plain(text, word);
        char *equals = memchr(text, '=', len);

        if (i >= 2 && equals != NULL) { /* behind name and version */
            *equals = '\0';
            json_bytes(
                j, text,
                bytes_of(equals + 1, len - (size_t)(equals + 1 - text)));
        }
    }
    json_close(j);
    free(text);
    return DF_OK;
}

/* What export prints, by name. */
static void json_columns(struct json *j, const struct opened *o)
{
    const char *const *names = o->present->columns(o->spec.config);

    json_open_array(j, "columns");
    for (size_t i = 0; names[i] != NULL; i++) {
        json_text(j, NULL, names[i]);
    }
    json_close_array(j);
}

static void add_columns(struct columns *t, const struct opened *o)
{
    const char *const *names = o->present->columns(o->spec.config);
    struct buf all = { 0 };
    struct shown s;
    bool ok = true;

    for (size_t i = 0; ok && names[i] != NULL; i++) {
        ok = buf_printf(&all, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    t->no_memory = t->no_memory || !ok;
    columns_cell(t, "columns");
    columns_cell(t, shown(&s, buf_bytes(&all)));
    buf_fini(&all);
}

/* ---- views whose keys expire, and others of fold jobs ---- */

static bool is_fold(const struct opened *o)
{
    return o->present != NULL && o->job->fold != NULL;
}

static void json_time(struct json *j, const char *name, bool is_known,
                      const struct opened *o, int64_t time)
{
    char room[DF_TIME_TEXT];

    if (is_known) {
        json_text(j, name,
                  o->job->fold->show_time(o->spec.config, time, room));
    } else {
        json_null(j, name);
    }
}

static void json_fold(struct json *j, const struct opened *o,
                      const struct fold_state *f)
{
    json_uint(j, "live_keys", f->keys);
    if (o->job->fold->is_timed(o->spec.config)) {
        json_uint(j, "live_spans", f->spans);
        json_time(j, "latest_point", f->clock.has_seen, o, f->clock.latest);
        json_time(j, "expiry_point", f->clock.is_set, o, f->clock.start);
    }
}

static void add_time(struct columns *t, const char *name, bool is_known,
                     const struct opened *o, int64_t time)
{
    char room[DF_TIME_TEXT];

    columns_cell(t, name);
    columns_cell(t, is_known
                        ? o->job->fold->show_time(o->spec.config, time, room)
                        : "none");
}

static void add_fold(struct columns *t, const struct opened *o,
                     const struct fold_state *f)
{
    char room[HUMAN_MAX];

    columns_cell(t, "live keys");
    columns_cell(t, human_count(room, f->keys));
    if (o->job->fold->is_timed(o->spec.config)) {
        columns_cell(t, "live spans");
        columns_cell(t, human_count(room, f->spans));
        add_time(t, "latest point", f->clock.has_seen, o, f->clock.latest);
        add_time(t, "expiry point", f->clock.is_set, o, f->clock.start);
    }
}

/* ---- all there is ---- */

static enum df_status json_kept(struct json *j, const struct opened *o,
                                struct df_error *err)
{
    struct kept_runs k;
    enum df_status status = snapshot_kept_runs(o->snapshot, &k, err);

    if (status == DF_OK) {
        json_uint(j, "keep", k.keep);
        json_uint(j, "kept_runs", k.runs);
        json_uint(j, "kept_pairs", k.rows);
        json_uint(j, "kept_bytes", k.stored);
        json_uint(j, "reach", k.reach);
    }
    return status;
}

static enum df_status json_base(struct json *j, const struct opened *o,
                                struct df_error *err)
{
    struct bytes base;
    enum df_status status =
        snapshot_setting(o->snapshot, SETTING_BASE, &base, err);

    if (status == DF_OK && base.len > 0) {
        json_bytes(j, "base", base);
    } else if (status == DF_OK) {
        json_null(j, "base");
    }
    return status;
}

static enum df_status add_base(struct columns *t, const struct opened *o,
                               struct df_error *err)
{
    struct bytes base;
    struct shown s;
    enum df_status status =
        snapshot_setting(o->snapshot, SETTING_BASE, &base, err);

    if (status == DF_OK && base.len > 0) {
        columns_cell(t, "base");
        columns_cell(t, shown(&s, base));
    }
    return status;
}

/* Lines for views that keep something. */
static enum df_status add_kept(struct columns *t, const struct opened *o,
                               const struct ledger_entry *last,
                               struct df_error *err)
{
    struct kept_runs k;
    char a[HUMAN_MAX];
    char b[HUMAN_MAX];
    enum df_status status = snapshot_kept_runs(o->snapshot, &k, err);

    if (status == DF_OK && last != NULL && last->note.len > 0) {
        columns_cell(t, "state");
        columns_printf(t, "%.*s", (int)last->note.len,
                       (const char *)last->note.data);
    }
    if (status == DF_OK && k.keep + k.runs > 0) {
        columns_cell(t, "kept");
        columns_printf(t, "%s run%s, %s, back to #%llu (keep %llu)",
                       human_count(a, k.runs), human_plural(k.runs),
                       human_bytes(b, k.stored), (unsigned long long)k.reach,
                       (unsigned long long)k.keep);
    }
    return status;
}

static enum df_status print_json(struct output *out, const struct opened *o,
                                 const struct ledger_entry *last,
                                 const struct fold_state *fold,
                                 struct df_error *err)
{
    const struct view_definition *d = view_definition(o->view);
    struct snapshot_state state = snapshot_state(o->snapshot);
    struct json j = { .out = out };
    struct bytes rest = d->text;
    struct bytes job = { 0 };
    enum df_status status;

    (void)opened_word(&rest, &job);
    json_open(&j, NULL);
    json_bytes(&j, "definition", d->text);
    json_bytes(&j, "job", job);
    status = json_options(&j, d->text, err);
    json_uint(&j, "shards", d->shards);
    json_uint(&j, "batches", state.seq);
    entry_json_rows(&j, state.rows, state.unfolded);
    if (o->present != NULL) {
        json_columns(&j, o);
    }
    if (is_fold(o)) {
        json_fold(&j, o, fold);
    }
    json_hash(&j, "digest", state.digest);
    if (last != NULL) {
        json_bytes(&j, "last_batch", last->name);
    } else {
        json_null(&j, "last_batch");
    }
    if (last != NULL && last->note.len > 0) {
        json_bytes(&j, "note", last->note);
    }
    if (status == DF_OK) {
        status = json_kept(&j, o, err);
    }
    if (status == DF_OK) {
        status = json_base(&j, o, err);
    }
    json_uint(&j, "disk_bytes", view_disk_bytes(o->view));
    json_close(&j);
    json_line(&j);
    return status;
}

static const char *entry_prefix(enum ledger_kind kind)
{
    switch (kind) {
    case LEDGER_BATCH:
        break;
    case LEDGER_REBUILD:
        return "rebuild as of ";
    case LEDGER_UNDO:
        return "undo of ";
    case LEDGER_REDO:
        return "redo of ";
    }
    return "";
}

static void add_last(struct columns *t, const struct ledger_entry *last)
{
    char room[HUMAN_MAX];
    struct shown s;

    columns_cell(t, "last batch");
    if (last == NULL) {
        columns_cell(t, "none");
        return;
    }
    columns_printf(t, "%s%s, %s", entry_prefix(last->kind),
                   last->name.len > 0 ? shown(&s, last->name) : "none",
                   human_time(room, last->time));
}

static void add_rows(struct columns *t, struct snapshot_state state)
{
    char a[HUMAN_MAX];
    char b[HUMAN_MAX];

    if (state.unfolded == 0) {
        columns_cell(t, human_count(a, state.rows));
    } else {
        columns_printf(t, "%s, and %s change%s not yet folded",
                       human_count(a, state.rows),
                       human_count(b, state.unfolded),
                       human_plural(state.unfolded));
    }
}

static enum df_status print_text(struct output *out, const struct opened *o,
                                 const struct ledger_entry *last,
                                 const struct fold_state *fold,
                                 struct df_error *err)
{
    const struct view_definition *d = view_definition(o->view);
    struct snapshot_state state = snapshot_state(o->snapshot);
    uint64_t disk = view_disk_bytes(o->view);
    struct columns t = { .align = "ll" };
    char a[HUMAN_MAX];
    char digest[HASH128_TEXT];
    enum df_status status;
    struct shown s;

    columns_cell(&t, "definition");
    columns_cell(&t, shown(&s, d->text));
    columns_cell(&t, "shards");
    columns_printf(&t, "%u", d->shards);
    columns_cell(&t, "batches");
    columns_cell(&t, human_count(a, state.seq));
    add_last(&t, last);
    columns_cell(&t, "rows");
    add_rows(&t, state);
    if (o->present != NULL) {
        add_columns(&t, o);
    }
    if (is_fold(o)) {
        add_fold(&t, o, fold);
    }
    columns_cell(&t, "digest");
    columns_cell(&t, hash128_text(digest, state.digest));
    columns_cell(&t, "disk");
    columns_cell(&t, human_bytes(a, disk));
    status = add_kept(&t, o, last, err);
    if (status == DF_OK) {
        status = add_base(&t, o, err);
    }
    if (status == DF_OK) {
        status = columns_print(&t, out, err);
    }
    columns_fini(&t);
    return status;
}

static enum df_status run(struct invocation *in, struct df_error *err)
{
    struct info info = { 0 };
    enum df_status status = command_parse(in, (void *[]){ &info }, err);
    struct ledger_entry last = { 0 };
    struct fold_state fold = { 0 };
    struct opened o;
    bool found;

    if (status == DF_OK) {
        status = opened_read(&o, in->argv[0], err);
    }
    if (status != DF_OK) {
        return status;
    }
    status = opened_last(&o, &last, &found, err);
    if (status == DF_OK && is_fold(&o)) {
        status = fold_state_read(&fold, o.snapshot, &o.spec, err);
    }
    if (status == DF_OK) {
        status =
            info.json
                ? print_json(in->out, &o, found ? &last : NULL, &fold, err)
                : print_text(in->out, &o, found ? &last : NULL, &fold, err);
    }
    opened_close(&o);
    return status;
}

const struct command command_info = {
    .name = "info",
    .summary = "show what a view is and where it stands",
    .synopsis = "VIEW [--json]",
    .text = "Shows the job and its options, the number of shards, how many "
            "batches were applied (each undo, redo and rebuild counts, too) "
            "and which was the last, the number of rows "
            "(and of changes that readers add to them, see compact), "
            "the digest of all rows (views with equal digests are equal), "
            "the bytes on disk, and where its documents lie, if it knows "
            "(see base).",
    .examples = "  deltafold info words\n"
                "  deltafold info words --json | jq -r .digest",
    .options = { options },
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
