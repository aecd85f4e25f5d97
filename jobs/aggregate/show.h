/*
 * show.h: the line of a group from its rows: df_present of the job.
 */
#ifndef JOBS_AGGREGATE_SHOW_H
#define JOBS_AGGREGATE_SHOW_H

#include "deltafold/job.h"

extern const struct df_present show_present;

#endif
