/*
 * Three records of two keys, the view holding `a` since time 5, expiry point
 * 3, and a batch whose last record moves it to 6:
 *
 *     events      a t=7    b t=8    a t=16
 *     collect     a, b                       states.h: each key once
 *     join        a: 1 copy, time 5          the view's rows, in one sweep
 *     replay      a t=7    duplicate         5 is not before 3
 *                 b t=8    unique
 *                 a t=16   unique            5 is before 6: forgotten first
 *     emit        a: time + 11               and its span's row: one less,
 *                 b: + 1 copy, time 8        one more
 *
 * The view is asked once per key, in order of rows, and never per record.
 * Where it holds nothing yet, collect and join are left out.
 *
 * Keys that do not fit in memory: a group of parts ends before the part that
 * does not fit, and a part that does not fit by itself is divided by further
 * bits of its keys' hashes, into a file, and each of those is a part again.
 */
#include "runtime/resolve.h"

#include <assert.h>
#include <stdlib.h>

#include "runtime/ahead.h"
#include "runtime/fold_emit.h"

enum {
    SPLIT = 16,     /* parts of a part that does not fit */
    SPLIT_BITS = 4, /* of the hash */
    LEVELS = 7, /* more cannot be told apart by 28 bits: then it must fit */
    SPLIT_SHIFT = 28,
    LOOK_EVERY = 128 /* groups of events between looks at the stop flag */
};

/* Where events are read from: the batch's workers, or a part divided. */
struct events_of {
    struct events *const *workers;
    unsigned n;
};

struct resolver {
    struct resolve_plan plan;
    struct combine *combine;
    struct snapshot *snapshot;
    unsigned shards;
    bool view_is_empty;
    unsigned shard;       /* that all keys are in, or STATES_ANY_SHARD */
    struct states states; /* of the group at hand */
    struct sort_entry *entries;
    size_t begin[VIEW_SHARDS_MAX + 1];
    struct timeline_look look;
    struct buf key; /* in the making */
    uint64_t seen;
    uint64_t counts[DF_OUTCOME_REJECTED];
    struct resolve_negative negative;
    uint64_t splits;
};

enum df_status resolver_open(struct resolver **out,
                             const struct resolve_plan *plan,
                             struct combine *combine, struct df_error *err)
{
    struct resolver *r = calloc(1, sizeof *r);
    enum df_status status;

    *out = NULL;
    if (r == NULL) {
        return error_no_memory(err);
    }
    r->plan = *plan;
    r->combine = combine;
    status = snapshot_open(&r->snapshot, plan->view, err);
    if (status != DF_OK) {
        resolver_close(r);
        return status;
    }
    r->shards = snapshot_shards(r->snapshot);
    r->view_is_empty = snapshot_state_is_empty(snapshot_state(r->snapshot));
    states_init(&r->states, !r->view_is_empty);
    *out = r;
    return DF_OK;
}

void resolver_close(struct resolver *r)
{
    if (r == NULL) {
        return;
    }
    snapshot_close(r->snapshot);
    states_fini(&r->states);
    buf_fini(&r->key);
    buf_fini(&r->negative.key);
    free(r);
}

const uint64_t *resolver_counts(const struct resolver *r)
{
    return r->counts;
}

const struct resolve_negative *resolver_negative(const struct resolver *r)
{
    return &r->negative;
}

uint64_t resolver_splits(const struct resolver *r)
{
    return r->splits;
}

/* ---- one event ---- */

/* The row key that holds the state for an event. */
static bool state_key(struct resolver *r, const struct event *event,
                      struct bytes *key)
{
    const struct fold_rows *rows = r->plan.rows;

    *key = event->key;
    if (!rows->is_by_span || event->unit == EVENTS_UNIT_TOUCH) {
        return true;
    }
    buf_reset(&r->key);
    if (!buf_append(&r->key, key->data, key->len) ||
        !buf_reserve(&r->key, DF_SLACK)) {
        return false;
    }
    fold_rows_put_span(rows, &r->plan.after, event->time, r->key.data);
    *key = buf_bytes(&r->key);
    return true;
}

static enum df_status find(struct resolver *r, size_t part,
                           const struct event *event,
                           struct state_record **record, struct df_error *err)
{
    struct bytes key;
    uint32_t tag = event->tag;

    *record = NULL;
    if (state_key(r, event, &key)) {
        if (r->plan.rows->is_by_span) {
            tag = (uint32_t)row_key_hash(key); /* with the span */
        }
        *record = states_find(&r->states, part, key, tag);
    }
    return *record != NULL ? DF_OK : error_no_memory(err);
}

static enum df_status look_at_stop(struct resolver *r, struct df_error *err)
{
    if (++r->seen % LOOK_EVERY == 0 && r->plan.stop != NULL &&
        *r->plan.stop != 0) {
        return error_set(err, DF_INTERRUPTED, "interrupted");
    }
    return DF_OK;
}

/* A kept record that has expired by the time of the event is forgotten. Of
 * what is deleted nothing is: that comes first, and the view keeps no
 * expired keys. */
static enum df_status forget_expired(struct resolver *r,
                                     const struct event *event,
                                     struct df_state *state,
                                     struct df_error *err)
{
    int64_t start;
    enum df_status status;

    assert(state != NULL);
    if (r->plan.timeline == NULL || event->is_deleted || state->copies == 0 ||
        state->time >= r->plan.after.start) {
        return DF_OK;
    }
    status = timeline_start(r->plan.timeline, &r->look, event->unit,
                            event->index, &start, err);
    if (status == DF_OK && state->time < start) {
        *state = (struct df_state){ 0 };
    }
    return status;
}

static enum df_status note_negative(struct resolver *r,
                                    const struct event *event,
                                    struct df_error *err)
{
    struct resolve_negative *n = &r->negative;
    size_t head = fold_rows_head(r->plan.rows);

    if (n->found && (n->unit < event->unit ||
                     (n->unit == event->unit && n->index <= event->index))) {
        return DF_OK;
    }
    n->found = true;
    n->unit = event->unit;
    n->index = event->index;
    buf_reset(&n->key);
    return buf_append(&n->key, event->key.data + head, event->key.len - head)
               ? DF_OK
               : error_no_memory(err);
}

static enum df_status replay_event(struct resolver *r, size_t part,
                                   const struct event *event,
                                   struct df_error *err)
{
    const struct fold_rows *rows = r->plan.rows;
    struct state_record *record;
    enum df_outcome outcome;
    enum df_status status = find(r, part, event, &record, err);

    if (status == DF_OK && event->unit != EVENTS_UNIT_TOUCH) {
        status = forget_expired(r, event, &record->after, err);
    }
    if (status != DF_OK || event->unit == EVENTS_UNIT_TOUCH) {
        return status;
    }
    outcome = rows->fold->step(rows->config, &record->after, &r->plan.before,
                               event->is_deleted ? -1 : 1, event->time);
    if (outcome == DF_OUTCOME_NEGATIVE) {
        return note_negative(r, event, err);
    }
    r->counts[outcome]++;
    if (r->plan.outcomes != NULL) {
        outcomes_set(r->plan.outcomes, event->unit, event->index, outcome);
    }
    return DF_OK;
}

/* ---- one part ---- */

/* Events of a part, a few at a time. */
static enum df_status part_begin(struct resolver *r, struct ahead *a,
                                 const struct events_of *from, unsigned part,
                                 size_t states_part, struct df_error *err)
{
    const struct ahead_plan plan = { .workers = from->workers,
                                     .n = from->n,
                                     .part = part,
                                     .outcomes = r->plan.outcomes,
                                     .states = &r->states,
                                     .states_part = states_part,
                                     .has_tags = !r->plan.rows->is_by_span };

    return ahead_open(a, &plan, err);
}

static enum df_status part_next(struct resolver *r, struct ahead *a,
                                const struct ahead_group **group,
                                struct df_error *err)
{
    enum df_status status = look_at_stop(r, err);

    return status == DF_OK ? ahead_next(a, group, err) : status;
}

static enum df_status replay(struct resolver *r, const struct events_of *from,
                             unsigned part, size_t states_part,
                             struct df_error *err)
{
    const struct ahead_group *group;
    struct ahead a;
    enum df_status status = part_begin(r, &a, from, part, states_part, err);

    while (status == DF_OK && ahead_has_more(&a)) {
        status = part_next(r, &a, &group, err);
        for (size_t i = 0; status == DF_OK && i < group->n; i++) {
            status = replay_event(r, states_part, &group->events[i], err);
        }
    }
    ahead_close(&a);
    return status;
}

/* Finds the keys of a part; *fits false: not all, for they are too many. */
static enum df_status collect(struct resolver *r, const struct events_of *from,
                              unsigned part, size_t states_part, size_t most,
                              bool *fits, struct df_error *err)
{
    const struct ahead_group *group;
    struct state_record *record;
    struct ahead a;
    enum df_status status = part_begin(r, &a, from, part, states_part, err);

    *fits = true;
    while (status == DF_OK && *fits && ahead_has_more(&a)) {
        status = part_next(r, &a, &group, err);
        for (size_t i = 0; status == DF_OK && i < group->n; i++) {
            status = find(r, states_part, &group->events[i], &record, err);
        }
        *fits = states_memory(&r->states) <= most;
    }
    ahead_close(&a);
    return status;
}

static struct events_size size_of(const struct events_of *from, unsigned part)
{
    struct events_size sum = { 0 };

    for (unsigned i = 0; i < from->n; i++) {
        struct events_size one = events_size(from->workers[i], part);

        sum.events += one.events;
        sum.key_bytes += one.key_bytes;
    }
    return sum;
}

/* ---- join ---- */

/* Looks up the keys of one shard. */
static enum df_status join_shard(struct resolver *r, unsigned shard,
                                 struct df_error *err)
{
    struct snapshot_rows *rows = NULL;
    enum df_status status = snapshot_rows_open(&rows, r->snapshot, shard, err);

    for (size_t i = r->begin[shard];
         status == DF_OK && i < r->begin[shard + 1]; i++) {
        struct state_record *record =
            states_record(&r->states, r->entries[i].ref);
        const struct row *row = NULL;
        struct bytes head;
        struct bytes tail;

        states_key(record, &head, &tail);
        status = snapshot_rows_seek(rows, head, &row, err);
        if (status != DF_OK || row == NULL || !bytes_equal(row->head, head)) {
            continue;
        }
        if (!bytes_equal(row->tail, tail)) {
            status = row_collision(err, r->plan.rows->shape, head, tail);
            break;
        }
        record->after = (struct df_state){
            .copies = row->values[0],
            .time = r->plan.rows->is_timed ? row->values[1] : 0,
        };
        *states_room_before(record) = record->after;
    }
    snapshot_rows_close(rows);
    return status;
}

static enum df_status join(struct resolver *r, struct df_error *err)
{
    enum df_status status = DF_OK;

    for (unsigned i = 0; status == DF_OK && i < r->shards; i++) {
        if (r->begin[i] < r->begin[i + 1]) {
            status = join_shard(r, i, err);
        }
    }
    return status;
}

/* ---- groups of parts ---- */

/* Parts whose keys are in memory together. */
struct group {
    unsigned first;
    unsigned end;
    bool is_replayed; /* nothing had to be looked up */
};

/* Takes parts for as long as they fit; none when the first does not. */
static enum df_status take_parts(struct resolver *r,
                                 const struct events_of *from, unsigned to,
                                 size_t most, struct group *g,
                                 struct df_error *err)
{
    bool fits = true;

    while (fits && g->end < to) {
        size_t len = r->states.len;
        size_t count = r->states.count;
        size_t at = g->end - g->first;
        enum df_status status;

        if (!states_begin(&r->states, size_of(from, g->end).events)) {
            return error_no_memory(err);
        }
        status = collect(r, from, g->end, at, most, &fits, err);
        if (status != DF_OK) {
            return status;
        }
        if (fits) {
            g->end++;
        } else {
            states_drop(&r->states, len, count);
        }
    }
    return DF_OK;
}

/* The same where the view is empty: as many as fit in any case. */
static enum df_status replay_parts(struct resolver *r,
                                   const struct events_of *from, unsigned to,
                                   size_t most, struct group *g,
                                   struct df_error *err)
{
    while (g->end < to) {
        struct events_size size = size_of(from, g->end);
        enum df_status status;

        if (states_memory(&r->states) +
                states_memory_bound(size.events, size.key_bytes) >
            most) {
            break;
        }
        if (!states_begin(&r->states, size.events)) {
            return error_no_memory(err);
        }
        status = replay(r, from, g->end, g->end - g->first, err);
        if (status != DF_OK) {
            return status;
        }
        g->end++;
    }
    g->is_replayed = g->end > g->first;
    return DF_OK;
}

static enum df_status finish_group(struct resolver *r,
                                   const struct events_of *from,
                                   const struct group *g, struct df_error *err)
{
    const struct fold_emit_plan emit = { .rows = r->plan.rows,
                                         .clock = &r->plan.after,
                                         .states = &r->states,
                                         .shards = r->shards,
                                         .combine = r->combine };
    enum df_status status = DF_OK;

    r->entries = states_sort(&r->states, r->shards, r->shard, r->begin);
    if (r->entries == NULL) {
        return error_no_memory(err);
    }
    if (!g->is_replayed) {
        status = join(r, err);
    }
    for (unsigned i = g->first;
         status == DF_OK && !g->is_replayed && i < g->end; i++) {
        status = replay(r, from, i, i - g->first, err);
    }
    if (status == DF_OK) {
        status = fold_emit(&emit, r->entries, r->begin, err);
    }
    states_reset(&r->states);
    return status;
}

static enum df_status resolve(struct resolver *r, const struct events_of *from,
                              unsigned first, unsigned to, unsigned level,
                              struct df_error *err);

static enum df_status divide(struct resolver *r, const struct events_of *from,
                             unsigned part, unsigned level, struct events *sub,
                             struct df_error *err)
{
    unsigned shift = SPLIT_SHIFT - level * SPLIT_BITS;
    struct events_reader *reader;
    struct event event;
    enum df_status status =
        events_reader_open(&reader, from->workers, from->n, part, err);

    while (status == DF_OK) {
        status = events_reader_next(reader, &event, err);
        if (status != DF_OK || event.key.data == NULL) {
            break;
        }
        status =
            events_add(sub, event.tag >> shift & (SPLIT - 1), &event, err);
        if (status == DF_OK) {
            status = look_at_stop(r, err);
        }
    }
    events_reader_close(reader);
    return status;
}

/* A part whose keys do not fit, in pieces. */
static enum df_status resolve_divided(struct resolver *r,
                                      const struct events_of *from,
                                      unsigned part, unsigned level,
                                      struct df_error *err)
{
    struct events_plan plan = { .parts = SPLIT,
                                .memory = r->plan.memory / 4,
                                .spill_directory = r->plan.spill_directory };
    struct events *sub;
    enum df_status status = events_open(&sub, &plan, err);

    r->splits++;
    if (status == DF_OK) {
        status = divide(r, from, part, level, sub, err);
    }
    if (status == DF_OK) {
        struct events_of pieces = { &sub, 1 };

        status = resolve(r, &pieces, 0, SPLIT, level + 1, err);
    }
    events_close(sub);
    return status;
}

static enum df_status resolve(struct resolver *r, const struct events_of *from,
                              unsigned first, unsigned to, unsigned level,
                              struct df_error *err)
{
    size_t most = level < LEVELS ? r->plan.memory : SIZE_MAX;
    enum df_status status = DF_OK;

    while (status == DF_OK && first < to) {
        struct group g = { .first = first, .end = first };

        if (r->view_is_empty) {
            status = replay_parts(r, from, to, most, &g, err);
        }
        if (status == DF_OK && g.end == first) {
            status = take_parts(r, from, to, most, &g, err);
        }
        if (status == DF_OK && g.end > first) {
            status = finish_group(r, from, &g, err);
        } else if (status == DF_OK) {
            status = resolve_divided(r, from, first, level, err);
            g.end = first + 1;
        }
        first = g.end;
    }
    return status;
}

enum df_status resolver_parts(struct resolver *r, unsigned from, unsigned to,
                              struct df_error *err)
{
    struct events_of all = { r->plan.events, r->plan.event_workers };

    r->shard = from * r->shards / r->plan.parts;
    assert((to - 1) * r->shards / r->plan.parts == r->shard);
    if (r->plan.rows->is_by_span) {
        r->shard = STATES_ANY_SHARD; /* which goes by the span, too */
    }
    return resolve(r, &all, from, to, 0, err);
}
