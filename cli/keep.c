/* deltafold keep: how much history a view keeps. */
#include "cli/command.h"
#include "cli/human.h"
#include "cli/json.h"
#include "cli/opened.h"
#include "cli/writer.h"
#include "state/history.h"

struct keep {
    bool json;
};

static const struct option options[] = { { .name = "json",
                                           .kind = OPTION_FLAG,
                                           .offset =
                                               offsetof(struct keep, json),
                                           .help = "a JSON object" },
                                         { 0 } };

static void print_json(struct output *out, const struct kept_runs *k)
{
    struct json j = { .out = out };

    json_open(&j, NULL);
    json_uint(&j, "keep", k->keep);
    json_uint(&j, "runs", k->runs);
    json_uint(&j, "rows", k->rows);
    json_uint(&j, "bytes", k->stored);
    json_uint(&j, "reach", k->reach);
    json_close(&j);
    json_line(&j);
}

static void print_text(struct output *out, const struct kept_runs *k)
{
    char a[HUMAN_MAX];
    char b[HUMAN_MAX];
    char c[HUMAN_MAX];

    output_printf(out, "keep %s: %s run%s kept, ", human_count(a, k->keep),
                  human_count(b, k->runs), human_plural(k->runs));
    output_printf(out, "%s pair%s, %s, back to #%s\n", human_count(a, k->rows),
                  human_plural(k->rows), human_bytes(b, k->stored),
                  human_count(c, k->reach));
}

static enum df_status show(struct invocation *in, const struct keep *keep,
                           struct df_error *err)
{
    struct kept_runs k;
    struct opened o;
    enum df_status status = opened_read(&o, in->argv[0], err);

    if (status != DF_OK) {
        return status;
    }
    status = snapshot_kept_runs(o.snapshot, &k, err);
    if (status == DF_OK && keep->json) {
        print_json(in->out, &k);
    } else if (status == DF_OK) {
        print_text(in->out, &k);
    }
    opened_close(&o);
    return status;
}

static enum df_status set(struct invocation *in, const struct writer *writer,
                          uint64_t n, struct df_error *err)
{
    struct view *v;
    enum df_status status =
        view_open(&v, in->argv[0], VIEW_WRITE, (unsigned)writer->wait, err);

    if (status == DF_OK) {
        status = view_set_keep(v, n, err);
        view_close(v);
    }
    return status;
}

static enum df_status run(struct invocation *in, struct df_error *err)
{
    struct keep keep = { 0 };
    struct writer writer = { .wait = WRITER_WAIT_INITIAL };
    enum df_status status =
        command_parse(in, (void *[]){ &keep, &writer }, err);
    uint64_t n;

    if (status == DF_OK && in->argc == 2) {
        status = opened_keep(in->argv[1], &n, err);
        if (status == DF_OK) {
            status = set(in, &writer, n, err);
        }
    }
    return status == DF_OK ? show(in, &keep, err) : status;
}

const struct command command_keep = {
    .name = "keep",
    .summary = "show or set how much history a view keeps",
    .synopsis = "VIEW [N] [--json]",
    .text =
        "With N (0 to 10,000) the view keeps from now on what each of the "
        "last N entries of its log amounted to, for diff, why, undo, redo and "
        "--at; batches before now are not kept after the fact, and what is "
        "kept too much goes with the next batch. Without N shows how many are "
        "asked for, what is kept, and the entry of the log that is the "
        "earliest that can be looked back to. Windows keep their own batches "
        "besides.",
    .examples = "  deltafold keep words 30\n"
                "  deltafold keep words",
    .options = { options, writer_options },
    .arguments_min = 1,
    .arguments_max = 2,
    .operands = OPERANDS_WORDS,
    .run = run,
};
