/*
 * A view computed anew: a new generation of files beside the old one, which
 * goes on serving readers until `current` names the new one. A crash before
 * that leaves a directory that the next writer removes; after it, the old
 * one. Since nobody sees the new files before they are complete, their
 * shards need no pending batch between them.
 */
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/directory.h"
#include "state/commit.h"
#include "state/inbox.h"
#include "state/settings.h"
#include "state/timings.h"

/* Entries copied per transaction: bounds the dirty pages. */
enum { COPY_ENTRIES = 256 };

#define CHUNK_MAX ((uint64_t)32 << 20)
#define CHUNK_MIN ((uint64_t)4 << 20)

static const struct shard_state empty_shard;

struct shard_rebuild {
    struct fold fold;
    struct install_negatives negatives;
    enum df_status status;
    struct df_error err;
};

struct rebuild {
    struct view *v;
    struct install_batch *b;
    const struct install_rebuild *how;
    struct view_definition definition;
    struct store *stores[VIEW_SHARDS_MAX];
    struct shard_rebuild shard[VIEW_SHARDS_MAX];
    uint64_t generation;
    uint64_t seq; /* of the last entry copied */
    int64_t begun_us;
    struct df_error *err;
};

/* ---- the ledger so far ---- */

/* Copies up to COPY_ENTRIES entries from number *next on; *next is 0 when
 * none is left. */
static enum df_status copy_some(struct rebuild *r, struct store_txn *from,
                                struct store_txn *to, uint64_t *next)
{
    enum df_status status = DF_OK;

    for (unsigned i = 0; status == DF_OK && i < COPY_ENTRIES; i++) {
        struct ledger_entry e;
        bool found;

        status = ledger_table_get(from, *next, &e, &found, r->err);
        if (status == DF_OK && !found) {
            *next = 0;
            break;
        }
        if (status == DF_OK && r->how->keep(r->how->keep_ctx, e.name)) {
            status = ledger_table_copy(to, from, *next, r->seq + 1, r->err);
            r->seq++;
        }
        (*next)++;
    }
    return status;
}

static enum df_status copy_ledger(struct rebuild *r)
{
    struct store_txn *from;
    uint64_t next = 1;
    enum df_status status =
        store_begin(&from, r->v->stores[0], STORE_READ, r->err);

    if (status != DF_OK) {
        return status;
    }
    while (status == DF_OK && next != 0) {
        struct store_txn *to;
        uint64_t at = next;
        uint64_t seq = r->seq;

        status = store_begin(&to, r->stores[0], STORE_WRITE, r->err);
        if (status != DF_OK) {
            break;
        }
        status = copy_some(r, from, to, &next);
        if (status == DF_OK) {
            status = store_commit(to, r->err);
        } else {
            store_abort(to);
        }
        if (status != DF_OK &&
            store_grow_if_full(r->stores[0], &status, r->err)) {
            next = at;
            r->seq = seq;
        }
    }
    store_abort(from);
    return status;
}

/* ---- the rows ---- */

/* Fills the table and commits the last of it too, on the thread that began;
 * the rows count when the shard advances. */
static enum df_status fill_table(struct rebuild *r, unsigned i, size_t chunk)
{
    struct shard_rebuild *s = &r->shard[i];
    struct store_txn *last;
    enum df_status status =
        fold_overwrite(&s->fold, r->stores[i], chunk, &last, &s->err);

    return status == DF_OK ? store_commit(last, &s->err) : status;
}

static void fill_shard(struct rebuild *r, unsigned i)
{
    struct install_shard *run = &r->b->shards[i];
    struct shard_rebuild *s = &r->shard[i];
    uint64_t chunk = r->b->memory / r->definition.shards;

    chunk = chunk < CHUNK_MIN ? CHUNK_MIN : chunk;
    chunk = chunk > CHUNK_MAX ? CHUNK_MAX : chunk;
    s->fold = (struct fold){
        .shape = r->definition.shape,
        .run = run->run,
        .state = &empty_shard,
        .allow_negative = r->b->allow_negative,
        .negatives = &s->negatives,
        .stop = r->b->stop,
    };
    s->status = store_reserve(
        r->stores[i], 4 * run->bytes_bound + 64 * run->rows_bound + CHUNK_MAX,
        &s->err);
    while (s->status == DF_OK) {
        s->status = fill_table(r, i, (size_t)chunk);
        if (s->status == DF_OK ||
            !store_grow_if_full(r->stores[i], &s->status, &s->err)) {
            break;
        }
        s->status = shard_clear_undecided(r->stores[i], true, &s->err);
    }
}

static enum df_status fill(struct rebuild *r)
{
    unsigned shards = r->definition.shards;

#pragma omp parallel for num_threads(install_team(r->b->threads, shards))     \
    schedule(dynamic, 1)
    for (unsigned i = 0; i < shards; i++) {
        fill_shard(r, i);
    }
    for (unsigned i = 0; i < shards; i++) {
        if (r->shard[i].status != DF_OK) {
            *r->err = r->shard[i].err;
            return r->shard[i].status;
        }
    }
    return DF_OK;
}

/* ---- the entry ---- */

/* The digest of the view that is replaced. */
static enum df_status digest_before(struct rebuild *r)
{
    enum df_status status = DF_OK;

    r->b->entry->view_before = (struct hash128){ 0, 0 };
    for (unsigned i = 0; status == DF_OK && i < r->v->definition.shards; i++) {
        struct shard_state state;

        status = view_shard_look(r->v, i, &state, r->err);
        if (status == DF_OK) {
            r->b->entry->view_before =
                digest_add(r->b->entry->view_before, state.digest);
        }
    }
    return status;
}

static void sum_up(struct rebuild *r)
{
    struct ledger_entry *e = r->b->entry;
    int64_t now = clock_us();

    e->kind = LEDGER_REBUILD;
    e->method = INSTALL_REBUILD;
    e->seq = r->seq + 1;
    e->run_rows = 0;
    e->rows = 0;
    e->view_after = (struct hash128){ 0, 0 };
    e->time = (int64_t)time(NULL);
    e->install_us = (uint64_t)(now - r->begun_us);
    e->measured_us = (uint64_t)(now - r->b->started_us);
    for (unsigned i = 0; i < r->definition.shards; i++) {
        const struct fold *f = &r->shard[i].fold;

        e->run_rows += f->run_rows;
        e->rows += f->added;
        e->view_after = digest_add(e->view_after, f->digest);
    }
}

static enum df_status advance(struct rebuild *r, unsigned i,
                              const struct ledger_record *record)
{
    struct shard_state state = empty_shard;
    struct store_txn *t;
    enum df_status status = store_begin(&t, r->stores[i], STORE_WRITE, r->err);

    if (status != DF_OK) {
        return status;
    }
    status = shard_advance(
        t, &state,
        &(struct shard_step){ .seq = r->b->entry->seq,
                              .rows = shard_after(&r->shard[i].fold),
                              .flip = true,
                              .record = i == 0 ? record : NULL },
        r->err);
    if (status == DF_OK && i == 0) {
        status = meta_text_store(t, "high", r->how->high, r->err);
    }
    if (status == DF_OK && i == 0) {
        status = meta_text_store(t, "covered", r->how->covered, r->err);
    }
    if (status == DF_OK && i == 0) {
        /* What is to be kept from now on; runs from before are gone. */
        status = settings_copy(t, r->v->stores[0], r->err);
    }
    if (status != DF_OK) {
        store_abort(t);
        return status;
    }
    return store_commit(t, r->err);
}

static enum df_status finish_shards(struct rebuild *r)
{
    struct ledger_record record = { 0 };
    enum df_status status;

    sum_up(r);
    status = ledger_record_make(&record, r->b->entry, r->b->files,
                                r->b->file_count, r->err);
    for (unsigned i = 0; status == DF_OK && i < r->definition.shards; i++) {
        do {
            status = advance(r, i, &record);
        } while (status != DF_OK &&
                 store_grow_if_full(r->stores[i], &status, r->err));
    }
    ledger_record_fini(&record);
    return status;
}

/* ---- all of it ---- */

static void remove_generation(const struct rebuild *r, uint64_t generation)
{
    struct buf path = { 0 };
    struct df_error ignored;

    if (view_file(r->v, generation, "", &path, &ignored) == DF_OK) {
        directory_remove((const char *)path.data);
    }
    buf_fini(&path);
}

static enum df_status build(struct rebuild *r)
{
    enum df_status status = view_make_generation(
        r->v, &r->definition, r->generation, r->stores, r->err);

    if (status == DF_OK) {
        status = digest_before(r);
    }
    if (status == DF_OK) {
        status = copy_ledger(r);
        timings_copy(r->v, r->generation);
    }
    if (status == DF_OK) {
        status = fill(r);
    }
    return status == DF_OK ? finish_shards(r) : status;
}

enum df_status install_rebuild(struct view *v, struct install_batch *b,
                               const struct install_rebuild *how,
                               struct install_negatives *negatives,
                               struct df_error *err)
{
    struct rebuild *r = calloc(1, sizeof *r);
    enum df_status status;

    if (r == NULL) {
        return error_no_memory(err);
    }
    r->v = v;
    r->b = b;
    r->how = how;
    r->err = err;
    r->begun_us = clock_us();
    r->definition = v->definition;
    r->definition.shards = how->shards;
    r->generation = v->generation + 1;
    status = build(r);
    for (unsigned i = 0; i < VIEW_SHARDS_MAX; i++) {
        fold_give_negatives(&r->shard[i].negatives, negatives);
        store_close(r->stores[i]);
    }
    if (status != DF_OK) {
        remove_generation(r, r->generation);
    } else {
        /* Should the switch fail half-way, the next writer sees which of the
         * two is the view and removes the other. */
        status = view_switch(v, VIEW_FORMAT_NOW, r->generation, err);
        if (status == DF_OK) {
            remove_generation(r, v->generation);
        }
    }
    free(r);
    return status;
}
