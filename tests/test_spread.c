/* runtime/spread: quartiles, which of two is less, where lines cross. */
#include "runtime/spread.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof(a)[0])

static void near(double found, double wanted)
{
    if (fabs(found - wanted) > 1e-12 * fabs(wanted)) {
        fail_msg("%.12g instead of %.12g", found, wanted);
    }
}

static void quartiles(void **state)
{
    static const struct {
        double times[6];
        size_t n;
        double low;
        double median;
        double high;
    } cases[] = {
        { { 7 }, 1, 7, 7, 7 },
        { { 9, 3 }, 2, 4.5, 6, 7.5 },
        { { 3, 1, 2 }, 3, 1.5, 2, 2.5 },
        { { 40, 10, 30, 20 }, 4, 17.5, 25, 32.5 },
        { { 5, 4, 3, 2, 1 }, 5, 2, 3, 4 },
        { { 1, 1, 1, 1, 1, 900 }, 6, 1, 1, 1 },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        double times[6];
        struct spread s;

        for (size_t k = 0; k < cases[i].n; k++) {
            times[k] = cases[i].times[k];
        }
        s = spread_of(times, cases[i].n);
        near(s.low, cases[i].low);
        near(s.median, cases[i].median);
        near(s.high, cases[i].high);
        assert_int_equal(s.count, cases[i].n);
    }
    assert_int_equal(spread_of(NULL, 0).count, 0);
}

/* Quartiles a tenth around the median. */
static struct spread around(double median)
{
    return (struct spread){ median * 0.9, median, median * 1.1,
                            SPREAD_REPEATS_MIN };
}

static void order(void **state)
{
    struct spread few = around(1);
    struct spread touching = { 1.1, 1.2, 1.3, SPREAD_REPEATS_MIN };

    (void)state;
    few.count = SPREAD_REPEATS_MIN - 1;
    assert_int_equal(spread_compare(&(struct spread){ 0 }, &few), 0);
    assert_int_equal(spread_compare(&few, &(struct spread){ 9, 9, 9, 9 }), 0);
    assert_int_equal(spread_compare(&(struct spread){ 9, 9, 9, 9 }, &few), 0);
    few = around(1);
    assert_int_equal(spread_compare(&few, &touching), 0);
    touching.low = 1.11;
    assert_int_equal(spread_compare(&few, &touching), -1);
    assert_int_equal(spread_compare(&touching, &few), 1);
}

/* Two lines over x; every crossing as at, time, from, to, before. */
struct crossing_case {
    const char *name;
    size_t n;
    double x[5];
    double a[5];
    double b[5];
    size_t count;
    struct spread_crossing wanted[4];
};

static const struct crossing_case crossing_cases[] = {
    { "always below",
      3,
      { 1, 2, 3 },
      { 1, 1, 1 },
      { 2, 2, 2 },
      0,
      { { 0, 0, 0, 0, 0 } } },
    { "never clear",
      3,
      { 1, 2, 3 },
      { 1, 1, 1 },
      { 1.1, 1, 0.9 },
      0,
      { { 0, 0, 0, 0, 0 } } },
    { "ahead and then unclear",
      3,
      { 1, 10, 100 },
      { 1, 5, 10 },
      { 9, 9, 9.9 },
      0,
      { { 0, 0, 0, 0, 0 } } },
    /* log a goes from 0 to 2, log b stays 1: half way, at the root of x. */
    { "half way",
      2,
      { 1, 100 },
      { 1, 100 },
      { 10, 10 },
      1,
      { { 10, 10, 0, 1, -1 } } },
    { "the other way",
      2,
      { 1, 100 },
      { 10, 10 },
      { 1, 100 },
      1,
      { { 10, 10, 0, 1, 1 } } },
    { "through an unclear size that is met",
      3,
      { 1, 10, 100 },
      { 1, 10, 100 },
      { 10, 10, 10 },
      1,
      { { 10, 10, 0, 2, -1 } } },
    { "behind an unclear size",
      3,
      { 1, 10, 1000 },
      { 1, 9, 900 },
      { 10, 10, 10 },
      1,
      { { 100.0 / 9, 10, 0, 2, -1 } } },
    { "twice",
      3,
      { 1, 100, 10000 },
      { 1, 100, 1 },
      { 10, 10, 10 },
      2,
      { { 10, 10, 0, 1, -1 }, { 1000, 10, 1, 2, 1 } } },
};

static void check_crossing(const struct crossing_case *c)
{
    struct spread a[5];
    struct spread b[5];
    struct spread_crossing found[4];

    for (size_t i = 0; i < c->n; i++) {
        a[i] = around(c->a[i]);
        b[i] = around(c->b[i]);
    }
    if (spread_cross(c->x, a, b, c->n, found) != c->count) {
        fail_msg("%s: another number of crossings", c->name);
    }
    for (size_t i = 0; i < c->count; i++) {
        near(found[i].at, c->wanted[i].at);
        near(found[i].time, c->wanted[i].time);
        assert_int_equal(found[i].from, c->wanted[i].from);
        assert_int_equal(found[i].to, c->wanted[i].to);
        assert_int_equal(found[i].before, c->wanted[i].before);
    }
}

static void crossings(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(crossing_cases); i++) {
        check_crossing(&crossing_cases[i]);
    }
}

/* Where the medians cross but the spreads are wide, nothing is claimed. */
static void wide_spreads(void **state)
{
    const double x[] = { 1, 100 };
    struct spread a[] = { around(1), around(100) };
    struct spread b[] = { around(10), around(10) };
    struct spread_crossing found[1];

    (void)state;
    assert_int_equal(spread_cross(x, a, b, 2, found), 1);
    b[1].high = 90;
    assert_int_equal(spread_cross(x, a, b, 2, found), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quartiles),
        cmocka_unit_test(order),
        cmocka_unit_test(crossings),
        cmocka_unit_test(wide_spreads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
