/*
 * fold.h: a run merged into the rows of one shard.
 *
 * Two ways to the same rows: fold_increment seeks each row of the run in the
 * active table and changes it in place, so its cost follows the run;
 * fold_overwrite merges the active table and the run into the other table,
 * packed and in order, so its cost follows the view. Neither makes anything
 * visible: that is install's part. Where the view has an overlay (overlay.h)
 * both fold that in as well. fold_check changes nothing: it tells whether the
 * run may be deferred.
 *
 * A negative row - the run lowers its first component below zero - is, unless
 * allowed, noted in `negatives`; then the fold goes on looking for more
 * without writing, and fails with DF_INPUT at the end.
 */
#ifndef STATE_FOLD_H
#define STATE_FOLD_H

#include "state/install.h"
#include "state/meta.h"
#include "state/shard_run.h"

struct fold {
    struct row_shape shape;
    struct run_source *run;  /* rewound by the fold; NULL: the overlay alone */
    struct run_writer *copy; /* gets every row of the run; NULL for none */
    /* Of the run, where it is known; NULL: it is computed. */
    const struct hash128 *known_digest;
    const struct shard_state *state; /* of the shard, before */
    /* The overlay: where it is read, and what it is. */
    struct shard_run_from overlay;
    uint64_t overlay_magnitude;
    bool allow_negative;
    struct install_negatives *negatives;
    const volatile sig_atomic_t *stop; /* NULL for none */

    /* Results. What became of the view's rows by the run ... */
    struct hash128 digest; /* of the run */
    uint64_t run_rows;
    uint64_t added;
    uint64_t changed;
    uint64_t removed;
    /* ... and of the table. */
    uint64_t rows;
    uint64_t magnitude;
};

/* Puts what a shard's fold found with what the others did; from is empty
 * then. */
void fold_give_negatives(struct install_negatives *from,
                         struct install_negatives *to);

/* Within a write transaction of the shard. */
enum df_status fold_increment(struct fold *f, struct store_txn *t,
                              struct df_error *err) DF_MUST_CHECK;

/*
 * Fills the shard's other table, which must be empty. Every `chunk` bytes
 * written are committed, so that dirty pages stay bounded; the last
 * transaction is left open in *last for the caller to make the table count
 * with it (NULL on failure). No transaction may be open before.
 */
enum df_status fold_overwrite(struct fold *f, struct store *s, size_t chunk,
                              struct store_txn **last,
                              struct df_error *err) DF_MUST_CHECK;

/* Looks up the rows that the run lowers, and no others. Of the results it
 * sets run_rows alone; the digest must be known. */
enum df_status fold_check(struct fold *f, struct df_error *err) DF_MUST_CHECK;

#endif
