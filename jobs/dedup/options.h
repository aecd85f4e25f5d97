/*
 * options.h: the options of dedup, taken and checked. Every combination that
 * cannot be right is refused with a message of its own, at `init`.
 */
#ifndef JOBS_DEDUP_OPTIONS_H
#define JOBS_DEDUP_OPTIONS_H

#include "base/error.h"
#include "jobs/dedup/dedup.h"

extern const struct df_option dedup_options[];

/* Fills c, zeroed before; on failure dedup_options_fini has been called. */
enum df_status dedup_options_read(struct dedup_config *c,
                                  const struct df_settings *settings,
                                  struct df_error *err) DF_MUST_CHECK;
void dedup_options_fini(struct dedup_config *c);

#endif
