/*
 * The editor rewrites one entry at a time. Its rows are read from a copy
 * (`old`) and go, with those that are put between them, to `fresh`, one long
 * block that is cut into entries when it is written. A head at or behind the
 * next entry's key ends that and begins the next.
 */
#include <stdlib.h>

#include "state/rows_internal.h"

enum {
    /* An entry changed in place may grow to this before it is divided. */
    EDIT_MAX = BLOCK_SIZE + BLOCK_SIZE / 2,
    /* Rows that come between two others are written when they are this many
     * bytes, so that no more of them are held. */
    EDIT_BUFFER = 64 << 10
};

struct rows_editor {
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
    if (status == DF_OK && !found) {
        return rows_damaged(err);
    }
    return status == DF_OK ? store_cursor_remove(e->cursor, err) : status;
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
        return rows_damaged(err);
    }
    block_begin(&e->piece, e->components,
                bytes_of(e->fresh.key, e->fresh.key_len));
    while (status == DF_OK) {
        if (!block_next(&r, &end)) {
            return rows_damaged(err);
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
    return block_next(&e->old, &e->old_end) ? DF_OK : rows_damaged(err);
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

/* The key behind the entry, where rows_find_entry has not come across it. */
static enum df_status find_next_key(struct store_cursor *c,
                                    struct rows_entry *e, struct df_error *err)
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

static bool keep_copy(struct buf *out, struct bytes b)
{
    buf_reset(out);
    return buf_append(out, b.data, b.len);
}

static enum df_status begin_entry(struct rows_editor *e, struct bytes head,
                                  struct df_error *err)
{
    struct rows_entry found = { 0 };
    enum df_status status = rows_find_entry(e->cursor, head, &found, err);

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
        status = rows_damaged(err);
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
