#include "base/hash.h"

#define XXH_INLINE_ALL /* most keys are short: no call */
#include <xxhash.h>

#include "base/hash_long.h"

uint64_t hash64(struct bytes b)
{
    return XXH3_64bits(b.data, b.len);
}

struct hash128 hash128(struct bytes b, uint64_t seed)
{
    XXH128_hash_t h;

    if (b.len > HASH_SHORT_MAX) {
        return hash128_long(b, seed);
    }
    h = XXH3_128bits_withSeed(b.data, b.len, seed);
    return (struct hash128){ .high = h.high64, .low = h.low64 };
}

const char *hash128_text(char out[HASH128_TEXT], struct hash128 h)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t raw[HASH128_SIZE];

    hash128_store(raw, h);
    for (size_t i = 0; i < sizeof raw; i++) {
        out[2 * i] = digits[raw[i] >> 4];
        out[2 * i + 1] = digits[raw[i] & 15];
    }
    out[HASH128_TEXT - 1] = '\0';
    return out;
}

/* A digest as one number; a GNU extension that gcc and clang both have. */
__extension__ typedef unsigned __int128 wide;

static wide widen(struct hash128 h)
{
    return ((wide)h.high << 64) | h.low;
}

static struct hash128 narrow(wide w)
{
    return (struct hash128){ .high = (uint64_t)(w >> 64), .low = (uint64_t)w };
}

struct hash128 digest_add(struct hash128 a, struct hash128 b)
{
    return narrow(widen(a) + widen(b));
}

struct hash128 digest_scale(struct hash128 h, int64_t value)
{
    /* Sign extension to 128 bits makes the product right modulo 2^128. */
    return digest_scale_wide(h, value < 0 ? -1 : 0, value);
}

struct hash128 digest_scale_wide(struct hash128 h, int64_t high, int64_t low)
{
    wide factor = (wide)(uint64_t)high << 64 | (uint64_t)low;

    return narrow(widen(h) * factor);
}
