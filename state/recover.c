/*
 * What a writer does first: finish what a crash left undone.
 *
 * A batch in pending.run was decided: it is carried through, shard by shard,
 * shard 0 with the ledger entry last, as install would have done. Everything
 * else that may lie around - rows files without pending.run, a half filled
 * other table, a run kept ahead - was not decided and is removed.
 */
#include "state/commit.h"

static enum df_status remember_name(struct view *v, const struct pending *p,
                                    struct df_error *err)
{
    struct ledger_entry e;

    if (!ledger_entry_decode(buf_bytes(&p->record.entry), &e)) {
        return error_set(err, DF_STATE, "%s: the pending batch is damaged",
                         v->path);
    }
    buf_reset(&v->recovered);
    return buf_append(&v->recovered, e.name.data, e.name.len)
               ? DF_OK
               : error_no_memory(err);
}

static enum df_status roll_forward(struct view *v, struct pending *p,
                                   struct df_error *err)
{
    struct shard_state ledger;
    enum df_status status = shard_look(v->stores[0], &ledger, err);

    if (status != DF_OK || ledger.seq >= p->seq) {
        return status; /* done: only its file came back */
    }
    for (unsigned i = v->definition.shards; status == DF_OK && i > 0; i--) {
        status = shard_finish(v, i - 1, p, err);
    }
    return status == DF_OK ? remember_name(v, p, err) : status;
}

/* Empties a table that an undecided overwrite has left, and removes a kept
 * run that was not decided. */
static enum df_status clear_undecided(struct store *s, struct df_error *err)
{
    struct shard_state state;
    struct store_size size;
    struct store_txn *t;
    bool any = false;
    enum df_status status = store_begin(&t, s, STORE_WRITE, err);

    if (status != DF_OK) {
        return status;
    }
    status = shard_state_load(t, &state, err);
    if (status == DF_OK) {
        status = store_table_size(t, shard_other_table(&state), &size, err);
    }
    if (status == DF_OK) {
        status = runs_drop_after(t, state.seq, &any, err);
    }
    if (status != DF_OK ||
        (size.entries == 0 && state.prepared == 0 && !any)) {
        store_abort(t);
        return status;
    }
    state.prepared = 0;
    state.prepared_rows = 0;
    state.prepared_digest = (struct hash128){ 0, 0 };
    status = store_empty(t, shard_other_table(&state), err);
    if (status == DF_OK) {
        status = shard_state_store(t, &state, err);
    }
    if (status != DF_OK) {
        store_abort(t);
        return status;
    }
    return store_commit(t, err);
}

enum df_status shard_clear_undecided(struct store *s, struct df_error *err)
{
    enum df_status status;

    do {
        status = clear_undecided(s, err);
    } while (status != DF_OK && store_grow_if_full(s, &status, err));
    return status;
}

enum df_status view_clear_undecided(struct view *v, struct df_error *err)
{
    enum df_status status = DF_OK;

    for (unsigned i = 0; status == DF_OK && i < v->definition.shards; i++) {
        status = shard_clear_undecided(v->stores[i], err);
    }
    return status;
}

/* With nothing pending all shards are at one batch, or a file is not the
 * one that was here. */
static enum df_status check_agreement(struct view *v, struct df_error *err)
{
    struct shard_state first = { 0 };
    struct shard_state other;
    enum df_status status = shard_look(v->stores[0], &first, err);

    for (unsigned i = 1; status == DF_OK && i < v->definition.shards; i++) {
        status = shard_look(v->stores[i], &other, err);
        if (status == DF_OK && other.seq != first.seq) {
            status = error_set(err, DF_STATE,
                               "%s: shard %u is at batch %llu, the ledger at "
                               "%llu: restore the view from a copy, or "
                               "make it anew",
                               v->path, i, (unsigned long long)other.seq,
                               (unsigned long long)first.seq);
        }
    }
    return status;
}

enum df_status view_recover(struct view *v, struct df_error *err)
{
    struct pending p;
    bool there;
    enum df_status status;

    pending_init(&p);
    status = pending_load(&p, v, &there, err);
    if (status == DF_OK && there) {
        status = roll_forward(v, &p, err);
    }
    pending_fini(&p);
    if (status == DF_OK) {
        status = check_agreement(v, err);
    }
    if (status == DF_OK) {
        pending_remove(v);
        status = view_clear_undecided(v, err);
    }
    return status;
}
