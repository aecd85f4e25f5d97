#include "state/filter.h"

enum { PROBES = 6, BIT_OF_LINE = 9 /* bits that number a line's bits */ };

static size_t line_of(size_t size, uint64_t hash)
{
    uint64_t lines = size / FILTER_LINE;

    return (size_t)((hash >> 32) * lines >> 32) * FILTER_LINE;
}

/* The next of a hash's bits in its line. The upper half has chosen the line;
 * the lower one is stirred so that all probes come from all of it. */
static unsigned next_bit(uint64_t *stirred)
{
    unsigned bit = (unsigned)(*stirred >> (64 - BIT_OF_LINE));

    *stirred <<= BIT_OF_LINE;
    return bit;
}

static uint64_t stir(uint64_t hash)
{
    return hash * UINT64_C(0x9e3779b97f4a7c15);
}

void filter_add(uint8_t *filter, size_t size, uint64_t hash)
{
    uint8_t *line = filter + line_of(size, hash);
    uint64_t stirred = stir(hash);

    for (unsigned i = 0; i < PROBES; i++) {
        unsigned bit = next_bit(&stirred);

        line[bit / 8] |= (uint8_t)(1u << bit % 8);
    }
}

bool filter_may_hold(struct bytes filter, uint64_t hash)
{
    const uint8_t *line = filter.data + line_of(filter.len, hash);
    uint64_t stirred = stir(hash);

    for (unsigned i = 0; i < PROBES; i++) {
        unsigned bit = next_bit(&stirred);

        if ((line[bit / 8] >> bit % 8 & 1) == 0) {
            return false;
        }
    }
    return true;
}
