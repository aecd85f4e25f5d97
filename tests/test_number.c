/*
 * Canonical forms of JSON numbers: tables, and random spellings of one value.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "deltafold/job.h"

static const char *canonical(const char *literal)
{
    static uint8_t out[4096];
    size_t len = strlen(literal);
    size_t n = df_number_canonical((const uint8_t *)literal, len, out);

    assert_true(n < DF_NUMBER_ROOM(len));
    out[n] = '\0';
    return (const char *)out;
}

static void one_value_one_form(void **state)
{
    static const char *const cases[][2] = {
        { "1", "1" },
        { "1.0", "1" },
        { "1e0", "1" },
        { "10e-1", "1" },
        { "0.1e1", "1" },
        { "0.001E+3", "1" },
        { "0", "0" },
        { "-0", "0" },
        { "0.000", "0" },
        { "-0e999999999999999999", "0" },
        { "-1.50", "-1.5" },
        { "100", "100" },
        { "1e2", "100" },
        { "1.25e1", "12.5" },
        { "0.05", "0.05" },
        { "120.0340", "120.034" },
        { "9007199254740992", "9007199254740992" },
        { "9007199254740993", "9007199254740993" },
        { "9007199254740993.0", "9007199254740993" },
        { "1e20", "100000000000000000000" },
        { "123456789012345678901", "123456789012345678901" },
        { "1e21", "1e+21" },
        { "1000000000000000000000", "1e+21" },
        { "12345e30", "1.2345e+34" },
        { "0.000001", "0.000001" },
        { "0.0000001", "1e-7" },
        { "1.5e-7", "1.5e-7" },
        { "1e400", "1e+400" },
        { "-1e-400", "-1e-400" },
        { "1e000000000000000000000000001", "10" },
        { "1e999999999999999999", "1e+999999999999999999" },
        { "12e999999999999999998", "1.2e+999999999999999999" },
        { "12e999999999999999999", "" },
        { "0.01e-999999999999999997", "1e-999999999999999999" },
        { "0.01e-999999999999999998", "" },
        /* no numbers */
        { "", "" },
        { "-", "" },
        { "+1", "" },
        { "01", "" },
        { "-01", "" },
        { "1.", "" },
        { ".5", "" },
        { "1e", "" },
        { "1e+", "" },
        { "1 ", "" },
        { " 1", "" },
        { "1.2.3", "" },
        { "0x1", "" },
        { "NaN", "" },
        { "Infinity", "" },
        { "1e1000000000000000000", "" }, /* 19 digits */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(canonical(cases[i][0]), cases[i][1]);
    }
}

/* ---- one value, spelled at random ---- */

/* digits times ten to the power `exponent`, with the point somewhere. */
static void spell(char *out, size_t size, const char *digits, int exponent)
{
    char text[300];
    size_t zeros = (size_t)(random() % 5);
    size_t n;
    size_t point;

    (void)snprintf(text, sizeof text, "%s%.*s", digits, (int)zeros, "0000");
    exponent -= (int)(zeros < 4 ? zeros : 4);
    n = strlen(text);
    point = (size_t)random() % (n + 4);
    if (point >= n) {
        /* In front: 0.000digits */
        size_t before = point - n;

        (void)snprintf(out, size, "-0.%.*s%se%d", (int)before, "0000", text,
                       exponent + (int)n + (int)before);
    } else if (point == 0) {
        (void)snprintf(out, size, "-%sE%d", text, exponent);
    } else {
        (void)snprintf(out, size, "-%.*s.%se+%d", (int)point, text,
                       text + point, exponent + (int)(n - point));
        if (exponent + (int)(n - point) < 0) {
            (void)snprintf(out, size, "-%.*s.%se%d", (int)point, text,
                           text + point, exponent + (int)(n - point));
        }
    }
}

static void spellings_agree(void **state)
{
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    print_message("seed %u\n", seed);
    srandom(seed);
    for (unsigned round = 0; round < 20000; round++) {
        char digits[40];
        char plain[80];
        char first[4096];
        char other[400];
        size_t n = 1 + (size_t)(random() % 30);
        int exponent = (int)(random() % 80) - 40;

        for (size_t i = 0; i < n; i++) {
            digits[i] = (char)('0' + random() % 10);
        }
        digits[0] = (char)('1' + random() % 9);
        digits[n] = '\0';
        (void)snprintf(plain, sizeof plain, "-%se%d", digits, exponent);
        (void)snprintf(first, sizeof first, "%s", canonical(plain));
        spell(other, sizeof other, digits, exponent);
        if (strcmp(canonical(other), first) != 0) {
            fail_msg("%s is %s, %s is %s", plain, first, other,
                     canonical(other));
        }
        /* Of itself the form is itself, and another value has another. */
        assert_string_equal(canonical(first), first);
        digits[n - 1] = digits[n - 1] == '9' ? '8' : '9';
        (void)snprintf(plain, sizeof plain, "-%se%d", digits, exponent);
        assert_string_not_equal(canonical(plain), first);
        /* What a double holds exactly enough is read back the same. */
        assert_true(strtod(first, NULL) == strtod(other, NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_value_one_form),
        cmocka_unit_test(spellings_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
