/*
 * crossover_site.h: the scratch directory that crossover.c measures in.
 *
 *     SCRATCH/deltafold-bench.XXXXXX/
 *       base/                   the view before the delta; only copied
 *       work/                   its copy, for one measurement
 *       documents/              the documents that survive
 *       ~deltafold-bench/       the delta; its name comes after others'
 *
 *     site_open(&s, plan, err)          chooses the deltas
 *     site_make_base(&s, err)           base/, documents/ without any delta
 *       site_enter(&s, delta, err)      the delta, and documents/ after it
 *         site_renew(&s, err) ...       work/ as base/
 *       site_leave(&s, delta, err)
 *     site_close(&s)                    all of it is gone
 */
#ifndef RUNTIME_CROSSOVER_SITE_H
#define RUNTIME_CROSSOVER_SITE_H

#include "runtime/crossover.h"

struct site {
    const struct crossover_plan *plan;
    struct batch documents; /* the user's, scanned */
    struct deltas deltas;
    char *root;
    char *base;
    char *work;
    char *survivors;
    char *batch;
    uint64_t base_bytes;           /* of base/ on disk */
    bool knows_base;               /* documents/, in base/ and its copies */
    struct df_error no_base;       /* why it does not */
    struct engine_options options; /* the plan's, for the engine */
    char label[80];                /* of the progress line */
};

enum df_status site_open(struct site *s, const struct crossover_plan *plan,
                         struct df_error *err) DF_MUST_CHECK;
void site_close(struct site *s); /* safe on zeroed memory */

enum df_status site_make_base(struct site *s,
                              struct df_error *err) DF_MUST_CHECK;
/* The delta as a batch, and documents/ as they are after it; and back. */
enum df_status site_enter(struct site *s, const struct delta *d,
                          struct df_error *err) DF_MUST_CHECK;
enum df_status site_leave(struct site *s, const struct delta *d,
                          struct df_error *err) DF_MUST_CHECK;
enum df_status site_renew(struct site *s, struct df_error *err) DF_MUST_CHECK;

/* Recomputes the view at `path` from documents/. */
enum df_status site_rebuild(struct site *s, const char *path,
                            struct ledger_entry *entry,
                            struct df_error *err) DF_MUST_CHECK;

/* Folds the delta into the view at `path`; *used is how that was done. */
enum df_status site_fold(struct site *s, const char *path,
                         enum install_method method, enum install_method *used,
                         struct df_error *err) DF_MUST_CHECK;

void site_notice(const struct site *s, const char *text);

/* Rows and digest of the view at `path`. */
enum df_status site_state(const char *path, struct snapshot_state *state,
                          struct df_error *err) DF_MUST_CHECK;

#endif
