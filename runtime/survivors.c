#include "runtime/survivors.h"

#include "input/warc.h"

/* What a file comes to depends on its id and bytes; and on its name, where
 * that makes it an archive of documents. */
static struct hash128 hash_file(const struct ledger_file *f)
{
    uint8_t all[HASH128_SIZE + 8 + HASH128_SIZE];

    hash128_store(all, hash128(f->id, warc_is_named(f->path) ? 1 : 0));
    store_be64(all + HASH128_SIZE, f->length);
    hash128_store(all + HASH128_SIZE + 8, f->hash);
    return hash128(bytes_of(all, sizeof all), 0);
}

static void add_file(struct ledger_survivors *s, const struct ledger_file *f,
                     bool minus)
{
    int64_t one = f->inserted != minus ? 1 : -1;

    if (f->quarantined) {
        return;
    }
    s->files += one;
    s->bytes += one * (int64_t)f->length;
    s->digest = digest_add(s->digest, digest_scale(hash_file(f), one));
}

enum df_status survivors_before(struct ledger_survivors *s,
                                struct snapshot *snapshot,
                                struct df_error *err)
{
    uint64_t seq = snapshot_state(snapshot).seq;
    struct ledger_entry e;
    bool found = false;
    enum df_status status =
        seq == 0 ? DF_OK : snapshot_ledger_get(snapshot, seq, &e, &found, err);

    *s = (struct ledger_survivors){ .known = seq == 0 };
    if (status == DF_OK && found) {
        *s = e.survivors;
    }
    return status;
}

void survivors_add(struct ledger_survivors *s, const struct batch *batch,
                   const bool *skip)
{
    for (size_t i = 0; s->known && i < batch->file_count; i++) {
        const struct batch_file *f = &batch->files[i];

        add_file(s,
                 &(struct ledger_file){
                     .inserted = f->section == BATCH_INSERTED,
                     .quarantined = skip != NULL && skip[i],
                     .path = bytes_of_string(f->path),
                     .id = f->id,
                     .length = f->length,
                     .hash = f->hash,
                 },
                 false);
    }
}

/* A batch of the ledger, file by file. */
struct undoing {
    struct ledger_survivors *survivors;
    bool minus;
};

static bool undo_file(void *ctx, const struct ledger_file *f)
{
    struct undoing *u = ctx;

    add_file(u->survivors, f, u->minus);
    return true;
}

enum df_status survivors_undo(struct ledger_survivors *s,
                              struct snapshot *snapshot, uint64_t seq,
                              bool redo, struct df_error *err)
{
    struct undoing u = { .survivors = s, .minus = !redo };

    return s->known ? snapshot_ledger_files(snapshot, seq, undo_file, &u, err)
                    : DF_OK;
}

bool survivors_same_size(const struct ledger_survivors *a,
                         const struct ledger_survivors *b)
{
    return a->files == b->files && a->bytes == b->bytes;
}

bool survivors_equal(const struct ledger_survivors *a,
                     const struct ledger_survivors *b)
{
    return survivors_same_size(a, b) && hash128_equal(a->digest, b->digest);
}
