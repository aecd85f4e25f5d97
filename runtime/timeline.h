/*
 * timeline.h: the times of all records of a batch in arrival order, and
 * where the expiry point stood behind each.
 *
 * Keys are independent of each other; the window is not: whether a record has
 * expired depends on all before it. But that needs their times alone, so a
 * pass over a few bytes a record, by one thread at a time, settles it, and
 * keys can then go in parallel, each asking where the expiry point was.
 *
 *     timeline_open(&t, &plan, err)
 *       timeline_add(t, worker, unit, time, err) ...  per record of a unit
 *       timeline_end_unit(t, worker, unit, is_deleted, err)
 *     timeline_settle(t, &clock, counts, err)         when all units are ended
 *       timeline_start(t, &look, unit, index, &start, err)   any thread
 *     timeline_close(t)                               takes NULL
 *
 * Most is settled by the way: who ends a unit goes on from where the last one
 * stopped, as far as units have ended without a gap. So timeline_settle has
 * little left to do, while nobody else has anything to do.
 *
 * Times lie in memory while they are few, else in a file per worker, packed:
 * TIMELINE_STEP of them less their smallest, in two, four or eight bytes each.
 * Of the expiry point no more is kept than the clock at every step; where it
 * moved in between, the step is gone through again.
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
    struct df_clock clock;     /* as the batch begins */
    struct outcomes *outcomes; /* told of what is not live */
    const char *spill_directory;
    const volatile sig_atomic_t *stop; /* NULL: none */
};

struct timeline;
enum df_status timeline_open(struct timeline **out,
                             const struct timeline_plan *plan,
                             struct df_error *err) DF_MUST_CHECK;
void timeline_close(struct timeline *t);

/* A worker's units one after the other. */
enum df_status timeline_add(struct timeline *t, unsigned worker, size_t unit,
                            int64_t time, struct df_error *err) DF_MUST_CHECK;
/* All of the unit has been added. */
enum df_status timeline_end_unit(struct timeline *t, unsigned worker,
                                 size_t unit, bool is_deleted,
                                 struct df_error *err) DF_MUST_CHECK;

/* One thread. What is not live has been noted in the outcomes, and is added to
 * counts, which has a number for every outcome. */
enum df_status timeline_settle(struct timeline *t, struct df_clock *clock,
                               uint64_t *counts,
                               struct df_error *err) DF_MUST_CHECK;

/* One thread's last look: the step it was in. */
struct timeline_look {
    const void *step; /* NULL: none yet */
    int64_t starts[TIMELINE_STEP];
};

/* The expiry point behind a record. */
enum df_status timeline_start(const struct timeline *t,
                              struct timeline_look *look, uint32_t unit,
                              uint32_t index, int64_t *start,
                              struct df_error *err) DF_MUST_CHECK;

#endif
