/*
 * store.h: one LMDB environment with the tables a shard needs; store.c and
 * those that share store_internal.h with it are the only users of lmdb.h.
 *
 *     store_open(&s, path, STORE_WRITE, err);
 *     do {
 *         store_begin(&t, s, STORE_WRITE, err);
 *         ... store_put(t, ...), cursors ...
 *         status = store_commit(t, err);          or store_abort(t)
 *     } while (status != DF_OK && store_grow_if_full(s, &status, err));
 *     store_close(s);
 *
 * The map has no size that a user must know: a put or commit that finds it
 * full fails with DF_SYSTEM, and store_grow_if_full, called with no
 * transaction open, makes it larger and says that the transaction is to be
 * done again. A failed put poisons its transaction: only abort is left.
 *
 * Every value lies there with a check of it and its key, but in files made
 * before there were checks. One that is not as it was written is DF_STATE
 * wherever it is read, and so is a key that is looked for and is not there
 * because it is damaged. What is put must not lie in a page of the same store:
 * key and value are read when LMDB has made room.
 *
 * Threads: a write transaction belongs to the thread that began it; read
 * transactions may move. At most one environment per file and process.
 * Bytes that get and cursors return point into the map (or a dirty page) and
 * hold until the next write or the end of the transaction; they are not
 * aligned.
 */
#ifndef STATE_STORE_H
#define STATE_STORE_H

#include "base/bytes.h"
#include "base/error.h"

enum { STORE_CHECK = 4 }; /* bytes of a check */

/* What is said of a file, a row, a record that is not as it was written. */
#define STORE_DAMAGED                                                         \
    "is damaged: restore the view from a copy, or make it anew"

enum store_access { STORE_READ, STORE_WRITE };

/* Rows live in one of two tables; which one is in META. The other is empty,
 * but while an overwrite fills it. RUNS and KEPT hold what runs.h says. The
 * last four are used in shard 0. A file made before there were RUNS and KEPT
 * gets them from its next writer; to readers they are empty till then. */
enum store_table {
    STORE_META,
    STORE_ROWS_0,
    STORE_ROWS_1,
    STORE_RUNS,
    STORE_KEPT,
    STORE_LEDGER,
    STORE_FILES,
    STORE_NAMES,
    STORE_DIGESTS,
    STORE_TABLES
};

struct store;
struct store_txn;
struct store_cursor;

/* STORE_WRITE makes the file where there is none. A file that is not a
 * store, or is shorter than it says, is DF_STATE. ENOENT of STORE_READ is
 * DF_STATE too, with *missing set (missing may be NULL). */
enum df_status store_open(struct store **out, const char *path,
                          enum store_access access, bool *missing,
                          struct df_error *err) DF_MUST_CHECK;
void store_close(struct store *s); /* takes NULL; no transaction open */

/*
 * Has a program told where a damaged page leads LMDB astray: `f` is called
 * with the store's path, maybe in a signal handler and by several threads. If
 * it returns, the process ends by the signal. It is called once, when the
 * program begins, and takes SIGSEGV and SIGBUS over for as long as a store is
 * read or written.
 */
typedef void store_told(const char *path);
void store_on_damage(store_told *f);

bool store_has_checks(const struct store *s);

/* Whether no transaction is open. */
bool store_is_idle(const struct store *s);

/* Makes the map at least this large ahead of a large transaction. */
enum df_status store_reserve(struct store *s, uint64_t more_bytes,
                             struct df_error *err) DF_MUST_CHECK;
bool store_grow_if_full(struct store *s, enum df_status *status,
                        struct df_error *err);
/* For tests: the first map's size and the step of growth; 0: default. */
void store_set_map_step(uint64_t bytes);
/* For tests: files that are made from now on are as they were before there
 * were checks, or are as usual. */
void store_set_checks(bool as_usual);

/* A step of ours beside LMDB: forgets which pages of the file this process
 * has mapped in, so that a scan of a large store does not count as memory.
 * Cursors do it by themselves. */
void store_relax(struct store *s);

enum df_status store_begin(struct store_txn **out, struct store *s,
                           enum store_access access,
                           struct df_error *err) DF_MUST_CHECK;
enum df_status store_commit(struct store_txn *t,
                            struct df_error *err) DF_MUST_CHECK;
void store_abort(struct store_txn *t); /* takes NULL */

struct store_size {
    uint64_t entries;
    uint64_t leaf_pages;
    uint64_t other_pages;
    uint32_t page_size;
};
enum df_status store_table_size(struct store_txn *t, enum store_table table,
                                struct store_size *size,
                                struct df_error *err) DF_MUST_CHECK;

enum df_status store_get(struct store_txn *t, enum store_table table,
                         struct bytes key, struct bytes *value, bool *found,
                         struct df_error *err) DF_MUST_CHECK;
enum df_status store_put(struct store_txn *t, enum store_table table,
                         struct bytes key, struct bytes value,
                         struct df_error *err) DF_MUST_CHECK;
/* The key must come after all that are there. */
enum df_status store_append(struct store_txn *t, enum store_table table,
                            struct bytes key, struct bytes value,
                            struct df_error *err) DF_MUST_CHECK;
enum df_status store_empty(struct store_txn *t, enum store_table table,
                           struct df_error *err) DF_MUST_CHECK;

/*
 * Cursors. A write transaction's are closed before it ends. seek finds the
 * key itself; seek_range the first key not before it. At the end *found is
 * false. insert replaces what is there; remove acts on the entry that was
 * found last.
 */
enum df_status store_cursor_open(struct store_cursor **out,
                                 struct store_txn *t, enum store_table table,
                                 struct df_error *err) DF_MUST_CHECK;
void store_cursor_close(struct store_cursor *c); /* takes NULL */
enum df_status store_cursor_seek(struct store_cursor *c, struct bytes key,
                                 struct bytes *value, bool *found,
                                 struct df_error *err) DF_MUST_CHECK;
enum df_status store_cursor_seek_range(struct store_cursor *c,
                                       struct bytes key,
                                       struct bytes *found_key,
                                       struct bytes *value, bool *found,
                                       struct df_error *err) DF_MUST_CHECK;
enum df_status store_cursor_next(struct store_cursor *c, struct bytes *key,
                                 struct bytes *value, bool *found,
                                 struct df_error *err) DF_MUST_CHECK;
enum df_status store_cursor_prev(struct store_cursor *c, struct bytes *key,
                                 struct bytes *value, bool *found,
                                 struct df_error *err) DF_MUST_CHECK;
/* The first key behind `key`, which is in the table. */
enum df_status store_cursor_after(struct store_cursor *c, struct bytes key,
                                  struct bytes *found_key, struct bytes *value,
                                  bool *found,
                                  struct df_error *err) DF_MUST_CHECK;
enum df_status store_cursor_last(struct store_cursor *c, struct bytes *key,
                                 struct bytes *value, bool *found,
                                 struct df_error *err) DF_MUST_CHECK;
enum df_status store_cursor_insert(struct store_cursor *c, struct bytes key,
                                   struct bytes value,
                                   struct df_error *err) DF_MUST_CHECK;
enum df_status store_cursor_append(struct store_cursor *c, struct bytes key,
                                   struct bytes value,
                                   struct df_error *err) DF_MUST_CHECK;
enum df_status store_cursor_remove(struct store_cursor *c,
                                   struct df_error *err) DF_MUST_CHECK;

#endif
