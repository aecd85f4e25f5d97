/*
 * aggregate.h: sums, counts, averages, least and greatest, different and
 * most frequent values per group of records, exactly. query.h says how.
 */
#ifndef JOBS_AGGREGATE_AGGREGATE_H
#define JOBS_AGGREGATE_AGGREGATE_H

#include "deltafold/job.h"

extern const struct df_job aggregate_job;

#endif
