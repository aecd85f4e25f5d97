/* deltafold log: the ledger, newest last. */
#include "cli/columns.h"
#include "cli/command.h"
#include "cli/entry.h"
#include "cli/human.h"
#include "cli/opened.h"

struct log {
    uint64_t n;
    bool json;
};

static const struct option options[] = {
    { .name = "number",
      .letter = 'n',
      .kind = OPTION_NUMBER,
      .offset = offsetof(struct log, n),
      .min = 1,
      .value = "N",
      .help = "only the last N entries",
      .initial = "all" },
    { .name = "json",
      .kind = OPTION_FLAG,
      .offset = offsetof(struct log, json),
      .help = "one JSON object per entry, with all there is" },
    { 0 }
};

static const char *const headings[] = { "SEQ",       "TIME",    "BATCH",
                                        "DOCUMENTS", "PAIRS",   "ROWS",
                                        "METHOD",    "INSTALL", "PREDICTED",
                                        "TOOK",      "NOTE" };
/* The last column is there only where there is something to say. */
#define ALIGN "rllrrrlrrr"
#define ALIGN_NOTE ALIGN "l"

static void add_name(struct columns *t, const struct ledger_entry *e)
{
    struct shown s;

    (void)shown(&s, e->name);
    if (e->kind == LEDGER_UNDO || e->kind == LEDGER_REDO) {
        columns_printf(t, "(%s of %s)",
                       e->kind == LEDGER_UNDO ? "undo" : "redo", s.text);
    } else if (e->kind == LEDGER_BATCH) {
        columns_cell(t, s.text);
    } else if (e->name.len == 0) {
        columns_cell(t, "(rebuild)");
    } else {
        columns_printf(t, "(rebuild as of %s)", s.text);
    }
}

/* With what is not folded: how far off that number can be. */
static void add_rows(struct columns *t, const struct ledger_entry *e)
{
    char a[HUMAN_MAX];
    char b[HUMAN_MAX];

    if (e->unfolded == 0) {
        columns_cell(t, human_count(a, e->rows));
    } else {
        columns_printf(t, "%s +-%s", human_count(a, e->rows),
                       human_count(b, e->unfolded));
    }
}

static bool has_note(const struct ledger_entry *e)
{
    return e->note.len > 0 || e->undone;
}

static void add_entry(struct columns *t, const struct ledger_entry *e,
                      bool notes)
{
    char a[HUMAN_MAX];
    char b[HUMAN_MAX];

    columns_cell(t, human_count(a, e->seq));
    columns_cell(t, human_time(a, e->time));
    add_name(t, e);
    columns_printf(t, "+%s -%s", human_count(a, e->inserted),
                   human_count(b, e->deleted));
    columns_cell(t, human_count(a, e->pairs));
    add_rows(t, e);
    columns_cell(t, install_method_name(e->method));
    columns_cell(t, human_duration(a, e->install_us));
    columns_cell(t, e->predicted_us == 0 ? "-"
                                         : human_duration(a, e->predicted_us));
    columns_cell(t, human_duration(a, e->measured_us));
    if (notes) {
        columns_printf(t, "%.*s%s%s", (int)e->note.len,
                       (const char *)e->note.data,
                       e->note.len > 0 && e->undone ? ", " : "",
                       e->undone ? "undone" : "");
    }
}

static void print_json(struct output *out, const struct ledger_entry *e,
                       const struct df_job *job)
{
    struct json j = { .out = out };

    json_open(&j, NULL);
    entry_json(&j, e, job);
    json_close(&j);
    json_line(&j);
}

/* From entry `seq` on; numbers that a rebuild took back are passed over. */
static enum df_status each_entry(struct opened *o, uint64_t seq, bool json,
                                 bool notes, struct columns *t,
                                 struct output *out, struct df_error *err)
{
    uint64_t last = snapshot_state(o->snapshot).seq;
    enum df_status status = DF_OK;

    for (; status == DF_OK && seq <= last; seq++) {
        struct ledger_entry e;
        bool found;

        status = snapshot_ledger_get(o->snapshot, seq, &e, &found, err);
        if (status != DF_OK || !found) {
            continue;
        }
        if (json) {
            print_json(out, &e, o->job);
        } else {
            add_entry(t, &e, notes);
        }
    }
    return status;
}

/* Whether any entry from `seq` on has a note. */
static enum df_status find_notes(struct opened *o, uint64_t seq, bool *notes,
                                 struct df_error *err)
{
    uint64_t last = snapshot_state(o->snapshot).seq;
    enum df_status status = DF_OK;

    *notes = false;
    for (; status == DF_OK && !*notes && seq <= last; seq++) {
        struct ledger_entry e;
        bool found;

        status = snapshot_ledger_get(o->snapshot, seq, &e, &found, err);
        *notes = status == DF_OK && found && has_note(&e);
    }
    return status;
}

static enum df_status print(struct invocation *in, const struct log *log,
                            struct opened *o, struct df_error *err)
{
    uint64_t last = snapshot_state(o->snapshot).seq;
    uint64_t first = log->n == 0 || log->n >= last ? 1 : last - log->n + 1;
    struct columns t = { .align = ALIGN };
    bool notes;
    enum df_status status = find_notes(o, first, &notes, err);

    t.align = notes ? ALIGN_NOTE : ALIGN;
    for (size_t i = 0; i < strlen(t.align); i++) {
        columns_cell(&t, headings[i]);
    }
    if (status == DF_OK) {
        status = each_entry(o, first, log->json, notes, &t, in->out, err);
    }
    if (status == DF_OK && !log->json && last > 0) {
        status = columns_print(&t, in->out, err);
    }
    columns_fini(&t);
    return status;
}

static enum df_status run(struct invocation *in, struct df_error *err)
{
    struct log log = { 0 };
    enum df_status status = command_parse(in, (void *[]){ &log }, err);
    struct opened o;

    if (status == DF_OK) {
        status = opened_read(&o, in->argv[0], err);
    }
    if (status != DF_OK) {
        return status;
    }
    status = print(in, &log, &o, err);
    opened_close(&o);
    return status;
}

const struct command command_log = {
    .name = "log",
    .summary = "list the batches that were applied",
    .synopsis = "VIEW [-n N] [--json]",
    .text =
        "Lists what was applied to the view, newest last: number, time "
        "(UTC), batch, documents inserted and deleted, pairs that map "
        "emitted, rows of the view afterwards, how they were installed, how "
        "long that took from the reduced batch to the commit and what was "
        "predicted for it, and how long it took in all; where a view has a "
        "window, how full it was and what was missing, and which batches were "
        "undone since. Rows +-N are those that are folded, with N changes "
        "that are not (see compact). Nothing is printed for a view to which "
        "nothing was applied.\n"
        "\n"
        "In --json, map_us, reduce_us and install_us are the phases, and "
        "map_cpu_us and so on their processor time, all threads together: "
        "where it is as many times as long as there are threads, none was "
        "idle.",
    .examples = "  deltafold log words -n 7\n"
                "  deltafold log words --json | jq .measured_us",
    .options = { options },
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
