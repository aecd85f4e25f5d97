/*
 * pages.h: large memory straight from the system.
 *
 * Zeroed on arrival; grows without a copy (the system moves page tables, not
 * bytes), and what is given back is really given back. Sizes are multiples
 * of PAGES_UNIT; pages_round makes them so.
 */
#ifndef RUNTIME_PAGES_H
#define RUNTIME_PAGES_H

#include <stddef.h>

enum { PAGES_UNIT = 64 * 1024, PAGES_HUGE = 2 * 1024 * 1024 };

static inline size_t pages_round(size_t bytes)
{
    return (bytes + PAGES_UNIT - 1) / PAGES_UNIT * PAGES_UNIT;
}

/* NULL without memory. */
void *pages_map(size_t bytes);
/* The same in ordinary pages: for what is written and read in order, which
 * gains nothing from huge ones, and these are slow to come. */
void *pages_map_ordinary(size_t bytes);
/* Grows or shrinks, and may move. NULL without memory: the old stays. */
void *pages_resize(void *pages, size_t bytes, size_t new_bytes);
void pages_unmap(void *pages, size_t bytes); /* takes NULL */

#endif
