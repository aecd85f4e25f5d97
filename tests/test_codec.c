/* base/codec: what is written is read again, and no bytes do any harm. */
#include "base/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t seed = 20261129;

/* xorshift64*; good enough to make bytes. */
static uint64_t next_random(void)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return seed * 0x2545F4914F6CDD1Du;
}

static void encodes_as(const struct buf *b, const char *bytes, size_t len)
{
    assert_int_equal(b->len, len);
    assert_memory_equal(b->data, bytes, len);
}

static void forms_are_those_of_messagepack(void **state)
{
    struct buf b = { 0 };

    (void)state;
    assert_true(codec_put_map(&b, 1) && codec_put_text(&b, "a") &&
                codec_put_array(&b, 4) && codec_put_uint(&b, 127) &&
                codec_put_int(&b, -1) && codec_put_bool(&b, true) &&
                codec_put_bin(&b, bytes_of("\0x", 2)));
    encodes_as(&b,
               "\x81\xa1"
               "a"
               "\x94\x7f\xff\xc3\xc4\x02\0x",
               11);
    buf_reset(&b);
    assert_true(codec_put_uint(&b, 128) && codec_put_uint(&b, 65536) &&
                codec_put_int(&b, -33) && codec_put_int(&b, 300));
    encodes_as(&b, "\xcc\x80\xce\0\1\0\0\xd0\xdf\xcd\x01\x2c", 12);
    buf_fini(&b);
}

static void hashes_have_their_length(void **state)
{
    const struct hash128 hash = { .high = 1, .low = 2 };
    struct hash128 back;
    struct codec_reader r;
    struct buf b = { 0 };

    (void)state;
    assert_true(codec_put_hash(&b, hash) &&
                codec_put_bin(&b, bytes_of("0123456789abcde", 15)));
    assert_int_equal(b.len, 2 + 16 + 2 + 15);
    r = codec_reader_of(buf_bytes(&b));
    assert_true(codec_get_hash(&r, &back));
    assert_true(hash128_equal(back, hash));
    assert_false(codec_get_hash(&r, &back));
    assert_false(codec_reader_finished(&r));
    buf_fini(&b);
}

static const int64_t edges[] = {
    0,          1,          -1,          31,          -32,        -33,
    127,        128,        -128,        -129,        255,        256,
    32767,      32768,      -32768,      -32769,      65535,      65536,
    2147483647, 2147483648, -2147483648, -2147483649, 4294967295, 4294967296,
    INT64_MAX,  INT64_MIN
};
enum { EDGES = sizeof edges / sizeof edges[0] };

static void numbers_at_every_edge_come_back(void **state)
{
    struct buf b = { 0 };
    struct codec_reader r;
    int64_t v;

    (void)state;
    for (size_t i = 0; i < EDGES; i++) {
        assert_true(codec_put_int(&b, edges[i]));
    }
    r = codec_reader_of(buf_bytes(&b));
    for (size_t i = 0; i < EDGES; i++) {
        assert_true(codec_get_int(&r, &v));
        assert_int_equal(v, edges[i]);
    }
    assert_true(codec_reader_finished(&r));
    buf_fini(&b);
}

static void a_number_too_large_or_negative_is_refused(void **state)
{
    struct buf b = { 0 };
    struct codec_reader r;
    int64_t i;
    uint64_t u;

    (void)state;
    assert_true(codec_put_uint(&b, UINT64_MAX));
    r = codec_reader_of(buf_bytes(&b));
    assert_false(codec_get_int(&r, &i));
    r = codec_reader_of(buf_bytes(&b));
    assert_true(codec_get_uint(&r, &u));
    assert_true(u == UINT64_MAX);
    buf_reset(&b);
    assert_true(codec_put_int(&b, -1));
    r = codec_reader_of(buf_bytes(&b));
    assert_false(codec_get_uint(&r, &u));
    buf_fini(&b);
}

static void strings_of_every_length_class_come_back(void **state)
{
    static const size_t lengths[] = { 0,   1,     31,    32,    255,
                                      256, 65535, 65536, 100000 };
    struct buf b = { 0 };
    uint8_t *text = malloc(100000);
    struct bytes back;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', 100000);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct codec_reader r;

        buf_reset(&b);
        assert_true(codec_put_bin(&b, bytes_of(text, lengths[i])));
        assert_true(codec_put_str(&b, bytes_of(text, lengths[i])));
        r = codec_reader_of(buf_bytes(&b));
        for (int kind = 0; kind < 2; kind++) {
            assert_true(codec_get_bytes(&r, &back));
            assert_true(bytes_equal(back, bytes_of(text, lengths[i])));
            assert_non_null(back.data);
        }
        assert_true(codec_reader_finished(&r));
    }
    free(text);
    buf_fini(&b);
}

static void a_failed_reader_stays_failed(void **state)
{
    struct buf b = { 0 };
    struct codec_reader r;
    uint64_t u;
    bool truth;

    (void)state;
    assert_true(codec_put_uint(&b, 1) && codec_put_uint(&b, 2));
    r = codec_reader_of(buf_bytes(&b));
    assert_false(codec_get_bool(&r, &truth));
    assert_false(codec_get_uint(&r, &u));
    assert_false(codec_skip(&r));
    assert_false(codec_reader_finished(&r));
    buf_fini(&b);
}

static void what_is_nested_is_passed_over(void **state)
{
    struct buf b = { 0 };
    struct codec_reader r;
    uint64_t u = 0;

    (void)state;
    assert_true(codec_put_map(&b, 2) && codec_put_text(&b, "x") &&
                codec_put_array(&b, 2) && codec_put_map(&b, 1) &&
                codec_put_uint(&b, 1) && codec_put_bool(&b, false) &&
                codec_put_uint(&b, 5) && codec_put_text(&b, "y") &&
                codec_put_uint(&b, 6) && codec_put_uint(&b, 7));
    r = codec_reader_of(buf_bytes(&b));
    assert_true(codec_skip(&r) && codec_get_uint(&r, &u));
    assert_int_equal(u, 7);
    assert_true(codec_reader_finished(&r));
    buf_fini(&b);
}

static void every_truncation_fails(void **state)
{
    struct buf b = { 0 };

    (void)state;
    assert_true(codec_put_array(&b, 20));
    for (unsigned i = 0; i < 20; i++) {
        assert_true(codec_put_text(&b, "some text that is thirty-odd bytes"));
    }
    for (size_t len = 0; len < b.len; len++) {
        uint8_t *copy = malloc(len + 1); /* so that a sanitizer sees */
        struct codec_reader r;

        assert_non_null(copy);
        memcpy(copy, b.data, len);
        r = codec_reader_of(bytes_of(copy, len));
        assert_false(codec_skip(&r));
        free(copy);
    }
    buf_fini(&b);
}

static void counts_beyond_the_bytes_are_not_believed(void **state)
{
    static const char *const heads[] = { "\xdd\xff\xff\xff\xff",
                                         "\xdf\x80\x00\x00\x00",
                                         "\xdc\x00\x02\x01", "\x81\x01" };
    static const size_t lengths[] = { 5, 5, 4, 2 };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct codec_reader r =
            codec_reader_of(bytes_of(heads[i], lengths[i]));

        assert_false(codec_skip(&r));
    }
}

static void deep_nesting_is_passed_over(void **state)
{
    enum { DEPTH = 100000 };
    uint8_t *deep = malloc(DEPTH);
    struct codec_reader r = codec_reader_of(bytes_of(deep, DEPTH));

    (void)state;
    assert_non_null(deep);
    memset(deep, 0x91, DEPTH - 1);
    deep[DEPTH - 1] = 0;
    assert_true(codec_skip(&r) && codec_reader_finished(&r));
    free(deep);
}

/* Asks random questions of bytes until the reader fails or is through. */
static void interrogate(struct bytes in)
{
    struct codec_reader r = codec_reader_of(in);

    while (!r.failed && r.at < in.len) {
        size_t before = r.at;
        struct bytes bytes;
        uint32_t count;
        uint64_t u;
        int64_t i;
        bool truth;

        switch (next_random() % 7) {
        case 0:
            (void)codec_get_array(&r, &count);
            break;
        case 1:
            (void)codec_get_map(&r, &count);
            break;
        case 2:
            (void)codec_get_uint(&r, &u);
            break;
        case 3:
            (void)codec_get_int(&r, &i);
            break;
        case 4:
            (void)codec_get_bool(&r, &truth);
            break;
        case 5:
            (void)codec_skip(&r);
            break;
        default:
            if (codec_get_bytes(&r, &bytes) && bytes.len > 0) {
                assert_true(bytes.data >= in.data &&
                            bytes.data + bytes.len <= in.data + in.len);
            }
        }
        assert_true(r.failed || (r.at > before && r.at <= in.len));
    }
}

static void unknown_kinds_are_passed_over(void **state)
{
    /* nil, float, double, fixext 1, ext 8 of three bytes */
    static const char bytes[] = "\xc0\xca\0\0\0\0\xcb\0\0\0\0\0\0\0\0"
                                "\xd4\x05x\xc7\x03\x05xyz";
    struct codec_reader r = codec_reader_of(bytes_of(bytes, 24));

    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_true(codec_skip(&r));
    }
    assert_true(codec_reader_finished(&r));
}

static void random_bytes_do_no_harm(void **state)
{
    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 100000; round++) {
        size_t len = next_random() % 40;
        uint8_t *bytes = malloc(len + 1);

        assert_non_null(bytes);
        for (size_t i = 0; i < len; i++) {
            bytes[i] = (uint8_t)next_random();
            if (next_random() % 2 == 0) { /* heads rather than fixints */
                bytes[i] |= 0x80;
            }
        }
        interrogate(bytes_of(bytes, len));
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_those_of_messagepack),
        cmocka_unit_test(hashes_have_their_length),
        cmocka_unit_test(numbers_at_every_edge_come_back),
        cmocka_unit_test(a_number_too_large_or_negative_is_refused),
        cmocka_unit_test(strings_of_every_length_class_come_back),
        cmocka_unit_test(a_failed_reader_stays_failed),
        cmocka_unit_test(what_is_nested_is_passed_over),
        cmocka_unit_test(every_truncation_fails),
        cmocka_unit_test(counts_beyond_the_bytes_are_not_believed),
        cmocka_unit_test(deep_nesting_is_passed_over),
        cmocka_unit_test(unknown_kinds_are_passed_over),
        cmocka_unit_test(random_bytes_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
