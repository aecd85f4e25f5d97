/* links.h: the job `links`, for the registry. */
#ifndef JOBS_LINKS_LINKS_H
#define JOBS_LINKS_LINKS_H

#include "base/error.h"
#include "deltafold/job.h"

extern const struct df_job links_job;

#endif
