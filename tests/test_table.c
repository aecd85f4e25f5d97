/* The hash table under combine: runtime/table.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "runtime/pages.h"
#include "runtime/table.h"

enum { KEYS = 20000, ROOM = 64 };

/* Key i: lengths 1 to 40, many alike but for one byte anywhere. */
static size_t make_key(uint8_t room[ROOM], uint32_t i)
{
    size_t len = 1 + i % 40;

    memset(room, 'a', ROOM);
    room[i / 40 % len] = (uint8_t)('b' + i / 40 / len % 200);
    return len;
}

/* Counts key i, growing as needed. A tag of its own where `tag` is 0. */
static void count(struct table *t, uint32_t i, uint32_t tag)
{
    uint8_t room[ROOM];
    struct table_key k;
    struct table_slot *slot;

    table_key(&k, room, make_key(room, i));
    k.tag = tag != 0 ? tag : k.tag;
    if (table_is_crowded(t)) {
        assert_true(table_grow_slots(t));
    }
    if (!table_has_record_room(t, table_record_size(t, k.len))) {
        assert_true(table_grow_records(t, PAGES_UNIT));
    }
    slot = table_find(t, &k);
    if (table_is_free(slot)) {
        table_insert(t, slot, &k, i);
    }
    slot->value++;
}

/* Whether the slot of key i has this count. */
static bool has_count(const struct table *t, uint32_t i, uint32_t tag,
                      int64_t want)
{
    uint8_t room[ROOM];
    struct table_key k;
    const struct table_slot *slot;

    table_key(&k, room, make_key(room, i));
    k.tag = tag != 0 ? tag : k.tag;
    slot = table_find(t, &k);
    return !table_is_free(slot) && slot->value == want &&
           bytes_equal(table_stored_key(t, slot->ref), bytes_of(room, k.len));
}

static void test_counts_survive_growing(void **state)
{
    struct table t;

    (void)state;
    for (unsigned components = 1; components < 4; components++) {
        assert_true(table_init(&t, components));
        for (uint32_t i = 0; i < KEYS; i++) {
            count(&t, i % (KEYS / 2), 0);
        }
        assert_true(t.slots > TABLE_SLOTS_MIN);
        assert_in_range(t.used, KEYS / 4, KEYS / 2);
        for (uint32_t i = 0; i < KEYS; i += 40) { /* one byte: they repeat */
            count(&t, i + 39, 0);
        }
        table_clear(&t);
        assert_int_equal(t.used, 0);
        count(&t, 5, 0);
        assert_true(has_count(&t, 5, 0, 1));
        assert_true(table_shrink(&t));
        assert_int_equal(t.slots, TABLE_SLOTS_MIN);
        assert_int_equal(t.components, components);
        table_fini(&t);
    }
}

/* With one tag for all, only the keys themselves tell them apart; the chain
 * runs over the end of the table. */
static void test_equal_tags_are_told_apart(void **state)
{
    enum { FEW = 1500 };
    const uint32_t tag = UINT32_MAX - 3;
    struct table t;

    (void)state;
    assert_true(table_init(&t, 1));
    for (uint32_t i = 40; i < FEW; i++) {
        count(&t, i, tag);
    }
    assert_int_equal(t.slots, TABLE_SLOTS_MIN);
    for (uint32_t i = 40; i < FEW; i++) {
        if (i % 40 >= FEW / 40) { /* long enough that none is met twice */
            assert_true(has_count(&t, i, tag, 1));
        }
    }
    table_fini(&t);
}

/* Bytes behind a key are no part of it. */
static void test_slack_is_not_hashed(void **state)
{
    (void)state;
    for (size_t len = 1; len < 40; len++) {
        uint8_t a[ROOM];
        uint8_t b[ROOM];
        struct table_key x;
        struct table_key y;

        memset(a, 'a', sizeof a);
        memset(b, 'z', sizeof b);
        memcpy(b, a, len);
        table_key(&x, a, len);
        table_key(&y, b, len);
        assert_int_equal(x.tag, y.tag);
        assert_true(x.low == y.low && x.high == y.high);
        b[len - 1] = 'b';
        table_key(&y, b, len);
        assert_int_not_equal(x.tag, y.tag);
    }
}

static void test_entries(void **state)
{
    struct table t;
    struct table_entries taken;
    uint64_t bytes[3];
    uint8_t room[ROOM];
    struct table_key k;

    (void)state;
    assert_true(table_init(&t, 2));
    for (uint32_t i = 39; i < KEYS; i += 40) {
        count(&t, i, 0); /* keys of 40 bytes, all different */
    }
    table_key(&k, room, make_key(room, 39));
    table_find(&t, &k)->value = 0; /* a row that is zero */
    table_key(&k, room, make_key(room, 79));
    table_find(&t, &k)->value = 0; /* and one that is not */
    table_values(&t, table_find(&t, &k)->ref)[1] = 5;
    taken = table_take_entries(&t, 3, bytes);
    assert_int_equal(taken.n, KEYS / 40 - 1);
    assert_int_equal(taken.n + taken.room.n, t.slots);
    /* Two values of up to three bytes beside each key; one part. */
    assert_int_equal(bytes[0], taken.n * (40 + 2 * 3));
    assert_int_equal(bytes[1] + bytes[2], 0);
    table_trim(&t, taken.n);
    for (size_t i = 0; i < taken.n; i++) {
        struct row row = table_row(&t, t.cells[i].entry.ref);

        assert_true(t.cells[i].entry.word == sort_word(row.head, 0));
        assert_int_equal(row.values[0] + row.values[1],
                         row.values[1] == 5 ? 5 : 1);
        assert_int_equal(t.cells[i].entry.part, 0); /* hashes are small */
    }
    table_fini(&t);
}

enum { SIZES = 7 };

/* Sizes on both sides of where huge pages begin. */
static void test_pages_keep_their_bytes(void **state)
{
    static const size_t units[SIZES] = { 1, 20, 31, 32, 33, 150, 40 };
    size_t bytes = PAGES_UNIT;
    uint8_t *pages = pages_map(bytes);

    (void)state;
    assert_non_null(pages);
    pages[0] = 1;
    for (size_t i = 0; i < SIZES; i++) {
        size_t now = units[i] * PAGES_UNIT;

        pages = pages_resize(pages, bytes, now);
        assert_non_null(pages);
        for (size_t at = 0; at < now; at += PAGES_UNIT) {
            assert_int_equal(pages[at], at < bytes ? at / PAGES_UNIT + 1 : 0);
            pages[at] = (uint8_t)(at / PAGES_UNIT + 1);
        }
        assert_int_equal(pages[now - 1], 0);
        bytes = now;
    }
    pages_unmap(pages, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_survive_growing),
        cmocka_unit_test(test_equal_tags_are_told_apart),
        cmocka_unit_test(test_slack_is_not_hashed),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_pages_keep_their_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
