/*
 * table.h: a hash table from stored keys to values, made to be counted in.
 *
 *     table_init(&t, components);
 *     struct table_slot *slot = table_find(&t, &key);
 *     if (table_is_free(slot)) {
 *         ... while there is no room for the record:
 *             table_grow_slots, table_grow_records or table_clear, and
 *             find again ...
 *         table_insert(&t, slot, &key, hash);
 *     }
 *     slot->value += 1;
 *     taken = table_take_entries(&t, ...);  zero rows are dropped; from here
 *                                      on only table_head and the like work
 *     table_clear(&t);                 ... until it is cleared
 *     table_fini(&t);                  safe on zeroed memory
 *
 * A stored key is the row key as runs have it, head and tail in one: the
 * row key itself up to ROW_HEAD_EXACT bytes, else ROW_HEAD_MAX bytes of head
 * and the tail. Open addressing over slots of 16 bytes, four to a cache
 * line, that hold 32 bits of the hash, a reference to the record and the
 * first component; key and further components lie in the record. The slot is
 * found by the top bits of the hash, so growing needs no hash anew and walks
 * both tables in order.
 *
 * The table's hash is private to it. Which partition a key belongs to is
 * decided by another one, of the key alone, given at insertion.
 */
#ifndef RUNTIME_TABLE_H
#define RUNTIME_TABLE_H

#include <assert.h>

#include "runtime/sort.h"
#include "state/row.h"

enum {
    TABLE_KEY_SLACK = 16,   /* readable bytes behind a key to look up */
    TABLE_SLOTS_MIN = 4096, /* one unit of pages */
    TABLE_UNIT = 8          /* bytes that references count in */
};

struct table_slot {
    uint32_t tag;  /* hash of the stored key */
    uint32_t ref;  /* of the record, in units; 0: the slot is free */
    int64_t value; /* first component */
};

union table_cell {
    struct table_slot slot;
    struct sort_entry entry; /* after table_take_entries */
};

/* A stored key with what is computed from it, by table_key. */
struct table_key {
    const uint8_t *data;
    uint64_t low;  /* bytes 0-7, zero-padded */
    uint64_t high; /* bytes 8-15, zero-padded */
    uint32_t len;
    uint32_t tag;
};

/* In the records: this, the values (the first is filled in by
 * table_take_entries), the stored key, zeros up to the next unit. */
struct table_record {
    uint32_t len; /* of the stored key */
    uint32_t key_hash;
};

struct table {
    unsigned components;
    unsigned key_offset; /* of the stored key in a record */
    unsigned shift;      /* 32 less log2 of the number of slots */
    union table_cell *cells;
    size_t slots; /* a power of two; 0 when released */
    size_t used;
    uint8_t *records;
    size_t records_len;  /* bytes in use */
    size_t records_size; /* bytes allocated */
};

bool table_init(struct table *t, unsigned components);
void table_fini(struct table *t);

/* Forgets all keys, keeps the memory. */
void table_clear(struct table *t);

/* Forgets all keys and most of the memory. False without memory. */
bool table_shrink(struct table *t);

/* Bytes of memory it holds now. */
static inline size_t table_memory(const struct table *t)
{
    return t->slots * sizeof *t->cells + t->records_size;
}

/* Doubles the slots; while it runs, old and new exist together. False
 * without memory or above 2^31; then nothing has changed. */
bool table_grow_slots(struct table *t);
/* More room for records; a multiple of PAGES_UNIT. The same. */
bool table_grow_records(struct table *t, size_t more);

static inline size_t table_record_size(const struct table *t, size_t len)
{
    return (t->key_offset + len + TABLE_UNIT - 1) & ~(size_t)(TABLE_UNIT - 1);
}

static inline bool table_has_record_room(const struct table *t, size_t size)
{
    /* The slack lets table_find look 16 bytes ahead at the last record. */
    return t->records_size - t->records_len >= size + TABLE_KEY_SLACK;
}

/* From six tenths on a larger table is worth its memory; three quarters is
 * the end. */
static inline bool table_is_crowded(const struct table *t)
{
    return t->used >= t->slots / 5 * 3;
}
static inline bool table_is_full(const struct table *t)
{
    return t->used >= t->slots / 4 * 3;
}

/* Puts a key that is not there yet into the free slot where it was looked
 * for, with all values zero. There must be room. */
void table_insert(struct table *t, struct table_slot *slot,
                  const struct table_key *k, uint32_t key_hash);

struct table_entries {
    struct sort_entry *entries;
    size_t n;
    struct sort_room room; /* slots that are left */
};

/* Turns the slots in place into entries for sort.h, of the rows that are not
 * zero; every first value moves to its record. Sets the bytes of each part:
 * the sum of run_row_bound. */
struct table_entries table_take_entries(struct table *t, unsigned parts,
                                        uint64_t *part_bytes);

/* After table_take_entries: gives back what lies behind n entries, and room
 * for records that is not used. */
void table_trim(struct table *t, size_t n);

static inline struct table_record *table_record(const struct table *t,
                                                uint32_t ref)
{
    void *record = t->records + (size_t)ref * TABLE_UNIT;

    return record;
}

static inline int64_t *table_values(const struct table *t, uint32_t ref)
{
    void *values =
        t->records + (size_t)ref * TABLE_UNIT + sizeof(struct table_record);

    return values;
}

static inline struct bytes table_stored_key(const struct table *t,
                                            uint32_t ref)
{
    return bytes_of(t->records + (size_t)ref * TABLE_UNIT + t->key_offset,
                    table_record(t, ref)->len);
}

/* The row behind a reference, as runs have it. */
static inline struct row table_row(const struct table *t, uint32_t ref)
{
    struct bytes stored = table_stored_key(t, ref);
    struct row row = { .head = stored, .values = table_values(t, ref) };

    if (stored.len > ROW_HEAD_MAX) {
        row.head.len = ROW_HEAD_MAX;
        row.tail =
            bytes_of(stored.data + ROW_HEAD_MAX, stored.len - ROW_HEAD_MAX);
    }
    return row;
}

static inline struct bytes table_head(const struct table *t, uint32_t ref)
{
    return table_row(t, ref).head;
}

/* ---- The inner loop ---- */

static inline uint64_t table_load(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* The product of two odd-looking words, folded: the mixing step of wyhash
 * and its kin. */
static inline uint64_t table_mix(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product =
        (__extension__(unsigned __int128) a) * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Any two odd constants with about as many ones as zeros. */
static const uint64_t table_salt_low = 0x9e3779b97f4a7c15u;
static const uint64_t table_salt_high = 0xd1b54a32d192ed03u;

static inline uint64_t table_step(uint64_t low, uint64_t high, uint64_t seed)
{
    return table_mix(low ^ table_salt_low, high ^ table_salt_high ^ seed);
}

/* The first n of 16 bytes, the others zero. */
static inline void table_load_masked(const uint8_t *p, size_t n, uint64_t *low,
                                     uint64_t *high)
{
    static const uint8_t window[32] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                        0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                        0xff, 0xff, 0xff, 0xff };
    const uint8_t *mask = window + 16 - n;

    *low = table_load(p) & table_load(mask);
    *high = table_load(p + 8) & table_load(mask + 8);
}

/* Continues with the bytes from 16 on. */
static inline uint64_t table_hash_rest(const uint8_t *data, size_t len,
                                       uint64_t hash)
{
    for (size_t at = 16; at < len; at += 16) {
        uint64_t low;
        uint64_t high;

        table_load_masked(data + at, len - at < 16 ? len - at : 16, &low,
                          &high);
        hash = table_step(low ^ hash, high, hash);
    }
    return hash;
}

/* TABLE_KEY_SLACK bytes behind data must be readable. */
static inline void table_key(struct table_key *k, const uint8_t *data,
                             size_t len)
{
    uint64_t hash;

    k->data = data;
    k->len = (uint32_t)len;
    table_load_masked(data, len < 16 ? len : 16, &k->low, &k->high);
    hash = table_step(k->low, k->high, len);
    if (len > 16) {
        hash = table_hash_rest(data, len, hash);
    }
    k->tag = (uint32_t)(hash >> 32);
}

static inline bool table_is_free(const struct table_slot *slot)
{
    return slot->ref == 0;
}

static inline struct table_slot *table_home(const struct table *t,
                                            const struct table_key *k)
{
    return &t->cells[k->tag >> t->shift].slot;
}

/* The first slot with a tag, or the free one where it could be. */
static inline struct table_slot *table_find_tag(const struct table *t,
                                                uint32_t tag)
{
    size_t i = tag >> t->shift;

    while (!table_is_free(&t->cells[i].slot) && t->cells[i].slot.tag != tag) {
        i = (i + 1) & (t->slots - 1);
    }
    return &t->cells[i].slot;
}

/* Sends for the record of a key, or of another with the same tag: its first
 * line and the one with its end, which most often are two. */
static inline void table_prefetch_record(const struct table *t,
                                         const struct table_key *k)
{
    uint32_t ref = table_find_tag(t, k->tag)->ref;
    const uint8_t *record = t->records + (size_t)ref * TABLE_UNIT;

    __builtin_prefetch(record, 1);
    __builtin_prefetch(record + t->key_offset + k->len, 1);
}

static inline bool table_has_key(const struct table *t, uint32_t ref,
                                 const struct table_key *k)
{
    const uint8_t *record = t->records + (size_t)ref * TABLE_UNIT;
    const uint8_t *key = record + t->key_offset;
    /* Short records are zero-padded to a unit, but end there. */
    uint64_t high = k->len > 8 ? table_load(key + 8) : 0;

    if (table_record(t, ref)->len != k->len || table_load(key) != k->low ||
        high != k->high) {
        return false;
    }
    return k->len <= 16 || memcmp(key + 16, k->data + 16, k->len - 16) == 0;
}

/* The key's slot, or the free one where it belongs. */
static inline struct table_slot *table_find(const struct table *t,
                                            const struct table_key *k)
{
    size_t i = k->tag >> t->shift;

    for (;;) {
        struct table_slot *slot = &t->cells[i].slot;

        if (table_is_free(slot) ||
            (slot->tag == k->tag && table_has_key(t, slot->ref, k))) {
            return slot;
        }
        i = (i + 1) & (t->slots - 1);
    }
}

#endif
