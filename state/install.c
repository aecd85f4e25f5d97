/*
 * Exactly once, on disk.
 *
 * A batch is visible when shard 0's transaction with its ledger entry has
 * committed. With one shard that is all: rows and entry are one transaction.
 * With several, a crash between two commits must not leave half a batch. Rows
 * that were changed cannot be put back, so there are three steps:
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
 * source. Readers take only sets of shards that can be seen as of one batch
 * (snapshot.c); after changes in place that is the batch that the shard is at.
 *
 * Example, shards 0 1 2 at batch 7, applying 8; a crash comes at each line:
 *
 *     prepare                      7 7 7   next run: starts over
 *     rename pending.run           7 7 7   next run: adds 8 to 0, 1 and 2
 *     commit shard 2               7 7 8   next run: adds 8 to 0 and 1
 *     commit shard 1               7 8 8   next run: adds 8 to 0
 *     commit shard 0 with entry 8  8 8 8   next run: removes pending.run
 *
 * A deferred batch changes no row. Its run is stored, and the overlay
 * (overlay.h) tells readers to add it, in one transaction per shard; shard 0's
 * decides, and no file is needed. Who is ahead of shard 0 can be seen as it
 * was, by leaving out what came last, and be put there:
 *
 *     prepare: runs stored         7 7 7   readers 7, next run: drops them
 *     commit shard 2               7 7 8+  readers 7, next run: 2 goes back
 *     commit shard 1               7 8+ 8+ readers 7, next run: both do
 *     commit shard 0 with entry 8  8 8 8   readers 8
 *     drop what entry 8 drops      8 8 8   next run: drops the rest of it
 *
 * The last line is for history (runs.h): a run that is dropped could not be
 * brought back, so drops wait for the decision. What is folded later, by the
 * next batch of another method or by compaction (compact.h), changes nothing
 * that can be seen, and each shard does it when it likes.
 *
 * A small one of these has one step: all its runs and the ledger entry are one
 * transaction of shard 0 (install_defer.c, inbox.h).
 *
 * Where runs are kept the batch's own run goes to the shard's store first,
 * and what is folded are the entry's effects, read from there: its own run,
 * usually, and what leaves a window. With several shards that store is
 * committed before `decide`, in place of the files: a run whose number is
 * above its shard's is not decided, and nobody looks at it.
 */
#include "state/install.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "state/inbox.h"
#include "state/install_internal.h"
#include "state/timings.h"

/* ---- prepare ---- */

/* Keeps the shard's run. It is committed, unless the rows can follow in the
 * same transaction. */
static enum df_status keep_run(struct work *w, unsigned i,
                               struct df_error *err)
{
    struct shard_work *s = &w->shard[i];
    enum df_status status = install_store_run(w, i, err);

    if (status == DF_OK && (w->shards > 1 || w->method == INSTALL_OVERWRITE)) {
        struct store_txn *t = s->t;

        s->t = NULL;
        status = store_commit(t, err);
    }
    return status;
}

/* Makes what the entry's effects come to the run that is folded, and the
 * overlay what it is folded with. */
static enum df_status open_effects(struct work *w, unsigned i,
                                   struct df_error *err)
{
    struct shard_work *s = &w->shard[i];
    enum df_status status = DF_OK;

    if (w->from_kept && w->b->keep) {
        status = keep_run(w, i, err);
    }
    if (status == DF_OK) {
        status =
            shard_effects_open(&s->effects, s->store, s->fold.shape,
                               w->from_kept ? w->b->entry : NULL, s->t, err);
    }
    if (status == DF_OK) {
        shard_effects_give(&s->effects, &s->fold);
    }
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
        status = fold_increment(&s->fold, s->t, err);
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
    enum df_status status =
        fold_overwrite(&s->fold, s->store, install_chunk(w), &s->t, err);

    if (status != DF_OK || w->shards == 1) {
        return status;
    }
    s->state.prepared = s->state.seq + 1;
    s->state.prepared_rows = shard_after(&s->fold).rows;
    s->state.prepared_magnitude = shard_after(&s->fold).magnitude;
    s->state.prepared_digest = shard_after(&s->fold).digest;
    status = shard_state_store(s->t, &s->state, err);
    if (status == DF_OK) {
        struct store_txn *t = s->t;

        s->t = NULL;
        status = store_commit(t, err);
    }
    return status;
}

/* What a rebuild amounts to: its runs are all rows there are to be. */
static enum df_status open_difference(struct work *w, unsigned i,
                                      struct df_error *err)
{
    struct shard_work *s = &w->shard[i];
    enum df_status status =
        difference_open(&s->difference, s->store, s->fold.shape, &s->state,
                        w->b->shards[i].run, err);

    s->run = s->difference.run;
    s->fold.run = s->run;
    return status;
}

static enum df_status prepare_fold(struct work *w, unsigned i,
                                   struct df_error *err)
{
    bool overwrite = w->method == INSTALL_OVERWRITE;
    enum df_status status = DF_OK;

    if (overwrite || w->from_kept) {
        status = shard_clear_undecided(w->shard[i].store, overwrite, err);
    }
    if (status == DF_OK && w->b->method == INSTALL_REBUILD) {
        status = open_difference(w, i, err);
    }
    if (status == DF_OK) {
        status = open_effects(w, i, err);
    }
    if (status == DF_OK) {
        status = overwrite ? prepare_overwrite(w, i, err)
                           : prepare_increment(w, i, err);
    }
    return status;
}

static enum df_status try_prepare(struct work *w, unsigned i,
                                  struct df_error *err)
{
    struct shard_work *s = &w->shard[i];
    enum df_status status = shard_look(s->store, &s->state, err);

    if (status == DF_OK) {
        status = w->method == INSTALL_DEFER ? install_prepare_defer(w, i, err)
                                            : prepare_fold(w, i, err);
    }
    shard_effects_close(&s->effects);
    difference_close(&s->difference);
    return status;
}

void install_begin_shard(struct work *w, unsigned i)
{
    struct shard_work *s = &w->shard[i];

    s->fold = (struct fold){
        .shape = w->v->definition.shape,
        .run = w->b->shards[i].run,
        .state = &s->state,
        .allow_negative = w->b->allow_negative,
        .negatives = &s->negatives,
        .stop = w->b->stop,
    };
    s->run = s->fold.run;
    s->deferred = 0;
    s->too_great = false;
}

/* Does a shard's part, again with a larger map where that was too small. */
static void prepare(struct work *w, unsigned i)
{
    struct shard_work *s = &w->shard[i];

    install_begin_shard(w, i);
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

/* How long it took up to now. */
static void measure(const struct work *w)
{
    struct ledger_entry *e = w->b->entry;

    clock_since(&w->begun, &e->install_us, &e->install_cpu_us);
    e->measured_us = (uint64_t)(clock_us() - w->b->started_us);
}

/* What one shard brought, for the entry. */
static void sum_up_shard(struct work *w, const struct shard_work *s)
{
    struct ledger_entry *e = w->b->entry;
    bool defer = w->method == INSTALL_DEFER;

    e->run_rows += s->kept.seq != 0 ? s->kept.rows : s->fold.run_rows;
    e->rows_added += s->fold.added;
    e->rows_changed += s->fold.changed;
    e->rows_removed += s->fold.removed;
    e->rows += defer ? s->state.rows : s->fold.rows;
    e->unfolded += s->deferred;
    e->view_before = digest_add(e->view_before, s->state.digest);
    e->view_after = digest_add(e->view_after, s->fold.digest);
}

static void sum_up(struct work *w)
{
    struct ledger_entry *e = w->b->entry;

    e->run_rows = 0;
    e->rows_added = 0;
    e->rows_changed = 0;
    e->rows_removed = 0;
    e->rows = 0;
    e->unfolded = 0;
    e->view_before = (struct hash128){ 0, 0 };
    e->view_after = (struct hash128){ 0, 0 };
    for (unsigned i = 0; i < w->shards; i++) {
        sum_up_shard(w, &w->shard[i]);
    }
    e->view_after = digest_add(e->view_after, e->view_before);
    e->rows_seen = w->method != INSTALL_DEFER;
    e->time = (int64_t)time(NULL);
    measure(w);
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

/* A batch that could not be deferred after all: nothing of it is left open,
 * and the caller goes another way. */
static bool is_too_great(const struct work *w)
{
    for (unsigned i = 0; i < w->shards; i++) {
        if (w->shard[i].too_great) {
            return true;
        }
    }
    return false;
}

/* The part of the record that is known before any shard is prepared. Without
 * memory it is tried again where that can be said. */
static void list_files(struct work *w)
{
    w->files_are_listed =
        w->files_are_listed ||
        ledger_record_files(&w->pending.record, w->b->files, w->b->file_count);
}

static enum df_status make_record(struct work *w)
{
    list_files(w);
    w->pending.record.record_high = w->b->record_high;
    return w->files_are_listed &&
                   ledger_record_entry(&w->pending.record, w->b->entry)
               ? DF_OK
               : error_no_memory(w->err);
}

enum df_status install_decide(struct work *w)
{
    enum df_status status = first_failure(w);

    if (status == DF_OK && is_too_great(w)) {
        status = error_set(w->err, DF_SYSTEM, "a batch cannot be deferred");
    }
    if (status == DF_OK && w->b->stop != NULL && *w->b->stop != 0) {
        status = error_set(w->err, DF_INTERRUPTED, "interrupted");
    }
    if (status != DF_OK) {
        return status;
    }
    sum_up(w);
    w->pending.seq = w->b->entry->seq;
    w->pending.prepared = w->method == INSTALL_OVERWRITE;
    w->pending.kept = w->from_kept;
    status = make_record(w);
    if (status == DF_OK && w->shards > 1 && w->method != INSTALL_DEFER) {
        status = pending_decide(&w->pending, w->v, w->err);
        w->decided = status == DF_OK;
    }
    w->b->begun_commit = status == DF_OK;
    return status;
}

/* ---- commit ---- */

/* Commits the open transaction of a shard. */
static enum df_status commit_open(struct work *w, unsigned i,
                                  struct df_error *err)
{
    struct shard_work *s = &w->shard[i];
    struct store_txn *t = s->t;
    bool defer = w->method == INSTALL_DEFER;
    const struct shard_step step = {
        .seq = w->pending.seq,
        .rows = shard_after(&s->fold),
        .flip = w->method == INSTALL_OVERWRITE,
        .defer = defer,
        .keep_drops = defer && w->shards > 1,
        .entry = w->b->entry,
        .record = i == 0 ? &w->pending.record : NULL,
    };
    enum df_status status;

    assert(s->state.seq + 1 == step.seq);
    status = shard_advance(t, &s->state, &step, err);

    s->t = NULL;
    if (status != DF_OK) {
        store_abort(t);
        return status;
    }
    return store_commit(t, err);
}

void install_commit(struct work *w, unsigned i)
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

/* All three steps, in parallel. A transaction stays with the thread that began
 * it, so the shards are dealt out the same way each time. */
static void apply_by_shards(struct work *w)
{
#pragma omp parallel num_threads(w->team)
    {
#pragma omp for schedule(static, 1) nowait
        for (unsigned i = 0; i < w->shards; i++) {
            prepare(w, i);
        }
        /* Whoever is ready first. The others come here later. */
#pragma omp single
        list_files(w);
#pragma omp master
        w->status = install_decide(w);
#pragma omp barrier
#pragma omp for schedule(static, 1)
        for (unsigned i = 0; i < w->shards; i++) {
            if (i > 0) {
                install_commit(w, i);
            }
        }
        /* Shard 0 was dealt to the master. */
#pragma omp master
        {
            if (w->status == DF_OK) {
                w->status = first_failure(w);
            }
            install_commit(w, 0);
            if (w->status == DF_OK) {
                w->status = first_failure(w);
            }
        }
    }
}

static void apply(struct work *w)
{
    if (w->at_once) {
        install_at_once(w);
    } else {
        apply_by_shards(w);
    }
}

/* After a failure: nothing of the batch may stay. */
static enum df_status take_back(struct work *w, struct df_error *err)
{
    enum df_status status = DF_OK;

    if (w->shards > 1) {
        pending_remove(w->v);
    }
    if (w->method == INSTALL_DEFER && w->shards > 1) {
        status = view_take_back(w->v, err);
    }
    if (status == DF_OK && (w->method != INSTALL_INCREMENT || w->from_kept)) {
        status = view_clear_undecided(w->v, err);
    }
    return status;
}

/* Errors here are not reported, the next writer tries again. */
static void clean_up(struct work *w)
{
    struct df_error ignored;
    enum df_status status = DF_OK;

    if (w->decided && w->status != DF_OK) {
        (void)error_prefix(w->err, w->status,
                           "the batch is decided but not yet in every shard, "
                           "the next run will finish it");
    } else if (w->status != DF_OK) {
        status = take_back(w, &ignored);
    } else if (w->shards > 1 && w->method != INSTALL_DEFER) {
        pending_remove(w->v);
    } else if (w->shards > 1) {
        status = view_settle_drops(w->v, &ignored);
    }
    (void)status;
}

/* Whether what failed can be done again: a map was full and has been made
 * larger, or the batch is not to be deferred. */
static bool can_go_on(struct work *w)
{
    bool more = is_too_great(w);

    if (w->status == DF_OK || w->decided) {
        return false;
    }
    for (unsigned i = 0; i < w->shards; i++) {
        enum df_status status = DF_OK;

        if (store_grow_if_full(w->shard[i].store, &status, w->err)) {
            more = true;
        } else if (status != DF_OK) {
            return false;
        }
    }
    if (more) {
        w->status = take_back(w, w->err);
    }
    if (more && is_too_great(w)) {
        /* Seen row by row, the greatest number is known again. */
        w->method = INSTALL_OVERWRITE;
        w->b->entry->method = INSTALL_OVERWRITE;
        if (w->at_once && w->status == DF_OK) {
            w->at_once = false;
            w->status = view_empty_inbox(w->v, w->b->threads, w->err);
        }
    }
    return more && w->status == DF_OK;
}

/* The commit's time, too. */
static void note_time(struct work *w)
{
    measure(w);
    timings_note(w->v, w->b->entry);
}

static void give_negatives(struct work *w, struct install_negatives *to)
{
    for (unsigned i = 0; i < w->shards; i++) {
        struct install_negatives *from = &w->shard[i].negatives;

        if (w->status != DF_INPUT) {
            from->count = 0;
            buf_reset(&from->keys);
        }
        fold_give_negatives(from, to);
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
    install_work_init(w);
    w->status = install_plan(w);
    if (w->status == DF_OK) {
        do {
            apply(w);
        } while (can_go_on(w));
    }
    give_negatives(w, negatives);
    if (w->status == DF_OK) {
        note_time(w);
    }
    clean_up(w);
    status = w->status;
    pending_fini(&w->pending);
    free(w);
    return status;
}
