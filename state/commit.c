#include "state/commit.h"

#include <stdlib.h>

#include "state/inbox.h"

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

struct shard_rows shard_after(const struct fold *f)
{
    return (struct shard_rows){
        .rows = f->rows,
        .magnitude = f->magnitude,
        .digest = digest_add(f->state->digest, f->digest),
    };
}

/* The view's runs after the entry: how often it holds each, and which go. */
static enum df_status settle_runs(struct store_txn *t, const struct overlay *o,
                                  const struct shard_step *step,
                                  struct df_error *err)
{
    const struct ledger_entry *e = step->entry;
    enum df_status status = DF_OK;
    size_t n = e == NULL ? 0 : ledger_effects(e);

    for (size_t i = 0; status == DF_OK && i < n; i++) {
        status = runs_move(t, ledger_effect(e, i), err);
    }
    n = e == NULL || step->keep_drops ? 0 : ledger_drops(e);
    for (size_t i = 0; status == DF_OK && i < n; i++) {
        uint64_t run = ledger_drop(e, i);

        status = runs_let_go(t, run, overlay_uses(o, run), err);
    }
    return status;
}

/* The overlay is in the rows now. */
static enum df_status empty_overlay(struct store_txn *t, struct overlay *o,
                                    const struct shard_state *state, bool flip,
                                    struct df_error *err)
{
    enum df_status status =
        flip ? DF_OK : overlay_stop_folding(t, o, state, err);

    o->folding = 0;
    return status == DF_OK && o->count > 0
               ? overlay_replace(t, o, 0, o->count, NULL, err)
               : status;
}

static enum df_status settle_overlay(struct store_txn *t, struct overlay *o,
                                     const struct shard_state *state,
                                     const struct shard_step *step,
                                     struct df_error *err)
{
    if (!step->defer) {
        return empty_overlay(t, o, state, step->flip, err);
    }
    overlay_defer(o, step->entry);
    return overlay_store(t, o, err);
}

static void step_state(struct shard_state *state,
                       const struct shard_step *step)
{
    state->seq = step->seq;
    state->digest = step->rows.digest;
    if (step->defer) {
        return;
    }
    state->active = step->flip ? 1 - state->active : state->active;
    state->rows = step->rows.rows;
    state->magnitude = step->rows.magnitude;
    state->settled = step->seq;
    state->prepared = 0;
    state->prepared_rows = 0;
    state->prepared_magnitude = 0;
    state->prepared_digest = (struct hash128){ 0, 0 };
}

enum df_status shard_advance(struct store_txn *t, struct shard_state *state,
                             const struct shard_step *step,
                             struct df_error *err)
{
    struct overlay o;
    enum df_status status = overlay_load(t, &o, err);

    if (status == DF_OK && step->flip) {
        status = store_empty(t, shard_rows_table(state), err);
    }
    if (status == DF_OK) {
        status = settle_overlay(t, &o, state, step, err);
    }
    step_state(state, step);
    if (status == DF_OK) {
        status = shard_state_store(t, state, err);
    }
    if (status == DF_OK) {
        status = settle_runs(t, &o, step, err);
    }
    if (status == DF_OK && step->record != NULL) {
        status = ledger_table_put(t, step->record, err);
    }
    if (status == DF_OK && step->record != NULL && step->entry != NULL &&
        step->entry->compact_us > 0) {
        status = meta_number_store(t, "compact_us", 0, err);
    }
    return status;
}

/* ---- what is folded ---- */

/* The overlay is loaded. */
static enum df_status sum_up_overlay(struct shard_effects *s,
                                     struct df_error *err)
{
    overlay_terms(&s->overlay, s->overlay.count, s->terms);
    return overlay_sum(s->read, s->inbox, &s->overlay, 0, s->overlay.count,
                       &s->all, err);
}

static enum df_status open_sum(struct shard_effects *s, struct row_shape shape,
                               const struct ledger_entry *e,
                               struct store_txn *own_t, struct df_error *err)
{
    size_t n = ledger_effects(e);
    struct runs_from from = { .shape = shape,
                              .t = s->read,
                              .own_t = own_t,
                              .own = own_t == NULL ? 0 : e->seq };
    struct runs_term *terms = calloc(n + 1, sizeof *terms);
    enum df_status status;

    if (terms == NULL) {
        return error_no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        struct ledger_effect effect = ledger_effect(e, i);

        terms[i] =
            (struct runs_term){ .seq = effect.seq, .minus = effect.minus };
    }
    status = runs_sum_open(&s->sum, &from, terms, n, err);
    free(terms);
    return status;
}

enum df_status shard_effects_open(struct shard_effects *s, struct store *store,
                                  struct row_shape shape,
                                  const struct ledger_entry *e,
                                  struct store_txn *own_t,
                                  struct df_error *err)
{
    enum df_status status;

    *s = (struct shard_effects){ 0 };
    status = store_begin(&s->read, store, STORE_READ, err);
    if (status == DF_OK) {
        status = overlay_load(s->read, &s->overlay, err);
    }
    if (status == DF_OK) {
        status = sum_up_overlay(s, err);
    }
    if (status == DF_OK && e != NULL) {
        status = open_sum(s, shape, e, own_t, err);
    }
    if (status != DF_OK) {
        shard_effects_close(s);
    }
    return status;
}

enum df_status shard_effects_look(struct shard_effects *s, struct store *store,
                                  struct store_txn *inbox, unsigned shard,
                                  struct shard_state *state,
                                  struct df_error *err)
{
    enum df_status status;

    *s = (struct shard_effects){ .inbox = inbox };
    status = store_begin(&s->read, store, STORE_READ, err);
    if (status == DF_OK) {
        status = inbox_look(s->read, inbox, shard, state, &s->overlay, err);
    }
    if (status == DF_OK) {
        status = sum_up_overlay(s, err);
    }
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

void shard_effects_give(struct shard_effects *s, struct fold *f)
{
    if (s->sum.run != NULL) {
        f->run = s->sum.run;
        f->known_digest = &s->sum.all.digest;
    }
    f->overlay = (struct shard_run_from){
        .shape = f->shape,
        .t = s->read,
        .inbox = s->inbox,
        .state = f->state,
        .terms = s->terms,
        .count = s->overlay.count,
    };
    f->overlay_magnitude = s->all.magnitude;
}

/* ---- finishing ---- */

static enum df_status open_pending_run(struct view *v, unsigned shard,
                                       struct pending *p, struct fold *f,
                                       struct df_error *err)
{
    enum df_status status = DF_OK;

    if (p->runs[shard].fd < 0) {
        status = pending_open_rows(p, v, shard, false, err);
    }
    return status == DF_OK ? run_reader_open(&f->run, f->shape,
                                             &p->runs[shard], RUN_BUFFER, err)
                           : status;
}

/* Adds the shard's pending run, or what the entry's effects come to, in
 * place. What is negative was allowed when the batch was decided. */
static enum df_status add_pending(struct view *v, unsigned shard,
                                  struct pending *p,
                                  const struct ledger_entry *e,
                                  struct store_txn *t,
                                  const struct shard_state *state,
                                  struct shard_rows *rows,
                                  struct df_error *err)
{
    struct install_negatives none = { 0 };
    struct shard_effects effects;
    struct run_source *own = NULL;
    struct fold f = { .shape = v->definition.shape,
                      .state = state,
                      .allow_negative = true,
                      .negatives = &none };
    enum df_status status = shard_effects_open(
        &effects, v->stores[shard], f.shape, p->kept ? e : NULL, NULL, err);

    if (status != DF_OK) {
        return status;
    }
    if (!p->kept) {
        status = open_pending_run(v, shard, p, &f, err);
        own = f.run;
    }
    if (status == DF_OK) {
        shard_effects_give(&effects, &f);
        status = fold_increment(&f, t, err);
        *rows = shard_after(&f);
    }
    run_reader_close(own);
    shard_effects_close(&effects);
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
                                .magnitude = state.prepared_magnitude,
                                .digest = state.prepared_digest };
    if (state.seq + 1 != p->seq || (p->prepared && state.prepared != p->seq)) {
        status = error_set(err, DF_STATE,
                           "%s: shard %u is not where its ledger says: "
                           "restore the view from a copy, or make it anew",
                           v->path, shard);
    } else if (!p->prepared) {
        status = add_pending(v, shard, p, &entry, t, &state, &rows, err);
    }
    if (status == DF_OK) {
        status = shard_advance(t, &state,
                               &(struct shard_step){ .seq = p->seq,
                                                     .rows = rows,
                                                     .flip = p->prepared,
                                                     .entry = &entry,
                                                     .record = record },
                               err);
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
