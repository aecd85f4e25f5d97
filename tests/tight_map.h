/*
 * tight_map.h: LMDB maps that are too small, so that a full map is met
 * where it is rare: in the midst of a put, and in a commit.
 *
 *     tight_map_begin(1000);    a thousandth of every growth is granted
 *     ...
 *     struct tight_map_met met = tight_map_end();
 *
 * The functions stand in front of liblmdb's. Not for two threads at once.
 */
#ifndef TESTS_TIGHT_MAP_H
#define TESTS_TIGHT_MAP_H

/* How often a full map was met. */
struct tight_map_met {
    unsigned puts;
    unsigned commits;
};

void tight_map_begin(unsigned one_in);
struct tight_map_met tight_map_end(void);

#endif
