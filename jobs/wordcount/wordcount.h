/*
 * wordcount.h: the job `wordcount`: key = a word or n-gram, no element,
 * value = how often it occurs. wordcount.c says what a word is.
 */
#ifndef JOBS_WORDCOUNT_WORDCOUNT_H
#define JOBS_WORDCOUNT_WORDCOUNT_H

#include "deltafold/job.h"

extern const struct df_job wordcount_job;

#endif
