/* Sorting references by partition and head: runtime/sort.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "runtime/sort.h"

enum { HEAD_MAX = 64 };

struct heads {
    size_t n;
    struct bytes *heads;
    struct sort_entry *entries;
    struct sort_entry *room; /* for as many */
};

static struct bytes head_of(const void *ctx, uint32_t ref)
{
    return ((const struct heads *)ctx)->heads[ref];
}

static int by_bytes(const void *a, const void *b)
{
    return bytes_compare(*(const struct bytes *)a, *(const struct bytes *)b);
}

/* Distinct heads out of `letters` different bytes, the first 00; all begin
 * with the same `common` bytes. */
static void heads_make(struct heads *h, size_t n, size_t common,
                       unsigned letters, unsigned *seed)
{
    size_t kept = 0;

    h->heads = calloc(n, sizeof *h->heads);
    h->entries = calloc(n, sizeof *h->entries);
    h->room = calloc(n, sizeof *h->room);
    assert_non_null(h->heads);
    assert_non_null(h->entries);
    assert_non_null(h->room);
    for (size_t i = 0; i < n; i++) {
        size_t len = common + 1 + (size_t)rand_r(seed) % (HEAD_MAX - common);
        uint8_t *data = calloc(1, len);

        assert_non_null(data);
        for (size_t j = common; j < len; j++) {
            data[j] =
                (uint8_t)((unsigned)rand_r(seed) % letters * 251 / letters);
        }
        h->heads[i] = bytes_of(data, len);
    }
    qsort(h->heads, n, sizeof *h->heads, by_bytes);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && bytes_equal(h->heads[kept - 1], h->heads[i])) {
            free((void *)(uintptr_t)h->heads[i].data);
        } else {
            h->heads[kept++] = h->heads[i];
        }
    }
    h->n = kept;
}

static void heads_free(struct heads *h)
{
    for (size_t i = 0; i < h->n; i++) {
        free((void *)(uintptr_t)h->heads[i].data);
    }
    free(h->heads);
    free(h->entries);
    free(h->room);
}

/* References are ranks: sorted, they count up. */
static void shuffle(struct heads *h, unsigned parts, unsigned *seed)
{
    for (size_t i = 0; i < h->n; i++) {
        size_t other = (size_t)rand_r(seed) % (i + 1);

        h->entries[i] = h->entries[other];
        h->entries[other] =
            (struct sort_entry){ .word = sort_word(h->heads[i], 0),
                                 .ref = (uint32_t)i,
                                 .part = (uint32_t)(i * 7 % parts) };
    }
}

static void check_sorts(struct heads *h, unsigned parts, unsigned *seed,
                        struct sort_room room)
{
    const struct sort_rows rows = { h, head_of };
    size_t begin[SORT_PARTS_MAX + 1];

    shuffle(h, parts, seed);
    sort_by_part(h->entries, h->n, parts, begin, room);
    assert_int_equal(begin[0], 0);
    assert_int_equal(begin[parts], h->n);
    for (unsigned p = 0; p < parts; p++) {
        struct sort_entry *e = h->entries + begin[p];
        size_t n = begin[p + 1] - begin[p];
        size_t want = 0;

        sort_by_head(e, n, 0, &rows, room);
        for (size_t i = 0; i < h->n; i++) {
            if (i * 7 % parts == p) {
                assert_true(want < n);
                assert_int_equal(e[want].ref, i);
                assert_int_equal(e[want].part, p);
                want++;
            }
        }
        assert_int_equal(want, n);
    }
}

/* In place, with room for some parts, and for all. */
static void check_all(struct heads *h, unsigned *seed)
{
    const size_t rooms[] = { 0, h->n / 5, h->n };

    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        struct sort_room room = { i == 0 ? NULL : h->room, rooms[i] };

        check_sorts(h, 1, seed, room);
        check_sorts(h, 5, seed, room);
    }
}

static void test_random_heads(void **state)
{
    static const size_t sizes[] = { 0,   1,   2,   24,   25,   127, 128,
                                    300, 512, 513, 1023, 1024, 5000 };
    static const size_t commons[] = { 0, 1, 7, 8, 9, 33 };
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    print_message("seed %u\n", seed);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t j = 0; j < sizeof commons / sizeof *commons; j++) {
            for (unsigned letters = 1; letters < 300; letters *= 6) {
                struct heads h;

                heads_make(&h, sizes[i], commons[j], letters, &seed);
                check_all(&h, &seed);
                heads_free(&h);
            }
        }
    }
}

static void test_words(void **state)
{
    struct bytes head = bytes_of_string("abcdefghij");

    (void)state;
    assert_true(sort_word(head, 0) == 0x6162636465666768u);
    assert_true(sort_word(head, 2) == 0x636465666768696au);
    assert_true(sort_word(head, 8) == 0x696a000000000000u);
    assert_true(sort_word(head, 10) == 0);
    assert_true(sort_word(head, 16) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_heads),
        cmocka_unit_test(test_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
