/*
 * filter.h: a small set of hashes that may say "perhaps" to what is not in
 * it, about once in a hundred times, and never "no" to what is.
 *
 * A Bloom filter in lines of 64 bytes: a hash chooses one line and six bits
 * of it, so that a look touches one line of the processor's cache. It is
 * plain bytes, wherever the caller has them.
 */
#ifndef STATE_FILTER_H
#define STATE_FILTER_H

#include "base/bytes.h"

/* 10 bits for each hash. */
enum { FILTER_LINE = 64, FILTER_BITS = 10 };

/* Bytes for so many hashes: whole lines, at least one. */
static inline size_t filter_size(size_t hashes)
{
    const size_t line_bits = (size_t)8 * FILTER_LINE;
    size_t lines = (hashes * FILTER_BITS + line_bits - 1) / line_bits;

    return (lines == 0 ? 1 : lines) * FILTER_LINE;
}

/* `filter` is filter_size bytes, zeroed before the first. */
void filter_add(uint8_t *filter, size_t size, uint64_t hash);
bool filter_may_hold(struct bytes filter, uint64_t hash);

#endif
