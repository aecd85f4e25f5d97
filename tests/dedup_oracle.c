#include "dedup_oracle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "state/row.h"

void dedup_oracle_open(struct dedup_oracle *o, const struct dedup_rule *rule)
{
    *o = (struct dedup_oracle){ .rule = *rule };
}

void dedup_oracle_close(struct dedup_oracle *o)
{
    for (size_t i = 0; i < o->count; i++) {
        free(o->known[i].key);
    }
    free(o->known);
    free(o->index);
}

/* ---- the window ---- */

static void set_grid(struct dedup_oracle *o, int64_t reference)
{
    o->has_grid = true;
    o->grid = reference - o->rule.period;
    o->start = o->grid;
    o->end = o->start;
    while (o->end - o->start < o->rule.period) {
        o->end += o->rule.span;
    }
}

/* Forgets every key whose kept record, or span, has expired. */
static void forget(struct dedup_oracle *o)
{
    for (size_t i = 0; i < o->count; i++) {
        int64_t lives_by =
            o->rule.by_bucket ? o->known[i].bucket : o->known[i].time;

        if (lives_by < o->start) {
            o->known[i].copies = 0;
        }
    }
}

static void move(struct dedup_oracle *o, int64_t time)
{
    int64_t before = o->start;

    while (time >= o->end) {
        o->start += o->rule.span;
        o->end += o->rule.span;
    }
    if (o->start != before) {
        forget(o);
    }
    if (!o->has_seen || time > o->latest) {
        o->latest = time;
    }
    if (!o->has_seen || time < o->earliest) {
        o->earliest = time;
    }
    o->has_seen = true;
}

static int64_t bucket_of(const struct dedup_oracle *o, int64_t time)
{
    int64_t line = o->grid;

    while (line > time) {
        line -= o->rule.span;
    }
    while (line + o->rule.span <= time) {
        line += o->rule.span;
    }
    return line;
}

/* ---- keys ---- */

/* Where a key stands in the index, or would. */
static size_t *place(struct dedup_oracle *o, const char *key, int64_t bucket)
{
    size_t at = (size_t)(hash64(bytes_of_string(key)) + (uint64_t)bucket);

    for (;; at++) {
        size_t *slot = &o->index[at % o->index_size];

        if (*slot == 0 || (strcmp(o->known[*slot - 1].key, key) == 0 &&
                           o->known[*slot - 1].bucket == bucket)) {
            return slot;
        }
    }
}

static void grow_index(struct dedup_oracle *o)
{
    free(o->index);
    o->index_size = 4 * o->count + 64;
    o->index = calloc(o->index_size, sizeof *o->index);
    assert_non_null(o->index);
    for (size_t i = 0; i < o->count; i++) {
        *place(o, o->known[i].key, o->known[i].bucket) = i + 1;
    }
}

static struct dedup_known *find(struct dedup_oracle *o, const char *key,
                                int64_t time)
{
    int64_t bucket = o->rule.by_bucket ? bucket_of(o, time) : 0;
    size_t *slot;

    if (2 * o->count >= o->index_size) {
        grow_index(o);
    }
    slot = place(o, key, bucket);
    if (*slot == 0) {
        o->known = realloc(o->known, (o->count + 1) * sizeof *o->known);
        assert_non_null(o->known);
        o->known[o->count] =
            (struct dedup_known){ .key = strdup(key), .bucket = bucket };
        *slot = ++o->count;
    }
    return &o->known[*slot - 1];
}

static bool is_future(const struct dedup_oracle *o, int64_t time)
{
    return o->rule.has_max_ahead && o->has_seen &&
           time > o->latest + o->rule.max_ahead;
}

enum dedup_oracle_outcome dedup_oracle_insert(struct dedup_oracle *o,
                                              const char *key, int64_t time)
{
    struct dedup_known *k;

    if (o->rule.is_timed) {
        if (!o->has_grid && o->rule.has_reference) {
            set_grid(o, o->rule.reference);
        }
        if (o->has_grid && time < o->start) {
            return ORACLE_EXPIRED;
        }
        if (is_future(o, time)) {
            return ORACLE_FUTURE;
        }
        if (!o->has_grid) {
            set_grid(o, time);
        }
        move(o, time);
    }
    k = find(o, key, time);
    k->copies++;
    if (k->copies > 1) {
        return ORACLE_DUPLICATE;
    }
    k->time = time;
    return ORACLE_UNIQUE;
}

enum dedup_oracle_outcome dedup_oracle_delete(struct dedup_oracle *o,
                                              const char *key, int64_t time)
{
    struct dedup_known *k;

    if (o->rule.is_timed && o->has_grid && time < o->start) {
        return ORACLE_EXPIRED;
    }
    if (o->rule.is_timed && is_future(o, time)) {
        return ORACLE_FUTURE;
    }
    k = find(o, key, time);
    if (k->copies > 0) {
        k->copies--;
        return ORACLE_RETRACTED;
    }
    if (!o->rule.is_timed || !o->has_seen || time > o->latest) {
        return ORACLE_REFUSED;
    }
    if (o->rule.has_max_ahead) {
        return ORACLE_EXPIRED;
    }
    return !o->rule.by_bucket && o->earliest < o->start ? ORACLE_EXPIRED
                                                        : ORACLE_REFUSED;
}

size_t dedup_oracle_live(const struct dedup_oracle *o)
{
    size_t n = 0;

    for (size_t i = 0; i < o->count; i++) {
        n += o->known[i].copies > 0 ? 1 : 0;
    }
    return n;
}

/* ---- rows ---- */

static void add_row(struct hash128 *sum, struct row_shape shape, uint8_t kind,
                    const int64_t *span, const char *key,
                    const int64_t *values)
{
    struct buf row = { 0 };
    uint8_t raw[8];

    assert_true(buf_append_byte(&row, kind));
    if (span != NULL) {
        store_be64(raw, (uint64_t)*span ^ (uint64_t)1 << 63);
        assert_true(buf_append(&row, raw, sizeof raw));
    }
    assert_true(buf_append_byte(&row, 't') &&
                buf_append(&row, key, strlen(key)));
    *sum = digest_add(*sum, row_digest(shape, buf_bytes(&row), values));
    buf_fini(&row);
}

struct hash128 dedup_oracle_digest(const struct dedup_oracle *o,
                                   uint64_t *rows)
{
    struct row_shape shape = { .components = o->rule.is_timed ? 2 : 1 };
    static const int64_t one[2] = { 1, 0 };
    struct hash128 sum = { 0, 0 };

    *rows = 0;
    for (size_t i = 0; i < o->count; i++) {
        const struct dedup_known *k = &o->known[i];
        int64_t values[2] = { k->copies, k->time };
        int64_t span;

        if (k->copies == 0) {
            continue;
        }
        span = o->rule.is_timed ? bucket_of(o, k->time) : 0;
        add_row(&sum, shape, o->rule.by_bucket ? 2 : 1,
                o->rule.by_bucket ? &span : NULL, k->key, values);
        *rows += 1;
        if (o->rule.is_timed && !o->rule.by_bucket) {
            add_row(&sum, shape, 2, &span, k->key, one);
            *rows += 1;
        }
    }
    return sum;
}
