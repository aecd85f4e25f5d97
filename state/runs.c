#include "state/runs_internal.h"

#include <stdlib.h>

enum { LOOK_EVERY = 1024 /* rows between looks at the stop flag */ };

/* Where each member of a run's record lies; big-endian. */
enum {
    AT_ROWS = 0,
    AT_BYTES = 8,
    AT_STORED = 16,
    AT_TIMES = 24,
    AT_MAGNITUDE = 32,
    AT_DIGEST = 40,
    AT_BLOCKS = AT_DIGEST + HASH128_SIZE,
    AT_KEPT = AT_BLOCKS + 4,
    RECORD_SIZE = AT_KEPT + 1
};

enum df_status runs_damaged(struct df_error *err)
{
    return error_set(err, DF_STATE, "a stored run " STORE_DAMAGED);
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
        .magnitude = load_be64(v.data + AT_MAGNITUDE),
        .digest = hash128_load(v.data + AT_DIGEST),
        .kept = v.data[AT_KEPT] != 0,
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
    store_be64(v + AT_MAGNITUDE, k->magnitude);
    hash128_store(v + AT_DIGEST, k->digest);
    store_be32(v + AT_BLOCKS, k->blocks);
    v[AT_KEPT] = k->kept ? 1 : 0;
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
               ? runs_damaged(err)
               : status;
}

/* The first record after number seq, of any run. */
static enum df_status record_after(struct store_txn *t, uint64_t seq,
                                   struct kept_run *k, bool *found,
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
        (key.len != 8 || !record_read(load_be64(key.data), v, k))) {
        status = runs_damaged(err);
    }
    store_cursor_close(c);
    return status;
}

enum df_status runs_after(struct store_txn *t, uint64_t seq,
                          struct kept_run *kept, bool *found,
                          struct df_error *err)
{
    enum df_status status = record_after(t, seq, kept, found, err);

    while (status == DF_OK && *found && !kept->kept) {
        status = record_after(t, kept->seq, kept, found, err);
    }
    return status;
}

enum df_status runs_next_merged(struct store_txn *t, uint64_t *number,
                                struct df_error *err)
{
    struct store_cursor *c;
    struct bytes key;
    struct bytes v;
    bool found;
    enum df_status status = store_cursor_open(&c, t, STORE_KEPT, err);

    *number = RUNS_MERGED;
    if (status != DF_OK) {
        return status;
    }
    status = store_cursor_last(c, &key, &v, &found, err);
    if (status == DF_OK && found && key.len == 8 &&
        load_be64(key.data) >= RUNS_MERGED) {
        *number = load_be64(key.data) + 1;
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
    struct run_block_writer block;
    struct buf ends;  /* of the index: where each first head ends in ... */
    struct buf heads; /* ... the first heads of all blocks */
    struct kept_run kept;
    struct buf key; /* a long row's, in full */
};

static enum df_status put_value(struct putting *p, uint32_t block,
                                struct bytes value, struct df_error *err)
{
    uint8_t room[RUN_KEY];

    p->kept.stored += value.len;
    p->written += value.len;
    return store_put(p->t, STORE_RUNS, block_key(room, p->put->seq, block),
                     value, err);
}

static enum df_status put_block(struct putting *p, struct df_error *err)
{
    if (p->block.block.rows == 0) {
        return DF_OK;
    }
    if (p->kept.blocks == RUN_INDEX - 1) {
        return error_set(err, DF_INPUT, "a run is too long to be stored");
    }
    if (!run_block_end(&p->block)) {
        return error_no_memory(err);
    }
    p->block.block.rows = 0;
    return put_value(p, p->kept.blocks++, buf_bytes(&p->block.block.value),
                     err);
}

static enum df_status put_index(struct putting *p, struct df_error *err)
{
    if (p->kept.blocks == 0) {
        return DF_OK;
    }
    if (!buf_append(&p->ends, p->heads.data, p->heads.len)) {
        return error_no_memory(err);
    }
    return put_value(p, RUN_INDEX, buf_bytes(&p->ends), err);
}

static enum df_status begin_block(struct putting *p, struct bytes head,
                                  struct df_error *err)
{
    uint8_t end[4];

    run_block_begin(&p->block, p->put->shape.components);
    if (p->heads.len > UINT32_MAX - head.len) {
        return error_set(err, DF_INPUT, "a run is too long to be stored");
    }
    store_be32(end, (uint32_t)(p->heads.len + head.len));
    return buf_append(&p->heads, head.data, head.len) &&
                   buf_append(&p->ends, end, sizeof end)
               ? DF_OK
               : error_no_memory(err);
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
    struct row_shape shape = p->put->shape;
    struct bytes whole = row->head;
    uint64_t magnitude = row_values_magnitude(shape, row->values);

    if (whole.len == ROW_HEAD_MAX) {
        buf_reset(&p->key);
        if (!row_join(&p->key, row->head, row->tail)) {
            return error_no_memory(err);
        }
        whole = buf_bytes(&p->key);
    }
    p->kept.rows++;
    p->kept.lowers = p->kept.lowers || row->values[0] < 0;
    p->kept.bytes +=
        row->head.len + row->tail.len + (size_t)2 * shape.components;
    p->kept.digest =
        digest_add(p->kept.digest, row_digest(shape, whole, row->values));
    p->kept.magnitude =
        magnitude > p->kept.magnitude ? magnitude : p->kept.magnitude;
    return DF_OK;
}

static enum df_status put_row(struct putting *p, const struct row *row,
                              struct df_error *err)
{
    enum df_status status = count_row(p, row, err);

    if (status == DF_OK && p->block.block.rows > 0 &&
        !run_block_has_room(&p->block, row)) {
        status = put_block(p, err);
        if (status == DF_OK) {
            status = next_chunk(p, err);
        }
    }
    if (status == DF_OK && p->block.block.rows == 0) {
        status = begin_block(p, row->head, err);
    }
    if (status != DF_OK) {
        return status;
    }
    return run_block_add(&p->block, row) ? DF_OK : error_no_memory(err);
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
    if (status == DF_OK) {
        status = put_index(p, err);
    }
    return status == DF_OK ? record_put(p->t, &p->kept, err) : status;
}

enum df_status runs_put(const struct runs_put *put, struct store *s,
                        struct store_txn **t, struct kept_run *kept,
                        struct df_error *err)
{
    struct putting p = { .put = put,
                         .store = s,
                         .t = *t,
                         .kept = { .seq = put->seq, .kept = put->keep } };
    enum df_status status =
        p.t == NULL ? store_begin(&p.t, s, STORE_WRITE, err) : DF_OK;

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
    run_block_writer_fini(&p.block);
    buf_fini(&p.ends);
    buf_fini(&p.heads);
    buf_fini(&p.key);
    return status;
}

/* ---- dropping ---- */

/* Removes the entries of a table from key `from` up to but without `to`. */
static enum df_status remove_range(struct store_txn *t, enum store_table table,
                                   struct bytes from, struct bytes to,
                                   bool *any, struct df_error *err)
{
    struct store_cursor *c;
    struct bytes key;
    struct bytes v;
    bool found = true;
    enum df_status status = store_cursor_open(&c, t, table, err);

    while (status == DF_OK && found) {
        status = store_cursor_seek_range(c, from, &key, &v, &found, err);
        if (status == DF_OK && found && bytes_compare(key, to) >= 0) {
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

/* All there is of the runs from number `from` up to but without `to`. */
static enum df_status remove_runs(struct store_txn *t, uint64_t from,
                                  uint64_t to, bool *any, struct df_error *err)
{
    uint8_t a[8];
    uint8_t b[8];
    enum df_status status = remove_range(t, STORE_RUNS, seq_key(a, from),
                                         seq_key(b, to), any, err);

    return status == DF_OK ? remove_range(t, STORE_KEPT, seq_key(a, from),
                                          seq_key(b, to), any, err)
                           : status;
}

enum df_status runs_drop(struct store_txn *t, uint64_t seq,
                         struct df_error *err)
{
    bool any;

    return remove_runs(t, seq, seq + 1, &any, err);
}

enum df_status runs_drop_after(struct store_txn *t, uint64_t seq, bool *any,
                               struct df_error *err)
{
    *any = false;
    return remove_runs(t, seq + 1, RUNS_INBOX, any, err);
}

enum df_status runs_any_in_inbox(struct store_txn *t, bool *any,
                                 struct df_error *err)
{
    struct kept_run first = { 0 };
    enum df_status status = record_after(t, RUNS_INBOX - 1, &first, any, err);

    *any = *any && runs_is_in_inbox(first.seq);
    return status;
}

enum df_status runs_drop_inbox(struct store_txn *t, struct df_error *err)
{
    bool any;

    return remove_runs(t, RUNS_INBOX, RUNS_MERGED, &any, err);
}

enum df_status runs_drop_merged(struct store_txn *t,
                                bool (*is_used)(const void *ctx, uint64_t run),
                                const void *ctx, bool *any,
                                struct df_error *err)
{
    struct store_cursor *c;
    uint8_t room[8];
    struct bytes key;
    struct bytes v;
    bool found = true;
    uint64_t next = RUNS_MERGED;
    enum df_status status = store_cursor_open(&c, t, STORE_RUNS, err);

    while (status == DF_OK && found) {
        uint64_t run;

        status = store_cursor_seek_range(c, seq_key(room, next), &key, &v,
                                         &found, err);
        if (status != DF_OK || !found) {
            break;
        }
        if (key.len != RUN_KEY) {
            status = runs_damaged(err);
            break;
        }
        run = load_be64(key.data);
        next = run + 1;
        if (!is_used(ctx, run)) {
            status = remove_runs(t, run, next, any, err);
        }
    }
    store_cursor_close(c);
    return status;
}

enum df_status runs_let_go(struct store_txn *t, uint64_t seq, bool used,
                           struct df_error *err)
{
    struct kept_run run = { 0 };
    bool found;
    enum df_status status = runs_get(t, seq, &run, &found, err);

    if (status != DF_OK || !found) {
        return status;
    }
    if (!used) {
        return runs_drop(t, seq, err);
    }
    run.kept = false;
    return record_put(t, &run, err);
}

/* ---- how often the view holds a run ---- */

enum df_status runs_move(struct store_txn *t, struct ledger_effect effect,
                         struct df_error *err)
{
    struct kept_run run = { 0 };
    bool found;
    enum df_status status = runs_get(t, effect.seq, &run, &found, err);

    if (status != DF_OK || !found) {
        return status; /* a batch whose run is not stored moves only rows */
    }
    run.times += effect.minus ? -1 : 1;
    return record_put(t, &run, err);
}
