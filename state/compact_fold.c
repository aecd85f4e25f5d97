/*
 * Folding, for compact.c: the overlay of one shard into its rows, in place
 * where it is small, else by filling the other table chunk by chunk.
 */
#include "state/commit.h"
#include "state/compact_internal.h"
#include "state/cost.h"

enum { LOOK_EVERY = 1024 /* rows between looks at the stop flag */ };

static enum df_status interrupted(struct df_error *err)
{
    return error_set(err, DF_INTERRUPTED, "interrupted");
}

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
                                         .state = &c->state,
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

    while (status == DF_OK && f->row != NULL &&
           f->written < compact_chunk_bytes) {
        if (++f->looked % LOOK_EVERY == 0 && compact_is_stopped(f->c)) {
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
        more = more && !compact_is_late(c);
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

    return c->overlay.folding == 0 && dirty < (double)compact_chunk_bytes &&
           cost_model(&f, INSTALL_INCREMENT) <
               cost_model(&f, INSTALL_OVERWRITE);
}

enum df_status compact_fold_step(struct shard_compact *c, struct df_error *err)
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
