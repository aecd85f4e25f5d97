/*
 * find.h: the key of a group from what a user writes for it: its columns as
 * export prints them in TSV, a TAB between.
 */
#ifndef JOBS_AGGREGATE_FIND_H
#define JOBS_AGGREGATE_FIND_H

#include "jobs/aggregate/query.h"

/* Replaces what is in key, which afterwards has data even where it is empty.
 * DF_USAGE when text cannot be a group's. */
enum df_status find_key(const struct query *p, struct bytes text,
                        struct buf *key, struct df_error *err) DF_MUST_CHECK;

#endif
