#include "runtime/fold_state.h"

#include "runtime/fold_rows.h"

/* All shards' rows by span, each with its next. */
struct spans {
    struct snapshot_rows *rows[VIEW_SHARDS_MAX];
    unsigned shards;
};

static enum df_status open_spans(struct spans *p, struct snapshot *s,
                                 struct df_error *err)
{
    enum df_status status = DF_OK;

    *p = (struct spans){ .shards = snapshot_shards(s) };
    for (unsigned i = 0; status == DF_OK && i < p->shards; i++) {
        status = snapshot_rows_open(&p->rows[i], s, i, err);
    }
    return status;
}

static void close_spans(struct spans *p)
{
    for (unsigned i = 0; i < p->shards; i++) {
        snapshot_rows_close(p->rows[i]);
    }
}

/* The lowest span that is not before *span, which it becomes. */
static enum df_status next_span(struct spans *p, uint64_t *span, bool *found,
                                struct df_error *err)
{
    uint8_t head[DF_FOLD_SPAN_HEAD] = { DF_FOLD_SPAN };
    uint64_t lowest = 0;

    store_be64(head + 1, *span);
    *found = false;
    for (unsigned i = 0; i < p->shards; i++) {
        const struct row *row;
        enum df_status status = snapshot_rows_seek(
            p->rows[i], bytes_of(head, sizeof head), &row, err);

        if (status != DF_OK) {
            return status;
        }
        if (row != NULL && row->head.len >= sizeof head &&
            (!*found || load_be64(row->head.data + 1) < lowest)) {
            lowest = load_be64(row->head.data + 1);
            *found = true;
        }
    }
    *span = lowest;
    return DF_OK;
}

static enum df_status count_spans(struct fold_state *state, struct snapshot *s,
                                  struct df_error *err)
{
    struct spans p;
    uint64_t span = 0;
    bool found = true;
    enum df_status status = open_spans(&p, s, err);

    while (status == DF_OK && found) {
        status = next_span(&p, &span, &found, err);
        if (status == DF_OK && found) {
            state->spans++;
            found = span++ < UINT64_MAX;
        }
    }
    close_spans(&p);
    return status;
}

/* With deferred batches the number of rows is not known: counts them. */
static enum df_status count_rows(struct snapshot *s, uint64_t *count,
                                 struct df_error *err)
{
    enum df_status status = DF_OK;

    *count = 0;
    for (unsigned i = 0; status == DF_OK && i < snapshot_shards(s); i++) {
        struct run_source *rows;
        const struct row *row = NULL;

        status = snapshot_shard_open(&rows, s, i, err);
        while (status == DF_OK &&
               (status = rows->next(rows, &row, err)) == DF_OK &&
               row != NULL) {
            (*count)++;
        }
        snapshot_shard_close(rows);
    }
    return status;
}

enum df_status fold_state_read(struct fold_state *state, struct snapshot *s,
                               const struct jobspec *job, struct df_error *err)
{
    const struct df_fold *fold = job->job->fold;
    struct snapshot_state at = snapshot_state(s);
    struct ledger_entry last;
    bool found;
    enum df_status status = snapshot_ledger_get(s, at.seq, &last, &found, err);

    *state = (struct fold_state){ .keys = at.rows };
    if (status == DF_OK && at.unfolded > 0) {
        status = count_rows(s, &state->keys, err);
    }
    if (status != DF_OK || !fold->is_timed(job->config)) {
        return status;
    }
    if (found) {
        state->clock = last.clock;
    }
    if (!fold->is_by_span(job->config)) {
        state->keys /= 2; /* a key has a row by its span, too */
    }
    return count_spans(state, s, err);
}
