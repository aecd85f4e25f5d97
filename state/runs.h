/*
 * runs.h: stored runs, what single batches amounted to, in a shard's store.
 *
 *   RUNS   number (64-bit), block (32-bit)  -> rows (run_block.h)
 *   RUNS   number, ffffffff                 -> first heads of the blocks
 *   KEPT   number                           -> struct kept_run
 *
 * A run is in head order, in blocks of a few pages that each stand alone, so
 * that storing one is little more than copying it, a head is found by halving
 * the blocks, and dropping one touches no row. Runs are numbered as their
 * batches are in the ledger. One whose number is above the shard's last batch
 * was not decided: the next writer removes it. Those that were merged from
 * others (compact.h) have numbers of their own, from RUNS_MERGED on, and so
 * have those that lie in shard 0 for another shard, from RUNS_INBOX on
 * (inbox.h).
 *
 * A run is stored because history wants it (kept), because it is not folded
 * into the rows yet (overlay.h), or for both; it goes when neither holds.
 *
 * What the rows of a view are made of is an equation:
 *
 *     rows = base + sum over kept runs of times * run
 *
 * times is 1 for a run that the rows hold and 0 for one that was undone, has
 * left a window or is not published yet. It is moved by the effects of ledger
 * entries (ledger.h) and nothing else, in the transaction that moves the
 * rows.
 */
#ifndef STATE_RUNS_H
#define STATE_RUNS_H

#include <signal.h>

#include "state/ledger.h"
#include "state/run.h"
#include "state/store.h"

/* What a shard knows of a run without reading it. */
struct kept_run {
    uint64_t seq;
    uint64_t rows;
    uint64_t bytes;  /* of heads, tails and values, at most; as
                        install_shard.bytes_bound counts them */
    uint64_t stored; /* of the blocks */
    uint32_t blocks;
    int64_t times;
    uint64_t magnitude; /* of the greatest number (row_values_magnitude) */
    struct hash128 digest;
    bool kept;   /* for history */
    bool lowers; /* some first component is negative; not stored, but set by
                    runs_put */
};

/* Numbers from here on are of merged runs, ... */
#define RUNS_MERGED ((uint64_t)1 << 63)
/* ... and from here to there of runs in the inbox. */
#define RUNS_INBOX ((uint64_t)1 << 62)

static inline bool runs_is_in_inbox(uint64_t number)
{
    return number >= RUNS_INBOX && number < RUNS_MERGED;
}

/*
 * Stores a run under number seq, in transactions of about `chunk` bytes. The
 * last one is left open in *t, for the caller to go on in, commit or abort;
 * *t is NULL after a failure. Before, it is NULL or a transaction to go on in.
 * What earlier ones hold is undecided.
 */
struct runs_put {
    struct row_shape shape;
    uint64_t seq;
    struct run_source *run; /* rewound */
    size_t chunk;
    bool keep;                         /* for history */
    const volatile sig_atomic_t *stop; /* NULL for none */
};
enum df_status runs_put(const struct runs_put *put, struct store *s,
                        struct store_txn **t, struct kept_run *kept,
                        struct df_error *err) DF_MUST_CHECK;

/* A kept run as a source that can seek. `copy`: blocks are copied out of the
 * transaction before they are read, for one that is being written to. */
enum df_status runs_open(struct run_source **run, struct store_txn *t,
                         unsigned components, uint64_t seq, bool copy,
                         struct df_error *err) DF_MUST_CHECK;
void runs_close(struct run_source *run); /* takes NULL */
/* The row of that head in a run opened by runs_open; NULL where there is
 * none, which the filters tell in most cases. */
enum df_status runs_find(struct run_source *run, struct bytes head,
                         const struct row **row,
                         struct df_error *err) DF_MUST_CHECK;

/* *found: whether run seq is stored, kept or not. */
enum df_status runs_get(struct store_txn *t, uint64_t seq,
                        struct kept_run *kept, bool *found,
                        struct df_error *err) DF_MUST_CHECK;
/* The first run after number seq that is kept. */
enum df_status runs_after(struct store_txn *t, uint64_t seq,
                          struct kept_run *kept, bool *found,
                          struct df_error *err) DF_MUST_CHECK;

/* The number for a run that is merged next. */
enum df_status runs_next_merged(struct store_txn *t, uint64_t *number,
                                struct df_error *err) DF_MUST_CHECK;

enum df_status runs_drop(struct store_txn *t, uint64_t seq,
                         struct df_error *err) DF_MUST_CHECK;
/* Drops all runs of batches after number seq; *any tells whether there were
 * some. */
enum df_status runs_drop_after(struct store_txn *t, uint64_t seq, bool *any,
                               struct df_error *err) DF_MUST_CHECK;
enum df_status runs_any_in_inbox(struct store_txn *t, bool *any,
                                 struct df_error *err) DF_MUST_CHECK;
/* Drops all runs in the inbox. */
enum df_status runs_drop_inbox(struct store_txn *t,
                               struct df_error *err) DF_MUST_CHECK;
/* Drops the merged runs that nobody uses; *any is set where there are some. */
enum df_status runs_drop_merged(struct store_txn *t,
                                bool (*is_used)(const void *ctx, uint64_t run),
                                const void *ctx, bool *any,
                                struct df_error *err) DF_MUST_CHECK;
/* History does not want a run any more: it goes, unless it is used. */
enum df_status runs_let_go(struct store_txn *t, uint64_t seq, bool used,
                           struct df_error *err) DF_MUST_CHECK;

/* The view holds a run once more, or once less. */
enum df_status runs_move(struct store_txn *t, struct ledger_effect effect,
                         struct df_error *err) DF_MUST_CHECK;

/*
 * Runs added up, and rows with them where they are given:
 *
 *     runs_sum_open(&sum, &from, terms, n, err);
 *     ... sum.run ...
 *     runs_sum_close(&sum);                 safe on zeroed memory
 */
struct runs_term {
    uint64_t seq;
    bool minus;
};
struct runs_from {
    struct row_shape shape;
    struct store_txn *t;     /* where runs are read ... */
    struct store_txn *inbox; /* ... and where those in the inbox are */
    struct store_txn *own_t; /* where run `own` is read; it is written to */
    uint64_t own;            /* 0: none */
    struct run_source *rows; /* rows or a run, added as it is; NULL: none */
};
struct runs_sum {
    struct run_source *run;
    struct kept_run all;         /* rows, bytes, magnitude: bounds;
                                    digest: exact; of the runs */
    struct run_source **sources; /* of the runs; those behind the rows */
    size_t count;
};
enum df_status runs_sum_open(struct runs_sum *sum,
                             const struct runs_from *from,
                             const struct runs_term *terms, size_t n,
                             struct df_error *err) DF_MUST_CHECK;
void runs_sum_close(struct runs_sum *sum);

#endif
