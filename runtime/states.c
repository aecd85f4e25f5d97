#include "runtime/states.h"

#include <assert.h>
#include <stdlib.h>

#include "runtime/pages.h"

enum {
    UNIT = STATES_UNIT,
    FIRST = 2 * UNIT,  /* where records begin: reference 0 is none */
    SLOTS_FIRST = 256, /* of a part, at least */
    SLACK = 16         /* a comparison may read on, a copy write on */
};

static_assert(sizeof(struct df_state) == UNIT, "records keep their place");

void states_init(struct states *s, bool has_before)
{
    *s = (struct states){ .len = FIRST,
                          .before = has_before ? sizeof(struct df_state) : 0 };
}

static void free_parts(struct states *s)
{
    for (size_t i = 0; i < s->part_count; i++) {
        free(s->parts[i].slots);
    }
    s->part_count = 0;
    s->slot_bytes = 0;
}

void states_fini(struct states *s)
{
    free_parts(s);
    free(s->parts);
    pages_unmap(s->records, s->room);
    pages_unmap(s->sort, s->sort_size);
    buf_fini(&s->stored);
    states_init(s, s->before > 0);
}

void states_reset(struct states *s)
{
    free_parts(s);
    s->len = FIRST;
    s->count = 0;
    s->longest = 0;
}

size_t states_memory(const struct states *s)
{
    return s->len + s->slot_bytes + s->count * STATES_SORT_BYTES;
}

size_t states_memory_bound(uint64_t events, uint64_t key_bytes)
{
    /* Slots are at least three eighths full. */
    return (size_t)(events * (sizeof(struct df_state) +
                              sizeof(struct state_record) + UNIT +
                              STATES_SORT_BYTES + 22) +
                    key_bytes) +
           SLOTS_FIRST * sizeof(uint64_t);
}

/* As many slots as the last part came to, where so many may be needed. */
static size_t first_slots(const struct states *s, uint64_t most)
{
    size_t slots = SLOTS_FIRST;

    while (slots < s->slots_up && slots / 4 * 3 < most) {
        slots *= 2;
    }
    return slots;
}

bool states_begin(struct states *s, uint64_t most)
{
    struct states_part part = { .mask = first_slots(s, most) - 1 };

    if (s->part_count == s->part_room) {
        size_t room = s->part_room * 2 + 4;
        struct states_part *parts = realloc(s->parts, room * sizeof *parts);

        if (parts == NULL) {
            return false;
        }
        s->parts = parts;
        s->part_room = room;
    }
    part.slots = calloc(part.mask + 1, sizeof *part.slots);
    if (part.slots == NULL) {
        return false;
    }
    s->slot_bytes += (part.mask + 1) * sizeof *part.slots;
    s->parts[s->part_count++] = part;
    return true;
}

void states_drop(struct states *s, size_t len, size_t count)
{
    struct states_part *p = &s->parts[--s->part_count];

    s->slot_bytes -= (p->mask + 1) * sizeof *p->slots;
    free(p->slots);
    s->len = len;
    s->count = count;
}

/* ---- finding ---- */

/* Long row keys become head and tail. */
static bool to_stored(struct states *s, struct bytes *key)
{
    uint8_t hash[HASH128_SIZE];
    struct buf *b = &s->stored;

    if (key->len <= ROW_HEAD_EXACT) {
        return true;
    }
    hash128_store(hash, hash128(*key, 0));
    buf_reset(b);
    if (!buf_append(b, key->data, ROW_HEAD_EXACT) ||
        !buf_append(b, hash, sizeof hash) ||
        !buf_append(b, key->data + ROW_HEAD_EXACT,
                    key->len - ROW_HEAD_EXACT) ||
        !buf_reserve(b, SLACK)) {
        return false;
    }
    *key = buf_bytes(b);
    return true;
}

static uint64_t load(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* Keys are short: two loads that overlap are faster than a call. */
static bool has_key(const struct state_record *r, struct bytes key)
{
    const uint8_t *a = r->key;
    const uint8_t *b = key.data;
    size_t n = key.len;

    if (r->len != n) {
        return false;
    }
    if (n < 8 || n > 16) {
        return memcmp(a, b, n) == 0;
    }
    return load(a) == load(b) && load(a + n - 8) == load(b + n - 8);
}

static bool grow_slots(struct states *s, struct states_part *p)
{
    size_t slots = 2 * (p->mask + 1);
    uint64_t *fresh = calloc(slots, sizeof *fresh);

    if (fresh == NULL) {
        return false;
    }
    for (size_t i = 0; i <= p->mask; i++) {
        size_t at = (size_t)(p->slots[i] >> 32) & (slots - 1);

        if (p->slots[i] == 0) {
            continue;
        }
        while (fresh[at] != 0) {
            at = (at + 1) & (slots - 1);
        }
        fresh[at] = p->slots[i];
    }
    free(p->slots);
    s->slot_bytes += (slots - p->mask - 1) * sizeof *fresh;
    p->slots = fresh;
    p->mask = slots - 1;
    s->slots_up = slots;
    return true;
}

static bool make_room(struct states *s, size_t size)
{
    size_t room = pages_round(s->room + s->room / 2 + size + SLACK);
    uint8_t *records;

    if (s->len + size + SLACK <= s->room) {
        return true;
    }
    if (s->len + size > (size_t)UINT32_MAX * UNIT) {
        return false;
    }
    records = s->records == NULL ? pages_map(room)
                                 : pages_resize(s->records, s->room, room);
    if (records == NULL) {
        return false;
    }
    s->records = records;
    s->room = room;
    return true;
}

static size_t record_size(size_t len)
{
    return (offsetof(struct state_record, key) + len + UNIT - 1) &
           ~(size_t)(UNIT - 1);
}

static uint32_t ref_of(size_t at)
{
    return (uint32_t)(at / UNIT);
}

static struct state_record *insert(struct states *s, struct states_part *p,
                                   size_t at, struct bytes key, uint32_t tag)
{
    size_t begin = s->len + s->before;
    size_t size = record_size(key.len);
    struct state_record *r;

    if (!make_room(s, s->before + size)) {
        return NULL;
    }
    p->slots[at] = (uint64_t)tag << 32 | ref_of(begin);
    p->used++;
    r = states_record(s, ref_of(begin));
    memset(s->records + s->len, 0,
           s->before + offsetof(struct state_record, key));
    r->len = (uint32_t)key.len;
    bytes_copy_slack(r->key, key);
    s->longest = key.len > s->longest ? key.len : s->longest;
    s->len = begin + size;
    s->count++;
    return r;
}

struct state_record *states_find(struct states *s, size_t part,
                                 struct bytes key, uint32_t tag)
{
    struct states_part *p = &s->parts[part];
    size_t at;

    if (!to_stored(s, &key) ||
        (p->used >= p->mask / 4 * 3 && !grow_slots(s, p))) {
        return NULL;
    }
    for (at = tag & p->mask; p->slots[at] != 0; at = (at + 1) & p->mask) {
        if ((uint32_t)(p->slots[at] >> 32) == tag) {
            struct state_record *r = states_record(s, (uint32_t)p->slots[at]);

            if (has_key(r, key)) {
                return r;
            }
        }
    }
    return insert(s, p, at, key, tag);
}

struct state_record *states_each(const struct states *s, size_t *at)
{
    struct state_record *r;

    *at = *at == 0 ? FIRST : *at;
    if (*at >= s->len) {
        return NULL;
    }
    r = states_record(s, ref_of(*at + s->before));
    *at += s->before + record_size(r->len);
    return r;
}

/* ---- sorting ---- */

static struct bytes head_of(const void *ctx, uint32_t ref)
{
    const struct states *s = ctx;
    struct bytes head;
    struct bytes tail;

    states_key(states_record(s, ref), &head, &tail);
    return head;
}

/* The shard of a stored key: that of the row key it stands for. */
static bool shard_of(const struct states *s, uint32_t ref, unsigned shards,
                     uint32_t *shard)
{
    struct buf whole = { 0 };
    struct bytes head;
    struct bytes tail;
    bool ok = true;

    states_key(states_record(s, ref), &head, &tail);
    *shard = 0;
    if (shards == 1) {
        return true;
    }
    if (tail.len == 0) {
        *shard = row_part(row_key_hash(head), shards);
        return true;
    }
    ok = row_join(&whole, head, tail);
    if (ok) {
        *shard = row_part(row_key_hash(buf_bytes(&whole)), shards);
    }
    buf_fini(&whole);
    return ok;
}

/* The next record for sorting; words are set once the prefix is known. */
static void add_entry(const struct states *s, struct state_record *r,
                      struct sort_entry *entry, struct bytes *prefix)
{
    struct bytes head;

    entry->ref = ref_of((size_t)((uint8_t *)r - s->records));
    entry->part = 0;
    head = head_of(s, entry->ref);
    if (prefix->data == NULL) {
        *prefix = head;
    }
    prefix->len = bytes_shared(*prefix, head);
}

/* Groups entries by shard: nothing is to be done where there is but one. */
static bool spread(const struct states *s, struct sort_entry *e, size_t n,
                   unsigned shards, unsigned shard, size_t *begin)
{
    bool ok = true;

    if (shard != STATES_ANY_SHARD) {
        for (unsigned i = 0; i <= shards; i++) {
            begin[i] = i <= shard ? 0 : n;
        }
        return true;
    }
    for (size_t i = 0; ok && i < n; i++) {
        ok = shard_of(s, e[i].ref, shards, &e[i].part);
    }
    sort_by_part(e, n, shards, begin, (struct sort_room){ 0 });
    return ok;
}

static struct sort_entry *sort_room(struct states *s)
{
    size_t size = pages_round((s->count + 1) * STATES_SORT_BYTES);

    if (size > s->sort_size) {
        pages_unmap(s->sort, s->sort_size);
        s->sort = pages_map(size);
        s->sort_size = s->sort != NULL ? size : 0;
    }
    return s->sort;
}

/* The prefix that all heads share - identifiers often begin alike - is left
 * out, so that a word tells more of them apart. */
struct sort_entry *states_sort(struct states *s, unsigned shards,
                               unsigned shard, size_t *begin)
{
    const struct sort_rows rows = { s, head_of };
    struct sort_entry *e = sort_room(s);
    struct bytes prefix = { 0 };
    struct state_record *r;
    size_t at = 0;
    size_t n = 0;

    if (e == NULL) {
        return NULL;
    }
    while ((r = states_each(s, &at)) != NULL) {
        add_entry(s, r, &e[n++], &prefix);
    }
    for (size_t i = 0; i < n; i++) {
        e[i].word = sort_word(head_of(s, e[i].ref), prefix.len);
    }
    if (!spread(s, e, n, shards, shard, begin)) {
        return NULL;
    }
    for (unsigned i = 0; i < shards; i++) {
        sort_by_head(e + begin[i], begin[i + 1] - begin[i], prefix.len, &rows,
                     (struct sort_room){ 0 });
    }
    return e;
}
