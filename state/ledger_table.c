#include "state/ledger_table.h"

#include "state/meta.h"

enum {
    FILES_PER_BLOCK = 48, /* about 4 KiB at ordinary path lengths */
    FILES_KEY = 8 + 4
};

void ledger_record_fini(struct ledger_record *r)
{
    buf_fini(&r->entry);
    buf_fini(&r->blocks);
}

/* Appends one block of files behind its length. */
static bool append_block(struct buf *blocks, const struct ledger_file *files,
                         size_t n)
{
    uint8_t length[4] = { 0 };
    size_t at = blocks->len;

    if (!buf_append(blocks, length, sizeof length) ||
        !ledger_files_encode(files, n, blocks)) {
        return false;
    }
    store_be32(blocks->data + at,
               (uint32_t)(blocks->len - at - sizeof length));
    return true;
}

bool ledger_record_entry(struct ledger_record *r,
                         const struct ledger_entry *entry)
{
    buf_reset(&r->entry);
    return ledger_entry_encode(entry, &r->entry);
}

bool ledger_record_files(struct ledger_record *r,
                         const struct ledger_file *files, size_t n)
{
    bool ok = true;

    buf_reset(&r->blocks);
    for (size_t i = 0; ok && i < n; i += FILES_PER_BLOCK) {
        size_t some = n - i < FILES_PER_BLOCK ? n - i : FILES_PER_BLOCK;

        ok = append_block(&r->blocks, files + i, some);
    }
    return ok;
}

enum df_status ledger_record_make(struct ledger_record *r,
                                  const struct ledger_entry *entry,
                                  const struct ledger_file *files, size_t n,
                                  struct df_error *err)
{
    return ledger_record_entry(r, entry) && ledger_record_files(r, files, n)
               ? DF_OK
               : error_no_memory(err);
}

static struct bytes seq_key(uint8_t room[8], uint64_t seq)
{
    store_be64(room, seq);
    return bytes_of(room, 8);
}

static struct bytes files_key(uint8_t room[FILES_KEY], uint64_t seq,
                              uint32_t block)
{
    store_be64(room, seq);
    store_be32(room + 8, block);
    return bytes_of(room, FILES_KEY);
}

static enum df_status put_blocks(struct store_txn *t, uint64_t seq,
                                 struct bytes blocks, struct df_error *err)
{
    uint8_t key[FILES_KEY];
    enum df_status status = DF_OK;
    size_t at = 0;

    for (uint32_t i = 0; status == DF_OK && at < blocks.len; i++) {
        size_t len = load_be32(blocks.data + at);

        at += 4;
        status = store_append(t, STORE_FILES, files_key(key, seq, i),
                              bytes_of(blocks.data + at, len), err);
        at += len;
    }
    return status;
}

static enum df_status damaged(struct df_error *err)
{
    return error_set(err, DF_STATE, "the ledger " STORE_DAMAGED);
}

/* ---- names and digests ---- */

enum { NAME_APPLIED = 8, NAME_UNDONE = 9 /* bytes of a value in NAMES */ };

static enum df_status name_get(struct store_txn *t, struct bytes name,
                               uint64_t *seq, bool *undone, bool *found,
                               struct df_error *err)
{
    struct bytes v;
    enum df_status status = store_get(t, STORE_NAMES, name, &v, found, err);

    if (status != DF_OK || !*found) {
        return status;
    }
    if (v.len != NAME_APPLIED && v.len != NAME_UNDONE) {
        return damaged(err);
    }
    *seq = load_be64(v.data);
    *undone = v.len == NAME_UNDONE;
    return DF_OK;
}

static enum df_status name_put(struct store_txn *t, struct bytes name,
                               uint64_t seq, bool undone, struct df_error *err)
{
    uint8_t v[NAME_UNDONE] = { 0 };

    store_be64(v, seq);
    return store_put(t, STORE_NAMES, name,
                     bytes_of(v, undone ? NAME_UNDONE : NAME_APPLIED), err);
}

/* An undone batch is the one its name stands for, and marked there, or its
 * name stands for a later one. */
static enum df_status set_undone(struct store_txn *t, struct ledger_entry *e,
                                 struct df_error *err)
{
    uint64_t seq = 0;
    bool undone = false;
    bool found = false;
    enum df_status status = DF_OK;

    e->undone = false;
    if (e->kind == LEDGER_BATCH) {
        status = name_get(t, e->name, &seq, &undone, &found, err);
    }
    if (status == DF_OK && found) {
        e->undone = undone || seq != e->seq;
    }
    return status;
}

/* The digest stands for the first batch that has it and is not undone. */
static enum df_status index_digest(struct store_txn *t,
                                   const struct ledger_entry *e,
                                   struct bytes seq, struct df_error *err)
{
    uint8_t room[HASH128_SIZE];
    struct bytes digest = bytes_of(room, sizeof room);
    struct ledger_entry there = { 0 };
    bool found = false;
    enum df_status status;

    hash128_store(room, e->digest);
    status = ledger_table_by_digest(t, e->digest, &there, &found, err);
    if (status == DF_OK && found && !there.undone) {
        return DF_OK;
    }
    return status == DF_OK ? store_put(t, STORE_DIGESTS, digest, seq, err)
                           : status;
}

/* A batch was undone: its digest now stands for the next one that has it and
 * is not undone, where there is one. Walks the ledger; undoing is rare. */
static enum df_status pass_digest_on(struct store_txn *t, uint64_t undone,
                                     struct df_error *err)
{
    struct ledger_entry batch = { 0 };
    struct ledger_entry e = { 0 };
    struct hash128 digest;
    uint8_t room[8];
    bool found = false;
    enum df_status status = ledger_table_get(t, undone, &batch, &found, err);

    digest = batch.digest;
    for (uint64_t seq = undone + 1; status == DF_OK && found; seq++) {
        status = ledger_table_get(t, seq, &e, &found, err);
        if (status == DF_OK && found && e.kind == LEDGER_BATCH && !e.undone &&
            hash128_equal(e.digest, digest)) {
            return index_digest(t, &e, seq_key(room, seq), err);
        }
    }
    return status;
}

/* An undo or redo marks the batch that its name stands for. */
static enum df_status index_undo(struct store_txn *t,
                                 const struct ledger_entry *e,
                                 struct df_error *err)
{
    uint64_t seq = 0;
    bool undone = false;
    bool found = false;
    struct ledger_entry batch;
    uint8_t room[8];
    enum df_status status = name_get(t, e->name, &seq, &undone, &found, err);

    if (status != DF_OK || !found) {
        return status;
    }
    status = name_put(t, e->name, seq, e->kind == LEDGER_UNDO, err);
    if (status == DF_OK && e->kind == LEDGER_UNDO) {
        return pass_digest_on(t, seq, err);
    }
    if (status != DF_OK) {
        return status;
    }
    status = ledger_table_get(t, seq, &batch, &found, err);
    return status == DF_OK && found
               ? index_digest(t, &batch, seq_key(room, seq), err)
               : status;
}

/* Makes an entry findable by its name and digest. */
static enum df_status index_entry(struct store_txn *t,
                                  const struct ledger_entry *e,
                                  struct bytes seq, struct df_error *err)
{
    uint64_t there = 0;
    bool undone = false;
    bool found = false;
    enum df_status status;

    if (e->kind == LEDGER_UNDO || e->kind == LEDGER_REDO) {
        return index_undo(t, e, err);
    }
    if (e->kind != LEDGER_BATCH) {
        return DF_OK;
    }
    status = index_digest(t, e, seq, err);
    if (status == DF_OK) {
        status = name_get(t, e->name, &there, &undone, &found, err);
    }
    return status == DF_OK && (!found || undone)
               ? name_put(t, e->name, e->seq, false, err)
               : status;
}

enum df_status ledger_table_put(struct store_txn *t,
                                const struct ledger_record *r,
                                struct df_error *err)
{
    uint8_t room[8];
    struct ledger_entry e;
    struct bytes key;
    enum df_status status;

    if (!ledger_entry_decode(buf_bytes(&r->entry), &e)) {
        return damaged(err);
    }
    key = seq_key(room, e.seq);
    status = store_append(t, STORE_LEDGER, key, buf_bytes(&r->entry), err);
    if (status == DF_OK) {
        status = put_blocks(t, e.seq, buf_bytes(&r->blocks), err);
    }
    if (status == DF_OK) {
        status = index_entry(t, &e, key, err);
    }
    if (status == DF_OK && r->record_high) {
        status = meta_text_store(t, "high", e.name, err);
    }
    return status;
}

enum df_status ledger_table_get(struct store_txn *t, uint64_t seq,
                                struct ledger_entry *e, bool *found,
                                struct df_error *err)
{
    uint8_t room[8];
    struct bytes value;
    enum df_status status =
        store_get(t, STORE_LEDGER, seq_key(room, seq), &value, found, err);

    if (status == DF_OK && *found && !ledger_entry_decode(value, e)) {
        return damaged(err);
    }
    return status == DF_OK && *found ? set_undone(t, e, err) : status;
}

static enum df_status get_by(struct store_txn *t, enum store_table table,
                             struct bytes key, struct ledger_entry *e,
                             bool *found, struct df_error *err)
{
    struct bytes seq;
    enum df_status status = store_get(t, table, key, &seq, found, err);

    if (status != DF_OK || !*found) {
        return status;
    }
    if (seq.len != NAME_APPLIED && seq.len != NAME_UNDONE) {
        return damaged(err);
    }
    return ledger_table_get(t, load_be64(seq.data), e, found, err);
}

enum df_status ledger_table_by_name(struct store_txn *t, struct bytes name,
                                    struct ledger_entry *e, bool *found,
                                    struct df_error *err)
{
    return get_by(t, STORE_NAMES, name, e, found, err);
}

enum df_status ledger_table_by_digest(struct store_txn *t,
                                      struct hash128 digest,
                                      struct ledger_entry *e, bool *found,
                                      struct df_error *err)
{
    uint8_t key[HASH128_SIZE];

    hash128_store(key, digest);
    return get_by(t, STORE_DIGESTS, bytes_of(key, sizeof key), e, found, err);
}

/* Calls each_block with every file block of seq until it fails. */
static enum df_status each_block(
    struct store_txn *t, uint64_t seq,
    enum df_status (*block)(void *ctx, uint32_t number, struct bytes value,
                            bool *more, struct df_error *err),
    void *ctx, struct df_error *err)
{
    uint8_t room[FILES_KEY];
    struct bytes want = files_key(room, seq, 0);
    struct store_cursor *c;
    struct bytes key;
    struct bytes value;
    bool found;
    bool more = true;
    enum df_status status = store_cursor_open(&c, t, STORE_FILES, err);

    if (status != DF_OK) {
        return status;
    }
    status = store_cursor_seek_range(c, want, &key, &value, &found, err);
    while (status == DF_OK && found && more && key.len == FILES_KEY &&
           load_be64(key.data) == seq) {
        status = block(ctx, load_be32(key.data + 8), value, &more, err);
        if (status == DF_OK && more) {
            status = store_cursor_next(c, &key, &value, &found, err);
        }
    }
    store_cursor_close(c);
    return status;
}

struct visit {
    bool (*each)(void *ctx, const struct ledger_file *);
    void *ctx;
    bool stopped;
};

static bool visit_file(void *ctx, const struct ledger_file *file)
{
    struct visit *v = ctx;

    v->stopped = !v->each(v->ctx, file);
    return !v->stopped;
}

static enum df_status visit_block(void *ctx, uint32_t number,
                                  struct bytes value, bool *more,
                                  struct df_error *err)
{
    struct visit *v = ctx;

    (void)number;
    if (!ledger_files_decode(value, visit_file, v)) {
        return damaged(err);
    }
    *more = !v->stopped;
    return DF_OK;
}

enum df_status ledger_table_files(struct store_txn *t, uint64_t seq,
                                  bool (*each)(void *ctx,
                                               const struct ledger_file *),
                                  void *ctx, struct df_error *err)
{
    struct visit v = { .each = each, .ctx = ctx };

    return each_block(t, seq, visit_block, &v, err);
}

struct copy {
    struct store_txn *to;
    uint64_t as;
};

static enum df_status copy_block(void *ctx, uint32_t number,
                                 struct bytes value, bool *more,
                                 struct df_error *err)
{
    struct copy *c = ctx;
    uint8_t room[FILES_KEY];

    *more = true;
    return store_append(c->to, STORE_FILES, files_key(room, c->as, number),
                        value, err);
}

enum df_status ledger_table_copy(struct store_txn *to, struct store_txn *from,
                                 uint64_t seq, uint64_t as,
                                 struct df_error *err)
{
    struct copy c = { .to = to, .as = as };
    struct ledger_record r = { 0 };
    struct ledger_entry e;
    bool found;
    enum df_status status = ledger_table_get(from, seq, &e, &found, err);

    if (status == DF_OK && !found) {
        status = damaged(err);
    }
    e.seq = as;
    /* Numbers of runs that are not copied, and may stand for others now. */
    e.has_effects = false;
    e.kept = false;
    e.effects = bytes_of(NULL, 0);
    e.drops = bytes_of(NULL, 0);
    if (status == DF_OK) {
        status = ledger_record_make(&r, &e, NULL, 0, err);
    }
    if (status == DF_OK) {
        status = ledger_table_put(to, &r, err);
    }
    if (status == DF_OK) {
        status = each_block(from, seq, copy_block, &c, err);
    }
    ledger_record_fini(&r);
    return status;
}
