/*
 * fold.h: a run merged into the rows of one shard.
 *
 * Two ways to the same rows: fold_increment seeks each row of the run in the
 * active table and changes it in place, so its cost follows the run;
 * fold_overwrite merges the active table and the run into the other table,
 * packed and in order, so its cost follows the view. Neither makes anything
 * visible: that is install's part.
 *
 * A negative row - the run lowers its first component below zero - is, unless
 * allowed, noted in `negatives`; then the fold goes on looking for more
 * without writing, and fails with DF_INPUT at the end.
 */
#ifndef STATE_FOLD_H
#define STATE_FOLD_H

#include "state/install.h"
#include "state/meta.h"

struct fold {
    struct row_shape shape;
    struct run_source *run;  /* rewound by the fold */
    struct run_writer *copy; /* gets every row of the run; NULL for none */
    /* Of the run, where it is known; NULL: it is computed. */
    const struct hash128 *known_digest;
    bool allow_negative;
    struct install_negatives *negatives;
    const volatile sig_atomic_t *stop; /* NULL for none */

    /* Results. */
    struct hash128 digest; /* of the run */
    uint64_t run_rows;
    uint64_t added;
    uint64_t changed;
    uint64_t removed;
};

/* Puts what a shard's fold found with what the others did; from is empty
 * then. */
void fold_give_negatives(struct install_negatives *from,
                         struct install_negatives *to);

/* Within a write transaction of the shard. */
enum df_status fold_increment(struct fold *f, struct store_txn *t,
                              enum store_table rows,
                              struct df_error *err) DF_MUST_CHECK;

/*
 * Fills the shard's other table, which must be empty. Every `chunk` bytes
 * written are committed, so that dirty pages stay bounded; the last
 * transaction is left open in *last for the caller to make the table count
 * with it (NULL on failure). No transaction may be open before.
 */
enum df_status fold_overwrite(struct fold *f, struct store *s,
                              const struct shard_state *state, size_t chunk,
                              struct store_txn **last,
                              struct df_error *err) DF_MUST_CHECK;

#endif
