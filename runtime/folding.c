/*
 * A batch of a fold job goes this way:
 *
 *     map       records become events, dealt out by key; in parallel
 *     settle    all times, in arrival order: the window moves, and what is
 *               not live is out; one thread, eight bytes a record
 *     touch     keys of the view whose spans have expired become events, too,
 *               so that they leave also where the batch does not name them
 *     resolve   part by part, each key's records in arrival order; in
 *               parallel; what the view is to differ by goes to combines
 *     reduce    as for any job
 *
 * Install then adds a run to rows and knows of no time. So a crash, several
 * shards, both methods, the digest and the ledger are what they are for
 * counts: the state of a key is a row, and a batch is a difference.
 */
#include "runtime/folding.h"

#include <assert.h>
#include <omp.h>
#include <stdlib.h>

enum {
    PARTS = 64, /* of the events, about: a part's slots fit in a cache */
    /* Events that are worth waking a second worker for. */
    TEAM_EVENTS = 20000
};

/* One thread while it resolves. */
struct thread {
    struct combine *combine;
    struct resolver *resolver;
    enum df_status status;
    unsigned slice; /* that failed */
    struct df_error err;
};

struct folding {
    struct folding_plan plan;
    struct fold_rows rows;
    struct fold_map map;
    struct fold_worker *workers;
    struct events **events; /* theirs */
    struct df_clock before;
    struct df_clock after;

    unsigned team;
    struct thread *threads;
    struct combine **combines; /* theirs */
    struct reduce *reducers[VIEW_SHARDS_MAX];
    uint64_t counts[DF_OUTCOME_REJECTED];
    uint64_t splits;
    uint64_t late[DF_COUNTERS_MAX + DF_OUTCOME_REJECTED]; /* by outcome */
    const struct resolve_negative *negative;
};

/* ---- opening ---- */

static enum df_status open_times(struct folding *f, struct df_error *err)
{
    struct timeline_plan plan = { .fold = f->rows.fold,
                                  .config = f->rows.config,
                                  .workers = f->plan.workers,
                                  .units = f->plan.units,
                                  .clock = f->plan.clock,
                                  .spill_directory = f->plan.scratch,
                                  .stop = f->plan.stop };
    enum df_status status = DF_OK;

    if (f->rows.is_timed || f->plan.wants_outcomes) {
        status = outcomes_open(&f->map.outcomes, f->plan.units, err);
    }
    plan.outcomes = f->map.outcomes;
    if (status == DF_OK && f->rows.is_timed) {
        status = timeline_open(&f->map.timeline, &plan, err);
    }
    return status;
}

enum df_status folding_open(struct folding **out,
                            const struct folding_plan *plan,
                            struct df_error *err)
{
    const struct view_definition *d = view_definition(plan->view);
    struct folding *f = calloc(1, sizeof *f);
    enum df_status status = DF_OK;

    *out = NULL;
    if (f == NULL) {
        return error_no_memory(err);
    }
    f->plan = *plan;
    f->rows = fold_rows_of(plan->job->job->fold, plan->job->config, d->shape);
    f->map = (struct fold_map){
        .job = plan->job,
        .rows = &f->rows,
        /* A multiple of the shards: a part's keys are of one shard. */
        .parts = d->shards * (PARTS / d->shards),
    };
    f->workers = calloc(plan->workers, sizeof *f->workers);
    f->events = calloc(plan->workers, sizeof(struct events *));
    if (f->workers == NULL || f->events == NULL) {
        status = error_no_memory(err);
    }
    for (unsigned i = 0; status == DF_OK && i < plan->workers; i++) {
        assert(f->workers != NULL && f->events != NULL);
        status = fold_worker_open(&f->workers[i], &f->map, i,
                                  plan->memory / 2 / plan->workers,
                                  plan->scratch, err);
        f->events[i] = f->workers[i].events;
    }
    if (status == DF_OK) {
        status = open_times(f, err);
    }
    if (status != DF_OK) {
        folding_close(f);
        return status;
    }
    *out = f;
    return DF_OK;
}

static void close_threads(struct folding *f)
{
    for (unsigned i = 0; i < VIEW_SHARDS_MAX; i++) {
        reduce_close(f->reducers[i]);
        f->reducers[i] = NULL;
    }
    for (unsigned i = 0; f->threads != NULL && i < f->team; i++) {
        resolver_close(f->threads[i].resolver);
        combine_close(f->threads[i].combine);
    }
    free(f->threads);
    free(f->combines);
}

void folding_close(struct folding *f)
{
    if (f == NULL) {
        return;
    }
    close_threads(f);
    timeline_close(f->map.timeline);
    outcomes_close(f->map.outcomes);
    for (unsigned i = 0; f->workers != NULL && i < f->plan.workers; i++) {
        fold_worker_close(&f->workers[i]);
    }
    free(f->workers);
    free(f->events);
    free(f);
}

/* ---- map ---- */

enum df_status folding_records(struct folding *f, unsigned worker,
                               const struct fold_place *place,
                               const struct df_record *records, size_t n,
                               struct df_error *err)
{
    return fold_worker_records(&f->workers[worker], place, records, n, err);
}

/* ---- settle ---- */

static enum df_status settle(struct folding *f, struct df_error *err)
{
    enum df_status status = DF_OK;

    for (unsigned i = 0; status == DF_OK && i < f->plan.workers; i++) {
        status = fold_worker_end(&f->workers[i], err);
    }
    f->before = f->plan.clock;
    f->after = f->plan.clock;
    if (status != DF_OK || f->map.timeline == NULL) {
        return status;
    }
    f->rows.fold->begin(f->rows.config, &f->before);
    return timeline_settle(f->map.timeline, &f->after, f->late, err);
}

/* ---- touch ---- */

/* The key of a row of an expired span, as an event has it. */
static bool touch_key(const struct folding *f, const struct row *row,
                      struct buf *whole, struct bytes *key)
{
    buf_reset(whole);
    if (!row_join(whole, row->head, row->tail) ||
        !buf_reserve(whole, DF_SLACK)) {
        return false;
    }
    *key = buf_bytes(whole);
    if (!f->rows.is_by_span) {
        /* The byte before the job's key was the span's last. */
        whole->data[DF_FOLD_SPAN_HEAD - 1] = DF_FOLD_KEY;
        *key = bytes_of(whole->data + DF_FOLD_SPAN_HEAD - 1,
                        whole->len - (DF_FOLD_SPAN_HEAD - 1));
    }
    return true;
}

/* Rows of spans before the expiry point. */
static enum df_status touch_rows(struct folding *f, struct snapshot_rows *rows,
                                 struct events *to, struct df_error *err)
{
    const uint8_t first[] = { DF_FOLD_SPAN };
    uint8_t end[DF_FOLD_SPAN_HEAD];
    struct buf whole = { 0 };
    const struct row *row = NULL;
    enum df_status status =
        snapshot_rows_seek(rows, bytes_of(first, sizeof first), &row, err);

    fold_rows_put_span(&f->rows, &f->after, f->after.start, end);
    while (status == DF_OK && row != NULL &&
           bytes_compare(row->head, bytes_of(end, sizeof end)) < 0) {
        struct event event = { .unit = EVENTS_UNIT_TOUCH };
        uint64_t hash;

        if (!touch_key(f, row, &whole, &event.key)) {
            status = error_no_memory(err);
            break;
        }
        hash = fold_rows_hash(&f->rows, event.key);
        event.tag = (uint32_t)hash;
        status = events_add(to, row_part(hash, f->map.parts), &event, err);
        if (status == DF_OK) {
            status = snapshot_rows_next(rows, &row, err);
        }
    }
    buf_fini(&whole);
    return status;
}

static enum df_status touch_shards(struct folding *f, struct snapshot *s,
                                   struct df_error *err)
{
    enum df_status status = DF_OK;

    for (unsigned i = 0; status == DF_OK && i < snapshot_shards(s); i++) {
        struct snapshot_rows *rows;

        status = snapshot_rows_open(&rows, s, i, err);
        if (status == DF_OK) {
            status = touch_rows(f, rows, f->events[0], err);
        }
        snapshot_rows_close(rows);
    }
    return status;
}

static enum df_status touch(struct folding *f, struct df_error *err)
{
    struct snapshot *s;
    enum df_status status;

    if (!f->before.is_set || f->before.start == f->after.start) {
        return DF_OK;
    }
    status = snapshot_open(&s, f->plan.view, err);
    if (status == DF_OK && !snapshot_state_is_empty(snapshot_state(s))) {
        status = touch_shards(f, s, err);
    }
    snapshot_close(s);
    return status;
}

/* ---- resolve ---- */

static uint64_t count_events(const struct folding *f)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < f->plan.workers; i++) {
        for (unsigned p = 0; p < f->map.parts; p++) {
            n += events_size(f->events[i], p).events;
        }
    }
    return n;
}

static enum df_status open_thread(struct folding *f, unsigned i,
                                  struct df_error *err)
{
    struct combine_plan rows = { .shape = f->rows.shape,
                                 .parts =
                                     view_definition(f->plan.view)->shards,
                                 .memory = f->plan.memory / 4 / f->team,
                                 .spill_directory = f->plan.scratch,
                                 .sample = 1,
                                 .key_max =
                                     DF_FOLD_KEY_MAX + DF_FOLD_SPAN_HEAD };
    struct resolve_plan plan = { .rows = &f->rows,
                                 .view = f->plan.view,
                                 .events = f->events,
                                 .event_workers = f->plan.workers,
                                 .parts = f->map.parts,
                                 .timeline = f->map.timeline,
                                 .outcomes = f->map.outcomes,
                                 .before = f->before,
                                 .after = f->after,
                                 .memory = f->plan.memory / 4 / f->team,
                                 .spill_directory = f->plan.scratch,
                                 .stop = f->plan.stop };
    struct thread *t = &f->threads[i];
    enum df_status status = combine_open(&t->combine, &rows, err);

    f->combines[i] = t->combine;
    if (f->rows.is_by_span) {
        plan.timeline = NULL; /* a key never outlives its span */
    }
    return status == DF_OK
               ? resolver_open(&t->resolver, &plan, t->combine, err)
               : status;
}

static enum df_status open_threads(struct folding *f, struct df_error *err)
{
    uint64_t worth = 1 + count_events(f) / TEAM_EVENTS;
    enum df_status status = DF_OK;

    assert(f->plan.workers > 0);
    f->team = worth < f->plan.workers ? (unsigned)worth : f->plan.workers;
    f->threads = calloc(f->team + 1UL, sizeof *f->threads);
    f->combines = calloc(f->team + 1UL, sizeof(struct combine *));
    if (f->threads == NULL || f->combines == NULL) {
        return error_no_memory(err);
    }
    for (unsigned i = 0; status == DF_OK && i < f->team; i++) {
        status = open_thread(f, i, err);
    }
    return status;
}

/* Contiguous parts, so that a sweep over a shard's rows serves many. */
static unsigned count_slices(const struct folding *f)
{
    unsigned shards = view_definition(f->plan.view)->shards;
    unsigned each = (f->team + shards - 1) / shards;
    unsigned most = f->map.parts / shards;

    return shards * (each < most ? each : most);
}

static void resolve_slice(struct folding *f, unsigned slice, unsigned slices)
{
    struct thread *t = &f->threads[omp_get_thread_num()];

    if (t->status == DF_OK) {
        t->slice = slice;
        t->status =
            resolver_parts(t->resolver, slice * f->map.parts / slices,
                           (slice + 1) * f->map.parts / slices, &t->err);
    }
}

/* The first slice's failure, so that the message is the same for any
 * number of threads. */
static enum df_status first_failure(const struct folding *f,
                                    struct df_error *err)
{
    const struct thread *first = NULL;

    for (unsigned i = 0; i < f->team; i++) {
        const struct thread *t = &f->threads[i];

        if (t->status != DF_OK && (first == NULL || t->slice < first->slice)) {
            first = t;
        }
    }
    if (first == NULL) {
        return DF_OK;
    }
    *err = first->err;
    return first->status;
}

static bool comes_first(const struct resolve_negative *a,
                        const struct resolve_negative *b)
{
    return b == NULL || a->unit < b->unit ||
           (a->unit == b->unit && a->index < b->index);
}

static void gather(struct folding *f)
{
    for (unsigned i = 0; i < f->team; i++) {
        const struct resolver *r = f->threads[i].resolver;
        const struct resolve_negative *n = resolver_negative(r);

        for (unsigned k = 0; k < DF_OUTCOME_REJECTED; k++) {
            f->counts[k] += resolver_counts(r)[k];
        }
        f->splits += resolver_splits(r);
        if (n->found && comes_first(n, f->negative)) {
            f->negative = n;
        }
    }
}

static enum df_status resolve(struct folding *f, struct df_error *err)
{
    unsigned slices = count_slices(f);
    enum df_status status;

#pragma omp parallel for num_threads(f->team) schedule(dynamic, 1)
    for (unsigned i = 0; i < slices; i++) {
        resolve_slice(f, i, slices);
    }
    status = first_failure(f, err);
    if (status == DF_OK) {
        gather(f);
    }
    if (status == DF_OK && f->negative != NULL) {
        status = error_set(err, DF_INPUT, "deletes what was never there");
    }
    return status;
}

/* ---- reduce ---- */

static enum df_status finish_combines(struct folding *f, struct df_error *err)
{
#pragma omp parallel for num_threads(f->team) schedule(static, 1)
    for (unsigned i = 0; i < f->team; i++) {
        struct thread *t = &f->threads[i];

        t->slice = i;
        t->status = combine_finish(t->combine, &t->err);
    }
    return first_failure(f, err);
}

static enum df_status reduce_part(struct folding *f, unsigned part,
                                  struct df_error *err)
{
    unsigned parts = view_definition(f->plan.view)->shards;

    return reduce_open(&f->reducers[part], f->combines, f->team, part,
                       f->plan.memory / parts, err);
}

static enum df_status reduce(struct folding *f, struct df_error *err)
{
    unsigned parts = view_definition(f->plan.view)->shards;
    struct df_error *errors = calloc(parts, sizeof *errors);
    enum df_status statuses[VIEW_SHARDS_MAX] = { DF_OK };
    enum df_status status = DF_OK;

    if (errors == NULL) {
        return error_no_memory(err);
    }
#pragma omp parallel for num_threads(f->team) schedule(dynamic, 1)
    for (unsigned i = 0; i < parts; i++) {
        statuses[i] = reduce_part(f, i, &errors[i]);
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

/* Events are not needed any more, and their memory is wanted; install wants
 * no snapshot to be open. */
static void close_events(struct folding *f)
{
    for (unsigned i = 0; i < f->team; i++) {
        resolver_close(f->threads[i].resolver);
        f->threads[i].resolver = NULL;
    }
    for (unsigned i = 0; i < f->plan.workers; i++) {
        events_close(f->workers[i].events);
        f->workers[i].events = NULL;
        f->events[i] = NULL;
    }
    timeline_close(f->map.timeline);
    f->map.timeline = NULL;
}

enum df_status folding_finish(struct folding *f, struct df_error *err)
{
    enum df_status status = settle(f, err);

    if (status == DF_OK) {
        status = touch(f, err);
    }
    if (status == DF_OK) {
        status = open_threads(f, err);
    }
    if (status == DF_OK) {
        status = resolve(f, err);
    }
    if (status == DF_OK) {
        close_events(f);
        status = finish_combines(f, err);
    }
    return status == DF_OK ? reduce(f, err) : status;
}

/* ---- questions ---- */

struct run_source *folding_run(struct folding *f, unsigned part)
{
    return reduce_run(f->reducers[part]);
}

struct reduce_bound folding_bound(const struct folding *f, unsigned part)
{
    return reduce_bound(f->reducers[part]);
}

const struct df_clock *folding_clock(const struct folding *f)
{
    return &f->after;
}

const struct outcomes *folding_outcomes(const struct folding *f)
{
    return f->map.outcomes;
}

const struct resolve_negative *folding_negative(const struct folding *f)
{
    return f->negative;
}

static uint64_t rejected_for(const struct folding *f, unsigned reason)
{
    uint64_t n = f->late[DF_OUTCOME_REJECTED + reason];

    for (unsigned i = 0; i < f->plan.workers; i++) {
        n += f->workers[i].rejected[reason];
    }
    return n;
}

struct folding_stats folding_stats(const struct folding *f)
{
    struct folding_stats s = { .splits = f->splits };
    uint64_t *counters = s.counters;

    for (unsigned i = 0; i < f->plan.workers; i++) {
        s.records += f->workers[i].records;
        s.deleted += f->workers[i].deleted;
    }
    for (unsigned i = 0; i < f->team; i++) {
        s.spills += combine_stats(f->threads[i].combine).spills;
    }
    for (unsigned i = DF_OUTCOME_UNIQUE; i < DF_OUTCOME_REJECTED; i++) {
        counters[i - 1] = f->counts[i] + f->late[i];
    }
    for (unsigned i = 0; f->rows.fold->reasons[i] != NULL; i++) {
        uint64_t n = rejected_for(f, i);

        counters[DF_OUTCOME_REJECTED - 1] += n;
        counters[DF_OUTCOME_REJECTED + i] = n;
    }
    return s;
}
