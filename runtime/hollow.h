/*
 * hollow.h: rows that are there no time at all and yet have other numbers. A
 * group that comes to a count of 0 with a sum that is not 0 was made so by a
 * deletion whose values were not those that had been inserted.
 *
 *     hollow_look(&h, row) ...      every row; false without memory
 *     hollow_add(&all, &h) ...      of several shards; false without memory
 *     hollow_fini(&h)               safe on zeroed memory
 */
#ifndef RUNTIME_HOLLOW_H
#define RUNTIME_HOLLOW_H

#include "state/row.h"

struct hollow {
    uint64_t count;
    struct buf first; /* the full row key of the first in byte order */
};

bool hollow_look(struct hollow *h, const struct row *row);
bool hollow_add(struct hollow *into, const struct hollow *h);
void hollow_fini(struct hollow *h);

#endif
