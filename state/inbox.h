/*
 * inbox.h: small deferred batches of a view of several shards, in one commit.
 *
 * What costs of a small batch is that every shard syncs, one after the other.
 * So all its runs are stored in shard 0, in the transaction that carries its
 * ledger entry: what lies there for another shard is that shard's inbox. A
 * shard is then behind the ledger by batches that lie in its inbox, every one
 * of them; who reads it adds them to its overlay:
 *
 *     shard 0 and ledger   7 8 9     rows 7, overlay 8 9, inbox of 1: 8 9
 *     shard 1              7         seen as rows 7, overlay 8 9
 *
 * In time a shard takes over what lies there, as one run. A crash at any call
 * leaves batches that it has already in the inbox; they are passed over, and
 * go with the next ones.
 *
 * Runs in the inbox are numbered by batch and shard; history (runs.h) is not
 * kept there.
 */
#ifndef STATE_INBOX_H
#define STATE_INBOX_H

#include "state/overlay.h"
#include "state/view_internal.h"

/* Batches that are worth the commits of taking them over. */
enum { INBOX_BATCHES = 8 };

uint64_t inbox_run(uint64_t seq, unsigned shard);

/* Whether a batch whose runs, all shards together, have so many bytes is one
 * for the inbox. They are written once more when they are taken over, and by
 * one thread: larger ones lose more by that than syncs take. */
bool inbox_is_for(double bytes);
/* For tests: the least that is too much. INBOX_BATCH_MAX is the default. */
enum { INBOX_BATCH_MAX = 384 << 10 };
void inbox_set_batch_max(unsigned bytes);

/* Loads a shard's state and overlay, with what lies in its inbox. t and inbox
 * are transactions of the shard and of shard 0, and the same one for shard
 * 0. Terms in the inbox are for reading: overlay_store refuses them. */
enum df_status inbox_look(struct store_txn *t, struct store_txn *inbox,
                          unsigned shard, struct shard_state *state,
                          struct overlay *o,
                          struct df_error *err) DF_MUST_CHECK;

/* The state of a shard, as inbox_look has it, in transactions of its own. */
enum df_status view_shard_look(struct view *v, unsigned shard,
                               struct shard_state *state,
                               struct df_error *err) DF_MUST_CHECK;

/* What lies in inboxes. */
struct inbox_sight {
    uint64_t batches; /* that some shard has not taken over */
    bool any;         /* there are runs, be they taken over already */
};
enum df_status view_inbox_look(struct view *v, struct inbox_sight *sight,
                               struct df_error *err) DF_MUST_CHECK;

/* Makes every shard take over what lies in its inbox. The runs stay where they
 * were until view_empty_inbox, or whoever drops them. No transaction may be
 * open. */
enum df_status view_take_over(struct view *v, unsigned threads,
                              struct df_error *err) DF_MUST_CHECK;
/* Both; for who is about to change shards in another way. */
enum df_status view_empty_inbox(struct view *v, unsigned threads,
                                struct df_error *err) DF_MUST_CHECK;

#endif
