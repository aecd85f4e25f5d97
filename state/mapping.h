/*
 * mapping.h: where a file is mapped in this process, and the memory that is
 * counted for it given back. LMDB does not tell where its map lies; the
 * system does.
 */
#ifndef STATE_MAPPING_H
#define STATE_MAPPING_H

#include <stddef.h>
#include <stdint.h>

struct mapping {
    uint8_t *begin; /* NULL: not found */
    size_t length;
};

/* The first shared mapping of the file at path. Costs a reading of
 * /proc/self/maps. */
struct mapping mapping_find(const char *path);

/* Forgets which of the file's pages are mapped in. They stay in the system's
 * cache and come back when they are touched: bytes and pointers stay good. */
void mapping_relax(struct mapping m);

#endif
