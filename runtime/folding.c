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
    TEAM_EVENTS = 20000,
    AT_ONCE = 128 /* records that are read before the first is hashed */
};

/* One worker while it maps. */
struct worker {
    void *mapper;
    struct events *events;
    size_t unit; /* the one at hand, SIZE_MAX before the first */
    bool is_deleted;
    uint64_t records;
    uint64_t deleted;
    uint64_t rejected[DF_COUNTERS_MAX]; /* by reason */
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
    unsigned parts;
    struct worker *workers;
    struct events **events;    /* theirs */
    struct timeline *timeline; /* NULL: untimed */
    struct outcomes *outcomes; /* NULL: not needed */
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

static enum df_status open_worker(struct folding *f, unsigned i,
                                  struct df_error *err)
{
    const struct jobspec *job = f->plan.job;
    struct events_plan plan = { .parts = f->parts,
                                .memory = f->plan.memory / 2 / f->plan.workers,
                                .spill_directory = f->plan.scratch };
    struct worker *w = &f->workers[i];
    enum df_status status;

    assert(f->workers != NULL && f->events != NULL);
    status = events_open(&w->events, &plan, err);
    w->unit = SIZE_MAX;
    f->events[i] = w->events;
    if (status == DF_OK) {
        status = job->job->mapper_open(job->config, &w->mapper, err);
    }
    return status;
}

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
        status = outcomes_open(&f->outcomes, f->plan.units, err);
    }
    plan.outcomes = f->outcomes;
    if (status == DF_OK && f->rows.is_timed) {
        status = timeline_open(&f->timeline, &plan, err);
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
    /* A multiple of the shards: a part's keys are of one shard. */
    f->parts = d->shards * (PARTS / d->shards);
    f->workers = calloc(plan->workers, sizeof *f->workers);
    f->events = calloc(plan->workers, sizeof(struct events *));
    if (f->workers == NULL || f->events == NULL) {
        status = error_no_memory(err);
    }
    for (unsigned i = 0; status == DF_OK && i < plan->workers; i++) {
        status = open_worker(f, i, err);
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
    timeline_close(f->timeline);
    outcomes_close(f->outcomes);
    for (unsigned i = 0; f->workers != NULL && i < f->plan.workers; i++) {
        f->plan.job->job->mapper_close(f->workers[i].mapper);
        events_close(f->workers[i].events);
    }
    free(f->workers);
    free(f->events);
    free(f);
}

/* ---- map ---- */

static enum df_status end_unit(struct folding *f, unsigned worker,
                               struct df_error *err)
{
    const struct worker *w = &f->workers[worker];

    return w->unit != SIZE_MAX && f->timeline != NULL
               ? timeline_end_unit(f->timeline, worker, w->unit, w->is_deleted,
                                   err)
               : DF_OK;
}

static enum df_status begin_unit(struct folding *f, unsigned worker,
                                 const struct folding_place *place,
                                 struct df_error *err)
{
    struct worker *w = &f->workers[worker];
    enum df_status status;

    if (w->unit == place->unit) {
        return DF_OK;
    }
    status = end_unit(f, worker, err);
    if (status != DF_OK) {
        return status;
    }
    if (place->unit >= EVENTS_UNIT_TOUCH) {
        return error_set(err, DF_INPUT,
                         "the batch has more than %u files or parts of "
                         "files: divide it",
                         EVENTS_UNIT_TOUCH);
    }
    w->unit = place->unit;
    w->is_deleted = place->is_deleted;
    return DF_OK;
}

/* Some records on their way to the events. */
struct reading {
    struct folding *f;
    unsigned worker;
    const struct folding_place *place;
    uint64_t index; /* of the first, in the unit */
    size_t n;
    struct df_event read[AT_ONCE];
    uint64_t hashes[AT_ONCE]; /* of their keys */
};

/* The row's key: its head goes before the job's. */
static struct bytes row_key(const struct folding *f, const struct df_event *e)
{
    size_t head = fold_rows_head(&f->rows);

    return bytes_of(e->key - head, head + e->key_len);
}

/* A loop of its own: what has just been written in bytes is slow to be read
 * in words. */
static void put_heads(struct reading *r)
{
    const struct fold_rows *rows = &r->f->rows;
    size_t head = fold_rows_head(rows);
    uint8_t kind = rows->is_by_span ? DF_FOLD_SPAN : DF_FOLD_KEY;

    for (size_t i = 0; i < r->n; i++) {
        uint8_t *row = r->read[i].key - head;

        memset(row, 0, head);
        row[0] = kind;
    }
}

static void hash_keys(struct reading *r)
{
    for (size_t i = 0; i < r->n; i++) {
        r->hashes[i] = fold_rows_hash(&r->f->rows, row_key(r->f, &r->read[i]));
    }
}

static enum df_status add_event(struct reading *r, size_t i,
                                struct df_error *err)
{
    struct folding *f = r->f;
    struct worker *w = &f->workers[r->worker];
    const struct event event = { .key = row_key(f, &r->read[i]),
                                 .tag = (uint32_t)r->hashes[i],
                                 .unit = (uint32_t)w->unit,
                                 .index = (uint32_t)(r->index + i),
                                 .is_deleted = w->is_deleted,
                                 .time = r->read[i].time };

    return events_add(w->events, row_part(r->hashes[i], f->parts), &event,
                      err);
}

/* Where the record goes that was read as the i-th. */
static enum df_status take(struct reading *r, size_t i, struct df_error *err)
{
    struct folding *f = r->f;
    unsigned outcome = r->read[i].outcome;
    bool is_pending = outcome == DF_OUTCOME_PENDING;
    enum df_status status = DF_OK;

    if (!is_pending) {
        f->workers[r->worker].rejected[outcome - DF_OUTCOME_REJECTED]++;
    }
    if (!is_pending && f->outcomes != NULL) {
        outcomes_set(f->outcomes, r->place->unit, (size_t)(r->index + i),
                     outcome);
    }
    if (f->timeline != NULL) {
        status =
            timeline_add(f->timeline, r->worker, r->place->unit,
                         is_pending ? r->read[i].time : TIMELINE_NONE, err);
    }
    return status == DF_OK && is_pending ? add_event(r, i, err) : status;
}

static enum df_status map_records(struct reading *r,
                                  const struct df_record *records, size_t n,
                                  struct df_error *err)
{
    const struct worker *w = &r->f->workers[r->worker];
    enum df_status status = DF_OK;

    for (size_t at = 0; status == DF_OK && at < n; at += r->n) {
        size_t most = n - at < AT_ONCE ? n - at : AT_ONCE;

        r->index = r->place->index + at;
        r->n = r->f->rows.fold->read(w->mapper, records + at, most, r->read);
        if (r->n == 0) {
            return error_no_memory(err);
        }
        put_heads(r);
        hash_keys(r);
        for (size_t i = 0; status == DF_OK && i < r->n; i++) {
            status = take(r, i, err);
        }
    }
    return status;
}

enum df_status folding_records(struct folding *f, unsigned worker,
                               const struct folding_place *place,
                               const struct df_record *records, size_t n,
                               struct df_error *err)
{
    struct worker *w = &f->workers[worker];
    enum df_status status = begin_unit(f, worker, place, err);

    if (status == DF_OK && place->index + n > EVENTS_INDEX_MAX) {
        status = error_set(err, DF_INPUT,
                           "more than %u records in one file that cannot be "
                           "read in parts: divide it, or leave it "
                           "uncompressed",
                           EVENTS_INDEX_MAX);
    }
    if (status == DF_OK && f->outcomes != NULL) {
        status = outcomes_add(f->outcomes, place->unit, n, err);
    }
    if (status == DF_OK) {
        struct reading r = { .f = f, .worker = worker, .place = place };

        status = map_records(&r, records, n, err);
    }
    w->records += n;
    w->deleted += place->is_deleted ? n : 0;
    return status;
}

/* ---- settle ---- */

static enum df_status settle(struct folding *f, struct df_error *err)
{
    enum df_status status = DF_OK;

    for (unsigned i = 0; status == DF_OK && i < f->plan.workers; i++) {
        status = end_unit(f, i, err);
    }
    f->before = f->plan.clock;
    f->after = f->plan.clock;
    if (status != DF_OK || f->timeline == NULL) {
        return status;
    }
    f->rows.fold->begin(f->rows.config, &f->before);
    return timeline_settle(f->timeline, &f->after, f->late, err);
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
        status = events_add(to, row_part(hash, f->parts), &event, err);
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
        for (unsigned p = 0; p < f->parts; p++) {
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
                                 .parts = f->parts,
                                 .timeline = f->timeline,
                                 .outcomes = f->outcomes,
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
    unsigned most = f->parts / shards;

    return shards * (each < most ? each : most);
}

static void resolve_slice(struct folding *f, unsigned slice, unsigned slices)
{
    struct thread *t = &f->threads[omp_get_thread_num()];

    if (t->status == DF_OK) {
        t->slice = slice;
        t->status = resolver_parts(t->resolver, slice * f->parts / slices,
                                   (slice + 1) * f->parts / slices, &t->err);
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
    timeline_close(f->timeline);
    f->timeline = NULL;
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
    return f->outcomes;
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
