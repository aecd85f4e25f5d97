/*
 * folding.h: one batch of a fold job, from records to runs.
 *
 *     folding_open(&f, &plan, err)
 *       folding_records(f, worker, &place, records, n, err) ...  map
 *     folding_finish(f, err)          times, keys, reduce; see folding.c
 *     folding_run(f, part) ...        the runs, for install
 *     folding_close(f)                takes NULL
 *
 * A worker brings its units in ascending order, each in one go; workers run
 * at the same time, everything else is called from one thread.
 */
#ifndef RUNTIME_FOLDING_H
#define RUNTIME_FOLDING_H

#include "runtime/fold_map.h"
#include "runtime/reduce.h"
#include "runtime/resolve.h"

struct folding_plan {
    const struct jobspec *job;
    struct view *view;
    unsigned workers;
    size_t units;  /* of the batch */
    size_t memory; /* for events while mapping, for keys and rows afterwards */
    const char *scratch;
    bool wants_outcomes;               /* of every record, for outcome files */
    struct df_clock clock;             /* as the ledger has it */
    const volatile sig_atomic_t *stop; /* NULL: none */
};

struct folding;
enum df_status folding_open(struct folding **out,
                            const struct folding_plan *plan,
                            struct df_error *err) DF_MUST_CHECK;
void folding_close(struct folding *f);

enum df_status folding_records(struct folding *f, unsigned worker,
                               const struct fold_place *place,
                               const struct df_record *records, size_t n,
                               struct df_error *err) DF_MUST_CHECK;

/* DF_INPUT, with folding_negative saying which record, where one deletes
 * what was never there. */
enum df_status folding_finish(struct folding *f,
                              struct df_error *err) DF_MUST_CHECK;

struct run_source *folding_run(struct folding *f, unsigned part);
struct reduce_bound folding_bound(const struct folding *f, unsigned part);

/* After folding_finish. */
const struct df_clock *folding_clock(const struct folding *f);
const struct outcomes *folding_outcomes(const struct folding *f);
const struct resolve_negative *folding_negative(const struct folding *f);
struct folding_stats {
    uint64_t records;
    uint64_t deleted; /* of these */
    uint64_t spills;
    uint64_t splits; /* of parts whose keys did not fit; for tests */
    uint64_t counters[DF_COUNTERS_MAX]; /* the job's */
};
struct folding_stats folding_stats(const struct folding *f);

#endif
