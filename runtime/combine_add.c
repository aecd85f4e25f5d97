/*
 * combine_add.c: pairs into the table of combine.c.
 */
#include "runtime/combine_internal.h"

/* ---- any pair ---- */

/* Inserts a key that table_find did not find; NULL after a failure. */
static struct table_slot *insert(struct combine *c, const struct table_key *k,
                                 struct bytes key)
{
    struct table *t = &c->table;
    size_t size = table_record_size(t, k->len);
    struct table_slot *slot;

    c->longest = k->len > c->longest ? k->len : c->longest;
    if (table_is_crowded(t) || !table_has_record_room(t, size)) {
        c->emitter.status = combine_make_room(c, size, &c->error);
        if (c->emitter.status != DF_OK) {
            return NULL;
        }
    }
    slot = table_find(t, k);
    table_insert(t, slot, k, (uint32_t)(row_key_hash(key) >> 32));
    return slot;
}

/* Takes values off the numbers 1 to `last`, whatever they carry. */
static void take_back(struct row_shape shape, int64_t *kept,
                      const int64_t *values, unsigned last)
{
    for (unsigned i = 1; i <= last; i++) {
        bool is_wide = row_is_wide(shape, i);

        row_number_subtract(is_wide, kept + i, values + i);
        i += is_wide ? 1 : 0;
    }
}

/* The first of a slot's values lies in it, the others in its record. */
bool combine_add_values(struct combine *c, struct table_slot *slot,
                        const int64_t *values)
{
    int64_t *kept = table_values(&c->table, slot->ref);
    struct row_shape shape = c->plan.shape;
    int64_t first;

    if (__builtin_add_overflow(slot->value, values[0], &first)) {
        return false;
    }
    for (unsigned i = 1; i < shape.components; i++) {
        bool is_wide = row_is_wide(shape, i);

        if (row_number_add(is_wide, kept + i, values + i) != 0) {
            take_back(shape, kept, values, i);
            return false;
        }
        i += is_wide ? 1 : 0;
    }
    slot->value = first;
    return true;
}

/* The values as they count: negated where documents are deleted. NULL, and
 * the emitter has failed, for what has no negative. */
static const int64_t *signed_values(struct combine *c, struct bytes key,
                                    const int64_t *values)
{
    if (c->sign > 0) {
        return values;
    }
    if (!row_values_negate(c->plan.shape, c->negated, values)) {
        c->emitter.status =
            row_overflow(&c->error, c->plan.shape, key, bytes_of(NULL, 0));
        return NULL;
    }
    return c->negated;
}

/*
 * Adds where the sum would leave its width: the table is spilled, and the
 * key begins anew. So nothing is refused for the order in which it came; the
 * merge counts what partial sums carry and refuses when the whole does.
 */
static void add_apart(struct combine *c, const struct table_key *k,
                      struct bytes key, const int64_t *values)
{
    struct table_slot *slot;

    c->emitter.status = combine_spill(c, &c->error);
    if (c->emitter.status == DF_OK) {
        slot = insert(c, k, key);
        if (slot != NULL) {
            (void)combine_add_values(c, slot, values); /* to zeros */
        }
    }
}

void combine_add_stored(struct combine *c, const struct table_key *k,
                        struct bytes key, const int64_t *values)
{
    struct table_slot *slot = table_find(&c->table, k);

    if (table_is_free(slot)) {
        slot = insert(c, k, key);
    }
    if (slot != NULL && !combine_add_values(c, slot, values)) {
        add_apart(c, k, key, values);
    }
}

static bool length_is_right(struct combine *c, struct bytes b, size_t max,
                            const char *what)
{
    if (b.len <= max) {
        return true;
    }
    c->emitter.status = error_set(
        &c->error, DF_INPUT, "%s '%s' is %zu bytes long, more than %zu", what,
        shown(&(struct shown){ 0 }, b), b.len, max);
    return false;
}

/* Turns the row key in c->stored into a stored key with slack behind. */
static bool to_stored_key(struct combine *c)
{
    struct buf *b = &c->stored;
    struct hash128 hash;

    if (!buf_reserve(b, HASH128_SIZE + TABLE_KEY_SLACK)) {
        return false;
    }
    if (b->len > ROW_HEAD_EXACT) {
        hash = hash128(buf_bytes(b), 0);
        memmove(b->data + ROW_HEAD_MAX, b->data + ROW_HEAD_EXACT,
                b->len - ROW_HEAD_EXACT);
        hash128_store(b->data + ROW_HEAD_EXACT, hash);
        b->len += HASH128_SIZE;
    }
    return true;
}

/* Any pair, at its own pace. */
void combine_add_pair(struct combine *c, struct bytes key,
                      struct bytes element, const int64_t *values)
{
    struct row_shape shape = c->plan.shape;
    struct table_key k;

    if (!length_is_right(c, key, c->plan.key_max, "key") ||
        (shape.has_element &&
         !length_is_right(c, element, DF_KEY_MAX, "element"))) {
        return;
    }
    if ((c->plan.sample != 1 && row_key_hash(key) % c->plan.sample != 0) ||
        row_values_zero(shape.components, values)) {
        return;
    }
    values = signed_values(c, key, values);
    if (values == NULL) {
        return;
    }
    buf_reset(&c->stored);
    if (!row_key_append(&c->stored, shape, key, element) ||
        !to_stored_key(c)) {
        c->emitter.status = error_no_memory(&c->error);
        return;
    }
    table_key(&k, c->stored.data, c->stored.len);
    combine_add_stored(c, &k, key, values);
}

static void emit_pair(struct df_emitter *e, const uint8_t *key, size_t key_len,
                      const uint8_t *element, size_t element_len,
                      const int64_t *values)
{
    struct combine *c = (struct combine *)e;

    c->stats.pairs++;
    combine_add_pair(c, bytes_of(key, key_len), bytes_of(element, element_len),
                     values);
}

/* Hashes the keys of pairs into the batch, then sends for their places and for
 * their records: values beyond the first are there. Returns false where one
 * is not its own stored key. */
static bool prepare_pairs(struct combine *c, const struct df_pair *pairs,
                          size_t n)
{
    bool is_plain = true;

    for (size_t i = 0; i < n; i++) {
        struct table_key *k = &c->batch[i];

        is_plain &= combine_is_plain_key(pairs[i].key, pairs[i].key_len);
        table_key(k, pairs[i].key, pairs[i].key_len);
        __builtin_prefetch(table_home(&c->table, k), 1);
    }
    for (size_t i = 0; is_plain && i < n; i++) {
        table_prefetch_record(&c->table, &c->batch[i]);
    }
    return is_plain;
}

static void sum_batch(struct combine *c, const struct df_pair *pairs, size_t n)
{
    unsigned components = c->plan.shape.components;

    for (size_t i = 0; i < n && c->emitter.status == DF_OK; i++) {
        const struct table_key *k = &c->batch[i];
        struct bytes key = bytes_of(k->data, k->len);
        const int64_t *values = signed_values(c, key, pairs[i].values);

        if (values != NULL && !row_values_zero(components, values)) {
            combine_add_stored(c, k, key, values);
        }
    }
}

static void add_one_by_one(struct combine *c, const struct df_pair *pairs,
                           size_t n)
{
    for (size_t i = 0; i < n && c->emitter.status == DF_OK; i++) {
        combine_add_pair(c, bytes_of(pairs[i].key, pairs[i].key_len),
                         bytes_of(pairs[i].element, pairs[i].element_len),
                         pairs[i].values);
    }
}

static void emit_pairs(struct df_emitter *e, const struct df_pair *pairs,
                       size_t n)
{
    struct combine *c = (struct combine *)e;

    c->stats.pairs += n;
    while (n > 0 && c->emitter.status == DF_OK) {
        size_t some = n < COMBINE_BATCH ? n : COMBINE_BATCH;

        if (c->plan.sample == 1 && !c->plan.shape.has_element &&
            prepare_pairs(c, pairs, some)) {
            sum_batch(c, pairs, some);
        } else {
            add_one_by_one(c, pairs, some);
        }
        pairs += some;
        n -= some;
    }
}

void combine_add_init(struct combine *c)
{
    c->emitter.pair = emit_pair;
    c->emitter.pairs = emit_pairs;
}
