/*
 * reduce.c: which runs are merged, and through how much buffer.
 *
 * Sources of a partition are what each worker still has in memory, which
 * costs nothing to read, and the segments it spilled, which take a buffer
 * each. Where buffers for all segments do not fit, the oldest are merged
 * into one that takes the place behind the youngest, as few as make the rest
 * fit; and again. With room for three buffers and six segments:
 *
 *     1 2 3 4 5 6  ->  4 5 6 (123)  ->  6 (123) (45)
 *
 * the second merge takes only two, for more would be read for nothing.
 */
#include "runtime/reduce.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/combine_parts.h"
#include "runtime/spill.h"
#include "state/merge.h"

enum {
    BUFFER_MAX = 256 * 1024, /* a larger one reads no faster */
    READER_MEMORY = 1024,    /* a reader beside its buffer */
    WRITER_MEMORY = 68 * 1024,
    BLOCK_OVERHEAD = 256, /* a row in a block beside head and tail */
    AHEAD = 16,           /* rows in memory that are sent for */
    RECORD_REACH = 24     /* bytes from a record's begin to where its key is
                             likely to end */
};

/* The part of one worker that is in memory, as a run. */
struct memory_source {
    struct run_source source; /* first: what merge holds */
    struct combine_rows rows;
    size_t at;
    struct row row;
};

/* Segments still to be read: a queue in an array that is long enough for
 * all that will ever be in it. */
struct queue {
    struct run_segment *segments;
    size_t first;
    size_t end;
};

struct reduce {
    struct row_shape shape;
    const char *spill_directory;
    size_t memory;
    size_t longest; /* head and tail of any row */
    unsigned part;
    struct memory_source *in_memory;
    size_t in_memory_count;
    struct queue queue;
    int fd; /* of what was merged in between; -1: nothing was */
    uint64_t file_end;
    struct run_source **readers; /* of the queue's segments */
    size_t reader_count;
    struct run_source *run;
    struct reduce_bound bound;
};

/* ---- Rows in memory ---- */

static enum df_status memory_next(struct run_source *source,
                                  const struct row **row, struct df_error *err)
{
    struct memory_source *s = (struct memory_source *)source;
    const struct combine_rows *rows = &s->rows;

    (void)err;
    if (s->at == rows->n) {
        *row = NULL;
        return DF_OK;
    }
    /* Rows lie all over the memory; one that is not long begins in one line
     * and ends in the next. Not in a function of its own: gcc takes one that
     * only sends for memory for one that does nothing, and drops the call. */
    if (rows->n - s->at > AHEAD) {
        const uint8_t *record = (const uint8_t *)table_record(
            rows->table, rows->entries[s->at + AHEAD].ref);

        __builtin_prefetch(record);
        __builtin_prefetch(record + RECORD_REACH);
    }
    s->row = table_row(rows->table, rows->entries[s->at++].ref);
    *row = &s->row;
    return DF_OK;
}

static enum df_status memory_rewind(struct run_source *source,
                                    struct df_error *err)
{
    struct memory_source *s = (struct memory_source *)source;

    (void)err;
    s->at = 0;
    return DF_OK;
}

static void add_memory(struct reduce *r, const struct combine *c)
{
    struct combine_rows rows = combine_rows(c, r->part);

    if (rows.n > 0) {
        struct memory_source *s = &r->in_memory[r->in_memory_count++];

        s->source.next = memory_next;
        s->source.rewind = memory_rewind;
        s->rows = rows;
        r->bound.rows += rows.n;
        r->bound.bytes += rows.bytes;
    }
}

/* ---- Segments ---- */

static void add_segments(struct reduce *r, const struct combine *c)
{
    for (uint64_t i = 0; i < combine_stats(c).spills; i++) {
        const struct combine_segment *s = combine_segment(c, i, r->part);

        if (s->run.rows > 0) {
            r->queue.segments[r->queue.end++] = s->run;
            r->bound.rows += s->run.rows;
            r->bound.bytes += s->bytes;
        }
    }
}

/* Finds all sources. */
static enum df_status gather(struct reduce *r, struct combine *const *workers,
                             unsigned n, struct df_error *err)
{
    size_t spills = 0;

    for (unsigned i = 0; i < n; i++) {
        spills += (size_t)combine_stats(workers[i]).spills;
    }
    r->in_memory = calloc(n, sizeof *r->in_memory);
    /* Each merge takes at least two off the queue and adds one. */
    r->queue.segments = calloc(2 * spills + 1, sizeof *r->queue.segments);
    if (r->in_memory == NULL || r->queue.segments == NULL) {
        return error_no_memory(err);
    }
    for (unsigned i = 0; i < n; i++) {
        size_t longest = combine_longest(workers[i]);

        r->longest = longest > r->longest ? longest : r->longest;
        add_memory(r, workers[i]);
        add_segments(r, workers[i]);
    }
    return DF_OK;
}

static size_t queued(const struct reduce *r)
{
    return r->queue.end - r->queue.first;
}

/* The least that a reader must be given: a block with the longest row. */
static size_t least_buffer(const struct reduce *r)
{
    size_t block = r->longest + BLOCK_OVERHEAD;

    return block > RUN_BUFFER_MIN ? block : RUN_BUFFER_MIN;
}

/* How many segments can be read at a time when `aside` bytes are taken. */
static size_t readers_at_once(const struct reduce *r, size_t aside)
{
    size_t each = least_buffer(r) + READER_MEMORY + merge_memory(1);
    size_t n = r->memory > aside ? (r->memory - aside) / each : 0;

    return n < 2 ? 2 : n;
}

/* Takes n segments off the queue and opens a reader for each. */
static enum df_status open_readers(struct reduce *r, size_t n, size_t aside,
                                   struct df_error *err)
{
    size_t least = least_buffer(r);
    size_t buffer = BUFFER_MAX;

    if (n > 0) {
        size_t share = (r->memory > aside ? r->memory - aside : 0) / n;
        size_t beside = READER_MEMORY + merge_memory(1);

        share = share > beside ? share - beside : 0;
        buffer = share < BUFFER_MAX ? share : BUFFER_MAX;
    }
    r->readers = calloc(n + 1, sizeof(struct run_source *));
    if (r->readers == NULL) {
        return error_no_memory(err);
    }
    for (; r->reader_count < n; r->reader_count++) {
        enum df_status status =
            run_reader_open(&r->readers[r->reader_count], r->shape,
                            &r->queue.segments[r->queue.first++],
                            buffer < least ? least : buffer, err);

        if (status != DF_OK) {
            return status;
        }
    }
    return DF_OK;
}

static void close_readers(struct reduce *r)
{
    for (size_t i = 0; i < r->reader_count; i++) {
        run_reader_close(r->readers[i]);
    }
    free(r->readers);
    r->readers = NULL;
    r->reader_count = 0;
}

/* Writes all rows of a run behind the end of the file in between. */
static enum df_status write_run(struct reduce *r, struct run_source *run,
                                struct run_segment *segment,
                                struct df_error *err)
{
    struct run_writer *w = NULL;
    const struct row *row = NULL;
    enum df_status status;

    status = run_writer_open(&w, r->shape, r->fd, r->file_end, err);
    while (status == DF_OK && (status = run->next(run, &row, err)) == DF_OK &&
           row != NULL) {
        status = run_writer_add(w, row, err);
    }
    if (status == DF_OK) {
        status = run_writer_end(w, segment, err);
    }
    if (status == DF_OK) {
        r->file_end = segment->end;
    } else if (status == DF_SYSTEM) {
        (void)error_prefix(err, status, "%s", r->spill_directory);
    }
    run_writer_close(w);
    return status;
}

/* Merges the n oldest segments of the queue into one behind its end. */
static enum df_status merge_oldest(struct reduce *r, size_t n,
                                   struct df_error *err)
{
    struct run_source *merge = NULL;
    struct run_segment segment;
    enum df_status status;

    status = open_readers(r, n, WRITER_MEMORY, err);
    if (status == DF_OK) {
        status = merge_open(&merge, r->shape, r->readers, n, err);
    }
    if (status == DF_OK) {
        status = write_run(r, merge, &segment, err);
    }
    if (status == DF_OK && segment.rows > 0) {
        r->queue.segments[r->queue.end++] = segment;
    }
    merge_close(merge);
    close_readers(r);
    return status;
}

/* Until what is queued can be read at once. */
static enum df_status merge_down(struct reduce *r, struct df_error *err)
{
    size_t most = readers_at_once(r, 0);
    size_t at_once = readers_at_once(r, WRITER_MEMORY);
    enum df_status status = DF_OK;

    if (queued(r) > most) {
        status = spill_file(&r->fd, r->spill_directory, err);
    }
    while (status == DF_OK && queued(r) > most) {
        size_t surplus = queued(r) - most + 1;

        status = merge_oldest(r, surplus < at_once ? surplus : at_once, err);
    }
    return status;
}

/* ---- Opening ---- */

static enum df_status merge_all(struct reduce *r, struct df_error *err)
{
    size_t n = r->in_memory_count + queued(r);
    struct run_source **sources = calloc(n + 1, sizeof(struct run_source *));
    enum df_status status;

    if (sources == NULL) {
        return error_no_memory(err);
    }
    status = open_readers(r, queued(r), 0, err);
    if (status == DF_OK) {
        for (size_t i = 0; i < r->in_memory_count; i++) {
            sources[i] = &r->in_memory[i].source;
        }
        for (size_t i = 0; i < r->reader_count; i++) {
            sources[r->in_memory_count + i] = r->readers[i];
        }
        status = merge_open(&r->run, r->shape, sources, n, err);
    }
    free(sources);
    return status;
}

enum df_status reduce_open(struct reduce **r, struct combine *const *workers,
                           unsigned n, unsigned part, size_t memory,
                           struct df_error *err)
{
    struct reduce *reduce = calloc(1, sizeof *reduce);
    enum df_status status;

    assert(n > 0 && part < combine_plan_of(workers[0])->parts);
    *r = NULL;
    if (reduce == NULL) {
        return error_no_memory(err);
    }
    reduce->shape = combine_plan_of(workers[0])->shape;
    reduce->spill_directory = combine_plan_of(workers[0])->spill_directory;
    reduce->memory = memory;
    reduce->part = part;
    reduce->fd = -1;
    status = gather(reduce, workers, n, err);
    if (status == DF_OK) {
        status = merge_down(reduce, err);
    }
    if (status == DF_OK) {
        status = merge_all(reduce, err);
    }
    if (status != DF_OK) {
        reduce_close(reduce);
        return status;
    }
    *r = reduce;
    return DF_OK;
}

void reduce_close(struct reduce *r)
{
    if (r == NULL) {
        return;
    }
    merge_close(r->run);
    close_readers(r);
    if (r->fd >= 0) {
        (void)close(r->fd);
    }
    free(r->queue.segments);
    free(r->in_memory);
    free(r);
}

struct run_source *reduce_run(struct reduce *r)
{
    return r->run;
}

struct reduce_bound reduce_bound(const struct reduce *r)
{
    return r->bound;
}
