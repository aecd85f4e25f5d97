/* deltafold rebuild: the view computed anew, swapped in. */
#include "cli/entry.h"
#include "cli/writer.h"

struct rebuild {
    const char *as_of;
    uint64_t shards;
    bool json;
};

static const struct option options[] = {
    { .name = "as-of",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct rebuild, as_of),
      .value = "BATCH",
      .help = "the batch after which the documents are as they lie there; "
              "later batches are to be applied again",
      .initial = "the last applied" },
    { .name = "shards",
      .kind = OPTION_NUMBER,
      .offset = offsetof(struct rebuild, shards),
      .min = 1,
      .max = VIEW_SHARDS_MAX,
      .value = "N",
      .help = "parts that are written in parallel, 1 to 16",
      .initial = "as many as before" },
    { .name = "json",
      .kind = OPTION_FLAG,
      .offset = offsetof(struct rebuild, json),
      .help = "the ledger entry as a JSON object" },
    { 0 }
};

static const char ways[] =
    "name DIR ('deltafold rebuild VIEW DIR'), or tell it once, with "
    "'deltafold base VIEW DIR' or, when it is made, base=DIR";

static void print(struct output *out, bool json, const struct opened *o,
                  const struct ledger_entry *e)
{
    struct json j = { .out = out };
    struct shown s;

    if (json) {
        json_open(&j, NULL);
        entry_json(&j, e, o->job);
        json_close(&j);
        json_line(&j);
        return;
    }
    if (e->name.len > 0) {
        output_printf(out, "rebuilt as of %s  ", shown(&s, e->name));
    } else {
        output_text(out, "rebuilt  ");
    }
    entry_print(out, e);
    output_byte(out, '\n');
}

static enum df_status rebuild(struct invocation *in, const void *given,
                              struct writing *w, struct df_error *err)
{
    const struct rebuild *options_given = given;
    struct opened *o = &w->opened;
    struct ledger_entry entry = { 0 };
    struct buf base = { 0 };
    const char *dir = in->argv[1];
    enum df_status status = DF_OK;

    if (in->argc == 1) {
        status = opened_documents(o, in->argv[0], ways, &base, err);
        dir = (const char *)base.data;
    }
    if (status == DF_OK) {
        status = engine_rebuild(o->view, &o->spec, dir, options_given->as_of,
                                (unsigned)options_given->shards, &w->engine,
                                &entry, err);
        progress_clear(&w->progress);
    }
    if (status == DF_OK) {
        print(in->out, options_given->json, o, &entry);
    }
    buf_fini(&base);
    return status;
}

static enum df_status run(struct invocation *in, struct df_error *err)
{
    struct rebuild given = { 0 };

    return writer_run(in, &given, NULL, rebuild, err);
}

const struct command command_rebuild = {
    .name = "rebuild",
    .summary = "compute a view anew from all surviving documents",
    .synopsis = "VIEW [DIR] [--as-of=BATCH] [--shards=N] [OPTION ...]",
    .text = "Computes the view from the documents under DIR, every file being "
            "one whose id is its path below DIR (or what a manifest.tsv there "
            "says), and swaps it in at once. Readers see the old view until "
            "then. Without DIR the documents are those of the view's base "
            "('deltafold base'). With --as-of, batches up to that name count "
            "as applied, whether or not the log lists them.",
    .examples = "  deltafold rebuild words corpus/\n"
                "  deltafold rebuild words\n"
                "  deltafold rebuild words corpus/ --as-of=2026-11-29 "
                "--shards=8",
    .options = { options, writer_options, resource_threads, resource_memory,
                 resource_mapping },
    .arguments_min = 1,
    .arguments_max = 2,
    .operands = OPERANDS_DOCUMENTS,
    .run = run,
};
