/*
 * ledger_table.h: the ledger in shard 0's tables.
 *
 *   LEDGER   sequence number (64-bit big-endian)  -> entry
 *   FILES    sequence number, block (32-bit)      -> files of the entry
 *   NAMES    batch name        -> sequence number, 1 more byte when undone
 *   DIGESTS  batch digest      -> first sequence number that is not undone
 *
 * The name of a batch that was undone may be used again; it then stands for
 * the later one.
 *
 * A record is an entry with its files, encoded once: for a view of several
 * shards it is written twice, to the pending batch and to the ledger.
 */
#ifndef STATE_LEDGER_TABLE_H
#define STATE_LEDGER_TABLE_H

#include "state/ledger.h"
#include "state/store.h"

struct ledger_record {
    struct buf entry;  /* encoded */
    struct buf blocks; /* encoded file blocks, each after its 32-bit length */
    bool record_high;  /* the name becomes the ledger's greatest */
};

void ledger_record_fini(struct ledger_record *r);
/* Both parts of a record, or one of them; false without memory. */
enum df_status ledger_record_make(struct ledger_record *r,
                                  const struct ledger_entry *entry,
                                  const struct ledger_file *files, size_t n,
                                  struct df_error *err) DF_MUST_CHECK;
bool ledger_record_entry(struct ledger_record *r,
                         const struct ledger_entry *entry);
bool ledger_record_files(struct ledger_record *r,
                         const struct ledger_file *files, size_t n);

/* Writes a record; the entry says under which number, name and digest. */
enum df_status ledger_table_put(struct store_txn *t,
                                const struct ledger_record *r,
                                struct df_error *err) DF_MUST_CHECK;

/* *found false: no such entry. Strings point into the transaction. `undone`
 * is set by all three: whether the entry is of a batch that was undone and
 * not redone. */
enum df_status ledger_table_get(struct store_txn *t, uint64_t seq,
                                struct ledger_entry *e, bool *found,
                                struct df_error *err) DF_MUST_CHECK;
enum df_status ledger_table_by_name(struct store_txn *t, struct bytes name,
                                    struct ledger_entry *e, bool *found,
                                    struct df_error *err) DF_MUST_CHECK;
enum df_status ledger_table_by_digest(struct store_txn *t,
                                      struct hash128 digest,
                                      struct ledger_entry *e, bool *found,
                                      struct df_error *err) DF_MUST_CHECK;
enum df_status ledger_table_files(struct store_txn *t, uint64_t seq,
                                  bool (*each)(void *ctx,
                                               const struct ledger_file *),
                                  void *ctx,
                                  struct df_error *err) DF_MUST_CHECK;

/* Copies entry `seq` of `from` to `to` under the number `as`, with its files
 * as they are. */
enum df_status ledger_table_copy(struct store_txn *to, struct store_txn *from,
                                 uint64_t seq, uint64_t as,
                                 struct df_error *err) DF_MUST_CHECK;

#endif
