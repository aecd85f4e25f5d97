/*
 * spelling.h: what a mistyped word was meant to be.
 *
 *     for (each name) { spelling_look(&near, given, name); }
 *     ... near.name, NULL: nothing is like it ...
 */
#ifndef BASE_SPELLING_H
#define BASE_SPELLING_H

#include <stddef.h>

/* How many bytes must be inserted, deleted, replaced or swapped with their
 * neighbour to make b of a. */
size_t spelling_distance(const char *a, const char *b);

/* The nearest of those that were looked at, the first of several; far ones are
 * passed over. */
struct spelling {
    const char *name;
    size_t distance;
};
void spelling_look(struct spelling *near, const char *given, const char *name);

#endif
