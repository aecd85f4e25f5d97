#include "runtime/fold_map.h"

enum { AT_ONCE = 128 /* records that are read before the first is hashed */ };

enum df_status fold_worker_open(struct fold_worker *w,
                                const struct fold_map *map, unsigned number,
                                size_t memory, const char *scratch,
                                struct df_error *err)
{
    const struct jobspec *job = map->job;
    struct events_plan plan = { .parts = map->parts,
                                .memory = memory,
                                .spill_directory = scratch };
    enum df_status status;

    *w = (struct fold_worker){ .map = map, .number = number };
    w->unit = FOLD_NO_UNIT;
    status = events_open(&w->events, &plan, err);
    return status == DF_OK
               ? job->job->mapper_open(job->config, &w->mapper, err)
               : status;
}

void fold_worker_close(struct fold_worker *w)
{
    if (w->map != NULL) {
        w->map->job->job->mapper_close(w->mapper);
        events_close(w->events);
    }
    *w = (struct fold_worker){ 0 };
}

/* ---- units ---- */

enum df_status fold_worker_end(struct fold_worker *w, struct df_error *err)
{
    struct timeline *timeline = w->map->timeline;

    return w->unit != FOLD_NO_UNIT && timeline != NULL
               ? timeline_end_unit(timeline, w->number, w->unit, w->is_deleted,
                                   err)
               : DF_OK;
}

static enum df_status begin_unit(struct fold_worker *w,
                                 const struct fold_place *place,
                                 struct df_error *err)
{
    enum df_status status;

    if (w->unit == place->unit) {
        return DF_OK;
    }
    status = fold_worker_end(w, err);
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

/* ---- records ---- */

/* Some records on their way to the events. */
struct reading {
    struct fold_worker *w;
    uint64_t index; /* of the first, in the unit */
    size_t n;
    struct df_event read[AT_ONCE];
    uint64_t hashes[AT_ONCE]; /* of their keys */
};

/* The row's key: its head goes before the job's. */
static struct bytes row_key(const struct fold_map *map,
                            const struct df_event *e)
{
    size_t head = fold_rows_head(map->rows);

    return bytes_of(e->key - head, head + e->key_len);
}

static void put_heads(struct reading *r)
{
    const struct fold_rows *rows = r->w->map->rows;
    size_t head = fold_rows_head(rows);
    uint8_t kind = rows->is_by_span ? DF_FOLD_SPAN : DF_FOLD_KEY;

    for (size_t i = 0; i < r->n; i++) {
        uint8_t *row = r->read[i].key - head;

        memset(row, 0, head);
        row[0] = kind;
    }
}

/* A loop of its own: what has just been written in bytes is slow to be read
 * in words. */
static void hash_keys(struct reading *r)
{
    const struct fold_map *map = r->w->map;

    for (size_t i = 0; i < r->n; i++) {
        r->hashes[i] = fold_rows_hash(map->rows, row_key(map, &r->read[i]));
    }
}

static enum df_status add_event(struct reading *r, size_t i,
                                struct df_error *err)
{
    const struct fold_worker *w = r->w;
    const struct event event = { .key = row_key(w->map, &r->read[i]),
                                 .tag = (uint32_t)r->hashes[i],
                                 .unit = (uint32_t)w->unit,
                                 .index = (uint32_t)(r->index + i),
                                 .is_deleted = w->is_deleted,
                                 .time = r->read[i].time };

    return events_add(w->events, row_part(r->hashes[i], w->map->parts), &event,
                      err);
}

/* Where the record goes that was read as the i-th. */
static enum df_status take(struct reading *r, size_t i, struct df_error *err)
{
    struct fold_worker *w = r->w;
    const struct fold_map *map = w->map;
    unsigned outcome = r->read[i].outcome;
    bool is_pending = outcome == DF_OUTCOME_PENDING;
    enum df_status status = DF_OK;

    if (!is_pending) {
        w->rejected[outcome - DF_OUTCOME_REJECTED]++;
    }
    if (!is_pending && map->outcomes != NULL) {
        outcomes_set(map->outcomes, w->unit, (size_t)(r->index + i), outcome);
    }
    if (map->timeline != NULL) {
        status =
            timeline_add(map->timeline, w->number, w->unit,
                         is_pending ? r->read[i].time : TIMELINE_NONE, err);
    }
    return status == DF_OK && is_pending ? add_event(r, i, err) : status;
}

static enum df_status take_all(struct fold_worker *w, uint64_t index,
                               const struct df_record *records, size_t n,
                               struct df_error *err)
{
    const struct df_fold *fold = w->map->rows->fold;
    struct reading r = { .w = w, .index = index };
    enum df_status status = DF_OK;

    for (size_t at = 0; status == DF_OK && at < n; at += r.n) {
        r.index = index + at;
        r.n = fold->read(w->mapper, records + at,
                         n - at < AT_ONCE ? n - at : AT_ONCE, r.read);
        if (r.n == 0) {
            return error_no_memory(err);
        }
        put_heads(&r);
        hash_keys(&r);
        for (size_t i = 0; status == DF_OK && i < r.n; i++) {
            status = take(&r, i, err);
        }
    }
    return status;
}

enum df_status fold_worker_records(struct fold_worker *w,
                                   const struct fold_place *place,
                                   const struct df_record *records, size_t n,
                                   struct df_error *err)
{
    struct outcomes *outcomes = w->map->outcomes;
    enum df_status status = begin_unit(w, place, err);

    if (status == DF_OK && place->index + n > EVENTS_INDEX_MAX) {
        status = error_set(err, DF_INPUT,
                           "more than %u records in one file that cannot be "
                           "read in parts: divide it, or leave it "
                           "uncompressed",
                           EVENTS_INDEX_MAX);
    }
    if (status == DF_OK && outcomes != NULL) {
        status = outcomes_add(outcomes, place->unit, n, err);
    }
    if (status == DF_OK) {
        status = take_all(w, place->index, records, n, err);
    }
    w->records += n;
    w->deleted += place->is_deleted ? n : 0;
    return status;
}
