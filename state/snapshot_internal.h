/* snapshot_internal.h: struct snapshot, for snapshot.c and scan.c. */
#ifndef STATE_SNAPSHOT_INTERNAL_H
#define STATE_SNAPSHOT_INTERNAL_H

#include "state/snapshot.h"
#include "state/view_internal.h"

struct snapshot {
    struct view *v;
    unsigned shards;
    struct row_shape shape;
    struct store_txn *txns[VIEW_SHARDS_MAX];
    struct shard_state states[VIEW_SHARDS_MAX];
    struct snapshot_state state;
    struct bytes high;
    struct bytes covered;
};

/* For tests: how many bytes of long rows that share their exact bytes a scan
 * holds at once; 0: default. */
void snapshot_scan_set_group_max(size_t bytes);

#endif
