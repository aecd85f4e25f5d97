/*
 * present.h: a dedup view as people read it: a line per known key, with its
 * columns, how often it is there, and when the record was that is kept. Where
 * a key lives in its own span, the span is the last of its columns.
 *
 * A key that is text and could be taken for a number, true, false or a quoted
 * text is shown between double quotes, as JSON has it, in ndjson views alone:
 * so what is shown, given to `get`, is the same key again.
 */
#ifndef JOBS_DEDUP_PRESENT_H
#define JOBS_DEDUP_PRESENT_H

#include "deltafold/job.h"

extern const struct df_present dedup_present;

#endif
