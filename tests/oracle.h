/*
 * oracle.h: what combine and reduce must come to, worked out the slow way:
 * all pairs sorted and summed. For test_combine.c and test_reduce.c.
 *
 *     struct oracle o = { .shape = shape, .parts = parts };
 *     oracle_add(&o, sign, key, element, values) ...;
 *     oracle_settle(&o);
 *     oracle_check_part(&o, p, run);      all rows of a run, in order
 *     oracle_fini(&o);
 *
 * Also pairs at random, few enough different ones to meet again.
 */
#ifndef TESTS_ORACLE_H
#define TESTS_ORACLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "state/run.h"

struct oracle_row {
    unsigned part;
    struct bytes row_key; /* owned */
    uint8_t room[ROW_HEAD_MAX];
    size_t head_len; /* of room */
    int64_t values[DF_COMPONENTS_MAX];
};

struct oracle {
    struct row_shape shape;
    unsigned parts;
    struct oracle_row **rows;
    size_t n;
    size_t capacity;
};

static inline void oracle_add(struct oracle *o, int sign, struct bytes key,
                              struct bytes element, const int64_t *values)
{
    struct oracle_row *row = calloc(1, sizeof *row);
    struct buf row_key = { 0 };
    struct bytes head;
    struct bytes tail;

    assert_non_null(row);
    if (o->n == o->capacity) {
        o->capacity = o->capacity * 2 + 64;
        o->rows = realloc(o->rows, o->capacity * sizeof(struct oracle_row *));
        assert_non_null(o->rows);
    }
    assert_true(row_key_append(&row_key, o->shape, key, element));
    row->row_key = buf_bytes(&row_key);
    row->part = row_part(row_key_hash(key), o->parts);
    row_split(row->row_key, row->room, &head, &tail);
    memmove(row->room, head.data, head.len);
    row->head_len = head.len;
    memcpy(row->values, values, o->shape.components * sizeof *values);
    if (sign < 0) {
        assert_true(row_values_negate(o->shape, row->values, values));
    }
    o->rows[o->n++] = row;
}

static inline int oracle_order(const void *a, const void *b)
{
    const struct oracle_row *x = *(struct oracle_row *const *)a;
    const struct oracle_row *y = *(struct oracle_row *const *)b;

    if (x->part != y->part) {
        return x->part < y->part ? -1 : 1;
    }
    return bytes_compare(bytes_of(x->room, x->head_len),
                         bytes_of(y->room, y->head_len));
}

static inline void oracle_free_row(struct oracle_row *row)
{
    free((void *)(uintptr_t)row->row_key.data);
    free(row);
}

static inline void oracle_settle(struct oracle *o)
{
    size_t kept = 0;

    if (o->n > 1) {
        qsort(o->rows, o->n, sizeof(struct oracle_row *), oracle_order);
    }
    for (size_t i = 0; i < o->n;) {
        struct oracle_row *sum = o->rows[i++];

        while (i < o->n && oracle_order(&sum, &o->rows[i]) == 0) {
            assert_true(
                row_values_add(o->shape, sum->values, o->rows[i]->values));
            oracle_free_row(o->rows[i++]);
        }
        if (row_values_zero(o->shape.components, sum->values)) {
            oracle_free_row(sum);
        } else {
            o->rows[kept++] = sum;
        }
    }
    o->n = kept;
}

static inline void oracle_fini(struct oracle *o)
{
    for (size_t i = 0; i < o->n; i++) {
        oracle_free_row(o->rows[i]);
    }
    free(o->rows);
    *o = (struct oracle){ 0 };
}

static inline bool oracle_is(const struct oracle *o,
                             const struct oracle_row *want,
                             const struct row *row)
{
    struct bytes head = bytes_of(want->room, want->head_len);
    struct bytes tail = { 0 };

    if (want->row_key.len > ROW_HEAD_EXACT) {
        tail = bytes_of(want->row_key.data + ROW_HEAD_EXACT,
                        want->row_key.len - ROW_HEAD_EXACT);
    }
    return bytes_equal(row->head, head) && bytes_equal(row->tail, tail) &&
           memcmp(row->values, want->values,
                  o->shape.components * sizeof *row->values) == 0;
}

/* Reads the whole run; its rows must be those of the partition. Returns how
 * many there are; *bytes is what heads, tails and values take. */
static inline size_t oracle_check_part(const struct oracle *o, unsigned part,
                                       struct run_source *run, uint64_t *bytes)
{
    struct df_error err;
    const struct row *row = NULL;
    size_t i = 0;
    size_t seen = 0;

    *bytes = 0;
    while (i < o->n && o->rows[i]->part < part) {
        i++;
    }
    for (;;) {
        uint8_t values[ROW_VALUES_MAX];

        if (run->next(run, &row, &err) != DF_OK) {
            fail_msg("%s", err.text);
        }
        if (row == NULL) {
            break;
        }
        assert_true(i < o->n && o->rows[i]->part == part);
        assert_true(oracle_is(o, o->rows[i], row));
        *bytes += row->head.len + row->tail.len +
                  row_values_encode(values, o->shape.components, row->values);
        i++;
        seen++;
    }
    assert_true(i == o->n || o->rows[i]->part > part);
    return seen;
}

/* ---- Pairs at random ---- */

struct oracle_random {
    unsigned seed;
    size_t distinct; /* about as many different keys */
    bool has_long;   /* some of 490 to 520 bytes and of the longest */
};

/* A key or element, in memory of its own with slack behind. Its length and
 * bytes follow from a small number alone. */
static inline struct bytes oracle_random_bytes(struct oracle_random *r)
{
    unsigned pick = (unsigned)rand_r(&r->seed) % (unsigned)r->distinct;
    unsigned seed = pick * 2654435761u + 1;
    unsigned kind = (unsigned)rand_r(&seed) % 1000;
    size_t len = 1 + (size_t)rand_r(&seed) % 20;
    uint8_t *data;

    if (kind < 20) {
        len = 0;
    } else if (r->has_long && kind < 60) {
        len = 490 + (size_t)rand_r(&seed) % 31;
    } else if (r->has_long && kind < 62) {
        len = DF_KEY_MAX - (size_t)rand_r(&seed) % 2;
    }
    data = malloc(len + DF_SLACK);
    assert_non_null(data);
    memset(data, 'k', len);
    memset(data + len, rand_r(&r->seed), DF_SLACK);
    for (size_t i = len > 5 ? len - 5 : 0; i < len; i++) {
        static const uint8_t letters[] = "\0\1\xff"
                                         "abcdefghijklmnopqrstuvwxyz";

        data[i] = letters[(size_t)rand_r(&seed) % (sizeof letters - 1)];
    }
    return bytes_of(data, len);
}

static inline void oracle_free_bytes(struct bytes b)
{
    free((void *)(uintptr_t)b.data);
}

static inline void oracle_random_values(struct oracle_random *r,
                                        int64_t *values)
{
    for (int i = 0; i < DF_COMPONENTS_MAX; i++) {
        int64_t v = (int64_t)((uint64_t)rand_r(&r->seed) << 15 ^
                              (uint64_t)rand_r(&r->seed));

        values[i] = (v >> rand_r(&r->seed) % 48) - rand_r(&r->seed) % 3;
    }
}

#endif
