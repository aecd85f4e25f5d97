/* Cursors of a store: LMDB's, and a count of what they make it map in. */
#include <stdlib.h>

#include "state/store_internal.h"

struct store_cursor {
    struct store *store;
    MDB_cursor *cursor; /* NULL: the table is not there */
    uintptr_t region;   /* where the last entry lies, in STORE_REGIONs */
    size_t unrelaxed;   /* bytes of map seen since the last relax, about */
};

enum df_status store_cursor_open(struct store_cursor **out,
                                 struct store_txn *t, enum store_table table,
                                 struct df_error *err)
{
    MDB_dbi dbi = t->store->tables[table];
    struct store_cursor *c = calloc(1, sizeof *c);
    int code = 0;

    *out = NULL;
    if (c == NULL) {
        return error_no_memory(err);
    }
    c->store = t->store;
    if (dbi != STORE_NO_TABLE) {
        store_enter(t->store);
        code = mdb_cursor_open(t->txn, dbi, &c->cursor);
        store_leave();
    }
    if (code != 0) {
        free(c);
        return store_fail(t->store, code, "read", err);
    }
    *out = c;
    return DF_OK;
}

void store_cursor_close(struct store_cursor *c)
{
    if (c != NULL) {
        if (c->cursor != NULL) {
            mdb_cursor_close(c->cursor);
        }
        free(c);
    }
}

/* Counts what was mapped in: the system maps a whole region around a page
 * that is touched. A miss does not tell where it looked; most are near the
 * one before. */
static void seen(struct store_cursor *c, bool found, struct bytes value)
{
    uintptr_t region = (uintptr_t)value.data / STORE_REGION;

    if (!found) {
        c->unrelaxed += STORE_REGION / 4;
    } else if (region != c->region) {
        c->region = region;
        c->unrelaxed += STORE_REGION + value.len;
    }
    if (c->unrelaxed >= STORE_RELAX_BYTES) {
        c->unrelaxed = 0;
        store_relax(c->store);
    }
}

static enum df_status move(struct store_cursor *c, MDB_cursor_op op,
                           MDB_val *k, struct bytes *key, struct bytes *value,
                           bool *found, struct df_error *err)
{
    enum df_status status = DF_OK;
    MDB_val v = { 0 };
    int code = MDB_NOTFOUND;

    store_enter(c->store);
    if (c->cursor != NULL) {
        code = mdb_cursor_get(c->cursor, k, &v, op);
    }
    *found = code == 0;
    if (code == 0 || code == MDB_NOTFOUND) {
        seen(c, *found, store_bytes(v));
    } else {
        status = store_fail(c->store, code, "read", err);
    }
    if (*found) {
        *key = store_bytes(*k);
        status = store_value_get(c->store, *key, v, value, err);
    }
    store_leave();
    return status;
}

enum df_status store_cursor_seek(struct store_cursor *c, struct bytes key,
                                 struct bytes *value, bool *found,
                                 struct df_error *err)
{
    MDB_val k = store_val(key);

    return move(c, MDB_SET, &k, &key, value, found, err);
}

enum df_status store_cursor_seek_range(struct store_cursor *c,
                                       struct bytes key,
                                       struct bytes *found_key,
                                       struct bytes *value, bool *found,
                                       struct df_error *err)
{
    MDB_val k = store_val(key);

    /* LMDB takes no empty key; every key is at or after it. */
    return move(c, key.len == 0 ? MDB_FIRST : MDB_SET_RANGE, &k, found_key,
                value, found, err);
}

enum df_status store_cursor_next(struct store_cursor *c, struct bytes *key,
                                 struct bytes *value, bool *found,
                                 struct df_error *err)
{
    MDB_val k = { 0 };

    return move(c, MDB_NEXT, &k, key, value, found, err);
}

enum df_status store_cursor_prev(struct store_cursor *c, struct bytes *key,
                                 struct bytes *value, bool *found,
                                 struct df_error *err)
{
    MDB_val k = { 0 };

    return move(c, MDB_PREV, &k, key, value, found, err);
}

enum df_status store_cursor_after(struct store_cursor *c, struct bytes key,
                                  struct bytes *found_key, struct bytes *value,
                                  bool *found, struct df_error *err)
{
    enum df_status status = store_cursor_seek(c, key, value, found, err);

    return status == DF_OK && *found
               ? store_cursor_next(c, found_key, value, found, err)
               : status;
}

enum df_status store_cursor_last(struct store_cursor *c, struct bytes *key,
                                 struct bytes *value, bool *found,
                                 struct df_error *err)
{
    MDB_val k = { 0 };

    return move(c, MDB_LAST, &k, key, value, found, err);
}

static enum df_status cursor_put(struct store_cursor *c, struct bytes key,
                                 struct bytes value, unsigned flags,
                                 struct df_error *err)
{
    MDB_val k = store_val(key);
    MDB_val v = { .mv_size = store_value_size(c->store, value) };
    int code;

    store_enter(c->store);
    code = mdb_cursor_put(c->cursor, &k, &v, flags | MDB_RESERVE);
    if (code == 0) {
        store_value_put(c->store, key, value, v);
    }
    store_leave();
    return code == 0 ? DF_OK : store_fail(c->store, code, "write", err);
}

enum df_status store_cursor_insert(struct store_cursor *c, struct bytes key,
                                   struct bytes value, struct df_error *err)
{
    return cursor_put(c, key, value, 0, err);
}

enum df_status store_cursor_append(struct store_cursor *c, struct bytes key,
                                   struct bytes value, struct df_error *err)
{
    return cursor_put(c, key, value, MDB_APPEND, err);
}

enum df_status store_cursor_remove(struct store_cursor *c,
                                   struct df_error *err)
{
    int code;

    store_enter(c->store);
    code = mdb_cursor_del(c->cursor, 0);
    store_leave();
    return code == 0 ? DF_OK : store_fail(c->store, code, "write", err);
}
