/*
 * run.h: sorted rows as a stream, in memory or in a file.
 *
 * A run is rows in head order, no head twice, none all zero: what a batch
 * amounts to after reduce. Combine spills runs, reduce merges them into one,
 * install folds that one into the view; with several shards it also lies on
 * disk until every shard has it.
 *
 * Reading, whatever the run lies in:
 *
 *     const struct row *row;
 *     while ((status = source->next(source, &row, err)) == DF_OK && row) ...
 *
 * The end is row == NULL, not an error. What row points at holds until the
 * next call. rewind starts again from the first row, as often as wanted
 * (an LMDB transaction that outgrew its map is done again from there).
 */
#ifndef STATE_RUN_H
#define STATE_RUN_H

#include "state/row.h"

struct run_source {
    enum df_status (*next)(struct run_source *, const struct row **row,
                           struct df_error *);
    enum df_status (*rewind)(struct run_source *, struct df_error *);
    /* Goes to the first row whose head is not before `head`, forwards or
     * back: next gives it. NULL where a source cannot. */
    enum df_status (*seek)(struct run_source *, struct bytes head,
                           struct df_error *);
};

/*
 * A segment: one run in a file, from byte `begin` to byte `end`. The format
 * is private to run.c: prefix-compressed rows in checksummed blocks.
 */
struct run_segment {
    int fd;         /* not owned */
    uint64_t begin; /* first byte */
    uint64_t end;   /* one past the last byte */
    uint64_t rows;
};

/* What a row with that many components may add to the bytes of a run: so that
 * no sum of rows takes more than what its summands were counted for. */
uint64_t run_row_bound(const struct row *row, unsigned components);

/*
 * Writing, in order; one thread at a time. Bytes are written at the current
 * end of file given to open and counted from there, so several writers must
 * not share a file at the same time; one after the other may.
 *
 *     run_writer_open(&w, shape, fd, begin, err);
 *     run_writer_add(w, row, err) ...;
 *     run_writer_end(w, &segment, err);     flushes; does not fsync
 *     run_writer_close(w);                  takes NULL; also after failure
 */
struct run_writer;
enum df_status run_writer_open(struct run_writer **w, struct row_shape shape,
                               int fd, uint64_t begin,
                               struct df_error *err) DF_MUST_CHECK;
enum df_status run_writer_add(struct run_writer *w, const struct row *row,
                              struct df_error *err) DF_MUST_CHECK;
enum df_status run_writer_end(struct run_writer *w,
                              struct run_segment *segment,
                              struct df_error *err) DF_MUST_CHECK;
void run_writer_close(struct run_writer *w);

/*
 * A source that reads a segment with pread through a buffer of about
 * `buffer` bytes (at least RUN_BUFFER_MIN). Many readers may share the file.
 * A checksum that does not fit is DF_STATE.
 */
enum { RUN_BUFFER_MIN = 8192 };
enum df_status run_reader_open(struct run_source **source,
                               struct row_shape shape,
                               const struct run_segment *segment,
                               size_t buffer,
                               struct df_error *err) DF_MUST_CHECK;
void run_reader_close(struct run_source *source); /* takes NULL */

#endif
