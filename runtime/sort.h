/*
 * sort.h: references to rows, put in order of partition and head.
 *
 * Sorts 16-byte entries that carry the next eight bytes of the head, so that
 * most steps look at nothing else: in place, or faster where there is room for
 * as many entries again.
 */
#ifndef RUNTIME_SORT_H
#define RUNTIME_SORT_H

#include "base/bytes.h"

struct sort_entry {
    uint64_t word; /* eight bytes of the head, big-endian, zero-padded; the
                      first eight before sorting, anything after */
    uint32_t ref;  /* what the caller knows the row by */
    uint32_t part; /* its partition; bits above the lowest eight are the
                      caller's */
};

enum { SORT_PARTS_MAX = 256 };

/* Where heads are looked up. */
struct sort_rows {
    const void *ctx;
    struct bytes (*head)(const void *ctx, uint32_t ref);
};

/* Eight bytes of a head from `depth` on, as sort_entry.word has them. */
static inline uint64_t sort_word(struct bytes head, size_t depth)
{
    return bytes_word(head, depth);
}

/* Where entries may lie for a while, apart from those that are sorted; what is
 * left there means nothing. Where it is too small (none: zeros) it is not
 * used: for a sort by head with room for fewer entries, for one by part with
 * room for fewer than are in other parts than the first. */
struct sort_room {
    struct sort_entry *entries;
    size_t n;
};

/* Groups entries by part: those of part p are then begin[p] to
 * begin[p + 1] - 1. */
void sort_by_part(struct sort_entry *entries, size_t n, unsigned parts,
                  size_t *begin, struct sort_room room);

/* Sorts by head; no two heads may be equal. They agree in the first `depth`
 * bytes, and words are those from there on. */
void sort_by_head(struct sort_entry *entries, size_t n, size_t depth,
                  const struct sort_rows *rows, struct sort_room room);

/* Groups by part, as sort_by_part does, and sorts by word alone within each;
 * entries with one word keep their order. Uses room for n entries; returns
 * which of the two arrays they are in. */
struct sort_entry *sort_by_word(struct sort_entry *entries,
                                struct sort_entry *room, size_t n,
                                unsigned parts, size_t *begin);

#endif
