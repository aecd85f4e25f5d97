/*
 * Which step is next, for one shard, and how it is made. Example, sizes of
 * the overlay's runs, oldest first, after each batch of size 1:
 *
 *     1    1 1    1 1 1    1 1 1 1 -> 4    4 1  ...  4 4 4 1 1 1 1 -> 16
 *
 * The level of a run is the power of four that its size has. When the last
 * four or more are of one level or below, they become one, unless that would
 * be more than half of what is due for folding: it will soon be folded.
 */
#include "state/compact.h"

#include <stdlib.h>

#include "base/clock.h"
#include "state/commit.h"
#include "state/compact_internal.h"
#include "state/cost.h"
#include "state/inbox.h"

enum {
    TERMS_MANY = OVERLAY_MAX / 2, /* runs */
    TEAM_BYTES = 2 << 20          /* work for a second thread: some 20 ms */
};

size_t compact_chunk_bytes = COMPACT_CHUNK;
static size_t level_bytes = COMPACT_LEVEL_0;
static size_t team_bytes = TEAM_BYTES;

void compact_set_scale(size_t bytes)
{
    compact_chunk_bytes = bytes == 0 ? COMPACT_CHUNK : bytes;
    level_bytes = bytes == 0 ? COMPACT_LEVEL_0 : bytes;
    team_bytes = bytes == 0 ? TEAM_BYTES : bytes;
    cost_set_due_min((double)bytes);
}

static bool is_behind(const struct shard_compact *c)
{
    return c->over.stored > COMPACT_BEHIND * c->due;
}

bool compact_is_late(const struct shard_compact *c)
{
    return !c->plan->everything && !is_behind(c) &&
           clock_us() > c->deadline_us;
}

/* ---- looking ---- */

static enum df_status look_at(struct shard_compact *c, struct store_txn *t,
                              struct df_error *err)
{
    struct store_size size;
    enum df_status status = shard_state_load(t, &c->state, err);

    if (status == DF_OK) {
        status = overlay_load(t, &c->overlay, err);
    }
    if (status == DF_OK) {
        status = store_table_size(t, shard_rows_table(&c->state), &size, err);
    }
    for (size_t i = 0; status == DF_OK && i < c->overlay.count; i++) {
        status = overlay_sum(t, NULL, &c->overlay, i, i + 1, &c->over, err);
        c->stored[i] = c->over.stored;
    }
    if (status == DF_OK) {
        status = overlay_sum(t, NULL, &c->overlay, 0, c->overlay.count,
                             &c->over, err);
        c->leaf_pages = size.leaf_pages;
        c->page_size = size.page_size;
        c->due =
            (uint64_t)cost_due_bytes((double)size.leaf_pages, size.page_size);
    }
    return status;
}

static enum df_status look(struct shard_compact *c, struct df_error *err)
{
    struct store_txn *t;
    enum df_status status = store_begin(&t, c->store, STORE_READ, err);

    if (status == DF_OK) {
        status = look_at(c, t, err);
        store_abort(t);
    }
    return status;
}

static unsigned level_of(uint64_t bytes)
{
    unsigned level = 0;

    for (; bytes > level_bytes; bytes /= COMPACT_TIER) {
        level++;
    }
    return level;
}

/* Where the runs begin that are to be merged, all up to the last; as many as
 * there are: none. */
static size_t merge_from(const struct shard_compact *c)
{
    size_t count = c->overlay.count;
    bool many = count >= TERMS_MANY;
    unsigned highest = level_of(c->due);

    for (unsigned level = 0; level <= highest; level++) {
        size_t from = count;
        uint64_t bytes = 0;

        while (from > c->overlay.folding &&
               level_of(c->stored[from - 1]) <= level &&
               (many ||
                bytes + c->stored[from - 1] <= c->due / COMPACT_MERGE_PART)) {
            bytes += c->stored[--from];
        }
        if (count - from >= COMPACT_TIER) {
            return from;
        }
    }
    return many && count - c->overlay.folding >= COMPACT_TIER
               ? c->overlay.folding
               : count;
}

static bool is_time_to_fold(const struct shard_compact *c)
{
    return c->overlay.count > 0 &&
           (c->plan->everything || c->overlay.folding > 0 ||
            c->over.stored >= c->due);
}

/* ---- merging ---- */

/* The merged run is in t; it takes the place of the terms from `from` on. */
static enum df_status put_in_place(struct shard_compact *c, size_t from,
                                   const struct kept_run *run,
                                   struct store_txn *t, struct df_error *err)
{
    struct overlay *o = &c->overlay;
    const struct overlay_term term = { .run = run->seq,
                                       .batch = o->terms[o->count - 1].batch };
    enum df_status status = overlay_replace(t, o, from, o->count,
                                            run->rows > 0 ? &term : NULL, err);

    c->state.settled = c->state.seq;
    return status == DF_OK ? shard_state_store(t, &c->state, err) : status;
}

static enum df_status merge_terms(struct shard_compact *c, size_t from,
                                  struct store_txn *read, struct df_error *err)
{
    const struct runs_from source = { .shape = c->shape, .t = read };
    struct runs_put put = { .shape = c->shape,
                            .chunk = compact_chunk_bytes,
                            .stop = c->plan->stop };
    struct store_txn *t = NULL;
    struct kept_run run;
    enum df_status status = runs_next_merged(read, &put.seq, err);

    if (status == DF_OK) {
        status = overlay_merge(&c->overlay, from, &source, &put, c->store, &t,
                               &run, err);
    }
    if (status == DF_OK) {
        status = put_in_place(c, from, &run, t, err);
    }
    if (status != DF_OK) {
        store_abort(t);
        return status;
    }
    return store_commit(t, err);
}

static enum df_status merge_step(struct shard_compact *c, size_t from,
                                 struct df_error *err)
{
    size_t n = c->overlay.count - from;
    struct store_txn *read;
    enum df_status status = store_begin(&read, c->store, STORE_READ, err);

    if (status == DF_OK) {
        status = merge_terms(c, from, read, err);
        store_abort(read);
        c->report.merged += status == DF_OK ? n : 0;
    }
    return status;
}

/* ---- steps ---- */

/* Makes the next step; *more tells whether there was one to make. */
static enum df_status step(struct shard_compact *c, bool *more,
                           struct df_error *err)
{
    enum df_status status = look(c, err);
    size_t from;

    *more = false;
    if (status != DF_OK) {
        return status;
    }
    from = merge_from(c);
    *more = is_time_to_fold(c) || from < c->overlay.count;
    c->began = c->began || *more;
    if (is_time_to_fold(c)) {
        return compact_fold_step(c, err);
    }
    return *more ? merge_step(c, from, err) : DF_OK;
}

static void compact_shard(struct shard_compact *c)
{
    bool more = true;

    do {
        if (compact_is_stopped(c)) {
            c->status = error_set(&c->err, DF_INTERRUPTED, "interrupted");
            return;
        }
        do {
            c->status = step(c, &more, &c->err);
        } while (c->status != DF_OK &&
                 store_grow_if_full(c->store, &c->status, &c->err));
    } while (c->status == DF_OK && more && !compact_is_late(c));
    if (c->status != DF_OK) {
        struct df_error ignored;
        enum df_status status =
            shard_clear_undecided(c->store, false, &ignored);

        (void)status; /* the next writer tries again */
    }
}

/* ---- all shards ---- */

/* How long it took is told by the next entry of the ledger. What was taken
 * over leaves the inbox. */
static enum df_status note_time(struct store *s, uint64_t us, bool drop_inbox,
                                struct df_error *err)
{
    struct store_txn *t;
    uint64_t before;
    enum df_status status = store_begin(&t, s, STORE_WRITE, err);

    if (status != DF_OK) {
        return status;
    }
    status = meta_number_load(t, "compact_us", &before, err);
    if (status == DF_OK) {
        status = meta_number_store(t, "compact_us", before + us, err);
    }
    if (status == DF_OK && drop_inbox) {
        status = runs_drop_inbox(t, err);
    }
    if (status != DF_OK) {
        store_abort(t);
        return status;
    }
    return store_commit(t, err);
}

static enum df_status sum_up(struct view *v,
                             const struct shard_compact *shards,
                             const struct inbox_sight *taken, int64_t begun_us,
                             struct compact_report *report,
                             struct df_error *err)
{
    struct store *s = v->stores[0];
    bool began = taken->any;
    enum df_status status = DF_OK;

    *report = (struct compact_report){ .merged = taken->batches };
    for (unsigned i = 0; i < v->definition.shards; i++) {
        const struct compact_report *one = &shards[i].report;

        report->merged =
            one->merged > report->merged ? one->merged : report->merged;
        report->folded =
            one->folded > report->folded ? one->folded : report->folded;
        report->changes += one->changes;
        began = began || shards[i].began;
        if (status == DF_OK && shards[i].status != DF_OK) {
            status = shards[i].status;
            *err = shards[i].err;
        }
    }
    report->us = (uint64_t)(clock_us() - begun_us);
    /* A fold that is not complete has taken its time as well. */
    if (status != DF_OK || !began) {
        return status;
    }
    do {
        status = note_time(s, report->us, taken->any, err);
    } while (status != DF_OK && store_grow_if_full(s, &status, err));
    return status;
}

/* What shards have in their inboxes becomes theirs, when it is much. */
static enum df_status take_over(struct view *v,
                                const struct compact_plan *plan,
                                struct inbox_sight *sight,
                                struct df_error *err)
{
    enum df_status status = view_inbox_look(v, sight, err);

    if (status != DF_OK || sight->batches == 0) {
        return status;
    }
    if (sight->batches < INBOX_BATCHES && !plan->everything) {
        *sight = (struct inbox_sight){ 0 };
        return DF_OK;
    }
    return view_take_over(v, plan->threads, err);
}

/* Bytes that the next step of a shard reads. */
static uint64_t bytes_to_do(const struct shard_compact *c)
{
    if (is_time_to_fold(c)) {
        return c->over.stored + c->leaf_pages * c->page_size;
    }
    return merge_from(c) < c->overlay.count ? c->over.stored : 0;
}

/* Threads that are worth it: see cost_team. Shards that cannot be read say so
 * when it is their turn. */
static unsigned team_for(const struct compact_plan *plan,
                         struct shard_compact *all, unsigned shards)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < shards; i++) {
        struct df_error ignored;

        if (look(&all[i], &ignored) == DF_OK) {
            bytes += bytes_to_do(&all[i]);
        }
    }
    return bytes < team_bytes ? 1 : install_team(plan->threads, shards);
}

enum df_status view_compact(struct view *v, const struct compact_plan *plan,
                            struct compact_report *report,
                            struct df_error *err)
{
    unsigned shards = v->definition.shards;
    struct shard_compact *all;
    int64_t begun_us = clock_us();
    struct inbox_sight taken;
    enum df_status status = take_over(v, plan, &taken, err);

    *report = (struct compact_report){ 0 };
    if (status != DF_OK) {
        return status;
    }
    all = calloc(shards, sizeof *all);
    if (all == NULL) {
        return error_no_memory(err);
    }
    for (unsigned i = 0; i < shards; i++) {
        all[i].plan = plan;
        all[i].store = v->stores[i];
        all[i].shape = v->definition.shape;
        all[i].deadline_us = begun_us + plan->budget_us;
    }
#pragma omp parallel for num_threads(team_for(plan, all, shards))             \
    schedule(dynamic, 1)
    for (unsigned i = 0; i < shards; i++) {
        compact_shard(&all[i]);
    }
    status = sum_up(v, all, &taken, begun_us, report, err);
    free(all);
    return status;
}
