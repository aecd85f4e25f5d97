/*
 * fold_apply.h: one batch of a fold job, on the way that engine.c spells for
 * group jobs:
 *
 *     input -> map -> settle, touch, resolve -> reduce -> outcome files
 *           -> install -> outcome files get their name
 *
 * Arrows are explained where they are: folding.c, outcome_files.c.
 */
#ifndef RUNTIME_FOLD_APPLY_H
#define RUNTIME_FOLD_APPLY_H

#include "runtime/application.h"

enum df_status fold_apply(struct application *a,
                          struct df_error *err) DF_MUST_CHECK;

/* What cannot be right for a fold job, whatever the batch: DF_USAGE. */
enum df_status fold_check_options(const struct engine_options *options,
                                  struct df_error *err) DF_MUST_CHECK;

#endif
