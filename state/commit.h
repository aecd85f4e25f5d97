/*
 * commit.h: one shard's step from batch to batch, shared by install (which
 * decides a batch) and recover (which finishes a decided one).
 */
#ifndef STATE_COMMIT_H
#define STATE_COMMIT_H

#include "state/fold.h"
#include "state/overlay.h"
#include "state/pending.h"

/*
 * What a shard's transaction does to make batch `seq` the shard's last:
 *
 *   rows were changed in place            flip false
 *   the other table was filled            flip true: it becomes the active
 *                                         one, the old one is emptied
 *   nothing was, the run is deferred      defer true; rows has its digest
 *
 * The first two have folded the overlay in; it is empty then. entry, NULL for
 * a rebuild, is what it does to stored runs; record is written too where it
 * is given (shard 0). keep_drops: runs that the entry drops stay until
 * view_settle_drops, for the batch may be taken back.
 */
struct shard_rows {
    uint64_t rows;
    uint64_t magnitude;
    struct hash128 digest; /* of the whole view of the shard */
};
struct shard_step {
    uint64_t seq;
    struct shard_rows rows;
    bool flip;
    bool defer;
    bool keep_drops;
    const struct ledger_entry *entry;
    const struct ledger_record *record;
};
enum df_status shard_advance(struct store_txn *t, struct shard_state *state,
                             const struct shard_step *step,
                             struct df_error *err) DF_MUST_CHECK;

/* The rows of a shard after a fold. */
struct shard_rows shard_after(const struct fold *f);

/* Brings one shard to the pending batch, if it is not there: by its rows
 * file, by kept runs, or by the table that is prepared. */
enum df_status shard_finish(struct view *v, unsigned shard, struct pending *p,
                            struct df_error *err) DF_MUST_CHECK;

/* Removes what a batch that was not decided has left: rows in the other
 * table, a stored run. A fold that compaction has begun stays, unless
 * `empty_other`. No transaction may be open. */
enum df_status shard_clear_undecided(struct store *s, bool empty_other,
                                     struct df_error *err) DF_MUST_CHECK;

/* Drops, in every shard, the runs that the last entry drops. */
enum df_status view_settle_drops(struct view *v,
                                 struct df_error *err) DF_MUST_CHECK;

/*
 * What a batch comes to in one shard, and what lies over the shard's rows:
 * read in *read, a transaction of its own. With an entry, its effects, from
 * stored runs, are sum.run; own_t is NULL, or the open transaction that holds
 * the run of the entry itself. The overlay is always there.
 */
struct shard_effects {
    struct store_txn *read;
    struct store_txn *inbox; /* borrowed; NULL: nothing lies there */
    struct runs_sum sum;
    struct overlay overlay;
    struct overlay_sum all; /* of the overlay */
    struct runs_term terms[OVERLAY_MAX];
};
enum df_status shard_effects_open(struct shard_effects *s, struct store *store,
                                  struct row_shape shape,
                                  const struct ledger_entry *e,
                                  struct store_txn *own_t,
                                  struct df_error *err) DF_MUST_CHECK;
/* The same without an entry, with what lies in the inbox; *state as inbox_look
 * has it. */
enum df_status shard_effects_look(struct shard_effects *s, struct store *store,
                                  struct store_txn *inbox, unsigned shard,
                                  struct shard_state *state,
                                  struct df_error *err) DF_MUST_CHECK;
void shard_effects_close(struct shard_effects *s); /* safe when zeroed */
/* Makes a fold fold them; f->run is left alone where there are no effects. */
void shard_effects_give(struct shard_effects *s, struct fold *f);

/* The state of a shard, read in a transaction of its own. */
enum df_status shard_look(struct store *s, struct shard_state *state,
                          struct df_error *err) DF_MUST_CHECK;

#endif
