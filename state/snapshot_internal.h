/* snapshot_internal.h: struct snapshot, for snapshot.c and scan.c. */
#ifndef STATE_SNAPSHOT_INTERNAL_H
#define STATE_SNAPSHOT_INTERNAL_H

#include "state/inbox.h"
#include "state/shard_run.h"
#include "state/snapshot.h"
#include "state/timings.h"
#include "state/view_internal.h"

struct snapshot {
    struct view *v;
    unsigned shards;
    struct row_shape shape;
    struct store_txn *txns[VIEW_SHARDS_MAX];
    struct shard_state states[VIEW_SHARDS_MAX];
    struct snapshot_state state; /* of what is shown */
    struct snapshot_state now;
    struct overlay overlays[VIEW_SHARDS_MAX]; /* as of state.seq */
    /* What is shown: the rows with the overlay, unless without, and these
     * runs (history.c). */
    struct runs_term *terms;
    size_t term_count;
    bool without_rows;
    bool has_filter;                            /* having= is applied */
    struct shard_shown *shown[VIEW_SHARDS_MAX]; /* for snapshot_get, opened
                                                    when it needs them */
    struct timings timings; /* loaded when the ledger is asked */
    struct bytes high;
    struct bytes covered;
};

/* Whether having=, where it is applied, lets readers see the row. */
bool snapshot_lets_see(const struct snapshot *s, const int64_t *values);

void snapshot_close_shown(struct snapshot *s);

/* For tests: how many bytes of long rows that share their exact bytes a scan
 * holds at once; 0: default. */
void snapshot_scan_set_group_max(size_t bytes);

#endif
