#include "state/block.h"

#include <assert.h>

enum { VARINT_MAX = 10 };

static size_t put_varint(uint8_t *out, size_t v)
{
    size_t n = 0;

    while (v >= 128) {
        out[n++] = (uint8_t)(v | 128);
        v >>= 7;
    }
    out[n++] = (uint8_t)v;
    return n;
}

static bool take_varint(struct bytes *b, size_t *v)
{
    unsigned shift = 0;

    /* Nearly all are one byte. */
    if (b->len > 0 && b->data[0] < 128) {
        *v = b->data[0];
        *b = bytes_of(b->data + 1, b->len - 1);
        return true;
    }
    *v = 0;
    for (size_t i = 0; i < b->len && i < VARINT_MAX - 1; i++) {
        *v |= (size_t)(b->data[i] & 127) << shift;
        shift += 7;
        if (b->data[i] < 128) {
            *b = bytes_of(b->data + i + 1, b->len - i - 1);
            return true;
        }
    }
    return false;
}

/* ---- reading ---- */

bool block_open(struct block_reader *r, unsigned components, struct bytes key,
                struct bytes value)
{
    if (key.len > ROW_HEAD_MAX) {
        return false;
    }
    r->components = components;
    r->rest = value;
    r->head_len = key.len;
    if (key.len > 0) {
        memcpy(r->head, key.data, key.len);
    }
    return true;
}

static bool read_head(struct block_reader *r)
{
    size_t shared;
    size_t rest;

    if (!take_varint(&r->rest, &shared) || !take_varint(&r->rest, &rest) ||
        shared > r->head_len || rest > ROW_HEAD_MAX - shared ||
        rest > r->rest.len || shared + rest == 0) {
        return false;
    }
    bytes_copy(r->head + shared, r->rest.data, rest);
    r->head_len = shared + rest;
    r->rest = bytes_of(r->rest.data + rest, r->rest.len - rest);
    return true;
}

static bool read_tail(struct block_reader *r)
{
    size_t len = 0;

    if (r->head_len == ROW_HEAD_MAX &&
        (!take_varint(&r->rest, &len) || len > r->rest.len)) {
        return false;
    }
    r->row.tail = bytes_of(r->rest.data, len);
    r->rest = bytes_of(r->rest.data + len, r->rest.len - len);
    return true;
}

bool block_next(struct block_reader *r, bool *end)
{
    size_t n;

    *end = r->rest.len == 0;
    if (*end) {
        return true;
    }
    if (!read_head(r)) {
        return false;
    }
    n = row_values_decode(r->rest, r->components, r->values);
    if (n == 0) {
        return false;
    }
    r->rest = bytes_of(r->rest.data + n, r->rest.len - n);
    r->row.head = bytes_of(r->head, r->head_len);
    r->row.values = r->values;
    return read_tail(r);
}

bool block_first_head(struct bytes rows, struct bytes *head)
{
    size_t shared;
    size_t rest;

    if (!take_varint(&rows, &shared) || !take_varint(&rows, &rest) ||
        shared != 0 || rest > ROW_HEAD_MAX || rest > rows.len) {
        return false;
    }
    *head = bytes_of(rows.data, rest);
    return true;
}

/* ---- writing ---- */

void block_begin(struct block_writer *w, unsigned components, struct bytes key)
{
    assert(key.len <= ROW_HEAD_MAX);
    w->components = components;
    w->rows = 0;
    buf_reset(&w->value);
    w->key_len = key.len;
    memcpy(w->key, key.data, key.len);
    w->head_len = key.len;
    memcpy(w->head, key.data, key.len);
}

void block_restart(struct block_writer *w)
{
    w->head_len = 0;
}

void block_writer_fini(struct block_writer *w)
{
    buf_fini(&w->value);
}

static size_t shared_with_last(const struct block_writer *w, struct bytes head)
{
    return bytes_shared(head, bytes_of(w->head, w->head_len));
}

size_t block_row_most(unsigned components, const struct row *row)
{
    size_t tail = row->head.len == ROW_HEAD_MAX ? row->tail.len + 4 : 0;

    return (size_t)4 + row->head.len + 9 * (size_t)components + tail;
}

size_t block_row_bound(const struct block_writer *w, const struct row *row)
{
    return block_row_most(w->components, row) - shared_with_last(w, row->head);
}

bool block_add(struct block_writer *w, const struct row *row)
{
    size_t shared = shared_with_last(w, row->head);
    size_t rest = row->head.len - shared;
    uint8_t *at;

    if (!buf_reserve(&w->value, (size_t)3 * VARINT_MAX + rest +
                                    ROW_VALUES_MAX + row->tail.len)) {
        return false;
    }
    at = w->value.data + w->value.len;
    at += put_varint(at, shared);
    at += put_varint(at, rest);
    bytes_copy(at, row->head.data + shared, rest);
    at += rest;
    at += row_values_encode(at, w->components, row->values);
    if (row->head.len == ROW_HEAD_MAX) {
        at += put_varint(at, row->tail.len);
        if (row->tail.len > 0) {
            memcpy(at, row->tail.data, row->tail.len);
        }
        at += row->tail.len;
    }
    w->value.len = (size_t)(at - w->value.data);
    bytes_copy(w->head + shared, row->head.data + shared, rest);
    w->head_len = row->head.len;
    w->rows++;
    return true;
}
