/* state/ledger: entries and blocks of files as bytes, and back. */
#include "state/ledger.h"

#include "base/codec.h"

#include <setjmp.h>
#include <stdarg.h>
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

/* Numbers of every size, with many small ones. */
static uint64_t random_number(void)
{
    return next_random() >> (next_random() % 64);
}

static struct hash128 random_hash(void)
{
    return (struct hash128){ next_random(), next_random() };
}

static struct ledger_entry random_entry(struct bytes name)
{
    struct ledger_entry e = {
        .seq = random_number(),
        .kind = (enum ledger_kind)(1 + next_random() % 4),
        .name = name,
        .digest = random_hash(),
        .method = (enum install_method)(1 + next_random() % 5),
        .inserted = random_number(),
        .deleted = random_number(),
        .quarantined = random_number(),
        .input_bytes = random_number(),
        .pairs = random_number(),
        .run_rows = random_number(),
        .rows_seen = next_random() % 2 == 0,
        .rows_added = random_number(),
        .rows_changed = random_number(),
        .rows_removed = random_number(),
        .rows = random_number(),
        .view_before = random_hash(),
        .view_after = random_hash(),
        .spills = random_number(),
        .time = (int64_t)next_random(),
        .predicted_us = random_number(),
        .measured_us = random_number(),
        .map_us = random_number(),
        .map_cpu_us = random_number(),
        .reduce_cpu_us = random_number(),
        .install_cpu_us = random_number(),
        .threads = random_number(),
        .reduce_us = random_number(),
        .install_us = random_number(),
        .program = bytes_of_string("deltafold 0.1.0"),
    };

    for (size_t i = 0; i < DF_COUNTERS_MAX; i++) {
        e.counters[i] = random_number();
    }
    if (next_random() % 2 == 0) {
        e.survivors =
            (struct ledger_survivors){ .known = true,
                                       .files = (int64_t)random_number(),
                                       .bytes = -(int64_t)random_number(),
                                       .digest = random_hash() };
    }
    return e;
}

/* What an entry did to kept runs, and what is to be said of it. */
static void add_history(struct ledger_entry *e, struct buf *effects,
                        struct buf *drops)
{
    uint64_t n = next_random() % 4;

    buf_reset(effects);
    buf_reset(drops);
    assert_true(buf_reserve(effects, 1));
    for (uint64_t i = 0; i < n; i++) {
        assert_true(ledger_effects_add(
            effects,
            (struct ledger_effect){ .seq = random_number() >> 1,
                                    .minus = next_random() % 2 == 0 }));
        assert_true(ledger_drops_add(drops, random_number()));
    }
    e->has_effects = next_random() % 2 == 0;
    e->kept = next_random() % 2 == 0;
    if (e->has_effects) {
        e->effects = buf_bytes(effects);
    }
    if (e->has_effects || e->kept) {
        e->drops = buf_bytes(drops);
        e->note = bytes_of_string("window: 2 of 3 batches");
        e->gap = random_number();
        e->window_end = (int64_t)next_random();
    }
}

static void same_history(const struct ledger_entry *a,
                         const struct ledger_entry *b)
{
    assert_true(a->has_effects == b->has_effects && a->kept == b->kept);
    assert_true(bytes_equal(a->note, b->note));
    assert_true(a->gap == b->gap && a->window_end == b->window_end);
    assert_int_equal(ledger_effects(a), ledger_effects(b));
    for (size_t i = 0; i < ledger_effects(a); i++) {
        assert_true(ledger_effect(a, i).seq == ledger_effect(b, i).seq);
        assert_true(ledger_effect(a, i).minus == ledger_effect(b, i).minus);
    }
    assert_int_equal(ledger_drops(a), ledger_drops(b));
    for (size_t i = 0; i < ledger_drops(a); i++) {
        assert_true(ledger_drop(a, i) == ledger_drop(b, i));
    }
}

static void same_results(const struct ledger_entry *a,
                         const struct ledger_entry *b)
{
    assert_true(a->rows_seen == b->rows_seen);
    assert_true(a->rows_added == b->rows_added);
    assert_true(a->rows_changed == b->rows_changed);
    assert_true(a->rows_removed == b->rows_removed);
    assert_true(a->rows == b->rows);
    assert_true(hash128_equal(a->view_before, b->view_before));
    assert_true(hash128_equal(a->view_after, b->view_after));
    assert_memory_equal(a->counters, b->counters, sizeof a->counters);
    assert_true(a->spills == b->spills && a->time == b->time);
    assert_true(a->predicted_us == b->predicted_us);
    assert_true(a->measured_us == b->measured_us);
    assert_true(a->map_us == b->map_us && a->reduce_us == b->reduce_us);
    assert_true(a->map_cpu_us == b->map_cpu_us);
    assert_true(a->reduce_cpu_us == b->reduce_cpu_us);
    assert_true(a->install_cpu_us == b->install_cpu_us);
    assert_true(a->threads == b->threads);
    assert_true(a->install_us == b->install_us);
    assert_true(bytes_equal(a->program, b->program));
}

static void same_survivors(const struct ledger_survivors *a,
                           const struct ledger_survivors *b)
{
    assert_true(a->known == b->known);
    assert_true(a->files == b->files && a->bytes == b->bytes);
    assert_true(hash128_equal(a->digest, b->digest));
}

static void same_entry(const struct ledger_entry *a,
                       const struct ledger_entry *b)
{
    assert_true(a->seq == b->seq && a->kind == b->kind);
    assert_true(bytes_equal(a->name, b->name));
    assert_true(hash128_equal(a->digest, b->digest));
    assert_true(a->method == b->method);
    assert_true(a->inserted == b->inserted && a->deleted == b->deleted);
    assert_true(a->quarantined == b->quarantined);
    assert_true(a->input_bytes == b->input_bytes);
    assert_true(a->pairs == b->pairs && a->run_rows == b->run_rows);
    same_results(a, b);
    same_history(a, b);
    same_survivors(&a->survivors, &b->survivors);
}

static void random_entries_come_back(void **state)
{
    struct buf b = { 0 };
    struct buf effects = { 0 };
    struct buf drops = { 0 };

    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 2000; round++) {
        uint8_t name[300];
        struct ledger_entry back;
        struct ledger_entry e;
        size_t len = next_random() % sizeof name;

        for (size_t i = 0; i < len; i++) {
            name[i] = (uint8_t)next_random();
        }
        e = random_entry(bytes_of(name, len));
        add_history(&e, &effects, &drops);
        buf_reset(&b);
        assert_true(ledger_entry_encode(&e, &b));
        assert_true(ledger_entry_decode(buf_bytes(&b), &back));
        same_entry(&e, &back);
        if (len > 0) { /* strings point into the input */
            assert_true(back.name.data > b.data &&
                        back.name.data < b.data + b.len);
        }
    }
    buf_fini(&b);
    buf_fini(&effects);
    buf_fini(&drops);
}

/* A batch adds its own run unless it says otherwise; nothing else does. */
static void effects_go_without_saying(void **state)
{
    struct ledger_entry e = { .seq = 7, .kind = LEDGER_BATCH };

    (void)state;
    assert_int_equal(ledger_effects(&e), 1);
    assert_int_equal(ledger_effect(&e, 0).seq, 7);
    assert_false(ledger_effect(&e, 0).minus);
    e.has_effects = true;
    assert_int_equal(ledger_effects(&e), 0);
    e.has_effects = false;
    e.kind = LEDGER_REBUILD;
    assert_int_equal(ledger_effects(&e), 0);
}

/* Numbers that are no whole ones are damage. */
static void odd_effects_fail(void **state)
{
    struct ledger_entry e = random_entry(bytes_of_string("b"));
    struct ledger_entry back;
    struct buf b = { 0 };

    (void)state;
    e.has_effects = true;
    e.effects = bytes_of("1234567", 7);
    assert_true(ledger_entry_encode(&e, &b));
    assert_false(ledger_entry_decode(buf_bytes(&b), &back));
    buf_fini(&b);
}

static void a_later_versions_fields_are_passed_over(void **state)
{
    struct buf b = { 0 };
    struct ledger_entry e;

    (void)state;
    assert_true(codec_put_map(&b, 4) && codec_put_text(&b, "later") &&
                codec_put_array(&b, 1) && codec_put_bool(&b, true) &&
                codec_put_text(&b, "count") && codec_put_array(&b, 10));
    for (unsigned i = 0; i < 10; i++) {
        assert_true(codec_put_uint(&b, i + 1));
    }
    assert_true(codec_put_text(&b, "kind") && codec_put_uint(&b, 1) &&
                codec_put_text(&b, "rows") && codec_put_uint(&b, 9));
    assert_true(ledger_entry_decode(buf_bytes(&b), &e));
    assert_int_equal(e.rows, 9);
    assert_int_equal(e.counters[7], 8);
    buf_fini(&b);
}

static void truncated_and_lengthened_entries_fail(void **state)
{
    struct ledger_entry e = random_entry(bytes_of_string("2026-11-29"));
    struct ledger_entry back;
    struct buf b = { 0 };

    (void)state;
    assert_true(ledger_entry_encode(&e, &b));
    for (size_t len = 0; len < b.len; len++) {
        assert_false(ledger_entry_decode(bytes_of(b.data, len), &back));
    }
    assert_true(buf_append_byte(&b, 0));
    assert_false(ledger_entry_decode(buf_bytes(&b), &back));
    buf_fini(&b);
}

static void methods_have_names(void **state)
{
    (void)state;
    assert_string_equal(install_method_name(INSTALL_INCREMENT), "increment");
    assert_string_equal(install_method_name(INSTALL_OVERWRITE), "overwrite");
    assert_string_equal(install_method_name(INSTALL_REBUILD), "rebuild");
    assert_string_equal(install_method_name(INSTALL_DEFER), "defer");
    assert_string_equal(install_method_name(INSTALL_AUTO), "auto");
}

enum { FILES = 60 };

struct expected {
    struct ledger_file files[FILES];
    char *names[2 * FILES];
    size_t count;
    size_t seen;
    size_t stop_after;
};

/* Names over a small alphabet share starts; one in fifty is longer than the
 * room in which names are put together. */
static struct bytes random_name(char **owned)
{
    size_t len = next_random() % 50 == 0 ? 4080 + next_random() % 40
                                         : 1 + next_random() % 12;
    char *name = malloc(len);

    assert_non_null(name);
    for (size_t i = 0; i < len; i++) {
        name[i] = "ab/"[len > 100 ? 0 : next_random() % 3];
    }
    *owned = name;
    return bytes_of(name, len);
}

static void random_file(struct expected *x, size_t i)
{
    struct ledger_file *f = &x->files[i];

    *f = (struct ledger_file){
        .inserted = next_random() % 2 == 0,
        .quarantined = next_random() % 4 == 0,
        .path = random_name(&x->names[2 * i]),
        .length = random_number(),
        .mtime = (int64_t)random_number(),
        .hash = random_hash(),
    };
    if (next_random() % 3 == 0) {
        f->id = random_name(&x->names[2 * i + 1]);
    } else {
        size_t from = next_random() % f->path.len;

        f->id = bytes_of(f->path.data + from, f->path.len - from);
    }
}

static bool compare_file(void *ctx, const struct ledger_file *f)
{
    struct expected *x = ctx;
    const struct ledger_file *e = &x->files[x->seen];

    assert_true(x->seen < x->count);
    assert_true(f->inserted == e->inserted);
    assert_true(f->quarantined == e->quarantined);
    assert_true(bytes_equal(f->path, e->path));
    assert_true(bytes_equal(f->id, e->id));
    assert_true(f->length == e->length && f->mtime == e->mtime);
    assert_true(hash128_equal(f->hash, e->hash));
    x->seen++;
    return x->seen != x->stop_after;
}

static void expected_init(struct expected *x, size_t count)
{
    *x = (struct expected){ .count = count };
    for (size_t i = 0; i < count; i++) {
        random_file(x, i);
    }
}

static void expected_fini(struct expected *x)
{
    for (size_t i = 0; i < sizeof x->names / sizeof x->names[0]; i++) {
        free(x->names[i]);
    }
}

static void random_blocks_come_back(void **state)
{
    struct buf b = { 0 };
    struct expected x;

    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 1000; round++) {
        expected_init(&x, next_random() % (FILES + 1));
        buf_reset(&b);
        assert_true(ledger_files_encode(x.files, x.count, &b));
        assert_true(ledger_files_decode(buf_bytes(&b), compare_file, &x));
        assert_int_equal(x.seen, x.count);
        expected_fini(&x);
    }
    buf_fini(&b);
}

static bool is_known(void *ctx, const struct ledger_file *f)
{
    assert_true(bytes_equal(f->path, bytes_of_string("inserted/a")));
    assert_true(bytes_equal(f->id, bytes_of_string("a")));
    assert_int_equal(f->length, 300);
    ++*(int *)ctx;
    return true;
}

static void a_later_versions_file_fields_are_passed_over(void **state)
{
    struct buf b = { 0 };
    int seen = 0;

    (void)state;
    assert_true(codec_put_array(&b, 1) && codec_put_array(&b, 9) &&
                codec_put_uint(&b, 1 + 64) && codec_put_uint(&b, 300) &&
                codec_put_int(&b, -1) &&
                codec_put_bin(&b, bytes_of("0123456789abcdef", 16)) &&
                codec_put_uint(&b, 0) &&
                codec_put_bin(&b, bytes_of_string("inserted/a")) &&
                codec_put_uint(&b, 9) && codec_put_map(&b, 0) &&
                codec_put_text(&b, "later"));
    assert_true(ledger_files_decode(buf_bytes(&b), is_known, &seen));
    assert_int_equal(seen, 1);
    buf_fini(&b);
}

static void decoding_stops_when_told(void **state)
{
    struct buf b = { 0 };
    struct expected x;

    (void)state;
    expected_init(&x, 10);
    x.stop_after = 4;
    assert_true(ledger_files_encode(x.files, x.count, &b));
    assert_true(ledger_files_decode(buf_bytes(&b), compare_file, &x));
    assert_int_equal(x.seen, 4);
    expected_fini(&x);
    buf_fini(&b);
}

static void neighbours_are_not_stored_twice(void **state)
{
    static const char *const paths[] = {
        "inserted/a/long/directory/name/one.txt",
        "inserted/a/long/directory/name/two.txt",
    };
    struct ledger_file files[2] = { 0 };
    struct buf b = { 0 };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        files[i].path = bytes_of_string(paths[i]);
        files[i].id = bytes_of_string(paths[i] + 9);
    }
    assert_true(ledger_files_encode(files, 2, &b));
    /* Per file: head, flags, length, mtime, shared, id from: 1 each; hash
     * 18; head of the rest 2. Then the names: the first, and "two.txt". */
    assert_int_equal(b.len, 1 + 2 * 26 + strlen(paths[0]) + 7);
    buf_fini(&b);
}

static bool count_file(void *ctx, const struct ledger_file *f)
{
    /* Every byte is looked at, so that a sanitizer sees it. */
    size_t *sum = ctx;

    for (size_t i = 0; i < f->path.len; i++) {
        *sum += f->path.data[i];
    }
    for (size_t i = 0; i < f->id.len; i++) {
        *sum += f->id.data[i];
    }
    return true;
}

static void damaged_bytes_do_no_harm(void **state)
{
    struct buf block = { 0 };
    struct buf entry = { 0 };
    struct ledger_entry e = random_entry(bytes_of_string("2026-11-29"));
    struct expected x;
    size_t sum = 0;

    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    expected_init(&x, 8);
    assert_true(ledger_entry_encode(&e, &entry));
    assert_true(ledger_files_encode(x.files, x.count, &block));
    for (int round = 0; round < 20000; round++) {
        struct buf *b = round % 2 == 0 ? &entry : &block;
        size_t len = 1 + next_random() % b->len;
        uint8_t *bytes = malloc(len);
        struct ledger_entry back;

        assert_non_null(bytes);
        memcpy(bytes, b->data, len);
        bytes[next_random() % len] = (uint8_t)next_random();
        bytes[next_random() % len] ^= (uint8_t)(1 << next_random() % 8);
        (void)ledger_entry_decode(bytes_of(bytes, len), &back);
        (void)ledger_files_decode(bytes_of(bytes, len), count_file, &sum);
        free(bytes);
    }
    expected_fini(&x);
    buf_fini(&block);
    buf_fini(&entry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_entries_come_back),
        cmocka_unit_test(effects_go_without_saying),
        cmocka_unit_test(odd_effects_fail),
        cmocka_unit_test(a_later_versions_fields_are_passed_over),
        cmocka_unit_test(truncated_and_lengthened_entries_fail),
        cmocka_unit_test(methods_have_names),
        cmocka_unit_test(random_blocks_come_back),
        cmocka_unit_test(a_later_versions_file_fields_are_passed_over),
        cmocka_unit_test(decoding_stops_when_told),
        cmocka_unit_test(neighbours_are_not_stored_twice),
        cmocka_unit_test(damaged_bytes_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
