#include "base/hash_long.h"

#include <stdlib.h>

/* Names of xxhash.h that choose a vector width at run time, where the library
 * was built with them: three times as fast with AVX-512 as without. */
#ifdef DELTAFOLD_XXH_DISPATCH
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

struct hash128 hash128_long(struct bytes b, uint64_t seed)
{
    XXH128_hash_t h = XXH3_128bits_withSeed(b.data, b.len, seed);

    return (struct hash128){ .high = h.high64, .low = h.low64 };
}

struct hash_stream {
    XXH3_state_t *state;
};

bool hash_stream_open(struct hash_stream **out)
{
    struct hash_stream *s = calloc(1, sizeof *s);

    *out = NULL;
    if (s == NULL) {
        return false;
    }
    s->state = XXH3_createState();
    if (s->state == NULL) {
        free(s);
        return false;
    }
    hash_stream_reset(s);
    /* The library looks at the processor when it is called first, and does
     * not expect two threads to do so. */
    hash_stream_add(s, bytes_of("", 0));
    *out = s;
    return true;
}

void hash_stream_close(struct hash_stream *s)
{
    if (s != NULL) {
        (void)XXH3_freeState(s->state);
        free(s);
    }
}

void hash_stream_reset(struct hash_stream *s)
{
    (void)XXH3_128bits_reset(s->state);
}

void hash_stream_add(struct hash_stream *s, struct bytes b)
{
    (void)XXH3_128bits_update(s->state, b.data, b.len);
}

struct hash128 hash_stream_end(const struct hash_stream *s)
{
    XXH128_hash_t h = XXH3_128bits_digest(s->state);

    return (struct hash128){ .high = h.high64, .low = h.low64 };
}
