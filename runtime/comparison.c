#include "runtime/comparison.h"

/* The full row key of a row, left in c->row_key. */
static enum df_status join(struct comparison *c, const struct row *row,
                           struct df_error *err)
{
    buf_reset(&c->row_key);
    return row_join(&c->row_key, row->head, row->tail) ? DF_OK
                                                       : error_no_memory(err);
}

static struct hash128 digest_of(const struct comparison *c,
                                const struct row *row)
{
    return row_digest(c->rules->shape, buf_bytes(&c->row_key), row->values);
}

/* Whether the joined row's key is in the sample. */
static enum df_status is_sampled(struct comparison *c, bool *sampled,
                                 struct df_error *err)
{
    struct bytes key;
    struct bytes element;

    *sampled = true;
    if (c->rules->sample == 1) {
        return DF_OK;
    }
    buf_reset(&c->room);
    if (!row_decode(c->rules->shape, buf_bytes(&c->row_key), &c->room, &key,
                    &element)) {
        return error_set(err, DF_STATE, "a stored row is damaged");
    }
    *sampled = row_key_hash(key) % c->rules->sample == 0;
    return DF_OK;
}

static enum df_status note(struct comparison *c, const struct row *expected,
                           const struct row *found, struct df_error *err)
{
    const struct row *row = expected != NULL ? expected : found;
    size_t size = c->rules->shape.components * sizeof(int64_t);
    struct comparison_difference *d;

    if (c->differences++ >= COMPARISON_SHOWN) {
        return DF_OK;
    }
    d = &c->first[c->differences - 1];
    if (!row_join(&d->row_key, row->head, row->tail)) {
        return error_no_memory(err);
    }
    if (expected != NULL) {
        memcpy(d->expected, expected->values, size);
    }
    if (found != NULL) {
        memcpy(d->found, found->values, size);
    }
    return DF_OK;
}

/* The next row found that is in the sample. */
static enum df_status next_found(struct comparison *c, struct run_source *rows,
                                 const struct row **row, struct df_error *err)
{
    enum df_status status;
    bool sampled;

    do {
        status = rows->next(rows, row, err);
        if (status != DF_OK || *row == NULL) {
            return status;
        }
        status = join(c, *row, err);
        if (status == DF_OK) {
            status = is_sampled(c, &sampled, err);
        }
    } while (status == DF_OK && !sampled);
    if (status != DF_OK) {
        return status;
    }
    c->view = digest_add(c->view, digest_of(c, *row));
    /* In a window such a row may be what its batches changed. */
    return c->rules->has_window || hollow_look(&c->hollow, *row)
               ? DF_OK
               : error_no_memory(err);
}

static enum df_status next_expected(struct comparison *c,
                                    struct run_source *run,
                                    const struct row **row,
                                    struct df_error *err)
{
    enum df_status status = run->next(run, row, err);

    if (status != DF_OK || *row == NULL) {
        return status;
    }
    status = join(c, *row, err);
    if (status == DF_OK) {
        c->recomputed = digest_add(c->recomputed, digest_of(c, *row));
    }
    return status;
}

/* Order of two rows, either of which may be at its end (NULL: last). */
static int compare_rows(const struct row *a, const struct row *b)
{
    if (a == NULL || b == NULL) {
        return (a == NULL) - (b == NULL);
    }
    return bytes_compare(a->head, b->head);
}

static bool rows_equal(const struct comparison *c, const struct row *a,
                       const struct row *b)
{
    return bytes_equal(a->tail, b->tail) &&
           memcmp(a->values, b->values,
                  c->rules->shape.components * sizeof(int64_t)) == 0;
}

enum df_status comparison_run(struct comparison *c,
                              struct run_source *expected_rows,
                              struct run_source *found_rows,
                              struct df_error *err)
{
    const struct row *expected = NULL;
    const struct row *found = NULL;
    enum df_status status = next_expected(c, expected_rows, &expected, err);

    if (status == DF_OK) {
        status = next_found(c, found_rows, &found, err);
    }
    while (status == DF_OK && (expected != NULL || found != NULL)) {
        int order = compare_rows(expected, found);

        if (order != 0) {
            status = note(c, order < 0 ? expected : NULL,
                          order > 0 ? found : NULL, err);
        } else if (!rows_equal(c, expected, found)) {
            status = note(c, expected, found, err);
        }
        c->rows += order >= 0 ? 1 : 0;
        if (status == DF_OK && order <= 0) {
            status = next_expected(c, expected_rows, &expected, err);
        }
        if (status == DF_OK && order >= 0) {
            status = next_found(c, found_rows, &found, err);
        }
        if (c->rules->stop != NULL && *c->rules->stop != 0) {
            return error_set(err, DF_INTERRUPTED, "interrupted");
        }
    }
    return status;
}

void comparison_fini(struct comparison *c)
{
    for (unsigned i = 0; i < COMPARISON_SHOWN; i++) {
        buf_fini(&c->first[i].row_key);
    }
    hollow_fini(&c->hollow);
    buf_fini(&c->row_key);
    buf_fini(&c->room);
}
