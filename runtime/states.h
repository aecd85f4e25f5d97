/*
 * states.h: the keys of a part of a batch, each with its state before and
 * after.
 *
 *     states_init(&s, has_before)
 *       states_begin(&s, most)                  a part: its own slots
 *         states_find(&s, part, key, tag) ...   adds what is not there
 *       for more parts, whose records stay:  states_begin(&s, most) ...
 *       states_sort(&s, ...)                    all keys, by shard and head
 *       states_reset(&s)
 *     states_fini(&s)                           safe on zeroed memory
 *
 * Keys are row keys, kept as runs have them: up to ROW_HEAD_EXACT bytes as
 * they are, longer ones as head and tail (row.h). One part's slots fit in a
 * cache where one's records do not, so that the many look-ups of a key cost
 * little; records of several parts lie together because rows of the view are
 * best met in one ascending sweep. Where the view holds nothing no key has a
 * state before, and there is no room for one: a record of a short key is then
 * half a cache line.
 */
#ifndef RUNTIME_STATES_H
#define RUNTIME_STATES_H

#include <stddef.h>

#include "runtime/sort.h"
#include "state/row.h"

struct state_record {
    struct df_state after;
    uint32_t len; /* of the stored key */
    uint8_t key[];
};

enum { STATES_UNIT = 16 /* bytes that references count in */ };

struct states_part {
    uint64_t *slots; /* tag (32 bits), reference (32 bits); 0: free */
    size_t mask;
    size_t used;
};

struct states {
    uint8_t *records;
    size_t before; /* bytes in front of a record: 0, or a struct df_state */
    size_t len;
    size_t room;
    size_t count;
    size_t longest;  /* stored key */
    size_t slots_up; /* those of the part that grew last: parts are alike */
    struct states_part *parts;
    size_t part_count;
    size_t part_room;
    size_t slot_bytes;       /* of all parts */
    struct buf stored;       /* a long key in the making */
    struct sort_entry *sort; /* states_sort's, kept for the next time */
    size_t sort_size;
};

void states_init(struct states *s, bool has_before);
void states_fini(struct states *s);
void states_reset(struct states *s);

/* What sorting takes for each key: an entry, and two for each of the two rows
 * by span that it may come with (fold_emit.h). */
enum { STATES_SORT_BYTES = 5 * sizeof(struct sort_entry) };

/* Bytes in use, with what sorting will take. */
size_t states_memory(const struct states *s);
/* What a part of that many events may add at most. */
size_t states_memory_bound(uint64_t events, uint64_t key_bytes);

/* No more than `most` keys will be found in the part. False without memory. */
bool states_begin(struct states *s, uint64_t most);
/* Undoes states_begin and all that was added since. */
void states_drop(struct states *s, size_t len, size_t count);

/* The record of a key in a part; a new one has both states zero. tag is the
 * low half of a hash of the key: the partition took bits of the other. NULL
 * without memory. Records move when others are added. */
struct state_record *states_find(struct states *s, size_t part,
                                 struct bytes key, uint32_t tag);

/* Sends for a record, which may lie in two lines. */
static inline void states_prefetch(const struct states *s, uint32_t ref)
{
    const uint8_t *record = s->records + (size_t)ref * STATES_UNIT;

    __builtin_prefetch(record, 1);
    __builtin_prefetch(record + offsetof(struct state_record, key), 1);
}

/* Two steps ahead of states_find: sends for the slot, then for the record. */
static inline void states_prefetch_slot(const struct states *s, size_t part,
                                        uint32_t tag)
{
    const struct states_part *p = &s->parts[part];

    __builtin_prefetch(&p->slots[tag & p->mask]);
}
static inline void states_prefetch_record(const struct states *s, size_t part,
                                          uint32_t tag)
{
    const struct states_part *p = &s->parts[part];
    size_t at = tag & p->mask;

    while (p->slots[at] != 0 && (uint32_t)(p->slots[at] >> 32) != tag) {
        at = (at + 1) & p->mask;
    }
    states_prefetch(s, (uint32_t)p->slots[at]);
}

/* The records one after the other, as they lie. *at is 0 at first; NULL past
 * the last. */
struct state_record *states_each(const struct states *s, size_t *at);

/* All records by the shard of their keys and head; begin (of shards + 1
 * numbers) says where each shard's are. shard: the one of all keys, or
 * STATES_ANY_SHARD. They hold until the next call; four times as many entries
 * behind them are the caller's to use. NULL without memory. */
enum { STATES_ANY_SHARD = SORT_PARTS_MAX };
struct sort_entry *states_sort(struct states *s, unsigned shards,
                               unsigned shard, size_t *begin);

static inline struct state_record *states_record(const struct states *s,
                                                 uint32_t ref)
{
    void *record = s->records + (size_t)ref * STATES_UNIT;

    return record;
}

/* The state before the batch; only where there is room for it. */
static inline struct df_state *states_room_before(struct state_record *r)
{
    return (struct df_state *)(void *)r - 1;
}
static inline struct df_state states_before(const struct states *s,
                                            const struct state_record *r)
{
    return s->before > 0 ? ((const struct df_state *)(const void *)r)[-1]
                         : (struct df_state){ 0 };
}

/* The row key of a record, as runs have it. */
static inline void states_key(const struct state_record *r, struct bytes *head,
                              struct bytes *tail)
{
    size_t len = r->len < ROW_HEAD_MAX ? r->len : ROW_HEAD_MAX;

    *head = bytes_of(r->key, len);
    *tail = bytes_of(r->key + len, r->len - len);
}

#endif
