/*
 * reduce.h: the workers' tables and spills of one partition, merged into
 * one run.
 *
 * The result is a run_source: rows in head order, each head once, values
 * summed over all workers and spills, rows that cancel left out. It can be
 * rewound. Reducers of different partitions may run on different threads at
 * the same time over the same combines.
 *
 *     reduce_open(&r, workers, n, part, memory, err);
 *     struct run_source *run = reduce_run(r);
 *     reduce_close(r);                      takes NULL
 *
 * Where there are more spills than buffers fit into `memory`, they are
 * first merged in groups into longer ones (in the first worker's spill
 * directory), as often as needed; so open never holds more than `memory`
 * bytes of buffers plus a small constant per worker.
 */
#ifndef RUNTIME_REDUCE_H
#define RUNTIME_REDUCE_H

#include "runtime/combine.h"

struct reduce;

enum df_status reduce_open(struct reduce **r, struct combine *const *workers,
                           unsigned n, unsigned part, size_t memory,
                           struct df_error *err) DF_MUST_CHECK;
void reduce_close(struct reduce *r);

struct run_source *reduce_run(struct reduce *r);

/* Never less than the rows of the run, and known before the first: the rows
 * of its sources added up; and the bytes that those rows' heads, tails and
 * values take. Install plans with them. */
struct reduce_bound {
    uint64_t rows;
    uint64_t bytes;
};
struct reduce_bound reduce_bound(const struct reduce *r);

#endif
