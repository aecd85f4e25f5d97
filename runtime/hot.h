/*
 * hot.h: the keys that come all the time, counted before the table.
 *
 * Of the words of a text a few thousand make up most: they fit in the second
 * cache with their bytes and their counts, where table.h's slots and records
 * do not. So a key is looked for here first: at one place, by its hash; two
 * words are compared, and a number is added to. No pointer is followed.
 *
 *     hot_open(&h, bytes);
 *     switch (hot_count(&h, &key, 1, &out)) {
 *     case HOT_COUNTED: done
 *     case HOT_COLD:    the key is to be counted in the table
 *     case HOT_REPLACED: `out` is: a key that had its place, and its count
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

/* Two to a cache line. */
struct hot_entry {
    uint64_t low; /* the key, as table_key has it */
    uint64_t high;
    int64_t count;
    uint32_t tag;
    uint8_t len; /* 0: free */
    uint8_t credit;
};

struct hot {
    struct hot_entry *entries; /* NULL: everything is cold */
    uint32_t mask;
};

/* A key with a count that is not zero. Its bytes are low and high, where these
 * lie in memory: hot_key must be asked where they are to stay. */
struct hot_out {
    struct table_key key; /* data: not set */
    int64_t count;
};

enum hot_answer { HOT_COUNTED, HOT_COLD, HOT_REPLACED };

/* With the largest number of places, a power of two, in so many bytes. False
 * without memory. */
static inline bool hot_open(struct hot *h, size_t bytes)
{
    size_t places = PAGES_UNIT / sizeof *h->entries;

    assert(bytes >= PAGES_UNIT);
    while (2 * places * sizeof *h->entries <= bytes) {
        places *= 2;
    }
    h->entries = pages_map(places * sizeof *h->entries);
    h->mask = (uint32_t)(places - 1);
    return h->entries != NULL;
}

static inline size_t hot_memory(const struct hot *h)
{
    return h->entries == NULL ? 0 : (h->mask + 1UL) * sizeof *h->entries;
}

static inline void hot_close(struct hot *h)
{
    pages_unmap(h->entries, hot_memory(h));
    *h = (struct hot){ 0 };
}

/* The slots of the table are found by the top bits of the same hash. */
static inline struct hot_entry *hot_place(const struct hot *h, uint32_t tag)
{
    return &h->entries[tag & h->mask];
}

static inline bool hot_holds(const struct hot_entry *e,
                             const struct table_key *k)
{
    return (e->low == k->low) & (e->high == k->high) & (e->len == k->len);
}

/* What a place holds leaves it; false: nothing that counts. */
static inline bool hot_leave(struct hot_entry *e, struct hot_out *out)
{
    *out = (struct hot_out){
        .key = { .low = e->low,
                 .high = e->high,
                 .len = e->len,
                 .tag = e->tag },
        .count = e->count,
    };
    e->len = 0;
    return out->key.len > 0 && out->count != 0;
}

/* sign is 1 or -1. */
static inline enum hot_answer hot_count(struct hot *h,
                                        const struct table_key *k,
                                        int64_t sign, struct hot_out *out)
{
    struct hot_entry *e = hot_place(h, k->tag);
    bool leaves;

    if (hot_holds(e, k)) {
        e->count += sign;
        e->credit = HOT_CREDIT;
        return HOT_COUNTED;
    }
    if (k->len > HOT_KEY_MAX) {
        return HOT_COLD;
    }
    if (e->credit > 0) {
        e->credit--;
        return HOT_COLD;
    }
    leaves = hot_leave(e, out);
    *e = (struct hot_entry){ .low = k->low,
                             .high = k->high,
                             .count = sign,
                             .tag = k->tag,
                             .len = (uint8_t)k->len };
    return leaves ? HOT_REPLACED : HOT_COUNTED;
}

/* The next that is left, from place *at (0 at first) on; it leaves. */
static inline bool hot_take(struct hot *h, size_t *at, struct hot_out *out)
{
    while (h->entries != NULL && *at <= h->mask) {
        if (hot_leave(&h->entries[(*at)++], out)) {
            return true;
        }
    }
    return false;
}

#endif
