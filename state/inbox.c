#include "state/inbox.h"

#include "state/commit.h"

enum { SHARD_BITS = 4 };
_Static_assert(VIEW_SHARDS_MAX <= 1 << SHARD_BITS, "numbers of runs");

static unsigned batch_max = INBOX_BATCH_MAX;

void inbox_set_batch_max(unsigned bytes)
{
    batch_max = bytes;
}

bool inbox_is_for(double bytes)
{
    return bytes < batch_max;
}

uint64_t inbox_run(uint64_t seq, unsigned shard)
{
    return RUNS_INBOX | seq << SHARD_BITS | shard;
}

/* ---- reading ---- */

/* One batch more. A run of no rows need not be read. */
static enum df_status add_run(const struct kept_run *run, uint64_t seq,
                              struct shard_state *state, struct overlay *o,
                              struct df_error *err)
{
    state->seq = seq;
    state->digest = digest_add(state->digest, run->digest);
    if (run->rows == 0) {
        return DF_OK;
    }
    if (o->count == OVERLAY_MAX) {
        return overlay_damaged(err);
    }
    o->terms[o->count++] =
        (struct overlay_term){ .run = run->seq, .batch = seq };
    return DF_OK;
}

/* Adds to a shard's state and overlay, as they were loaded, the batches that
 * lie in its inbox, up to number `until`. state->seq tells how far that
 * went. */
static enum df_status add_runs(struct store_txn *inbox, unsigned shard,
                               uint64_t until, struct shard_state *state,
                               struct overlay *o, struct df_error *err)
{
    enum df_status status = DF_OK;
    bool found = true;

    while (status == DF_OK && found && state->seq < until) {
        uint64_t seq = state->seq + 1;
        struct kept_run run;

        status = runs_get(inbox, inbox_run(seq, shard), &run, &found, err);
        if (status == DF_OK && found) {
            status = add_run(&run, seq, state, o, err);
        }
    }
    return status;
}

enum df_status inbox_look(struct store_txn *t, struct store_txn *inbox,
                          unsigned shard, struct shard_state *state,
                          struct overlay *o, struct df_error *err)
{
    struct shard_state ledger;
    enum df_status status = shard_state_load(t, state, err);

    if (status == DF_OK) {
        status = overlay_load(t, o, err);
    }
    if (status != DF_OK || shard == 0) {
        return status;
    }
    status = shard_state_load(inbox, &ledger, err);
    return status == DF_OK ? add_runs(inbox, shard, ledger.seq, state, o, err)
                           : status;
}

enum df_status view_shard_look(struct view *v, unsigned shard,
                               struct shard_state *state, struct df_error *err)
{
    struct store_txn *inbox;
    struct store_txn *t;
    struct overlay o;
    enum df_status status = store_begin(&inbox, v->stores[0], STORE_READ, err);

    if (status != DF_OK) {
        return status;
    }
    status = store_begin(&t, v->stores[shard], STORE_READ, err);
    if (status == DF_OK) {
        status = inbox_look(t, inbox, shard, state, &o, err);
        store_abort(t);
    }
    store_abort(inbox);
    return status;
}

enum df_status view_inbox_look(struct view *v, struct inbox_sight *sight,
                               struct df_error *err)
{
    struct shard_state first;
    struct store_txn *t;
    enum df_status status = store_begin(&t, v->stores[0], STORE_READ, err);

    *sight = (struct inbox_sight){ 0 };
    if (status != DF_OK) {
        return status;
    }
    status = shard_state_load(t, &first, err);
    if (status == DF_OK) {
        status = runs_any_in_inbox(t, &sight->any, err);
    }
    store_abort(t);
    for (unsigned i = 1; status == DF_OK && i < v->definition.shards; i++) {
        struct shard_state other;

        status = shard_look(v->stores[i], &other, err);
        if (status == DF_OK && other.seq < first.seq &&
            first.seq - other.seq > sight->batches) {
            sight->batches = first.seq - other.seq;
        }
    }
    return status;
}

/* ---- taking over ---- */

/* One shard at it. */
struct taking {
    struct view *v;
    unsigned shard;
    struct store_txn *read;   /* of the shard */
    struct store_txn *inbox;  /* of shard 0 */
    struct shard_state state; /* as of the ledger */
    struct overlay overlay;   /* without what lies in the inbox */
    struct overlay lies;      /* what does */
};

static enum df_status taking_look(struct taking *k, struct df_error *err)
{
    struct store *own = k->v->stores[k->shard];
    enum df_status status = store_begin(&k->read, own, STORE_READ, err);

    if (status == DF_OK) {
        status = store_begin(&k->inbox, k->v->stores[0], STORE_READ, err);
    }
    if (status == DF_OK) {
        status =
            inbox_look(k->read, k->inbox, k->shard, &k->state, &k->lies, err);
    }
    if (status == DF_OK) {
        status = overlay_load(k->read, &k->overlay, err);
    }
    if (status != DF_OK) {
        return status;
    }
    k->lies.count -= k->overlay.count;
    memmove(k->lies.terms, k->lies.terms + k->overlay.count,
            k->lies.count * sizeof *k->lies.terms);
    return DF_OK;
}

static void taking_close(struct taking *k)
{
    store_abort(k->inbox);
    store_abort(k->read);
    k->inbox = NULL;
    k->read = NULL;
}

/* Stores what the runs add up to as one; *t is left open, as by runs_put. */
static enum df_status store_sum(struct taking *k, struct store_txn **t,
                                struct df_error *err)
{
    struct row_shape shape = k->v->definition.shape;
    const struct runs_from from = { .shape = shape, .inbox = k->inbox };
    struct runs_put put = { .shape = shape, .chunk = SIZE_MAX };
    struct kept_run run;
    enum df_status status = runs_next_merged(k->read, &put.seq, err);

    if (status == DF_OK) {
        status = overlay_merge(&k->lies, 0, &from, &put,
                               k->v->stores[k->shard], t, &run, err);
    }
    if (status == DF_OK && run.rows > 0) {
        k->overlay.terms[k->overlay.count++] =
            (struct overlay_term){ .run = run.seq, .batch = k->state.seq };
    }
    return status;
}

/* From here on the shard cannot be seen as of an earlier batch. */
static enum df_status take_over(struct taking *k, struct df_error *err)
{
    struct store_txn *t = NULL;
    enum df_status status = store_sum(k, &t, err);

    k->state.settled = k->state.seq;
    if (status == DF_OK) {
        status = overlay_store(t, &k->overlay, err);
    }
    if (status == DF_OK) {
        status = shard_state_store(t, &k->state, err);
    }
    if (status != DF_OK) {
        store_abort(t);
        return status;
    }
    return store_commit(t, err);
}

static enum df_status take_over_shard(struct view *v, unsigned shard,
                                      struct df_error *err)
{
    struct taking k = { .v = v, .shard = shard };
    struct shard_state before;
    enum df_status status = shard_look(v->stores[shard], &before, err);

    while (status == DF_OK) {
        status = taking_look(&k, err);
        if (status == DF_OK && k.state.seq > before.seq) {
            status = take_over(&k, err);
        }
        taking_close(&k);
        if (status == DF_OK ||
            !store_grow_if_full(v->stores[shard], &status, err)) {
            break;
        }
    }
    return status;
}

enum df_status view_take_over(struct view *v, unsigned threads,
                              struct df_error *err)
{
    unsigned shards = v->definition.shards;
    struct {
        enum df_status status;
        struct df_error err;
    } outcome[VIEW_SHARDS_MAX] = { 0 };

#pragma omp parallel for num_threads(install_team(threads, shards))           \
    schedule(dynamic, 1) if (shards > 2)
    for (unsigned i = 1; i < shards; i++) {
        outcome[i].status = take_over_shard(v, i, &outcome[i].err);
    }
    for (unsigned i = 1; i < shards; i++) {
        if (outcome[i].status != DF_OK) {
            *err = outcome[i].err;
            return outcome[i].status;
        }
    }
    return DF_OK;
}

static enum df_status drop_all(struct store *s, struct df_error *err)
{
    struct store_txn *t;
    enum df_status status = store_begin(&t, s, STORE_WRITE, err);

    if (status != DF_OK) {
        return status;
    }
    status = runs_drop_inbox(t, err);
    if (status != DF_OK) {
        store_abort(t);
        return status;
    }
    return store_commit(t, err);
}

enum df_status view_empty_inbox(struct view *v, unsigned threads,
                                struct df_error *err)
{
    struct store *s = v->stores[0];
    struct inbox_sight sight;
    enum df_status status = view_inbox_look(v, &sight, err);

    if (status == DF_OK && sight.batches > 0) {
        status = view_take_over(v, threads, err);
    }
    while (status == DF_OK && sight.any) {
        status = drop_all(s, err);
        if (status == DF_OK || !store_grow_if_full(s, &status, err)) {
            break;
        }
    }
    return status;
}
