/*
 * hash.h: the one place that knows which hash it is: XXH3, 64 and 128 bits
 * (xxhash.com, stable since 0.8.0). Values are part of the format on disk.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/bytes.h"

struct hash128 {
    uint64_t high;
    uint64_t low;
};

#define HASH128_SIZE 16 /* bytes, big-endian, high half first */

uint64_t hash64(struct bytes b);
struct hash128 hash128(struct bytes b, uint64_t seed);

static inline bool hash128_equal(struct hash128 a, struct hash128 b)
{
    return a.high == b.high && a.low == b.low;
}

static inline void hash128_store(uint8_t out[HASH128_SIZE], struct hash128 h)
{
    store_be64(out, h.high);
    store_be64(out + 8, h.low);
}

static inline struct hash128 hash128_load(const uint8_t in[HASH128_SIZE])
{
    return (struct hash128){ load_be64(in), load_be64(in + 8) };
}

/* 32 hexadecimal digits and a NUL. */
#define HASH128_TEXT 33
const char *hash128_text(char out[HASH128_TEXT], struct hash128 h);

/*
 * A hash of bytes that come in parts:
 *     hash_stream_open(&s); hash_stream_reset(s);
 *     hash_stream_add(s, bytes) ...; h = hash_stream_end(s);
 *     hash_stream_reset(s) for the next; hash_stream_close(s).
 * open returns false without memory.
 */
struct hash_stream;
bool hash_stream_open(struct hash_stream **s);
void hash_stream_close(struct hash_stream *s);
void hash_stream_reset(struct hash_stream *s);
void hash_stream_add(struct hash_stream *s, struct bytes b);
struct hash128 hash_stream_end(const struct hash_stream *s);

/*
 * Digests of multisets: value times hash, summed modulo 2^128. Linear, so
 * the digest of a view after a batch is the one before plus the batch's.
 */
struct hash128 digest_add(struct hash128 a, struct hash128 b);
struct hash128 digest_scale(struct hash128 h, int64_t value);
/* The same for a value of 128 bits, in halves. */
struct hash128 digest_scale_wide(struct hash128 h, int64_t high, int64_t low);

#endif
