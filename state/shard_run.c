#include "state/shard_run.h"

/* ---- the table ---- */

static enum df_status table_seek(struct run_source *source, struct bytes head,
                                 struct df_error *err)
{
    struct table_run *r = (struct table_run *)source;
    enum df_status status = rows_reader_seek(r->rows, head, &r->ahead, err);

    r->begun = true;
    r->ended = status == DF_OK && r->ahead == NULL;
    return status;
}

static enum df_status table_next(struct run_source *source,
                                 const struct row **row, struct df_error *err)
{
    struct table_run *r = (struct table_run *)source;

    *row = r->ahead;
    r->ahead = NULL;
    if (*row != NULL || r->ended) {
        return DF_OK;
    }
    if (r->begun) {
        return rows_reader_next(r->rows, row, err);
    }
    r->begun = true;
    return rows_reader_seek(r->rows, bytes_of(NULL, 0), row, err);
}

static enum df_status table_rewind(struct run_source *source,
                                   struct df_error *err)
{
    struct table_run *r = (struct table_run *)source;

    (void)err;
    r->begun = false;
    r->ended = false;
    r->ahead = NULL;
    return DF_OK;
}

static enum df_status table_open(struct table_run *r,
                                 const struct shard_run_from *from,
                                 struct df_error *err)
{
    const struct shard_state *s = from->state;

    *r = (struct table_run){ .source = { .next = table_next,
                                         .rewind = table_rewind,
                                         .seek = table_seek } };
    return rows_reader_open(&r->rows, from->t, shard_rows_table(s), s->rows,
                            from->shape.components, err);
}

static void table_close(struct table_run *r)
{
    rows_reader_close(r->rows);
    r->rows = NULL;
}

/* ---- the shard ---- */

enum df_status shard_run_open(struct shard_run *r,
                              const struct shard_run_from *from,
                              struct df_error *err)
{
    struct runs_from runs = { .shape = from->shape,
                              .t = from->t,
                              .inbox = from->inbox };
    enum df_status status = table_open(&r->table, from, err);

    r->run = &r->table.source;
    if (status == DF_OK && (from->count > 0 || from->without_rows)) {
        runs.rows = from->without_rows ? NULL : &r->table.source;
        status = runs_sum_open(&r->sum, &runs, from->terms, from->count, err);
        r->run = r->sum.run;
    }
    if (status != DF_OK) {
        shard_run_close(r);
    }
    return status;
}

void shard_run_close(struct shard_run *r)
{
    runs_sum_close(&r->sum);
    table_close(&r->table);
    r->run = NULL;
}

/* What goes beyond the width of a number on the way is carried: whether the
 * sum fits does not depend on the order. */
static enum df_status add_found(const struct shard_run_from *from,
                                const struct runs_term *term,
                                const struct row *want, const struct row *row,
                                int64_t *values, int64_t *carry,
                                struct df_error *err)
{
    int64_t minus[DF_COMPONENTS_MAX];
    const int64_t *more = row->values;

    if (!bytes_equal(row->tail, want->tail)) {
        return DF_OK; /* another long key with this one's hash */
    }
    if (term->minus) {
        if (!row_values_negate(from->shape, minus, more)) {
            return row_overflow(err, from->shape, want->head, want->tail);
        }
        more = minus;
    }
    (void)row_values_carry(from->shape, values, carry, more);
    return DF_OK;
}

enum df_status shard_run_find(struct shard_run *r,
                              const struct shard_run_from *from,
                              const struct row *want, int64_t *values,
                              bool *found, struct df_error *err)
{
    unsigned components = from->shape.components;
    int64_t carry[DF_COMPONENTS_MAX] = { 0 };
    struct bytes tail;
    enum df_status status = DF_OK;

    *found = false;
    if (!from->without_rows) {
        status = rows_get(from->t, shard_rows_table(from->state), components,
                          want->head, values, &tail, found, err);
    }
    if (status != DF_OK || !*found || !bytes_equal(tail, want->tail)) {
        memset(values, 0, components * sizeof *values);
    }
    for (size_t i = 0; status == DF_OK && i < from->count; i++) {
        const struct row *row;

        status = runs_find(r->sum.sources[i], want->head, &row, err);
        if (status == DF_OK && row != NULL) {
            status = add_found(from, &from->terms[i], want, row, values, carry,
                               err);
        }
    }
    if (status == DF_OK && !row_values_zero(components, carry)) {
        status = row_overflow(err, from->shape, want->head, want->tail);
    }
    *found = status == DF_OK && !row_values_zero(components, values);
    return status;
}
