/*
 * Numbers of 128 bits in two components: state/row.h, runtime/combine.h and
 * merge.h. What they come to is worked out in limbs of 32 bits, by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/reduce.h"
#include "tests/give.h"
#include "tests/job_conformance.h"

enum { MIB = 1 << 20, LIMBS = 6, WORKERS_MAX = 8 };

/* count, a sum in 1 and 2, another count, a sum in 4 and 5 */
static const struct row_shape shape = { .components = 6,
                                        .wide = 1u << 1 | 1u << 4 };

static char directory[64];

static int make_directory(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    (void)snprintf(directory, sizeof directory, "%s/test_wide.XXXXXX",
                   base != NULL && strlen(base) < 40 ? base : "/tmp");
    return mkdtemp(directory) == NULL;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

/* ---- the slow way ---- */

/* Two's complement, lowest limb first. */
struct slow {
    uint32_t limb[LIMBS];
};

static void slow_add(struct slow *into, int64_t low, int64_t high)
{
    const uint32_t sign = high < 0 ? UINT32_MAX : 0;
    const uint32_t addend[LIMBS] = {
        (uint32_t)low,  (uint32_t)((uint64_t)low >> 32),
        (uint32_t)high, (uint32_t)((uint64_t)high >> 32),
        sign,           sign
    };
    uint64_t carry = 0;

    for (unsigned i = 0; i < LIMBS; i++) {
        carry += (uint64_t)into->limb[i] + addend[i];
        into->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static int64_t slow_word(const struct slow *s, unsigned i)
{
    return (int64_t)((uint64_t)s->limb[2 * (size_t)i + 1] << 32 |
                     s->limb[2 * (size_t)i]);
}

/* Bits from 128 on repeat bit 127. */
static bool slow_fits(const struct slow *s)
{
    return slow_word(s, 2) == (slow_word(s, 1) < 0 ? -1 : 0);
}

/* ---- numbers about the borders ---- */

/* Near 0, 2^63, 2^64 or 2^127, of either sign. */
static void random_wide(uint64_t *random, int64_t *values)
{
    static const int64_t borders[][2] = {
        { 0, 0 },          { INT64_MIN, 0 }, /* 2^63 */
        { 0, 1 },                            /* 2^64 */
        { INT64_MIN, -1 }, { 0, -1 },
        { 0, INT64_MIN }, /* -2^127, and with one taken off 2^127 - 1 */
    };
    size_t n = sizeof borders / sizeof *borders;
    const int64_t *border = borders[random_below(random, n)];
    struct slow s = { { 0 } };
    int64_t near = (int64_t)random_below(random, 5) - 2;

    slow_add(&s, border[0], border[1]);
    slow_add(&s, near, near < 0 ? -1 : 0);
    values[0] = slow_word(&s, 0);
    values[1] = slow_word(&s, 1);
}

static void test_additions_at_the_borders(void **state)
{
    uint64_t random = (uint64_t)time(NULL);

    (void)state;
    print_message("seed %llu\n", (unsigned long long)random);
    for (unsigned i = 0; i < 20000; i++) {
        int64_t a[6] = { 0 };
        int64_t b[6] = { 0 };
        int64_t carry[6] = { 0 };
        struct slow sum = { { 0 } };
        int64_t checked[6];
        int64_t back[6];

        random_wide(&random, a + 4);
        random_wide(&random, b + 4);
        slow_add(&sum, a[4], a[5]);
        slow_add(&sum, b[4], b[5]);
        memcpy(checked, a, sizeof a);
        memcpy(back, a, sizeof a);
        assert_int_equal(row_values_add(shape, checked, b), slow_fits(&sum));
        assert_int_equal(row_values_carry(shape, a, carry, b),
                         slow_fits(&sum));
        assert_int_equal(a[4], slow_word(&sum, 0));
        assert_int_equal(a[5], slow_word(&sum, 1));
        assert_int_equal(carry[4], (slow_word(&sum, 2) - (a[5] < 0 ? -1 : 0)));
        assert_int_equal(carry[5], 0);
        row_number_subtract(true, a + 4, b + 4);
        assert_memory_equal(a, back, sizeof a);
    }
}

static void test_negatives(void **state)
{
    int64_t least[6] = { 1, 0, INT64_MIN, 0, 0, 0 };
    int64_t one[6] = { 1, 1, 0, -4, 0, 1 };
    static const int64_t negated[6] = { -1, -1, -1, 4, 0, -1 };
    int64_t out[6];

    (void)state;
    assert_false(row_values_negate(shape, out, least)); /* -2^127 */
    assert_true(row_values_negate(shape, out, one));
    assert_memory_equal(out, negated, sizeof out);
    assert_true(row_values_add(shape, out, one));
    assert_true(row_values_zero(shape.components, out));
}

static void test_shapes(void **state)
{
    static const struct {
        unsigned components;
        uint32_t wide;
        bool is_sound;
    } table[] = {
        { 1, 0, true },         { 3, 2, true },          { 2, 2, false },
        { 4, 1, false },        { 4, 6, false },         { 5, 10, true },
        { 32, 1u << 30, true }, { 32, 1u << 31, false }, { 0, 0, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct row_shape s = { .components = table[i].components,
                                     .wide = table[i].wide };

        assert_int_equal(row_shape_is_sound(s), table[i].is_sound);
    }
}

static void test_digest_is_linear(void **state)
{
    uint64_t random = (uint64_t)time(NULL);
    struct bytes key = bytes_of_string("k");

    (void)state;
    print_message("seed %llu\n", (unsigned long long)random);
    for (unsigned i = 0; i < 2000; i++) {
        int64_t a[6] = { 1 };
        int64_t b[6] = { 2 };
        int64_t carry[6] = { 0 };
        struct hash128 both;

        random_wide(&random, a + 1);
        random_wide(&random, b + 1);
        both =
            digest_add(row_digest(shape, key, a), row_digest(shape, key, b));
        if (row_values_carry(shape, a, carry, b)) {
            assert_true(hash128_equal(both, row_digest(shape, key, a)));
        }
    }
}

/* 2^64 has another digest than 1 in the next component. */
static void test_digest_takes_both_halves(void **state)
{
    static const int64_t high[6] = { 0, 0, 1 };
    static const int64_t low[6] = { 0, 1, 0 };
    const struct row_shape narrow = { .components = 6 };
    struct bytes key = bytes_of_string("k");
    struct hash128 h = row_digest(shape, key, low);
    struct hash128 shifted = { .high = h.low, .low = 0 };

    (void)state;
    assert_true(hash128_equal(row_digest(shape, key, high), shifted));
    assert_false(hash128_equal(row_digest(narrow, key, high), shifted));
    assert_true(hash128_equal(row_digest(narrow, key, low), h));
}

/* ---- through combine and reduce ---- */

static struct combine *open_combine(size_t memory)
{
    const struct combine_plan plan = { .shape = shape,
                                       .parts = 1,
                                       .memory = memory,
                                       .spill_directory = directory,
                                       .sample = 1 };
    struct combine *c;
    struct df_error err;

    assert_int_equal(combine_open(&c, &plan, &err), DF_OK);
    return c;
}

/* Keys k0, k1 ... with numbers about the borders, and their sums. */
struct summed {
    struct slow first[8];
    struct slow second[8];
    int64_t count[8];
    bool is_there[8];
};

/* One list of pairs, by one worker, sometimes as deletions. */
static void emit_some(struct combine *c, struct summed *sums, uint64_t *random)
{
    static const char names[8][2 + DF_SLACK] = { "k0", "k1", "k2", "k3",
                                                 "k4", "k5", "k6", "\0k" };
    int sign = random_below(random, 2) == 0 ? 1 : -1;
    size_t n = random_below(random, 40);
    int64_t values[40][6] = { { 0 } };
    struct df_pair pairs[40];

    for (size_t i = 0; i < n; i++) {
        size_t k = random_below(random, 8);
        int64_t counted[6];

        do { /* the least number has no negative */
            random_wide(random, values[i] + 1);
            random_wide(random, values[i] + 4);
            values[i][0] = (int64_t)random_below(random, 3);
        } while (!row_values_negate(shape, counted, values[i]));
        memcpy(counted, sign > 0 ? values[i] : counted, sizeof counted);
        slow_add(&sums->first[k], counted[1], counted[2]);
        slow_add(&sums->second[k], counted[4], counted[5]);
        sums->count[k] += counted[0];
        pairs[i] = (struct df_pair){ .key = (const uint8_t *)names[k],
                                     .key_len = 2,
                                     .values = values[i] };
    }
    combine_sign(c, sign);
    if (random_below(random, 2) == 0) {
        df_emit_pairs(combine_emitter(c), pairs, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        df_emit(combine_emitter(c), pairs[i].key, 2, NULL, 0, pairs[i].values);
    }
}

static bool all_fit(const struct summed *sums)
{
    for (unsigned k = 0; k < 8; k++) {
        if (!slow_fits(&sums->first[k]) || !slow_fits(&sums->second[k])) {
            return false;
        }
    }
    return true;
}

static void check_row(const struct summed *sums, unsigned k,
                      const int64_t *values)
{
    assert_int_equal(values[0], sums->count[k]);
    assert_int_equal(values[1], slow_word(&sums->first[k], 0));
    assert_int_equal(values[2], slow_word(&sums->first[k], 1));
    assert_int_equal(values[3], 0);
    assert_int_equal(values[4], slow_word(&sums->second[k], 0));
    assert_int_equal(values[5], slow_word(&sums->second[k], 1));
}

static bool is_empty(const struct summed *sums, unsigned k)
{
    static const struct slow zero;

    return sums->count[k] == 0 &&
           memcmp(&sums->first[k], &zero, sizeof zero) == 0 &&
           memcmp(&sums->second[k], &zero, sizeof zero) == 0;
}

/* All rows, or the refusal that is due whatever the order was. */
static void check_reduced(struct combine **workers, unsigned n,
                          struct summed *sums)
{
    struct df_error err = { { 0 } };
    enum df_status status = DF_OK;
    const struct row *row = NULL;
    struct reduce *r;

    assert_int_equal(reduce_open(&r, workers, n, 0, MIB, &err), DF_OK);
    while ((status = reduce_run(r)->next(reduce_run(r), &row, &err)) ==
               DF_OK &&
           row != NULL) {
        /* The guarded key "\0k" is the one that does not begin with k. */
        unsigned k = row->head.data[0] == 'k' ? row->head.data[1] - 48u : 7;

        check_row(sums, k, row->values);
        sums->is_there[k] = true;
    }
    assert_int_equal(status, all_fit(sums) ? DF_OK : DF_INPUT);
    for (unsigned k = 0; status == DF_OK && k < 8; k++) {
        assert_int_equal(sums->is_there[k], !is_empty(sums, k));
    }
    if (status == DF_INPUT) {
        assert_non_null(strstr(err.text, "sum beyond 128 bits"));
    }
    reduce_close(r);
}

static void test_refusal_is_for_the_sum_alone(void **state)
{
    uint64_t random = (uint64_t)time(NULL);
    unsigned fitted = 0;

    (void)state;
    print_message("seed %llu\n", (unsigned long long)random);
    for (unsigned i = 0; i < 300; i++) {
        struct combine *workers[WORKERS_MAX];
        unsigned n = 1 + (unsigned)random_below(&random, WORKERS_MAX);
        size_t lists = random_below(&random, 3 * (uint64_t)n);
        struct summed sums = { 0 };

        for (unsigned w = 0; w < n; w++) {
            workers[w] = open_combine(MIB);
        }
        for (size_t k = 0; k < lists; k++) {
            emit_some(workers[random_below(&random, n)], &sums, &random);
        }
        if (i % 2 == 0) {
            give_between(workers, n);
        }
        for (unsigned w = 0; w < n; w++) {
            struct df_error err;

            assert_int_equal(combine_status(workers[w], &err), DF_OK);
            assert_int_equal(combine_finish(workers[w], &err), DF_OK);
        }
        fitted += all_fit(&sums);
        check_reduced(workers, n, &sums);
        for (unsigned w = 0; w < n; w++) {
            combine_close(workers[w]);
        }
    }
    assert_in_range(fitted, 1, 299); /* both were seen */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_additions_at_the_borders),
        cmocka_unit_test(test_negatives),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_digest_is_linear),
        cmocka_unit_test(test_digest_takes_both_halves),
        cmocka_unit_test(test_refusal_is_for_the_sum_alone),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
