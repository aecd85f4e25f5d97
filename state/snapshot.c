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

/* Opens a transaction on every shard; *whole tells whether they are all at
 * the same batch. */
static enum df_status open_txns(struct snapshot *s, bool *whole,
                                struct df_error *err)
{
    enum df_status status = DF_OK;

    *whole = true;
    s->shards = s->v->definition.shards;
    s->shape = s->v->definition.shape;
    for (unsigned i = 0; status == DF_OK && i < s->shards; i++) {
        status = store_begin(&s->txns[i], s->v->stores[i], STORE_READ, err);
        if (status == DF_OK) {
            status = shard_state_load(s->txns[i], &s->states[i], err);
        }
        *whole = *whole && s->states[i].seq == s->states[0].seq;
    }
    return status;
}

static enum df_status add_up(struct snapshot *s, struct df_error *err)
{
    enum df_status status;

    s->state = (struct snapshot_state){ .seq = s->states[0].seq };
    for (unsigned i = 0; i < s->shards; i++) {
        s->state.rows += s->states[i].rows;
        s->state.digest = digest_add(s->state.digest, s->states[i].digest);
    }
    s->now = s->state;
    status = meta_text_load(s->txns[0], "high", &s->high, err);
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
        snapshot_close_finders(s);
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

/* ---- one row ---- */

void snapshot_close_finders(struct snapshot *s)
{
    for (unsigned i = 0; i < VIEW_SHARDS_MAX; i++) {
        snapshot_shard_close(s->finders[i]);
        s->finders[i] = NULL;
    }
}

/* A row of what is shown that is not simply in the table. */
static enum df_status find_row(struct snapshot *s, unsigned part,
                               const struct row *want, int64_t *values,
                               bool *found, struct df_error *err)
{
    const struct row *row = NULL;
    struct run_source *run;
    enum df_status status = DF_OK;

    *found = false;
    if (s->finders[part] == NULL) {
        status = snapshot_shard_open(&s->finders[part], s, part, err);
    }
    run = s->finders[part];
    if (status == DF_OK && run != NULL) {
        status = run->seek(run, want->head, err);
    }
    if (status == DF_OK && run != NULL) {
        status = run->next(run, &row, err);
    }
    if (status == DF_OK && row != NULL && bytes_equal(row->head, want->head) &&
        bytes_equal(row->tail, want->tail) &&
        snapshot_lets_see(s, row->values)) {
        memcpy(values, row->values, s->shape.components * sizeof *values);
        *found = true;
    }
    return status;
}

enum df_status snapshot_get(struct snapshot *s, struct bytes key,
                            struct bytes element, int64_t *values, bool *found,
                            struct df_error *err)
{
    unsigned part = row_part(row_key_hash(key), s->shards);
    uint8_t room[ROW_HEAD_MAX];
    struct buf whole = { 0 };
    struct bytes head;
    struct bytes tail;
    struct bytes stored_tail;
    enum df_status status;

    if (!row_key_append(&whole, s->shape, key, element)) {
        return error_no_memory(err);
    }
    row_split(buf_bytes(&whole), room, &head, &tail);
    if (s->terms != NULL) {
        status = find_row(s, part, &(struct row){ .head = head, .tail = tail },
                          values, found, err);
        buf_fini(&whole);
        return status;
    }
    status =
        rows_get(s->txns[part], shard_rows_table(&s->states[part]),
                 s->shape.components, head, values, &stored_tail, found, err);
    /* Another long key with this one's hash is not this key. */
    *found = *found && bytes_equal(stored_tail, tail) &&
             snapshot_lets_see(s, values);
    buf_fini(&whole);
    return status;
}

/* ---- one shard as a run ---- */

/* The rows of the table, as they lie there. */
struct table_run {
    struct run_source source;
    struct rows_reader *rows;
    const struct row *ahead; /* found by a seek and yet to be given */
    bool begun;              /* a seek has been made */
    bool ended;              /* and found nothing */
};

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

/* What is shown of a shard: passes on what `from` gives. */
struct shard_run {
    struct run_source source;
    struct run_source *from; /* &table.source or sum.run */
    struct table_run table;
    struct runs_sum sum;
};

static enum df_status shard_run_next(struct run_source *source,
                                     const struct row **row,
                                     struct df_error *err)
{
    struct shard_run *r = (struct shard_run *)source;

    return r->from->next(r->from, row, err);
}

static enum df_status shard_run_rewind(struct run_source *source,
                                       struct df_error *err)
{
    struct shard_run *r = (struct shard_run *)source;

    return r->from->rewind(r->from, err);
}

static enum df_status shard_run_seek(struct run_source *source,
                                     struct bytes head, struct df_error *err)
{
    struct shard_run *r = (struct shard_run *)source;

    return r->from->seek(r->from, head, err);
}

static enum df_status open_sum(struct shard_run *r, struct snapshot *s,
                               unsigned shard, struct df_error *err)
{
    struct runs_from from = { .shape = s->shape, .t = s->txns[shard] };
    enum df_status status;

    from.rows = s->without_rows ? NULL : &r->table.source;
    status = runs_sum_open(&r->sum, &from, s->terms, s->term_count, err);
    r->from = r->sum.run;
    return status;
}

enum df_status snapshot_shard_open(struct run_source **run, struct snapshot *s,
                                   unsigned shard, struct df_error *err)
{
    struct shard_run *r = calloc(1, sizeof *r);
    enum df_status status;

    *run = NULL;
    if (r == NULL) {
        return error_no_memory(err);
    }
    r->source = (struct run_source){ .next = shard_run_next,
                                     .rewind = shard_run_rewind,
                                     .seek = shard_run_seek };
    r->table.source = (struct run_source){ .next = table_next,
                                           .rewind = table_rewind,
                                           .seek = table_seek };
    r->from = &r->table.source;
    status = rows_reader_open(&r->table.rows, s->txns[shard],
                              shard_rows_table(&s->states[shard]),
                              s->shape.components, err);
    if (status == DF_OK && s->terms != NULL) {
        status = open_sum(r, s, shard, err);
    }
    if (status != DF_OK) {
        snapshot_shard_close(&r->source);
        return status;
    }
    *run = &r->source;
    return DF_OK;
}

void snapshot_shard_close(struct run_source *run)
{
    struct shard_run *r = (struct shard_run *)run;

    if (r != NULL) {
        runs_sum_close(&r->sum);
        rows_reader_close(r->table.rows);
        free(r);
    }
}

/* ---- rows of one shard, sought ---- */

/* Rows that are read on before a seek from the root is cheaper: a block or
 * two of short ones. */
enum { READ_ON = 64 };

struct snapshot_rows {
    struct rows_reader *rows;
    const struct row *row; /* under the reader; NULL: past the last */
    bool is_begun;
};

unsigned snapshot_shards(const struct snapshot *s)
{
    return s->shards;
}

enum df_status snapshot_rows_open(struct snapshot_rows **out,
                                  struct snapshot *s, unsigned shard,
                                  struct df_error *err)
{
    struct snapshot_rows *r = calloc(1, sizeof *r);
    enum df_status status;

    *out = NULL;
    if (r == NULL) {
        return error_no_memory(err);
    }
    status = rows_reader_open(&r->rows, s->txns[shard],
                              shard_rows_table(&s->states[shard]),
                              s->shape.components, err);
    if (status != DF_OK) {
        free(r);
        return status;
    }
    *out = r;
    return DF_OK;
}

void snapshot_rows_close(struct snapshot_rows *r)
{
    if (r != NULL) {
        rows_reader_close(r->rows);
        free(r);
    }
}

enum df_status snapshot_rows_next(struct snapshot_rows *r,
                                  const struct row **row, struct df_error *err)
{
    enum df_status status = DF_OK;

    if (r->row != NULL) {
        status = rows_reader_next(r->rows, &r->row, err);
    }
    *row = r->row;
    return status;
}

enum df_status snapshot_rows_seek(struct snapshot_rows *r, struct bytes head,
                                  const struct row **row, struct df_error *err)
{
    enum df_status status = DF_OK;
    bool is_near = r->is_begun;

    r->is_begun = true;
    for (int i = 0; status == DF_OK && is_near && r->row != NULL &&
                    bytes_compare(r->row->head, head) < 0;
         i++) {
        is_near = i < READ_ON;
        if (is_near) {
            status = rows_reader_next(r->rows, &r->row, err);
        }
    }
    if (status == DF_OK && !is_near) {
        status = rows_reader_seek(r->rows, head, &r->row, err);
    }
    *row = r->row;
    return status;
}

/* ---- the ledger ---- */

enum df_status snapshot_ledger_get(struct snapshot *s, uint64_t seq,
                                   struct ledger_entry *e, bool *found,
                                   struct df_error *err)
{
    return ledger_table_get(s->txns[0], seq, e, found, err);
}

enum df_status snapshot_ledger_by_name(struct snapshot *s, struct bytes name,
                                       struct ledger_entry *e, bool *found,
                                       struct df_error *err)
{
    return ledger_table_by_name(s->txns[0], name, e, found, err);
}

enum df_status snapshot_ledger_by_digest(struct snapshot *s,
                                         struct hash128 digest,
                                         struct ledger_entry *e, bool *found,
                                         struct df_error *err)
{
    return ledger_table_by_digest(s->txns[0], digest, e, found, err);
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
