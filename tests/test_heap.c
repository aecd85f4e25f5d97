/*
 * The best n of many, against sorting all of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/heap.h"
#include "job_conformance.h"

/* Longer than what is swapped at once. */
struct item {
    uint64_t rank;
    uint64_t order; /* the earlier of two that are equal is the better */
    uint8_t rest[100];
};

static bool is_worse(const void *one, const void *other)
{
    const struct item *a = one;
    const struct item *b = other;

    return a->rank != b->rank ? a->rank < b->rank : a->order > b->order;
}

static int best_first(const void *a, const void *b)
{
    return is_worse(a, b) ? 1 : -1;
}

static void offer(struct heap *h, const struct item *item)
{
    struct item *slot;

    if (heap_takes(h, item)) {
        slot = heap_slot(h);
        assert_non_null(slot);
        *slot = *item;
        heap_settle(h);
    }
}

static void check(struct heap *h, uint64_t *random)
{
    struct item all[200];
    size_t n = random_below(random, 200);

    heap_reset(h);
    for (size_t i = 0; i < n; i++) {
        all[i] = (struct item){ .rank = random_below(random, 20), .order = i };
        memset(all[i].rest, (int)i, sizeof all[i].rest);
        offer(h, &all[i]);
    }
    qsort(all, n, sizeof all[0], best_first);
    heap_sort(h);
    assert_int_equal(h->count, n < h->limit ? n : h->limit);
    for (size_t i = 0; i < h->count; i++) {
        assert_memory_equal(heap_at(h, i), &all[i], sizeof all[i]);
    }
}

static void the_best_are_kept(void **state)
{
    uint64_t random = 5;

    (void)state;
    for (size_t limit = 1; limit < 150; limit += 1 + limit / 4) {
        struct heap h = { .size = sizeof(struct item),
                          .limit = limit,
                          .is_worse = is_worse };

        for (int i = 0; i < 20; i++) {
            check(&h, &random);
        }
        heap_fini(&h);
    }
}

/* What items own can be freed, or used again. */
static void slots_hold_zeros_or_what_was_there(void **state)
{
    struct heap h = { .size = sizeof(struct item),
                      .limit = 2,
                      .is_worse = is_worse };
    const struct item items[] = { { .rank = 1 },
                                  { .rank = 2 },
                                  { .rank = 3 } };
    struct item *slot;

    (void)state;
    slot = heap_slot(&h);
    assert_non_null(slot);
    assert_int_equal(slot->rank, 0);
    offer(&h, &items[0]);
    offer(&h, &items[1]);
    assert_true(heap_takes(&h, &items[2]));
    assert_false(heap_takes(&h, &items[0]));
    slot = heap_slot(&h);
    assert_int_equal(slot->rank, 1);
    heap_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_are_kept),
        cmocka_unit_test(slots_hold_zeros_or_what_was_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
