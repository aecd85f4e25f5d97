/*
 * kept_view.h: a view under test, and everything that must hold of any view
 * at any time.
 *
 *     kept_open(&k, root, "name", job, given, n, shards);
 *     k.options.threads = 2;                   as the engine takes them
 *       assert_int_equal(kept_run(&k, path), DF_OK);
 *       kept_rows(&k, &rows);
 *     kept_close(&k);
 *
 * Each call opens the view and closes it again, as the commands do. Where it
 * says so a failure is the caller's to judge, with its text in k.err; all
 * else fails the running cmocka test.
 */
#ifndef TESTS_KEPT_VIEW_H
#define TESTS_KEPT_VIEW_H

#include "history.h"
#include "runtime/engine.h"
#include "wordcount_oracle.h"

enum { KEPT_OUTCOMES = ENGINE_NOT_READY + 1 };

struct kept_view {
    char path[INPUT_TREE_PATH];
    struct jobspec job;
    struct engine_options options;

    /* Of the last run. */
    unsigned outcomes[KEPT_OUTCOMES];     /* how many batches had each */
    struct ledger_entry applied;          /* the last; without its strings */
    char quarantine[INPUT_TREE_PATH];     /* of the last that had one */
    char remark[sizeof(struct df_error)]; /* the last that there was */
    struct df_error err;

    void (*reported)(void *ctx); /* after each batch; may be NULL */
    void *reported_ctx;
};

void kept_open(struct kept_view *k, const char *root, const char *name,
               const struct df_job *job, const char *const *given, size_t n,
               unsigned shards);
/* For a view that is there already. */
void kept_attach(struct kept_view *k, const char *root, const char *name,
                 const struct df_job *job, const char *const *given, size_t n);
/* The files stay. */
void kept_close(struct kept_view *k);

/* Applies a batch or a directory of them. */
enum df_status kept_run(struct kept_view *k, const char *path);
enum df_status kept_rebuild(struct kept_view *k, const char *documents,
                            const char *as_of, unsigned shards);
/* Takes a batch out, or (redo) puts it back. */
enum df_status kept_undo(struct kept_view *k, const char *batch, bool redo);
void kept_keep(struct kept_view *k, uint64_t entries);
/* Where the documents lie that a batch leaves. */
void kept_base(struct kept_view *k, const char *directory);
/* Compares; shows the first difference, if it is not expected. */
enum df_status kept_verify(struct kept_view *k, const char *directory,
                           bool deltas);

/* Fails the running test, with the view's message, unless it is DF_OK. */
void kept_must(enum df_status status, const struct kept_view *k);

/* Folds what was deferred. */
void kept_compact(struct kept_view *k);

struct snapshot_state kept_state(const struct kept_view *k);

/* All rows in order, as bytes of a form of our own; out is reset. Checks
 * what holds of every view:
 *   - rows are in byte order of (key, element), none is all zeros, there are
 *     as many as the view says, where it knows, and each is found by its
 *     key;
 *   - the digest is the sum over them;
 *   - the ledger's entries are numbered without a gap, each one's digest
 *     before is that of the one before, and the last one's after, and its
 *     number of rows, are the view's. */
void kept_rows(const struct kept_view *k, struct buf *out);

/* The rows as they were after entry seq, in that form; their number and
 * digest are checked. */
enum df_status kept_rows_at(struct kept_view *k, uint64_t seq,
                            struct buf *out);
/* The earliest entry for which that works. */
uint64_t kept_reach(const struct kept_view *k);

/* The first component of a key's row; 0 where there is none. */
int64_t kept_count(const struct kept_view *k, const char *key);

/* Nothing is left of any row, not even in the tables of the store once what
 * was deferred is folded. */
void kept_check_empty(struct kept_view *k);

/* What differs between runs and must not, of all entries; out is reset. With
 * rows, what the methods that see them say of them. */
void kept_ledger(const struct kept_view *k, bool rows, struct buf *out);

/* ---- what the rows should be: the form of kept_rows ---- */

/* By the job itself, one document in one piece after the other. */
void expected_by_job(const struct jobspec *job, const struct history *h,
                     struct buf *out);
/* By the oracle of word count. */
void expected_by_oracle(const struct oracle_rule *rule,
                        const struct history *h, struct buf *out);

/* Shows where they part. */
void assert_same_rows(const struct buf *expected, const struct buf *found);

#endif
