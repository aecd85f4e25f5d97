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

#include "runtime/engine.h"
#include "runtime/mapping.h"
#include "runtime/reduce.h"

/* Bytes that a worker takes: for the buffers of its reader, about, and for
 * its tables at least. */
enum { CREW_READER_MEMORY = 2 << 20, CREW_WORKER_MEMORY_MIN = 1 << 20 };

/*
 * Where records go instead of to the job's map, for those who keep their
 * order (fold jobs). Called on the workers' threads, each of which has a
 * number below plan.threads; (place->unit, place->index) is the order of
 * arrival, place->file the file with its section. reader_refuse(place, ...)
 * refuses one of the records, naming file and line.
 */
typedef enum df_status crew_records(void *ctx, unsigned worker,
                                    const struct reader_place *place,
                                    const struct df_record *records, size_t n,
                                    struct df_error *err);

struct crew;
struct crew_plan {
    const struct jobspec *job;
    struct row_shape shape;
    unsigned parts;
    unsigned threads;
    size_t
        memory; /* bytes, for tables while mapping, for buffers afterwards */
    const char *scratch;
    uint64_t sample; /* 1: everything */
    const struct engine_options *options;
    /* Not NULL: gets all records; the view must have a record format. Then
     * there are no mappers and no tables: crew_finish and crew_reduce may not
     * be called, and shape, parts, scratch and sample mean nothing. */
    crew_records *records;
    void *records_ctx;
    /* Records will be read once more: by a crew that has this one as `again`,
     * with the same batch. It gets them as they stand, without fields. */
    bool keeps_bounds;
    struct crew *again;
    /* Called, if not NULL, before the first record of a batch. */
    enum df_status (*begin)(void *ctx, size_t units, struct df_error *err);
};

enum df_status crew_open(struct crew **out, const struct crew_plan *plan,
                         struct df_error *err) DF_MUST_CHECK;
void crew_close(struct crew *c);

/* Reads, hashes and maps all files of a batch; sets their hashes. Files for
 * which skip[i] is true are hashed only; skip may be NULL. */
enum df_status crew_map(struct crew *c, struct batch *batch, const bool *skip,
                        struct df_error *err) DF_MUST_CHECK;

/* For sinks that wait for other workers: whether one of them has failed, so
 * that nothing will come of waiting. */
bool crew_has_failed(const struct crew *c);

enum df_status crew_finish(struct crew *c, struct df_error *err) DF_MUST_CHECK;
enum df_status crew_reduce(struct crew *c, struct df_error *err) DF_MUST_CHECK;

struct run_source *crew_run(struct crew *c, unsigned part);
struct reduce_bound crew_bound(const struct crew *c, unsigned part);

/* Sums over all workers; after crew_finish. */
struct crew_stats {
    uint64_t inserted; /* documents; with a record format: records */
    uint64_t deleted;
    uint64_t records; /* of archives (WARC), or of files of records, with
                         their empty lines */
    uint64_t skipped; /* of these: no documents, empty lines */
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
 * machine's (or the container's) memory, in bytes. */
unsigned crew_threads(const struct engine_options *options);
size_t crew_memory(const struct engine_options *options);

/* Tells the progress function of a phase that is not measured. */
void crew_phase(const struct engine_options *options, const char *batch,
                const char *phase);

#endif
