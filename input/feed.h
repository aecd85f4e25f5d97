/*
 * feed.h: where a layer of the input takes its bytes from: a file on disk,
 * the block of an archive's record, memory in a test. Layers lie on each
 * other: decode.h reads a feed, and an archive (warc.h) is one.
 */
#ifndef INPUT_FEED_H
#define INPUT_FEED_H

#include "base/error.h"

struct feed {
    /* At least one byte to room, unless it is the end: *n = 0. */
    enum df_status (*read)(void *ctx, uint8_t *room, size_t size, size_t *n,
                           struct df_error *err);
    /* DF_INPUT and why, behind the name of what the bytes belong to. */
    enum df_status (*refuse)(void *ctx, const char *why, struct df_error *err);
    void *ctx;
};

static inline enum df_status feed_read(const struct feed *f, uint8_t *room,
                                       size_t size, size_t *n,
                                       struct df_error *err)
{
    return f->read(f->ctx, room, size, n, err);
}

static inline enum df_status feed_refuse(const struct feed *f, const char *why,
                                         struct df_error *err)
{
    return f->refuse(f->ctx, why, err);
}

#endif
