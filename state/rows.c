#include "state/rows.h"

#include <stdlib.h>

enum {
    /* An entry changed in place may grow to this before it is divided. */
    EDIT_MAX = BLOCK_SIZE + BLOCK_SIZE / 2,
    /* Rows that come between two others are written when they are this many
     * bytes, so that no more of them are held. */
    EDIT_BUFFER = 64 << 10
};

static enum df_status damaged(struct df_error *err)
{
    return error_set(err, DF_STATE,
                     "a stored row is damaged: restore the view from a copy, "
                     "or make it anew");
}

/* ---- finding an entry ---- */

/* An entry under a cursor, and the key of the one behind it. */
struct entry {
    bool there; /* false: the table is empty */
    struct bytes key;
    struct bytes value;
    bool has_next;
    struct bytes next_key;
};

/* The entry that holds head, if any entry does: the last one whose key is
 * not after it, or the first of all. The cursor is left near it. */
static enum df_status find_entry(struct store_cursor *c, struct bytes head,
                                 struct entry *e, struct df_error *err)
{
    struct bytes value;
    bool found;
    enum df_status status;

    *e = (struct entry){ 0 };
    status = store_cursor_seek_range(c, head, &e->key, &e->value, &found, err);
    e->there = found;
    if (status != DF_OK || (found && bytes_equal(e->key, head))) {
        return status;
    }
    if (found && bytes_compare(e->key, head) < 0) {
        return damaged(err); /* a page lies in another's place */
    }
    e->next_key = e->key;
    value = e->value;
    if (!found) {
        return store_cursor_last(c, &e->key, &e->value, &e->there, err);
    }
    status = store_cursor_prev(c, &e->key, &e->value, &found, err);
    e->has_next = found;
    if (status == DF_OK && !found) {
        e->key = e->next_key;
        e->value = value;
    } else if (status == DF_OK && bytes_compare(e->key, head) > 0) {
        return damaged(err);
    }
    return status;
}

/* The key behind the entry, where find_entry has not come across it. */
static enum df_status find_next_key(struct store_cursor *c, struct entry *e,
                                    struct df_error *err)
{
    struct bytes value;

    if (!e->there || e->has_next) {
        return DF_OK;
    }
    /* The cursor may stand on the entry or, where it is the first, nowhere
     * in particular. */
    return store_cursor_after(c, e->key, &e->next_key, &value, &e->has_next,
                              err);
}

/* ---- one row ---- */

static enum df_status get_from(const struct entry *e, unsigned components,
                               struct bytes head, int64_t *values,
                               struct bytes *tail, bool *found,
                               struct df_error *err)
{
    struct block_reader r;
    bool end = false;

    *found = false;
    if (!block_open(&r, components, e->key, e->value)) {
        return damaged(err);
    }
    while (!*found) {
        int order;

        if (!block_next(&r, &end)) {
            return damaged(err);
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
    struct entry e;
    enum df_status status = store_cursor_open(&c, t, table, err);

    *found = false;
    if (status != DF_OK) {
        return status;
    }
    status = find_entry(c, head, &e, err);
    if (status == DF_OK && e.there) {
        status = get_from(&e, components, head, values, tail, found, err);
    }
    store_cursor_close(c);
    return status;
}

/* ---- reading in order ---- */

struct rows_reader {
    struct store_txn *txn;
    enum store_table table;
    struct store_cursor *cursor;
    unsigned components;
    struct block_reader block;
    bool is_whole;    /* reads the table from its beginning */
    uint64_t entries; /* of these, so many so far */
};

enum df_status rows_reader_open(struct rows_reader **out, struct store_txn *t,
                                enum store_table table, unsigned components,
                                struct df_error *err)
{
    struct rows_reader *r = calloc(1, sizeof *r);
    enum df_status status;

    *out = NULL;
    if (r == NULL) {
        return error_no_memory(err);
    }
    r->txn = t;
    r->table = table;
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

/* Pages that are missing from a table, or lie in the place of others, are told
 * by how many entries there are. */
static enum df_status check_whole(struct rows_reader *r, struct df_error *err)
{
    struct store_size size;
    enum df_status status;

    if (!r->is_whole) {
        return DF_OK;
    }
    status = store_table_size(r->txn, r->table, &size, err);
    return status == DF_OK && size.entries != r->entries ? damaged(err)
                                                         : status;
}

/* The entry behind those that were read. */
static bool enter(struct rows_reader *r, struct bytes key, struct bytes value)
{
    bool in_order =
        r->block.head_len == 0 ||
        bytes_compare(bytes_of(r->block.head, r->block.head_len), key) < 0;

    r->entries++;
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
            return damaged(err);
        }
        if (!end) {
            *row = &r->block.row;
            return DF_OK;
        }
        status = store_cursor_next(r->cursor, &key, &value, &found, err);
        if (status != DF_OK) {
            return status;
        }
        if (!found) {
            return check_whole(r, err);
        }
        if (!enter(r, key, value)) {
            return damaged(err);
        }
    }
}

enum df_status rows_reader_seek(struct rows_reader *r, struct bytes head,
                                const struct row **row, struct df_error *err)
{
    struct entry e;
    enum df_status status = find_entry(r->cursor, head, &e, err);

    *row = NULL;
    r->block = (struct block_reader){ .components = r->components };
    r->is_whole = head.len == 0;
    r->entries = 0;
    if (status != DF_OK) {
        return status;
    }
    if (!e.there) {
        return check_whole(r, err);
    }
    if (!e.has_next) {
        /* The cursor may have run off the table's beginning. */
        status = store_cursor_seek(r->cursor, e.key, &e.value, &e.there, err);
    }
    if (status == DF_OK && !enter(r, e.key, e.value)) {
        status = damaged(err);
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

/* ---- changing in place ---- */

/*
 * The editor rewrites one entry at a time. Its rows are read from a copy
 * (`old`) and go, with those that are put between them, to `fresh`, one long
 * block that is cut into entries when it is written. A head at or behind the
 * next entry's key ends that and begins the next.
 */
struct rows_editor {
    struct store_txn *t;
    enum store_table table;
    struct store_cursor *cursor;
    unsigned components;

    bool editing; /* an entry, or the empty table */
    bool stored;  /* `key` is in the table and is to be replaced */
    struct buf key;
    struct buf copy;
    struct block_reader old;
    bool old_end;
    bool used; /* old.row was given out and is gone unless put */
    bool has_next;
    struct buf next_key;
    struct block_writer fresh;
    struct block_writer piece; /* of fresh, for writing */
};

enum df_status rows_editor_open(struct rows_editor **out, struct store_txn *t,
                                enum store_table table, unsigned components,
                                struct df_error *err)
{
    struct rows_editor *e = calloc(1, sizeof *e);
    enum df_status status;

    *out = NULL;
    if (e == NULL) {
        return error_no_memory(err);
    }
    e->t = t;
    e->table = table;
    e->components = components;
    status = store_cursor_open(&e->cursor, t, table, err);
    if (status != DF_OK) {
        free(e);
        return status;
    }
    *out = e;
    return DF_OK;
}

void rows_editor_close(struct rows_editor *e)
{
    if (e == NULL) {
        return;
    }
    store_cursor_close(e->cursor);
    buf_fini(&e->key);
    buf_fini(&e->copy);
    buf_fini(&e->next_key);
    block_writer_fini(&e->fresh);
    block_writer_fini(&e->piece);
    free(e);
}

/* Forgets the entry that is to be replaced, where its key is not used again.
 */
static enum df_status remove_stored(struct rows_editor *e,
                                    struct df_error *err)
{
    struct bytes value;
    bool found;
    enum df_status status;

    if (!e->stored) {
        return DF_OK;
    }
    e->stored = false;
    status =
        store_cursor_seek(e->cursor, buf_bytes(&e->key), &value, &found, err);
    return status == DF_OK && found ? store_cursor_remove(e->cursor, err)
                                    : status;
}

static enum df_status write_entry(struct rows_editor *e,
                                  const struct block_writer *b,
                                  struct df_error *err)
{
    struct bytes key = bytes_of(b->key, b->key_len);

    if (e->stored && bytes_equal(key, buf_bytes(&e->key))) {
        e->stored = false;
    }
    return store_cursor_insert(e->cursor, key, buf_bytes(&b->value), err);
}

/* Cuts fresh into entries of about equal size and writes them. */
static enum df_status write_pieces(struct rows_editor *e, struct df_error *err)
{
    size_t pieces = e->fresh.value.len / BLOCK_SIZE + 1;
    size_t size = e->fresh.value.len / pieces;
    enum df_status status = DF_OK;
    struct block_reader r;
    bool end = false;

    if (!block_open(&r, e->components,
                    bytes_of(e->fresh.key, e->fresh.key_len),
                    buf_bytes(&e->fresh.value))) {
        return damaged(err);
    }
    block_begin(&e->piece, e->components,
                bytes_of(e->fresh.key, e->fresh.key_len));
    while (status == DF_OK) {
        if (!block_next(&r, &end)) {
            return damaged(err);
        }
        if (end) {
            break;
        }
        if (e->piece.rows > 0 && e->piece.value.len >= size) {
            status = write_entry(e, &e->piece, err);
            block_begin(&e->piece, e->components, r.row.head);
        }
        if (status == DF_OK && !block_add(&e->piece, &r.row)) {
            status = error_no_memory(err);
        }
    }
    return status == DF_OK ? write_entry(e, &e->piece, err) : status;
}

/* Writes what is in fresh. */
static enum df_status write_fresh(struct rows_editor *e, struct df_error *err)
{
    struct bytes key = bytes_of(e->fresh.key, e->fresh.key_len);
    enum df_status status = DF_OK;

    if (e->fresh.rows == 0) {
        return DF_OK;
    }
    if (e->stored && !bytes_equal(key, buf_bytes(&e->key))) {
        status = remove_stored(e, err);
    }
    if (status == DF_OK) {
        status = e->fresh.value.len > EDIT_MAX
                     ? write_pieces(e, err)
                     : write_entry(e, &e->fresh, err);
    }
    e->fresh.rows = 0;
    return status;
}

static enum df_status add_fresh(struct rows_editor *e, const struct row *row,
                                struct df_error *err)
{
    struct bytes key = row->head;
    enum df_status status = DF_OK;

    if (e->fresh.value.len > EDIT_BUFFER) {
        status = write_fresh(e, err);
    }
    if (e->fresh.rows == 0) {
        /* The old key does where it still comes before all rows. */
        if (e->stored && bytes_compare(buf_bytes(&e->key), key) <= 0) {
            key = buf_bytes(&e->key);
        }
        block_begin(&e->fresh, e->components, key);
    }
    if (status == DF_OK && !block_add(&e->fresh, row)) {
        return error_no_memory(err);
    }
    return status;
}

static enum df_status step_old(struct rows_editor *e, struct df_error *err)
{
    e->used = false;
    return block_next(&e->old, &e->old_end) ? DF_OK : damaged(err);
}

/* Takes over the old rows before head; all that are left with head NULL. */
static enum df_status take_over(struct rows_editor *e,
                                const struct bytes *head, struct df_error *err)
{
    enum df_status status = e->used ? step_old(e, err) : DF_OK;

    while (status == DF_OK && !e->old_end &&
           (head == NULL || bytes_compare(e->old.row.head, *head) < 0)) {
        status = add_fresh(e, &e->old.row, err);
        if (status == DF_OK) {
            status = step_old(e, err);
        }
    }
    return status;
}

static enum df_status end_entry(struct rows_editor *e, struct df_error *err)
{
    enum df_status status;

    if (!e->editing) {
        return DF_OK;
    }
    e->editing = false;
    status = take_over(e, NULL, err);
    if (status == DF_OK) {
        status = write_fresh(e, err);
    }
    /* No row is left of it. */
    return status == DF_OK ? remove_stored(e, err) : status;
}

static bool keep_copy(struct buf *out, struct bytes b)
{
    buf_reset(out);
    return buf_append(out, b.data, b.len);
}

static enum df_status begin_entry(struct rows_editor *e, struct bytes head,
                                  struct df_error *err)
{
    struct entry found = { 0 };
    enum df_status status = find_entry(e->cursor, head, &found, err);

    if (status != DF_OK) {
        return status;
    }
    if (!keep_copy(&e->key, found.there ? found.key : bytes_of(NULL, 0)) ||
        !keep_copy(&e->copy, found.there ? found.value : bytes_of(NULL, 0))) {
        return error_no_memory(err);
    }
    status = find_next_key(e->cursor, &found, err);
    if (status == DF_OK && found.has_next &&
        !keep_copy(&e->next_key, found.next_key)) {
        status = error_no_memory(err);
    }
    e->has_next = found.has_next;
    e->editing = true;
    e->stored = found.there;
    e->fresh.rows = 0;
    buf_reset(&e->fresh.value);
    if (status == DF_OK &&
        !block_open(&e->old, e->components, buf_bytes(&e->key),
                    buf_bytes(&e->copy))) {
        status = damaged(err);
    }
    return status == DF_OK ? step_old(e, err) : status;
}

enum df_status rows_editor_find(struct rows_editor *e, struct bytes head,
                                const struct row **old, struct df_error *err)
{
    enum df_status status = DF_OK;

    *old = NULL;
    if (e->editing && e->has_next &&
        bytes_compare(head, buf_bytes(&e->next_key)) >= 0) {
        status = end_entry(e, err);
    }
    if (status == DF_OK && !e->editing) {
        status = begin_entry(e, head, err);
    }
    if (status == DF_OK) {
        status = take_over(e, &head, err);
    }
    if (status == DF_OK && !e->old_end && bytes_equal(e->old.row.head, head)) {
        e->used = true;
        *old = &e->old.row;
    }
    return status;
}

enum df_status rows_editor_put(struct rows_editor *e, const struct row *row,
                               struct df_error *err)
{
    return add_fresh(e, row, err);
}

enum df_status rows_editor_end(struct rows_editor *e, struct df_error *err)
{
    return end_entry(e, err);
}
