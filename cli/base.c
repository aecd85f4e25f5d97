/* deltafold base: where the documents of a view lie. */
#include "cli/command.h"
#include "cli/json.h"
#include "cli/opened.h"
#include "cli/writer.h"
#include "state/settings.h"

struct base {
    bool none;
    bool json;
};

static const struct option options[] = {
    { .name = "none",
      .kind = OPTION_FLAG,
      .offset = offsetof(struct base, none),
      .help = "the view is to know none any more" },
    { .name = "json",
      .kind = OPTION_FLAG,
      .offset = offsetof(struct base, json),
      .help = "a JSON object" },
    { 0 }
};

static void print(struct output *out, bool json, struct bytes directory)
{
    struct json j = { .out = out };
    struct shown s;

    if (!json) {
        output_printf(out, "%s\n",
                      directory.len == 0 ? "none" : shown(&s, directory));
        return;
    }
    json_open(&j, NULL);
    if (directory.len == 0) {
        json_null(&j, "base");
    } else {
        json_bytes(&j, "base", directory);
    }
    json_close(&j);
    json_line(&j);
}

static enum df_status show(struct invocation *in, const struct base *base,
                           struct df_error *err)
{
    struct bytes directory;
    struct opened o;
    enum df_status status = opened_read(&o, in->argv[0], err);

    if (status != DF_OK) {
        return status;
    }
    status = snapshot_setting(o.snapshot, SETTING_BASE, &directory, err);
    if (status == DF_OK) {
        print(in->out, base->json, directory);
    }
    opened_close(&o);
    return status;
}

static enum df_status set(struct invocation *in, const struct base *base,
                          const struct writer *writer, struct df_error *err)
{
    struct buf directory = { 0 };
    struct opened o;
    enum df_status status =
        opened_work(&o, in->argv[0], VIEW_WRITE, (unsigned)writer->wait, err);

    if (status != DF_OK) {
        return status;
    }
    if (!base->none) {
        status = opened_base(&o.spec, in->argv[1], &directory, err);
    }
    if (status == DF_OK) {
        status = view_set(o.view, SETTING_BASE, buf_bytes(&directory), err);
    }
    buf_fini(&directory);
    opened_close(&o);
    return status;
}

static enum df_status run(struct invocation *in, struct df_error *err)
{
    struct base base = { 0 };
    struct writer writer = { .wait = WRITER_WAIT_INITIAL };
    enum df_status status =
        command_parse(in, (void *[]){ &base, &writer }, err);

    if (status == DF_OK && base.none && in->argc == 2) {
        status =
            error_set(err, DF_USAGE, "base: a directory or --none, not both");
    }
    if (status == DF_OK && (base.none || in->argc == 2)) {
        status = set(in, &base, &writer, err);
    }
    return status == DF_OK ? show(in, &base, err) : status;
}

const struct command command_base = {
    .name = "base",
    .summary = "show or say where a view's documents lie",
    .synopsis = "VIEW [DIR | --none] [--json]",
    .text =
        "Tells the view where the documents lie that are left after each "
        "batch: DIR, as a nightly mirror has them, each under the id and with "
        "the bytes that batches had it with. 'deltafold run' then computes a "
        "batch from them where that is likely to take less time than the "
        "batch itself - one with more bytes than it leaves - or with "
        "--install=rebuild. Of the batches at hand only the last can be, and "
        "only if DIR holds what is left according to the log, no more and no "
        "less: every file is hashed as it is read. Without DIR shows what is "
        "known. 'deltafold rebuild' and 'deltafold verify' take the documents "
        "from there where no others are named. Not for views with a window or "
        "of records.",
    .examples = "  deltafold base words /srv/mirror\n"
                "  deltafold base words",
    .options = { options, writer_options },
    .arguments_min = 1,
    .arguments_max = 2,
    .operands = OPERANDS_DOCUMENTS,
    .run = run,
};
