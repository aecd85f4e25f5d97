#include "runtime/fold_apply.h"

#include <stdlib.h>

#include "base/clock.h"
#include "runtime/folding.h"
#include "runtime/outcome_files.h"

struct fold_batch {
    struct application *a;
    struct folding *folding;
    struct outcome_files *files; /* NULL: none are wanted */
    struct df_clock clock;       /* as the last entry has it */
    struct hash128 *hashes;      /* of the files, as they were mapped */
};

enum df_status fold_check_options(const struct engine_options *options,
                                  struct df_error *err)
{
    if (options->allow_late) {
        return error_set(err, DF_USAGE,
                         "--allow-late: this view depends on the order of "
                         "its batches: a late one would change the outcomes "
                         "of those after it. Give it a name behind the last "
                         "applied one, or make the view anew");
    }
    if (options->on_negative != ENGINE_NEGATIVE_ABORT) {
        return error_set(err, DF_USAGE,
                         "--on-negative=%s: a key cannot be there less than "
                         "never: this view knows only abort",
                         options->on_negative == ENGINE_NEGATIVE_ALLOW
                             ? "allow"
                             : "quarantine");
    }
    return DF_OK;
}

/* ---- map ---- */

static enum df_status begin(void *ctx, size_t units, struct df_error *err)
{
    struct fold_batch *b = ctx;
    const struct application *a = b->a;
    struct folding_plan plan = {
        .job = a->job,
        .view = a->v,
        .workers = crew_threads(a->options),
        .units = units,
        .memory = crew_memory(a->options) / 2,
        .scratch = view_scratch(a->v),
        .wants_outcomes = b->files != NULL,
        .clock = b->clock,
        .stop = a->options->stop,
    };

    return folding_open(&b->folding, &plan, err);
}

static enum df_status take_records(void *ctx, unsigned worker,
                                   const struct reader_place *place,
                                   const struct df_record *records, size_t n,
                                   struct df_error *err)
{
    struct fold_batch *b = ctx;
    struct fold_place at = { .unit = place->unit,
                             .index = place->index,
                             .is_deleted =
                                 place->file->section == BATCH_DELETED };
    enum df_status status = DF_OK;

    if (b->files != NULL && place->index == 0) {
        status = outcome_files_header(
            b->files, (size_t)(place->file - b->a->batch->files),
            reader_header(place), err);
    }
    return status == DF_OK
               ? folding_records(b->folding, worker, &at, records, n, err)
               : status;
}

static struct crew_plan crew_plan_of(struct fold_batch *b)
{
    const struct application *a = b->a;

    return (struct crew_plan){
        .job = a->job,
        .threads = crew_threads(a->options),
        .memory = crew_memory(a->options) / 4,
        .options = a->options,
        .records = take_records,
        .records_ctx = b,
        .begin = begin,
    };
}

static enum df_status map(struct fold_batch *b, struct df_error *err)
{
    struct application *a = b->a;
    struct crew_plan plan = crew_plan_of(b);
    enum df_status status;

    plan.keeps_bounds = b->files != NULL;
    status = crew_open(&a->crew, &plan, err);
    if (status == DF_OK) {
        status = crew_map(a->crew, a->batch, NULL, err);
    }
    if (status == DF_OK) {
        status = batch_digest(a->batch, &a->entry.digest, err);
    }
    clock_since(&a->started, &a->entry.map_us, &a->entry.map_cpu_us);
    return status;
}

/* ---- the second look at the input ---- */

/* Reads all records again; the files must be what they were. */
static enum df_status read_again(struct fold_batch *b, crew_records *records,
                                 void *ctx, struct crew **crew,
                                 struct df_error *err)
{
    struct batch *batch = b->a->batch;
    struct crew_plan plan = crew_plan_of(b);
    enum df_status status;

    plan.records = records;
    plan.records_ctx = ctx;
    plan.begin = NULL;
    plan.again = b->a->crew;
    for (size_t i = 0; i < batch->file_count; i++) {
        b->hashes[i] = batch->files[i].hash;
    }
    status = crew_open(crew, &plan, err);
    if (status == DF_OK) {
        status = crew_map(*crew, batch, NULL, err);
    }
    for (size_t i = 0; status == DF_OK && i < batch->file_count; i++) {
        if (!hash128_equal(b->hashes[i], batch->files[i].hash)) {
            struct shown s;

            status = error_set(
                err, DF_INPUT, "%s/%s: changed while it was read", batch->path,
                shown(&s, bytes_of_string(batch->files[i].path)));
        }
        batch->files[i].hash = b->hashes[i];
    }
    crew_close(*crew);
    *crew = NULL;
    return status;
}

/* ---- a deletion of what was never there ---- */

struct blame {
    const struct resolve_negative *negative;
    struct buf why; /* ends with NUL */
};

static enum df_status find_culprit(void *ctx, unsigned worker,
                                   const struct reader_place *place,
                                   const struct df_record *records, size_t n,
                                   struct df_error *err)
{
    const struct blame *b = ctx;
    uint64_t index = b->negative->index;

    (void)worker;
    if (place->unit != b->negative->unit || index < place->index ||
        index - place->index >= n) {
        return DF_OK;
    }
    return reader_refuse(place, &records[index - place->index],
                         (const char *)b->why.data, err);
}

/* The key as readers show it, its columns with a TAB between them. */
static bool show_key(const struct jobspec *job, struct bytes key,
                     struct buf *out)
{
    const struct df_present *p = job->job->present;
    const struct df_cell *cells = NULL;
    struct buf row = { 0 };
    struct df_error ignored;
    void *presenter = NULL;
    bool by_span = job->job->fold->is_by_span(job->config);
    static const uint8_t spans[DF_FOLD_SPAN_HEAD] = { DF_FOLD_SPAN };
    static const uint8_t keys[1] = { DF_FOLD_KEY };
    static const int64_t values[2] = { 0 };
    bool ok = p->open(job->config, &presenter, &ignored) == DF_OK &&
              buf_append(&row, by_span ? spans : keys,
                         by_span ? sizeof spans : sizeof keys) &&
              buf_append(&row, key.data, key.len) &&
              p->key(presenter, row.data, row.len) &&
              p->row(presenter, NULL, 0, values) == DF_OK &&
              p->cells(presenter, &cells) == DF_OK;
    unsigned n = p->key_columns(job->config) - (by_span ? 1 : 0);

    for (unsigned i = 0; ok && i < n; i++) {
        ok = (i == 0 || buf_append_byte(out, '\t')) &&
             buf_append(out, cells[i].data, cells[i].len);
    }
    p->close(presenter);
    buf_fini(&row);
    return ok;
}

/* Says which record it is that deletes what is not there. */
static enum df_status name_culprit(struct fold_batch *b, struct df_error *err)
{
    const struct resolve_negative *negative = folding_negative(b->folding);
    struct blame blame = { .negative = negative };
    struct crew *crew = NULL;
    struct buf key = { 0 };
    struct shown s;
    enum df_status status = DF_SYSTEM;

    if (show_key(b->a->job, buf_bytes(&negative->key), &key) &&
        buf_printf(&blame.why,
                   "deletes a record of key '%s', which is not in the view: "
                   "mend the batch",
                   shown(&s, buf_bytes(&key))) &&
        buf_append_byte(&blame.why, '\0')) {
        status = read_again(b, find_culprit, &blame, &crew, err);
    } else {
        (void)error_no_memory(err);
    }
    if (status == DF_OK) {
        status = error_set(err, DF_INPUT, "%s", (char *)blame.why.data);
    }
    buf_fini(&key);
    buf_fini(&blame.why);
    return status;
}

/* ---- outcome files ---- */

struct writing {
    struct outcome_files *files;
    struct crew *crew;
};

static enum df_status write_records(void *ctx, unsigned worker,
                                    const struct reader_place *place,
                                    const struct df_record *records, size_t n,
                                    struct df_error *err)
{
    struct writing *w = ctx;

    return outcome_files_records(w->files, w->crew, worker, place, records, n,
                                 err);
}

static enum df_status write_files(struct fold_batch *b, struct df_error *err)
{
    struct writing w = { .files = b->files };
    enum df_status status =
        outcome_files_begin(b->files, folding_outcomes(b->folding), err);

    if (status == DF_OK) {
        status = read_again(b, write_records, &w, &w.crew, err);
    }
    if (status == DF_OK) {
        status = outcome_files_end(b->files, err);
    }
    if (status != DF_OK) {
        outcome_files_abandon(b->files);
    }
    return status;
}

/* ---- install ---- */

static void fill_entry(struct fold_batch *b)
{
    struct application *a = b->a;
    struct folding_stats stats = folding_stats(b->folding);

    application_fill(a);
    a->entry.pairs = stats.records - stats.counters[DF_OUTCOME_REJECTED - 1];
    a->entry.spills = stats.spills;
    a->entry.clock = *folding_clock(b->folding);
    memcpy(a->entry.counters, stats.counters, sizeof stats.counters);
}

/* The entry's text must outlive the files. */
static enum df_status name_outcomes(struct fold_batch *b, struct df_error *err)
{
    struct application *a = b->a;
    struct bytes path;

    if (b->files == NULL) {
        return DF_OK;
    }
    path = outcome_files_path(b->files);
    if (!buf_append(&a->outcomes, path.data, path.len)) {
        return error_no_memory(err);
    }
    a->entry.outcomes = buf_bytes(&a->outcomes);
    a->entry.outcomes_token = outcome_files_token(b->files);
    return DF_OK;
}

static enum df_status install(struct fold_batch *b, struct df_error *err)
{
    struct install_shard shards[VIEW_SHARDS_MAX];
    enum df_status status;

    for (unsigned i = 0; i < view_definition(b->a->v)->shards; i++) {
        struct reduce_bound bound = folding_bound(b->folding, i);

        shards[i] = (struct install_shard){
            .run = folding_run(b->folding, i),
            .rows_bound = bound.rows,
            .bytes_bound = bound.bytes,
        };
    }
    fill_entry(b);
    status = name_outcomes(b, err);
    return status == DF_OK ? application_install(b->a, shards, err) : status;
}

/* ---- all of it ---- */

/* Where time stands, and what makes this application different from any
 * other. */
static enum df_status look_at_ledger(struct fold_batch *b, uint32_t *token,
                                     struct df_error *err)
{
    struct ledger_entry last;
    struct snapshot *s;
    bool found = false;
    enum df_status status = snapshot_open(&s, b->a->v, err);

    if (status == DF_OK) {
        struct snapshot_state state = snapshot_state(s);

        *token = (uint32_t)(state.seq ^ state.digest.low);
        status = snapshot_ledger_get(s, state.seq, &last, &found, err);
    }
    if (status == DF_OK && found) {
        b->clock = last.clock;
    }
    snapshot_close(s);
    return status;
}

static enum df_status open_files(struct fold_batch *b, uint32_t token,
                                 struct df_error *err)
{
    const struct application *a = b->a;
    struct outcome_files_plan plan = {
        .job = a->job,
        .batch = a->batch,
        .directory = a->options->outcomes,
        .token = token,
        .view = a->v,
        .threads = crew_threads(a->options),
        .memory = crew_memory(a->options) / 4,
    };

    return a->options->outcomes != NULL
               ? outcome_files_open(&b->files, &plan, err)
               : DF_OK;
}

static enum df_status finish(struct fold_batch *b, struct df_error *err)
{
    struct clock_mark begun = clock_mark();
    struct ledger_entry *e = &b->a->entry;
    enum df_status status;

    crew_phase(b->a->options, b->a->batch->name, "reduce");
    status = folding_finish(b->folding, err);
    clock_since(&begun, &e->reduce_us, &e->reduce_cpu_us);
    if (status == DF_INPUT && folding_negative(b->folding) != NULL) {
        status = name_culprit(b, err);
    }
    return status;
}

static enum df_status apply(struct fold_batch *b, struct df_error *err)
{
    enum df_status status = map(b, err);

    if (status == DF_OK) {
        status = application_check(b->a, err);
    }
    if (status == DF_OK) {
        status = finish(b, err);
    }
    if (status == DF_OK && b->files != NULL) {
        status = write_files(b, err);
    }
    if (status == DF_OK) {
        status = install(b, err);
        if (status != DF_OK && b->files != NULL && !b->a->begun_commit) {
            outcome_files_abandon(b->files);
        }
    }
    if (status == DF_OK && b->files != NULL) {
        status = outcome_files_publish(b->files, err);
    }
    return status;
}

enum df_status fold_apply(struct application *a, struct df_error *err)
{
    struct fold_batch b = { .a = a };
    uint32_t token = 0;
    enum df_status status;

    a->entry = (struct ledger_entry){ 0 };
    b.hashes = calloc(a->batch->file_count + 1, sizeof *b.hashes);
    if (b.hashes == NULL) {
        return error_no_memory(err);
    }
    status = look_at_ledger(&b, &token, err);
    if (status == DF_OK) {
        status = open_files(&b, token, err);
    }
    if (status == DF_OK) {
        status = apply(&b, err);
    }
    crew_close(a->crew);
    a->crew = NULL;
    folding_close(b.folding);
    outcome_files_close(b.files);
    free(b.hashes);
    return status;
}
