#include "state/runs.h"

#include <stdlib.h>

#include "state/block.h"
#include "state/merge.h"

enum {
    /* Four pages of LMDB, less their header: blocks of a run lie in pages of
     * their own, and fill them. */
    RUN_BLOCK = 4 * 4096 - 16,
    RUN_KEY = 8 + 4,
    LOOK_EVERY = 1024 /* rows between looks at the stop flag */
};

/* Where each member of a kept run's record lies; big-endian. */
enum {
    AT_ROWS = 0,
    AT_BYTES = 8,
    AT_STORED = 16,
    AT_TIMES = 24,
    AT_DIGEST = 32,
    AT_BLOCKS = AT_DIGEST + HASH128_SIZE,
    RECORD_SIZE = AT_BLOCKS + 4
};

static enum df_status damaged(struct df_error *err)
{
    return error_set(err, DF_STATE,
                     "a kept run is damaged: restore the view from a copy, "
                     "or make it anew");
}

static struct bytes seq_key(uint8_t room[8], uint64_t seq)
{
    store_be64(room, seq);
    return bytes_of(room, 8);
}

static struct bytes block_key(uint8_t room[RUN_KEY], uint64_t seq,
                              uint32_t block)
{
    store_be64(room, seq);
    store_be32(room + 8, block);
    return bytes_of(room, RUN_KEY);
}

/* ---- records ---- */

static bool record_read(uint64_t seq, struct bytes v, struct kept_run *k)
{
    if (v.len != RECORD_SIZE) {
        return false;
    }
    *k = (struct kept_run){
        .seq = seq,
        .rows = load_be64(v.data + AT_ROWS),
        .bytes = load_be64(v.data + AT_BYTES),
        .stored = load_be64(v.data + AT_STORED),
        .blocks = load_be32(v.data + AT_BLOCKS),
        .times = (int64_t)load_be64(v.data + AT_TIMES),
        .digest = hash128_load(v.data + AT_DIGEST),
    };
    return true;
}

static enum df_status record_put(struct store_txn *t, const struct kept_run *k,
                                 struct df_error *err)
{
    uint8_t room[8];
    uint8_t v[RECORD_SIZE];

    store_be64(v + AT_ROWS, k->rows);
    store_be64(v + AT_BYTES, k->bytes);
    store_be64(v + AT_STORED, k->stored);
    store_be64(v + AT_TIMES, (uint64_t)k->times);
    hash128_store(v + AT_DIGEST, k->digest);
    store_be32(v + AT_BLOCKS, k->blocks);
    return store_put(t, STORE_KEPT, seq_key(room, k->seq),
                     bytes_of(v, sizeof v), err);
}

enum df_status runs_get(struct store_txn *t, uint64_t seq,
                        struct kept_run *kept, bool *found,
                        struct df_error *err)
{
    uint8_t room[8];
    struct bytes v;
    enum df_status status =
        store_get(t, STORE_KEPT, seq_key(room, seq), &v, found, err);

    return status == DF_OK && *found && !record_read(seq, v, kept)
               ? damaged(err)
               : status;
}

enum df_status runs_after(struct store_txn *t, uint64_t seq,
                          struct kept_run *kept, bool *found,
                          struct df_error *err)
{
    uint8_t room[8];
    struct store_cursor *c;
    struct bytes key;
    struct bytes v;
    enum df_status status = store_cursor_open(&c, t, STORE_KEPT, err);

    *found = false;
    if (status != DF_OK) {
        return status;
    }
    status = store_cursor_seek_range(c, seq_key(room, seq + 1), &key, &v,
                                     found, err);
    if (status == DF_OK && *found &&
        (key.len != 8 || !record_read(load_be64(key.data), v, kept))) {
        status = damaged(err);
    }
    store_cursor_close(c);
    return status;
}

/* ---- keeping ---- */

struct putting {
    const struct runs_put *put;
    struct store *store;
    struct store_txn *t;
    size_t written; /* since the last commit */
    struct block_writer block;
    struct kept_run kept;
    struct buf key; /* a long row's, in full */
};

static enum df_status put_block(struct putting *p, struct df_error *err)
{
    uint8_t room[RUN_KEY];
    enum df_status status;

    if (p->block.rows == 0) {
        return DF_OK;
    }
    if (p->kept.blocks == UINT32_MAX) {
        return error_set(err, DF_INPUT, "a run is too long to be kept");
    }
    status = store_append(p->t, STORE_RUNS,
                          block_key(room, p->put->seq, p->kept.blocks),
                          buf_bytes(&p->block.value), err);
    p->kept.blocks++;
    p->kept.stored += p->block.value.len;
    p->written += p->block.value.len;
    p->block.rows = 0;
    return status;
}

/* Commits what there is, when it is enough. */
static enum df_status next_chunk(struct putting *p, struct df_error *err)
{
    struct store_txn *t = p->t;
    enum df_status status;

    if (p->written < p->put->chunk) {
        return DF_OK;
    }
    p->t = NULL;
    p->written = 0;
    status = store_commit(t, err);
    return status == DF_OK ? store_begin(&p->t, p->store, STORE_WRITE, err)
                           : status;
}

static enum df_status count_row(struct putting *p, const struct row *row,
                                struct df_error *err)
{
    struct bytes whole = row->head;

    if (whole.len == ROW_HEAD_MAX) {
        buf_reset(&p->key);
        if (!row_join(&p->key, row->head, row->tail)) {
            return error_no_memory(err);
        }
        whole = buf_bytes(&p->key);
    }
    p->kept.rows++;
    p->kept.bytes +=
        row->head.len + row->tail.len + (size_t)2 * p->put->shape.components;
    p->kept.digest = digest_add(p->kept.digest,
                                row_digest(p->put->shape, whole, row->values));
    return DF_OK;
}

static enum df_status put_row(struct putting *p, const struct row *row,
                              struct df_error *err)
{
    struct block_writer *b = &p->block;
    enum df_status status = count_row(p, row, err);

    if (status == DF_OK && b->rows > 0 &&
        b->value.len + block_row_bound(b, row) > RUN_BLOCK) {
        status = put_block(p, err);
        if (status == DF_OK) {
            status = next_chunk(p, err);
        }
    }
    if (status != DF_OK) {
        return status;
    }
    if (b->rows == 0) {
        block_begin(b, p->put->shape.components, bytes_of_string(""));
    }
    return block_add(b, row) ? DF_OK : error_no_memory(err);
}

static bool stopped(const struct putting *p)
{
    return p->kept.rows % LOOK_EVERY == 0 && p->put->stop != NULL &&
           *p->put->stop != 0;
}

static enum df_status put_rows(struct putting *p, struct df_error *err)
{
    struct run_source *run = p->put->run;
    const struct row *row = NULL;
    enum df_status status = run->rewind(run, err);

    while (status == DF_OK && (status = run->next(run, &row, err)) == DF_OK &&
           row != NULL) {
        status = stopped(p) ? error_set(err, DF_INTERRUPTED, "interrupted")
                            : put_row(p, row, err);
    }
    if (status == DF_OK) {
        status = put_block(p, err);
    }
    return status == DF_OK ? record_put(p->t, &p->kept, err) : status;
}

enum df_status runs_put(const struct runs_put *put, struct store *s,
                        struct store_txn **t, struct kept_run *kept,
                        struct df_error *err)
{
    struct putting p = { .put = put, .store = s, .kept = { .seq = put->seq } };
    enum df_status status = store_begin(&p.t, s, STORE_WRITE, err);

    *t = NULL;
    if (status == DF_OK) {
        status = put_rows(&p, err);
    }
    if (status == DF_OK) {
        *t = p.t;
        *kept = p.kept;
    } else {
        store_abort(p.t);
    }
    block_writer_fini(&p.block);
    buf_fini(&p.key);
    return status;
}

/* ---- reading ---- */

struct runs_reader {
    struct run_source source; /* first: what callers hold */
    struct store_txn *t;
    unsigned components;
    uint64_t seq;
    uint32_t blocks;
    uint32_t next; /* block to open when this one is through */
    bool copy;
    bool ahead; /* block.row was found by a seek and is yet to be given */
    struct buf room;
    struct block_reader block;
};

static enum df_status open_block(struct runs_reader *r, uint32_t number,
                                 struct df_error *err)
{
    uint8_t room[RUN_KEY];
    struct bytes v;
    bool found;
    enum df_status status = store_get(
        r->t, STORE_RUNS, block_key(room, r->seq, number), &v, &found, err);

    if (status != DF_OK) {
        return status;
    }
    if (!found) {
        return damaged(err);
    }
    if (r->copy) {
        buf_reset(&r->room);
        if (!buf_append(&r->room, v.data, v.len)) {
            return error_no_memory(err);
        }
        v = buf_bytes(&r->room);
    }
    r->next = number + 1;
    return block_open(&r->block, r->components, bytes_of(NULL, 0), v)
               ? DF_OK
               : damaged(err);
}

static enum df_status reader_next(struct run_source *source,
                                  const struct row **row, struct df_error *err)
{
    struct runs_reader *r = (struct runs_reader *)source;

    *row = NULL;
    if (r->ahead) {
        r->ahead = false;
        *row = &r->block.row;
        return DF_OK;
    }
    for (;;) {
        enum df_status status;
        bool end;

        if (!block_next(&r->block, &end)) {
            return damaged(err);
        }
        if (!end) {
            *row = &r->block.row;
            return DF_OK;
        }
        if (r->next >= r->blocks) {
            return DF_OK;
        }
        status = open_block(r, r->next, err);
        if (status != DF_OK) {
            return status;
        }
    }
}

static void go_to_start(struct runs_reader *r)
{
    r->block = (struct block_reader){ .components = r->components };
    r->next = 0;
    r->ahead = false;
}

static enum df_status reader_rewind(struct run_source *source,
                                    struct df_error *err)
{
    (void)err;
    go_to_start((struct runs_reader *)source);
    return DF_OK;
}

/* Whether a block's first head is not after `head`. */
static enum df_status begins_before(struct runs_reader *r, uint32_t number,
                                    struct bytes head, bool *before,
                                    struct df_error *err)
{
    enum df_status status = open_block(r, number, err);
    bool end = true;

    if (status != DF_OK) {
        return status;
    }
    if (!block_next(&r->block, &end) || end) {
        return damaged(err);
    }
    *before = bytes_compare(r->block.row.head, head) <= 0;
    return DF_OK;
}

/* The last block that may hold `head`; the first where none begins before. */
static enum df_status find_block(struct runs_reader *r, struct bytes head,
                                 uint32_t *number, struct df_error *err)
{
    uint32_t from = 0;
    uint32_t to = r->blocks; /* block `from` begins before head, or is 0;
                                block `to` does not */
    enum df_status status = DF_OK;

    while (status == DF_OK && to - from > 1) {
        uint32_t middle = from + (to - from) / 2;
        bool before = false;

        status = begins_before(r, middle, head, &before, err);
        from = before ? middle : from;
        to = before ? to : middle;
    }
    *number = from;
    return status;
}

static enum df_status reader_seek(struct run_source *source, struct bytes head,
                                  struct df_error *err)
{
    struct runs_reader *r = (struct runs_reader *)source;
    const struct row *row;
    uint32_t number;
    enum df_status status;

    go_to_start(r);
    if (r->blocks == 0) {
        return DF_OK;
    }
    status = find_block(r, head, &number, err);
    if (status == DF_OK) {
        status = open_block(r, number, err);
    }
    do {
        if (status == DF_OK) {
            status = reader_next(source, &row, err);
        }
    } while (status == DF_OK && row != NULL &&
             bytes_compare(row->head, head) < 0);
    r->ahead = status == DF_OK && row != NULL;
    return status;
}

enum df_status runs_open(struct run_source **run, struct store_txn *t,
                         unsigned components, uint64_t seq, bool copy,
                         struct df_error *err)
{
    struct runs_reader *r;
    struct kept_run kept = { 0 };
    bool found;
    enum df_status status = runs_get(t, seq, &kept, &found, err);

    *run = NULL;
    if (status == DF_OK && !found) {
        status = error_set(err, DF_STATE,
                           "the run of ledger entry %llu is not kept any more",
                           (unsigned long long)seq);
    }
    if (status != DF_OK) {
        return status;
    }
    r = calloc(1, sizeof *r);
    if (r == NULL) {
        return error_no_memory(err);
    }
    r->source = (struct run_source){ .next = reader_next,
                                     .rewind = reader_rewind,
                                     .seek = reader_seek };
    r->t = t;
    r->components = components;
    r->seq = seq;
    r->blocks = kept.blocks;
    r->copy = copy;
    go_to_start(r);
    *run = &r->source;
    return DF_OK;
}

void runs_close(struct run_source *run)
{
    struct runs_reader *r = (struct runs_reader *)run;

    if (r != NULL) {
        buf_fini(&r->room);
        free(r);
    }
}

/* ---- dropping ---- */

/* Removes the entries of a table from key `from` on, while they begin with
 * the eight bytes of seq, or, with seq 0, all of them. */
static enum df_status remove_from(struct store_txn *t, enum store_table table,
                                  struct bytes from, uint64_t seq, bool *any,
                                  struct df_error *err)
{
    struct store_cursor *c;
    struct bytes key;
    struct bytes v;
    bool found = true;
    enum df_status status = store_cursor_open(&c, t, table, err);

    while (status == DF_OK && found) {
        status = store_cursor_seek_range(c, from, &key, &v, &found, err);
        if (status == DF_OK && found && seq != 0 &&
            (key.len < 8 || load_be64(key.data) != seq)) {
            break;
        }
        if (status == DF_OK && found) {
            *any = true;
            status = store_cursor_remove(c, err);
        }
    }
    store_cursor_close(c);
    return status;
}

enum df_status runs_drop(struct store_txn *t, uint64_t seq,
                         struct df_error *err)
{
    uint8_t room[RUN_KEY];
    bool any = false;
    enum df_status status =
        remove_from(t, STORE_RUNS, block_key(room, seq, 0), seq, &any, err);

    return status == DF_OK
               ? remove_from(t, STORE_KEPT, seq_key(room, seq), seq, &any, err)
               : status;
}

enum df_status runs_drop_after(struct store_txn *t, uint64_t seq, bool *any,
                               struct df_error *err)
{
    uint8_t room[RUN_KEY];
    enum df_status status;

    *any = false;
    status =
        remove_from(t, STORE_RUNS, block_key(room, seq + 1, 0), 0, any, err);
    return status == DF_OK ? remove_from(t, STORE_KEPT, seq_key(room, seq + 1),
                                         0, any, err)
                           : status;
}

/* ---- settling ---- */

static enum df_status move_times(struct store_txn *t,
                                 struct ledger_effect effect,
                                 struct df_error *err)
{
    struct kept_run kept = { 0 };
    bool found;
    enum df_status status = runs_get(t, effect.seq, &kept, &found, err);

    if (status != DF_OK || !found) {
        return status; /* a batch whose run is not kept moves only rows */
    }
    kept.times += effect.minus ? -1 : 1;
    return record_put(t, &kept, err);
}

enum df_status runs_settle(struct store_txn *t, const struct ledger_entry *e,
                           struct df_error *err)
{
    enum df_status status = DF_OK;
    size_t n = ledger_effects(e);

    for (size_t i = 0; status == DF_OK && i < n; i++) {
        status = move_times(t, ledger_effect(e, i), err);
    }
    n = ledger_drops(e);
    for (size_t i = 0; status == DF_OK && i < n; i++) {
        status = runs_drop(t, ledger_drop(e, i), err);
    }
    return status;
}

/* ---- adding up ---- */

static struct hash128 negated(struct hash128 h)
{
    return digest_scale(h, -1);
}

static enum df_status add_term(struct runs_sum *sum,
                               const struct runs_from *from,
                               struct runs_term term, struct df_error *err)
{
    bool own = from->own != 0 && term.seq == from->own;
    struct store_txn *t = own ? from->own_t : from->t;
    struct kept_run kept = { 0 };
    bool found;
    enum df_status status =
        runs_open(&sum->sources[sum->count], t, from->shape.components,
                  term.seq, own, err);

    if (status != DF_OK) {
        return status;
    }
    sum->count++;
    status = runs_get(t, term.seq, &kept, &found, err);
    if (status == DF_OK) {
        sum->all.rows += kept.rows;
        sum->all.bytes += kept.bytes;
        sum->all.digest = digest_add(
            sum->all.digest, term.minus ? negated(kept.digest) : kept.digest);
    }
    return status;
}

static enum df_status open_merge(struct runs_sum *sum,
                                 const struct runs_from *from,
                                 const struct runs_term *terms, size_t n,
                                 struct df_error *err)
{
    struct run_source **sources = calloc(n + 1, sizeof(struct run_source *));
    bool *minus = calloc(n + 1, sizeof *minus);
    enum df_status status;
    size_t at = 0;

    if (sources == NULL || minus == NULL) {
        status = error_no_memory(err);
        goto out;
    }
    if (from->rows != NULL) {
        sources[at++] = from->rows;
    }
    for (size_t i = 0; i < n; i++) {
        minus[at] = terms[i].minus;
        sources[at++] = sum->sources[i];
    }
    status =
        merge_open_signed(&sum->run, from->shape, sources, minus, at, err);
out:
    free(sources);
    free(minus);
    return status;
}

enum df_status runs_sum_open(struct runs_sum *sum,
                             const struct runs_from *from,
                             const struct runs_term *terms, size_t n,
                             struct df_error *err)
{
    enum df_status status = DF_OK;

    *sum = (struct runs_sum){ .sources =
                                  calloc(n + 1, sizeof(struct run_source *)) };
    if (sum->sources == NULL) {
        return error_no_memory(err);
    }
    for (size_t i = 0; status == DF_OK && i < n; i++) {
        status = add_term(sum, from, terms[i], err);
    }
    if (status == DF_OK) {
        status = open_merge(sum, from, terms, n, err);
    }
    if (status != DF_OK) {
        runs_sum_close(sum);
    }
    return status;
}

void runs_sum_close(struct runs_sum *sum)
{
    merge_close(sum->run);
    for (size_t i = 0; i < sum->count; i++) {
        runs_close(sum->sources[i]);
    }
    free(sum->sources);
    *sum = (struct runs_sum){ 0 };
}
