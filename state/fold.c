#include "state/fold.h"

#include "state/rows.h"

enum { LOOK_EVERY = 1024 /* rows between looks at the stop flag */ };

void install_negatives_fini(struct install_negatives *n)
{
    buf_fini(&n->keys);
    n->count = 0;
}

void fold_give_negatives(struct install_negatives *from,
                         struct install_negatives *to)
{
    /* What does not fit in memory is found in a later try. */
    if (to->count + from->count <= INSTALL_NEGATIVES_MAX &&
        buf_append(&to->keys, from->keys.data, from->keys.len)) {
        to->count += from->count;
    }
    install_negatives_fini(from);
}

static enum df_status interrupted(struct df_error *err)
{
    return error_set(err, DF_INTERRUPTED, "interrupted");
}

static bool stopped(const struct fold *f, uint64_t rows)
{
    return rows % LOOK_EVERY == 0 && f->stop != NULL && *f->stop != 0;
}

/* Starts over: counts at zero, run at its first row. */
static enum df_status begin(struct fold *f, struct df_error *err)
{
    f->digest =
        f->known_digest != NULL ? *f->known_digest : (struct hash128){ 0, 0 };
    f->run_rows = 0;
    f->added = 0;
    f->changed = 0;
    f->removed = 0;
    f->rows = 0;
    f->magnitude = 0;
    f->negatives->count = 0;
    buf_reset(&f->negatives->keys);
    return f->run == NULL ? DF_OK : f->run->rewind(f->run, err);
}

/* Appends the full row key of a row to out (reset before). */
static enum df_status full_key(const struct row *row, struct buf *out,
                               struct df_error *err)
{
    buf_reset(out);
    return row_join(out, row->head, row->tail) ? DF_OK : error_no_memory(err);
}

/* The next row of the run, counted into the digest and copied. */
static enum df_status next_row(struct fold *f, struct buf *key,
                               const struct row **row, struct df_error *err)
{
    enum df_status status = DF_OK;

    *row = NULL;
    if (f->run != NULL) {
        status = f->run->next(f->run, row, err);
    }
    struct bytes whole;

    if (status != DF_OK || *row == NULL) {
        return status;
    }
    if (stopped(f, f->run_rows)) {
        return interrupted(err);
    }
    f->run_rows++;
    whole = (*row)->head;
    if (whole.len == ROW_HEAD_MAX && f->known_digest == NULL) {
        status = full_key(*row, key, err);
        whole = buf_bytes(key);
    }
    if (status == DF_OK && f->known_digest == NULL) {
        f->digest =
            digest_add(f->digest, row_digest(f->shape, whole, (*row)->values));
    }
    if (status == DF_OK && f->copy != NULL) {
        status = run_writer_add(f->copy, *row, err);
    }
    return status;
}

static enum df_status note_negative(struct fold *f, const struct row *row,
                                    struct df_error *err)
{
    struct install_negatives *n = f->negatives;
    uint8_t length[4] = { 0 };
    size_t at = n->keys.len;

    if (n->count == INSTALL_NEGATIVES_MAX) {
        return DF_OK;
    }
    if (!buf_append(&n->keys, length, sizeof length) ||
        !row_join(&n->keys, row->head, row->tail)) {
        return error_no_memory(err);
    }
    store_be32(n->keys.data + at,
               (uint32_t)(n->keys.len - at - sizeof length));
    n->count++;
    return DF_OK;
}

/* The last word on a run in which negatives were found. */
static enum df_status finish(struct fold *f, struct df_error *err)
{
    const struct install_negatives *n = f->negatives;
    struct buf room = { 0 };
    struct bytes key;
    struct bytes element;
    struct bytes first;
    struct shown s;

    if (n->count == 0) {
        return DF_OK;
    }
    first = bytes_of(n->keys.data + 4, load_be32(n->keys.data));
    if (!row_decode(f->shape, first, &room, &key, &element)) {
        key = first;
    }
    (void)error_set(err, DF_INPUT,
                    "key '%s' would become negative (rows that would: %zu)",
                    shown(&s, key), n->count);
    buf_fini(&room);
    return DF_INPUT;
}

/* What becomes of the values of a row (all zeros where there is none) when the
 * run's row is added to them. Notes where that may not be. */
static enum df_status add(struct fold *f, const struct row *row,
                          int64_t *values, struct df_error *err)
{
    if (!row_values_add(f->shape, values, row->values)) {
        return row_overflow(err, f->shape, row->head, row->tail);
    }
    if (values[0] < 0 && row->values[0] < 0 && !f->allow_negative) {
        return note_negative(f, row, err);
    }
    return DF_OK;
}

/* Counts what the run made of a row of the view. */
static void count_change(struct fold *f, bool was_there, bool is_there)
{
    if (!is_there) {
        f->removed++;
    } else {
        f->changed += was_there ? 1 : 0;
        f->added += was_there ? 0 : 1;
    }
}

/* ---- in place ---- */

/* A head that the run, the overlay or both have, on its way. */
struct increment {
    struct fold *f;
    struct rows_editor *editor;
    struct runs_sum sum;        /* of the overlay */
    const struct row *from_run; /* one ahead; NULL past the last */
    const struct row *deferred;
    struct buf key;
    uint64_t looked; /* rows of the overlay, for the stop flag */
    uint64_t run_magnitude;
};

static enum df_status next_from_run(struct increment *n, struct df_error *err)
{
    enum df_status status = next_row(n->f, &n->key, &n->from_run, err);

    if (status == DF_OK && n->from_run != NULL) {
        uint64_t one = row_values_magnitude(n->f->shape, n->from_run->values);

        n->run_magnitude = one > n->run_magnitude ? one : n->run_magnitude;
    }
    return status;
}

static enum df_status next_deferred(struct increment *n, struct df_error *err)
{
    n->deferred = NULL;
    if (n->sum.run == NULL) {
        return DF_OK;
    }
    if (stopped(n->f, ++n->looked)) {
        return interrupted(err);
    }
    return n->sum.run->next(n->sum.run, &n->deferred, err);
}

static enum df_status increment_open(struct increment *n, struct store_txn *t,
                                     struct df_error *err)
{
    struct fold *f = n->f;
    struct runs_from from = { .shape = f->shape,
                              .t = f->overlay.t,
                              .inbox = f->overlay.inbox };
    enum df_status status = begin(f, err);

    f->rows = f->state->rows;
    if (status == DF_OK) {
        status = rows_editor_open(&n->editor, t, shard_rows_table(f->state),
                                  f->shape.components, err);
    }
    if (status == DF_OK && f->overlay.count > 0) {
        status = runs_sum_open(&n->sum, &from, f->overlay.terms,
                               f->overlay.count, err);
    }
    if (status == DF_OK) {
        status = next_deferred(n, err);
    }
    return status == DF_OK ? next_from_run(n, err) : status;
}

static void increment_close(struct increment *n)
{
    runs_sum_close(&n->sum);
    rows_editor_close(n->editor);
    buf_fini(&n->key);
}

/* Adds a row to values, those of a row with the same head. */
static enum df_status add_same(const struct fold *f, const struct row *row,
                               const struct row *other, int64_t *values,
                               struct df_error *err)
{
    if (!bytes_equal(row->tail, other->tail)) {
        return row_collision(err, f->shape, row->head, row->tail);
    }
    return row_values_add(f->shape, values, row->values)
               ? DF_OK
               : row_overflow(err, f->shape, row->head, row->tail);
}

/* Changes the row of one head: `deferred`, `from_run` or both are given. */
static enum df_status increment_row(struct increment *n,
                                    const struct row *deferred,
                                    const struct row *from_run,
                                    struct df_error *err)
{
    struct fold *f = n->f;
    const struct row *some = from_run != NULL ? from_run : deferred;
    int64_t values[DF_COMPONENTS_MAX] = { 0 };
    const struct row *old;
    bool was_there;
    bool is_there;
    enum df_status status = rows_editor_find(n->editor, some->head, &old, err);

    if (status == DF_OK && old != NULL) {
        status = add_same(f, old, some, values, err);
    }
    if (status == DF_OK && deferred != NULL) {
        status = add_same(f, deferred, some, values, err);
    }
    was_there = !row_values_zero(f->shape.components, values);
    if (status == DF_OK && from_run != NULL) {
        status = add(f, from_run, values, err);
    }
    if (status != DF_OK || f->negatives->count > 0) {
        return status;
    }
    is_there = !row_values_zero(f->shape.components, values);
    if (from_run != NULL) {
        count_change(f, was_there, is_there);
    }
    f->rows += is_there ? 1 : 0;
    f->rows -= old != NULL ? 1 : 0;
    if (!is_there) {
        return DF_OK;
    }
    return rows_editor_put(n->editor,
                           &(struct row){ .head = some->head,
                                          .tail = some->tail,
                                          .values = values },
                           err);
}

/* The next head of run and overlay. */
static enum df_status increment_next(struct increment *n, struct df_error *err)
{
    int order = n->deferred == NULL ? -1
                : n->from_run == NULL
                    ? 1
                    : bytes_compare(n->from_run->head, n->deferred->head);
    enum df_status status =
        increment_row(n, order >= 0 ? n->deferred : NULL,
                      order <= 0 ? n->from_run : NULL, err);

    if (status == DF_OK && order >= 0) {
        status = next_deferred(n, err);
    }
    if (status == DF_OK && order <= 0) {
        status = next_from_run(n, err);
    }
    return status;
}

enum df_status fold_increment(struct fold *f, struct store_txn *t,
                              struct df_error *err)
{
    struct increment n = { .f = f };
    enum df_status status = increment_open(&n, t, err);

    while (status == DF_OK && (n.deferred != NULL || n.from_run != NULL)) {
        status = increment_next(&n, err);
    }
    if (status == DF_OK) {
        status = finish(f, err);
    }
    if (status == DF_OK) {
        status = rows_editor_end(n.editor, err);
    }
    f->magnitude = row_magnitude_add(
        row_magnitude_add(f->state->magnitude, f->overlay_magnitude),
        n.run_magnitude);
    increment_close(&n);
    return status;
}

/* ---- all rows anew ---- */

/* The new table as it grows, in transactions of about `chunk` bytes. */
struct appender {
    struct store *store;
    enum store_table table;
    unsigned components;
    size_t chunk;
    size_t written; /* since the last commit */
    struct store_txn *t;
    struct rows_writer *rows;
};

static enum df_status appender_begin(struct appender *a, struct df_error *err)
{
    enum df_status status = store_begin(&a->t, a->store, STORE_WRITE, err);

    a->written = 0;
    if (status == DF_OK) {
        status = rows_writer_open(&a->rows, a->t, a->table, a->components,
                                  &a->written, err);
    }
    return status;
}

static void appender_abort(struct appender *a)
{
    rows_writer_close(a->rows);
    store_abort(a->t);
    a->rows = NULL;
    a->t = NULL;
}

/* Puts everything into the transaction and gives that away. */
static enum df_status appender_take(struct appender *a, struct store_txn **t,
                                    struct df_error *err)
{
    enum df_status status = rows_writer_end(a->rows, err);

    rows_writer_close(a->rows);
    a->rows = NULL;
    if (status == DF_OK) {
        *t = a->t;
        a->t = NULL;
    }
    return status;
}

static enum df_status appender_add(struct appender *a, const struct row *row,
                                   struct df_error *err)
{
    struct store_txn *t;
    enum df_status status = rows_writer_add(a->rows, row, err);

    if (status != DF_OK || a->written < a->chunk) {
        return status;
    }
    status = appender_take(a, &t, err);
    if (status == DF_OK) {
        status = store_commit(t, err);
    }
    return status == DF_OK ? appender_begin(a, err) : status;
}

/* The view's old rows, one ahead. */
struct old_rows {
    struct store_txn *t;
    struct shard_run rows;
    const struct row *row; /* NULL past the last */
};

static enum df_status old_rows_next(struct old_rows *o, struct df_error *err)
{
    return o->rows.run->next(o->rows.run, &o->row, err);
}

static enum df_status old_rows_open(struct old_rows *o, const struct fold *f,
                                    struct store *s, struct df_error *err)
{
    struct shard_run_from from = f->overlay;
    enum df_status status = store_begin(&o->t, s, STORE_READ, err);

    from.shape = f->shape;
    from.t = o->t;
    from.state = f->state;
    if (status == DF_OK) {
        status = shard_run_open(&o->rows, &from, err);
    }
    return status == DF_OK ? old_rows_next(o, err) : status;
}

static void old_rows_close(struct old_rows *o)
{
    shard_run_close(&o->rows);
    store_abort(o->t);
}

static enum df_status append(struct fold *f, struct appender *a,
                             const struct row *row, struct df_error *err)
{
    uint64_t one = row_values_magnitude(f->shape, row->values);

    f->magnitude = one > f->magnitude ? one : f->magnitude;
    f->rows++;
    return appender_add(a, row, err);
}

/* Old rows that come before the run's next (all of them: row NULL) stay as
 * they are. */
static enum df_status keep_before(struct fold *f, struct appender *a,
                                  struct old_rows *o, const struct row *row,
                                  struct df_error *err)
{
    enum df_status status = DF_OK;
    uint64_t kept = 0;

    while (status == DF_OK && o->row != NULL &&
           (row == NULL || bytes_compare(o->row->head, row->head) < 0)) {
        if (f->negatives->count == 0) {
            status = append(f, a, o->row, err);
        }
        if (status == DF_OK && stopped(f, ++kept)) {
            status = interrupted(err);
        }
        if (status == DF_OK) {
            status = old_rows_next(o, err);
        }
    }
    return status;
}

/* One row of the run, with the old row of the same head where there is one. */
static enum df_status merge_row(struct fold *f, struct appender *a,
                                struct old_rows *o, const struct row *row,
                                struct df_error *err)
{
    int64_t values[DF_COMPONENTS_MAX] = { 0 };
    bool same = o->row != NULL && bytes_equal(o->row->head, row->head);
    bool is_there;
    enum df_status status =
        same ? add_same(f, o->row, row, values, err) : DF_OK;

    if (status == DF_OK) {
        status = add(f, row, values, err);
    }
    if (status == DF_OK && same) {
        status = old_rows_next(o, err);
    }
    if (status != DF_OK || f->negatives->count > 0) {
        return status;
    }
    is_there = !row_values_zero(f->shape.components, values);
    count_change(f, same, is_there);
    return is_there ? append(f, a,
                             &(struct row){ .head = row->head,
                                            .tail = row->tail,
                                            .values = values },
                             err)
                    : DF_OK;
}

static enum df_status merge_all(struct fold *f, struct appender *a,
                                struct old_rows *o, struct df_error *err)
{
    const struct row *row = NULL;
    struct buf key = { 0 };
    enum df_status status;

    do {
        status = next_row(f, &key, &row, err);
        if (status == DF_OK) {
            status = keep_before(f, a, o, row, err);
        }
        if (status == DF_OK && row != NULL) {
            status = merge_row(f, a, o, row, err);
        }
    } while (status == DF_OK && row != NULL);
    buf_fini(&key);
    return status == DF_OK ? finish(f, err) : status;
}

enum df_status fold_overwrite(struct fold *f, struct store *s, size_t chunk,
                              struct store_txn **last, struct df_error *err)
{
    struct appender a = { .store = s,
                          .table = shard_other_table(f->state),
                          .components = f->shape.components,
                          .chunk = chunk };
    struct old_rows o = { 0 };
    enum df_status status = begin(f, err);

    *last = NULL;
    if (status == DF_OK) {
        status = old_rows_open(&o, f, s, err);
    }
    if (status == DF_OK) {
        status = appender_begin(&a, err);
    }
    if (status == DF_OK) {
        status = merge_all(f, &a, &o, err);
    }
    old_rows_close(&o);
    if (status == DF_OK) {
        status = appender_take(&a, last, err);
    }
    appender_abort(&a);
    return status;
}

/* ---- looking only ---- */

enum df_status fold_check(struct fold *f, struct df_error *err)
{
    struct shard_run view = { 0 };
    const struct row *row = NULL;
    enum df_status status = begin(f, err);

    if (status == DF_OK) {
        status = shard_run_open(&view, &f->overlay, err);
    }
    while (status == DF_OK &&
           (status = f->run->next(f->run, &row, err)) == DF_OK &&
           row != NULL) {
        int64_t values[DF_COMPONENTS_MAX];
        bool found;

        f->run_rows++;
        if (stopped(f, f->run_rows)) {
            status = interrupted(err);
        } else if (row->values[0] < 0 && !f->allow_negative) {
            status =
                shard_run_find(&view, &f->overlay, row, values, &found, err);
            if (status == DF_OK) {
                status = add(f, row, values, err);
            }
        }
    }
    shard_run_close(&view);
    return status == DF_OK ? finish(f, err) : status;
}
