/*
 * keeping.h: what a batch, an undo or a redo does to kept runs: which it adds
 * to the rows and which it takes away, which are dropped, and what is to be
 * said of it.
 *
 *     struct keeping k = { 0 };
 *     keeping_batch(&k, snapshot, job, name, err);    or keeping_undo
 *     keeping_fill(&k, &entry);
 *     keeping_fini(&k);                    when the entry is done with
 *
 * Without a window a batch adds its own run. With one the rule is the same
 * for every case: the batches that should be in the window, by their names,
 * less those that are.
 */
#ifndef RUNTIME_KEEPING_H
#define RUNTIME_KEEPING_H

#include "runtime/window.h"
#include "state/history.h"

struct keeping {
    bool keep; /* the run itself */
    bool has_effects;
    bool is_window;
    struct buf effects;
    struct buf drops;
    struct buf note;
    uint64_t gap;
    int64_t window_end;
};

/* The snapshot is of the last batch, and nobody else writes. A name that a
 * window by interval cannot place is DF_INPUT. */
enum df_status keeping_batch(struct keeping *k, struct snapshot *s,
                             const struct jobspec *job, const char *name,
                             struct df_error *err) DF_MUST_CHECK;

/* Takes run `seq` out of the rows, or (redo) puts it back. */
enum df_status keeping_undo(struct keeping *k, struct snapshot *s,
                            uint64_t seq, bool redo,
                            struct df_error *err) DF_MUST_CHECK;

/* The entry borrows what is here. */
void keeping_fill(const struct keeping *k, struct ledger_entry *e);
void keeping_fini(struct keeping *k);

#endif
