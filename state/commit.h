/*
 * commit.h: one shard's step from batch to batch, shared by install (which
 * decides a batch) and recover (which finishes a decided one).
 */
#ifndef STATE_COMMIT_H
#define STATE_COMMIT_H

#include "state/fold.h"
#include "state/pending.h"

/*
 * Makes `rows` of `state` the view's as of batch seq, within t, which has
 * changed them already: in place (flip false), or by filling the other
 * table (flip true: it becomes the active one, the old one is emptied).
 * record is written too where it is given (shard 0).
 */
struct shard_rows {
    uint64_t rows;
    struct hash128 digest;
};
enum df_status shard_advance(struct store_txn *t, struct shard_state *state,
                             uint64_t seq, struct shard_rows rows, bool flip,
                             const struct ledger_record *record,
                             struct df_error *err) DF_MUST_CHECK;

/* The rows of a shard after a fold of what was in state. */
struct shard_rows shard_after(const struct shard_state *state,
                              const struct fold *f);

/* Brings one shard to the pending batch, if it is not there: by its rows
 * file, or by the table that is prepared. */
enum df_status shard_finish(struct view *v, unsigned shard, struct pending *p,
                            struct df_error *err) DF_MUST_CHECK;

/* Empties the other table where an overwrite that was not decided has filled
 * it. No transaction may be open. */
enum df_status shard_clear_undecided(struct store *s,
                                     struct df_error *err) DF_MUST_CHECK;

/* The state of a shard, read in a transaction of its own. */
enum df_status shard_look(struct store *s, struct shard_state *state,
                          struct df_error *err) DF_MUST_CHECK;

#endif
