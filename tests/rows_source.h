/*
 * rows_source.h: rows in memory for tests: as a run for install to read, and
 * as the plain model of what a view should hold. All functions abort the
 * test without memory.
 *
 *     struct rows_source r = { .shape = shape };
 *     rows_source_add(&r, key, element, values) ...;
 *     rows_source_order(&r, ROWS_BY_HEAD);   a run: sorted, summed, no zeros
 *     ... &r.source ...                      rewound by whoever reads it
 *     rows_source_add_all(&model, &r, 1);
 *     rows_source_order(&model, ROWS_BY_KEY);
 *     rows_source_fini(&r);
 */
#ifndef TESTS_ROWS_SOURCE_H
#define TESTS_ROWS_SOURCE_H

#include "state/run.h"

struct rows_source_row {
    uint8_t *row_key; /* in full, owned */
    size_t len;
    int64_t values[DF_COMPONENTS_MAX];
};

struct rows_source {
    struct run_source source; /* first; ready after rows_source_order */
    struct row_shape shape;
    struct rows_source_row *at;
    size_t count;
    size_t capacity;

    /* Called before row number `next` is given out, where it is set; what it
     * returns is what the source returns. */
    enum df_status (*before)(void *ctx, size_t next, struct df_error *err);
    void *before_ctx;

    /* The reader's place. */
    size_t next;
    unsigned rewinds;
    uint8_t room[ROW_HEAD_MAX];
    struct row row;
};

enum rows_source_order {
    ROWS_BY_HEAD, /* as runs and shards are */
    ROWS_BY_KEY   /* as scans are: byte order of full row keys */
};

void rows_source_fini(struct rows_source *r);
void rows_source_reset(struct rows_source *r);
void rows_source_add(struct rows_source *r, struct bytes key,
                     struct bytes element, const int64_t *values);
/* For jobs without elements. */
void rows_source_add_text(struct rows_source *r, const char *key,
                          int64_t value);
/* Adds the rows of another, times factor. */
void rows_source_add_all(struct rows_source *r,
                         const struct rows_source *other, int64_t factor);
void rows_source_order(struct rows_source *r, enum rows_source_order order);

/* The rows of one shard of `shards`, in the order they are in. */
void rows_source_of_shard(const struct rows_source *all, unsigned shards,
                          unsigned shard, struct rows_source *out);

struct hash128 rows_source_digest(const struct rows_source *r);
uint64_t rows_source_bytes(const struct rows_source *r);

/* A row's key and element; they point into room, which is reset. */
void rows_source_decode(const struct rows_source *r, size_t i,
                        struct buf *room, struct bytes *key,
                        struct bytes *element);

#endif
