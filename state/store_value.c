/*
 * What lies behind a key: the value, and a check of key and value.
 *
 * LMDB's pages carry no checksums: a disk, a cable or a copy that changes a
 * byte would change a count, and nobody would know. So 32 bits of hash stand
 * behind each value and are looked at whenever it is read. A store whose file
 * was made before there were checks has none; it gets them when its view is
 * rebuilt.
 */
#include "base/hash.h"
#include "state/store_internal.h"

static uint32_t check_of(struct bytes key, struct bytes value)
{
    /* Both are to count, and which is which. */
    return (uint32_t)(hash64(value) + 3 * hash64(key));
}

size_t store_value_size(const struct store *s, struct bytes value)
{
    return value.len + (s->has_checks ? STORE_CHECK : 0);
}

void store_value_put(const struct store *s, struct bytes key,
                     struct bytes value, MDB_val room)
{
    uint8_t *at = room.mv_data;

    bytes_copy(at, value.data, value.len);
    if (s->has_checks) {
        store_be32(at + value.len, check_of(key, value));
    }
}

enum df_status store_value_get(struct store *s, struct bytes key,
                               MDB_val stored, struct bytes *value,
                               struct df_error *err)
{
    *value = store_bytes(stored);
    if (!s->has_checks) {
        return DF_OK;
    }
    if (value->len >= STORE_CHECK) {
        value->len -= STORE_CHECK;
        if (load_be32(value->data + value->len) == check_of(key, *value)) {
            return DF_OK;
        }
    }
    return error_set(err, DF_STATE, "%s: " STORE_DAMAGED, s->path);
}

/* ---- by key ---- */

/* Values with pages of their own are read one after the other, as by a
 * cursor; small ones lie where others do. */
static void seen_by_get(struct store_txn *t, struct bytes value)
{
    if (value.len >= STORE_REGION / 16) {
        t->unrelaxed += 2 * value.len;
    }
    if (t->unrelaxed >= STORE_RELAX_BYTES) {
        t->unrelaxed = 0;
        store_relax(t->store);
    }
}

/* A key that is not there may be one that is damaged: it would then lie
 * beside where it was looked for. */
static enum df_status check_around(struct store_txn *t, MDB_dbi dbi,
                                   struct bytes key, struct df_error *err)
{
    static const MDB_cursor_op ops[] = { MDB_SET_RANGE, MDB_PREV };
    enum df_status status = DF_OK;
    MDB_cursor *cursor;
    MDB_val k = store_val(key);
    int code;

    if (!t->store->has_checks) {
        return DF_OK; /* nor has it all tables */
    }
    code = mdb_cursor_open(t->txn, dbi, &cursor);
    if (code != 0) {
        return store_fail(t->store, code, "read", err);
    }
    for (size_t i = 0; status == DF_OK && i < 2; i++) {
        struct bytes value;
        MDB_val v;

        code = mdb_cursor_get(cursor, &k, &v, ops[i]);
        if (code == 0) {
            status = store_value_get(t->store, store_bytes(k), v, &value, err);
        } else if (code != MDB_NOTFOUND) {
            status = store_fail(t->store, code, "read", err);
        }
    }
    mdb_cursor_close(cursor);
    return status;
}

enum df_status store_get(struct store_txn *t, enum store_table table,
                         struct bytes key, struct bytes *value, bool *found,
                         struct df_error *err)
{
    MDB_dbi dbi = t->store->tables[table];
    MDB_val k = store_val(key);
    enum df_status status = DF_OK;
    MDB_val v;
    int code = MDB_NOTFOUND;

    store_enter(t->store);
    if (dbi != STORE_NO_TABLE) {
        code = mdb_get(t->txn, dbi, &k, &v);
    }
    *found = code == 0;
    if (code == 0) {
        seen_by_get(t, store_bytes(v));
        status = store_value_get(t->store, key, v, value, err);
    }
    if (code == MDB_NOTFOUND) {
        status = check_around(t, dbi, key, err);
    }
    store_leave();
    /* Keys that LMDB could not hold, empty or too long, are not there. */
    return code == 0 || code == MDB_NOTFOUND || code == MDB_BAD_VALSIZE
               ? status
               : store_fail(t->store, code, "read", err);
}

static enum df_status put(struct store_txn *t, enum store_table table,
                          struct bytes key, struct bytes value, unsigned flags,
                          struct df_error *err)
{
    MDB_val k = store_val(key);
    MDB_val v = { .mv_size = store_value_size(t->store, value) };
    int code;

    store_enter(t->store);
    code =
        mdb_put(t->txn, t->store->tables[table], &k, &v, flags | MDB_RESERVE);
    if (code == 0) {
        store_value_put(t->store, key, value, v);
    }
    store_leave();
    return code == 0 ? DF_OK : store_fail(t->store, code, "write", err);
}

enum df_status store_put(struct store_txn *t, enum store_table table,
                         struct bytes key, struct bytes value,
                         struct df_error *err)
{
    return put(t, table, key, value, 0, err);
}

enum df_status store_append(struct store_txn *t, enum store_table table,
                            struct bytes key, struct bytes value,
                            struct df_error *err)
{
    return put(t, table, key, value, MDB_APPEND, err);
}
