#include "state/difference.h"

#include "state/merge.h"

static enum df_status open_rows(struct difference *d, struct row_shape shape,
                                const struct shard_state *state,
                                struct df_error *err)
{
    const struct shard_run_from from = {
        .shape = shape,
        .t = d->there.read,
        .state = state,
        .terms = d->there.terms,
        .count = d->there.overlay.count,
    };

    return shard_run_open(&d->rows, &from, err);
}

enum df_status difference_open(struct difference *d, struct store *store,
                               struct row_shape shape,
                               const struct shard_state *state,
                               struct run_source *run, struct df_error *err)
{
    struct run_source *sources[] = { run, NULL };
    const bool minus[] = { false, true };
    enum df_status status;

    *d = (struct difference){ 0 };
    status = shard_effects_open(&d->there, store, shape, NULL, NULL, err);
    if (status == DF_OK) {
        status = open_rows(d, shape, state, err);
    }
    if (status == DF_OK) {
        sources[1] = d->rows.run;
        status = merge_open_signed(&d->run, shape, sources, minus, 2, err);
    }
    if (status != DF_OK) {
        difference_close(d);
    }
    return status;
}

void difference_close(struct difference *d)
{
    merge_close(d->run);
    shard_run_close(&d->rows);
    shard_effects_close(&d->there);
    d->run = NULL;
}
