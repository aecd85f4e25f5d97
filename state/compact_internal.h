/* compact_internal.h: one shard on its way, for compact.c and
 * compact_fold.c. */
#ifndef STATE_COMPACT_INTERNAL_H
#define STATE_COMPACT_INTERNAL_H

#include "state/compact.h"
#include "state/overlay.h"

/* What is known of it is as of the last transaction. */
struct shard_compact {
    const struct compact_plan *plan;
    struct store *store;
    struct row_shape shape;
    int64_t deadline_us;
    struct shard_state state;
    struct overlay overlay;
    struct overlay_sum over;
    uint64_t stored[OVERLAY_MAX]; /* bytes of each run */
    uint64_t due;                 /* bytes at which the overlay is folded */
    uint64_t leaf_pages;
    uint32_t page_size;
    bool began; /* some step */
    struct compact_report report;
    enum df_status status;
    struct df_error err;
};

/* Bytes per transaction. */
extern size_t compact_chunk_bytes;

static inline bool compact_is_stopped(const struct shard_compact *c)
{
    return c->plan->stop != NULL && *c->plan->stop != 0;
}
/* Whether the budget is spent. */
bool compact_is_late(const struct shard_compact *c);

/* Folds, or goes on with a fold. */
enum df_status compact_fold_step(struct shard_compact *c,
                                 struct df_error *err) DF_MUST_CHECK;

#endif
