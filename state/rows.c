#include "state/rows_internal.h"

#include <stdlib.h>

enum df_status rows_damaged(struct df_error *err)
{
    return error_set(err, DF_STATE, "a stored row " STORE_DAMAGED);
}

/* ---- finding an entry ---- */

/* From the entry behind head to the one before, if there is one. */
static enum df_status step_back(struct store_cursor *c, struct bytes head,
                                struct rows_entry *e, struct df_error *err)
{
    struct rows_entry next = *e;
    enum df_status status =
        store_cursor_prev(c, &e->key, &e->value, &e->has_next, err);

    if (status != DF_OK) {
        return status;
    }
    if (!e->has_next) {
        e->key = next.key;
        e->value = next.value;
        return DF_OK;
    }
    e->next_key = next.key;
    return bytes_compare(e->key, head) < 0 ? DF_OK : rows_damaged(err);
}

enum df_status rows_find_entry(struct store_cursor *c, struct bytes head,
                               struct rows_entry *e, struct df_error *err)
{
    enum df_status status;

    *e = (struct rows_entry){ 0 };
    status =
        store_cursor_seek_range(c, head, &e->key, &e->value, &e->there, err);
    if (status != DF_OK || (e->there && bytes_equal(e->key, head))) {
        return status;
    }
    if (!e->there) {
        return store_cursor_last(c, &e->key, &e->value, &e->there, err);
    }
    /* Else a page lies in another's place. */
    return bytes_compare(e->key, head) > 0 ? step_back(c, head, e, err)
                                           : rows_damaged(err);
}

/* ---- one row ---- */

static enum df_status get_from(const struct rows_entry *e, unsigned components,
                               struct bytes head, int64_t *values,
                               struct bytes *tail, bool *found,
                               struct df_error *err)
{
    struct block_reader r;
    bool end = false;

    *found = false;
    if (!block_open(&r, components, e->key, e->value)) {
        return rows_damaged(err);
    }
    while (!*found) {
        int order;

        if (!block_next(&r, &end)) {
            return rows_damaged(err);
        }
        order = end ? 1 : bytes_compare(r.row.head, head);
        if (order > 0) {
            return DF_OK;
        }
        *found = order == 0;
    }
    memcpy(values, r.values, components * sizeof *values);
    *tail = r.row.tail;
    return DF_OK;
}

enum df_status rows_get(struct store_txn *t, enum store_table table,
                        unsigned components, struct bytes head,
                        int64_t *values, struct bytes *tail, bool *found,
                        struct df_error *err)
{
    struct store_cursor *c;
    struct rows_entry e;
    enum df_status status = store_cursor_open(&c, t, table, err);

    *found = false;
    if (status != DF_OK) {
        return status;
    }
    status = rows_find_entry(c, head, &e, err);
    if (status == DF_OK && e.there) {
        status = get_from(&e, components, head, values, tail, found, err);
    }
    store_cursor_close(c);
    return status;
}

/* ---- reading in order ---- */

struct rows_reader {
    struct store_cursor *cursor;
    unsigned components;
    struct block_reader block;
    uint64_t all;  /* rows that are in the table */
    uint64_t seen; /* of these */
    bool is_whole; /* it has begun with the first */
};

enum df_status rows_reader_open(struct rows_reader **out, struct store_txn *t,
                                enum store_table table, uint64_t rows,
                                unsigned components, struct df_error *err)
{
    struct rows_reader *r = calloc(1, sizeof *r);
    enum df_status status;

    *out = NULL;
    if (r == NULL) {
        return error_no_memory(err);
    }
    r->all = rows;
    r->components = components;
    status = store_cursor_open(&r->cursor, t, table, err);
    if (status != DF_OK) {
        free(r);
        return status;
    }
    *out = r;
    return DF_OK;
}

void rows_reader_close(struct rows_reader *r)
{
    if (r != NULL) {
        store_cursor_close(r->cursor);
        free(r);
    }
}

/* The end of the table: pages that are missing, or lie in others' places, are
 * told by how many rows there were. */
static enum df_status check_end(const struct rows_reader *r,
                                struct df_error *err)
{
    return r->is_whole && r->seen != r->all ? rows_damaged(err) : DF_OK;
}

/* The entry behind those that were read. */
static bool enter(struct rows_reader *r, struct bytes key, struct bytes value)
{
    bool in_order =
        r->block.head_len == 0 ||
        bytes_compare(bytes_of(r->block.head, r->block.head_len), key) < 0;

    return in_order && block_open(&r->block, r->components, key, value);
}

enum df_status rows_reader_next(struct rows_reader *r, const struct row **row,
                                struct df_error *err)
{
    *row = NULL;
    for (;;) {
        struct bytes key;
        struct bytes value;
        enum df_status status;
        bool found;
        bool end;

        if (!block_next(&r->block, &end)) {
            return rows_damaged(err);
        }
        if (!end) {
            *row = &r->block.row;
            r->seen++;
            return DF_OK;
        }
        status = store_cursor_next(r->cursor, &key, &value, &found, err);
        if (status != DF_OK) {
            return status;
        }
        if (!found) {
            return check_end(r, err);
        }
        if (!enter(r, key, value)) {
            return rows_damaged(err);
        }
    }
}

enum df_status rows_reader_seek(struct rows_reader *r, struct bytes head,
                                const struct row **row, struct df_error *err)
{
    struct rows_entry e;
    enum df_status status = rows_find_entry(r->cursor, head, &e, err);

    *row = NULL;
    r->block = (struct block_reader){ .components = r->components };
    r->is_whole = head.len == 0;
    r->seen = 0;
    if (status != DF_OK) {
        return status;
    }
    if (!e.there) {
        return check_end(r, err);
    }
    if (!e.has_next) {
        /* The cursor may have run off the table's beginning. */
        status = store_cursor_seek(r->cursor, e.key, &e.value, &e.there, err);
    }
    if (status == DF_OK && !enter(r, e.key, e.value)) {
        status = rows_damaged(err);
    }
    do {
        if (status == DF_OK) {
            status = rows_reader_next(r, row, err);
        }
    } while (status == DF_OK && *row != NULL &&
             bytes_compare((*row)->head, head) < 0);
    return status;
}

/* ---- appending ---- */

struct rows_writer {
    struct store_cursor *cursor;
    struct block_writer block;
    unsigned components;
    size_t *bytes;
};

enum df_status rows_writer_open(struct rows_writer **out, struct store_txn *t,
                                enum store_table table, unsigned components,
                                size_t *bytes, struct df_error *err)
{
    struct rows_writer *w = calloc(1, sizeof *w);
    enum df_status status;

    *out = NULL;
    if (w == NULL) {
        return error_no_memory(err);
    }
    w->components = components;
    w->bytes = bytes;
    status = store_cursor_open(&w->cursor, t, table, err);
    if (status != DF_OK) {
        free(w);
        return status;
    }
    *out = w;
    return DF_OK;
}

void rows_writer_close(struct rows_writer *w)
{
    if (w != NULL) {
        store_cursor_close(w->cursor);
        block_writer_fini(&w->block);
        free(w);
    }
}

enum df_status rows_writer_end(struct rows_writer *w, struct df_error *err)
{
    struct block_writer *b = &w->block;

    if (b->rows == 0) {
        return DF_OK;
    }
    b->rows = 0;
    if (w->bytes != NULL) {
        *w->bytes += b->key_len + b->value.len;
    }
    return store_cursor_append(w->cursor, bytes_of(b->key, b->key_len),
                               buf_bytes(&b->value), err);
}

/* Whether one more row makes the entry longer than a quarter of a page. */
static bool is_full(const struct block_writer *b, const struct row *row)
{
    size_t len = b->key_len + b->value.len;

    /* What it shares with the last one counts only where that is needed. */
    return len + block_row_most(b->components, row) > BLOCK_SIZE &&
           len + block_row_bound(b, row) > BLOCK_SIZE;
}

enum df_status rows_writer_add(struct rows_writer *w, const struct row *row,
                               struct df_error *err)
{
    struct block_writer *b = &w->block;
    enum df_status status = DF_OK;

    if (b->rows > 0 && is_full(b, row)) {
        status = rows_writer_end(w, err);
    }
    if (b->rows == 0) {
        block_begin(b, w->components, row->head);
    }
    if (status == DF_OK && !block_add(b, row)) {
        return error_no_memory(err);
    }
    return status;
}
