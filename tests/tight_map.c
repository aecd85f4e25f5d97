#include "tight_map.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lmdb.h>

static unsigned share = 1;
static struct tight_map_met met; /* counted by any thread */

/* The function of liblmdb that ours hides. */
static void real(const char *name, void *function, size_t size)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (found == NULL) {
        abort();
    }
    memcpy(function, &found, size);
}

/* What is in use and a share of what is asked for beyond; one page before
 * it is opened, which LMDB raises to what is in use. */
static size_t granted(MDB_env *env, size_t size)
{
    MDB_envinfo info;
    MDB_stat sizes;
    mdb_filehandle_t fd;
    size_t pages;

    if (mdb_env_get_fd(env, &fd) != 0 || fd < 0) {
        return (size_t)sysconf(_SC_PAGESIZE);
    }
    if (mdb_env_info(env, &info) != 0 || mdb_env_stat(env, &sizes) != 0) {
        abort();
    }
    pages = info.me_last_pgno + 2 + size / sizes.ms_psize / share;
    return pages * sizes.ms_psize < size ? pages * sizes.ms_psize : size;
}

int mdb_env_set_mapsize(MDB_env *env, size_t size)
{
    int (*next)(MDB_env *, size_t);

    real("mdb_env_set_mapsize", &next, sizeof next);
    return next(env, share == 1 || size == 0 ? size : granted(env, size));
}

int mdb_cursor_put(MDB_cursor *cursor, MDB_val *key, MDB_val *data,
                   unsigned flags)
{
    int (*next)(MDB_cursor *, MDB_val *, MDB_val *, unsigned);
    int code;

    real("mdb_cursor_put", &next, sizeof next);
    code = next(cursor, key, data, flags);
    if (code == MDB_MAP_FULL) {
        __atomic_add_fetch(&met.puts, 1, __ATOMIC_RELAXED);
    }
    return code;
}

int mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *data,
            unsigned flags)
{
    int (*next)(MDB_txn *, MDB_dbi, MDB_val *, MDB_val *, unsigned);
    int code;

    real("mdb_put", &next, sizeof next);
    code = next(txn, dbi, key, data, flags);
    if (code == MDB_MAP_FULL) {
        __atomic_add_fetch(&met.puts, 1, __ATOMIC_RELAXED);
    }
    return code;
}

int mdb_txn_commit(MDB_txn *txn)
{
    int (*next)(MDB_txn *);
    int code;

    real("mdb_txn_commit", &next, sizeof next);
    code = next(txn);
    if (code == MDB_MAP_FULL) {
        __atomic_add_fetch(&met.commits, 1, __ATOMIC_RELAXED);
    }
    return code;
}

void tight_map_begin(unsigned one_in)
{
    share = one_in;
    met = (struct tight_map_met){ 0 };
}

struct tight_map_met tight_map_end(void)
{
    share = 1;
    return met;
}
