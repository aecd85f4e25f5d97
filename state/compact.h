/*
 * compact.h: deferred runs merged with each other and folded into the rows.
 *
 * What the view holds is the same before, after and in between; each step is
 * one transaction of one shard. Runs of like size are merged, four or more at
 * a time, so that a row is merged as often as the sizes have powers of four;
 * when all of them together are a fixed share of the rows (COST_FOLD_SHARE)
 * they are folded: the shard's other table is filled with rows and runs, in
 * chunks, while readers go on with what is there, and takes its place when it
 * is complete. A fold that is stopped between two chunks - by the budget, by
 * a signal, by a crash - goes on there the next time.
 */
#ifndef STATE_COMPACT_H
#define STATE_COMPACT_H

#include <signal.h>

#include "state/view.h"

struct compact_plan {
    bool everything;   /* fold all there is, whether it is time to or not */
    int64_t budget_us; /* without everything: one step, or one chunk of a
                          fold, and no new one after so long, ... */
    unsigned threads;
    const volatile sig_atomic_t *stop; /* may be NULL */
};
/* ... unless the overlay is this many times what it should be. */
enum { COMPACT_BEHIND = 2 };

enum {
    COMPACT_TIER = 4,           /* runs merged at a time, at least */
    COMPACT_LEVEL_0 = 64 << 10, /* bytes of the smallest level */
    COMPACT_MERGE_PART = 2,     /* of what is due: larger sums are not merged,
                                   unless there are very many runs */
    COMPACT_CHUNK = 4 << 20     /* bytes per transaction: some 40 ms */
};

struct compact_report {
    /* Runs merged into others and folded into the rows, in the shard that had
     * most of them: a batch is one run in each. */
    uint64_t merged;
    uint64_t folded;
    uint64_t changes; /* rows of those that were folded, of all shards */
    uint64_t us;
};

/* Zeroes and fills *report, as far as it came. On failure the view is sound,
 * and holds what it held. */
enum df_status view_compact(struct view *v, const struct compact_plan *plan,
                            struct compact_report *report,
                            struct df_error *err) DF_MUST_CHECK;

/* For tests, so that views of a few rows have something to merge and to fold:
 * bytes per transaction, of the smallest level of runs, of an overlay that is
 * due and of work for several threads; 0: default. */
void compact_set_scale(size_t bytes);

#endif
