/*
 * A view computed anew from the surviving documents: the steps of engine.c
 * over a directory of documents, and an installation that replaces all rows.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "runtime/base.h"
#include "runtime/plan.h"

/* Whether a ledger entry is of a batch that the documents contain. */
static bool keep_entry(void *ctx, struct bytes name)
{
    const char *const *as_of = ctx;

    return *as_of == NULL || plan_compare(*as_of, name) >= 0;
}

/* Where the ledger stands after a rebuild. */
struct standing {
    struct buf high;    /* greatest name: batches come after it */
    struct buf covered; /* up to here batches are in the view unlisted */
};

static enum df_status copy_name(struct buf *out, struct bytes name,
                                struct df_error *err)
{
    return buf_append(out, name.data, name.len) ? DF_OK : error_no_memory(err);
}

/* As of the batch that is named, applied or not: the documents may be ahead of
 * the view. Else as of the last one, and what was covered stays so. */
static enum df_status standing(struct application *a, const char *as_of,
                               struct standing *to, struct df_error *err)
{
    struct snapshot *s;
    enum df_status status;

    if (as_of != NULL && as_of[0] == '\0') {
        return error_set(err, DF_USAGE,
                         "--as-of: names no batch: leave it away for the last "
                         "applied one");
    }
    if (as_of != NULL && strlen(as_of) > PLAN_NAME_MAX) {
        return error_set(err, DF_USAGE, "--as-of: longer than a name can be");
    }
    status = snapshot_open(&s, a->v, err);

    if (status != DF_OK) {
        return status;
    }
    if (as_of != NULL) {
        struct bytes name = bytes_of_string(as_of);

        status = copy_name(&to->high, name, err);
        if (status == DF_OK) {
            status = copy_name(&to->covered, name, err);
        }
    } else {
        status = copy_name(&to->high, snapshot_ledger_high(s), err);
        if (status == DF_OK) {
            status = copy_name(&to->covered, snapshot_ledger_covered(s), err);
        }
    }
    snapshot_close(s);
    return status;
}

static enum df_status swap_in(struct application *a, const char *as_of,
                              const struct standing *to, unsigned shards,
                              struct df_error *err)
{
    struct install_shard runs[VIEW_SHARDS_MAX];
    struct install_rebuild how = { .shards = shards,
                                   .high = buf_bytes(&to->high),
                                   .covered = buf_bytes(&to->covered),
                                   .keep = keep_entry,
                                   .keep_ctx = &as_of };
    struct install_batch b = {
        .shards = runs,
        .entry = &a->entry,
        .memory = crew_memory(a->options) / 4,
        .threads = crew_threads(a->options),
        .allow_negative = true,
        .started_us = a->started.us,
        .stop = a->options->stop,
    };

    application_deal(a, shards, runs);
    a->entry.name = buf_bytes(&to->high);
    return install_rebuild(a->v, &b, &how, &a->negatives, err);
}

static enum df_status rebuild(struct application *a, const char *as_of,
                              struct standing *to, unsigned shards,
                              struct df_error *err)
{
    enum df_status status = standing(a, as_of, to, err);

    if (status == DF_OK) {
        status = application_map(a, shards, err);
    }
    if (status == DF_OK) {
        status = application_reduce(a, err);
    }
    if (status == DF_OK) {
        status = swap_in(a, as_of, to, shards, err);
    }
    return status;
}

enum df_status engine_rebuild(struct view *v, const struct jobspec *job,
                              const char *dir, const char *as_of,
                              unsigned shards,
                              const struct engine_options *options,
                              struct ledger_entry *entry, struct df_error *err)
{
    struct batch documents;
    struct standing to = { 0 };
    struct application a = { .v = v, .job = job, .options = options };
    struct window w;
    enum df_status status = window_of(&w, job, err);

    if (status == DF_OK && job->job->fold != NULL) {
        status = error_set(err, DF_USAGE,
                           "what this view holds depends on the order of its "
                           "records, which documents alone do not tell: make "
                           "a view anew with 'deltafold init' and 'run' the "
                           "batches in order");
    }
    if (status == DF_OK && w.size > 0) {
        status = error_set(err, DF_USAGE,
                           "the view has a window: which documents are in it "
                           "is told by its batches alone: make a new view "
                           "with 'deltafold init' and run them");
    }
    if (status == DF_OK) {
        status = batch_scan_tree(&documents, dir, crew_threads(options), err);
    }
    if (status != DF_OK) {
        return status;
    }
    a.batch = &documents;
    a.survivors.known = base_is_possible(job);
    a.started = clock_mark();
    status = application_init(&a, err);
    if (status == DF_OK) {
        shards = shards == 0 ? view_definition(v)->shards : shards;
        status = rebuild(&a, as_of, &to, shards, err);
    }
    *entry = a.entry;
    entry->name = as_of == NULL ? bytes_of(NULL, 0) : bytes_of_string(as_of);
    application_fini(&a);
    buf_fini(&to.high);
    buf_fini(&to.covered);
    batch_fini(&documents);
    return status;
}
