/*
 * difference.h: what a shard's rows are to be, less what they are.
 *
 * A batch that was computed anew from the surviving documents has all rows
 * there are to be. What it amounted to is what they differ by: the very run
 * that its delta would have come to, which is kept, counted and folded like
 * any other.
 *
 *     rows there are    ant 2  bee 1
 *     rows to be        ant 3         cow 1
 *     difference        ant +1 bee -1 cow +1
 *
 *     difference_open(&d, store, shape, state, run, err);
 *     ... d.run, as run.h has it ...
 *     difference_close(&d);                 safe on zeroed memory
 */
#ifndef STATE_DIFFERENCE_H
#define STATE_DIFFERENCE_H

#include "state/commit.h"

struct difference {
    struct run_source *run;
    struct shard_effects there; /* the read transaction, and the overlay */
    struct shard_run rows;
};
/* `run`, the rows to be, stays the caller's. The shard must stay as it is
 * but for what is written to its other table and to stored runs. */
enum df_status difference_open(struct difference *d, struct store *store,
                               struct row_shape shape,
                               const struct shard_state *state,
                               struct run_source *run,
                               struct df_error *err) DF_MUST_CHECK;
void difference_close(struct difference *d);

#endif
