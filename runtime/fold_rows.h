/*
 * fold_rows.h: the rows of a fold job (include/deltafold/job.h).
 *
 *     01 key         copies, time          a key that is known
 *     02 span key    1, 0                  ... and when it will not be
 *     02 span key    copies, time          a key that lives in its own span
 *
 * The row key that holds the state of an event is the event's key: while
 * the batch is read, the span is not known yet, and its place holds zeros.
 */
#ifndef RUNTIME_FOLD_ROWS_H
#define RUNTIME_FOLD_ROWS_H

#include "state/row.h"

struct fold_rows {
    const struct df_fold *fold;
    const void *config;
    struct row_shape shape;
    bool is_timed;
    bool is_by_span;
};

static inline struct fold_rows fold_rows_of(const struct df_fold *fold,
                                            const void *config,
                                            struct row_shape shape)
{
    return (struct fold_rows){ .fold = fold,
                               .config = config,
                               .shape = shape,
                               .is_timed = fold->is_timed(config),
                               .is_by_span = fold->is_by_span(config) };
}

/* Bytes in front of the job's key in the row that holds its state. */
static inline size_t fold_rows_head(const struct fold_rows *f)
{
    return f->is_by_span ? DF_FOLD_SPAN_HEAD : 1;
}

/* Writes the head of a row of the second kind. */
static inline void fold_rows_put_span(const struct fold_rows *f,
                                      const struct df_clock *clock,
                                      int64_t time, uint8_t *head)
{
    int64_t span = f->fold->span_of(f->config, clock, time);

    head[0] = DF_FOLD_SPAN;
    store_be64(head + 1, (uint64_t)span ^ (uint64_t)1 << 63);
}

/* The hash by which events are dealt out: all events of a key have the same,
 * and where a key has one row, it is that of the row's shard. */
static inline uint64_t fold_rows_hash(const struct fold_rows *f,
                                      struct bytes key)
{
    if (f->is_by_span) {
        key = bytes_of(key.data + DF_FOLD_SPAN_HEAD,
                       key.len - DF_FOLD_SPAN_HEAD);
    }
    return row_key_hash(key);
}

#endif
