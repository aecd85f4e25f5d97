/* install_internal.h: a batch at work, for install.c and its parts,
 * install_plan.c and install_defer.c. */
#ifndef STATE_INSTALL_INTERNAL_H
#define STATE_INSTALL_INTERNAL_H

#include "base/clock.h"
#include "state/commit.h"
#include "state/difference.h"

/* LMDB would write dirty pages out and read them back above 131,071 of them;
 * chunks of an overwrite are between these. */
#define DIRTY_MAX ((uint64_t)400 << 20)
#define DIRTY_MIN ((uint64_t)4 << 20)
#define CHUNK_MAX ((uint64_t)32 << 20)

/* One shard at work. Written by the thread that has the shard, read by the
 * others behind a barrier. */
struct shard_work {
    struct store *store;
    struct store_txn *t;      /* open between prepare and commit, or NULL */
    struct shard_state state; /* before the batch */
    struct run_writer *writer;
    struct kept_run kept;         /* the batch's own run, where it is stored */
    struct run_source *run;       /* the batch's own; NULL: it has none */
    struct difference difference; /* is that, where it is a rebuild */
    struct shard_effects effects;
    struct install_negatives negatives;
    struct fold fold;
    uint64_t deferred; /* changes of rows in the overlay, afterwards */
    bool too_great;    /* with it a sum could leave its bits unseen */
    enum df_status status;
    struct df_error err;
};

struct work {
    struct view *v;
    struct install_batch *b;
    unsigned shards;
    unsigned team;   /* threads for them, as far as they are worth it */
    uint64_t memory; /* for dirty pages, per shard */
    bool decided;
    enum install_method method; /* INCREMENT, OVERWRITE or DEFER; a rebuild
                                   is an overwrite from here on */
    bool from_kept;             /* what is folded comes from kept runs */
    bool at_once;               /* DEFER: small, by install_at_once */
    struct pending pending;
    bool files_are_listed; /* in pending's record */
    struct clock_mark begun;
    struct shard_work shard[VIEW_SHARDS_MAX];
    enum df_status status;
    struct df_error *err;
};

/* Sets all but status; b, v and err are set. */
void install_work_init(struct work *w);

/* Looks at every shard before the first is touched, chooses the method that
 * all of them go, and makes the maps large enough. What lies in inboxes is
 * taken over where the batch goes another way. */
enum df_status install_plan(struct work *w) DF_MUST_CHECK;

/* What a shard's part of the work begins with. */
void install_begin_shard(struct work *w, unsigned i);
/* Bytes per transaction of what may take several. */
size_t install_chunk(const struct work *w);
/* Stores the shard's run. The transaction stays open. */
enum df_status install_store_run(struct work *w, unsigned i,
                                 struct df_error *err) DF_MUST_CHECK;
/* The step `prepare` of a deferred batch. */
enum df_status install_prepare_defer(struct work *w, unsigned i,
                                     struct df_error *err) DF_MUST_CHECK;
/* The step `decide`, and the commit of one shard; with w->status not DF_OK the
 * shard's transaction is aborted. */
enum df_status install_decide(struct work *w) DF_MUST_CHECK;
void install_commit(struct work *w, unsigned i);
/* All steps of a small deferred batch; sets w->status. */
void install_at_once(struct work *w);

#endif
