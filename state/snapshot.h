/*
 * snapshot.h: a view as it is after one whole batch, for readers.
 *
 *     snapshot_open(&s, view, err);
 *     snapshot_state(s)                      seq, rows, digest
 *     snapshot_get / snapshot_scan_* / snapshot_ledger_*
 *     snapshot_close(s);
 *
 * A snapshot is one read transaction per shard, all seen as of the same
 * batch. Between two shards' commits of one batch there is no such set, unless
 * the batch is deferred: opening then waits for the writer (milliseconds; at
 * most a minute), and when the writer has died, finishes its batch, or says
 * how to (DF_STATE; the view can then only be closed). A snapshot stays as it
 * is while batches are applied; it keeps their freed pages from being used
 * again, so long-lived ones make the file grow. A snapshot belongs to one
 * thread; several may be open. It can show the view as it was instead: see
 * history.h.
 */
#ifndef STATE_SNAPSHOT_H
#define STATE_SNAPSHOT_H

#include "state/run.h"
#include "state/view.h"

struct snapshot;

struct snapshot_state {
    uint64_t seq; /* last ledger entry, 0 when there is none */
    uint64_t rows;
    /* 0: rows is exact. Else rows is the number of those that are folded, and
     * so many changes of rows, in runs, are not: a run's row may be new,
     * change one or take one away. */
    uint64_t unfolded;
    struct hash128 digest;
};

/* Whether there is no row, folded or deferred, nor could there be. */
static inline bool snapshot_state_is_empty(struct snapshot_state state)
{
    return state.rows == 0 && state.unfolded == 0;
}

enum df_status snapshot_open(struct snapshot **out, struct view *v,
                             struct df_error *err) DF_MUST_CHECK;
void snapshot_close(struct snapshot *s); /* takes NULL */
struct snapshot_state snapshot_state(const struct snapshot *s);

/* From now on get and scan pass over rows that having= hides; shards as runs
 * have them still. */
void snapshot_apply_having(struct snapshot *s);

/* Whether having= lets readers see a row of such values. */
bool snapshot_is_shown(const struct snapshot *s, const int64_t *values);

/* The values of one row. *found tells whether it exists. */
enum df_status snapshot_get(struct snapshot *s, struct bytes key,
                            struct bytes element, int64_t *values, bool *found,
                            struct df_error *err) DF_MUST_CHECK;

/* A row as readers see it; borrowed until the next call on the scan. */
struct snapshot_row {
    struct bytes key;
    struct bytes element; /* empty for jobs without */
    const int64_t *values;
};

/*
 * Rows in byte order of (key, element), over all shards. `select` chooses:
 * everything, the rows of one key, or the keys that begin with a prefix.
 *
 *     snapshot_scan_open(&scan, s, SNAPSHOT_PREFIX, bytes, err);
 *     const struct snapshot_row *row;
 *     while ((st = snapshot_scan_next(scan, &row, err)) == DF_OK && row) ...
 *     snapshot_scan_close(scan);             takes NULL
 */
enum snapshot_select { SNAPSHOT_ALL, SNAPSHOT_KEY, SNAPSHOT_PREFIX };
struct snapshot_scan;
enum df_status snapshot_scan_open(struct snapshot_scan **out,
                                  struct snapshot *s,
                                  enum snapshot_select select,
                                  struct bytes bytes,
                                  struct df_error *err) DF_MUST_CHECK;
enum df_status snapshot_scan_next(struct snapshot_scan *scan,
                                  const struct snapshot_row **row,
                                  struct df_error *err) DF_MUST_CHECK;
void snapshot_scan_close(struct snapshot_scan *scan);

/* One shard's rows as a run that can seek, in head order. Valid while
 * the snapshot is; closed by snapshot_shard_close. */
enum df_status snapshot_shard_open(struct run_source **run, struct snapshot *s,
                                   unsigned shard,
                                   struct df_error *err) DF_MUST_CHECK;
void snapshot_shard_close(struct run_source *run); /* takes NULL */

/*
 * One shard's rows in head order, from any head on:
 *
 *     snapshot_rows_open(&r, s, shard, err);
 *     snapshot_rows_seek(r, head, &row, err) ...   the first row not before
 *                                                  it; NULL: there is none
 *     snapshot_rows_next(r, &row, err) ...         the row behind that
 *     snapshot_rows_close(r);                      takes NULL
 *
 * Heads must be sought in ascending order; those near each other cost little.
 * Rows are borrowed until the next call.
 */
struct snapshot_rows;
enum df_status snapshot_rows_open(struct snapshot_rows **out,
                                  struct snapshot *s, unsigned shard,
                                  struct df_error *err) DF_MUST_CHECK;
enum df_status snapshot_rows_seek(struct snapshot_rows *r, struct bytes head,
                                  const struct row **row,
                                  struct df_error *err) DF_MUST_CHECK;
enum df_status snapshot_rows_next(struct snapshot_rows *r,
                                  const struct row **row,
                                  struct df_error *err) DF_MUST_CHECK;
void snapshot_rows_close(struct snapshot_rows *r);
unsigned snapshot_shards(const struct snapshot *s);

/*
 * The ledger as of this snapshot. Entries' strings are borrowed from the
 * snapshot. *found is false when there is no such entry.
 */
enum df_status snapshot_ledger_get(struct snapshot *s, uint64_t seq,
                                   struct ledger_entry *e, bool *found,
                                   struct df_error *err) DF_MUST_CHECK;
enum df_status snapshot_ledger_by_name(struct snapshot *s, struct bytes name,
                                       struct ledger_entry *e, bool *found,
                                       struct df_error *err) DF_MUST_CHECK;
/* The first entry with this batch digest. */
enum df_status snapshot_ledger_by_digest(struct snapshot *s,
                                         struct hash128 digest,
                                         struct ledger_entry *e, bool *found,
                                         struct df_error *err) DF_MUST_CHECK;
/* The greatest name applied, in natural order, or the rebuild's as-of where
 * that is greater; empty when none. */
struct bytes snapshot_ledger_high(const struct snapshot *s);
/* The as-of name of the last rebuild: batches up to it are in the view
 * whether or not the ledger lists them; empty when none. */
struct bytes snapshot_ledger_covered(const struct snapshot *s);
/* The files of one entry, in the order they were given to install; stops
 * when each returns false. */
enum df_status snapshot_ledger_files(struct snapshot *s, uint64_t seq,
                                     bool (*each)(void *ctx,
                                                  const struct ledger_file *),
                                     void *ctx,
                                     struct df_error *err) DF_MUST_CHECK;

#endif
