/*
 * pending.h: a batch that is decided but not yet committed everywhere.
 *
 * Only views of several shards need it. The files lie in the generation's
 * directory:
 *
 *   pending-SS.rows   the run of shard SS, for an increment of a view that
 *                     keeps no runs
 *   pending.run       number, ledger record, where the runs end; a checksum
 *
 * pending.run appears by a rename after everything it names is synced: from
 * that moment the batch is decided, whatever happens. It disappears when
 * every shard has the batch; should a power cut bring it back after that,
 * its number tells that it is done.
 */
#ifndef STATE_PENDING_H
#define STATE_PENDING_H

#include "state/ledger_table.h"
#include "state/run.h"
#include "state/view_internal.h"

struct pending {
    uint64_t seq;
    bool prepared; /* the shards' other tables hold the result (overwrite);
                      else the runs are to be added (increment) */
    bool kept;     /* the runs are kept ones, in the shards' own tables: there
                      are no rows files */
    struct ledger_record record;
    /* For an increment, by shard; descriptors are owned, -1 when closed. */
    struct run_segment runs[VIEW_SHARDS_MAX];
};

void pending_init(struct pending *p);
void pending_fini(struct pending *p); /* closes the descriptors */

/* Makes (or opens) the rows file of a shard; the descriptor goes to
 * p->runs[shard].fd. */
enum df_status pending_open_rows(struct pending *p, const struct view *v,
                                 unsigned shard, bool make,
                                 struct df_error *err) DF_MUST_CHECK;

void pending_close_rows(struct pending *p, unsigned shard);

/* Syncs the rows files and makes pending.run appear. */
enum df_status pending_decide(struct pending *p, const struct view *v,
                              struct df_error *err) DF_MUST_CHECK;

/* *there is false when nothing is pending. The rows files are opened by
 * pending_open_rows, where they are wanted. */
enum df_status pending_load(struct pending *p, const struct view *v,
                            bool *there, struct df_error *err) DF_MUST_CHECK;

/* Removes the files; what cannot be removed does no harm. */
void pending_remove(const struct view *v);

#endif
