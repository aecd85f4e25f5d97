/* Row keys, heads and tails, values: state/row.h. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "state/row.h"

static const struct row_shape plain = { .has_element = false,
                                        .components = 1 };
static const struct row_shape paired = { .has_element = true,
                                         .components = 1 };

static struct bytes text(const char *s)
{
    return bytes_of_string(s);
}

#define BYTES(literal) bytes_of(literal, sizeof(literal) - 1)

static void check_bytes(struct bytes got, struct bytes want)
{
    assert_int_equal(got.len, want.len);
    assert_true(bytes_equal(got, want));
}

static void check_key(struct row_shape shape, struct bytes key,
                      struct bytes element, struct bytes want)
{
    struct buf out = { 0 };
    struct buf room = { 0 };
    struct bytes key_back;
    struct bytes element_back;

    assert_true(row_key_append(&out, shape, key, element));
    check_bytes(buf_bytes(&out), want);
    assert_true(
        row_decode(shape, buf_bytes(&out), &room, &key_back, &element_back));
    check_bytes(key_back, key);
    check_bytes(element_back, shape.has_element ? element : text(""));
    buf_fini(&room);
    buf_fini(&out);
}

static void test_key_table(void **state)
{
    (void)state;
    check_key(plain, text("tree"), text(""), text("tree"));
    check_key(plain, text("tree"), text("ignored"), text("tree"));
    check_key(plain, text(""), text(""), BYTES("\0"));
    check_key(plain, BYTES("\0"), text(""), BYTES("\0\0"));
    check_key(plain, BYTES("\0a\0"), text(""), BYTES("\0\0a\0"));
    check_key(plain, BYTES("a\0"), text(""), BYTES("a\0"));
    check_key(paired, text(""), text(""), BYTES("\0\1"));
    check_key(paired, text("a"), text("b"), BYTES("a\0\1b"));
    check_key(paired, BYTES("a\0"), BYTES("\0\1"), BYTES("a\0\xff\0\1\0\1"));
    check_key(paired, BYTES("\0\0"), text(""), BYTES("\0\xff\0\xff\0\1"));
}

static void test_malformed_keys_are_refused(void **state)
{
    static const struct bytes in_plain[] = { { (const uint8_t *)"", 0 },
                                             { (const uint8_t *)"\0a", 2 } };
    static const struct bytes in_paired[] = {
        { (const uint8_t *)"", 0 },        { (const uint8_t *)"a", 1 },
        { (const uint8_t *)"a\0", 2 },     { (const uint8_t *)"a\0\2b", 4 },
        { (const uint8_t *)"a\0\xff", 3 }, { (const uint8_t *)"\0\0\1", 3 }
    };
    struct buf room = { 0 };
    struct bytes key;
    struct bytes element;

    (void)state;
    for (size_t i = 0; i < sizeof in_plain / sizeof *in_plain; i++) {
        assert_false(row_decode(plain, in_plain[i], &room, &key, &element));
    }
    for (size_t i = 0; i < sizeof in_paired / sizeof *in_paired; i++) {
        assert_false(row_decode(paired, in_paired[i], &room, &key, &element));
    }
    buf_fini(&room);
}

static void check_prefix(struct row_shape shape, struct bytes prefix,
                         struct bytes want)
{
    struct buf out = { 0 };

    assert_true(row_key_prefix_of_keys(&out, shape, prefix));
    check_bytes(buf_bytes(&out), want);
    buf_fini(&out);
}

static void test_prefixes(void **state)
{
    struct buf out = { 0 };

    (void)state;
    check_prefix(plain, text(""), text(""));
    check_prefix(plain, text("tr"), text("tr"));
    check_prefix(plain, BYTES("\0"), BYTES("\0\0"));
    check_prefix(paired, text(""), text(""));
    check_prefix(paired, BYTES("a\0"), BYTES("a\0\xff"));
    assert_true(row_key_prefix(&out, paired, text("a")));
    check_bytes(buf_bytes(&out), BYTES("a\0\1"));
    buf_reset(&out);
    assert_true(row_key_prefix(&out, plain, text("")));
    check_bytes(buf_bytes(&out), BYTES("\0"));
    buf_fini(&out);
}

/* A short random string of few different bytes, so that prefixes and zeros
 * abound. */
static struct bytes random_bytes(unsigned *seed, uint8_t room[8])
{
    static const uint8_t letters[] = { 0x00, 0x01, 0xfe, 0xff, 'a' };
    size_t len = (size_t)rand_r(seed) % 6;

    for (size_t i = 0; i < len; i++) {
        room[i] = letters[(size_t)rand_r(seed) % sizeof letters];
    }
    return bytes_of(room, len);
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

/* memcmp over row keys is the order of (key, element). */
static void test_order_random(void **state)
{
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    print_message("seed %u\n", seed);
    for (int i = 0; i < 100000; i++) {
        uint8_t room[4][8];
        struct row_shape shape = i % 2 ? paired : plain;
        struct bytes k1 = random_bytes(&seed, room[0]);
        struct bytes k2 = random_bytes(&seed, room[1]);
        struct bytes e1 = random_bytes(&seed, room[2]);
        struct bytes e2 = random_bytes(&seed, room[3]);
        int order = sign(bytes_compare(k1, k2));
        struct buf a = { 0 };
        struct buf b = { 0 };

        if (order == 0 && shape.has_element) {
            order = sign(bytes_compare(e1, e2));
        }
        assert_true(row_key_append(&a, shape, k1, e1));
        assert_true(row_key_append(&b, shape, k2, e2));
        assert_int_equal(sign(bytes_compare(buf_bytes(&a), buf_bytes(&b))),
                         order);
        check_key(shape, k1, e1, buf_bytes(&a));
        buf_fini(&a);
        buf_fini(&b);
    }
}

static void check_split(size_t len)
{
    uint8_t *key = malloc(len);
    uint8_t room[ROW_HEAD_MAX];
    struct bytes head;
    struct bytes tail;
    struct buf joined = { 0 };

    assert_non_null(key);
    for (size_t i = 0; i < len; i++) {
        key[i] = (uint8_t)(i * 7 + 1);
    }
    row_split(bytes_of(key, len), room, &head, &tail);
    if (len <= ROW_HEAD_EXACT) {
        check_bytes(head, bytes_of(key, len));
        assert_int_equal(tail.len, 0);
    } else {
        uint8_t hash[HASH128_SIZE];

        hash128_store(hash, hash128(bytes_of(key, len), 0));
        assert_int_equal(head.len, ROW_HEAD_MAX);
        assert_memory_equal(head.data, key, ROW_HEAD_EXACT);
        assert_memory_equal(head.data + ROW_HEAD_EXACT, hash, sizeof hash);
        assert_int_equal(tail.len, len - ROW_HEAD_EXACT);
    }
    assert_true(row_join(&joined, head, tail));
    check_bytes(buf_bytes(&joined), bytes_of(key, len));
    buf_fini(&joined);
    free(key);
}

static void test_split_and_join(void **state)
{
    (void)state;
    for (size_t len = 1; len < 530; len++) {
        check_split(len);
    }
    check_split(DF_KEY_MAX);
    check_split(ROW_KEY_MAX);
}

static void check_value(int64_t v, struct bytes want)
{
    uint8_t out[ROW_VALUES_MAX];
    int64_t back = ~v;
    size_t n = row_values_encode(out, 1, &v);

    check_bytes(bytes_of(out, n), want);
    assert_int_equal(row_values_decode(bytes_of(out, n), 1, &back), n);
    assert_true(back == v);
    for (size_t cut = 0; cut < n; cut++) {
        assert_int_equal(row_values_decode(bytes_of(out, cut), 1, &back), 0);
    }
}

static void test_value_table(void **state)
{
    (void)state;
    check_value(0, BYTES("\0"));
    check_value(127, BYTES("\x7f"));
    check_value(128, BYTES("\xcc\x80"));
    check_value(255, BYTES("\xcc\xff"));
    check_value(256, BYTES("\xcd\x01\x00"));
    check_value(65535, BYTES("\xcd\xff\xff"));
    check_value(65536, BYTES("\xce\x00\x01\x00\x00"));
    check_value(UINT32_MAX, BYTES("\xce\xff\xff\xff\xff"));
    check_value((int64_t)UINT32_MAX + 1,
                BYTES("\xcf\x00\x00\x00\x01\x00\x00\x00\x00"));
    check_value(INT64_MAX, BYTES("\xcf\x7f\xff\xff\xff\xff\xff\xff\xff"));
    check_value(-1, BYTES("\xff"));
    check_value(-32, BYTES("\xe0"));
    check_value(-33, BYTES("\xd0\xdf"));
    check_value(-128, BYTES("\xd0\x80"));
    check_value(-129, BYTES("\xd1\xff\x7f"));
    check_value(-32768, BYTES("\xd1\x80\x00"));
    check_value(-32769, BYTES("\xd2\xff\xff\x7f\xff"));
    check_value(INT32_MIN, BYTES("\xd2\x80\x00\x00\x00"));
    check_value((int64_t)INT32_MIN - 1,
                BYTES("\xd3\xff\xff\xff\xff\x7f\xff\xff\xff"));
    check_value(INT64_MIN, BYTES("\xd3\x80\x00\x00\x00\x00\x00\x00\x00"));
}

static void test_malformed_values_are_refused(void **state)
{
    static const struct bytes in[] = {
        { (const uint8_t *)"\x80", 1 },                 /* a map */
        { (const uint8_t *)"\xc0", 1 },                 /* nil */
        { (const uint8_t *)"\xcb\0\0\0\0\0\0\0\0", 9 }, /* a double */
        { (const uint8_t *)"\xcc\x7f", 2 },             /* not the shortest */
        { (const uint8_t *)"\xcd\x00\xff", 3 },
        { (const uint8_t *)"\xd0\xe0", 2 },
        { (const uint8_t *)"\xd0\x01", 2 },
        { (const uint8_t *)"\xd1\x01\x00", 3 }, /* signed, but positive */
        { (const uint8_t *)"\xcf\x80\0\0\0\0\0\0\0", 9 } /* beyond int64 */
    };
    int64_t v;

    (void)state;
    for (size_t i = 0; i < sizeof in / sizeof *in; i++) {
        assert_int_equal(row_values_decode(in[i], 1, &v), 0);
    }
}

static void test_values_random(void **state)
{
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    print_message("seed %u\n", seed);
    for (int i = 0; i < 100000; i++) {
        int64_t values[DF_COMPONENTS_MAX];
        int64_t back[DF_COMPONENTS_MAX];
        uint8_t out[ROW_VALUES_MAX];
        size_t n;

        for (int c = 0; c < DF_COMPONENTS_MAX; c++) {
            uint64_t v = (uint64_t)rand_r(&seed) << 33 ^
                         (uint64_t)rand_r(&seed) << 15 ^
                         (uint64_t)rand_r(&seed);

            values[c] = (int64_t)v >> rand_r(&seed) % 64;
        }
        n = row_values_encode(out, DF_COMPONENTS_MAX, values);
        assert_int_equal(
            row_values_decode(bytes_of(out, n), DF_COMPONENTS_MAX, back), n);
        assert_memory_equal(back, values, sizeof values);
    }
}

static void test_digest_is_linear(void **state)
{
    const struct row_shape shape = { .has_element = false, .components = 2 };
    const int64_t a[] = { 5, -7 };
    const int64_t b[] = { -2, 7 };
    const int64_t sum[] = { 3, 0 };
    const int64_t swapped[] = { 0, 3 };
    struct hash128 both = digest_add(row_digest(shape, text("k"), a),
                                     row_digest(shape, text("k"), b));
    struct hash128 once = row_digest(shape, text("k"), sum);

    (void)state;
    assert_true(hash128_equal(both, once));
    assert_false(hash128_equal(once, row_digest(shape, text("l"), sum)));
    assert_false(hash128_equal(once, row_digest(shape, text("k"), swapped)));
}

static void test_parts_cover_and_keep_order(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 16; n++) {
        assert_int_equal(row_part(0, n), 0);
        assert_int_equal(row_part(UINT64_MAX, n), n - 1);
        for (unsigned i = 1; i < n; i++) {
            uint64_t edge = (UINT64_MAX / n + 1) * i;

            assert_int_equal(row_part(edge + (1ull << 40), n), i);
        }
    }
}

static void test_messages(void **state)
{
    struct df_error err;
    uint8_t room[ROW_HEAD_MAX];
    char key[700];
    struct bytes head;
    struct bytes tail;

    (void)state;
    assert_int_equal(row_overflow(&err, plain, text("tree"), text("")),
                     DF_INPUT);
    assert_string_equal(err.text, "key 'tree': count beyond 64 bits");
    assert_int_equal(row_overflow(&err, paired, BYTES("a\0\1b"), text("")),
                     DF_INPUT);
    assert_string_equal(err.text,
                        "key 'a', element 'b': count beyond 64 bits");
    memset(key, 'x', sizeof key);
    row_split(bytes_of(key, sizeof key), room, &head, &tail);
    assert_int_equal(row_collision(&err, plain, head, tail), DF_INPUT);
    assert_non_null(strstr(err.text, "key 'xxxx"));
    assert_non_null(strstr(err.text, "128-bit hash"));
}

/* The words that merges compare, and copies of short bytes, by the plain
 * way. */
static void test_short_bytes(void **state)
{
    uint8_t from[40];
    uint8_t to[sizeof from];

    (void)state;
    for (size_t i = 0; i < sizeof from; i++) {
        from[i] = (uint8_t)(0xf0 + i);
    }
    for (size_t n = 0; n < sizeof from; n++) {
        uint8_t word[8] = { 0 };

        memset(to, 0, sizeof to);
        bytes_copy(to, from, n);
        assert_memory_equal(to, from, n);
        assert_int_equal(to[n], 0);
        memcpy(word, from, n < 8 ? n : 8);
        assert_int_equal(bytes_word(bytes_of(from, n), 0), load_be64(word));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_key_table),
        cmocka_unit_test(test_malformed_keys_are_refused),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_order_random),
        cmocka_unit_test(test_split_and_join),
        cmocka_unit_test(test_value_table),
        cmocka_unit_test(test_malformed_values_are_refused),
        cmocka_unit_test(test_values_random),
        cmocka_unit_test(test_digest_is_linear),
        cmocka_unit_test(test_parts_cover_and_keep_order),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_short_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
