/*
 * hot.h: the keys that come all the time, counted before the table.
 *
 * Of the words of a text a few thousand make up most: they fit in the second
 * cache with their bytes and their counts, where table.h's slots and records
 * do not. So a key is looked for here first: at one place, by its hash; two
 * words and a length are compared, and a number is added to. No pointer is
 * followed.
 *
 *     hot_open(&h, bytes);
 *     k = hot_salted(low, high);         16 bytes of a key, zero-padded
 *     hash = hot_hash(k, len);
 *     if (!hot_hit(&h, k, len, hash, 1)) {
 *         if (hot_miss(&h, k, len, hash, 1, &out)) {
 *             ... `out` is to be counted in the table: the key itself, or
 *             the one that had its place ...
 *         }
 *     }
 *     while (hot_take(&h, &at, &out)) ...   what is left, at the end
 *     hot_close(&h);                        safe on zeroed memory
 *
 * A place is the key's that was seen there last, as long as it is seen again
 * before so many others want it (HOT_CREDIT). To let a key in costs nothing:
 * the one that leaves goes to the table in its stead. Example, one place,
 * a credit of 2:
 *
 *     key     the   the   tree  the   leaf  tree  root
 *     credit  0     2     1     2     1     0     0
 *     holds   the 1 the 2 the 2 the 3 the 3 the 3 root 1
 *     table               tree        leaf  tree  the +3
 *
 * Keys are stored keys of up to 16 bytes (table.h); longer ones are cold.
 * Sums commute: what has been counted here may reach the table at any time
 * before that is sorted for good, also after it was spilled.
 */
#ifndef RUNTIME_HOT_H
#define RUNTIME_HOT_H

#include "runtime/pages.h"
#include "runtime/table.h"

enum {
    HOT_KEY_MAX = 16,
    HOT_CREDIT = 8,
    /* A half of common second caches, and not more of them is gained. */
    HOT_BYTES_MAX = 512 * 1024
};

/* The first 16 bytes of a key, zero-padded, each half with the salt that
 * hashing adds (table_step): so they are compared as they are hashed. */
struct hot_key {
    uint64_t low;
    uint64_t high;
};

/* Two to a cache line. A free one is like no key: its halves are not those of
 * zeros, which carry the salt. */
struct hot_entry {
    struct hot_key key;
    int64_t count;
    uint32_t len; /* 0: free */
    uint32_t credit;
};

struct hot {
    struct hot_entry *entries; /* NULL: everything is cold */
    size_t mask;               /* of hashes: the bytes up to a place */
};

/* A key with a count that is not zero, on its way to the table. The bytes of
 * one that was here are its own low and high, to which data points: it is not
 * to be copied. */
struct hot_count {
    struct table_key key;
    int64_t count;
};

/* With the largest number of places, a power of two, in so many bytes. False
 * without memory. */
static inline bool hot_open(struct hot *h, size_t bytes)
{
    size_t size = PAGES_UNIT;

    assert(bytes >= PAGES_UNIT);
    while (2 * size <= bytes) {
        size *= 2;
    }
    h->entries = pages_map(size);
    h->mask = size - sizeof *h->entries;
    return h->entries != NULL;
}

static inline size_t hot_memory(const struct hot *h)
{
    return h->entries == NULL ? 0 : h->mask + sizeof *h->entries;
}

static inline void hot_close(struct hot *h)
{
    pages_unmap(h->entries, hot_memory(h));
    *h = (struct hot){ 0 };
}

static inline struct hot_key hot_salted(uint64_t low, uint64_t high)
{
    return (struct hot_key){ low ^ table_salt_low, high ^ table_salt_high };
}

static inline uint64_t hot_hash(struct hot_key k, size_t len)
{
    return table_mix(k.low, k.high ^ len);
}

/* As table_key has it for a key of up to 16 bytes. */
static inline uint32_t hot_tag(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

static inline struct hot_entry *hot_place(const struct hot *h, uint64_t hash)
{
    void *place = (uint8_t *)h->entries + (hash & h->mask);

    return place;
}

/* Counts a key that is in its place; sign is 1 or -1. Of a key longer than
 * HOT_KEY_MAX k may be anything: the length tells that it is not there. */
static inline bool hot_hit(const struct hot *h, struct hot_key k, size_t len,
                           uint64_t hash, int64_t sign)
{
    struct hot_entry *e = hot_place(h, hash);

    if (e->key.low == k.low && e->key.high == k.high && e->len == len) {
        e->count += sign;
        e->credit = HOT_CREDIT;
        return true;
    }
    return false;
}

/* The key as the table has it. Each field is written where it stays: a struct
 * that is put together elsewhere is read back, to be copied, before its parts
 * have arrived in the cache. */
static inline void hot_put(struct hot_count *out, struct hot_key k, size_t len,
                           uint64_t hash, int64_t count)
{
    out->key.data = (const uint8_t *)&out->key.low;
    out->key.low = k.low ^ table_salt_low;
    out->key.high = k.high ^ table_salt_high;
    out->key.len = (uint32_t)len;
    out->key.tag = hot_tag(hash);
    out->count = count;
}

/* What a place holds leaves it; false: nothing that counts. */
static inline bool hot_leave(struct hot_entry *e, struct hot_count *out)
{
    bool counts = e->len > 0 && e->count != 0;

    if (counts) {
        hot_put(out, e->key, e->len, hot_hash(e->key, e->len), e->count);
    }
    e->len = 0;
    return counts;
}

/* After hot_hit did not find it: a key of 1 to HOT_KEY_MAX bytes. Whether
 * `out` is to be counted. */
static inline bool hot_miss(const struct hot *h, struct hot_key k, size_t len,
                            uint64_t hash, int64_t sign, struct hot_count *out)
{
    struct hot_entry *e = hot_place(h, hash);
    bool leaves;

    if (e->credit > 0) {
        e->credit--;
        hot_put(out, k, len, hash, sign);
        return true;
    }
    leaves = hot_leave(e, out);
    e->key.low = k.low;
    e->key.high = k.high;
    e->count = sign;
    e->len = (uint32_t)len;
    return leaves;
}

/* The next that is left, from place *at (0 at first) on; it leaves. */
static inline bool hot_take(const struct hot *h, size_t *at,
                            struct hot_count *out)
{
    size_t places = hot_memory(h) / sizeof *h->entries;

    while (*at < places) {
        if (hot_leave(&h->entries[(*at)++], out)) {
            return true;
        }
    }
    return false;
}

#endif
