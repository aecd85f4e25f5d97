/* Scans: order over shards, selections, groups of long rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "state/snapshot_internal.h"
#include "stored_view.h"

static const struct row_shape plain = { .components = 1 };
static const struct row_shape pairs = { .has_element = true, .components = 2 };
enum { SHARDS = 3, KEY_ROOM = 1400 };

/* A stored view with a snapshot open. */
struct opened {
    struct stored s;
    struct view *v;
    struct snapshot *snapshot;
};

static void apply_and_open(struct opened *o)
{
    o->s.allow_negative = true;
    assert_int_equal(stored_apply(&o->s, "all"), DF_OK);
    assert_int_equal(view_open(&o->v, o->s.path, VIEW_READ, 0, &o->s.err),
                     DF_OK);
    assert_int_equal(snapshot_open(&o->snapshot, o->v, &o->s.err), DF_OK);
}

static void close_all(struct opened *o)
{
    snapshot_close(o->snapshot);
    view_close(o->v);
    stored_close(&o->s);
}

/* ---- what a scan should give: the obvious way ---- */

static bool is_selected(enum snapshot_select select, struct bytes key,
                        struct bytes bytes)
{
    switch (select) {
    case SNAPSHOT_KEY:
        return bytes_equal(key, bytes);
    case SNAPSHOT_PREFIX:
        return key.len >= bytes.len &&
               bytes_equal(bytes_of(key.data, bytes.len), bytes);
    case SNAPSHOT_ALL:
        break;
    }
    return true;
}

/* The scan gives the model's rows that are selected, in the model's order,
 * which is that of (key, element). Returns how many. */
static size_t check(struct opened *o, enum snapshot_select select,
                    struct bytes bytes)
{
    struct stored *s = &o->s;
    struct snapshot_scan *scan;
    const struct snapshot_row *row;
    struct buf room = { 0 };
    struct buf last = { 0 };
    size_t n = 0;

    assert_int_equal(
        snapshot_scan_open(&scan, o->snapshot, select, bytes, &s->err), DF_OK);
    for (size_t i = 0; i < s->model.count; i++) {
        struct bytes key;
        struct bytes element;

        rows_source_decode(&s->model, i, &room, &key, &element);
        if (!is_selected(select, key, bytes)) {
            continue;
        }
        assert_int_equal(snapshot_scan_next(scan, &row, &s->err), DF_OK);
        assert_non_null(row);
        assert_true(bytes_equal(row->key, key));
        assert_true(bytes_equal(row->element, element));
        assert_memory_equal(row->values, s->model.at[i].values,
                            s->shape.components * sizeof *row->values);
        /* Independent of how row keys are made. */
        assert_true(n == 0 || bytes_compare(buf_bytes(&last), key) <= 0);
        buf_reset(&last);
        assert_true(buf_append(&last, key.data, key.len));
        n++;
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(snapshot_scan_next(scan, &row, &s->err), DF_OK);
        assert_null(row);
    }
    snapshot_scan_close(scan);
    buf_fini(&room);
    buf_fini(&last);
    return n;
}

/* ---- selections ---- */

/* Few letters, among them those that are escaped or guarded. */
static size_t make_key(unsigned *seed, uint8_t key[KEY_ROOM])
{
    static const uint8_t letters[] = { 0x00, 0x01, 'a', 0xff };
    size_t len = (size_t)rand_r(seed) % 4;
    size_t stem = 0;

    if (rand_r(seed) % 4 == 0) {
        static const size_t stems[] = { 244, 493, 494, 495, 496, 510, 900 };

        stem = stems[(size_t)rand_r(seed) % 7];
        memset(key, rand_r(seed) % 8 == 0 ? 0 : 'k', stem);
    }
    for (size_t i = 0; i < len; i++) {
        key[stem + i] = letters[(size_t)rand_r(seed) % 4];
    }
    return stem + len;
}

static void fill_random(struct stored *s, size_t n, unsigned *seed)
{
    uint8_t keys[2][KEY_ROOM];

    for (size_t i = 0; i < n; i++) {
        const int64_t values[DF_COMPONENTS_MAX] = { (int64_t)i + 1, 7 };
        size_t key_len = make_key(seed, keys[0]);
        size_t element_len = make_key(seed, keys[1]);

        rows_source_add(&s->run, bytes_of(keys[0], key_len),
                        bytes_of(keys[1], element_len), values);
    }
}

static void check_selections(struct row_shape shape, unsigned seed)
{
    struct opened o;
    struct buf room = { 0 };
    struct bytes key;
    struct bytes element;

    print_message("seed %u\n", seed);
    stored_open(&o.s, shape, SHARDS);
    fill_random(&o.s, 500, &seed);
    apply_and_open(&o);
    assert_int_equal(check(&o, SNAPSHOT_ALL, bytes_of(NULL, 0)),
                     o.s.model.count);
    assert_int_equal(check(&o, SNAPSHOT_PREFIX, bytes_of(NULL, 0)),
                     o.s.model.count);
    for (size_t i = 0; i < o.s.model.count; i++) {
        rows_source_decode(&o.s.model, i, &room, &key, &element);
        if (i % 5 == 0) {
            assert_true(check(&o, SNAPSHOT_KEY, key) >= 1);
        }
        /* The whole key, then ever less of its end. */
        for (size_t cut = 0; i % 9 == 0 && cut < 3 && cut <= key.len; cut++) {
            assert_true(check(&o, SNAPSHOT_PREFIX,
                              bytes_of(key.data, key.len - cut)) >= 1);
        }
    }
    for (int i = 0; i < 60; i++) {
        uint8_t any[KEY_ROOM];
        size_t len = make_key(&seed, any);

        (void)check(&o, SNAPSHOT_PREFIX, bytes_of(any, len));
        (void)check(&o, SNAPSHOT_KEY, bytes_of(any, len));
    }
    buf_fini(&room);
    close_all(&o);
}

static void test_selections(void **state)
{
    (void)state;
    check_selections(plain, 1);
    check_selections(pairs, 2);
}

static void test_prefix_that_ends_in_a_zero(void **state)
{
    static const char keys[][4] = { "a", "a\0", "a\0\0", "a\0\1", "a\1" };
    static const size_t lens[] = { 1, 2, 3, 3, 2 };
    const int64_t values[DF_COMPONENTS_MAX] = { 1, 1 };
    struct opened o;

    (void)state;
    for (int with_elements = 0; with_elements <= 1; with_elements++) {
        stored_open(&o.s, with_elements ? pairs : plain, SHARDS);
        for (size_t i = 0; i < 5; i++) {
            rows_source_add(&o.s.run, bytes_of(keys[i], lens[i]),
                            bytes_of("\0\xff", 2), values);
        }
        apply_and_open(&o);
        assert_int_equal(check(&o, SNAPSHOT_PREFIX, bytes_of("a", 1)), 5);
        assert_int_equal(check(&o, SNAPSHOT_PREFIX, bytes_of("a\0", 2)), 3);
        assert_int_equal(check(&o, SNAPSHOT_PREFIX, bytes_of("a\0\0", 3)), 1);
        assert_int_equal(check(&o, SNAPSHOT_PREFIX, bytes_of("\0", 1)), 0);
        assert_int_equal(check(&o, SNAPSHOT_KEY, bytes_of("a\0", 2)), 1);
        close_all(&o);
    }
}

static void test_empty_view(void **state)
{
    struct opened o;

    (void)state;
    stored_open(&o.s, pairs, SHARDS);
    apply_and_open(&o);
    assert_int_equal(check(&o, SNAPSHOT_ALL, bytes_of(NULL, 0)), 0);
    assert_int_equal(check(&o, SNAPSHOT_KEY, bytes_of(NULL, 0)), 0);
    assert_int_equal(check(&o, SNAPSHOT_PREFIX, bytes_of("x", 1)), 0);
    close_all(&o);
}

/* ---- groups: rows that share all that heads show ---- */

/* Keys of one long stem, in an order that the hash mixes, and neighbours on
 * either side. */
static void fill_groups(struct stored *s, size_t n, size_t stem_len)
{
    uint8_t key[KEY_ROOM];
    const int64_t values[DF_COMPONENTS_MAX] = { 5, 6 };

    memset(key, 'm', stem_len);
    for (size_t i = 0; i < n; i++) {
        size_t more = (size_t)snprintf((char *)key + stem_len,
                                       sizeof key - stem_len, "%zu", i);

        rows_source_add(&s->run, bytes_of(key, stem_len + more),
                        bytes_of_string(i % 2 == 0 ? "even" : "odd"), values);
        rows_source_add(&s->run, bytes_of(key, stem_len),
                        bytes_of(key, 2 + more), values);
    }
    rows_source_add(&s->run, bytes_of("a", 1), bytes_of("b", 1), values);
    rows_source_add(&s->run, bytes_of(key, 494), bytes_of("b", 1), values);
    rows_source_add(&s->run, bytes_of(key, 495), bytes_of("b", 1), values);
    rows_source_add(&s->run, bytes_of("z", 1), bytes_of("b", 1), values);
}

static void check_group(struct opened *o, size_t stem_len)
{
    uint8_t key[KEY_ROOM];

    memset(key, 'm', stem_len);
    assert_int_equal(check(o, SNAPSHOT_ALL, bytes_of(NULL, 0)),
                     o->s.model.count);
    (void)check(o, SNAPSHOT_KEY, bytes_of(key, stem_len));
    key[stem_len] = '1';
    (void)check(o, SNAPSHOT_PREFIX, bytes_of(key, stem_len));
    (void)check(o, SNAPSHOT_PREFIX, bytes_of(key, stem_len + 1));
    (void)check(o, SNAPSHOT_PREFIX, bytes_of(key, 400));
}

/* From more than the whole group down to less than one row. */
static void check_groups(struct row_shape shape, size_t stem_len)
{
    static const size_t limits[] = { 0, 200000, 20000, 3000, 1 };

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct opened o;

        stored_open(&o.s, shape, i % 2 == 0 ? 1 : SHARDS);
        fill_groups(&o.s,
                    limits[i] == 0     ? 3000
                    : limits[i] > 3000 ? 400
                                       : 60,
                    stem_len);
        apply_and_open(&o);
        snapshot_scan_set_group_max(limits[i]);
        check_group(&o, stem_len);
        snapshot_scan_set_group_max(0);
        close_all(&o);
    }
}

static void test_groups(void **state)
{
    (void)state;
    check_groups(plain, 500);
    check_groups(pairs, 500);
    check_groups(pairs, 494);
}

/* A scan that is given up in the midst of a group leaves nothing behind. */
static void test_scan_given_up(void **state)
{
    struct opened o;
    struct snapshot_scan *scan;
    const struct snapshot_row *row;

    (void)state;
    stored_open(&o.s, plain, SHARDS);
    fill_groups(&o.s, 100, 600);
    apply_and_open(&o);
    snapshot_scan_set_group_max(3000);
    assert_int_equal(snapshot_scan_open(&scan, o.snapshot, SNAPSHOT_ALL,
                                        bytes_of(NULL, 0), &o.s.err),
                     DF_OK);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(snapshot_scan_next(scan, &row, &o.s.err), DF_OK);
        assert_non_null(row);
    }
    snapshot_scan_close(scan);
    snapshot_scan_close(NULL);
    snapshot_scan_set_group_max(0);
    close_all(&o);
}

/* Two scans and look-ups of one snapshot go on side by side. */
static void test_scans_side_by_side(void **state)
{
    struct opened o;
    struct snapshot_scan *scans[2];
    const struct snapshot_row *row;
    struct snapshot *again;

    (void)state;
    stored_open(&o.s, plain, SHARDS);
    rows_source_add_text(&o.s.run, "a", 1);
    rows_source_add_text(&o.s.run, "b", 2);
    apply_and_open(&o);
    assert_int_equal(snapshot_open(&again, o.v, &o.s.err), DF_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            snapshot_scan_open(&scans[i], i == 0 ? o.snapshot : again,
                               SNAPSHOT_ALL, bytes_of(NULL, 0), &o.s.err),
            DF_OK);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(snapshot_scan_next(scans[i % 2], &row, &o.s.err),
                         DF_OK);
        assert_true(row->key.data[0] == (i < 2 ? 'a' : 'b'));
    }
    snapshot_scan_close(scans[0]);
    snapshot_scan_close(scans[1]);
    snapshot_close(again);
    close_all(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_selections),
        cmocka_unit_test(test_prefix_that_ends_in_a_zero),
        cmocka_unit_test(test_empty_view),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_scan_given_up),
        cmocka_unit_test(test_scans_side_by_side),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
