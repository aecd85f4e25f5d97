/*
 * timeline.h: the times of all records of a batch in arrival order, and
 * where the expiry point stood behind each.
 *
 * Keys are independent of each other; the window is not: whether a record has
 * expired depends on all before it. But that needs their times alone, so a
 * pass over eight bytes a record, done by one thread, settles it, and keys
 * can then go in parallel, each asking where the expiry point was.
 *
 *     timeline_open(&t, &plan, err)
 *       timeline_add(t, worker, time, err) ...     per record of a unit
 *       timeline_end_unit(t, worker, unit, is_deleted, err)
 *     timeline_settle(t, &clock, outcomes, err)    one thread; moves the clock
 *       timeline_start(t, &look, unit, index, &start, err)   any thread
 *     timeline_close(t)                            takes NULL
 *
 * Times lie in memory while they are few, else in a file per worker. Of the
 * expiry point no more is kept than the clock at every TIMELINE_STEP-th
 * record; where it moved in between, the step is gone through again.
 */
#ifndef RUNTIME_TIMELINE_H
#define RUNTIME_TIMELINE_H

#include "base/error.h"
#include "deltafold/job.h"
#include "runtime/outcomes.h"

enum { TIMELINE_STEP = 1024 };

/* The time of a record that has none. */
#define TIMELINE_NONE INT64_MIN

struct timeline_plan {
    const struct df_fold *fold;
    const void *config;
    unsigned workers;
    size_t units;
    const char *spill_directory;
    const volatile sig_atomic_t *stop; /* NULL: none */
};

struct timeline;
enum df_status timeline_open(struct timeline **out,
                             const struct timeline_plan *plan,
                             struct df_error *err) DF_MUST_CHECK;
void timeline_close(struct timeline *t);

enum df_status timeline_add(struct timeline *t, unsigned worker, int64_t time,
                            struct df_error *err) DF_MUST_CHECK;
/* The times that the worker has added since belong to this unit. */
void timeline_end_unit(struct timeline *t, unsigned worker, size_t unit,
                       bool is_deleted);

/* Goes through all times; what is not live is noted in outcomes, and added
 * to counts, which has a number for every outcome. */
enum df_status timeline_settle(struct timeline *t, struct df_clock *clock,
                               struct outcomes *outcomes, uint64_t *counts,
                               struct df_error *err) DF_MUST_CHECK;

/* One thread's last look: the step it was in. */
struct timeline_look {
    size_t mark; /* 1 + number of the step; 0: none yet */
    int64_t starts[TIMELINE_STEP];
};

/* The expiry point behind a record. */
enum df_status timeline_start(const struct timeline *t,
                              struct timeline_look *look, uint32_t unit,
                              uint32_t index, int64_t *start,
                              struct df_error *err) DF_MUST_CHECK;

#endif
