/*
 * store_internal.h: struct store and LMDB, shared by store.c and
 * store_cursor.c, the only ones that may include this and, by it, lmdb.h.
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

/* Tells which of our statuses an LMDB code is, and fills the message. */
enum df_status store_fail(struct store *s, int code, const char *doing,
                          struct df_error *err);

#endif
