#include "runtime/base.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "input/warc.h"
#include "runtime/forecast.h"
#include "runtime/plan.h"
#include "state/settings.h"

/* ---- whose base can be known ---- */

enum df_status engine_allows_base(const struct jobspec *job,
                                  struct df_error *err)
{
    struct window w;
    enum df_status status = window_of(&w, job, err);

    if (status != DF_OK) {
        return status;
    }
    if (job->job->fold != NULL) {
        return error_set(err, DF_USAGE,
                         "base=: what the view holds depends on the order of "
                         "its records, which documents alone do not tell");
    }
    if (w.size > 0) {
        return error_set(err, DF_USAGE,
                         "base=: the view has a window: which documents are "
                         "in it is told by its batches alone");
    }
    if (mapping_format(job) != RECORD_NONE) {
        return error_set(err, DF_USAGE,
                         "base=: the view is of records, which are deleted "
                         "one by one: which are left is not told by files");
    }
    return DF_OK;
}

bool base_is_possible(const struct jobspec *job)
{
    struct df_error ignored;

    return engine_allows_base(job, &ignored) == DF_OK;
}

void base_fini(struct base *b)
{
    batch_fini(&b->documents);
    buf_fini(&b->remark);
}

/* ---- whether it is used ---- */

/* What stands in the way: refuses, or is remembered. */
static enum df_status give_up(struct base *b, enum df_status status,
                              struct df_error *err)
{
    b->is_used = false;
    batch_fini(&b->documents);
    if (b->is_asked || status == DF_INTERRUPTED) {
        return status;
    }
    buf_reset(&b->remark);
    return buf_append(&b->remark, err->text, strlen(err->text) + 1)
               ? DF_OK
               : error_no_memory(err);
}

static enum df_status differs(const struct base *b, const char *batch,
                              const struct ledger_survivors *there,
                              struct df_error *err)
{
    const char *advice = b->is_asked ? ": bring them up to date, or leave "
                                       "--install=rebuild away"
                                     : "";
    struct shown name;
    struct shown path;

    (void)shown(&name, bytes_of_string(batch));
    (void)shown(&path, bytes_of_string(b->documents.path));
    if (survivors_same_size(there, &b->after)) {
        return error_set(err, DF_INPUT,
                         "batch '%s': the documents under %s are not those "
                         "that it leaves: one has another name or content%s",
                         name.text, path.text, advice);
    }
    return error_set(err, DF_INPUT,
                     "batch '%s': the documents under %s are not those that "
                     "it leaves: %" PRId64 " files of %" PRId64
                     " bytes, not %" PRId64 " of %" PRId64 "%s",
                     name.text, path.text, there->files, there->bytes,
                     b->after.files, b->after.bytes, advice);
}

/* Number and bytes of all files; hashes only where they are known. */
static struct ledger_survivors survivors_of(const struct batch *documents)
{
    struct ledger_survivors s = { .known = true };

    survivors_add(&s, documents, NULL);
    return s;
}

static enum df_status scan(struct base *b, const struct base_ask *ask,
                           struct bytes directory, struct df_error *err)
{
    char *path = strndup((const char *)directory.data, directory.len);
    struct ledger_survivors there;
    enum df_status status;

    if (path == NULL) {
        return error_no_memory(err);
    }
    status =
        batch_scan_tree(&b->documents, path, crew_threads(ask->options), err);
    free(path);
    if (status != DF_OK) {
        return give_up(b, status, err);
    }
    there = survivors_of(&b->documents);
    b->is_used = survivors_same_size(&there, &b->after);
    return b->is_used
               ? DF_OK
               : give_up(b, differs(b, ask->batch->name, &there, err), err);
}

/* How many documents an archive holds is told by nothing but its mapping. */
const struct batch_file *base_find_archive(const struct batch *batch)
{
    for (size_t i = 0; i < batch->file_count; i++) {
        if (warc_is_named(bytes_of_string(batch->files[i].path))) {
            return &batch->files[i];
        }
    }
    return NULL;
}

static enum df_status refuse_archive(const struct batch *batch,
                                     const struct batch_file *archive,
                                     struct df_error *err)
{
    struct shown name;
    struct shown path;

    return error_set(err, DF_USAGE,
                     "batch '%s': %s is an archive, whose documents are "
                     "counted as they are mapped: leave --install=rebuild "
                     "away",
                     shown(&name, bytes_of_string(batch->name)),
                     shown(&path, bytes_of_string(archive->path)));
}

static enum df_status refuse_unknown(const struct batch *batch,
                                     struct df_error *err)
{
    struct shown name;

    return error_set(err, DF_LEDGER,
                     "batch '%s': which documents are in the view was not "
                     "noted by all batches before: 'deltafold rebuild VIEW "
                     "DIR' makes it known",
                     shown(&name, bytes_of_string(batch->name)));
}

/* By bytes alone: as most nights are not. What is owed to others (negative
 * rows) is in no directory. */
static bool may_be_worth_it(const struct base *b, const struct batch *batch)
{
    return b->after.files >= 0 && b->after.bytes >= 0 &&
           (int64_t)batch_bytes(batch) > b->after.bytes;
}

static enum df_status weigh(const struct base *b, const struct base_ask *ask,
                            bool *worth_it, struct df_error *err)
{
    struct engine_forecast forecast;
    bool known;
    enum df_status status;

    *worth_it = b->is_asked;
    if (b->is_asked || !may_be_worth_it(b, ask->batch)) {
        return DF_OK;
    }
    status = forecast_batch(ask->v, ask->snapshot, ask->batch, ask->options,
                            &b->after, &forecast, &known, err);
    *worth_it = status == DF_OK && known && forecast.method == INSTALL_REBUILD;
    return status;
}

static enum df_status consider(struct base *b, const struct base_ask *ask,
                               struct bytes directory, struct df_error *err)
{
    const struct batch_file *archive = base_find_archive(ask->batch);
    bool worth_it = false;
    enum df_status status = survivors_before(&b->after, ask->snapshot, err);

    if (status != DF_OK) {
        return status;
    }
    if (!b->after.known) {
        return b->is_asked ? refuse_unknown(ask->batch, err) : DF_OK;
    }
    if (archive != NULL) {
        return b->is_asked ? refuse_archive(ask->batch, archive, err) : DF_OK;
    }
    survivors_add(&b->after, ask->batch, NULL);
    status = weigh(b, ask, &worth_it, err);
    return status == DF_OK && worth_it ? scan(b, ask, directory, err) : status;
}

enum df_status base_directory(const struct base_ask *ask,
                              struct bytes *directory, struct df_error *err)
{
    bool by_name = ask->options->method == INSTALL_REBUILD;
    enum df_status status;

    *directory = bytes_of(NULL, 0);
    if (!by_name && ask->options->method != INSTALL_AUTO) {
        return DF_OK;
    }
    status = snapshot_setting(ask->snapshot, SETTING_BASE, directory, err);
    if (status == DF_OK && directory->len == 0 && by_name) {
        return error_set(err, DF_USAGE,
                         "--install=rebuild: the view does not know where "
                         "the documents lie: 'deltafold base VIEW DIR' says "
                         "so");
    }
    return status;
}

enum df_status base_plan(struct base *b, const struct base_ask *ask,
                         struct bytes directory, struct df_error *err)
{
    b->is_asked = ask->options->method == INSTALL_REBUILD;
    return consider(b, ask, directory, err);
}

/* ---- the batch ---- */

/* Reads the delta, for its hashes. */
static enum df_status hash_delta(struct application *a, struct df_error *err)
{
    bool *all = malloc(a->batch->file_count + 1);
    enum df_status status;

    if (all == NULL) {
        return error_no_memory(err);
    }
    memset(all, true, a->batch->file_count + 1);
    status = crew_map(a->crew, a->batch, all, err);
    free(all);
    if (status == DF_OK) {
        status = batch_digest(a->batch, &a->entry.digest, err);
    }
    return status == DF_OK ? application_check(a, err) : status;
}

/* Maps the base; *same tells whether it holds the survivors. */
static enum df_status map_base(struct application *a, bool *same,
                               struct df_error *err)
{
    struct base *b = a->base;
    struct ledger_survivors there;
    enum df_status status = crew_map(a->crew, &b->documents, NULL, err);

    if (status == DF_OK) {
        b->after = a->survivors;
        survivors_add(&b->after, a->batch, NULL);
        there = survivors_of(&b->documents);
        if (!survivors_equal(&there, &b->after)) {
            status = differs(b, a->batch->name, &there, err);
        }
    }
    *same = status == DF_OK;
    clock_since(&a->started, &a->entry.map_us, &a->entry.map_cpu_us);
    return status == DF_OK ? DF_OK : give_up(b, status, err);
}

/* The entry is of the batch, not of what was mapped in its place. */
static void count_documents(struct application *a)
{
    a->entry.inserted = 0;
    for (size_t i = 0; i < a->batch->file_count; i++) {
        a->entry.inserted += a->batch->files[i].section == BATCH_INSERTED;
    }
    a->entry.deleted = a->batch->file_count - a->entry.inserted;
    a->entry.records = 0;
    a->entry.records_skipped = 0;
}

static enum df_status install(struct application *a, struct df_error *err)
{
    struct install_shard shards[VIEW_SHARDS_MAX];
    enum df_status status = application_reduce(a, err);

    if (status != DF_OK) {
        return status;
    }
    application_deal(a, view_definition(a->v)->shards, shards);
    count_documents(a);
    a->method = INSTALL_REBUILD;
    return application_install(a, shards, err);
}

enum df_status base_apply(struct application *a, bool *done,
                          struct df_error *err)
{
    enum df_status status =
        application_open(a, view_definition(a->v)->shards, err);

    *done = false;
    if (status == DF_OK) {
        status = hash_delta(a, err);
    }
    if (status == DF_OK) {
        status = map_base(a, done, err);
    }
    if (status == DF_OK && *done) {
        status = install(a, err);
    }
    crew_close(a->crew);
    a->crew = NULL;
    return status;
}
