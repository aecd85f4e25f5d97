/*
 * hash_long.h: hash.h for what is longer than most keys (private to hash.c
 * and hash_long.c), by the library's vector code for this processor.
 */
#ifndef BASE_HASH_LONG_H
#define BASE_HASH_LONG_H

#include "base/hash.h"

enum { HASH_SHORT_MAX = 240 }; /* above, XXH3 works in stripes */

struct hash128 hash128_long(struct bytes b, uint64_t seed);

#endif
