/*
 * buf.h: bytes that are owned and grow.
 *
 *     struct buf b = { 0 };
 *     if (!buf_append(&b, data, len)) { return error_no_memory(err); }
 *     ... buf_reset(&b) to use it again, capacity kept ...
 *     buf_fini(&b);
 *
 * A zeroed buf is empty and valid. Where a function returns false memory
 * ran out and the buf is unchanged. Not safe for two threads at once.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/bytes.h"

struct buf {
    uint8_t *data;   /* NULL while capacity is 0 */
    size_t len;      /* bytes in use */
    size_t capacity; /* bytes allocated */
};

void buf_fini(struct buf *b);

/* What buf_reserve does where there is not room enough. */
bool buf_grow(struct buf *b, size_t more);

/* Room for `more` bytes behind len. Inline, like the next two: most often
 * there is. */
static inline bool buf_reserve(struct buf *b, size_t more)
{
    return b->capacity - b->len >= more || buf_grow(b, more);
}

static inline bool buf_append(struct buf *b, const void *data, size_t len)
{
    if (!buf_reserve(b, len)) {
        return false;
    }
    if (len > 0) {
        memcpy(b->data + b->len, data, len);
        b->len += len;
    }
    return true;
}

static inline bool buf_append_byte(struct buf *b, uint8_t byte)
{
    return buf_append(b, &byte, 1);
}

bool buf_append_string(struct buf *b, const char *s);
bool buf_printf(struct buf *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline void buf_reset(struct buf *b)
{
    b->len = 0;
}

static inline struct bytes buf_bytes(const struct buf *b)
{
    return bytes_of(b->data, b->len);
}

#endif
