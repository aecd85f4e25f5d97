/*
 * commit.h: one shard's step from batch to batch, shared by install (which
 * decides a batch) and recover (which finishes a decided one).
 */
#ifndef STATE_COMMIT_H
#define STATE_COMMIT_H

#include "state/fold.h"
#include "state/pending.h"
#include "state/runs.h"

/*
 * Makes `rows` of `state` the view's as of batch seq, within t, which has
 * changed them already: in place (flip false), or by filling the other
 * table (flip true: it becomes the active one, the old one is emptied).
 * entry, NULL for a rebuild, is what it does to kept runs; record is written
 * too where it is given (shard 0).
 */
struct shard_rows {
    uint64_t rows;
    struct hash128 digest;
};
enum df_status shard_advance(struct store_txn *t, struct shard_state *state,
                             uint64_t seq, struct shard_rows rows, bool flip,
                             const struct ledger_entry *entry,
                             const struct ledger_record *record,
                             struct df_error *err) DF_MUST_CHECK;

/* The rows of a shard after a fold of what was in state. */
struct shard_rows shard_after(const struct shard_state *state,
                              const struct fold *f);

/* Brings one shard to the pending batch, if it is not there: by its rows
 * file, by kept runs, or by the table that is prepared. */
enum df_status shard_finish(struct view *v, unsigned shard, struct pending *p,
                            struct df_error *err) DF_MUST_CHECK;

/* Removes what a batch that was not decided has left: rows in the other
 * table, a kept run. No transaction may be open. */
enum df_status shard_clear_undecided(struct store *s,
                                     struct df_error *err) DF_MUST_CHECK;

/* What an entry's effects come to in one shard, from its kept runs: read in
 * *read, a transaction of its own. own_t is NULL, or the open transaction
 * that holds the run of the entry itself. */
struct shard_effects {
    struct store_txn *read;
    struct runs_sum sum;
};
enum df_status shard_effects_open(struct shard_effects *s, struct store *store,
                                  struct row_shape shape,
                                  const struct ledger_entry *e,
                                  struct store_txn *own_t,
                                  struct df_error *err) DF_MUST_CHECK;
void shard_effects_close(struct shard_effects *s); /* safe when zeroed */

/* The state of a shard, read in a transaction of its own. */
enum df_status shard_look(struct store *s, struct shard_state *state,
                          struct df_error *err) DF_MUST_CHECK;

#endif
