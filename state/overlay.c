#include "state/overlay.h"

#include <assert.h>

/* Terms as stored: run, batch, sign; behind them, where a fold is under way,
 * its number of terms, rows, magnitude and head. */
enum { TERM = 8 + 8 + 1, FOLD = 1 + 8 + 8, OVERLAY_BYTES = 2048 };

enum df_status overlay_damaged(struct df_error *err)
{
    return error_set(err, DF_STATE,
                     "the list of runs that are not folded " STORE_DAMAGED);
}

static bool read_fold(struct bytes v, struct overlay *o)
{
    if (v.len == 0) {
        return true;
    }
    if (v.len < FOLD || v.data[0] > o->count ||
        v.len - FOLD > sizeof o->fold_head) {
        return false;
    }
    o->folding = v.data[0];
    o->fold_rows = load_be64(v.data + 1);
    o->fold_magnitude = load_be64(v.data + 9);
    o->fold_head_len = v.len - FOLD;
    memcpy(o->fold_head, v.data + FOLD, o->fold_head_len);
    return true;
}

enum df_status overlay_load(struct store_txn *t, struct overlay *o,
                            struct df_error *err)
{
    struct bytes v;
    enum df_status status = meta_text_load(t, "overlay", &v, err);

    o->count = 0;
    o->folding = 0;
    o->fold_rows = 0;
    o->fold_magnitude = 0;
    o->fold_head_len = 0;
    if (status != DF_OK || v.len == 0) {
        return status;
    }
    o->count = v.data[0];
    if (o->count > OVERLAY_MAX || v.len < 1 + o->count * TERM) {
        return overlay_damaged(err);
    }
    for (size_t i = 0; i < o->count; i++) {
        const uint8_t *at = v.data + 1 + i * TERM;

        o->terms[i] = (struct overlay_term){ .run = load_be64(at),
                                             .batch = load_be64(at + 8),
                                             .minus = at[16] != 0 };
    }
    v = bytes_of(v.data + 1 + o->count * TERM, v.len - 1 - o->count * TERM);
    return read_fold(v, o) ? DF_OK : overlay_damaged(err);
}

enum df_status overlay_store(struct store_txn *t, const struct overlay *o,
                             struct df_error *err)
{
    uint8_t v[OVERLAY_BYTES];
    uint8_t *at = v;

    *at++ = (uint8_t)o->count;
    for (size_t i = 0; i < o->count; i++) {
        assert(!runs_is_in_inbox(o->terms[i].run));
        store_be64(at, o->terms[i].run);
        store_be64(at + 8, o->terms[i].batch);
        at[16] = o->terms[i].minus ? 1 : 0;
        at += TERM;
    }
    if (o->folding > 0) {
        *at = (uint8_t)o->folding;
        store_be64(at + 1, o->fold_rows);
        store_be64(at + 9, o->fold_magnitude);
        memcpy(at + FOLD, o->fold_head, o->fold_head_len);
        at += FOLD + o->fold_head_len;
    }
    return meta_text_store(t, "overlay", bytes_of(v, (size_t)(at - v)), err);
}

size_t overlay_until(const struct overlay *o, uint64_t seq)
{
    size_t n = o->count;

    while (n > 0 && o->terms[n - 1].batch > seq) {
        n--;
    }
    return n;
}

bool overlay_uses(const struct overlay *o, uint64_t run)
{
    for (size_t i = 0; i < o->count; i++) {
        if (o->terms[i].run == run) {
            return true;
        }
    }
    return false;
}

void overlay_terms(const struct overlay *o, size_t n, struct runs_term *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = (struct runs_term){ .seq = o->terms[i].run,
                                     .minus = o->terms[i].minus };
    }
}

enum df_status overlay_merge(const struct overlay *o, size_t first,
                             const struct runs_from *from,
                             struct runs_put *put, struct store *s,
                             struct store_txn **t, struct kept_run *run,
                             struct df_error *err)
{
    struct runs_term terms[OVERLAY_MAX];
    struct runs_sum sum = { 0 };
    enum df_status status;

    overlay_terms(o, o->count, terms);
    status = runs_sum_open(&sum, from, terms + first, o->count - first, err);
    if (status == DF_OK) {
        put->run = sum.run;
        status = runs_put(put, s, t, run, err);
    }
    runs_sum_close(&sum);
    return status == DF_OK && run->rows == 0 ? runs_drop(*t, run->seq, err)
                                             : status;
}

static enum df_status get_run(struct store_txn *t, uint64_t number,
                              struct kept_run *run, struct df_error *err)
{
    bool found;
    enum df_status status = runs_get(t, number, run, &found, err);

    return status == DF_OK && !found ? overlay_damaged(err) : status;
}

enum df_status overlay_sum(struct store_txn *t, struct store_txn *inbox,
                           const struct overlay *o, size_t from, size_t to,
                           struct overlay_sum *sum, struct df_error *err)
{
    enum df_status status = DF_OK;

    *sum = (struct overlay_sum){ 0 };
    for (size_t i = from; status == DF_OK && i < to; i++) {
        uint64_t number = o->terms[i].run;
        struct kept_run run;

        status =
            get_run(runs_is_in_inbox(number) ? inbox : t, number, &run, err);
        if (status == DF_OK) {
            sum->rows += run.rows;
            sum->bytes += run.bytes;
            sum->stored += run.stored;
            sum->magnitude = row_magnitude_add(sum->magnitude, run.magnitude);
            sum->digest = digest_add(
                sum->digest,
                o->terms[i].minus ? digest_scale(run.digest, -1) : run.digest);
        }
    }
    return status;
}

bool overlay_has_room(const struct overlay *o, const struct ledger_entry *e)
{
    return ledger_effects(e) <= OVERLAY_MAX - o->count;
}

void overlay_defer(struct overlay *o, const struct ledger_entry *e)
{
    size_t n = ledger_effects(e);

    for (size_t i = 0; i < n; i++) {
        struct ledger_effect effect = ledger_effect(e, i);

        o->terms[o->count++] = (struct overlay_term){ .run = effect.seq,
                                                      .batch = e->seq,
                                                      .minus = effect.minus };
    }
}

/* A run that has left the overlay goes, unless it is kept, or used still. */
static enum df_status drop_unwanted(struct store_txn *t,
                                    const struct overlay *o, uint64_t number,
                                    struct df_error *err)
{
    struct kept_run run;
    bool found;
    enum df_status status = runs_get(t, number, &run, &found, err);

    return status == DF_OK && found && !run.kept && !overlay_uses(o, number)
               ? runs_drop(t, number, err)
               : status;
}

enum df_status overlay_replace(struct store_txn *t, struct overlay *o,
                               size_t from, size_t to,
                               const struct overlay_term *by,
                               struct df_error *err)
{
    struct overlay_term gone[OVERLAY_MAX];
    size_t n = to - from;
    enum df_status status = DF_OK;

    memcpy(gone, o->terms + from, n * sizeof *gone);
    if (by != NULL) {
        o->terms[from++] = *by;
    }
    memmove(o->terms + from, o->terms + to,
            (o->count - to) * sizeof *o->terms);
    o->count -= to - from;
    for (size_t i = 0; status == DF_OK && i < n; i++) {
        status = drop_unwanted(t, o, gone[i].run, err);
    }
    return status == DF_OK ? overlay_store(t, o, err) : status;
}

enum df_status overlay_stop_folding(struct store_txn *t, struct overlay *o,
                                    const struct shard_state *state,
                                    struct df_error *err)
{
    if (o->folding == 0) {
        return DF_OK;
    }
    o->folding = 0;
    o->fold_rows = 0;
    o->fold_magnitude = 0;
    o->fold_head_len = 0;
    return store_empty(t, shard_other_table(state), err);
}

enum df_status overlay_take_back(struct store_txn *t, struct overlay *o,
                                 struct shard_state *state, uint64_t seq,
                                 struct df_error *err)
{
    size_t kept = overlay_until(o, seq);
    struct overlay_sum gone;
    bool any;
    enum df_status status =
        overlay_sum(t, NULL, o, kept, o->count, &gone, err);

    for (size_t i = kept; status == DF_OK && i < o->count; i++) {
        status =
            runs_move(t,
                      (struct ledger_effect){ .seq = o->terms[i].run,
                                              .minus = !o->terms[i].minus },
                      err);
    }
    if (status == DF_OK) {
        o->count = kept;
        state->seq = seq;
        state->digest =
            digest_add(state->digest, digest_scale(gone.digest, -1));
        status = overlay_store(t, o, err);
    }
    return status == DF_OK ? runs_drop_after(t, seq, &any, err) : status;
}
