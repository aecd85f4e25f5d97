/*
 * fold_state.h: where a view of a fold job stands, for readers.
 */
#ifndef RUNTIME_FOLD_STATE_H
#define RUNTIME_FOLD_STATE_H

#include "jobs/registry.h"
#include "state/snapshot.h"

struct fold_state {
    struct df_clock clock; /* all zero for jobs without time */
    uint64_t keys;         /* that are known */
    uint64_t spans;        /* that hold one or more of them */
};

/* Costs a look-up per span and shard, and with deferred batches a reading of
 * all rows. */
enum df_status fold_state_read(struct fold_state *state, struct snapshot *s,
                               const struct jobspec *job,
                               struct df_error *err) DF_MUST_CHECK;

#endif
