/*
 * combine_parts.h: what a finished combine holds of each partition. For
 * reduce alone; valid between combine_finish and combine_close, on any
 * thread.
 */
#ifndef RUNTIME_COMBINE_PARTS_H
#define RUNTIME_COMBINE_PARTS_H

#include "runtime/combine.h"
#include "runtime/table.h"

/* The plan with which it was opened. */
const struct combine_plan *combine_plan_of(const struct combine *c);

/* Bytes of the longest head and tail of all rows. */
size_t combine_longest(const struct combine *c);

/* A spilled part. `bytes` is what reduce_bound is about. */
struct combine_segment {
    struct run_segment run;
    uint64_t bytes;
};
/* spill counts from 0 to combine_stats().spills - 1. */
const struct combine_segment *combine_segment(const struct combine *c,
                                              uint64_t spill, unsigned part);

/* The part that is still in memory, sorted; n is 0 where all was spilled.
 * Entry i stands for table_row(table, entries[i].ref). */
struct combine_rows {
    const struct table *table;
    const struct sort_entry *entries;
    size_t n;
    uint64_t bytes;
};
struct combine_rows combine_rows(const struct combine *c, unsigned part);

#endif
