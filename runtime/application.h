/*
 * application.h: one batch on its way through the steps of engine.c, shared
 * by the files that send batches there.
 *
 *     struct application a = { .v, .job, .options, .batch, .started };
 *     application_init(&a, err);
 *     application_apply(&a, err);       all steps, with blame and quarantine
 *   or, for what is not a batch of the ledger:
 *     application_map, application_reduce, application_deal, then its own
 *     application_fini(&a);
 */
#ifndef RUNTIME_APPLICATION_H
#define RUNTIME_APPLICATION_H

#include "base/clock.h"
#include "runtime/crew.h"
#include "runtime/engine.h"
#include "runtime/keeping.h"

struct base;

struct application {
    /* Set by the caller. */
    struct view *v;
    const struct jobspec *job;
    const struct engine_options *options;
    struct batch *batch;
    struct base *base; /* from which it is rebuilt (base.h); NULL: it is not */
    enum install_method method; /* not REBUILD where base is NULL */
    bool raises_high;
    struct clock_mark started;

    bool *skip; /* by file of the batch: quarantined */
    struct crew *crew;
    struct ledger_survivors survivors; /* before the batch */
    struct install_negatives negatives;
    struct keeping keeping; /* of a batch; the entry borrows from it */
    struct ledger_entry entry;
    bool begun_commit;     /* as install_batch says */
    struct buf outcomes;   /* what entry.outcomes points to */
    struct buf quarantine; /* directory, with a NUL; empty: none */
};

enum df_status application_init(struct application *a,
                                struct df_error *err) DF_MUST_CHECK;
void application_fini(struct application *a); /* safe after a failed init */

enum df_status application_apply(struct application *a,
                                 struct df_error *err) DF_MUST_CHECK;

/* Whether the content, now that it is known, is a repeat. */
enum df_status application_check(struct application *a,
                                 struct df_error *err) DF_MUST_CHECK;
/* The entry says what was read. */
void application_fill(struct application *a);
/* The runs, one per shard, with the entry as it is filled. */
enum df_status application_install(struct application *a,
                                   struct install_shard *shards,
                                   struct df_error *err) DF_MUST_CHECK;

/* The crew. */
enum df_status application_open(struct application *a, unsigned parts,
                                struct df_error *err) DF_MUST_CHECK;
/* input, map, combine; the entry gets the content's digest. */
enum df_status application_map(struct application *a, unsigned parts,
                               struct df_error *err) DF_MUST_CHECK;
/* partition, reduce. */
enum df_status application_reduce(struct application *a,
                                  struct df_error *err) DF_MUST_CHECK;
/* What install wants: the runs, and an entry that says what was read. */
void application_deal(struct application *a, unsigned parts,
                      struct install_shard *shards);

#endif
