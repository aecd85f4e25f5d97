/*
 * engine.h: the way of the data, from a batch on disk to a view.
 *
 *     input -> map -> combine -> partition -> reduce -> install -> view
 *
 * engine.c spells these steps in this order.
 */
#ifndef RUNTIME_ENGINE_H
#define RUNTIME_ENGINE_H

#include <signal.h>

#include "input/batch.h"
#include "jobs/registry.h"
#include "runtime/hollow.h"
#include "state/install.h"
#include "state/snapshot.h"

enum engine_on_negative {
    ENGINE_NEGATIVE_ABORT,      /* refuse the batch (default) */
    ENGINE_NEGATIVE_QUARANTINE, /* leave out the offending deletions */
    ENGINE_NEGATIVE_ALLOW       /* keep negative rows, visible */
};

/* Most workers that a command may be given. */
enum { ENGINE_THREADS_MAX = 256 };

/* Where the work stands; given to the progress function. */
struct engine_progress {
    const char *batch; /* name */
    const char *phase; /* "map": the other steps are not shown */
    uint64_t done;     /* bytes */
    uint64_t total;    /* bytes, 0 when unknown */
};

struct engine_options {
    unsigned threads;           /* 0: as many as there are processors */
    size_t memory;              /* bytes; 0: a quarter of the machine's */
    uint64_t unit_size;         /* of split files; 0: default */
    enum install_method method; /* REBUILD: the last batch is, others as by
                                   AUTO */
    enum engine_on_negative on_negative;
    bool allow_late;
    bool allow_repeat;
    bool require_marker;
    bool paranoid; /* hash applied batches again even where times agree */
    bool dry_run;
    const char *outcomes; /* directory for the outcome files of fold jobs;
                             NULL: outcomes are only counted */
    const volatile sig_atomic_t *stop; /* may be NULL */
    /* Called now and then from the thread that called the engine, and never
     * from another; NULL for none. */
    void (*progress)(void *ctx, const struct engine_progress *);
    void *progress_ctx;
};

/* What became of one batch of a run. */
enum engine_outcome {
    ENGINE_LISTED,          /* not a batch: something to be told, of a
                               directory of batches in which something was
                               left out (notices), or trouble */
    ENGINE_APPLIED,         /* now in the view */
    ENGINE_WOULD_APPLY,     /* dry run */
    ENGINE_ALREADY_APPLIED, /* same name, same content */
    ENGINE_UNDONE,          /* same name, same content, but undone */
    ENGINE_COVERED,         /* not after the batch of the last rebuild */
    ENGINE_NOT_READY        /* no _SUCCESS, with require_marker */
};

/* What a batch is likely to take. */
struct engine_forecast {
    enum install_method method;
    uint64_t install_us; /* from the reduced run to the commit */
    uint64_t total_us;
};

struct engine_report {
    enum engine_outcome outcome;
    const char *name;                   /* of the batch */
    size_t batches;                     /* there are under all paths; 0 while
                                           they are still being listed */
    const struct batch *batch;          /* scanned; NULL for LISTED */
    const struct batch_notice *notices; /* what was left out */
    size_t notice_count;
    const struct ledger_entry *entry; /* APPLIED: what was recorded;
                                         ALREADY_APPLIED: what is there */
    const char *quarantine; /* directory of what was left out, or NULL */
    const struct engine_forecast *forecast; /* WOULD_APPLY; NULL: none */
    /* LISTED: why the batch of that name is not rebuilt from the base, as
     * would have been best; else NULL. */
    const char *remark;
    /* LISTED: what went wrong behind the commit of the batch of that name,
     * which is safe, and will be tried again; else NULL. */
    const char *trouble;
};
typedef void engine_report_fn(void *ctx, const struct engine_report *);

/*
 * Applies, in natural order, the batches under the paths that the view does
 * not have yet; each in its own transaction. report is called after each
 * batch. Stops at the first that is refused: those before it stay applied.
 * After each, runs that were deferred are merged and folded, for a while.
 */
enum df_status engine_run(struct view *v, const struct jobspec *job,
                          const char *const *paths, size_t n,
                          const struct engine_options *options,
                          engine_report_fn *report, void *ctx,
                          struct df_error *err) DF_MUST_CHECK;

/* What runs that were deferred cost after a batch (state/compact.h): as much
 * time as the batch itself took, and this. */
enum { ENGINE_COMPACT_US = 50000 };

/* Full recomputation from the documents under `dir`, swapped in. shards 0:
 * as many as before. as_of NULL: the last applied batch. *entry is filled
 * (strings are static or the caller's). */
enum df_status engine_rebuild(struct view *v, const struct jobspec *job,
                              const char *dir, const char *as_of,
                              unsigned shards,
                              const struct engine_options *options,
                              struct ledger_entry *entry,
                              struct df_error *err) DF_MUST_CHECK;

/*
 * Takes a past batch, by name or "#SEQ", out of the rows, or (redo) puts one
 * that was undone back; an entry of its own, exactly once. DF_LEDGER where
 * that cannot be done exactly: the batch is not applied (not undone), its run
 * is not kept any more, or the view is one that engine_allows_undo refuses.
 * Rows that would become negative: DF_INPUT, unless on_negative is ALLOW.
 * There is nothing to rebuild from: the method is another one. Where opening
 * the view has completed it, nothing is left to do. *entry is filled; its
 * strings are static, or name's.
 */
enum df_status engine_undo(struct view *v, const struct jobspec *job,
                           const char *batch, bool redo,
                           const struct engine_options *options,
                           struct ledger_entry *entry, struct buf *name,
                           struct df_error *err) DF_MUST_CHECK;

/* Whether single batches can be taken out of views of this job: DF_LEDGER
 * with the reason where they cannot. */
enum df_status engine_allows_undo(const struct jobspec *job,
                                  struct df_error *err) DF_MUST_CHECK;

/* Whether a view of this job can know the directory of its documents
 * (state/settings.h): DF_USAGE with the reason where it cannot. */
enum df_status engine_allows_base(const struct jobspec *job,
                                  struct df_error *err) DF_MUST_CHECK;

/* Checks the options of the view that are not the job's own (window=,
 * having= ...), and fills in what having= comes to. DF_USAGE, naming the
 * option. */
enum df_status engine_check_options(const struct jobspec *job,
                                    struct view_having *having,
                                    struct df_error *err) DF_MUST_CHECK;

/* One difference between a view and a recomputation. */
struct engine_difference {
    struct bytes key;
    struct bytes element;
    const int64_t *expected; /* zeros where there should be no row */
    const int64_t *found;    /* zeros where there is none */
};
struct engine_verdict {
    uint64_t documents;
    uint64_t rows_checked;
    uint64_t differences;
    /* Of the view, where it has no window; the caller's to hollow_fini. */
    struct hollow hollow;
    struct hash128 view; /* digests; of the sample, with sample > 1 */
    struct hash128 recomputed;
};

/*
 * Compares the view with a recomputation: from the documents under dir, or,
 * with deltas, from the applied batches found under dir. sample K > 1 takes
 * one key in K. different is called for the first differing rows (at most
 * 20). DF_DIFFERS when there are any.
 */
enum df_status engine_verify(
    struct view *view, const struct jobspec *job, const char *dir, bool deltas,
    uint64_t sample, const struct engine_options *options,
    void (*different)(void *ctx, const struct engine_difference *), void *ctx,
    struct engine_verdict *verdict, struct df_error *err) DF_MUST_CHECK;

#endif
