#include "state/commit.h"

#include <stdlib.h>

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
                             const struct ledger_entry *entry,
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
    if (status == DF_OK && entry != NULL) {
        status = runs_settle(t, entry, err);
    }
    if (status == DF_OK && record != NULL) {
        status = ledger_table_put(t, record, err);
    }
    return status;
}

enum df_status shard_effects_open(struct shard_effects *s, struct store *store,
                                  struct row_shape shape,
                                  const struct ledger_entry *e,
                                  struct store_txn *own_t,
                                  struct df_error *err)
{
    size_t n = ledger_effects(e);
    struct runs_from from = { .shape = shape,
                              .own_t = own_t,
                              .own = own_t == NULL ? 0 : e->seq };
    struct runs_term *terms = calloc(n + 1, sizeof *terms);
    enum df_status status;

    *s = (struct shard_effects){ 0 };
    if (terms == NULL) {
        return error_no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        struct ledger_effect effect = ledger_effect(e, i);

        terms[i] =
            (struct runs_term){ .seq = effect.seq, .minus = effect.minus };
    }
    status = store_begin(&s->read, store, STORE_READ, err);
    if (status == DF_OK) {
        from.t = s->read;
        status = runs_sum_open(&s->sum, &from, terms, n, err);
    }
    free(terms);
    if (status != DF_OK) {
        shard_effects_close(s);
    }
    return status;
}

void shard_effects_close(struct shard_effects *s)
{
    runs_sum_close(&s->sum);
    store_abort(s->read);
    *s = (struct shard_effects){ 0 };
}

/* Adds what the pending entry's effects come to in place. */
static enum df_status add_effects(struct view *v, unsigned shard,
                                  const struct ledger_entry *e,
                                  struct store_txn *t,
                                  const struct shard_state *state,
                                  struct shard_rows *rows,
                                  struct df_error *err)
{
    struct install_negatives none = { 0 };
    struct shard_effects effects;
    struct fold f = { .shape = v->definition.shape,
                      .allow_negative = true,
                      .negatives = &none };
    enum df_status status =
        shard_effects_open(&effects, v->stores[shard], f.shape, e, NULL, err);

    if (status == DF_OK) {
        f.run = effects.sum.run;
        f.known_digest = &effects.sum.all.digest;
        status = fold_increment(&f, t, shard_rows_table(state), err);
        *rows = shard_after(state, &f);
        shard_effects_close(&effects);
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
    struct ledger_entry entry;
    struct store_txn *t;
    enum df_status status;

    if (!ledger_entry_decode(buf_bytes(&p->record.entry), &entry)) {
        return error_set(err, DF_STATE, "%s: the pending batch is damaged",
                         v->path);
    }
    status = store_begin(&t, v->stores[shard], STORE_WRITE, err);
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
    } else if (!p->prepared && p->kept) {
        status = add_effects(v, shard, &entry, t, &state, &rows, err);
    } else if (!p->prepared) {
        status = add_run(v, shard, p, t, &state, &rows, err);
    }
    if (status == DF_OK) {
        status = shard_advance(t, &state, p->seq, rows, p->prepared, &entry,
                               record, err);
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
