/*
 * LMDB, and what it wants of its users:
 *
 * - a map size in advance: store_open takes twice the file, failures with
 *   MDB_MAP_FULL are noted in the store and store_grow_if_full doubles it
 *   between transactions. The map is address space, not memory or disk;
 * - another process may have grown the file: MDB_MAP_RESIZED at begin adopts
 *   its size;
 * - pages read through the map count as this process's memory though they
 *   are the system's cache. store_relax gives the mappings back, get and
 *   cursors call it every STORE_RELAX_BYTES: a view may be many times the
 *   memory budget. Dirty pages are heap, not map, and are never touched by
 *   it;
 * - a file shorter than its header says would be a SIGBUS when read: its
 *   length is checked when it is opened. LMDB itself leaves such files: pages
 *   at the end that a transaction took and gave back are never written.
 *   Therefore a writer makes the file as long as its map, a hole that takes
 *   no space, before it begins, and cuts it to what is used when it closes.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "state/store_internal.h"

enum {
    MODE = 0666,          /* less the umask */
    FULL_BELOW = 1 << 20, /* bytes free on a disk that is called full */
    READERS_MAX = 1022,   /* processes reading at once, 64 bytes each */
    LOCK_BYTES = 64 << 10 /* of the file with the readers' slots */
};

#define MAP_STEP_DEFAULT ((uint64_t)64 << 20)

static const char *const table_names[STORE_TABLES] = {
    [STORE_META] = "meta",       [STORE_ROWS_0] = "rows0",
    [STORE_ROWS_1] = "rows1",    [STORE_RUNS] = "runs",
    [STORE_KEPT] = "kept",       [STORE_LEDGER] = "ledger",
    [STORE_FILES] = "files",     [STORE_NAMES] = "names",
    [STORE_DIGESTS] = "digests",
};

/* An empty table: values have checks (store_value.c). */
#define CHECKS "checks"

static uint64_t map_step = MAP_STEP_DEFAULT;

void store_set_map_step(uint64_t bytes)
{
    map_step = bytes == 0 ? MAP_STEP_DEFAULT : bytes;
}

static bool makes_checks = true;

void store_set_checks(bool as_usual)
{
    makes_checks = as_usual;
}

/* LMDB calls a write that came out short an I/O error; as a rule the disk is
 * full then. */
static const char *reason(const struct store *s, int code)
{
    struct statvfs fs;

    if (code == EIO && statvfs(s->path, &fs) == 0 &&
        (uint64_t)fs.f_bavail * fs.f_frsize < FULL_BELOW) {
        return mdb_strerror(ENOSPC);
    }
    return mdb_strerror(code);
}

enum df_status store_fail(struct store *s, int code, const char *doing,
                          struct df_error *err)
{
    switch (code) {
    case MDB_MAP_FULL:
        s->full = true;
        return error_set(err, DF_SYSTEM, "%s: map full", s->path);
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case MDB_VERSION_MISMATCH:
    case MDB_INCOMPATIBLE:
    case MDB_NOTFOUND:
    /* Where these are not our own fault, pages are not as they were written.
     */
    case MDB_KEYEXIST:
    case MDB_CURSOR_FULL:
    case MDB_PAGE_FULL:
    case MDB_BAD_TXN:
        return error_set(err, DF_STATE,
                         "%s: cannot %s: %s: restore the view from a copy, "
                         "or make it anew",
                         s->path, doing, mdb_strerror(code));
    case MDB_MAP_RESIZED:
        return error_set(err, DF_STATE,
                         "%s: has grown while this process reads it: close "
                         "what is open and try again",
                         s->path);
    case ENOMEM:
        return error_no_memory(err);
    case EACCES:
        return error_set(err, DF_SYSTEM,
                         "%s: cannot %s: %s: readers, too, must be able to "
                         "write %s-lock",
                         s->path, doing, mdb_strerror(code), s->path);
    default:
        return error_set(err, code == ENOENT ? DF_STATE : DF_SYSTEM,
                         "%s: cannot %s: %s", s->path, doing, reason(s, code));
    }
}

/* Bytes from the file's begin to the end of the last page in use. */
static enum df_status used_bytes(struct store *s, uint64_t *used,
                                 struct df_error *err)
{
    MDB_envinfo info;
    MDB_stat sizes;
    int code = s->unmapped ? ENOMEM : mdb_env_info(s->env, &info);

    if (code == 0) {
        code = mdb_env_stat(s->env, &sizes);
    }
    if (code != 0) {
        return store_fail(s, code, "read", err);
    }
    *used = ((uint64_t)info.me_last_pgno + 1) * sizes.ms_psize;
    s->map_size = info.me_mapsize;
    return DF_OK;
}

/* A file cut short is a signal when its lost pages are touched: refuse it
 * while that can be said in words. The file may grow meanwhile: what is used
 * is asked for first. */
static enum df_status check_length(struct store *s, struct df_error *err)
{
    mdb_filehandle_t fd;
    struct stat st;
    uint64_t used = 0;
    enum df_status status = used_bytes(s, &used, err);

    if (status != DF_OK) {
        return status;
    }
    (void)mdb_env_get_fd(s->env, &fd);
    if (fstat(fd, &st) != 0) {
        return error_errno(err, errno, "%s", s->path);
    }
    return (uint64_t)st.st_size >= used
               ? DF_OK
               : error_set(err, DF_STATE,
                           "%s: cut short: restore the view from a copy, or "
                           "make it anew",
                           s->path);
}

/* Makes a writer's file as long as its map. */
static enum df_status extend_file(struct store *s, struct df_error *err)
{
    mdb_filehandle_t fd;
    struct stat st;

    if (s->access == STORE_READ) {
        return DF_OK;
    }
    (void)mdb_env_get_fd(s->env, &fd);
    if (fstat(fd, &st) != 0) {
        return error_errno(err, errno, "%s", s->path);
    }
    s->extended = true;
    if ((uint64_t)st.st_size < s->map_size &&
        ftruncate(fd, (off_t)s->map_size) != 0) {
        return error_errno(err, errno, "%s: cannot make longer", s->path);
    }
    return DF_OK;
}

/* The opposite, within a write transaction, so that nobody else is about to
 * use what is cut off. Should it fail, the file has a hole at its end. */
static void trim_file(struct store *s)
{
    struct df_error ignored;
    mdb_filehandle_t fd;
    MDB_txn *txn;
    uint64_t used = 0;

    if (mdb_txn_begin(s->env, NULL, 0, &txn) != 0) {
        return;
    }
    (void)mdb_env_get_fd(s->env, &fd);
    if (used_bytes(s, &used, &ignored) == DF_OK) {
        int cut = ftruncate(fd, (off_t)used);

        (void)cut;
    }
    mdb_txn_abort(txn);
}

static enum df_status set_map_size(struct store *s, uint64_t size,
                                   struct df_error *err)
{
    int code;

    /* What they point to would be gone. */
    assert(s->open_txns == 0);
    code = s->unmapped ? ENOMEM : mdb_env_set_mapsize(s->env, size);
    if (code != 0) {
        s->unmapped = true;
        return store_fail(s, code, "grow the map", err);
    }
    s->map_size = size;
    return extend_file(s, err);
}

/* Begins a transaction. When another process has grown the file beyond our
 * map, its size is adopted, but never under an open transaction. */
static int begin(struct store *s, unsigned flags, MDB_txn **txn)
{
    int code = s->unmapped ? ENOMEM : mdb_txn_begin(s->env, NULL, flags, txn);

    while (code == MDB_MAP_RESIZED && s->open_txns == 0) {
        MDB_envinfo info;

        code = mdb_env_set_mapsize(s->env, 0);
        if (code != 0) {
            s->unmapped = true;
            return code;
        }
        if (mdb_env_info(s->env, &info) == 0) {
            s->map_size = info.me_mapsize;
        }
        code = mdb_txn_begin(s->env, NULL, flags, txn);
    }
    return code;
}

/* What a file made before there were such tables may lack. */
static bool may_lack(const struct store *s, unsigned table)
{
    return !s->has_checks && (table == STORE_RUNS || table == STORE_KEPT);
}

/* Opens a table, or makes it where there cannot have been one: one that is not
 * found otherwise was there, and its name is damaged. */
static int open_table(struct store *s, MDB_txn *txn, unsigned table)
{
    bool makes = s->is_new || (s->access == STORE_WRITE && may_lack(s, table));
    int code = mdb_dbi_open(txn, table_names[table], makes ? MDB_CREATE : 0,
                            &s->tables[table]);

    if (code == MDB_NOTFOUND && may_lack(s, table)) {
        s->tables[table] = STORE_NO_TABLE;
        code = 0;
    }
    return code;
}

/* Whether values have checks: those of a file that is made now do. */
static int look_for_checks(struct store *s, MDB_txn *txn)
{
    MDB_dbi dbi;
    int code = mdb_dbi_open(txn, CHECKS,
                            s->is_new && makes_checks ? MDB_CREATE : 0, &dbi);

    s->has_checks = code == 0;
    return code == MDB_NOTFOUND ? 0 : code;
}

/* Opens all tables once; handles are good for the environment's life. */
static enum df_status open_tables(struct store *s, struct df_error *err)
{
    MDB_txn *txn = NULL;
    int code;

    store_enter(s);
    code = begin(s, s->access == STORE_WRITE ? 0 : MDB_RDONLY, &txn);
    if (code == 0) {
        code = look_for_checks(s, txn);
    }
    for (unsigned i = 0; code == 0 && i < STORE_TABLES; i++) {
        code = open_table(s, txn, i);
    }
    if (code != 0) {
        mdb_txn_abort(txn);
    } else {
        /* An unchanged write transaction writes nothing. */
        code = mdb_txn_commit(txn);
    }
    store_leave();
    return code == 0 ? DF_OK : store_fail(s, code, "open", err);
}

bool store_has_checks(const struct store *s)
{
    return s->has_checks;
}

/* Twice what is used, in whole steps. */
static uint64_t roomy(uint64_t used)
{
    return (2 * used / map_step + 1) * map_step;
}

/* LMDB makes the file with the readers' slots as a hole and maps it. */
static enum df_status allocate_lock_file(struct store *s, struct df_error *err)
{
    struct buf path = { 0 };
    enum df_status status =
        buf_printf(&path, "%s-lock", s->path) && buf_append_byte(&path, 0)
            ? DF_OK
            : error_no_memory(err);

    if (status == DF_OK) {
        status = store_file_allocate((const char *)path.data, LOCK_BYTES, MODE,
                                     err);
    }
    buf_fini(&path);
    return status;
}

static enum df_status open_env(struct store *s, struct df_error *err)
{
    unsigned flags = MDB_NOSUBDIR | MDB_NOTLS;
    int code = mdb_env_create(&s->env);

    if (code != 0) {
        return store_fail(s, code, "open", err);
    }
    code = mdb_env_set_maxdbs(s->env, STORE_TABLES + 1);
    if (code == 0) {
        code = mdb_env_set_maxreaders(s->env, READERS_MAX);
    }
    if (code == 0 && s->access == STORE_WRITE) {
        code = mdb_env_set_mapsize(s->env, map_step);
    }
    if (code == 0) {
        code = store_watch(s);
    }
    if (code == 0) {
        flags |= s->access == STORE_READ ? MDB_RDONLY : 0;
        store_enter(s);
        code = mdb_env_open(s->env, s->path, flags, MODE);
        store_leave();
    }
    return code == 0 ? DF_OK : store_fail(s, code, "open", err);
}

/* What a writer does first: gives itself room, and clears the slots of
 * readers that died, for they would keep pages. */
static enum df_status make_room(struct store *s, struct df_error *err)
{
    uint64_t used = 0;
    int dead;
    enum df_status status = used_bytes(s, &used, err);

    (void)mdb_reader_check(s->env, &dead);
    return status == DF_OK ? set_map_size(s, roomy(used), err) : status;
}

static enum df_status open_all(struct store *s, bool *missing,
                               struct df_error *err)
{
    enum df_status status = store_file_check(s->path, missing, err);

    if (*missing && s->access == STORE_WRITE) {
        s->is_new = true;
        status = DF_OK;
    }
    if (status != DF_OK) {
        return status;
    }
    status = allocate_lock_file(s, err);
    if (status == DF_OK) {
        status = open_env(s, err);
    }
    if (status == DF_OK) {
        status = check_length(s, err);
    }
    if (status == DF_OK && s->access == STORE_WRITE) {
        status = make_room(s, err);
    }
    if (status != DF_OK) {
        return status;
    }
    do {
        status = open_tables(s, err);
    } while (status != DF_OK && store_grow_if_full(s, &status, err));
    return status;
}

enum df_status store_open(struct store **out, const char *path,
                          enum store_access access, bool *missing,
                          struct df_error *err)
{
    struct store *s = calloc(1, sizeof *s);
    bool not_there = false;
    enum df_status status;

    *out = NULL;
    if (s == NULL || (s->path = strdup(path)) == NULL) {
        free(s);
        return error_no_memory(err);
    }
    s->access = access;
    status = open_all(s, &not_there, err);
    if (missing != NULL) {
        /* It may also have gone meanwhile. */
        *missing =
            status != DF_OK && (not_there || store_file_is_missing(path));
    }
    if (status != DF_OK) {
        store_close(s);
        return status;
    }
    *out = s;
    return DF_OK;
}

void store_close(struct store *s)
{
    if (s == NULL) {
        return;
    }
    assert(s->open_txns == 0);
    if (s->extended && !s->unmapped) {
        trim_file(s);
    }
    if (s->env != NULL) {
        mdb_env_close(s->env);
    }
    free(s->path);
    free(s);
}

bool store_is_idle(const struct store *s)
{
    return s->open_txns == 0;
}

enum df_status store_reserve(struct store *s, uint64_t more_bytes,
                             struct df_error *err)
{
    uint64_t used = 0;
    enum df_status status = used_bytes(s, &used, err);

    if (status != DF_OK || used + more_bytes <= s->map_size) {
        return status;
    }
    return set_map_size(s, ((used + more_bytes) / map_step + 1) * map_step,
                        err);
}

bool store_grow_if_full(struct store *s, enum df_status *status,
                        struct df_error *err)
{
    uint64_t more = s->map_size > map_step ? s->map_size : map_step;

    if (!s->full) {
        return false;
    }
    s->full = false;
    *status = set_map_size(s, s->map_size + more, err);
    return *status == DF_OK;
}

void store_relax(struct store *s)
{
    if (s->relaxed_size != s->map_size) {
        mdb_filehandle_t fd;

        (void)mdb_env_get_fd(s->env, &fd);
        s->relaxed_size = s->map_size;
        s->mapping = store_file_mapping(fd);
    }
    store_file_relax(s->mapping);
}

enum df_status store_begin(struct store_txn **out, struct store *s,
                           enum store_access access, struct df_error *err)
{
    unsigned flags = access == STORE_READ ? MDB_RDONLY : 0;
    struct store_txn *t = calloc(1, sizeof *t);
    int code;

    *out = NULL;
    if (t == NULL) {
        return error_no_memory(err);
    }
    t->store = s;
    store_enter(s);
    code = begin(s, flags, &t->txn);
    store_leave();
    if (code != 0) {
        free(t);
        return store_fail(s, code, "begin", err);
    }
    s->open_txns++;
    *out = t;
    return DF_OK;
}

enum df_status store_commit(struct store_txn *t, struct df_error *err)
{
    struct store *s = t->store;
    int code;

    store_enter(s);
    code = mdb_txn_commit(t->txn);
    store_leave();
    s->open_txns--;
    free(t);
    return code == 0 ? DF_OK : store_fail(s, code, "commit", err);
}

void store_abort(struct store_txn *t)
{
    if (t != NULL) {
        mdb_txn_abort(t->txn);
        t->store->open_txns--;
        free(t);
    }
}

enum df_status store_table_size(struct store_txn *t, enum store_table table,
                                struct store_size *size, struct df_error *err)
{
    MDB_stat st;
    int code;

    store_enter(t->store);
    code = mdb_stat(t->txn, t->store->tables[table], &st);
    store_leave();
    if (code != 0) {
        return store_fail(t->store, code, "read", err);
    }
    *size = (struct store_size){
        .entries = st.ms_entries,
        .leaf_pages = st.ms_leaf_pages,
        .other_pages = st.ms_branch_pages + st.ms_overflow_pages,
        .page_size = st.ms_psize,
    };
    return DF_OK;
}

enum df_status store_empty(struct store_txn *t, enum store_table table,
                           struct df_error *err)
{
    int code;

    store_enter(t->store);
    code = mdb_drop(t->txn, t->store->tables[table], 0);
    store_leave();
    return code == 0 ? DF_OK
                     : store_fail(t->store, code, "empty a table", err);
}
