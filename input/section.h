/*
 * section.h: the sections of a batch, and the order of ids in them.
 */
#ifndef INPUT_SECTION_H
#define INPUT_SECTION_H

#include "input/batch.h"

/* The name of a section's directory. */
const char *section_name(enum batch_section section);

/* Whether path begins with a section's directory; then what is below. */
bool section_of_path(struct bytes path, enum batch_section *section,
                     struct bytes *below);

/* By section, then by id. */
int section_compare_id(const struct batch_file *a, const struct batch_file *b);

/* Indices of the files in that order, in an array that the caller frees;
 * files whose section and id are equal are in order of path. NULL without
 * memory. */
size_t *section_order_by_id(const struct batch *b);

#endif
