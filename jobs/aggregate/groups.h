/*
 * groups.h: records of one worker to pairs: map_records of the job.
 *
 * A list of records is worked off in pieces: keys and numbers of a piece
 * first, as a list of pairs, so that the runtime can look ahead; then, where
 * there are sets, a pair per record and set. Nothing is kept from one record
 * to the next.
 */
#ifndef JOBS_AGGREGATE_GROUPS_H
#define JOBS_AGGREGATE_GROUPS_H

#include "jobs/aggregate/query.h"

enum df_status groups_open(const void *query, void **mapper,
                           struct df_error *);
void groups_close(void *opaque); /* takes NULL */
void groups_map(void *opaque, const struct df_record *records, size_t n,
                struct df_emitter *e);

#endif
