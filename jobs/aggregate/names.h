/*
 * names.h: what the parts of a query are called: components, columns of a
 * line, options in the definition.
 */
#ifndef JOBS_AGGREGATE_NAMES_H
#define JOBS_AGGREGATE_NAMES_H

#include "jobs/aggregate/query.h"

char *names_copy(struct bytes name); /* NULL without memory */
void names_free(const char **names); /* a list that ends with NULL */

/*
 * Fills components and shown: "count", "count_C", "sum_C", "avg_C" ... for a
 * column C. A name that stands before it already gets "_2", "_3" ... behind.
 * False without memory.
 */
bool names_make(struct query *p);

/* Fills canonical: names in quotes where they must be and nowhere else, a
 * scale only where it is not the view's. False without memory. */
bool names_canonical(struct query *p);

#endif
