/* deltafold init: an empty view of a job. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/chosen.h"
#include "cli/command.h"
#include "cli/human.h"
#include "cli/opened.h"
#include "cli/operands.h"
#include "runtime/engine.h"

struct init {
    uint64_t shards;
};

static const struct option options[] = {
    { .name = "shards",
      .kind = OPTION_NUMBER,
      .offset = offsetof(struct init, shards),
      .min = 1,
      .max = VIEW_SHARDS_MAX,
      .value = "N",
      .help = "parts that are written in parallel, 1 to 16",
      .initial = "the number of processors, rounded down to a power of two" },
    { 0 }
};

/* Cuts the last name off a path; false where there is none to cut. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash == NULL || slash[1] == '\0') {
        return false;
    }
    slash[slash == path ? 1 : 0] = '\0';
    return true;
}

/* The directory that VIEW is to stand in, with all links looked up; empty
 * where there is none, which view_create will say. */
static enum df_status find_parent(const char *view, char parent[PATH_MAX],
                                  struct df_error *err)
{
    char *path = strdup(view);
    size_t len = strlen(view);

    if (path == NULL) {
        return error_no_memory(err);
    }
    while (len > 1 && path[len - 1] == '/') {
        path[--len] = '\0';
    }
    if (realpath(go_up(path) ? path : ".", parent) == NULL) {
        parent[0] = '\0';
    }
    free(path);
    return DF_OK;
}

/* A view's directory is its own: nothing else is to be made in it. */
static enum df_status check_place(const char *view, struct df_error *err)
{
    char above[PATH_MAX] = "";
    enum df_status status = find_parent(view, above, err);
    struct shown s;

    if (status != DF_OK || above[0] == '\0') {
        return status;
    }
    do {
        if (operands_is_view(above)) {
            return error_set(err, DF_STATE,
                             "%.4000s: lies within the view '%s': give it a "
                             "directory elsewhere",
                             view, shown(&s, bytes_of_string(above)));
        }
    } while (go_up(above));
    return DF_OK;
}

/* Options that are not the job's own; base holds what d->base points to. */
static enum df_status read_settings(const char *view,
                                    const struct jobspec *spec,
                                    struct view_definition *d,
                                    struct buf *base, struct df_error *err)
{
    const char *directory = jobspec_common(spec, "base");
    enum df_status status = engine_check_options(spec, &d->having, err);

    if (status == DF_OK) {
        status = opened_keep(jobspec_common(spec, "keep"), &d->keep, err);
    }
    if (status == DF_OK && strcmp(directory, "none") != 0) {
        status = operands_check_path(OPERANDS_DOCUMENTS, view, directory, err);
        if (status == DF_OK) {
            status = opened_base(spec, directory, base, err);
        }
        d->base = buf_bytes(base);
    }
    return status;
}

/* Makes the view and says what it is. */
static enum df_status create(const char *path, const struct jobspec *spec,
                             unsigned shards, struct output *out,
                             struct df_error *err)
{
    struct view_definition definition = {
        .shape = { .has_element = spec->shape.has_element,
                   .components = spec->components,
                   .wide = spec->shape.wide },
        .shards = shards,
    };
    struct buf text = { 0 };
    struct buf base = { 0 };
    enum df_status status = read_settings(path, spec, &definition, &base, err);

    if (status == DF_OK && !jobspec_definition(spec, &text)) {
        status = error_no_memory(err);
    }
    if (status == DF_OK) {
        definition.text = buf_bytes(&text);
        status = view_create(path, &definition, err);
    }
    if (status == DF_OK) {
        output_text(out, "made view '");
        output_shown(out, bytes_of_string(path));
        output_text(out, "': ");
        output_shown(out, buf_bytes(&text));
        output_printf(out, ", %u shard%s\n", shards, human_plural(shards));
    }
    buf_fini(&base);
    buf_fini(&text);
    return status;
}

static enum df_status check_order(const struct invocation *in,
                                  struct df_error *err)
{
    struct shown s;

    if (registry_find(in->argv[0]) == NULL ||
        registry_find(in->argv[1]) != NULL) {
        return DF_OK;
    }
    return error_set(err, DF_USAGE,
                     "VIEW comes before JOB: '%s' is a job, '%s' is none",
                     in->argv[0], shown(&s, bytes_of_string(in->argv[1])));
}

static enum df_status run(struct invocation *in, struct df_error *err)
{
    struct init init = { .shards = chosen_shards() };
    struct jobspec spec = { 0 };
    enum df_status status = chosen_check(in, err);

    if (status == DF_OK) {
        status = command_parse(in, (void *[]){ &init }, err);
    }
    if (status == DF_OK) {
        status = check_order(in, err);
    }
    if (status != DF_OK) {
        return status;
    }
    status = chosen_job(&spec, in->argv + 1, (size_t)in->argc - 1, err);
    if (status == DF_OK) {
        status = check_place(in->argv[0], err);
    }
    if (status == DF_OK) {
        status =
            create(in->argv[0], &spec, (unsigned)init.shards, in->out, err);
    }
    jobspec_close(&spec);
    return status;
}

const struct command command_init = {
    .name = "init",
    .summary = "make an empty view of a job",
    .synopsis = "VIEW JOB [OPTION=VALUE ...] [--shards=N]",
    .text =
        "Makes an empty view in the directory VIEW, which must not exist or "
        "be empty. JOB and its options say what the view holds, once and "
        "for all; see 'deltafold jobs' for what there is. keep=N keeps what "
        "each of the last N batches amounted to, for diff, why, undo and "
        "--at; 'deltafold keep' changes it. base=DIR tells the view where "
        "the documents lie that are left after each batch, so that 'run' can "
        "compute it from them; 'deltafold base' changes it.",
    .examples = "  deltafold init words wordcount\n"
                "  deltafold init pairs wordcount tokenizer=ascii ngram=2\n"
                "  deltafold init week wordcount window=7d interval=1d "
                "keep=30",
    .options = { options },
    .arguments_min = 2,
    .arguments_max = -1,
    .run = run,
};
