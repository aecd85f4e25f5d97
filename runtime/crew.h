/*
 * crew.h: input, map and combine, by all workers.
 *
 *     crew_open(&c, &plan, err);
 *     crew_map(c, &batch, skip, err) ...;     one or more batches
 *     crew_finish(c, err);                    sorts or spills what is left
 *     crew_reduce(c, err);                    opens one reducer per partition
 *     crew_run(c, part) ...                   the runs, for install or verify
 *     crew_close(c);                          takes NULL
 *
 * Called from one thread; the workers are its own.
 */
#ifndef RUNTIME_CREW_H
#define RUNTIME_CREW_H

#include "input/reader.h"
#include "runtime/engine.h"
#include "runtime/reduce.h"

struct crew_plan {
    const struct jobspec *job;
    struct row_shape shape;
    unsigned parts;
    unsigned threads;
    size_t memory; /* for tables while mapping, for buffers afterwards */
    const char *scratch;
    uint64_t sample; /* 1: everything */
    const struct engine_options *options;
};

struct crew;
enum df_status crew_open(struct crew **out, const struct crew_plan *plan,
                         struct df_error *err) DF_MUST_CHECK;
void crew_close(struct crew *c);

/* Reads, hashes and maps all files of a batch; sets their hashes. Files for
 * which skip[i] is true are hashed only; skip may be NULL. */
enum df_status crew_map(struct crew *c, struct batch *batch, const bool *skip,
                        struct df_error *err) DF_MUST_CHECK;

enum df_status crew_finish(struct crew *c, struct df_error *err) DF_MUST_CHECK;
enum df_status crew_reduce(struct crew *c, struct df_error *err) DF_MUST_CHECK;

struct run_source *crew_run(struct crew *c, unsigned part);
struct reduce_bound crew_bound(const struct crew *c, unsigned part);

/* Sums over all workers; after crew_finish. */
struct crew_stats {
    uint64_t inserted; /* documents */
    uint64_t deleted;
    uint64_t records; /* of archives (WARC) */
    uint64_t skipped; /* of these: no documents */
    uint64_t pairs;
    uint64_t spills;
    uint64_t counters[DF_COUNTERS_MAX];
};
struct crew_stats crew_stats(const struct crew *c);

/* Hashes all files of a batch and nothing else. */
enum df_status crew_hash(const struct jobspec *job, struct batch *batch,
                         const struct engine_options *options,
                         struct df_error *err) DF_MUST_CHECK;

/* How a job's documents are cut. */
struct reader_cut crew_cut(const struct jobspec *job,
                           const struct engine_options *options);

/* What options leave open: as many threads as processors; a quarter of the
 * machine's (or the container's) memory. */
unsigned crew_threads(const struct engine_options *options);
size_t crew_memory(const struct engine_options *options);

#endif
