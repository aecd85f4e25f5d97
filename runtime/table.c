#include "runtime/table.h"

#include "runtime/pages.h"
#include "state/run.h"

enum {
    BITS_MAX = 31, /* log2 of most slots: tags have 32 bits */
    PREFETCH = 16  /* slots looked ahead where records are visited */
};

/* References have 32 bits. */
static const size_t records_max = (size_t)TABLE_UNIT << 32;

static size_t cells_size(size_t slots)
{
    return pages_round(slots * sizeof(union table_cell));
}

static unsigned shift_of(size_t slots)
{
    return 32 - (unsigned)__builtin_ctzll(slots);
}

bool table_init(struct table *t, unsigned components)
{
    *t = (struct table){ .components = components,
                         .key_offset =
                             (unsigned)(sizeof(struct table_record) +
                                        components * sizeof(int64_t)) };
    t->cells = pages_map(cells_size(TABLE_SLOTS_MIN));
    t->records = pages_map(PAGES_UNIT);
    if (t->cells == NULL || t->records == NULL) {
        pages_unmap(t->cells, cells_size(TABLE_SLOTS_MIN));
        pages_unmap(t->records, PAGES_UNIT);
        *t = (struct table){ 0 };
        return false;
    }
    t->slots = TABLE_SLOTS_MIN;
    t->shift = shift_of(t->slots);
    t->records_size = PAGES_UNIT;
    t->records_len = TABLE_UNIT; /* 0 is no reference */
    return true;
}

void table_fini(struct table *t)
{
    pages_unmap(t->cells, cells_size(t->slots));
    pages_unmap(t->records, t->records_size);
    *t = (struct table){ 0 };
}

void table_clear(struct table *t)
{
    memset(t->cells, 0, t->slots * sizeof *t->cells);
    t->used = 0;
    t->records_len = TABLE_UNIT;
}

bool table_shrink(struct table *t)
{
    unsigned components = t->components;

    table_fini(t);
    return table_init(t, components);
}

/* Puts a slot of the old table into the new one. Keys are distinct, so the
 * first free slot is its place. */
static void move_slot(union table_cell *cells, size_t slots, unsigned shift,
                      struct table_slot slot)
{
    size_t i = slot.tag >> shift;

    while (!table_is_free(&cells[i].slot)) {
        i = (i + 1) & (slots - 1);
    }
    cells[i].slot = slot;
}

bool table_grow_slots(struct table *t)
{
    size_t slots = t->slots * 2;
    unsigned shift = t->shift - 1;
    union table_cell *cells;

    if (t->slots == (size_t)1 << BITS_MAX) {
        return false;
    }
    cells = pages_map(cells_size(slots));
    if (cells == NULL) {
        return false;
    }
    for (size_t i = 0; i < t->slots; i++) {
        if (!table_is_free(&t->cells[i].slot)) {
            move_slot(cells, slots, shift, t->cells[i].slot);
        }
    }
    pages_unmap(t->cells, cells_size(t->slots));
    t->cells = cells;
    t->slots = slots;
    t->shift = shift;
    return true;
}

bool table_grow_records(struct table *t, size_t more)
{
    uint8_t *records;

    assert(more % PAGES_UNIT == 0);
    if (more > records_max - t->records_size) {
        return false;
    }
    records =
        pages_resize(t->records, t->records_size, t->records_size + more);
    if (records == NULL) {
        return false;
    }
    t->records = records;
    t->records_size += more;
    return true;
}

void table_insert(struct table *t, struct table_slot *slot,
                  const struct table_key *k, uint32_t key_hash)
{
    size_t size = table_record_size(t, k->len);
    uint8_t *record = t->records + t->records_len;
    struct table_record header = { k->len, key_hash };
    size_t padding = size - t->key_offset - k->len;

    assert(table_has_record_room(t, size) && table_is_free(slot));
    memcpy(record, &header, sizeof header);
    memset(record + sizeof header, 0, t->key_offset - sizeof header);
    memcpy(record + t->key_offset, k->data, k->len);
    memset(record + t->key_offset + k->len, 0, padding);
    slot->tag = k->tag;
    slot->ref = (uint32_t)(t->records_len / TABLE_UNIT);
    slot->value = 0;
    t->records_len += size;
    t->used++;
}

/* The entry of a slot that is taken. */
static struct sort_entry entry_of(const struct table *t, uint32_t ref,
                                  unsigned parts, uint64_t *part_bytes)
{
    struct row row = table_row(t, ref);
    uint64_t hash = (uint64_t)table_record(t, ref)->key_hash << 32;
    uint32_t part = row_part(hash, parts);

    part_bytes[part] += run_row_bound(&row, t->components);
    return (struct sort_entry){ .word = sort_word(row.head, 0),
                                .ref = ref,
                                .part = part };
}

struct table_entries table_take_entries(struct table *t, unsigned parts,
                                        uint64_t *part_bytes)
{
    size_t n = 0;

    memset(part_bytes, 0, parts * sizeof *part_bytes);
    for (size_t i = 0; i < t->slots; i++) {
        struct table_slot slot = t->cells[i].slot;
        int64_t *values;

        /* Not in a function of its own: gcc takes one that only sends for
         * memory for one that does nothing, and drops the call. */
        if (i + PREFETCH < t->slots) {
            __builtin_prefetch(
                table_record(t, t->cells[i + PREFETCH].slot.ref), 1);
        }
        if (table_is_free(&slot)) {
            continue;
        }
        values = table_values(t, slot.ref);
        values[0] = slot.value;
        if (!row_values_zero(t->components, values)) {
            t->cells[n++].entry = entry_of(t, slot.ref, parts, part_bytes);
        }
    }
    return (struct table_entries){ .entries = &t->cells[0].entry,
                                   .n = n,
                                   .room = { .entries = &t->cells[n].entry,
                                             .n = t->slots - n } };
}

void table_trim(struct table *t, size_t n)
{
    size_t slots = TABLE_SLOTS_MIN;
    size_t records = pages_round(t->records_len + TABLE_KEY_SLACK);
    void *moved;

    /* Any multiple of the unit would do, but cells are counted in slots. */
    while (slots < n) {
        slots += TABLE_SLOTS_MIN;
    }
    if (slots < t->slots) {
        moved =
            pages_resize(t->cells, cells_size(t->slots), cells_size(slots));
        if (moved != NULL) {
            t->cells = moved;
            t->slots = slots;
        }
    }
    if (records < t->records_size) {
        moved = pages_resize(t->records, t->records_size, records);
        if (moved != NULL) {
            t->records = moved;
            t->records_size = records;
        }
    }
}
