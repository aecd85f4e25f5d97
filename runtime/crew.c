#include "runtime/crew.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"

enum {
    PROGRESS_EVERY_US = 100 * 1000,
    /* What is worth waking another worker for. */
    TEAM_BYTES = 256 << 10,
    /* A long unit is counted as done in steps of this. */
    COUNT_BYTES = 1 << 20,
    TEAM_UNITS = 64
};

/* One worker: everything here is its own until the workers have joined. */
struct worker {
    struct crew *crew;
    struct reader *reader;
    struct combine *combine; /* NULL: records go to the plan's sink */
    struct mapping mapping;
    bool reports;      /* the calling thread: shows progress */
    bool deletes;      /* what is being read is deleted */
    uint64_t inserted; /* documents mapped */
    uint64_t deleted;
    uint64_t counted;   /* bytes of the unit in hand that are done */
    size_t failed_unit; /* the unit of the failure below */
    enum df_status status;
    struct df_error err;
};

struct crew {
    struct crew_plan plan;
    struct worker *workers;    /* plan.threads of them */
    struct combine **combines; /* theirs, for reduce */
    struct reduce *reducers[VIEW_SHARDS_MAX];

    /* The batch being mapped. next_unit, done_bytes and failed are shared
     * and atomic; the rest is read only while workers run. */
    struct reader_units units;
    const bool *skip;
    struct batch *batch;
    uint64_t total_bytes;
    unsigned team; /* workers that have had something to do */
    size_t next_unit;
    uint64_t done_bytes;
    int failed;
    int64_t reported_us; /* by the worker that reports */
};

/* ---- opening ---- */

static enum df_status worker_open(struct worker *w, struct crew *c,
                                  struct df_error *err)
{
    const struct crew_plan *p = &c->plan;
    struct reader_cut cut = crew_cut(p->job, p->options);
    size_t share = p->memory / p->threads;
    struct combine_plan plan = {
        .shape = p->shape,
        .parts = p->parts,
        .memory = share > CREW_READER_MEMORY + CREW_WORKER_MEMORY_MIN
                      ? share - CREW_READER_MEMORY
                      : CREW_WORKER_MEMORY_MIN,
        .spill_directory = p->scratch,
        .sample = p->sample,
    };
    enum df_status status = reader_open(&w->reader, &cut, err);

    w->crew = c;
    if (status != DF_OK || p->records != NULL) {
        return status;
    }
    status = combine_open(&w->combine, &plan, err);
    if (status == DF_OK) {
        status = mapping_open(&w->mapping, p->job, combine_emitter(w->combine),
                              cut.whole_max, err);
    }
    return status;
}

enum df_status crew_open(struct crew **out, const struct crew_plan *plan,
                         struct df_error *err)
{
    struct crew *c = calloc(1, sizeof *c);
    enum df_status status = DF_OK;

    *out = NULL;
    if (c == NULL) {
        return error_no_memory(err);
    }
    c->plan = *plan;
    c->workers = calloc(plan->threads, sizeof *c->workers);
    c->combines = calloc(plan->threads, sizeof(struct combine *));
    if (c->workers == NULL || c->combines == NULL) {
        crew_close(c);
        return error_no_memory(err);
    }
    for (unsigned i = 0; status == DF_OK && i < plan->threads; i++) {
        status = worker_open(&c->workers[i], c, err);
        c->combines[i] = c->workers[i].combine;
    }
    if (status != DF_OK) {
        crew_close(c);
        return status;
    }
    c->workers[0].reports = true;
    c->team = 1;
    *out = c;
    return DF_OK;
}

/* Units are kept until the crew is closed, for one that reads them again. */
static void close_units(struct crew *c)
{
    if (c->plan.again == NULL) {
        reader_units_fini(&c->units);
    }
}

void crew_close(struct crew *c)
{
    if (c == NULL) {
        return;
    }
    for (unsigned i = 0; i < VIEW_SHARDS_MAX; i++) {
        reduce_close(c->reducers[i]);
    }
    for (unsigned i = 0; c->workers != NULL && i < c->plan.threads; i++) {
        mapping_close(&c->workers[i].mapping);
        combine_close(c->workers[i].combine);
        reader_close(c->workers[i].reader);
    }
    close_units(c);
    free(c->combines);
    free(c->workers);
    free(c);
}

/* ---- map ---- */

static bool asked_to_stop(const struct engine_options *o)
{
    return o->stop != NULL && *o->stop != 0;
}

static void report(struct worker *w)
{
    struct crew *c = w->crew;
    const struct engine_options *o = c->plan.options;
    int64_t now;

    if (!w->reports || o->progress == NULL) {
        return;
    }
    now = clock_us();
    if (now - c->reported_us >= PROGRESS_EVERY_US) {
        c->reported_us = now;
        o->progress(o->progress_ctx, &(struct engine_progress){
                                         .batch = c->batch->name,
                                         .phase = "map",
                                         .done = __atomic_load_n(
                                             &c->done_bytes, __ATOMIC_RELAXED),
                                         .total = c->total_bytes,
                                     });
    }
}

void crew_phase(const struct engine_options *options, const char *batch,
                const char *phase)
{
    if (options->progress != NULL) {
        options->progress(
            options->progress_ctx,
            &(struct engine_progress){ .batch = batch, .phase = phase });
    }
}

/* So many bytes of the unit in hand are done. */
static void count_done(struct worker *w, uint64_t bytes)
{
    (void)__atomic_add_fetch(&w->crew->done_bytes, bytes - w->counted,
                             __ATOMIC_RELAXED);
    w->counted = bytes;
}

/* In the middle of a unit: a file that is not cut is a long one. */
static void count_some(struct worker *w)
{
    uint64_t bytes = reader_read_bytes(w->reader);

    if (bytes >= w->counted + COUNT_BYTES) {
        count_done(w, bytes);
    }
    report(w);
}

/* One piece of a document: the map step. */
static enum df_status map_piece(void *ctx, const struct df_piece *piece,
                                struct df_error *err)
{
    struct worker *w = ctx;

    if (asked_to_stop(w->crew->plan.options)) {
        return error_set(err, DF_INTERRUPTED, "interrupted");
    }
    if (piece->first) {
        w->deleted += w->deletes ? 1 : 0;
        w->inserted += w->deletes ? 0 : 1;
    }
    mapping_piece(&w->mapping, piece);
    count_some(w);
    return combine_status(w->combine, err);
}

/* What the table refuses is of one of many records: says at least where. */
static enum df_status name_file(const struct worker *w,
                                const struct batch_file *file,
                                struct df_error *err)
{
    struct shown batch;
    struct shown path;

    return error_prefix(err, DF_INPUT, "%s/%s",
                        shown(&batch, bytes_of_string(w->crew->batch->path)),
                        shown(&path, bytes_of_string(file->path)));
}

/* Some records of a file: the map step. */
static enum df_status map_records(void *ctx, const struct reader_place *place,
                                  const struct df_record *records, size_t n,
                                  struct df_error *err)
{
    struct worker *w = ctx;
    const struct crew_plan *p = &w->crew->plan;
    enum df_status status;

    w->deleted += w->deletes ? n : 0;
    w->inserted += w->deletes ? 0 : n;
    count_some(w);
    if (p->records != NULL) {
        return p->records(p->records_ctx, (unsigned)(w - w->crew->workers),
                          place, records, n, err);
    }
    status = mapping_records(&w->mapping, place, records, n, err);
    if (status != DF_OK) {
        return status;
    }
    status = combine_status(w->combine, err);
    return status == DF_INPUT ? name_file(w, place->file, err) : status;
}

static enum df_status read_by(struct worker *w, size_t unit, bool skip)
{
    struct crew *c = w->crew;

    if (skip || mapping_format(c->plan.job) == RECORD_NONE) {
        return reader_read(w->reader, &c->units, unit, skip ? NULL : map_piece,
                           w, &w->err);
    }
    return reader_read_records(w->reader, &c->units, unit, map_records, w,
                               &w->err);
}

static void read_unit(struct worker *w, size_t unit)
{
    struct crew *c = w->crew;
    const struct batch_file *file = reader_unit_file(&c->units, unit);
    size_t number = (size_t)(file - c->batch->files);
    bool skip = c->skip != NULL && c->skip[number];

    w->deletes = file->section == BATCH_DELETED;
    if (w->combine != NULL) {
        combine_sign(w->combine, w->deletes ? -1 : 1);
    }
    w->status = read_by(w, unit, skip);
    count_done(w, reader_unit_bytes(&c->units, unit));
    w->counted = 0;
}

static void scan_unit(struct worker *w, size_t unit)
{
    w->status = reader_scan(w->reader, &w->crew->units, unit, &w->err);
}

/* Takes units, in order, until none is left or one has failed. */
static void work(struct worker *w, void (*step)(struct worker *, size_t unit))
{
    struct crew *c = w->crew;

    while (w->status == DF_OK &&
           __atomic_load_n(&c->failed, __ATOMIC_RELAXED) == 0) {
        size_t unit = __atomic_fetch_add(&c->next_unit, 1, __ATOMIC_RELAXED);

        if (unit >= c->units.count) {
            break;
        }
        step(w, unit);
        if (w->status != DF_OK) {
            w->failed_unit = unit;
            __atomic_store_n(&c->failed, 1, __ATOMIC_RELAXED);
        }
        report(w);
    }
}

/* Units are taken in order, so every unit before a failed one was read: the
 * lowest failure is the same for any number of workers. */
static enum df_status first_failure(const struct crew *c, struct df_error *err)
{
    const struct worker *first = NULL;

    for (unsigned i = 0; i < c->plan.threads; i++) {
        const struct worker *w = &c->workers[i];

        if (w->status != DF_OK &&
            (first == NULL || w->failed_unit < first->failed_unit)) {
            first = w;
        }
    }
    if (first == NULL) {
        return DF_OK;
    }
    *err = first->err;
    return first->status;
}

bool crew_has_failed(const struct crew *c)
{
    return __atomic_load_n(&c->failed, __ATOMIC_RELAXED) != 0;
}

/* A small batch is done by one worker before a second one is awake. */
static void choose_team(struct crew *c)
{
    uint64_t worth =
        1 + c->total_bytes / TEAM_BYTES + c->units.count / TEAM_UNITS;
    unsigned team =
        worth < c->plan.threads ? (unsigned)worth : c->plan.threads;

    c->team = team > c->team ? team : c->team;
}

/* One step for every unit, by the team. */
static enum df_status work_all(struct crew *c,
                               void (*step)(struct worker *, size_t unit),
                               struct df_error *err)
{
    c->next_unit = 0;
#pragma omp parallel for num_threads(c->team) schedule(static, 1)
    for (unsigned i = 0; i < c->team; i++) {
        work(&c->workers[i], step);
    }
    return first_failure(c, err);
}

static enum df_status read_units(struct crew *c, struct df_error *err)
{
    enum df_status status = DF_OK;

    if (c->plan.again == NULL && reader_units_need_scan(&c->units)) {
        status = work_all(c, scan_unit, err);
        reader_units_scanned(&c->units);
    }
    if (status == DF_OK) {
        status = work_all(c, read_unit, err);
    }
    return status == DF_OK ? reader_finish(&c->units, err) : status;
}

static enum df_status open_units(struct crew *c, struct batch *batch,
                                 struct df_error *err)
{
    struct reader_cut cut = crew_cut(c->plan.job, c->plan.options);
    enum df_status status;

    close_units(c);
    if (c->plan.again != NULL) {
        assert(c->plan.again->batch == batch);
        c->units = c->plan.again->units;
        c->units.has_bounds = c->units.keeps_bounds;
        return DF_OK;
    }
    status = reader_plan_units(&c->units, batch, &cut, err);
    c->units.keeps_bounds = c->plan.keeps_bounds;
    return status;
}

enum df_status crew_map(struct crew *c, struct batch *batch, const bool *skip,
                        struct df_error *err)
{
    enum df_status status = open_units(c, batch, err);

    if (status != DF_OK) {
        return status;
    }
    c->batch = batch;
    c->skip = skip;
    c->done_bytes = 0;
    c->total_bytes = batch_bytes(batch);
    choose_team(c);
    if (c->plan.begin != NULL) {
        status = c->plan.begin(c->plan.records_ctx, c->units.count, err);
    }
    return status == DF_OK ? read_units(c, err) : status;
}

/* ---- combine's last step, and reduce ---- */

/* What two workers have goes to the table of one of them: whose share of the
 * hashes it is, so that all have about as much to sort. What only others than
 * that one have stays with them. */
static void give_all(struct crew *c)
{
#pragma omp parallel num_threads(c->team)
    {
#pragma omp for schedule(static, 1)
        for (unsigned i = 0; i < c->team; i++) {
            combine_settle(c->combines[i]);
        }
#pragma omp for schedule(static, 1)
        for (unsigned i = 0; i < c->team; i++) {
            for (unsigned k = 1; k < c->team; k++) {
                combine_give(c->combines[(i + k) % c->team], c->combines[i], i,
                             c->team);
            }
        }
    }
}

enum df_status crew_finish(struct crew *c, struct df_error *err)
{
    if (c->team > 1) {
        give_all(c);
    }
#pragma omp parallel for num_threads(c->team) schedule(static, 1)
    for (unsigned i = 0; i < c->plan.threads; i++) {
        struct worker *w = &c->workers[i];

        w->failed_unit = i;
        w->status = combine_finish(w->combine, &w->err);
    }
    return first_failure(c, err);
}

enum df_status crew_reduce(struct crew *c, struct df_error *err)
{
    unsigned parts = c->plan.parts;
    size_t memory = c->plan.memory / parts;
    enum df_status statuses[VIEW_SHARDS_MAX] = { DF_OK };
    struct df_error *errors = calloc(parts, sizeof *errors);
    enum df_status status = DF_OK;

    if (errors == NULL) {
        return error_no_memory(err);
    }
#pragma omp parallel for num_threads(c->team) schedule(dynamic, 1)
    for (unsigned i = 0; i < parts; i++) {
        statuses[i] = reduce_open(&c->reducers[i], c->combines,
                                  c->plan.threads, i, memory, &errors[i]);
    }
    for (unsigned i = 0; status == DF_OK && i < parts; i++) {
        if (statuses[i] != DF_OK) {
            *err = errors[i];
            status = statuses[i];
        }
    }
    free(errors);
    return status;
}

struct run_source *crew_run(struct crew *c, unsigned part)
{
    return reduce_run(c->reducers[part]);
}

struct reduce_bound crew_bound(const struct crew *c, unsigned part)
{
    return reduce_bound(c->reducers[part]);
}

static void add_pairs(struct crew_stats *sum, struct combine *combine)
{
    struct combine_stats one = combine_stats(combine);
    const struct df_emitter *e = combine_emitter(combine);

    sum->pairs += one.pairs;
    sum->spills += one.spills;
    for (unsigned k = 0; k < DF_COUNTERS_MAX; k++) {
        sum->counters[k] += e->counters[k];
    }
}

static void add_read(struct crew_stats *sum, const struct worker *w,
                     bool is_records)
{
    struct reader_counts counts = reader_counts(w->reader);

    sum->inserted += w->inserted;
    sum->deleted += w->deleted;
    sum->records += counts.records + counts.blank_lines;
    sum->skipped += counts.records - counts.documents + counts.blank_lines;
    sum->records += is_records ? w->inserted + w->deleted : 0;
}

struct crew_stats crew_stats(const struct crew *c)
{
    bool is_records = mapping_format(c->plan.job) != RECORD_NONE;
    struct crew_stats sum = { 0 };

    for (unsigned i = 0; i < c->plan.threads; i++) {
        add_read(&sum, &c->workers[i], is_records);
        if (c->workers[i].combine != NULL) {
            add_pairs(&sum, c->workers[i].combine);
        }
    }
    return sum;
}

/* ---- hash only ---- */

enum df_status crew_hash(const struct jobspec *job, struct batch *batch,
                         const struct engine_options *options,
                         struct df_error *err)
{
    struct reader_cut cut = crew_cut(job, options);
    struct reader_units units;
    struct reader *reader = NULL;
    enum df_status status = reader_plan_units(&units, batch, &cut, err);

    if (status != DF_OK) {
        return status;
    }
    status = reader_open(&reader, &cut, err);
    for (size_t i = 0; status == DF_OK && i < units.count; i++) {
        status = asked_to_stop(options)
                     ? error_set(err, DF_INTERRUPTED, "interrupted")
                     : reader_read(reader, &units, i, NULL, NULL, err);
    }
    if (status == DF_OK) {
        status = reader_finish(&units, err);
    }
    reader_close(reader);
    reader_units_fini(&units);
    return status;
}
