/*
 * Which way a batch goes, before anything is written. All shards go the same
 * way, so that the ledger can say which.
 *
 * LMDB keeps the pages a transaction has changed in memory until it commits,
 * which in-place increments of a large run would overrun; such a batch is
 * deferred or overwrites, in chunks. Rows that come in order into an empty
 * view are best packed, whatever was asked for.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "state/cost.h"
#include "state/inbox.h"
#include "state/install_internal.h"

enum { GUESS_ROW_BYTES = 12 }; /* of a run that is not there yet */

/* What is known of a shard and its part of the batch; rows and bytes are
 * bounds. */
struct load {
    uint64_t rows;
    uint64_t bytes;
    uint64_t kept_bytes; /* of the run, where it is stored */
    uint64_t magnitude;  /* of the effects, but for the batch's own run */
    struct store_size size;
    struct overlay overlay;
    struct overlay_sum over;
    struct overlay_sum folding; /* of that, what a fold has begun with */
};

/* The batch, all shards together. */
struct sight {
    struct cost_features features;
    bool too_large; /* for an increment */
    bool can_defer;
    bool empty;
    uint64_t room_to_store[VIEW_SHARDS_MAX]; /* bytes, by shard */
    uint64_t room_to_fold[VIEW_SHARDS_MAX];
};

static bool may_store(const struct work *w)
{
    return w->b->keep || w->b->method == INSTALL_DEFER ||
           w->b->method == INSTALL_AUTO;
}

/* Bytes of pages that an increment is likely to dirty. */
static double dirty_bytes(const struct load *l)
{
    double rows = (double)(l->rows + l->over.rows);
    double bytes = (double)(l->bytes + l->over.bytes);
    double hit = cost_pages_hit((double)l->size.leaf_pages, rows);

    /* Pages of a tree that grows at random are about two thirds full. */
    return hit * 1.2 * l->size.page_size + 1.5 * (bytes + 10 * rows);
}

/* Adds the kept runs that the entry adds or subtracts beside its own. */
static enum df_status weigh_effects(const struct work *w, struct store_txn *t,
                                    struct load *l, struct df_error *err)
{
    const struct ledger_entry *e = w->b->entry;
    enum df_status status = DF_OK;

    for (size_t i = 0; status == DF_OK && i < ledger_effects(e); i++) {
        struct kept_run kept = { 0 };
        bool found;

        status = runs_get(t, ledger_effect(e, i).seq, &kept, &found, err);
        if (status == DF_OK && found) {
            l->rows += kept.rows;
            l->bytes += kept.bytes;
            l->magnitude = row_magnitude_add(l->magnitude, kept.magnitude);
        }
    }
    return status;
}

static enum df_status weigh(struct work *w, unsigned i, struct store_txn *t,
                            struct store_txn *inbox, struct load *l,
                            struct df_error *err)
{
    struct shard_state *state = &w->shard[i].state;
    enum df_status status = inbox_look(t, inbox, i, state, &l->overlay, err);

    if (status == DF_OK) {
        status = store_table_size(t, shard_rows_table(state), &l->size, err);
    }
    if (status == DF_OK) {
        status = overlay_sum(t, inbox, &l->overlay, 0, l->overlay.count,
                             &l->over, err);
    }
    if (status == DF_OK) {
        status = overlay_sum(t, inbox, &l->overlay, 0, l->overlay.folding,
                             &l->folding, err);
    }
    l->kept_bytes = may_store(w) ? 2 * l->bytes + 10 * l->rows : 0;
    if (status == DF_OK && w->from_kept) {
        status = weigh_effects(w, t, l, err);
    }
    return status;
}

static void add_sight(struct sight *to, const struct work *w, unsigned i,
                      const struct load *l)
{
    struct cost_features *f = &to->features;
    const struct shard_state *state = &w->shard[i].state;
    uint64_t below = row_magnitude_add(state->magnitude, l->over.magnitude);

    f->run_rows += (double)l->rows;
    f->run_bytes += (double)l->bytes;
    f->view_rows += (double)state->rows;
    f->leaf_pages += (double)l->size.leaf_pages;
    f->page_size = l->size.page_size;
    f->overlay_rows += (double)l->over.rows;
    f->overlay_bytes += (double)l->over.stored;
    f->folding_rows += (double)l->folding.rows;
    f->folding_bytes += (double)l->folding.stored;
    if (l->overlay.folding > 0 && l->overlay.fold_rows < state->rows) {
        f->fold_left += (double)(state->rows - l->overlay.fold_rows);
    }
    to->too_large = to->too_large || dirty_bytes(l) > (double)w->memory;
    to->can_defer = to->can_defer &&
                    overlay_has_room(&l->overlay, w->b->entry) &&
                    row_magnitude_add(below, l->magnitude) < INT64_MAX;
    to->empty = to->empty && state->rows == 0 && l->overlay.count == 0;
}

static enum df_status look(struct work *w, unsigned i, struct store_txn *inbox,
                           struct sight *sight, struct load *l,
                           struct df_error *err)
{
    struct store_txn *t;
    enum df_status status =
        store_begin(&t, w->shard[i].store, STORE_READ, err);

    l->rows = w->b->shards[i].rows_bound;
    l->bytes = w->b->shards[i].bytes_bound;
    if (status != DF_OK) {
        return status;
    }
    status = weigh(w, i, t, inbox, l, err);
    store_abort(t);
    if (status == DF_OK) {
        add_sight(sight, w, i, l);
    }
    return status;
}

/* Room in the map: for the run, twice; and, where rows are written, twice what
 * they take, packed or not, and what they replace. It is address space. */
static void note_room(struct sight *to, unsigned i, const struct load *l)
{
    uint64_t pages = l->size.leaf_pages + l->size.other_pages;

    to->room_to_store[i] = 2 * l->kept_bytes + DIRTY_MIN;
    to->room_to_fold[i] =
        to->room_to_store[i] + 2 * pages * l->size.page_size +
        4 * (l->bytes + l->over.bytes) + 64 * (l->rows + l->over.rows);
}

static enum df_status reserve(struct work *w, const struct sight *sight)
{
    enum df_status status = DF_OK;

    for (unsigned i = 0; status == DF_OK && i < w->shards; i++) {
        status =
            store_reserve(w->shard[i].store,
                          w->method == INSTALL_DEFER ? sight->room_to_store[i]
                                                     : sight->room_to_fold[i],
                          w->err);
    }
    return status;
}

/* What the ledger tells of costs, and what it is to tell of those since. */
static enum df_status fit_costs(struct work *w, struct cost_fit *fit)
{
    struct timings timings;
    struct store_txn *t;
    enum df_status status =
        store_begin(&t, w->shard[0].store, STORE_READ, w->err);

    timings_load(&timings, w->v);
    if (status == DF_OK) {
        status =
            cost_fit_load(fit, t, &timings, w->shard[0].state.seq, w->err);
        if (status == DF_OK) {
            status = meta_number_load(t, "compact_us",
                                      &w->b->entry->compact_us, w->err);
        }
        store_abort(t);
    }
    return status;
}

/* The method asked for, or the one that takes its place. */
static enum install_method allowed(const struct work *w,
                                   const struct sight *sight)
{
    enum install_method m = w->b->method;

    if (m == INSTALL_REBUILD) {
        return m;
    }
    if (sight->empty) {
        return INSTALL_OVERWRITE;
    }
    if (m == INSTALL_DEFER && !sight->can_defer) {
        /* Rows written anew are all seen: then it is known how great the
         * greatest number is. */
        return INSTALL_OVERWRITE;
    }
    return m == INSTALL_INCREMENT && sight->too_large ? INSTALL_OVERWRITE : m;
}

static struct cost_choice choose(const struct work *w,
                                 const struct sight *sight,
                                 const struct cost_fit *fit)
{
    enum install_method m = allowed(w, sight);

    return m == INSTALL_AUTO ? cost_choose(&sight->features, fit,
                                           !sight->too_large, sight->can_defer)
                             : cost_predict(&sight->features, fit, m);
}

void install_work_init(struct work *w)
{
    w->shards = w->v->definition.shards;
    assert(w->shards > 0);
    w->from_kept = w->b->keep || w->b->entry->has_effects;
    w->begun = clock_mark();
    w->memory = w->b->memory / w->shards;
    w->memory = w->memory < DIRTY_MIN ? DIRTY_MIN : w->memory;
    w->memory = w->memory > DIRTY_MAX ? DIRTY_MAX : w->memory;
    pending_init(&w->pending);
    for (unsigned i = 0; i < w->shards; i++) {
        w->shard[i].store = w->v->stores[i];
    }
}

/* Whether a batch, when it is deferred, goes to shard 0 as a whole. */
static bool is_small(const struct work *w, const struct cost_features *f)
{
    return w->shards > 1 && !w->from_kept && inbox_is_for(f->run_bytes);
}

/* Looks at all shards. */
static enum df_status see(struct work *w, struct sight *sight)
{
    struct store_txn *inbox;
    enum df_status status =
        store_begin(&inbox, w->shard[0].store, STORE_READ, w->err);

    *sight = (struct sight){ .can_defer = true, .empty = true };
    sight->features.shards = w->shards;
    sight->features.lanes = install_team(w->b->threads, w->shards);
    sight->features.keeps = w->b->keep;
    if (status != DF_OK) {
        return status;
    }
    for (unsigned i = 0; status == DF_OK && i < w->shards; i++) {
        struct load l = { 0 };

        status = look(w, i, inbox, sight, &l, w->err);
        note_room(sight, i, &l);
    }
    sight->features.is_small = is_small(w, &sight->features);
    store_abort(inbox);
    return status;
}

/* All runs of a small batch go to shard 0; whatever goes another way needs
 * shards that are where the ledger is. */
static enum df_status choose_place(struct work *w, struct sight *sight)
{
    w->at_once = w->method == INSTALL_DEFER && sight->features.is_small;
    if (!w->at_once) {
        return view_empty_inbox(w->v, w->b->threads, w->err);
    }
    for (unsigned i = 1; i < w->shards; i++) {
        sight->room_to_store[0] += sight->room_to_store[i];
        sight->room_to_store[i] = 0;
    }
    return view_need_inbox(w->v, w->err);
}

enum df_status install_plan(struct work *w)
{
    struct ledger_entry *e = w->b->entry;
    struct sight sight;
    struct cost_fit fit;
    struct cost_choice choice;
    enum df_status status = see(w, &sight);

    if (status == DF_OK) {
        status = fit_costs(w, &fit);
    }
    if (status != DF_OK) {
        return status;
    }
    choice = choose(w, &sight, &fit);
    w->method =
        choice.method == INSTALL_REBUILD ? INSTALL_OVERWRITE : choice.method;
    w->team = cost_team(&sight.features, choice.method);
    e->seq = w->shard[0].state.seq + 1;
    e->kept = w->b->keep;
    e->method = choice.method;
    e->model_commit_us = (uint64_t)choice.model.commit_us;
    e->model_us = e->model_commit_us + (uint64_t)choice.model.work_us;
    e->predicted_us = (uint64_t)choice.predicted_us;
    status = choose_place(w, &sight);
    return status == DF_OK ? reserve(w, &sight) : status;
}

/* ---- a guess ---- */

static enum df_status forecast(struct work *w, double run_rows,
                               struct install_forecast *out)
{
    struct cost_choice choice;
    struct cost_fit fit;
    struct sight sight;
    struct cost_features *f = &sight.features;
    enum df_status status = see(w, &sight);

    if (status == DF_OK) {
        status = fit_costs(w, &fit);
    }
    if (status != DF_OK) {
        return status;
    }
    f->run_rows = w->b->method == INSTALL_REBUILD ? f->view_rows : run_rows;
    f->run_bytes = f->view_rows > 0
                       ? run_rows * f->leaf_pages * f->page_size / f->view_rows
                       : 0;
    f->is_small = is_small(w, f);
    choice = choose(w, &sight, &fit);
    *out = (struct install_forecast){ .method = choice.method,
                                      .install_us =
                                          (uint64_t)choice.predicted_us };
    return DF_OK;
}

enum df_status install_forecast(struct view *v,
                                const struct install_guess *guess,
                                struct install_forecast *out,
                                struct df_error *err)
{
    struct install_shard shards[VIEW_SHARDS_MAX] = { 0 };
    struct ledger_entry entry = { .kind = LEDGER_BATCH };
    struct install_batch b = { .method = guess->method,
                               .shards = shards,
                               .entry = &entry,
                               .memory = guess->memory,
                               .threads = guess->threads };
    struct work *w = calloc(1, sizeof *w);
    enum df_status status;

    if (w == NULL) {
        return error_no_memory(err);
    }
    w->v = v;
    w->b = &b;
    w->err = err;
    for (unsigned i = 0; i < v->definition.shards; i++) {
        double part = guess->run_rows / v->definition.shards;

        shards[i].rows_bound = (uint64_t)part;
        shards[i].bytes_bound = (uint64_t)(part * GUESS_ROW_BYTES);
    }
    install_work_init(w);
    status = forecast(w, guess->run_rows, out);
    free(w);
    return status;
}
