/*
 * cost.h: what an install is likely to take, and so which one to take.
 *
 * Two numbers for each method. `model` is what its steps cost on the machine
 * where it was measured: rows, blocks and pages by the thread, and commits,
 * one after the other, each with its price. `predicted` is what this view's
 * ledger makes of it: commits and what is done beside them, each times how far
 * the model was off. What a commit takes is the disk's, and the same for all
 * methods: a method that was not tried lately must not look cheap because the
 * disk was slow for others. The rest is each method's own. An entry tells of
 * the one part that is most of it, or of none. Either factor is the median
 * over the last entries that tell of it and the model itself, so that one
 * noisy night changes nothing, not even the first; entries of long ago do not
 * count, so that several noisy ones are forgotten.
 *
 * What is chosen is the least by price, which looks ahead: a deferred run
 * will have to be folded some day, and an overwrite folds what is deferred
 * already, which then need not be done. A fold costs the same, be it a little
 * more than due or much; so each night's part of it follows from how many
 * nights like this one there will be until then.
 *
 *     cost_fit_load(&fit, t, &timings, seq, err);
 *     cost_choose(&features, &fit, can_increment, can_defer)
 */
#ifndef STATE_COST_H
#define STATE_COST_H

#include "state/ledger.h"
#include "state/store.h"
#include "state/timings.h"

/* Of the view and the batch, all shards together. */
struct cost_features {
    double run_rows; /* of the batch; bounds */
    double run_bytes;
    double view_rows;  /* of the tables */
    double leaf_pages; /* that they take */
    double page_size;
    double overlay_rows;
    double overlay_bytes;
    double folding_rows; /* of the overlay: of folds that have begun */
    double folding_bytes;
    double fold_left; /* rows of tables that these have not come to */
    unsigned shards;
    unsigned lanes; /* threads there are for them */
    bool keeps;     /* the run is stored, whatever the method */
    bool is_small;  /* deferred, it goes into one commit (inbox.h) */
};

/* Threads that are worth it for a batch. Those of a team that have nothing
 * left to do wait for the others by spinning, in the way of what the disk's
 * answer wakes: several milliseconds each time. */
unsigned cost_team(const struct cost_features *f, enum install_method m);
/* For tests: 0, so that small batches are the work of several; < 0: default.
 */
void cost_set_stall(double us);

/* Entries that tell something, counted back from the last; and how many of
 * commits, or of one method's work, are enough. */
enum { COST_ENTRIES = 64, COST_SAMPLES = 9, COST_METHODS = INSTALL_AUTO };

/* Microseconds from the reduced run to the commit. */
struct cost {
    double commit_us; /* all commits, one after the other */
    double work_us;   /* what is done beside them */
};

/* How far the model is off; 0: nothing is known. */
struct cost_fit {
    double commit;
    double work[COST_METHODS]; /* by method */
};
enum df_status cost_fit_load(struct cost_fit *fit, struct store_txn *t,
                             const struct timings *timings, uint64_t seq,
                             struct df_error *err) DF_MUST_CHECK;
double cost_commit_factor(const struct cost_fit *fit);
/* The factor of a method: its own, or in the middle of the others', or 1. */
double cost_work_factor(const struct cost_fit *fit, enum install_method m);

/* Microseconds, before the fit. */
double cost_model(const struct cost_features *f, enum install_method m);

struct cost_choice {
    enum install_method method;
    struct cost model;
    double predicted_us;
};
/* What one method is predicted to take. */
struct cost_choice cost_predict(const struct cost_features *f,
                                const struct cost_fit *fit,
                                enum install_method m);
/* The cheapest of overwrite and, where they can be, increment and defer. */
struct cost_choice cost_choose(const struct cost_features *f,
                               const struct cost_fit *fit, bool can_increment,
                               bool can_defer);

/* What it will take to fold an overlay of so many rows (compact.h). */
double cost_fold(const struct cost_features *f, const struct cost_fit *fit,
                 double rows);

/* Leaf pages that so many rows, evenly spread, are likely to be in. */
double cost_pages_hit(double leaf_pages, double rows);

/* The overlay is folded into the rows when it is this share of them, by
 * bytes: reading it costs about as much of a scan. */
#define COST_FOLD_SHARE (1.0 / 7)
/* Bytes of an overlay that is due; of a table that is smaller than that, the
 * bytes that a scan never notices. */
double cost_due_bytes(double leaf_pages, double page_size);
void cost_set_due_min(double bytes); /* for tests; 0: default */

#endif
