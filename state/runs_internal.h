/* runs_internal.h: keys of the tables of runs, for runs.c and runs_read.c. */
#ifndef STATE_RUNS_INTERNAL_H
#define STATE_RUNS_INTERNAL_H

#include "state/run_block.h"
#include "state/runs.h"

enum { RUN_KEY = 8 + 4 };

/* The block that is none but lists the first heads of all. */
#define RUN_INDEX UINT32_MAX

static inline struct bytes seq_key(uint8_t room[8], uint64_t seq)
{
    store_be64(room, seq);
    return bytes_of(room, 8);
}

static inline struct bytes block_key(uint8_t room[RUN_KEY], uint64_t seq,
                                     uint32_t block)
{
    store_be64(room, seq);
    store_be32(room + 8, block);
    return bytes_of(room, RUN_KEY);
}

enum df_status runs_damaged(struct df_error *err);

#endif
