/* runtime/deltas: shares, determinism, and that no document comes twice. */
#include "runtime/deltas.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t seed = 20261130;

static uint64_t next_random(void)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return seed * 0x2545F4914F6CDD1Du;
}

/* Documents of lengths that differ by a factor of thousands, as files do. */
static struct batch documents_new(size_t n)
{
    static char path[] = "documents";
    struct batch b = { .path = path, .file_count = n };

    b.files = calloc(n + 1, sizeof *b.files);
    assert_non_null(b.files);
    for (size_t i = 0; i < n; i++) {
        b.files[i].section = BATCH_INSERTED;
        b.files[i].length =
            next_random() % ((uint64_t)16 << (next_random() % 13));
    }
    return b;
}

static void check_rising(const struct delta_share *s, const struct batch *b)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < s->count; i++) {
        assert_true(s->files[i] < b->file_count);
        assert_true(i == 0 || s->files[i - 1] < s->files[i]);
        bytes += b->files[s->files[i]].length;
    }
    assert_int_equal(bytes, s->bytes);
}

/* All documents of a share are documents of another. */
static void check_out_of(const struct delta_share *s,
                         const struct delta_share *from, size_t n)
{
    bool *is_there = calloc(n + 1, sizeof *is_there);

    assert_non_null(is_there);
    for (size_t i = 0; i < from->count; i++) {
        is_there[from->files[i]] = true;
    }
    for (size_t i = 0; i < s->count; i++) {
        assert_true(is_there[s->files[i]]);
    }
    free(is_there);
}

/* Base and reserve are all documents, each once. */
static void check_division(const struct deltas *d, const struct batch *b)
{
    int *times = calloc(b->file_count + 1, sizeof *times);

    assert_non_null(times);
    check_rising(&d->base, b);
    check_rising(&d->reserve, b);
    for (size_t i = 0; i < d->base.count; i++) {
        times[d->base.files[i]]++;
    }
    for (size_t i = 0; i < d->reserve.count; i++) {
        times[d->reserve.files[i]]++;
    }
    for (size_t i = 0; i < b->file_count; i++) {
        assert_int_equal(times[i], 1);
    }
    free(times);
}

static void check_deltas(const struct deltas *d, const struct batch *b)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct delta *delta = &d->list[i];
        double half = (double)d->base.bytes * delta->asked / 200;

        check_rising(&delta->deleted, b);
        check_rising(&delta->inserted, b);
        check_out_of(&delta->deleted, &d->base, b->file_count);
        check_out_of(&delta->inserted, &d->reserve, b->file_count);
        if (delta->kind == DELTA_MADE) {
            assert_true(delta->deleted.count > 0);
            assert_true(delta->inserted.count > 0);
            assert_true((double)delta->deleted.bytes >= half / 2);
            assert_true((double)delta->deleted.bytes <= half * 1.021);
            assert_true((double)delta->inserted.bytes <= half * 1.021);
        }
    }
}

static const double sizes[] = { 0.01, 0.1, 1, 5, 10, 20, 50 };
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void choose(struct deltas *d, const struct batch *b, uint64_t with)
{
    struct df_error err = { 0 };

    if (deltas_choose(d, b, sizes, SIZES, with, &err) != DF_OK) {
        fail_msg("%s", err.text);
    }
}

static void shares(void **state)
{
    (void)state;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 20; round++) {
        struct batch b = documents_new(3000 + next_random() % 3000);
        struct deltas d;

        choose(&d, &b, next_random());
        assert_int_equal(d.count, SIZES);
        check_division(&d, &b);
        check_deltas(&d, &b);
        for (size_t i = 0; i < d.count; i++) {
            /* with thousands of documents all sizes can be had */
            assert_int_equal(d.list[i].kind, DELTA_MADE);
            assert_true(fabs(d.list[i].percent / sizes[i] - 1) < 0.05);
        }
        deltas_fini(&d);
        free(b.files);
    }
}

static bool equal(const struct delta_share *a, const struct delta_share *b)
{
    return a->count == b->count &&
           memcmp(a->files, b->files, a->count * sizeof a->files[0]) == 0;
}

static void same_seed(void **state)
{
    struct batch b = documents_new(2000);
    struct deltas first;
    struct deltas again;
    struct deltas other;

    (void)state;
    choose(&first, &b, 7);
    choose(&again, &b, 7);
    choose(&other, &b, 8);
    assert_true(equal(&first.base, &again.base));
    assert_false(equal(&first.base, &other.base));
    for (size_t i = 0; i < SIZES; i++) {
        assert_true(equal(&first.list[i].deleted, &again.list[i].deleted));
        assert_true(equal(&first.list[i].inserted, &again.list[i].inserted));
    }
    assert_false(equal(&first.list[4].deleted, &other.list[4].deleted));
    deltas_fini(&first);
    deltas_fini(&again);
    deltas_fini(&other);
    free(b.files);
}

static struct batch equal_documents(size_t n, uint64_t length)
{
    struct batch b = documents_new(n);

    for (size_t i = 0; i < n; i++) {
        b.files[i].length = length;
    }
    return b;
}

/* 0.01 % of 100 documents is less than one; 2.5 and 2.55 % are the same one.
 */
static void too_small_and_same(void **state)
{
    const double wanted[] = { 0.01, 2.5, 2.55, 20 };
    struct batch b = equal_documents(100, 1000);
    struct df_error err = { 0 };
    struct deltas d;

    (void)state;
    assert_int_equal(deltas_choose(&d, &b, wanted, 4, 1, &err), DF_OK);
    assert_int_equal(d.list[0].kind, DELTA_TOO_SMALL);
    assert_int_equal(d.list[1].kind, DELTA_MADE);
    assert_int_equal(d.list[1].deleted.count, 1);
    assert_int_equal(d.list[1].inserted.count, 1);
    assert_int_equal(d.list[2].kind, DELTA_SAME);
    assert_int_equal(d.list[3].kind, DELTA_MADE);
    check_division(&d, &b);
    check_deltas(&d, &b);
    deltas_fini(&d);
    free(b.files);
}

/* One giant among many: it is in no delta that is smaller than itself. */
static void giant(void **state)
{
    const double wanted[] = { 1, 10 };
    struct batch b = equal_documents(1000, 100);
    struct df_error err = { 0 };
    struct deltas d;

    (void)state;
    b.files[17].length = 1000000;
    for (uint64_t with = 1; with <= 20; with++) {
        assert_int_equal(deltas_choose(&d, &b, wanted, 2, with, &err), DF_OK);
        assert_int_equal(d.list[0].kind, DELTA_MADE);
        for (size_t i = 0; i < d.list[1].deleted.count; i++) {
            assert_true(d.list[1].deleted.files[i] != 17);
        }
        deltas_fini(&d);
    }
    free(b.files);
}

static void refused(void **state)
{
    const size_t counts[] = { 0, 1, 5 };
    const double wanted[] = { 0.01, 1 };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct batch b = equal_documents(counts[i], i == 0 ? 0 : 1000);
        struct df_error err = { 0 };
        struct deltas d;

        assert_int_equal(deltas_choose(&d, &b, wanted, 2, 1, &err), DF_INPUT);
        assert_non_null(strstr(err.text, "whole files"));
        free(b.files);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares),
        cmocka_unit_test(same_seed),
        cmocka_unit_test(too_small_and_same),
        cmocka_unit_test(giant),
        cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
