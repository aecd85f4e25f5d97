#include "state/commit.h"

/* Buffer for reading a shard's pending run. */
enum { RUN_BUFFER = 256 << 10 };

enum df_status shard_look(struct store *s, struct shard_state *state,
                          struct df_error *err)
{
    struct store_txn *t;
    enum df_status status = store_begin(&t, s, STORE_READ, err);

    if (status == DF_OK) {
        status = shard_state_load(t, state, err);
        store_abort(t);
    }
    return status;
}

struct shard_rows shard_after(const struct shard_state *state,
                              const struct fold *f)
{
    return (struct shard_rows){
        .rows = state->rows + f->added - f->removed,
        .digest = digest_add(state->digest, f->digest),
    };
}

enum df_status shard_advance(struct store_txn *t, struct shard_state *state,
                             uint64_t seq, struct shard_rows rows, bool flip,
                             const struct ledger_record *record,
                             struct df_error *err)
{
    enum df_status status = DF_OK;

    if (flip) {
        status = store_empty(t, shard_rows_table(state), err);
        state->active = 1 - state->active;
    }
    state->seq = seq;
    state->rows = rows.rows;
    state->digest = rows.digest;
    state->prepared = 0;
    state->prepared_rows = 0;
    state->prepared_digest = (struct hash128){ 0, 0 };
    if (status == DF_OK) {
        status = shard_state_store(t, state, err);
    }
    if (status == DF_OK && record != NULL) {
        status = ledger_table_put(t, record, err);
    }
    return status;
}

/* Adds the shard's pending run in place. What is negative was allowed when
 * the batch was decided. */
static enum df_status add_run(struct view *v, unsigned shard,
                              struct pending *p, struct store_txn *t,
                              const struct shard_state *state,
                              struct shard_rows *rows, struct df_error *err)
{
    struct install_negatives none = { 0 };
    struct fold f = { .shape = v->definition.shape,
                      .allow_negative = true,
                      .negatives = &none };
    enum df_status status = DF_OK;

    if (p->runs[shard].fd < 0) {
        status = pending_open_rows(p, v, shard, false, err);
    }
    if (status == DF_OK) {
        status =
            run_reader_open(&f.run, f.shape, &p->runs[shard], RUN_BUFFER, err);
    }
    if (status == DF_OK) {
        status = fold_increment(&f, t, shard_rows_table(state), err);
        *rows = shard_after(state, &f);
        run_reader_close(f.run);
    }
    return status;
}

static enum df_status try_finish(struct view *v, unsigned shard,
                                 struct pending *p, struct df_error *err)
{
    const struct ledger_record *record = shard == 0 ? &p->record : NULL;
    struct shard_state state;
    struct shard_rows rows;
    struct store_txn *t;
    enum df_status status =
        store_begin(&t, v->stores[shard], STORE_WRITE, err);

    if (status != DF_OK) {
        return status;
    }
    status = shard_state_load(t, &state, err);
    if (status != DF_OK || state.seq >= p->seq) {
        store_abort(t);
        return status;
    }
    rows = (struct shard_rows){ .rows = state.prepared_rows,
                                .digest = state.prepared_digest };
    if (state.seq + 1 != p->seq || (p->prepared && state.prepared != p->seq)) {
        status = error_set(err, DF_STATE,
                           "%s: shard %u is not where its ledger says: "
                           "restore the view from a copy, or make it anew",
                           v->path, shard);
    } else if (!p->prepared) {
        status = add_run(v, shard, p, t, &state, &rows, err);
    }
    if (status == DF_OK) {
        status =
            shard_advance(t, &state, p->seq, rows, p->prepared, record, err);
    }
    if (status != DF_OK) {
        store_abort(t);
        return status;
    }
    return store_commit(t, err);
}

enum df_status shard_finish(struct view *v, unsigned shard, struct pending *p,
                            struct df_error *err)
{
    enum df_status status;

    do {
        status = try_finish(v, shard, p, err);
    } while (status != DF_OK &&
             store_grow_if_full(v->stores[shard], &status, err));
    return status;
}
