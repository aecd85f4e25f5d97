#include "state/snapshot_internal.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "state/ledger_table.h"
#include "state/rows.h"

enum {
    WAIT_FIRST_US = 200, /* first pause between two looks; doubled */
    WAIT_LONGEST_US = 20000,
    WAIT_MAX_US = 60 * 1000000
};

static void close_txns(struct snapshot *s)
{
    for (unsigned i = 0; i < VIEW_SHARDS_MAX; i++) {
        store_abort(s->txns[i]);
        s->txns[i] = NULL;
    }
}

/* Makes a shard's overlay and digest those as of the ledger's last batch; the
 * shard may be ahead by deferred ones. (What it is behind it has in its inbox:
 * that is added.) */
static enum df_status see_as_of(struct snapshot *s, unsigned i, uint64_t seq,
                                struct df_error *err)
{
    struct shard_state *state = &s->states[i];
    struct overlay *o = &s->overlays[i];
    struct overlay_sum ahead;
    size_t n = overlay_until(o, seq);
    enum df_status status =
        overlay_sum(s->txns[i], s->txns[0], o, n, o->count, &ahead, err);

    if (status == DF_OK) {
        o->count = n;
        state->seq = seq;
        state->digest =
            digest_add(state->digest, digest_scale(ahead.digest, -1));
    }
    return status;
}

/* Whether a shard has all runs that are kept as of the ledger's last batch:
 * one that is ahead may have dropped some for the next, which was decided
 * since. */
static enum df_status has_history(struct snapshot *s, unsigned i, bool *has,
                                  struct df_error *err)
{
    struct kept_run run = { .seq = 0 };
    enum df_status status = DF_OK;
    bool more = true;

    *has = true;
    while (status == DF_OK && *has && more) {
        status = runs_after(s->txns[0], run.seq, &run, &more, err);
        more = more && run.seq <= s->states[0].seq;
        if (status == DF_OK && more) {
            struct kept_run same;

            status = runs_get(s->txns[i], run.seq, &same, has, err);
        }
    }
    return status;
}

/* Whether a shard that has been looked at can be seen as of the ledger's last
 * batch; then it is. */
static enum df_status see_whole(struct snapshot *s, unsigned i, bool *whole,
                                struct df_error *err)
{
    const struct shard_state *state = &s->states[i];
    uint64_t seq = s->states[0].seq;
    enum df_status status = DF_OK;

    *whole = overlay_reaches(state, seq);
    if (*whole && state->seq > seq) {
        status = has_history(s, i, whole, err);
    }
    return status == DF_OK && *whole ? see_as_of(s, i, seq, err) : status;
}

/* Opens a transaction on every shard, shard 0 first, for its number is what
 * counts; *whole tells whether all can be seen as of the same batch. */
static enum df_status open_txns(struct snapshot *s, bool *whole,
                                struct df_error *err)
{
    enum df_status status = DF_OK;

    *whole = true;
    s->shards = s->v->definition.shards;
    s->shape = s->v->definition.shape;
    for (unsigned i = 0; status == DF_OK && *whole && i < s->shards; i++) {
        status = store_begin(&s->txns[i], s->v->stores[i], STORE_READ, err);
        if (status == DF_OK) {
            status = inbox_look(s->txns[i], s->txns[0], i, &s->states[i],
                                &s->overlays[i], err);
        }
        if (status == DF_OK) {
            status = see_whole(s, i, whole, err);
        }
    }
    return status;
}

static enum df_status add_up(struct snapshot *s, struct df_error *err)
{
    enum df_status status = DF_OK;

    s->state = (struct snapshot_state){ .seq = s->states[0].seq };
    for (unsigned i = 0; status == DF_OK && i < s->shards; i++) {
        struct overlay_sum over;

        status = overlay_sum(s->txns[i], s->txns[0], &s->overlays[i], 0,
                             s->overlays[i].count, &over, err);
        s->state.rows += s->states[i].rows;
        s->state.unfolded += over.rows;
        s->state.digest = digest_add(s->state.digest, s->states[i].digest);
    }
    s->now = s->state;
    if (status == DF_OK) {
        status = meta_text_load(s->txns[0], "high", &s->high, err);
    }
    if (status == DF_OK) {
        status = meta_text_load(s->txns[0], "covered", &s->covered, err);
    }
    return status;
}

/* Between two looks: waits for a writer that is alive; finishes the batch of
 * one that has died. */
static enum df_status wait_or_finish(struct snapshot *s, int64_t since,
                                     int64_t *pause_us, struct df_error *err)
{
    struct timespec pause = { .tv_nsec = (long)*pause_us * 1000 };

    if (clock_us() - since > WAIT_MAX_US) {
        return error_set(err, DF_STATE,
                         "%s: a batch is being committed for more than a "
                         "minute: see whether its writer hangs",
                         s->v->path);
    }
    if (s->v->access == VIEW_READ && !view_is_locked(s->v) &&
        *pause_us >= WAIT_LONGEST_US) {
        return view_finish_for_reader(s->v, err);
    }
    (void)nanosleep(&pause, NULL);
    *pause_us =
        *pause_us * 2 < WAIT_LONGEST_US ? *pause_us * 2 : WAIT_LONGEST_US;
    return DF_OK;
}

enum df_status snapshot_open(struct snapshot **out, struct view *v,
                             struct df_error *err)
{
    struct snapshot *s = calloc(1, sizeof *s);
    int64_t since = clock_us();
    int64_t pause_us = WAIT_FIRST_US;
    enum df_status status;
    bool whole;

    *out = NULL;
    if (s == NULL) {
        return error_no_memory(err);
    }
    s->v = v;
    status = open_txns(s, &whole, err);
    while (status == DF_OK && !whole) {
        close_txns(s);
        status = wait_or_finish(s, since, &pause_us, err);
        if (status == DF_OK) {
            status = open_txns(s, &whole, err);
        }
    }
    if (status == DF_OK) {
        status = add_up(s, err);
    }
    if (status != DF_OK) {
        snapshot_close(s);
        return status;
    }
    *out = s;
    return DF_OK;
}

void snapshot_close(struct snapshot *s)
{
    if (s != NULL) {
        snapshot_close_shown(s);
        free(s->terms);
        close_txns(s);
        free(s);
    }
}

struct snapshot_state snapshot_state(const struct snapshot *s)
{
    return s->state;
}

void snapshot_apply_having(struct snapshot *s)
{
    s->has_filter = s->v->definition.having.is_set;
}

bool snapshot_is_shown(const struct snapshot *s, const int64_t *values)
{
    const struct view_having *h = &s->v->definition.having;
    unsigned c = h->component;

    if (!h->is_set) {
        return true;
    }
    if ((s->shape.wide >> c & 1) != 0) {
        /* The high half decides, but where it only carries the sign. */
        int64_t high = values[c + 1];

        if (high != (values[c] < 0 ? -1 : 0)) {
            return high >= 0;
        }
    }
    return values[c] >= h->least;
}

bool snapshot_lets_see(const struct snapshot *s, const int64_t *values)
{
    return !s->has_filter || snapshot_is_shown(s, values);
}

/* ---- one shard ---- */

/* What is shown of a shard: rows, overlay and runs of history. */
struct shard_shown {
    struct run_source source; /* passes on what rows.run gives */
    struct shard_run rows;
    struct shard_run_from from;
    struct runs_term *terms; /* owned */
};

static enum df_status shown_next(struct run_source *source,
                                 const struct row **row, struct df_error *err)
{
    struct run_source *run = ((struct shard_shown *)source)->rows.run;

    return run->next(run, row, err);
}

static enum df_status shown_rewind(struct run_source *source,
                                   struct df_error *err)
{
    struct run_source *run = ((struct shard_shown *)source)->rows.run;

    return run->rewind(run, err);
}

static enum df_status shown_seek(struct run_source *source, struct bytes head,
                                 struct df_error *err)
{
    struct run_source *run = ((struct shard_shown *)source)->rows.run;

    return run->seek(run, head, err);
}

/* Adds a term, unless its opposite is there: then both go. */
static void net_term(struct shard_run_from *from, struct runs_term *terms,
                     struct runs_term term)
{
    for (size_t i = 0; i < from->count; i++) {
        if (terms[i].seq == term.seq && terms[i].minus != term.minus) {
            terms[i] = terms[--from->count];
            return;
        }
    }
    terms[from->count++] = term;
}

static bool make_terms(struct shard_shown *r, const struct snapshot *s,
                       unsigned shard)
{
    const struct overlay *o = &s->overlays[shard];
    size_t n = s->without_rows ? 0 : o->count;

    r->terms = calloc(n + s->term_count + 1, sizeof *r->terms);
    if (r->terms == NULL) {
        return false;
    }
    for (size_t i = 0; i < s->term_count; i++) {
        r->terms[r->from.count++] = s->terms[i];
    }
    for (size_t i = 0; i < n; i++) {
        net_term(&r->from, r->terms,
                 (struct runs_term){ .seq = o->terms[i].run,
                                     .minus = o->terms[i].minus });
    }
    r->from.terms = r->terms;
    return true;
}

static enum df_status shown_open(struct shard_shown **out, struct snapshot *s,
                                 unsigned shard, struct df_error *err)
{
    struct shard_shown *r = calloc(1, sizeof *r);
    enum df_status status = DF_OK;

    *out = NULL;
    if (r == NULL) {
        return error_no_memory(err);
    }
    r->source = (struct run_source){ .next = shown_next,
                                     .rewind = shown_rewind,
                                     .seek = shown_seek };
    r->from = (struct shard_run_from){
        .shape = s->shape,
        .t = s->txns[shard],
        .inbox = s->txns[0],
        .state = &s->states[shard],
        .without_rows = s->without_rows,
    };
    if (!make_terms(r, s, shard)) {
        status = error_no_memory(err);
    }
    if (status == DF_OK) {
        status = shard_run_open(&r->rows, &r->from, err);
    }
    if (status != DF_OK) {
        snapshot_shard_close(&r->source);
        return status;
    }
    *out = r;
    return DF_OK;
}

enum df_status snapshot_shard_open(struct run_source **run, struct snapshot *s,
                                   unsigned shard, struct df_error *err)
{
    struct shard_shown *r;
    enum df_status status = shown_open(&r, s, shard, err);

    *run = status == DF_OK ? &r->source : NULL;
    return status;
}

void snapshot_shard_close(struct run_source *run)
{
    struct shard_shown *r = (struct shard_shown *)run;

    if (r != NULL) {
        shard_run_close(&r->rows);
        free(r->terms);
        free(r);
    }
}

/* ---- one row ---- */

void snapshot_close_shown(struct snapshot *s)
{
    for (unsigned i = 0; i < VIEW_SHARDS_MAX; i++) {
        if (s->shown[i] != NULL) {
            snapshot_shard_close(&s->shown[i]->source);
        }
        s->shown[i] = NULL;
    }
}

enum df_status snapshot_get(struct snapshot *s, struct bytes key,
                            struct bytes element, int64_t *values, bool *found,
                            struct df_error *err)
{
    unsigned part = row_part(row_key_hash(key), s->shards);
    struct shard_shown **r = &s->shown[part];
    uint8_t room[ROW_HEAD_MAX];
    struct buf whole = { 0 };
    struct row want = { 0 };
    enum df_status status = DF_OK;

    *found = false;
    if (!row_key_append(&whole, s->shape, key, element)) {
        return error_no_memory(err);
    }
    row_split(buf_bytes(&whole), room, &want.head, &want.tail);
    if (*r == NULL) {
        status = shown_open(r, s, part, err);
    }
    if (status == DF_OK) {
        status = shard_run_find(&(*r)->rows, &(*r)->from, &want, values, found,
                                err);
    }
    *found = status == DF_OK && *found && snapshot_lets_see(s, values);
    buf_fini(&whole);
    return status;
}

/* ---- the ledger ---- */

/* An entry that was found is told how long it took in all. */
static enum df_status timed(struct snapshot *s, enum df_status status,
                            struct ledger_entry *e, const bool *found)
{
    if (status == DF_OK && *found) {
        if (!s->timings.loaded) {
            timings_load(&s->timings, s->v);
        }
        timings_apply(&s->timings, e);
    }
    return status;
}

enum df_status snapshot_ledger_get(struct snapshot *s, uint64_t seq,
                                   struct ledger_entry *e, bool *found,
                                   struct df_error *err)
{
    return timed(s, ledger_table_get(s->txns[0], seq, e, found, err), e,
                 found);
}

enum df_status snapshot_ledger_by_name(struct snapshot *s, struct bytes name,
                                       struct ledger_entry *e, bool *found,
                                       struct df_error *err)
{
    return timed(s, ledger_table_by_name(s->txns[0], name, e, found, err), e,
                 found);
}

enum df_status snapshot_ledger_by_digest(struct snapshot *s,
                                         struct hash128 digest,
                                         struct ledger_entry *e, bool *found,
                                         struct df_error *err)
{
    return timed(s, ledger_table_by_digest(s->txns[0], digest, e, found, err),
                 e, found);
}

struct bytes snapshot_ledger_high(const struct snapshot *s)
{
    return s->high;
}

struct bytes snapshot_ledger_covered(const struct snapshot *s)
{
    return s->covered;
}

enum df_status snapshot_ledger_files(struct snapshot *s, uint64_t seq,
                                     bool (*each)(void *ctx,
                                                  const struct ledger_file *),
                                     void *ctx, struct df_error *err)
{
    return ledger_table_files(s->txns[0], seq, each, ctx, err);
}
