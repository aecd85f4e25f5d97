/*
 * bounds.h: where the records of a unit lie, so that they can be read once
 * more without being parsed.
 *
 *     struct bounds b = { 0 };
 *     bounds_add(&b, at, records, n) ...     in order; while they are parsed
 *       struct bounds_walk w = bounds_walk(&b);
 *       while (bounds_next(&w, &at, &len)) ...
 *     bounds_fini(&b);
 *
 * A byte a record, as a rule: its length, where it is short and as far behind
 * the record before as that was behind its own.
 */
#ifndef INPUT_BOUNDS_H
#define INPUT_BOUNDS_H

#include "base/buf.h"
#include "deltafold/job.h"

struct bounds {
    struct buf codes;
    uint64_t end; /* of the last record, in the content */
    uint64_t gap; /* before it */
};

void bounds_fini(struct bounds *b);

/* The first of the records begins at `at` of the content; all lie in one
 * stretch of it. False without memory. */
bool bounds_add(struct bounds *b, uint64_t at, const struct df_record *records,
                size_t n);

struct bounds_walk {
    struct bytes codes; /* yet to come */
    uint64_t end;
    uint64_t gap;
};
struct bounds_walk bounds_walk(const struct bounds *b);
/* False past the last. */
bool bounds_next(struct bounds_walk *w, uint64_t *at, size_t *len);

#endif
