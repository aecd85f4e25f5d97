/* runtime/comparison: rows that are missing, too many, or other ones; how many
 * are kept; samples; and that it stops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "rows_source.h"
#include "runtime/comparison.h"

static struct df_error err;

struct sides {
    struct rows_source expected;
    struct rows_source found;
    struct comparison_rules rules;
    struct comparison c;
};

static void sides_open(struct sides *s)
{
    const struct row_shape shape = { .components = 1 };

    *s = (struct sides){ .expected = { .shape = shape },
                         .found = { .shape = shape },
                         .rules = { .shape = shape, .sample = 1 } };
}

static void sides_close(struct sides *s)
{
    comparison_fini(&s->c);
    rows_source_fini(&s->expected);
    rows_source_fini(&s->found);
}

static enum df_status compare(struct sides *s)
{
    rows_source_order(&s->expected, ROWS_BY_HEAD);
    rows_source_order(&s->found, ROWS_BY_HEAD);
    comparison_fini(&s->c);
    s->c = (struct comparison){ .rules = &s->rules };
    return comparison_run(&s->c, &s->expected.source, &s->found.source, &err);
}

static void check(const struct comparison *c, unsigned i, const char *key,
                  int64_t expected, int64_t found)
{
    const struct row_shape shape = { .components = 1 };
    struct buf row_key = { 0 };

    assert_true(row_key_append(&row_key, shape, bytes_of_string(key),
                               bytes_of(NULL, 0)));
    assert_true(
        bytes_equal(buf_bytes(&row_key), buf_bytes(&c->first[i].row_key)));
    assert_int_equal(c->first[i].expected[0], expected);
    assert_int_equal(c->first[i].found[0], found);
    buf_fini(&row_key);
}

static void differences_are_told_by_kind(void **state)
{
    struct sides s;

    (void)state;
    sides_open(&s);
    assert_int_equal(compare(&s), DF_OK);
    assert_int_equal(s.c.differences, 0);
    rows_source_add_text(&s.expected, "missing", 1);
    rows_source_add_text(&s.expected, "other", 2);
    rows_source_add_text(&s.found, "other", 3);
    rows_source_add_text(&s.expected, "same", 4);
    rows_source_add_text(&s.found, "same", 4);
    rows_source_add_text(&s.found, "surplus", 5);
    assert_int_equal(compare(&s), DF_OK);
    assert_int_equal(s.c.differences, 3);
    assert_int_equal(s.c.rows, 3);
    check(&s.c, 0, "missing", 1, 0);
    check(&s.c, 1, "other", 2, 3);
    check(&s.c, 2, "surplus", 0, 5);
    assert_true(
        hash128_equal(s.c.recomputed, rows_source_digest(&s.expected)));
    assert_true(hash128_equal(s.c.view, rows_source_digest(&s.found)));
    sides_close(&s);
}

static void all_are_counted_and_the_first_kept(void **state)
{
    struct sides s;

    (void)state;
    sides_open(&s);
    for (unsigned i = 0; i < COMPARISON_SHOWN + 5; i++) {
        char key[20];

        (void)snprintf(key, sizeof key, "%03u", i);
        rows_source_add_text(&s.found, key, 1);
    }
    assert_int_equal(compare(&s), DF_OK);
    assert_int_equal(s.c.differences, COMPARISON_SHOWN + 5);
    check(&s.c, COMPARISON_SHOWN - 1, "019", 0, 1);
    sides_close(&s);
}

/* Found rows outside the sample are neither differences nor counted. */
static void a_sample_leaves_rows_out(void **state)
{
    struct sides s;
    uint64_t in = 0;

    (void)state;
    sides_open(&s);
    s.rules.sample = 3;
    for (unsigned i = 0; i < 100; i++) {
        char key[20];

        (void)snprintf(key, sizeof key, "%u", i);
        rows_source_add_text(&s.found, key, 1);
        if (row_key_hash(bytes_of_string(key)) % 3 == 0) {
            rows_source_add_text(&s.expected, key, 1);
            in++;
        }
    }
    assert_true(in > 0 && in < 100);
    assert_int_equal(compare(&s), DF_OK);
    assert_int_equal(s.c.differences, 0);
    assert_int_equal(s.c.rows, in);
    sides_close(&s);
}

static void it_stops(void **state)
{
    static volatile sig_atomic_t stop = 1;
    struct sides s;

    (void)state;
    sides_open(&s);
    s.rules.stop = &stop;
    rows_source_add_text(&s.found, "a", 1);
    assert_int_equal(compare(&s), DF_INTERRUPTED);
    sides_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_are_told_by_kind),
        cmocka_unit_test(all_are_counted_and_the_first_kept),
        cmocka_unit_test(a_sample_leaves_rows_out),
        cmocka_unit_test(it_stops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
