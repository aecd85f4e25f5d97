/* Hashes are part of the format on disk: base/hash.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

/* The header's own code, for any processor. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/hash.h"

enum { LONGEST = 300000, OFFSETS = 3 };

static struct hash128 expected(const uint8_t *data, size_t len, uint64_t seed)
{
    XXH128_hash_t h = XXH3_128bits_withSeed(data, len, seed);

    return (struct hash128){ .high = h.high64, .low = h.low64 };
}

static uint8_t *random_bytes(size_t n)
{
    unsigned seed = (unsigned)time(NULL);
    uint8_t *data = malloc(n);

    print_message("seed %u\n", seed);
    assert_non_null(data);
    for (size_t i = 0; i < n; i++) {
        data[i] = (uint8_t)rand_r(&seed);
    }
    return data;
}

static void check_length(struct hash_stream *stream, const uint8_t *data,
                         size_t len)
{
    struct hash128 plain = expected(data, len, 0);

    assert_true(hash128_equal(hash128(bytes_of(data, len), 0), plain));
    assert_true(hash128_equal(hash128(bytes_of(data, len), 20261130),
                              expected(data, len, 20261130)));
    assert_int_equal(hash64(bytes_of(data, len)), XXH3_64bits(data, len));
    hash_stream_reset(stream);
    for (size_t at = 0; at < len;) {
        size_t some = 1 + (at * 7 + len) % 5000;

        some = some < len - at ? some : len - at;
        hash_stream_add(stream, bytes_of(data + at, some));
        at += some;
    }
    assert_true(hash128_equal(hash_stream_end(stream), plain));
}

/* By whatever code this processor gets, whole and in parts, on both sides of
 * every length at which it changes. */
static void test_all_lengths(void **state)
{
    uint8_t *data = random_bytes(LONGEST + OFFSETS);
    struct hash_stream *stream;

    (void)state;
    assert_true(hash_stream_open(&stream));
    for (size_t offset = 0; offset < OFFSETS; offset++) {
        for (size_t len = 0; len < 2100; len++) {
            check_length(stream, data + offset, len);
        }
        for (size_t len = 2100; len <= LONGEST; len = len * 3 / 2 + 1) {
            check_length(stream, data + offset, len);
        }
    }
    hash_stream_close(stream);
    free(data);
}

/* The XXH3-128 of nothing, as xxhsum prints it. */
static void test_known_value(void **state)
{
    char text[HASH128_TEXT];

    (void)state;
    assert_string_equal(hash128_text(text, hash128(bytes_of("", 0), 0)),
                        "99aa06d3014798d86001c324468d497f");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_lengths),
        cmocka_unit_test(test_known_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
