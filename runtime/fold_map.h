/*
 * fold_map.h: records become events, dealt out by key; per worker.
 *
 *     fold_worker_open(&w, &map, number, memory, scratch, err)
 *       fold_worker_records(&w, &place, records, n, err) ...
 *     fold_worker_end(&w, err)          after the last unit
 *     ... its events are read, and closed (w.events) ...
 *     fold_worker_close(&w)             safe on a zeroed one
 *
 * Units come in ascending order, each in one go. Workers run at the same time.
 */
#ifndef RUNTIME_FOLD_MAP_H
#define RUNTIME_FOLD_MAP_H

#include "jobs/registry.h"
#include "runtime/events.h"
#include "runtime/fold_rows.h"
#include "runtime/timeline.h"

/* What all workers share. */
struct fold_map {
    const struct jobspec *job;
    const struct fold_rows *rows;
    unsigned parts;            /* of the events */
    struct timeline *timeline; /* NULL: untimed */
    struct outcomes *outcomes; /* NULL: not needed */
};

/* Records that come together: of one unit, one behind the other. */
struct fold_place {
    size_t unit;
    uint64_t index; /* of the first, in the unit */
    bool is_deleted;
};

#define FOLD_NO_UNIT SIZE_MAX

struct fold_worker {
    const struct fold_map *map;
    unsigned number;
    void *mapper;
    struct events *events;
    size_t unit; /* the one at hand, FOLD_NO_UNIT before the first */
    bool is_deleted;
    uint64_t records;
    uint64_t deleted;                   /* of these */
    uint64_t rejected[DF_COUNTERS_MAX]; /* by reason */
};

enum df_status fold_worker_open(struct fold_worker *w,
                                const struct fold_map *map, unsigned number,
                                size_t memory, const char *scratch,
                                struct df_error *err) DF_MUST_CHECK;
void fold_worker_close(struct fold_worker *w);

enum df_status fold_worker_records(struct fold_worker *w,
                                   const struct fold_place *place,
                                   const struct df_record *records, size_t n,
                                   struct df_error *err) DF_MUST_CHECK;
enum df_status fold_worker_end(struct fold_worker *w,
                               struct df_error *err) DF_MUST_CHECK;

#endif
