/*
 * comparison.h: the rows of one shard compared with those that a
 * recomputation gives, both in order.
 *
 *     struct comparison c = { .rules = &rules };
 *     comparison_run(&c, expected, found, err);    once
 *     ... c.differences, c.first ...
 *     comparison_fini(&c);                         safe on zeroed memory
 *
 * Differences are no failure: they are counted, and the first are kept. Shards
 * are independent: each thread may compare one.
 */
#ifndef RUNTIME_COMPARISON_H
#define RUNTIME_COMPARISON_H

#include <signal.h>

#include "base/hash.h"
#include "runtime/hollow.h"
#include "state/run.h"

enum { COMPARISON_SHOWN = 20 /* differences that are kept */ };

/* What all shards have in common. */
struct comparison_rules {
    struct row_shape shape;
    uint64_t sample; /* one key in so many; the expected rows are of these */
    bool has_window; /* a row may then be what its batches changed */
    const volatile sig_atomic_t *stop; /* may be NULL */
};

/* A row; values are zeros on the side that does not have it. */
struct comparison_difference {
    struct buf row_key; /* in full */
    int64_t expected[DF_COMPONENTS_MAX];
    int64_t found[DF_COMPONENTS_MAX];
};

struct comparison {
    const struct comparison_rules *rules; /* the caller's */
    struct comparison_difference first[COMPARISON_SHOWN];
    uint64_t differences;
    uint64_t rows; /* found */
    struct hollow hollow;
    struct hash128 view; /* digests of the rows found and expected */
    struct hash128 recomputed;
    struct buf row_key; /* room: the row at hand */
    struct buf room;
};

/* DF_STATE for damaged rows, DF_INTERRUPTED. */
enum df_status comparison_run(struct comparison *c,
                              struct run_source *expected_rows,
                              struct run_source *found_rows,
                              struct df_error *err) DF_MUST_CHECK;
void comparison_fini(struct comparison *c);

#endif
