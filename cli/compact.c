/* deltafold compact: deferred runs folded into the rows. */
#include "state/compact.h"
#include "cli/human.h"
#include "cli/json.h"
#include "cli/writer.h"
#include "runtime/crew.h"

struct compact {
    bool json;
};

static const struct option options[] = {
    { .name = "json",
      .kind = OPTION_FLAG,
      .offset = offsetof(struct compact, json),
      .help = "what was done as a JSON object" },
    { 0 }
};

/* What there was to do, and what the view is now. */
struct done {
    struct compact_report report;
    struct snapshot_state state;
    uint64_t disk_before;
    uint64_t disk;
};

static void print_json(struct output *out, const struct done *d)
{
    struct json j = { .out = out };

    json_open(&j, NULL);
    json_uint(&j, "folded_runs", d->report.folded);
    json_uint(&j, "changes", d->report.changes);
    json_uint(&j, "us", d->report.us);
    json_uint(&j, "rows", d->state.rows);
    json_uint(&j, "disk_bytes_before", d->disk_before);
    json_uint(&j, "disk_bytes", d->disk);
    json_close(&j);
    json_line(&j);
}

static void print_text(struct output *out, const struct done *d)
{
    char a[HUMAN_MAX];
    char b[HUMAN_MAX];

    if (d->report.folded == 0) {
        output_printf(out, "nothing to fold  %s row%s\n",
                      human_count(a, d->state.rows),
                      human_plural(d->state.rows));
        return;
    }
    output_printf(
        out, "folded %s run%s of %s", human_count(a, d->report.folded),
        human_plural(d->report.folded), human_count(b, d->report.changes));
    output_printf(out, " row%s  %s row%s in the view",
                  human_plural(d->report.changes),
                  human_count(a, d->state.rows), human_plural(d->state.rows));
    output_printf(out, "  %s  ", human_duration(a, d->report.us));
    output_printf(out, "%s on disk\n", human_bytes(a, d->disk));
}

static enum df_status see(struct opened *o, struct done *d,
                          struct df_error *err)
{
    struct snapshot *s;
    enum df_status status = snapshot_open(&s, o->view, err);

    if (status == DF_OK) {
        d->state = snapshot_state(s);
        d->disk = view_disk_bytes(o->view);
        snapshot_close(s);
    }
    return status;
}

static enum df_status compact(struct invocation *in, const void *given,
                              struct writing *w, struct df_error *err)
{
    const struct compact *options_given = given;
    struct view *v = w->opened.view;
    struct compact_plan plan = { .everything = true,
                                 .threads = crew_threads(&w->engine),
                                 .stop = w->engine.stop };
    struct done done = { .disk_before = view_disk_bytes(v) };
    enum df_status status = view_compact(v, &plan, &done.report, err);

    progress_clear(&w->progress);
    if (status == DF_OK) {
        status = see(&w->opened, &done, err);
    }
    if (status == DF_OK && options_given->json) {
        print_json(in->out, &done);
    } else if (status == DF_OK) {
        print_text(in->out, &done);
    }
    return status;
}

static enum df_status run(struct invocation *in, struct df_error *err)
{
    struct compact given = { 0 };

    return writer_run(in, &given, NULL, compact, err);
}

const struct command command_compact = {
    .name = "compact",
    .summary = "fold what was deferred into the rows of a view",
    .synopsis = "VIEW [--json] [OPTION ...]",
    .text = "Batches that are installed with --install=defer are stored as "
            "they are and added to the rows by readers. After each run some "
            "of that is folded into the rows, before reading gets slow; this "
            "folds all of it, and removes what is not needed any more. The "
            "view holds the same before, after and meanwhile, and readers "
            "are not disturbed. Interrupted, it goes on where it was.",
    .examples = "  deltafold compact words\n"
                "  deltafold compact words --json | jq .disk_bytes",
    .options = { options, writer_options, resource_threads },
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
