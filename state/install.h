/*
 * install.h: a batch's runs into the view, exactly once.
 *
 * The only writer of rows and ledger. Either the whole batch is visible, with
 * its ledger entry, or nothing of it is; install.c's essay says how.
 */
#ifndef STATE_INSTALL_H
#define STATE_INSTALL_H

#include <signal.h>

#include "state/run.h"
#include "state/view.h"

/* One shard's share of the batch. `run` is rewound as often as needed; NULL
 * where the entry has no run of its own, only effects (undo). The bounds are
 * never less than what the run holds. */
struct install_shard {
    struct run_source *run;
    uint64_t rows_bound;
    uint64_t bytes_bound;
};

/* Threads worth starting for work that is dealt out by shards. */
static inline unsigned install_team(unsigned threads, unsigned shards)
{
    return threads < shards ? threads : shards;
}

/* Rows that would become negative, found and not allowed. */
struct install_negatives {
    struct buf keys; /* full row keys, each after its 32-bit big-endian
                        length; at most INSTALL_NEGATIVES_MAX of them */
    size_t count;
};
enum { INSTALL_NEGATIVES_MAX = 10000 };
void install_negatives_fini(struct install_negatives *n);

struct install_batch {
    enum install_method method;   /* any. REBUILD: the runs are all rows that
            there are to be, and what the batch amounted to is what they differ
            by from those that are there. What
            the view or `memory` does not allow becomes an overwrite: an
            increment that would dirty too many pages, a deferred run whose sums
            might not fit unseen, and all that comes into an empty view */
    struct install_shard *shards; /* as many as the view has */
    struct ledger_entry *entry;   /* filled but for what install sets; on
        success complete, with the method that was used */
    const struct ledger_file *files;
    size_t file_count;
    size_t memory; /* bytes for dirty pages, all shards together */
    unsigned threads;
    bool keep; /* the run is kept (entry->kept), and what is folded into the
          rows are the entry's effects, from kept runs. Without it the run is
          folded and gone. An entry that has effects must be kept, or be one
          of an undo or redo */
    bool allow_negative;
    bool record_high;   /* the name becomes the ledger's greatest */
    int64_t started_us; /* CLOCK_MONOTONIC when reading began; the entry's
                           measured_us is counted from it */
    const volatile sig_atomic_t *stop; /* not 0: abort, DF_INTERRUPTED */
    bool begun_commit; /* set by install: after a failure the batch may be in
                          all the same */
};

/*
 * Applies a batch. On DF_OK it is durable and visible. On failure the view
 * is as before; but where a view of several shards fails after the batch was
 * decided (err says so), the next writer finishes it. Where rows would become
 * negative and that is not allowed: DF_INPUT, and *negatives lists them (in no
 * order; zeroed before by the caller; else untouched); err then names the
 * first one's key.
 */
enum df_status install_batch(struct view *v, struct install_batch *b,
                             struct install_negatives *negatives,
                             struct df_error *err) DF_MUST_CHECK;

/*
 * What a batch would take that is not reduced yet: the method, and the time
 * from the reduced run to the commit. Nothing is changed.
 */
struct install_guess {
    enum install_method method; /* as for install_batch */
    double run_rows;            /* about */
    size_t memory;
    unsigned threads;
};
struct install_forecast {
    enum install_method method;
    uint64_t install_us;
};
enum df_status install_forecast(struct view *v,
                                const struct install_guess *guess,
                                struct install_forecast *out,
                                struct df_error *err) DF_MUST_CHECK;

/*
 * Replaces all rows by the runs, with `shards` shards, in a new generation
 * that is swapped in at the end: until then nothing is changed. Of the old
 * ledger the entries for which keep(ctx, name) is true are taken over, in
 * their order; a LEDGER_REBUILD entry follows. high and covered are the new
 * values of what snapshot_ledger_high and _covered return. The view handle
 * can only be closed afterwards.
 */
struct install_rebuild {
    unsigned shards;
    struct bytes high;
    struct bytes covered;
    bool (*keep)(void *ctx, struct bytes name);
    void *keep_ctx;
};
enum df_status install_rebuild(struct view *v, struct install_batch *b,
                               const struct install_rebuild *how,
                               struct install_negatives *negatives,
                               struct df_error *err) DF_MUST_CHECK;

#endif
