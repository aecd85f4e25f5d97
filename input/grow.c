#include "input/grow.h"

#include <stdint.h>
#include <stdlib.h>

void *grow_array(void *array, size_t *capacity, size_t count, size_t size)
{
    size_t wanted = *capacity == 0 ? 64 : 2 * *capacity;
    void *grown;

    if (count < *capacity) {
        return array;
    }
    if (wanted > SIZE_MAX / 2 / size) {
        return NULL;
    }
    grown = realloc(array, wanted * size);
    if (grown != NULL) {
        *capacity = wanted;
    }
    return grown;
}
