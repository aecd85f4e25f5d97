/*
 * merge.h: many runs as one. Rows with one head are summed, and left out
 * where the sum is zero.
 *
 *     merge_open(&m, shape, sources, n, err);     sources stay the caller's
 *     ... m->next, m->rewind, as run.h has it ...
 *     merge_close(m);                             takes NULL
 *
 * Sums beyond 64 bits and two tails under one head are DF_INPUT. A merge can
 * seek where all its sources can.
 */
#ifndef STATE_MERGE_H
#define STATE_MERGE_H

#include "state/run.h"

enum df_status merge_open(struct run_source **merge, struct row_shape shape,
                          struct run_source *const *sources, size_t n,
                          struct df_error *err) DF_MUST_CHECK;

/* The same, but source i is subtracted where minus[i] is true. */
enum df_status merge_open_signed(struct run_source **merge,
                                 struct row_shape shape,
                                 struct run_source *const *sources,
                                 const bool *minus, size_t n,
                                 struct df_error *err) DF_MUST_CHECK;
void merge_close(struct run_source *merge);

/* Bytes that a merge of n sources holds, long tails aside. */
size_t merge_memory(size_t n);

#endif
