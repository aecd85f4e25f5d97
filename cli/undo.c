/* deltafold undo and redo: one past batch out of the rows, and back. */
#include "cli/entry.h"
#include "cli/writer.h"

struct undo {
    unsigned install;
    unsigned on_negative;
    bool json;
    bool redo; /* which command it is */
};

static const struct option options[] = {
    { .name = "install",
      .kind = OPTION_CHOICE,
      .offset = offsetof(struct undo, install),
      .choices = WRITER_METHODS,
      .help = "change rows in place, merge and write all rows anew, or leave "
              "that for later; auto takes what is likely to cost least; the "
              "view is the same",
      .initial = "auto" },
    { .name = "on-negative",
      .kind = OPTION_CHOICE,
      .offset = offsetof(struct undo, on_negative),
      .choices = "abort|allow",
      .help =
          "when rows would become negative, as where later batches deleted "
          "what this one inserted: refuse, or keep them",
      .initial = "abort" },
    { .name = "json",
      .kind = OPTION_FLAG,
      .offset = offsetof(struct undo, json),
      .help = "the ledger entry as a JSON object" },
    { 0 }
};

static void print(struct output *out, const struct undo *undo,
                  const struct opened *o, const struct ledger_entry *e)
{
    struct json j = { .out = out };

    if (undo->json) {
        json_open(&j, NULL);
        entry_json(&j, e, o->job);
        json_close(&j);
        json_line(&j);
        return;
    }
    entry_print_name(out, e->name);
    output_printf(out, "%s  ", undo->redo ? "redone" : "undone");
    entry_print(out, e);
    output_byte(out, '\n');
}

static enum df_status work(struct invocation *in, const void *given,
                           struct writing *w, struct df_error *err)
{
    const struct undo *undo = given;
    struct opened *o = &w->opened;
    struct ledger_entry entry;
    struct buf name = { 0 };
    enum df_status status;

    w->engine.method = writer_method(undo->install);
    w->engine.on_negative =
        undo->on_negative == 0 ? ENGINE_NEGATIVE_ABORT : ENGINE_NEGATIVE_ALLOW;
    status = engine_undo(o->view, &o->spec, in->argv[1], undo->redo,
                         &w->engine, &entry, &name, err);
    progress_clear(&w->progress);
    if (status == DF_OK) {
        print(in->out, undo, o, &entry);
    }
    buf_fini(&name);
    return status;
}

static enum df_status run_undo(struct invocation *in, struct df_error *err)
{
    struct undo undo = { .redo = false };

    return writer_run(in, &undo, NULL, work, err);
}

static enum df_status run_redo(struct invocation *in, struct df_error *err)
{
    struct undo redo = { .redo = true };

    return writer_run(in, &redo, NULL, work, err);
}

const struct command command_undo = {
    .name = "undo",
    .summary = "take one past batch out of a view",
    .synopsis = "VIEW BATCH [OPTION ...]",
    .text =
        "Subtracts what a past batch amounted to, any whose run is kept "
        "('deltafold keep'), exactly and once, as an entry of the log of its "
        "own. BATCH is a name, or '#SEQ' in the log. 'deltafold run' passes "
        "over a batch that was undone; under the same name a corrected one is "
        "taken with --allow-late. Not for views with a window.",
    .examples = "  deltafold undo words 2026-11-12\n"
                "  deltafold undo words '#12'",
    .options = { options, writer_options, resource_threads, resource_memory },
    .arguments_min = 2,
    .arguments_max = 2,
    .operands = OPERANDS_WORDS,
    .run = run_undo,
};

const struct command command_redo = {
    .name = "redo",
    .summary = "put a batch that was undone back",
    .synopsis = "VIEW BATCH [OPTION ...]",
    .text = "Adds what an undone batch amounted to again, as an entry of the "
            "log of its own, while its run is kept ('deltafold keep') and its "
            "name was not used again. BATCH is a name, or '#SEQ' of the batch "
            "or of its undo.",
    .examples = "  deltafold redo words 2026-11-12",
    .options = { options, writer_options, resource_threads, resource_memory },
    .arguments_min = 2,
    .arguments_max = 2,
    .operands = OPERANDS_WORDS,
    .run = run_redo,
};
