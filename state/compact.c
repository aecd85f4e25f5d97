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
#include "state/cost.h"

enum {
    TIER = 4,           /* runs merged at a time, at least */
    LEVEL_0 = 64 << 10, /* bytes of the smallest level */
    MERGE_PART = 2,     /* of what is due: larger sums are not merged, ... */
    TERMS_MANY = OVERLAY_MAX / 2, /* ... unless there are so many runs */
    CHUNK = 4 << 20,              /* bytes per transaction: some 40 ms */
    LOOK_EVERY = 1024             /* rows between looks at the stop flag */
};

static size_t chunk_bytes = CHUNK;
static size_t level_bytes = LEVEL_0;

void compact_set_scale(size_t bytes)
{
    chunk_bytes = bytes == 0 ? CHUNK : bytes;
    level_bytes = bytes == 0 ? LEVEL_0 : bytes;
    cost_set_due_min((double)bytes);
}

/* One shard on its way; what is known of it is as of the last transaction. */
struct shard_compact {
    const struct compact_plan *plan;
    struct store *store;
    struct row_shape shape;
    int64_t deadline_us;
    struct shard_state state;
    struct overlay overlay;
    struct overlay_sum over;
    uint64_t stored[OVERLAY_MAX]; /* bytes of each run */
    uint64_t due;                 /* bytes at which the overlay is folded */
    uint64_t leaf_pages;
    uint32_t page_size;
    struct compact_report report;
    enum df_status status;
    struct df_error err;
};

static bool stopped(const struct shard_compact *c)
{
    return c->plan->stop != NULL && *c->plan->stop != 0;
}

static enum df_status interrupted(struct df_error *err)
{
    return error_set(err, DF_INTERRUPTED, "interrupted");
}

static bool is_behind(const struct shard_compact *c)
{
    return c->over.stored > COMPACT_BEHIND * c->due;
}

static bool is_late(const struct shard_compact *c)
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
        status = overlay_sum(t, &c->overlay, i, i + 1, &c->over, err);
        c->stored[i] = c->over.stored;
    }
    if (status == DF_OK) {
        status =
            overlay_sum(t, &c->overlay, 0, c->overlay.count, &c->over, err);
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

    for (; bytes > level_bytes; bytes /= TIER) {
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
               (many || bytes + c->stored[from - 1] <= c->due / MERGE_PART)) {
            bytes += c->stored[--from];
        }
        if (count - from >= TIER) {
            return from;
        }
    }
    return many && count - c->overlay.folding >= TIER ? c->overlay.folding
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
    bool empty = run->rows == 0;
    enum df_status status = empty ? runs_drop(t, run->seq, err) : DF_OK;

    if (status == DF_OK) {
        status =
            overlay_replace(t, o, from, o->count, empty ? NULL : &term, err);
    }
    c->state.settled = c->state.seq;
    return status == DF_OK ? shard_state_store(t, &c->state, err) : status;
}

static enum df_status merge_terms(struct shard_compact *c, size_t from,
                                  struct store_txn *read, struct df_error *err)
{
    const struct runs_from source = { .shape = c->shape, .t = read };
    struct runs_term terms[OVERLAY_MAX];
    struct runs_put put = { .shape = c->shape,
                            .chunk = chunk_bytes,
                            .stop = c->plan->stop };
    struct store_txn *t = NULL;
    struct runs_sum sum = { 0 };
    struct kept_run run;
    enum df_status status = runs_next_merged(read, &put.seq, err);

    overlay_terms(&c->overlay, c->overlay.count, terms);
    if (status == DF_OK) {
        status = runs_sum_open(&sum, &source, terms + from,
                               c->overlay.count - from, err);
    }
    if (status == DF_OK) {
        put.run = sum.run;
        status = runs_put(&put, c->store, &t, &run, err);
    }
    runs_sum_close(&sum);
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

/* ---- folding ---- */

/* What lies in the table now is what the first `folding` terms add up to with
 * the rows before; stores that. */
static enum df_status end_fold(struct shard_compact *c, struct store_txn *t,
                               uint64_t rows, uint64_t magnitude,
                               struct df_error *err)
{
    struct overlay *o = &c->overlay;
    size_t n = o->folding;
    enum df_status status;

    o->folding = 0;
    o->fold_rows = 0;
    o->fold_magnitude = 0;
    o->fold_head_len = 0;
    c->state.rows = rows;
    c->state.magnitude = magnitude;
    c->state.settled = c->state.seq;
    status = overlay_replace(t, o, 0, n, NULL, err);

    c->report.folded += n;
    return status == DF_OK ? shard_state_store(t, &c->state, err) : status;
}

/* All of the overlay in place, in one transaction. */
static enum df_status fold_in_place(struct shard_compact *c,
                                    struct df_error *err)
{
    struct install_negatives none = { 0 };
    struct shard_effects effects;
    struct fold f = { .shape = c->shape,
                      .state = &c->state,
                      .allow_negative = true,
                      .negatives = &none,
                      .stop = c->plan->stop };
    struct store_txn *t = NULL;
    enum df_status status =
        shard_effects_open(&effects, c->store, c->shape, NULL, NULL, err);

    if (status != DF_OK) {
        return status;
    }
    shard_effects_give(&effects, &f);
    status = store_begin(&t, c->store, STORE_WRITE, err);
    if (status == DF_OK) {
        status = fold_increment(&f, t, err);
    }
    shard_effects_close(&effects);
    if (status == DF_OK) {
        c->overlay.folding = c->overlay.count;
        status = end_fold(c, t, f.rows, f.magnitude, err);
    }
    if (status != DF_OK) {
        store_abort(t);
        return status;
    }
    return store_commit(t, err);
}

/* The other table while it is filled. */
struct filling {
    struct shard_compact *c;
    struct shard_run from; /* rows and runs */
    const struct row *row; /* the next to be written */
    struct store_txn *t;
    struct rows_writer *writer;
    size_t written; /* since the last commit */
    uint64_t looked;
};

static enum df_status filling_open(struct filling *f, struct store_txn *read,
                                   struct runs_term *terms,
                                   struct df_error *err)
{
    struct shard_compact *c = f->c;
    struct overlay *o = &c->overlay;
    struct bytes head = bytes_of(o->fold_head, o->fold_head_len);
    const struct shard_run_from from = { .shape = c->shape,
                                         .t = read,
                                         .table = shard_rows_table(&c->state),
                                         .terms = terms,
                                         .count = o->folding };
    enum df_status status;

    overlay_terms(o, o->folding, terms);
    status = shard_run_open(&f->from, &from, err);
    if (status == DF_OK && head.len > 0) {
        status = f->from.run->seek(f->from.run, head, err);
    }
    if (status == DF_OK) {
        status = f->from.run->next(f->from.run, &f->row, err);
    }
    /* The head itself is there already. */
    return status == DF_OK && head.len > 0 && f->row != NULL &&
                   bytes_equal(f->row->head, head)
               ? f->from.run->next(f->from.run, &f->row, err)
               : status;
}

static enum df_status begin_chunk(struct filling *f, struct df_error *err)
{
    struct shard_compact *c = f->c;
    enum df_status status = store_begin(&f->t, c->store, STORE_WRITE, err);

    f->written = 0;
    return status == DF_OK
               ? rows_writer_open(&f->writer, f->t,
                                  shard_other_table(&c->state),
                                  c->shape.components, &f->written, err)
               : status;
}

static enum df_status write_row(struct filling *f, struct df_error *err)
{
    struct overlay *o = &f->c->overlay;
    uint64_t one = row_values_magnitude(f->c->shape, f->row->values);

    o->fold_rows++;
    o->fold_magnitude = one > o->fold_magnitude ? one : o->fold_magnitude;
    o->fold_head_len = f->row->head.len;
    memcpy(o->fold_head, f->row->head.data, f->row->head.len);
    return rows_writer_add(f->writer, f->row, err);
}

/* Writes rows until the chunk is full or there is none left. */
static enum df_status fill_chunk(struct filling *f, struct df_error *err)
{
    enum df_status status = DF_OK;

    while (status == DF_OK && f->row != NULL && f->written < chunk_bytes) {
        if (++f->looked % LOOK_EVERY == 0 && stopped(f->c)) {
            return interrupted(err);
        }
        status = write_row(f, err);
        if (status == DF_OK) {
            status = f->from.run->next(f->from.run, &f->row, err);
        }
    }
    return status == DF_OK ? rows_writer_end(f->writer, err) : status;
}

/* The table is complete: it takes the other's place. */
static enum df_status take_place(struct shard_compact *c, struct store_txn *t,
                                 struct df_error *err)
{
    enum df_status status = store_empty(t, shard_rows_table(&c->state), err);

    c->state.active = 1 - c->state.active;
    return status == DF_OK ? end_fold(c, t, c->overlay.fold_rows,
                                      c->overlay.fold_magnitude, err)
                           : status;
}

static enum df_status end_chunk(struct filling *f, struct df_error *err)
{
    struct shard_compact *c = f->c;
    struct store_txn *t = f->t;
    enum df_status status = f->row == NULL
                                ? take_place(c, t, err)
                                : overlay_store(t, &c->overlay, err);

    rows_writer_close(f->writer);
    f->writer = NULL;
    if (status != DF_OK) {
        return status;
    }
    f->t = NULL;
    return store_commit(t, err);
}

/* One chunk after the other, until it is late or the fold is complete. A
 * failure leaves what is in memory behind: look() again. */
static enum df_status fill(struct shard_compact *c, struct store_txn *read,
                           struct df_error *err)
{
    struct runs_term terms[OVERLAY_MAX];
    struct filling f = { .c = c };
    enum df_status status = filling_open(&f, read, terms, err);
    bool more = status == DF_OK;

    while (status == DF_OK && more) {
        status = begin_chunk(&f, err);
        if (status == DF_OK) {
            status = fill_chunk(&f, err);
        }
        if (status == DF_OK) {
            more = f.row != NULL;
            status = end_chunk(&f, err);
        }
        more = more && !is_late(c);
    }
    rows_writer_close(f.writer);
    store_abort(f.t);
    shard_run_close(&f.from);
    return status;
}

/* The other table is empty but for a fold that goes on. */
static enum df_status begin_fold(struct shard_compact *c, struct df_error *err)
{
    enum df_status status = DF_OK;

    if (c->overlay.folding == 0) {
        status = shard_clear_undecided(c->store, true, err);
        c->overlay.folding = c->overlay.count;
    }
    return status;
}

/* Whether an overlay is so small that changing rows in place costs less. */
static bool is_small(const struct shard_compact *c)
{
    struct cost_features f = { .view_rows = (double)c->state.rows,
                               .leaf_pages = (double)c->leaf_pages,
                               .page_size = c->page_size,
                               .overlay_rows = (double)c->over.rows,
                               .lanes = 1 };
    double dirty = cost_pages_hit(f.leaf_pages, f.overlay_rows) * f.page_size;

    return c->overlay.folding == 0 && dirty < (double)chunk_bytes &&
           cost_model(&f, INSTALL_INCREMENT) <
               cost_model(&f, INSTALL_OVERWRITE);
}

static enum df_status fold_step(struct shard_compact *c, struct df_error *err)
{
    struct store_txn *read;
    uint64_t changes = c->over.rows;
    uint64_t folded = c->report.folded;
    enum df_status status;

    if (is_small(c)) {
        status = fold_in_place(c, err);
    } else {
        status = begin_fold(c, err);
        if (status != DF_OK) {
            return status;
        }
        status = store_begin(&read, c->store, STORE_READ, err);
        if (status == DF_OK) {
            status = fill(c, read, err);
            store_abort(read);
        }
    }
    if (status == DF_OK && c->report.folded > folded) {
        c->report.changes += changes;
    } else if (status != DF_OK) {
        c->report.folded = folded;
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
    if (is_time_to_fold(c)) {
        *more = true;
        return fold_step(c, err);
    }
    from = merge_from(c);
    if (from < c->overlay.count) {
        *more = true;
        return merge_step(c, from, err);
    }
    return DF_OK;
}

static void compact_shard(struct shard_compact *c)
{
    bool more = true;

    do {
        if (stopped(c)) {
            c->status = interrupted(&c->err);
            return;
        }
        do {
            c->status = step(c, &more, &c->err);
        } while (c->status != DF_OK &&
                 store_grow_if_full(c->store, &c->status, &c->err));
    } while (c->status == DF_OK && more && !is_late(c));
    if (c->status != DF_OK) {
        struct df_error ignored;
        enum df_status status =
            shard_clear_undecided(c->store, false, &ignored);

        (void)status; /* the next writer tries again */
    }
}

/* ---- all shards ---- */

/* How long it took is told by the next entry of the ledger. */
static enum df_status note_time(struct store *s, uint64_t us,
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
    if (status != DF_OK) {
        store_abort(t);
        return status;
    }
    return store_commit(t, err);
}

static enum df_status sum_up(struct view *v,
                             const struct shard_compact *shards,
                             int64_t begun_us, struct compact_report *report,
                             struct df_error *err)
{
    struct store *s = v->stores[0];
    enum df_status status = DF_OK;

    *report = (struct compact_report){ 0 };
    for (unsigned i = 0; i < v->definition.shards; i++) {
        const struct compact_report *one = &shards[i].report;

        report->merged =
            one->merged > report->merged ? one->merged : report->merged;
        report->folded =
            one->folded > report->folded ? one->folded : report->folded;
        report->changes += one->changes;
        if (status == DF_OK && shards[i].status != DF_OK) {
            status = shards[i].status;
            *err = shards[i].err;
        }
    }
    report->us = (uint64_t)(clock_us() - begun_us);
    if (status != DF_OK || report->merged + report->folded == 0) {
        return status;
    }
    do {
        status = note_time(s, report->us, err);
    } while (status != DF_OK && store_grow_if_full(s, &status, err));
    return status;
}

enum df_status view_compact(struct view *v, const struct compact_plan *plan,
                            struct compact_report *report,
                            struct df_error *err)
{
    unsigned shards = v->definition.shards;
    struct shard_compact *all = calloc(shards, sizeof *all);
    int64_t begun_us = clock_us();
    enum df_status status;

    *report = (struct compact_report){ 0 };
    if (all == NULL) {
        return error_no_memory(err);
    }
#pragma omp parallel for num_threads(install_team(plan->threads, shards))     \
    schedule(dynamic, 1)
    for (unsigned i = 0; i < shards; i++) {
        all[i].plan = plan;
        all[i].store = v->stores[i];
        all[i].shape = v->definition.shape;
        all[i].deadline_us = begun_us + plan->budget_us;
        compact_shard(&all[i]);
    }
    status = sum_up(v, all, begun_us, report, err);
    free(all);
    return status;
}
