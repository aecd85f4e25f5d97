/*
 * overlay.h: what a shard's view holds beyond its table of rows: stored runs
 * that were deferred and are not folded in yet.
 *
 *     rows of the view = rows of the table + sum of the overlay's terms
 *
 * Terms are in the order of their batches. A reader that is to see the view
 * after batch T takes those of batches up to T: so a shard that is a deferred
 * batch ahead of the others can still be read as it was, and be put back.
 * What was merged or folded at batch T cannot be seen as of an earlier one
 * any more; shard_state.settled says so.
 *
 * The first `folding` terms are being folded: the shard's other table holds
 * their sum with the rows up to and with `fold_head`, and nobody reads it
 * until it is complete (compact.h).
 *
 * In META as "overlay"; not there when there is none.
 */
#ifndef STATE_OVERLAY_H
#define STATE_OVERLAY_H

#include "state/meta.h"
#include "state/runs.h"

/* Most terms: each costs readers 1.4 KB and some time. Compaction keeps them
 * fewer by far; a batch that would bring more is not deferred. */
enum { OVERLAY_MAX = 64 };

struct overlay_term {
    uint64_t run;
    uint64_t batch; /* the ledger entry that added it; of merged runs, the
                       last */
    bool minus;
};

struct overlay {
    struct overlay_term terms[OVERLAY_MAX];
    size_t count;

    size_t folding;
    uint64_t fold_rows; /* in the other table so far */
    uint64_t fold_magnitude;
    size_t fold_head_len;
    uint8_t fold_head[ROW_HEAD_MAX];
};

/* DF_STATE: the list of terms is not as it was written. */
enum df_status overlay_damaged(struct df_error *err);

enum df_status overlay_load(struct store_txn *t, struct overlay *o,
                            struct df_error *err) DF_MUST_CHECK;
enum df_status overlay_store(struct store_txn *t, const struct overlay *o,
                             struct df_error *err) DF_MUST_CHECK;

/* How many terms are of batches up to seq; they are the first. */
size_t overlay_until(const struct overlay *o, uint64_t seq);
bool overlay_uses(const struct overlay *o, uint64_t run);

/* The first n terms as runs_sum_open wants them. */
void overlay_terms(const struct overlay *o, size_t n, struct runs_term *out);

/* Stores what the terms from number `first` on add up to as one run, numbered
 * put->seq, whose `run` is set here. *t is as runs_put leaves it. A sum
 * without rows is not kept: run->rows is 0 then. */
enum df_status overlay_merge(const struct overlay *o, size_t first,
                             const struct runs_from *from,
                             struct runs_put *put, struct store *s,
                             struct store_txn **t, struct kept_run *run,
                             struct df_error *err) DF_MUST_CHECK;

/* What is known of the terms from number `from` to before `to` without
 * reading them; rows, bytes and magnitude are bounds. inbox: a transaction of
 * shard 0, where some terms are in the inbox (inbox.h); else NULL. */
struct overlay_sum {
    uint64_t rows;
    uint64_t bytes;
    uint64_t stored;
    uint64_t magnitude;
    struct hash128 digest;
};
enum df_status overlay_sum(struct store_txn *t, struct store_txn *inbox,
                           const struct overlay *o, size_t from, size_t to,
                           struct overlay_sum *sum,
                           struct df_error *err) DF_MUST_CHECK;

/* Adds the effects of an entry as terms. */
bool overlay_has_room(const struct overlay *o, const struct ledger_entry *e);
void overlay_defer(struct overlay *o, const struct ledger_entry *e);

/* Takes terms [from, to) away and, with them, runs that nobody wants then.
 * With a term given, it stands in their place. Stores the overlay. */
enum df_status overlay_replace(struct store_txn *t, struct overlay *o,
                               size_t from, size_t to,
                               const struct overlay_term *by,
                               struct df_error *err) DF_MUST_CHECK;

/* Gives up a fold that was begun: empties the other table. Does not store the
 * overlay. */
enum df_status overlay_stop_folding(struct store_txn *t, struct overlay *o,
                                    const struct shard_state *state,
                                    struct df_error *err) DF_MUST_CHECK;

/* The shard as of batch seq, which it is ahead of by deferred batches that
 * are not decided: takes them back. *state is changed, not stored. */
enum df_status overlay_take_back(struct store_txn *t, struct overlay *o,
                                 struct shard_state *state, uint64_t seq,
                                 struct df_error *err) DF_MUST_CHECK;

/* Whether a shard can be seen as of seq. */
static inline bool overlay_reaches(const struct shard_state *state,
                                   uint64_t seq)
{
    return state->settled <= seq && seq <= state->seq;
}

#endif
