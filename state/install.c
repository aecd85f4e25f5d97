/*
 * Exactly once, on disk.
 *
 * A batch is visible when shard 0's transaction with its ledger entry has
 * committed. With one shard that is all: rows and entry are one transaction.
 * With several, a crash between two commits must not leave half a batch, so
 * there are three steps:
 *
 *   prepare   every shard folds its run into a transaction that stays open,
 *             and copies the run to a file; or, for an overwrite, fills and
 *             commits its other table, which nobody looks at yet
 *   decide    the files are synced and pending.run is renamed into place
 *   commit    shards n-1 ... 1 commit, then shard 0 with the ledger entry;
 *             then pending.run goes
 *
 * Before `decide` nothing has happened, after it everything will: a crash, a
 * full disk or a full map after it is made good by shard_finish, here or in
 * the next writer (recover.c), from the files and without the batch's
 * source. Readers take only sets of shards with equal numbers (snapshot.c).
 *
 * Example, shards 0 1 2 at batch 7, applying 8; a crash comes at each line:
 *
 *     prepare                      7 7 7   next run: starts over
 *     rename pending.run           7 7 7   next run: adds 8 to 0, 1 and 2
 *     commit shard 2               7 7 8   next run: adds 8 to 0 and 1
 *     commit shard 1               7 8 8   next run: adds 8 to 0
 *     commit shard 0 with entry 8  8 8 8   next run: removes pending.run
 *
 * Where runs are kept (runs.h) the batch's own run goes to the shard's store
 * first, and what is folded are the entry's effects, read from there: its own
 * run, usually, and what leaves a window. With several shards that store is
 * committed before `decide`, in place of the files: a run whose number is
 * above its shard's is not decided, and nobody looks at it.
 *
 * LMDB keeps the pages a transaction has changed in memory until it commits,
 * which in-place increments of a large run would overrun; install foresees
 * that and overwrites instead, in chunks.
 */
#include "state/install.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "state/commit.h"

/* LMDB would write dirty pages out and read them back above 131,071 of them;
 * chunks of an overwrite are between these. */
#define DIRTY_MAX ((uint64_t)400 << 20)
#define DIRTY_MIN ((uint64_t)4 << 20)
#define CHUNK_MAX ((uint64_t)32 << 20)

/* One shard at work. Written by the thread that has the shard, read by the
 * others behind a barrier. */
struct shard_work {
    struct store *store;
    struct store_txn *t;      /* open between prepare and commit, or NULL */
    struct shard_state state; /* before the batch */
    bool overwrite;
    struct run_writer *writer;
    struct kept_run kept; /* the batch's own run, where it is kept */
    struct shard_effects effects;
    struct install_negatives negatives;
    struct fold fold;
    enum df_status status;
    struct df_error err;
};

struct work {
    struct view *v;
    struct install_batch *b;
    unsigned shards;
    uint64_t memory; /* for dirty pages, per shard */
    bool decided;
    bool overwrite;
    bool from_kept; /* what is folded comes from kept runs */
    struct pending pending;
    int64_t begun_us;
    struct shard_work shard[VIEW_SHARDS_MAX];
    enum df_status status;
    struct df_error *err;
};

/* ---- plan: does an increment fit? ---- */

/* What is folded, and kept, in a shard at most. */
struct load {
    uint64_t rows;
    uint64_t bytes;
    uint64_t kept_bytes;
};

/* Bytes of pages that an increment by that many rows is likely to dirty: leaf
 * pages hit by as many seeks, if they fall evenly, and room for new rows. */
static double dirty_bytes(const struct store_size *size,
                          const struct load *load)
{
    double leaves = (double)size->leaf_pages;
    double hit =
        leaves == 0 ? 0 : leaves * (1 - exp(-(double)load->rows / leaves));
    /* Pages of a tree that grows at random are about two thirds full. */
    double fresh = 1.5 * ((double)load->bytes + 10 * (double)load->rows);

    return hit * 1.2 * size->page_size + fresh;
}

/* Adds the kept runs that the entry adds or subtracts beside its own. */
static enum df_status weigh_effects(struct work *w, struct store_txn *t,
                                    struct load *load, struct df_error *err)
{
    const struct ledger_entry *e = w->b->entry;
    enum df_status status = DF_OK;

    for (size_t i = 0; status == DF_OK && i < ledger_effects(e); i++) {
        struct kept_run kept = { 0 };
        bool found;

        status = runs_get(t, ledger_effect(e, i).seq, &kept, &found, err);
        if (status == DF_OK && found) {
            load->rows += kept.rows;
            load->bytes += kept.bytes;
        }
    }
    return status;
}

static enum df_status look(struct work *w, unsigned i, struct df_error *err)
{
    struct shard_work *s = &w->shard[i];
    struct load load = { .rows = w->b->shards[i].rows_bound,
                         .bytes = w->b->shards[i].bytes_bound };
    struct store_size size;
    struct store_txn *t;
    enum df_status status = store_begin(&t, s->store, STORE_READ, err);

    if (status != DF_OK) {
        return status;
    }
    status = shard_state_load(t, &s->state, err);
    if (status == DF_OK) {
        status = store_table_size(t, shard_rows_table(&s->state), &size, err);
    }
    if (status == DF_OK && w->from_kept) {
        load.kept_bytes = w->b->keep ? load.bytes + 10 * load.rows : 0;
        status = weigh_effects(w, t, &load, err);
    }
    store_abort(t);
    if (status != DF_OK) {
        return status;
    }
    s->overwrite = w->b->method == INSTALL_OVERWRITE ||
                   dirty_bytes(&size, &load) > (double)w->memory;
    /* Twice what the rows take, packed or not, and what they replace; it is
     * address space. */
    return store_reserve(
        s->store,
        2 * (size.leaf_pages + size.other_pages) * size.page_size +
            4 * load.bytes + 64 * load.rows + 2 * load.kept_bytes + DIRTY_MIN,
        err);
}

/* Looks at every shard before the first is touched. All shards go the same
 * way, so that the ledger can say which. */
static enum df_status plan(struct work *w)
{
    enum df_status status = DF_OK;
    bool empty = true;

    w->overwrite = false;
    for (unsigned i = 0; status == DF_OK && i < w->shards; i++) {
        status = look(w, i, w->err);
        w->overwrite = w->overwrite || w->shard[i].overwrite;
        empty = empty && w->shard[i].state.rows == 0;
    }
    /* Rows that come in order into an empty view are best packed. */
    w->overwrite = w->overwrite || empty;
    w->b->entry->seq = w->shard[0].state.seq + 1;
    w->b->entry->kept = w->b->keep;
    w->b->entry->method = w->overwrite ? INSTALL_OVERWRITE : INSTALL_INCREMENT;
    return status;
}

/* ---- prepare ---- */

/* Keeps the shard's run. It is committed, unless the rows can follow in the
 * same transaction. */
static enum df_status keep_run(struct work *w, unsigned i,
                               struct df_error *err)
{
    struct shard_work *s = &w->shard[i];
    uint64_t chunk = w->memory < CHUNK_MAX ? w->memory : CHUNK_MAX;
    const struct runs_put put = { .shape = s->fold.shape,
                                  .seq = s->state.seq + 1,
                                  .run = w->b->shards[i].run,
                                  .chunk = (size_t)chunk,
                                  .stop = w->b->stop };
    enum df_status status = runs_put(&put, s->store, &s->t, &s->kept, err);

    if (status == DF_OK && (w->shards > 1 || w->overwrite)) {
        struct store_txn *t = s->t;

        s->t = NULL;
        status = store_commit(t, err);
    }
    return status;
}

/* Makes what the entry's effects come to the run that is folded. */
static enum df_status open_effects(struct work *w, unsigned i,
                                   struct df_error *err)
{
    struct shard_work *s = &w->shard[i];
    enum df_status status = DF_OK;

    if (w->b->keep) {
        status = keep_run(w, i, err);
    }
    if (status == DF_OK) {
        status = shard_effects_open(&s->effects, s->store, s->fold.shape,
                                    w->b->entry, s->t, err);
    }
    s->fold.run = s->effects.sum.run;
    s->fold.known_digest = &s->effects.sum.all.digest;
    return status;
}

static enum df_status prepare_increment(struct work *w, unsigned i,
                                        struct df_error *err)
{
    struct shard_work *s = &w->shard[i];
    enum df_status status = DF_OK;

    if (w->shards > 1 && !w->from_kept) {
        status = pending_open_rows(&w->pending, w->v, i, true, err);
        if (status == DF_OK) {
            status = run_writer_open(&s->writer, s->fold.shape,
                                     w->pending.runs[i].fd, 0, err);
        }
        s->fold.copy = s->writer;
    }
    if (status == DF_OK && s->t == NULL) {
        status = store_begin(&s->t, s->store, STORE_WRITE, err);
    }
    if (status == DF_OK) {
        status =
            fold_increment(&s->fold, s->t, shard_rows_table(&s->state), err);
    }
    if (status == DF_OK && s->writer != NULL) {
        int fd = w->pending.runs[i].fd;

        status = run_writer_end(s->writer, &w->pending.runs[i], err);
        w->pending.runs[i].fd = fd;
    }
    run_writer_close(s->writer);
    s->writer = NULL;
    return status;
}

/* With several shards the filled table is committed, marked as prepared. */
static enum df_status prepare_overwrite(struct work *w, unsigned i,
                                        struct df_error *err)
{
    struct shard_work *s = &w->shard[i];
    uint64_t chunk = w->memory < CHUNK_MAX ? w->memory : CHUNK_MAX;
    enum df_status status = fold_overwrite(&s->fold, s->store, &s->state,
                                           (size_t)chunk, &s->t, err);

    if (status != DF_OK || w->shards == 1) {
        return status;
    }
    s->state.prepared = s->state.seq + 1;
    s->state.prepared_rows = shard_after(&s->state, &s->fold).rows;
    s->state.prepared_digest = shard_after(&s->state, &s->fold).digest;
    status = shard_state_store(s->t, &s->state, err);
    if (status == DF_OK) {
        struct store_txn *t = s->t;

        s->t = NULL;
        status = store_commit(t, err);
    }
    return status;
}

static enum df_status try_prepare(struct work *w, unsigned i,
                                  struct df_error *err)
{
    struct shard_work *s = &w->shard[i];
    enum df_status status = shard_look(s->store, &s->state, err);

    if (status == DF_OK && (w->overwrite || w->from_kept)) {
        status = shard_clear_undecided(s->store, err);
    }
    if (status == DF_OK && w->from_kept) {
        status = open_effects(w, i, err);
    }
    if (status == DF_OK) {
        status = w->overwrite ? prepare_overwrite(w, i, err)
                              : prepare_increment(w, i, err);
    }
    shard_effects_close(&s->effects);
    return status;
}

/* Does a shard's part, again with a larger map where that was too small. */
static void prepare(struct work *w, unsigned i)
{
    struct shard_work *s = &w->shard[i];

    s->fold = (struct fold){
        .shape = w->v->definition.shape,
        .run = w->b->shards[i].run,
        .allow_negative = w->b->allow_negative,
        .negatives = &s->negatives,
        .stop = w->b->stop,
    };
    do {
        pending_close_rows(&w->pending, i);
        s->status = try_prepare(w, i, &s->err);
        if (s->status != DF_OK) {
            store_abort(s->t);
            s->t = NULL;
        }
    } while (s->status != DF_OK &&
             store_grow_if_full(s->store, &s->status, &s->err));
}

/* ---- decide ---- */

static void sum_up(struct work *w)
{
    struct ledger_entry *e = w->b->entry;
    int64_t now = clock_us();

    e->run_rows = 0;
    e->rows_added = 0;
    e->rows_changed = 0;
    e->rows_removed = 0;
    e->rows = 0;
    e->view_before = (struct hash128){ 0, 0 };
    e->view_after = (struct hash128){ 0, 0 };
    for (unsigned i = 0; i < w->shards; i++) {
        struct shard_work *s = &w->shard[i];

        e->run_rows += w->b->keep ? s->kept.rows : s->fold.run_rows;
        e->rows_added += s->fold.added;
        e->rows_changed += s->fold.changed;
        e->rows_removed += s->fold.removed;
        e->rows += shard_after(&s->state, &s->fold).rows;
        e->view_before = digest_add(e->view_before, s->state.digest);
        e->view_after = digest_add(e->view_after, s->fold.digest);
    }
    e->view_after = digest_add(e->view_after, e->view_before);
    e->rows_seen = true;
    e->time = (int64_t)time(NULL);
    e->install_us = (uint64_t)(now - w->begun_us);
    e->measured_us = (uint64_t)(now - w->b->started_us);
}

/* The lowest shard's failure is the batch's, so that the message does not
 * depend on the threads. */
static enum df_status first_failure(struct work *w)
{
    for (unsigned i = 0; i < w->shards; i++) {
        if (w->shard[i].status != DF_OK) {
            *w->err = w->shard[i].err;
            return w->shard[i].status;
        }
    }
    return DF_OK;
}

static enum df_status decide(struct work *w)
{
    enum df_status status = first_failure(w);

    if (status == DF_OK && w->b->stop != NULL && *w->b->stop != 0) {
        status = error_set(w->err, DF_INTERRUPTED, "interrupted");
    }
    if (status != DF_OK) {
        return status;
    }
    sum_up(w);
    w->pending.seq = w->b->entry->seq;
    w->pending.prepared = w->overwrite;
    w->pending.kept = w->from_kept;
    w->pending.record.record_high = w->b->record_high;
    status = ledger_record_make(&w->pending.record, w->b->entry, w->b->files,
                                w->b->file_count, w->err);
    if (status == DF_OK && w->shards > 1) {
        status = pending_decide(&w->pending, w->v, w->err);
        w->decided = status == DF_OK;
    }
    return status;
}

/* ---- commit ---- */

/* Commits the open transaction of a shard. */
static enum df_status commit_open(struct work *w, unsigned i,
                                  struct df_error *err)
{
    struct shard_work *s = &w->shard[i];
    struct store_txn *t = s->t;
    enum df_status status = shard_advance(
        t, &s->state, w->pending.seq, shard_after(&s->state, &s->fold),
        w->overwrite, w->b->entry, i == 0 ? &w->pending.record : NULL, err);

    s->t = NULL;
    if (status != DF_OK) {
        store_abort(t);
        return status;
    }
    return store_commit(t, err);
}

static void commit(struct work *w, unsigned i)
{
    struct shard_work *s = &w->shard[i];

    if (w->status != DF_OK) {
        store_abort(s->t);
        s->t = NULL;
        return;
    }
    if (s->t != NULL) {
        s->status = commit_open(w, i, &s->err);
    } else {
        s->status = shard_finish(w->v, i, &w->pending, &s->err);
    }
    /* Decided, so it must be; where the map was full it can be. */
    if (w->decided && s->status != DF_OK &&
        store_grow_if_full(s->store, &s->status, &s->err)) {
        s->status = shard_finish(w->v, i, &w->pending, &s->err);
    }
}

/* All three steps. A transaction stays with the thread that began it, so the
 * shards are dealt out the same way each time. */
static void apply(struct work *w)
{
#pragma omp parallel num_threads(install_team(w->b->threads, w->shards))
    {
#pragma omp for schedule(static, 1)
        for (unsigned i = 0; i < w->shards; i++) {
            prepare(w, i);
        }
#pragma omp master
        w->status = decide(w);
#pragma omp barrier
#pragma omp for schedule(static, 1)
        for (unsigned i = 0; i < w->shards; i++) {
            if (i > 0) {
                commit(w, i);
            }
        }
        /* Shard 0 was dealt to the master. */
#pragma omp master
        {
            if (w->status == DF_OK) {
                w->status = first_failure(w);
            }
            commit(w, 0);
            if (w->status == DF_OK) {
                w->status = first_failure(w);
            }
        }
    }
}

/* After a failure: nothing of the batch may stay. Errors here are not
 * reported, the next writer tries again. */
static void clean_up(struct work *w)
{
    struct df_error ignored;

    if (w->decided && w->status != DF_OK) {
        (void)error_prefix(w->err, w->status,
                           "the batch is decided but not yet in every shard, "
                           "the next run will finish it");
        return;
    }
    if (w->shards > 1) {
        pending_remove(w->v);
    }
    if (w->status != DF_OK && (w->overwrite || w->from_kept)) {
        enum df_status again = view_clear_undecided(w->v, &ignored);

        (void)again;
    }
}

enum df_status install_batch(struct view *v, struct install_batch *b,
                             struct install_negatives *negatives,
                             struct df_error *err)
{
    struct work *w = calloc(1, sizeof *w);
    enum df_status status;

    if (w == NULL) {
        return error_no_memory(err);
    }
    w->v = v;
    w->b = b;
    w->err = err;
    w->shards = v->definition.shards;
    w->from_kept = b->keep || b->entry->has_effects;
    w->begun_us = clock_us();
    w->memory = b->memory / w->shards;
    w->memory = w->memory < DIRTY_MIN ? DIRTY_MIN : w->memory;
    w->memory = w->memory > DIRTY_MAX ? DIRTY_MAX : w->memory;
    pending_init(&w->pending);
    for (unsigned i = 0; i < w->shards; i++) {
        w->shard[i].store = v->stores[i];
    }
    w->status = plan(w);
    do {
        if (w->status == DF_OK) {
            apply(w);
        }
        /* One shard: the commit itself may have found the map full. */
    } while (w->status != DF_OK && w->shards == 1 &&
             store_grow_if_full(w->shard[0].store, &w->status, err));
    for (unsigned i = 0; i < w->shards; i++) {
        if (w->status != DF_INPUT) {
            w->shard[i].negatives.count = 0;
            buf_reset(&w->shard[i].negatives.keys);
        }
        fold_give_negatives(&w->shard[i].negatives, negatives);
    }
    clean_up(w);
    status = w->status;
    pending_fini(&w->pending);
    free(w);
    return status;
}
