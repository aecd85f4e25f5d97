/*
 * plan.h: what is to become of a batch, by the ledger (README.md, "Exactly
 * once").
 *
 *     plan_batch(&plan, snapshot, job, &batch, options, err);
 *     ... plan.outcome, plan.entry ...
 *     map hashes the content ...
 *     plan_check_content(snapshot, &batch, digest, options, err);
 */
#ifndef RUNTIME_PLAN_H
#define RUNTIME_PLAN_H

#include "runtime/engine.h"

struct plan {
    enum engine_outcome outcome; /* APPLIED: it is to be applied */
    struct ledger_entry entry;   /* ALREADY_APPLIED, UNDONE: what is there;
                                    borrowed from the snapshot */
    bool raises_high;            /* the name comes after all that are there */
};

/* Longest batch name: file systems' own limit. */
enum { PLAN_NAME_MAX = 255 };

/* Natural order of a name and one that the ledger keeps. */
int plan_compare(const char *name, struct bytes kept);

/* By name, and by content where an applied name's files look changed. A
 * batch that must not be applied is refused: DF_LEDGER. */
enum df_status plan_batch(struct plan *p, struct snapshot *s,
                          const struct jobspec *job, struct batch *batch,
                          const struct engine_options *options,
                          struct df_error *err) DF_MUST_CHECK;

/* By content, once it is known: the same content under another name is
 * refused unless it is allowed. A batch without files repeats nothing, nor
 * does one whose files hold no record: the caller knows which. */
enum df_status plan_check_content(struct snapshot *s,
                                  const struct batch *batch,
                                  struct hash128 digest,
                                  const struct engine_options *options,
                                  struct df_error *err) DF_MUST_CHECK;

#endif
