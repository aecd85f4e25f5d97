/*
 * row.h: what a row is in bytes, from map to the store.
 *
 * A row is (key, element) and a vector of signed values. Its place in every
 * run and every shard is its *row key*, a byte string whose memcmp order is
 * the order of (key, element), so that runs merge into the store without a
 * seek backwards:
 *
 *   jobs without elements   key            ("" and keys that begin with 00
 *                                           get a 00 in front: LMDB knows no
 *                                           empty key)
 *   jobs with elements      key with every 00 written 00 FF, then 00 01,
 *                           then the element as it is
 *
 * LMDB's keys end at 511 bytes, row keys do not. A row key longer than
 * ROW_HEAD_EXACT is kept as a *head* of exactly ROW_HEAD_MAX bytes - its
 * first ROW_HEAD_EXACT bytes and the 128-bit hash of the whole - and a
 * *tail*, the bytes from ROW_HEAD_EXACT on, which lies with the value. So
 * heads have one length or the other by what they are, rows are found by
 * one look-up, and only rows that share their first ROW_HEAD_EXACT bytes
 * are out of byte order among themselves; readers put those right
 * (snapshot.h). Runs and shards are ordered by head. Example, with limits
 * of 4 and 6 instead of 495 and 511 (two bytes of hash, shown as ##):
 *
 *     key "abcd"    head "abcd"     tail ""
 *     key "abcdef"  head "abcd##"   tail "ef"
 *     key "abcdzz"  head "abcd##"   tail "zz"
 *
 * Two rows with one head and two tails would be a collision of a 128-bit
 * hash; whoever merges compares the tails and refuses (DF_INPUT).
 */
#ifndef STATE_ROW_H
#define STATE_ROW_H

#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "deltafold/job.h"

enum {
    ROW_HEAD_MAX = 511,   /* LMDB's longest key as Debian builds it */
    ROW_HEAD_EXACT = 495, /* ROW_HEAD_MAX less a 128-bit hash */
    /* Longest row key: every byte of the key escaped, and the element. */
    ROW_KEY_MAX = 2 * DF_KEY_MAX + 2 + DF_KEY_MAX
};

/* A row or a pair, borrowed. */
struct row {
    struct bytes head;
    struct bytes tail;     /* empty unless head.len == ROW_HEAD_MAX */
    const int64_t *values; /* as many as the job has components */
};

/* What the functions below must know of a job: its shape. */
struct row_shape {
    bool has_element;
    unsigned components; /* 1 to DF_COMPONENTS_MAX */
    uint32_t wide;       /* df_shape.wide */
};

/* Wide numbers lie among the components, do not overlap, and leave the
 * first alone. */
bool row_shape_is_sound(struct row_shape shape);

/* The row key of (key, element), in full, appended to out. Never empty. */
bool row_key_append(struct buf *out, struct row_shape shape, struct bytes key,
                    struct bytes element);

/* The row keys of all elements of key begin with this (jobs with elements);
 * for jobs without, it is the row key itself. Appended to out. */
bool row_key_prefix(struct buf *out, struct row_shape shape, struct bytes key);

/* The bytes with which the row keys of all keys that begin with `prefix`
 * begin, appended to out. */
bool row_key_prefix_of_keys(struct buf *out, struct row_shape shape,
                            struct bytes prefix);

/* Splits a full row key (row_key_append's) into head and tail; the head of
 * a long one is written to room. */
void row_split(struct bytes row_key, uint8_t room[ROW_HEAD_MAX],
               struct bytes *head, struct bytes *tail);

/* The full row key of head and tail, appended to out. */
bool row_join(struct buf *out, struct bytes head, struct bytes tail);

/* Takes a full row key apart. Unescaped bytes are appended to room, into
 * which key and element point; false without memory or when the row key is
 * malformed. */
bool row_decode(struct row_shape shape, struct bytes row_key, struct buf *room,
                struct bytes *key, struct bytes *element);

/* The shard or partition of a key among n: by the top bits of its hash. */
static inline unsigned row_part(uint64_t key_hash, unsigned n)
{
    return (unsigned)(((key_hash >> 32) * n) >> 32);
}

/* The hash that decides it: hash64 of the key alone. */
static inline uint64_t row_key_hash(struct bytes key)
{
    return hash64(key);
}

/* The row's share of the view's digest: for each number, its value times the
 * 128-bit hash of the full row key seeded with its (first) component. */
struct hash128 row_digest(struct row_shape shape, struct bytes row_key,
                          const int64_t *values);

/*
 * Values in bytes: each component as the shortest MessagePack integer
 * (-32..127 take one byte), in order; a wide number is its two halves. At
 * most ROW_VALUES_MAX bytes.
 */
enum { ROW_VALUES_MAX = 9 * DF_COMPONENTS_MAX };
size_t row_values_encode(uint8_t out[ROW_VALUES_MAX], unsigned components,
                         const int64_t *values);
/* Returns the bytes read, 0 when malformed. */
size_t row_values_decode(struct bytes in, unsigned components,
                         int64_t *values);

static inline bool row_values_zero(unsigned components, const int64_t *values)
{
    for (unsigned i = 0; i < components; i++) {
        if (values[i] != 0) {
            return false;
        }
    }
    return true;
}

/* A number of 128 bits, which gcc and clang both have. */
__extension__ typedef __int128 row_wide;
__extension__ typedef unsigned __int128 row_wide_bits;

/* The number in two components, low half first, and back. */
static inline row_wide row_wide_load(const int64_t *values)
{
    return (row_wide)((row_wide_bits)(uint64_t)values[1] << 64 |
                      (uint64_t)values[0]);
}

static inline void row_wide_store(int64_t *values, row_wide v)
{
    values[0] = (int64_t)(uint64_t)v;
    values[1] = (int64_t)(uint64_t)((row_wide_bits)v >> 64);
}

static inline bool row_is_wide(struct row_shape shape, unsigned i)
{
    return (shape.wide >> i & 1) != 0;
}

/* Adds one number, of two components if it is wide. What does not fit is
 * left off; returns it, in units of 2^64 or 2^128: -1, 0 or 1. */
static inline int row_number_add(bool is_wide, int64_t *into,
                                 const int64_t *values)
{
    bool negative = into[is_wide ? 1 : 0] < 0;
    bool over;

    if (is_wide) {
        row_wide sum;

        over = __builtin_add_overflow(row_wide_load(into),
                                      row_wide_load(values), &sum);
        row_wide_store(into, sum);
    } else {
        over = __builtin_add_overflow(into[0], values[0], &into[0]);
    }
    return !over ? 0 : negative ? -1 : 1;
}

/* Undoes it. */
static inline void row_number_subtract(bool is_wide, int64_t *into,
                                       const int64_t *values)
{
    if (is_wide) {
        row_wide difference;

        (void)__builtin_sub_overflow(row_wide_load(into),
                                     row_wide_load(values), &difference);
        row_wide_store(into, difference);
    } else {
        (void)__builtin_sub_overflow(into[0], values[0], &into[0]);
    }
}

/* into += values, with what goes beyond the width of a number counted in
 * `carry`: into + carry * 2^64 (2^128 for a wide one, at its low half) is
 * the sum, whatever the order of the summands. False where something was
 * carried. */
bool row_values_carry(struct row_shape shape, int64_t *into, int64_t *carry,
                      const int64_t *values);

/* into = -values; false where one has no negative. */
bool row_values_negate(struct row_shape shape, int64_t *into,
                       const int64_t *values);

/* The same for shapes with wide numbers. */
bool row_values_add_wide(struct row_shape shape, int64_t *into,
                         const int64_t *values);

/* into += values; false on overflow, into then undefined. */
static inline bool row_values_add(struct row_shape shape, int64_t *into,
                                  const int64_t *values)
{
    if (shape.wide != 0) {
        return row_values_add_wide(shape, into, values);
    }
    for (unsigned i = 0; i < shape.components; i++) {
        if (__builtin_add_overflow(into[i], values[i], &into[i])) {
            return false;
        }
    }
    return true;
}

/*
 * How far the values are from zero, at the farthest: of a wide number, its
 * upper half counts. Where the magnitudes of some rows of one head add up to
 * INT64_MAX at most, no sum of any of them is beyond its bits.
 */
uint64_t row_values_magnitude(struct row_shape shape, const int64_t *values);
static inline uint64_t row_magnitude_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* DF_INPUT, naming the key: "key 'x': count beyond 64 bits", or 128. */
enum df_status row_overflow(struct df_error *err, struct row_shape shape,
                            struct bytes head, struct bytes tail);
/* DF_INPUT: two long keys with one 128-bit hash. */
enum df_status row_collision(struct df_error *err, struct row_shape shape,
                             struct bytes head, struct bytes tail);

#endif
