/*
 * grow.h: arrays that double.
 */
#ifndef INPUT_GROW_H
#define INPUT_GROW_H

#include <stdbool.h>
#include <stddef.h>

/* array, or a larger one with the same elements, with room for one more
 * than count elements of size bytes; *capacity is set. NULL without memory:
 * then array is as it was. NULL with a capacity of 0 is an empty array. */
void *grow_array(void *array, size_t *capacity, size_t count, size_t size);

#endif
