/*
 * Deferred batches: the run is stored, and looked at only as far as it must
 * be to know that it may be. Small ones are stored and committed at once, in
 * shard 0 (inbox.h); others shard by shard, as install.c tells.
 */
#include "state/inbox.h"
#include "state/install_internal.h"

size_t install_chunk(const struct work *w)
{
    return (size_t)(w->memory < CHUNK_MAX ? w->memory : CHUNK_MAX);
}

enum df_status install_store_run(struct work *w, unsigned i,
                                 struct df_error *err)
{
    struct shard_work *s = &w->shard[i];
    const struct runs_put put = { .shape = s->fold.shape,
                                  .seq = s->state.seq + 1,
                                  .run = s->run,
                                  .chunk = install_chunk(w),
                                  .keep = w->b->keep,
                                  .stop = w->b->stop };

    return runs_put(&put, s->store, &s->t, &s->kept, err);
}

/* Whether sums of all that lies over each other fit for certain; where that
 * cannot be told without looking at rows, the run is not deferred. */
static bool sums_fit(const struct shard_work *s, uint64_t magnitude)
{
    uint64_t below =
        row_magnitude_add(s->state.magnitude, s->effects.all.magnitude);

    return row_magnitude_add(below, magnitude) <= INT64_MAX;
}

/* The run is stored and lies open in s->t. What has to be seen of it is read
 * from there. */
static enum df_status check_deferred(struct work *w, unsigned i,
                                     struct df_error *err)
{
    struct shard_work *s = &w->shard[i];
    bool has_own = w->b->shards[i].run != NULL;
    bool looks = !w->b->entry->has_effects ? s->kept.lowers : true;
    struct run_source *own = NULL;
    enum df_status status = DF_OK;

    if (!w->b->entry->has_effects) {
        s->fold.known_digest = &s->kept.digest;
        s->too_great = !sums_fit(s, s->kept.magnitude);
    } else {
        s->too_great = !sums_fit(s, s->effects.sum.all.magnitude);
    }
    if (s->too_great || (w->b->allow_negative && has_own) || !looks) {
        s->fold.digest = *s->fold.known_digest;
        return DF_OK;
    }
    if (!w->b->entry->has_effects) {
        status = runs_open(&own, s->t, s->fold.shape.components, s->kept.seq,
                           true, err);
        s->fold.run = own;
    }
    if (status == DF_OK) {
        status = fold_check(&s->fold, err);
    }
    runs_close(own);
    return status;
}

enum df_status install_prepare_defer(struct work *w, unsigned i,
                                     struct df_error *err)
{
    struct shard_work *s = &w->shard[i];
    bool has_effects = w->b->entry->has_effects;
    enum df_status status =
        w->b->shards[i].run != NULL
            ? install_store_run(w, i, err)
            : store_begin(&s->t, s->store, STORE_WRITE, err);

    if (status == DF_OK) {
        status =
            shard_effects_open(&s->effects, s->store, s->fold.shape,
                               has_effects ? w->b->entry : NULL,
                               w->b->shards[i].run != NULL ? s->t : NULL, err);
    }
    if (status == DF_OK) {
        shard_effects_give(&s->effects, &s->fold);
        s->deferred = s->effects.all.rows +
                      (has_effects ? s->effects.sum.all.rows : s->kept.rows);
        status = check_deferred(w, i, err);
    }
    return status;
}

/* ---- at once ---- */

/* Stores shard i's run in *t, a transaction of shard 0, and looks at it. */
static enum df_status prepare_part(struct work *w, unsigned i,
                                   struct store_txn **t,
                                   struct store_txn *inbox,
                                   struct df_error *err)
{
    struct shard_work *s = &w->shard[i];
    uint64_t seq = w->b->entry->seq;
    const struct runs_put put = { .shape = s->fold.shape,
                                  .seq = i == 0 ? seq : inbox_run(seq, i),
                                  .run = w->b->shards[i].run,
                                  .chunk = SIZE_MAX,
                                  .stop = w->b->stop };
    enum df_status status =
        shard_effects_look(&s->effects, s->store, inbox, i, &s->state, err);

    if (status == DF_OK) {
        shard_effects_give(&s->effects, &s->fold);
        status = runs_put(&put, w->shard[0].store, t, &s->kept, err);
    }
    if (status == DF_OK) {
        s->t = *t;
        s->deferred = s->effects.all.rows + s->kept.rows;
        status = check_deferred(w, i, err);
        s->t = NULL;
    }
    shard_effects_close(&s->effects);
    return status;
}

static void prepare_parts(struct work *w, struct store_txn **t)
{
    struct store_txn *inbox;
    struct df_error *err = &w->shard[0].err;
    enum df_status status =
        store_begin(&inbox, w->shard[0].store, STORE_READ, err);

    w->shard[0].status = status;
    /* What is negative is told of all shards. */
    for (unsigned i = 0;
         (status == DF_OK || status == DF_INPUT) && i < w->shards; i++) {
        struct shard_work *s = &w->shard[i];

        install_begin_shard(w, i);
        status = prepare_part(w, i, t, inbox, &s->err);
        s->status = status;
    }
    store_abort(inbox);
}

void install_at_once(struct work *w)
{
    struct store_txn *t = NULL;

    for (unsigned i = 0; i < w->shards; i++) {
        w->shard[i].status = DF_OK;
        w->shard[i].too_great = false;
    }
    prepare_parts(w, &t);
    w->shard[0].t = t;
    w->status = install_decide(w);
    install_commit(w, 0);
    if (w->status == DF_OK && w->shard[0].status != DF_OK) {
        w->status = w->shard[0].status;
        *w->err = w->shard[0].err;
    }
}
