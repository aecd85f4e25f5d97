#include "state/fold.h"

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
    f->digest = (struct hash128){ 0, 0 };
    f->run_rows = 0;
    f->added = 0;
    f->changed = 0;
    f->removed = 0;
    f->negatives->count = 0;
    buf_reset(&f->negatives->keys);
    return f->run->rewind(f->run, err);
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
    enum df_status status = f->run->next(f->run, row, err);
    struct bytes whole;

    if (status != DF_OK || *row == NULL) {
        return status;
    }
    if (stopped(f, f->run_rows)) {
        return interrupted(err);
    }
    f->run_rows++;
    whole = (*row)->head;
    if (whole.len == ROW_HEAD_MAX) {
        status = full_key(*row, key, err);
        whole = buf_bytes(key);
    }
    if (status == DF_OK) {
        f->digest = digest_add(
            f->digest, row_digest(f->shape, whole, (*row)->values));
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

/* What is stored of a row: values, then the tail. */
static bool encode_value(const struct fold *f, const int64_t *values,
                         struct bytes tail, struct buf *out)
{
    buf_reset(out);
    if (!buf_reserve(out, ROW_VALUES_MAX + tail.len)) {
        return false;
    }
    out->len = row_values_encode(out->data, f->shape.components, values);
    return buf_append(out, tail.data, tail.len);
}

/* Takes a stored value apart and checks that it is of the same row. */
static enum df_status decode_value(const struct fold *f, struct bytes stored,
                                   const struct row *row, int64_t *values,
                                   struct df_error *err)
{
    size_t n = row_values_decode(stored, f->shape.components, values);

    if (n == 0) {
        return error_set(err, DF_STATE,
                         "a stored row is damaged: restore the view from a "
                         "copy, or rebuild it");
    }
    if (!bytes_equal(bytes_of(stored.data + n, stored.len - n), row->tail)) {
        return row_collision(err, f->shape, row->head, row->tail);
    }
    return DF_OK;
}

/* values += row's; tells whether the row may not be (writes stop then). */
static enum df_status add(struct fold *f, const struct row *row,
                          int64_t *values, struct df_error *err)
{
    if (!row_values_add(f->shape.components, values, row->values)) {
        return row_overflow(err, f->shape, row->head, row->tail);
    }
    if (values[0] < 0 && row->values[0] < 0 && !f->allow_negative) {
        return note_negative(f, row, err);
    }
    return DF_OK;
}

/* ---- in place ---- */

static enum df_status change_in_place(struct fold *f, struct store_cursor *c,
                                      const struct row *row,
                                      const int64_t *values,
                                      struct buf *value, struct df_error *err)
{
    if (row_values_zero(f->shape.components, values)) {
        f->removed++;
        return store_cursor_remove(c, err);
    }
    f->changed++;
    if (!encode_value(f, values, row->tail, value)) {
        return error_no_memory(err);
    }
    return store_cursor_replace(c, row->head, buf_bytes(value), err);
}

static enum df_status insert_in_place(struct fold *f, struct store_cursor *c,
                                      const struct row *row,
                                      struct buf *value, struct df_error *err)
{
    f->added++;
    if (!encode_value(f, row->values, row->tail, value)) {
        return error_no_memory(err);
    }
    return store_cursor_insert(c, row->head, buf_bytes(value), err);
}

static enum df_status increment_row(struct fold *f, struct store_cursor *c,
                                    const struct row *row, struct buf *value,
                                    struct df_error *err)
{
    int64_t values[DF_COMPONENTS_MAX] = { 0 };
    struct bytes stored;
    bool found;
    enum df_status status =
        store_cursor_seek(c, row->head, &stored, &found, err);

    if (status == DF_OK && found) {
        status = decode_value(f, stored, row, values, err);
    }
    if (status == DF_OK) {
        status = add(f, row, values, err);
    }
    if (status != DF_OK || f->negatives->count > 0) {
        return status;
    }
    return found ? change_in_place(f, c, row, values, value, err)
                 : insert_in_place(f, c, row, value, err);
}

enum df_status fold_increment(struct fold *f, struct store_txn *t,
                              enum store_table rows, struct df_error *err)
{
    const struct row *row = NULL;
    struct store_cursor *c = NULL;
    struct buf key = { 0 };
    struct buf value = { 0 };
    enum df_status status = begin(f, err);

    if (status == DF_OK) {
        status = store_cursor_open(&c, t, rows, err);
    }
    while (status == DF_OK) {
        status = next_row(f, &key, &row, err);
        if (status != DF_OK || row == NULL) {
            break;
        }
        status = increment_row(f, c, row, &value, err);
    }
    store_cursor_close(c);
    buf_fini(&key);
    buf_fini(&value);
    return status == DF_OK ? finish(f, err) : status;
}

/* ---- all rows anew ---- */

/* The new table as it grows, in transactions of about `chunk` bytes. */
struct appender {
    struct store *store;
    enum store_table table;
    size_t chunk;
    size_t written; /* since the last commit */
    struct store_txn *t;
    struct store_cursor *c;
};

static enum df_status appender_begin(struct appender *a, struct df_error *err)
{
    enum df_status status = store_begin(&a->t, a->store, STORE_WRITE, err);

    a->written = 0;
    if (status == DF_OK) {
        status = store_cursor_open(&a->c, a->t, a->table, err);
    }
    return status;
}

static void appender_abort(struct appender *a)
{
    store_cursor_close(a->c);
    store_abort(a->t);
    a->c = NULL;
    a->t = NULL;
}

static enum df_status appender_commit(struct appender *a,
                                      struct df_error *err)
{
    enum df_status status;

    store_cursor_close(a->c);
    a->c = NULL;
    status = store_commit(a->t, err);
    a->t = NULL;
    return status == DF_OK ? appender_begin(a, err) : status;
}

static enum df_status appender_add(struct appender *a, struct bytes head,
                                   struct bytes value, struct df_error *err)
{
    /* LMDB's node header and page slot. */
    const size_t overhead = 10;
    enum df_status status = store_cursor_append(a->c, head, value, err);

    a->written += head.len + value.len + overhead;
    if (status == DF_OK && a->written >= a->chunk) {
        status = appender_commit(a, err);
    }
    return status;
}

/* The old rows, one ahead. */
struct old_rows {
    struct store_txn *t;
    struct store_cursor *c;
    struct bytes head;
    struct bytes value;
    bool there;
};

static enum df_status old_rows_next(struct old_rows *o, struct df_error *err)
{
    return store_cursor_next(o->c, &o->head, &o->value, &o->there, err);
}

static enum df_status old_rows_open(struct old_rows *o, struct store *s,
                                    enum store_table table,
                                    struct df_error *err)
{
    enum df_status status = store_begin(&o->t, s, STORE_READ, err);

    if (status == DF_OK) {
        status = store_cursor_open(&o->c, o->t, table, err);
    }
    return status == DF_OK ? old_rows_next(o, err) : status;
}

static void old_rows_close(struct old_rows *o)
{
    store_cursor_close(o->c);
    store_abort(o->t);
}

/* Old rows that come before the run's next (all of them: row NULL) stay as
 * they are, byte for byte. */
static enum df_status keep_before(struct fold *f, struct appender *a,
                                  struct old_rows *o, const struct row *row,
                                  struct df_error *err)
{
    enum df_status status = DF_OK;
    uint64_t kept = 0;

    while (status == DF_OK && o->there &&
           (row == NULL || bytes_compare(o->head, row->head) < 0)) {
        if (f->negatives->count == 0) {
            status = appender_add(a, o->head, o->value, err);
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
                                struct buf *value, struct df_error *err)
{
    int64_t values[DF_COMPONENTS_MAX] = { 0 };
    bool same = o->there && bytes_equal(o->head, row->head);
    enum df_status status = DF_OK;

    if (same) {
        status = decode_value(f, o->value, row, values, err);
    }
    if (status == DF_OK) {
        status = add(f, row, values, err);
    }
    if (status == DF_OK && same) {
        status = old_rows_next(o, err);
    }
    if (status != DF_OK || f->negatives->count > 0) {
        return status;
    }
    if (row_values_zero(f->shape.components, values)) {
        f->removed++;
        return DF_OK;
    }
    f->changed += same ? 1 : 0;
    f->added += same ? 0 : 1;
    if (!encode_value(f, values, row->tail, value)) {
        return error_no_memory(err);
    }
    return appender_add(a, row->head, buf_bytes(value), err);
}

static enum df_status merge_all(struct fold *f, struct appender *a,
                                struct old_rows *o, struct df_error *err)
{
    const struct row *row = NULL;
    struct buf key = { 0 };
    struct buf value = { 0 };
    enum df_status status;

    do {
        status = next_row(f, &key, &row, err);
        if (status == DF_OK) {
            status = keep_before(f, a, o, row, err);
        }
        if (status == DF_OK && row != NULL) {
            status = merge_row(f, a, o, row, &value, err);
        }
    } while (status == DF_OK && row != NULL);
    buf_fini(&key);
    buf_fini(&value);
    return status == DF_OK ? finish(f, err) : status;
}

enum df_status fold_overwrite(struct fold *f, struct store *s,
                              const struct shard_state *state, size_t chunk,
                              struct store_txn **last, struct df_error *err)
{
    struct appender a = { .store = s,
                          .table = shard_other_rows(state),
                          .chunk = chunk };
    struct old_rows o = { 0 };
    enum df_status status = begin(f, err);

    *last = NULL;
    if (status == DF_OK) {
        status = old_rows_open(&o, s, shard_rows(state), err);
    }
    if (status == DF_OK) {
        status = appender_begin(&a, err);
    }
    if (status == DF_OK) {
        status = merge_all(f, &a, &o, err);
    }
    old_rows_close(&o);
    if (status != DF_OK) {
        appender_abort(&a);
        return status;
    }
    store_cursor_close(a.c);
    *last = a.t;
    return DF_OK;
}
