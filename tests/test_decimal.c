/* Decimal numbers of aggregate: jobs/aggregate/decimal.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "deltafold/job.h"
#include "jobs/aggregate/decimal.h"
#include "tests/job_conformance.h"

enum { ROOM = 4096 };

/* ---- integers at a scale ---- */

static const char *text_of(decimal_wide v, unsigned scale)
{
    static char room[DECIMAL_TEXT_MAX + 1];

    room[decimal_text((uint8_t *)room, v, scale)] = '\0';
    return room;
}

static const char *parsed(const char *text, unsigned scale)
{
    decimal_wide v;

    switch (decimal_parse(bytes_of_string(text), scale, &v)) {
    case DECIMAL_OK:
        return text_of(v, scale);
    case DECIMAL_NO_NUMBER:
        return "none";
    case DECIMAL_TOO_FINE:
        return "fine";
    case DECIMAL_TOO_LARGE:
        break;
    }
    return "large";
}

static void texts_are_parsed(void **state)
{
    static const struct {
        const char *text;
        unsigned scale;
        const char *result;
    } table[] = {
        { "0", 6, "0" },
        { "-0", 6, "0" },
        { "-0.000", 0, "0" },
        { "7", 0, "7" },
        { "+7", 0, "7" },
        { "007", 0, "7" },
        { "-7.50", 2, "-7.5" },
        { "1.50", 1, "1.5" },
        { "1.500000000000000000000000", 1, "1.5" },
        { "1.05", 1, "fine" },
        { "0.0000001", 6, "fine" },
        { "1e-7", 6, "fine" },
        { "10e-7", 6, "0.000001" },
        { ".5", 1, "0.5" },
        { "5.", 1, "5" },
        { "1e3", 0, "1000" },
        { "1E+3", 0, "1000" },
        { "2.5e-1", 2, "0.25" },
        { "0e999999999999999999999", 0, "0" },
        { "1e38", 0, "100000000000000000000000000000000000000" },
        { "1e39", 0, "large" },
        { "1e999999999999", 0, "large" },
        { "1e-999999999999", 0, "large" },
        { "999999999999999999", 0, "999999999999999999" },
        { "1000000000000000000", 0, "1000000000000000000" },
        { "999999999999999999", 18, "999999999999999999" },
        { "9223372036854775808", 0, "9223372036854775808" },
        { "18446744073709551616", 0, "18446744073709551616" },
        { "170141183460469231731687303715884105727", 0,
          "170141183460469231731687303715884105727" },
        { "-170141183460469231731687303715884105727", 0,
          "-170141183460469231731687303715884105727" },
        { "170141183460469231731687303715884105728", 0, "large" },
        { "-170141183460469231731687303715884105728", 0, "large" },
        { "170141183460469231731687303715884.105727", 6,
          "170141183460469231731687303715884.105727" },
        { "", 6, "none" },
        { "-", 6, "none" },
        { ".", 6, "none" },
        { "1.2.3", 6, "none" },
        { "1,5", 6, "none" },
        { " 1", 6, "none" },
        { "1 ", 6, "none" },
        { "1e", 6, "none" },
        { "1e+", 6, "none" },
        { "1e5.0", 6, "none" },
        { "e5", 6, "none" },
        { "--1", 6, "none" },
        { "0x10", 6, "none" },
        { "NaN", 6, "none" },
        { "inf", 6, "none" },
        { "1234567890123456789012x", 6, "none" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(parsed(table[i].text, table[i].scale), table[i].result) !=
            0) {
            fail_msg("'%s' at scale %u: %s", table[i].text, table[i].scale,
                     parsed(table[i].text, table[i].scale));
        }
    }
}

static void borders_are_written(void **state)
{
    const decimal_wide most = (decimal_wide)(~(decimal_wide_bits)0 >> 1);

    (void)state;
    assert_string_equal(text_of(-most - 1, 0),
                        "-170141183460469231731687303715884105728");
    assert_string_equal(text_of(most, 18),
                        "170141183460469231731.687303715884105727");
    assert_string_equal(text_of(-1, 18), "-0.000000000000000001");
    assert_string_equal(text_of(1000000, 6), "1");
    assert_string_equal(text_of(100, 0), "100");
}

static const char *quotient(decimal_wide v, unsigned scale, int64_t count)
{
    static char room[DECIMAL_TEXT_MAX + 1];

    room[decimal_quotient((uint8_t *)room, v, scale, count)] = '\0';
    return room;
}

static void quotients_are_rounded_half_away(void **state)
{
    const decimal_wide most = (decimal_wide)(~(decimal_wide_bits)0 >> 1);

    (void)state;
    assert_string_equal(quotient(10, 0, 4), "2.5");
    assert_string_equal(quotient(1, 0, 3), "0.333333");
    assert_string_equal(quotient(2, 0, 3), "0.666667");
    assert_string_equal(quotient(-2, 0, 3), "-0.666667");
    assert_string_equal(quotient(1, 0, 2000000), "0.000001"); /* 0.0000005 */
    assert_string_equal(quotient(-1, 0, 2000000), "-0.000001");
    assert_string_equal(quotient(1, 0, 2000001), "0");
    assert_string_equal(quotient(-1, 0, 2000001), "0");
    assert_string_equal(quotient(1999999999, 0, 2000000000), "1");
    assert_string_equal(quotient(-1999999999, 2, 2000000000), "-0.01");
    assert_string_equal(quotient(0, 6, 5), "0");
    assert_string_equal(quotient(most, 0, 1),
                        "170141183460469231731687303715884105727");
    assert_string_equal(quotient(-most - 1, 18, INT64_MAX),
                        "-18.446744073709551618");
}

/* Sums of texts are sums of what they were parsed to; rounding is that of
 * long division by hand. */
static void quotients_are_those_of_long_division(void **state)
{
    uint64_t random = (uint64_t)time(NULL);

    (void)state;
    print_message("seed %llu\n", (unsigned long long)random);
    for (unsigned i = 0; i < 20000; i++) {
        int64_t v = (int64_t)random_below(&random, 2000001) - 1000000;
        int64_t count = 1 + (int64_t)random_below(&random, 3000);
        unsigned scale = (unsigned)random_below(&random, 4);
        /* v / 10^scale / count in units of 10^-(scale + 6), rounded */
        int64_t units = (2 * llabs(v) * 1000000 + count) / (2 * count);

        assert_string_equal(quotient(v, scale, count),
                            text_of(v < 0 ? -(decimal_wide)units : units,
                                    scale + DECIMAL_AVERAGE_DIGITS));
    }
}

/* ---- order ---- */

/* A number in two forms: as it is written, and as a sign and digits with
 * the point in the middle, PLACES on each side. */
enum { PLACES = 40, DIGITS = 2 * PLACES };

struct written {
    char text[DIGITS + 40];
    bool is_negative;
    char digits[DIGITS + 1];
};

/* Few digits of few kinds, so that equal ones and prefixes occur. */
static struct written random_number(uint64_t *random)
{
    struct written w = { .is_negative = random_below(random, 2) == 0 };
    size_t before = random_below(random, 6);
    size_t behind = random_below(random, 6) + (before == 0 ? 1 : 0);
    int shift = (int)random_below(random, 21) - 10;
    char number[32] = { 0 };
    bool is_zero = true;

    memset(w.digits, '0', DIGITS);
    for (size_t i = 0; i < before + behind; i++) {
        char digit = "0019"[random_below(random, 4)];

        number[i] = digit;
        w.digits[(size_t)(PLACES + shift) - before + i] = digit;
        is_zero = is_zero && digit == '0';
    }
    (void)snprintf(w.text, sizeof w.text, "%s%.*s%s%se%d",
                   w.is_negative ? "-" : "", (int)before, number,
                   behind > 0 ? "." : "", number + before, -shift);
    w.is_negative = w.is_negative && !is_zero;
    return w;
}

static int slow_order(const struct written *a, const struct written *b)
{
    int order = strcmp(a->digits, b->digits);

    if (a->is_negative != b->is_negative) {
        return a->is_negative ? -1 : 1;
    }
    order = (order > 0) - (order < 0);
    return a->is_negative ? -order : order;
}

static struct bytes code_of(const char *text, uint8_t room[ROOM])
{
    struct decimal d;

    assert_int_equal(decimal_split(bytes_of_string(text), &d), DECIMAL_OK);
    assert_true(decimal_code_room(d.digits) <= ROOM);
    return bytes_of(room, decimal_encode(&d, room));
}

static void codes_are_in_the_order_of_numbers(void **state)
{
    uint64_t random = (uint64_t)time(NULL);
    unsigned equal = 0;

    (void)state;
    print_message("seed %llu\n", (unsigned long long)random);
    for (unsigned i = 0; i < 100000; i++) {
        struct written a = random_number(&random);
        struct written b = random_number(&random);
        uint8_t room[2][ROOM];
        int order =
            bytes_compare(code_of(a.text, room[0]), code_of(b.text, room[1]));

        order = (order > 0) - (order < 0);
        equal += order == 0;
        if (order != slow_order(&a, &b)) {
            fail_msg("%s and %s: %d", a.text, b.text, order);
        }
    }
    assert_true(equal > 0);
}

static void codes_come_back(void **state)
{
    uint64_t random = (uint64_t)time(NULL);

    (void)state;
    print_message("seed %llu\n", (unsigned long long)random);
    for (unsigned i = 0; i < 20000; i++) {
        struct written a = random_number(&random);
        uint8_t room[ROOM];
        uint8_t again[ROOM];
        char text[2 * ROOM];
        struct bytes code = code_of(a.text, room);
        size_t len = decimal_decode(code, (uint8_t *)text);

        assert_true(len > 0 && len <= decimal_decode_room(code.len));
        text[len] = '\0';
        assert_true(bytes_equal(code, code_of(text, again)));
    }
}

static void canonical_texts_come_back(void **state)
{
    static const char *const texts[][2] = {
        { "0", "0" },        { "-0.0", "0" },
        { "007.50", "7.5" }, { "-1.25", "-1.25" },
        { "100", "100" },    { "1e20", "100000000000000000000" },
        { "1e40", "1e+40" }, { "-3e-9", "-3e-9" },
        { "12", "12" },      { "123e999999990", "1.23e+999999992" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint8_t room[ROOM];
        char text[2 * ROOM];
        struct bytes code = code_of(texts[i][0], room);

        text[decimal_decode(code, (uint8_t *)text)] = '\0';
        assert_string_equal(text, texts[i][1]);
    }
}

static void malformed_codes_are_refused(void **state)
{
    static const struct {
        const char *code;
        size_t len;
    } table[] = {
        { "", 0 },
        { "\x20\x01", 2 },
        { "\x30", 1 },
        { "\x30\x80\0\0\1", 5 },          /* no digits */
        { "\x30\x80\0\0\1\0", 6 },        /* no pair */
        { "\x30\x80\0\0\1\x66", 6 },      /* 101 */
        { "\x30\x80\0\0\1\x02", 6 },      /* begins with 0 */
        { "\x10\x7f\xff\xff\xfe\xf2", 6 } /* no end */
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        uint8_t out[256];

        assert_int_equal(
            decimal_decode(bytes_of(table[i].code, table[i].len), out), 0);
    }
}

/* DECIMAL_DIGITS_MAX and DECIMAL_EXPONENT_MAX are the last that fit. */
static void limits_are_what_they_say(void **state)
{
    char *text = malloc(DECIMAL_DIGITS_MAX + 4);
    struct decimal d;

    (void)state;
    assert_non_null(text);
    memset(text, '7', DECIMAL_DIGITS_MAX + 1);
    assert_int_equal(decimal_split(bytes_of(text, DECIMAL_DIGITS_MAX), &d),
                     DECIMAL_OK);
    assert_int_equal(d.digits, DECIMAL_DIGITS_MAX);
    assert_int_equal(decimal_split(bytes_of(text, DECIMAL_DIGITS_MAX + 1), &d),
                     DECIMAL_TOO_LARGE);
    free(text);
    assert_int_equal(decimal_split(bytes_of_string("0.1e999999999"), &d),
                     DECIMAL_OK);
    assert_int_equal(decimal_split(bytes_of_string("1e999999999"), &d),
                     DECIMAL_TOO_LARGE);
    assert_int_equal(decimal_split(bytes_of_string("0.1e-999999999"), &d),
                     DECIMAL_OK);
    assert_int_equal(decimal_split(bytes_of_string("0.01e-999999999"), &d),
                     DECIMAL_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_parsed),
        cmocka_unit_test(borders_are_written),
        cmocka_unit_test(quotients_are_rounded_half_away),
        cmocka_unit_test(quotients_are_those_of_long_division),
        cmocka_unit_test(codes_are_in_the_order_of_numbers),
        cmocka_unit_test(codes_come_back),
        cmocka_unit_test(canonical_texts_come_back),
        cmocka_unit_test(malformed_codes_are_refused),
        cmocka_unit_test(limits_are_what_they_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
