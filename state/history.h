/*
 * history.h: a view as it was, and how it became what it is, from the runs
 * it keeps (runs.h).
 *
 *     snapshot_open(&s, view, err);
 *     snapshot_show_at(s, seq, err);         as after entry seq; or
 *     snapshot_show_change(s, a, b, err);    what must be added to a for b; or
 *     snapshot_show_run(s, seq, err);        what one batch amounted to
 *     ... snapshot_get, snapshot_scan_*, snapshot_shard_open show that ...
 *
 * No row is read for it ahead of time: kept runs are merged with the rows as
 * they are read. A scan that is open is not affected.
 */
#ifndef STATE_HISTORY_H
#define STATE_HISTORY_H

#include "state/runs.h"
#include "state/snapshot.h"

/* Most entries whose runs a view can be told to keep: `diff` over all of them
 * has each open at once, about 1.4 KB each. */
enum { HISTORY_KEEP_MAX = 10000 };

/* How many entries' runs are to be kept, beside those a window needs. */
enum df_status snapshot_keep(struct snapshot *s, uint64_t *keep,
                             struct df_error *err) DF_MUST_CHECK;
/* Takes effect with the next batch. No transaction of this process may be
 * open on the view, which is open for writing. */
enum df_status view_set_keep(struct view *v, uint64_t keep,
                             struct df_error *err) DF_MUST_CHECK;

/* The first kept run after number seq, its numbers summed over the shards. */
enum df_status snapshot_kept_after(struct snapshot *s, uint64_t seq,
                                   struct kept_run *kept, bool *found,
                                   struct df_error *err) DF_MUST_CHECK;

/* What is kept, all in all. */
struct kept_runs {
    uint64_t keep; /* what is asked for */
    uint64_t runs;
    uint64_t rows;
    uint64_t stored; /* bytes */
    uint64_t reach;  /* as snapshot_reach has it */
};
enum df_status snapshot_kept_runs(struct snapshot *s, struct kept_runs *kept,
                                  struct df_error *err) DF_MUST_CHECK;

/* The entry that a user names: "#12" is number 12, anything else the batch of
 * that name, the last where it was used again. DF_LEDGER when there is none.
 * With `zero`, "#0" is the empty view before the first: e->seq is 0. */
enum df_status snapshot_find_entry(struct snapshot *s, const char *text,
                                   bool zero, struct ledger_entry *e,
                                   struct df_error *err) DF_MUST_CHECK;

/* The earliest entry that snapshot_show_at can show; 0 is the empty view. */
enum df_status snapshot_reach(struct snapshot *s, uint64_t *seq,
                              struct df_error *err) DF_MUST_CHECK;

/*
 * DF_LEDGER, with what can be had, for entries whose runs are not kept any
 * more. After show_at snapshot_state is that of the entry; rows, digest and
 * ledger else stay those of the snapshot.
 */
enum df_status snapshot_show_at(struct snapshot *s, uint64_t seq,
                                struct df_error *err) DF_MUST_CHECK;
/* Backwards too: what must be subtracted. */
enum df_status snapshot_show_change(struct snapshot *s, uint64_t from,
                                    uint64_t to,
                                    struct df_error *err) DF_MUST_CHECK;
enum df_status snapshot_show_run(struct snapshot *s, uint64_t seq,
                                 struct df_error *err) DF_MUST_CHECK;
/* The rows less all kept runs that are in them. */
enum df_status snapshot_show_base(struct snapshot *s,
                                  struct df_error *err) DF_MUST_CHECK;
void snapshot_show_now(struct snapshot *s);

#endif
