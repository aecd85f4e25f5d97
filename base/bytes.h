/*
 * bytes.h: borrowed bytes. A pointer and a length that somebody else owns;
 * never freed, never kept beyond the call unless the header says so.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

struct bytes {
    const uint8_t *data;
    size_t len;
};

static inline struct bytes bytes_of(const void *data, size_t len)
{
    return (struct bytes){ .data = data, .len = len };
}

static inline struct bytes bytes_of_string(const char *s)
{
    return bytes_of(s, strlen(s));
}

/* Byte order: memcmp, and a prefix comes before what it begins. */
static inline int bytes_compare(struct bytes a, struct bytes b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);

    if (order != 0) {
        return order;
    }
    return (a.len > b.len) - (a.len < b.len);
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.len == b.len &&
           (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Whether b ends in that text, letters of ASCII in any case. */
static inline bool bytes_end_in(struct bytes b, const char *end)
{
    size_t len = strlen(end);

    return b.len >= len &&
           strncasecmp((const char *)b.data + b.len - len, end, len) == 0;
}

/* Copies b, where 15 bytes behind both are no matter: they may be read, and
 * are written. Of short bytes this is no call. */
static inline void bytes_copy_slack(uint8_t *to, struct bytes b)
{
    for (size_t i = 0; i < b.len; i += 16) {
        memcpy(to + i, b.data + i, 16);
    }
}

/* memcpy, where most are short: of these it is no call. */
static inline void bytes_copy(uint8_t *to, const uint8_t *from, size_t n)
{
    uint64_t first;
    uint64_t last;

    if (n > 16) {
        memcpy(to, from, n);
    } else if (n >= 8) {
        memcpy(&first, from, 8);
        memcpy(&last, from + n - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + n - 8, &last, 8);
    } else if (n >= 4) {
        memcpy(&first, from, 4);
        memcpy(&last, from + n - 4, 4);
        memcpy(to, &first, 4);
        memcpy(to + n - 4, &last, 4);
    } else {
        for (size_t i = 0; i < n; i++) {
            to[i] = from[i];
        }
    }
}

/* Integers on disk are big-endian and may lie anywhere. */
static inline uint64_t load_be64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return __builtin_bswap64(v);
}

static inline void store_be64(uint8_t *p, uint64_t v)
{
    v = __builtin_bswap64(v);
    memcpy(p, &v, sizeof v);
}

static inline uint32_t load_be32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return __builtin_bswap32(v);
}

static inline void store_be32(uint8_t *p, uint32_t v)
{
    v = __builtin_bswap32(v);
    memcpy(p, &v, sizeof v);
}

/* How many bytes both begin with. */
static inline size_t bytes_shared(struct bytes a, struct bytes b)
{
    size_t most = a.len < b.len ? a.len : b.len;
    size_t n = 0;

    for (; n + 8 <= most; n += 8) {
        uint64_t differing = load_be64(a.data + n) ^ load_be64(b.data + n);

        if (differing != 0) {
            return n + (size_t)__builtin_clzll(differing) / 8;
        }
    }
    while (n < most && a.data[n] == b.data[n]) {
        n++;
    }
    return n;
}

/* Eight bytes from `from` on as a number that compares like them; what is
 * behind the end counts as zeros. */
static inline uint64_t bytes_word(struct bytes b, size_t from)
{
    uint64_t word = 0;

    if (from + 8 <= b.len) {
        return load_be64(b.data + from);
    }
    for (unsigned shift = 56; from < b.len; shift -= 8) {
        word |= (uint64_t)b.data[from++] << shift;
    }
    return word;
}

#endif
