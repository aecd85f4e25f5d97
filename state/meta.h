/*
 * meta.h: what a shard knows of itself, in its META table.
 *
 *   "shard"       where the shard stands (struct shard_state); every shard
 *   "definition"  what the view is; every shard, the same bytes, so that a
 *                 file from elsewhere is noticed
 *   "high"        greatest batch name applied; shard 0
 *   "covered"     as-of name of the last rebuild; shard 0
 *   "overlay"     runs that are not folded into the rows (overlay.h)
 *   "compact_us"  time compaction took since the last entry; shard 0
 *   "having"      what readers are shown: component (8 bits), least value
 *                 (64); every shard, where it is set
 *   "keep", "base"   settings.h; shard 0
 */
#ifndef STATE_META_H
#define STATE_META_H

#include "state/store.h"
#include "state/view.h"

struct shard_state {
    uint64_t seq;          /* last batch committed here */
    unsigned active;       /* which of the two row tables is the view: 0, 1 */
    uint64_t prepared;     /* batch for which the other table is complete and
                              waits to be made active; 0: none */
    struct hash128 digest; /* of the view: active rows and overlay */
    struct hash128 prepared_digest; /* of the prepared rows */
    uint64_t rows;                  /* in the active table */
    uint64_t prepared_rows;
    uint64_t magnitude; /* no number in the active table has a greater one
                           (row_values_magnitude); UINT64_MAX: not known */
    uint64_t prepared_magnitude;
    uint64_t settled; /* the earliest batch as of which the shard can be
                         seen (overlay.h); seq, where nothing is deferred */
};

static inline enum store_table shard_rows_table(const struct shard_state *s)
{
    return s->active == 0 ? STORE_ROWS_0 : STORE_ROWS_1;
}

static inline enum store_table shard_other_table(const struct shard_state *s)
{
    return s->active == 0 ? STORE_ROWS_1 : STORE_ROWS_0;
}

enum df_status shard_state_load(struct store_txn *t, struct shard_state *s,
                                struct df_error *err) DF_MUST_CHECK;
enum df_status shard_state_store(struct store_txn *t,
                                 const struct shard_state *s,
                                 struct df_error *err) DF_MUST_CHECK;

/* A text of META; empty when it is not there. Borrowed from the
 * transaction. */
enum df_status meta_text_load(struct store_txn *t, const char *name,
                              struct bytes *text,
                              struct df_error *err) DF_MUST_CHECK;
enum df_status meta_text_store(struct store_txn *t, const char *name,
                               struct bytes text,
                               struct df_error *err) DF_MUST_CHECK;

/* A number of META, 64 bits; 0 when it is not there. */
enum df_status meta_number_load(struct store_txn *t, const char *name,
                                uint64_t *number,
                                struct df_error *err) DF_MUST_CHECK;
enum df_status meta_number_store(struct store_txn *t, const char *name,
                                 uint64_t number,
                                 struct df_error *err) DF_MUST_CHECK;

/* The definition as stored: shape, number of shards and generation before
 * the text. load's text is borrowed from the transaction. */
enum df_status definition_load(struct store_txn *t, struct view_definition *d,
                               uint64_t *generation, unsigned *shard,
                               struct df_error *err) DF_MUST_CHECK;
enum df_status definition_store(struct store_txn *t,
                                const struct view_definition *d,
                                uint64_t generation, unsigned shard,
                                struct df_error *err) DF_MUST_CHECK;

#endif
