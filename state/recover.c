/*
 * What a writer does first: finish what a crash left undone.
 *
 * A batch in pending.run was decided: it is carried through, shard by shard,
 * shard 0 with the ledger entry last, as install would have done. A deferred
 * batch that shard 0 does not have was not decided: the shards that are ahead
 * take it back. Everything else that may lie around - rows files without
 * pending.run, a half filled other table, a run stored ahead - was not
 * decided and is removed.
 */
#include "state/commit.h"
#include "state/inbox.h"

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

static bool is_in_overlay(const void *ctx, uint64_t run)
{
    return overlay_uses(ctx, run);
}

/* The other table, unless it is the fold under way. */
static enum df_status clear_other(struct store_txn *t, struct overlay *o,
                                  struct shard_state *state, bool empty_other,
                                  bool *any, struct df_error *err)
{
    struct store_size size;
    enum df_status status =
        store_table_size(t, shard_other_table(state), &size, err);

    if (status != DF_OK || (o->folding > 0 && !empty_other)) {
        return status;
    }
    if (o->folding > 0) {
        *any = true;
        status = overlay_stop_folding(t, o, state, err);
        return status == DF_OK ? overlay_store(t, o, err) : status;
    }
    *any = *any || size.entries > 0;
    return size.entries > 0 ? store_empty(t, shard_other_table(state), err)
                            : DF_OK;
}

static enum df_status clear_all(struct store_txn *t, bool empty_other,
                                bool *any, struct df_error *err)
{
    struct shard_state state;
    struct overlay o;
    enum df_status status = shard_state_load(t, &state, err);

    if (status == DF_OK) {
        status = overlay_load(t, &o, err);
    }
    if (status == DF_OK) {
        status = runs_drop_after(t, state.seq, any, err);
    }
    if (status == DF_OK) {
        status = runs_drop_merged(t, is_in_overlay, &o, any, err);
    }
    if (status == DF_OK) {
        status = clear_other(t, &o, &state, empty_other, any, err);
    }
    if (status != DF_OK || state.prepared == 0) {
        return status;
    }
    *any = true;
    state.prepared = 0;
    state.prepared_rows = 0;
    state.prepared_magnitude = 0;
    state.prepared_digest = (struct hash128){ 0, 0 };
    return shard_state_store(t, &state, err);
}

static enum df_status clear_undecided(struct store *s, bool empty_other,
                                      struct df_error *err)
{
    struct store_txn *t;
    bool any = false;
    enum df_status status = store_begin(&t, s, STORE_WRITE, err);

    if (status != DF_OK) {
        return status;
    }
    status = clear_all(t, empty_other, &any, err);
    if (status != DF_OK || !any) {
        store_abort(t);
        return status;
    }
    return store_commit(t, err);
}

enum df_status shard_clear_undecided(struct store *s, bool empty_other,
                                     struct df_error *err)
{
    enum df_status status;

    do {
        status = clear_undecided(s, empty_other, err);
    } while (status != DF_OK && store_grow_if_full(s, &status, err));
    return status;
}

enum df_status view_clear_undecided(struct view *v, struct df_error *err)
{
    enum df_status status = DF_OK;

    for (unsigned i = 0; status == DF_OK && i < v->definition.shards; i++) {
        status = shard_clear_undecided(v->stores[i], false, err);
    }
    return status;
}

/* ---- deferred batches ---- */

static enum df_status take_back(struct store *s, uint64_t seq,
                                struct df_error *err)
{
    struct shard_state state;
    struct overlay o;
    struct store_txn *t;
    enum df_status status = store_begin(&t, s, STORE_WRITE, err);

    if (status != DF_OK) {
        return status;
    }
    status = shard_state_load(t, &state, err);
    if (status == DF_OK) {
        status = overlay_load(t, &o, err);
    }
    if (status == DF_OK && state.seq > seq && overlay_reaches(&state, seq)) {
        status = overlay_take_back(t, &o, &state, seq, err);
        if (status == DF_OK) {
            status = shard_state_store(t, &state, err);
        }
    }
    if (status != DF_OK) {
        store_abort(t);
        return status;
    }
    return store_commit(t, err);
}

enum df_status view_take_back(struct view *v, struct df_error *err)
{
    struct shard_state ledger;
    struct shard_state other;
    enum df_status status = shard_look(v->stores[0], &ledger, err);

    for (unsigned i = 1; status == DF_OK && i < v->definition.shards; i++) {
        struct store *s = v->stores[i];

        status = shard_look(s, &other, err);
        if (status != DF_OK || other.seq <= ledger.seq) {
            continue;
        }
        do {
            status = take_back(s, ledger.seq, err);
        } while (status != DF_OK && store_grow_if_full(s, &status, err));
    }
    return status;
}

/* Lets go of the runs that an entry drops, where they are kept. */
static enum df_status settle_drops(struct store *s,
                                   const struct ledger_entry *e,
                                   struct df_error *err)
{
    struct shard_state state = { 0 };
    struct overlay o;
    struct store_txn *t;
    bool any = false;
    enum df_status status = store_begin(&t, s, STORE_WRITE, err);

    if (status != DF_OK) {
        return status;
    }
    status = overlay_load(t, &o, err);
    for (size_t i = 0; status == DF_OK && i < ledger_drops(e); i++) {
        struct kept_run run;
        bool found;

        status = runs_get(t, ledger_drop(e, i), &run, &found, err);
        if (status == DF_OK && found && run.kept) {
            any = true;
            status = runs_let_go(t, run.seq, overlay_uses(&o, run.seq), err);
        }
    }
    if (status == DF_OK && any) {
        /* A reader that looks back to before must not believe this shard. */
        status = shard_state_load(t, &state, err);
        state.settled = state.seq;
        if (status == DF_OK) {
            status = shard_state_store(t, &state, err);
        }
    }
    if (status != DF_OK || !any) {
        store_abort(t);
        return status;
    }
    return store_commit(t, err);
}

/* The drops of the last entry, as one that has nothing else; they lie in
 * *room. */
static enum df_status last_drops(struct view *v, struct buf *room,
                                 struct ledger_entry *drops,
                                 struct df_error *err)
{
    struct shard_state state;
    struct ledger_entry e = { 0 };
    struct store_txn *t;
    bool found = false;
    enum df_status status = store_begin(&t, v->stores[0], STORE_READ, err);

    *drops = (struct ledger_entry){ 0 };
    if (status != DF_OK) {
        return status;
    }
    status = shard_state_load(t, &state, err);
    if (status == DF_OK && state.seq > 0) {
        status = ledger_table_get(t, state.seq, &e, &found, err);
    }
    if (status == DF_OK && found &&
        !buf_append(room, e.drops.data, e.drops.len)) {
        status = error_no_memory(err);
    }
    drops->drops = buf_bytes(room);
    store_abort(t);
    return status;
}

enum df_status view_settle_drops(struct view *v, struct df_error *err)
{
    struct buf room = { 0 };
    struct ledger_entry drops;
    enum df_status status = last_drops(v, &room, &drops, err);

    for (unsigned i = 0; status == DF_OK && ledger_drops(&drops) > 0 &&
                         i < v->definition.shards;
         i++) {
        struct store *s = v->stores[i];

        do {
            status = settle_drops(s, &drops, err);
        } while (status != DF_OK && store_grow_if_full(s, &status, err));
    }
    buf_fini(&room);
    return status;
}

/* With nothing pending all shards are at one batch, with what lies in their
 * inboxes, or a file is not the one that was here. */
static enum df_status check_agreement(struct view *v, struct df_error *err)
{
    struct shard_state first = { 0 };
    struct shard_state other;
    enum df_status status = shard_look(v->stores[0], &first, err);

    for (unsigned i = 1; status == DF_OK && i < v->definition.shards; i++) {
        status = view_shard_look(v, i, &other, err);
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
        status = view_take_back(v, err);
    }
    if (status == DF_OK) {
        status = check_agreement(v, err);
    }
    if (status == DF_OK) {
        pending_remove(v);
        status = view_clear_undecided(v, err);
    }
    return status == DF_OK ? view_settle_drops(v, err) : status;
}
