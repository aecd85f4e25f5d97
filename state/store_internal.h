/*
 * store_internal.h: struct store and LMDB, shared by store.c, store_cursor.c,
 * store_value.c and store_fault.c, the only ones that may include this and, by
 * it, lmdb.h.
 */
#ifndef STATE_STORE_INTERNAL_H
#define STATE_STORE_INTERNAL_H

#include <stdatomic.h>

#include <lmdb.h>

#include "state/store.h"
#include "state/store_file.h"

enum {
    STORE_RELAX_BYTES = 4 << 20, /* seen of the map between two relaxes */
    STORE_REGION = 64 << 10 /* mapped in at once (the kernel's fault-around) */
};

/* Stands for a table that an older file does not have. */
#define STORE_NO_TABLE ((MDB_dbi)UINT32_MAX)

struct store {
    MDB_env *env;
    char *path; /* for messages; owned */
    MDB_dbi tables[STORE_TABLES];
    enum store_access access;
    bool is_new;     /* there was no file */
    bool has_checks; /* behind every value (store_value.c) */
    uint64_t map_size;
    bool full;             /* set by a failure, read by grow_if_full */
    bool unmapped;         /* growing failed: LMDB has no map any more */
    bool extended;         /* the file is longer than what is used */
    atomic_uint open_txns; /* of any thread; the map must not move */
    uint64_t relaxed_size; /* map_size for which the next holds */
    struct store_mapping mapping;
};

struct store_txn {
    struct store *store;
    MDB_txn *txn;
    size_t unrelaxed; /* bytes of map seen by get since the last relax */
};

static inline MDB_val store_val(struct bytes b)
{
    /* LMDB's type is not const; it does not write through it. */
    return (MDB_val){ .mv_size = b.len, .mv_data = (void *)(uintptr_t)b.data };
}

static inline struct bytes store_bytes(MDB_val v)
{
    return bytes_of(v.mv_data, v.mv_size);
}

/* The store whose pages this thread follows, or NULL (store_fault.c): told
 * around every call of LMDB that does so. */
extern _Thread_local struct store *volatile store_at_work;
static inline void store_enter(struct store *s)
{
    store_at_work = s;
}
static inline void store_leave(void)
{
    store_at_work = NULL;
}
/* Has the store's assertions told. An LMDB code. */
int store_watch(struct store *s);

/* How long a value is with its check; puts the two into room of that length.
 */
size_t store_value_size(const struct store *s, struct bytes value);
void store_value_put(const struct store *s, struct bytes key,
                     struct bytes value, MDB_val room);
/* The value without its check, which is looked at. */
enum df_status store_value_get(struct store *s, struct bytes key,
                               MDB_val stored, struct bytes *value,
                               struct df_error *err);

/* Tells which of our statuses an LMDB code is, and fills the message. */
enum df_status store_fail(struct store *s, int code, const char *doing,
                          struct df_error *err);

#endif
