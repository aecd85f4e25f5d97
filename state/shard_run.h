/*
 * shard_run.h: a shard's rows as a run that can seek: the table as it lies
 * there, and with an overlay the sum of both, which is what the view holds.
 *
 *     shard_run_open(&r, &from, err);     r zeroed before
 *     ... r.run ...
 *     shard_run_close(&r);                safe on zeroed memory
 */
#ifndef STATE_SHARD_RUN_H
#define STATE_SHARD_RUN_H

#include "state/meta.h"
#include "state/rows.h"
#include "state/runs.h"

/* shard_run.c's own. */
struct table_run {
    struct run_source source;
    struct rows_reader *rows;
    const struct row *ahead; /* found by a seek and yet to be given */
    bool begun;              /* a seek has been made */
    bool ended;              /* and found nothing */
};

struct shard_run_from {
    struct row_shape shape;
    struct store_txn *t;
    struct store_txn *inbox; /* of terms in the inbox; NULL: there are none */
    const struct shard_state
        *state;        /* says which table, and of how many rows */
    bool without_rows; /* the terms alone */
    const struct runs_term *terms;
    size_t count;
};
struct shard_run {
    struct run_source *run; /* of table or sum */
    struct table_run table;
    struct runs_sum sum;
};
enum df_status shard_run_open(struct shard_run *r,
                              const struct shard_run_from *from,
                              struct df_error *err) DF_MUST_CHECK;
void shard_run_close(struct shard_run *r);

/* The values of one row of the sum, without a merge; *found false where they
 * are all zero. */
enum df_status shard_run_find(struct shard_run *r,
                              const struct shard_run_from *from,
                              const struct row *want, int64_t *values,
                              bool *found, struct df_error *err) DF_MUST_CHECK;

#endif
