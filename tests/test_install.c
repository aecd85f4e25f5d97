/* Batches into views, by every method, against a plain model. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "state/store.h"
#include "stored_view.h"

static const struct row_shape plain = { .components = 1 };
static const struct row_shape wide = { .has_element = true, .components = 3 };

/* ---- random histories ---- */

/* Keys that meet again and again: short ones, some with zeros, some about
 * the limit of heads, some that share all that a head shows. */
static struct bytes random_key(unsigned *seed, uint8_t room[2000])
{
    size_t len = 1 + (size_t)rand_r(seed) % 3;
    unsigned kind = (unsigned)rand_r(seed) % 20;

    if (kind == 0) {
        len = (size_t)rand_r(seed) % 2;
    } else if (kind == 1) {
        len = 490 + (size_t)rand_r(seed) % 30;
    } else if (kind == 2) {
        len = 600 + 300 * ((size_t)rand_r(seed) % 4);
    }
    memset(room, 'k', len);
    for (size_t i = len > 3 ? len - 3 : 0; i < len; i++) {
        room[i] = (uint8_t)(rand_r(seed) % 6 * 51);
    }
    return bytes_of(room, len);
}

static void random_run(struct stored *s, size_t n, unsigned *seed)
{
    uint8_t rooms[2][2000];

    for (size_t i = 0; i < n; i++) {
        int64_t values[DF_COMPONENTS_MAX] = { 0 };
        struct bytes key = random_key(seed, rooms[0]);
        struct bytes element = random_key(seed, rooms[1]);

        for (unsigned c = 0; c < s->shape.components; c++) {
            values[c] = rand_r(seed) % 7 - 3;
            if (rand_r(seed) % 30 == 0) {
                values[c] *= INT64_C(1) << rand_r(seed) % 50;
            }
        }
        rows_source_add(&s->run, key, element, values);
    }
    /* Some rows that are there fall to zero. */
    for (size_t i = 0; i < s->model.count; i++) {
        struct rows_source one = { .at = &s->model.at[i],
                                   .count = 1,
                                   .shape = s->shape };

        if (rand_r(seed) % 16 == 0) {
            rows_source_add_all(&s->run, &one, -1);
        }
    }
}

static const enum install_method methods[] = {
    INSTALL_INCREMENT, INSTALL_OVERWRITE, INSTALL_DEFER,
    INSTALL_DEFER,     INSTALL_REBUILD,   INSTALL_AUTO
};
enum { METHODS = sizeof methods / sizeof methods[0] };

static void choose(struct stored *s, unsigned *seed)
{
    s->method = methods[(unsigned)rand_r(seed) % METHODS];
    s->keep = rand_r(seed) % 3 == 0;
    s->threads = 1 + (unsigned)rand_r(seed) % 8;
    s->memory = (size_t)1 << (10 + rand_r(seed) % 18);
    store_set_map_step(rand_r(seed) % 2 == 0 ? 0 : 16384);
}

static void play(struct row_shape shape, unsigned shards, unsigned seed)
{
    struct stored s;
    unsigned batches = 9;

    print_message("shards %u seed %u\n", shards, seed);
    store_set_map_step(16384);
    stored_open(&s, shape, shards);
    s.allow_negative = true;
    for (unsigned i = 0; i < batches; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "batch %u", i);
        choose(&s, &seed);
        random_run(&s, i == 3 ? 0 : (size_t)rand_r(&seed) % 400, &seed);
        if (stored_apply(&s, name) != DF_OK) {
            fail_msg("%s: %s", name, s.err.text);
        }
        stored_check(&s);
    }
    rows_source_add_all(&s.run, &s.model, -1);
    assert_int_equal(stored_apply(&s, "the end"), DF_OK);
    assert_int_equal(s.model.count, 0);
    assert_true(s.entry.method == INSTALL_DEFER || s.entry.rows == 0);
    assert_true(hash128_equal(s.entry.view_after, (struct hash128){ 0, 0 }));
    stored_check(&s);
    stored_close(&s);
    store_set_map_step(0);
}

static void test_histories(void **state)
{
    static const unsigned shards[] = { 1, 1, 2, 2, 3, 3, 16 };

    (void)state;
    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
        play(i % 2 == 0 ? plain : wide, shards[i], (unsigned)(10 + i));
    }
}

/* ---- methods ---- */

static void test_methods_that_are_chosen(void **state)
{
    struct stored s;

    (void)state;
    for (unsigned shards = 1; shards <= 3; shards += 2) {
        stored_open(&s, plain, shards);
        rows_source_add_text(&s.run, "a", 1);
        /* The first of all comes in order: best packed. */
        assert_int_equal(stored_apply(&s, "1"), DF_OK);
        assert_int_equal(s.entry.method, INSTALL_OVERWRITE);
        rows_source_add_text(&s.run, "a", 1);
        assert_int_equal(stored_apply(&s, "2"), DF_OK);
        assert_int_equal(s.entry.method, INSTALL_INCREMENT);
        rows_source_add_text(&s.run, "a", -2);
        rows_source_add_text(&s.run, "b", 2);
        s.memory = 4 << 20;
        s.more_rows = 10000000;
        assert_int_equal(stored_apply(&s, "3"), DF_OK);
        assert_int_equal(s.entry.method, INSTALL_OVERWRITE);
        stored_check(&s);
        stored_close(&s);
    }
}

/* An overwrite of more than its chunk of 4 MiB: several transactions, and
 * the map grows between them. */
static void test_large_overwrite(void **state)
{
    struct stored s;
    char key[32];

    (void)state;
    store_set_map_step(65536);
    for (unsigned shards = 1; shards <= 2; shards++) {
        stored_open(&s, plain, shards);
        s.method = INSTALL_OVERWRITE;
        s.memory = 1;
        for (int batch = 0; batch < 2; batch++) {
            for (int i = 0; i < 120000; i++) {
                (void)snprintf(key, sizeof key, "some word %012d", 3 * i);
                rows_source_add_text(&s.run, key, 1 + i * batch);
            }
            assert_int_equal(stored_apply(&s, batch == 0 ? "0" : "1"), DF_OK);
        }
        stored_check(&s);
        stored_close(&s);
    }
    store_set_map_step(0);
}

/* ---- what is refused ---- */

static void fill(struct stored *s)
{
    rows_source_add_text(&s->run, "ant", 1);
    rows_source_add_text(&s->run, "bee", 2);
    rows_source_add_text(&s->run, "cow", INT64_MAX);
    rows_source_add_text(&s->run, "dog", 4);
    assert_int_equal(stored_apply(s, "first"), DF_OK);
}

static bool listed(const struct install_negatives *n, const char *key)
{
    const uint8_t *at = n->keys.data;

    for (size_t i = 0; i < n->count; i++) {
        if (bytes_equal(bytes_of(at + 4, load_be32(at)),
                        bytes_of_string(key))) {
            return true;
        }
        at += 4 + load_be32(at);
    }
    return false;
}

static void one_way(void (*check)(struct stored *s),
                    enum install_method method)
{
    for (unsigned shards = 1; shards <= 3; shards += 2) {
        struct stored s;

        stored_open(&s, plain, shards);
        s.method = method;
        s.threads = 2;
        fill(&s);
        check(&s);
        rows_source_reset(&s.run);
        stored_check(&s);
        s.stop = NULL;
        s.run.before = NULL;
        rows_source_add_text(&s.run, "dog", -4);
        assert_int_equal(stored_apply(&s, "after"), DF_OK);
        stored_check(&s);
        stored_close(&s);
    }
}

/* From the run alone. */
static void each_way(void (*check)(struct stored *s))
{
    one_way(check, INSTALL_INCREMENT);
    one_way(check, INSTALL_OVERWRITE);
    one_way(check, INSTALL_DEFER);
}

static void every_way(void (*check)(struct stored *s))
{
    each_way(check);
    one_way(check, INSTALL_REBUILD);
}

static void check_negatives(struct stored *s)
{
    rows_source_add_text(&s->run, "ant", -2);
    rows_source_add_text(&s->run, "bee", -2);
    rows_source_add_text(&s->run, "eel", -1);
    rows_source_add_text(&s->run, "fox", 1);
    assert_int_equal(stored_apply(s, "bad"), DF_INPUT);
    assert_int_equal(s->negatives.count, 2);
    assert_true(listed(&s->negatives, "ant"));
    assert_true(listed(&s->negatives, "eel"));
    assert_true(strstr(s->err.text, "'ant'") != NULL ||
                strstr(s->err.text, "'eel'") != NULL);
}

static void test_negatives_are_refused(void **state)
{
    (void)state;
    every_way(check_negatives);
}

static void test_negatives_are_allowed(void **state)
{
    struct stored s;

    (void)state;
    stored_open(&s, plain, 2);
    fill(&s);
    s.allow_negative = true;
    rows_source_add_text(&s.run, "ant", -5);
    assert_int_equal(stored_apply(&s, "debt"), DF_OK);
    stored_check(&s);
    /* A row that is negative and rises is nobody's fault. */
    s.allow_negative = false;
    rows_source_add_text(&s.run, "ant", 1);
    assert_int_equal(stored_apply(&s, "some of it"), DF_OK);
    assert_int_equal(s.negatives.count, 0);
    stored_check(&s);
    stored_close(&s);
}

static void test_only_so_many_negatives_are_kept(void **state)
{
    struct stored s;
    char key[16];

    (void)state;
    stored_open(&s, plain, 1);
    for (int i = 0; i < INSTALL_NEGATIVES_MAX + 5; i++) {
        (void)snprintf(key, sizeof key, "%d", i);
        rows_source_add_text(&s.run, key, -1);
    }
    assert_int_equal(stored_apply(&s, "bad"), DF_INPUT);
    assert_int_equal(s.negatives.count, INSTALL_NEGATIVES_MAX);
    rows_source_reset(&s.run);
    stored_check(&s);
    stored_close(&s);
}

static void check_overflow(struct stored *s)
{
    rows_source_add_text(&s->run, "ant", 1);
    rows_source_add_text(&s->run, "cow", 1);
    assert_int_equal(stored_apply(s, "bad"), DF_INPUT);
    assert_non_null(strstr(s->err.text, "'cow'"));
    assert_non_null(strstr(s->err.text, "64 bits"));
    assert_int_equal(s->negatives.count, 0);
}

static void test_overflow_is_refused(void **state)
{
    (void)state;
    each_way(check_overflow);
}

static volatile sig_atomic_t stop;

static enum df_status raise_stop(void *ctx, size_t next, struct df_error *err)
{
    (void)ctx;
    (void)err;
    if (next == 1) {
        stop = 1;
    }
    return DF_OK;
}

static void check_stop(struct stored *s)
{
    char key[16];

    for (int i = 0; i < 10000; i++) {
        (void)snprintf(key, sizeof key, "%d", i);
        rows_source_add_text(&s->run, key, 1);
    }
    stop = 0;
    s->stop = &stop;
    s->run.before = raise_stop;
    assert_int_equal(stored_apply(s, "stopped"), DF_INTERRUPTED);
}

static void test_stop(void **state)
{
    (void)state;
    every_way(check_stop);
}

static enum df_status break_off(void *ctx, size_t next, struct df_error *err)
{
    (void)ctx;
    return next == 2 ? error_set(err, DF_SYSTEM, "the disk is gone") : DF_OK;
}

static void check_failing_source(struct stored *s)
{
    char key[16];

    for (int i = 0; i < 100; i++) {
        (void)snprintf(key, sizeof key, "%d", i);
        rows_source_add_text(&s->run, key, 1);
    }
    s->run.before = break_off;
    assert_int_equal(stored_apply(s, "broken"), DF_SYSTEM);
    assert_string_equal(s->err.text, "the disk is gone");
}

static void test_failing_source(void **state)
{
    (void)state;
    every_way(check_failing_source);
}

/* ---- the ledger ---- */

enum { FILES = 10000 };

struct visited {
    const struct ledger_file *files;
    size_t count;
    size_t stop_at;
};

static bool visit(void *ctx, const struct ledger_file *f)
{
    struct visited *v = ctx;
    const struct ledger_file *want = &v->files[v->count++];

    assert_true(bytes_equal(f->path, want->path));
    assert_true(bytes_equal(f->id, want->id));
    assert_int_equal(f->length, want->length);
    assert_int_equal(f->mtime, want->mtime);
    assert_int_equal(f->inserted, want->inserted);
    assert_int_equal(f->quarantined, want->quarantined);
    assert_true(hash128_equal(f->hash, want->hash));
    return v->count != v->stop_at;
}

static struct ledger_file *make_files(char (*paths)[40])
{
    struct ledger_file *files = calloc(FILES, sizeof *files);

    assert_non_null(files);
    for (size_t i = 0; i < FILES; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "%s/d%03zu/%zu.txt",
                       i % 3 == 0 ? "deleted" : "inserted", i / 100, i);
        files[i] = (struct ledger_file){
            .inserted = i % 3 != 0,
            .quarantined = i % 100 == 0,
            .path = bytes_of_string(paths[i]),
            .id = bytes_of_string(paths[i] + 9),
            .length = i * i,
            .mtime = (int64_t)i - 5000,
            .hash = { i, ~(uint64_t)i },
        };
    }
    return files;
}

static void check_files(struct snapshot *s, uint64_t seq,
                        const struct ledger_file *files, size_t count)
{
    struct visited v = { .files = files };
    struct df_error err;

    assert_int_equal(snapshot_ledger_files(s, seq, visit, &v, &err), DF_OK);
    assert_int_equal(v.count, count);
    if (count > 60) {
        v = (struct visited){ .files = files, .stop_at = 60 };
        assert_int_equal(snapshot_ledger_files(s, seq, visit, &v, &err),
                         DF_OK);
        assert_int_equal(v.count, 60);
    }
}

static void check_entry(struct snapshot *s, uint64_t seq, const char *name)
{
    struct ledger_entry e;
    struct df_error err;
    bool found;

    assert_int_equal(snapshot_ledger_get(s, seq, &e, &found, &err), DF_OK);
    assert_true(found);
    assert_int_equal(e.seq, seq);
    assert_true(bytes_equal(e.name, bytes_of_string(name)));
    assert_true(bytes_equal(e.program, bytes_of_string("test")));
    assert_int_equal(
        snapshot_ledger_by_name(s, bytes_of_string(name), &e, &found, &err),
        DF_OK);
    assert_true(found);
    assert_int_equal(e.seq, seq);
    assert_int_equal(
        snapshot_ledger_by_digest(s, hash128(bytes_of_string(name), 7), &e,
                                  &found, &err),
        DF_OK);
    assert_true(found);
    assert_int_equal(e.seq, seq);
}

static void check_absent(struct snapshot *s)
{
    static const uint8_t long_name[600] = { 'x' };
    const struct bytes names[] = { bytes_of_string("nobody"),
                                   bytes_of(NULL, 0),
                                   bytes_of(long_name, sizeof long_name) };
    struct ledger_entry e;
    struct df_error err;
    bool found = true;

    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(
            snapshot_ledger_by_name(s, names[i], &e, &found, &err), DF_OK);
        assert_false(found);
    }
    assert_int_equal(snapshot_ledger_get(s, 0, &e, &found, &err), DF_OK);
    assert_false(found);
    assert_int_equal(snapshot_ledger_get(s, 4, &e, &found, &err), DF_OK);
    assert_false(found);
    assert_int_equal(snapshot_ledger_by_digest(s, (struct hash128){ 1, 2 }, &e,
                                               &found, &err),
                     DF_OK);
    assert_false(found);
}

static void ledger_with(unsigned shards, const struct ledger_file *files)
{
    struct stored s;
    struct view *v;
    struct snapshot *snapshot;

    stored_open(&s, plain, shards);
    s.files = files;
    s.file_count = FILES;
    rows_source_add_text(&s.run, "a", 1);
    assert_int_equal(stored_apply(&s, "night 1"), DF_OK);
    s.file_count = 1;
    rows_source_add_text(&s.run, "b", 1);
    assert_int_equal(stored_apply(&s, "night 2"), DF_OK);
    s.file_count = 0;
    s.record_high = false;
    assert_int_equal(stored_apply(&s, "night 0"), DF_OK);
    stored_check(&s);

    assert_int_equal(view_open(&v, s.path, VIEW_READ, 0, &s.err), DF_OK);
    assert_int_equal(snapshot_open(&snapshot, v, &s.err), DF_OK);
    check_entry(snapshot, 1, "night 1");
    check_entry(snapshot, 2, "night 2");
    check_entry(snapshot, 3, "night 0");
    check_absent(snapshot);
    check_files(snapshot, 1, files, FILES);
    check_files(snapshot, 2, files, 1);
    check_files(snapshot, 3, files, 0);
    check_files(snapshot, 4, files, 0);
    assert_true(bytes_equal(snapshot_ledger_high(snapshot),
                            bytes_of_string("night 2")));
    assert_int_equal(snapshot_ledger_covered(snapshot).len, 0);
    snapshot_close(snapshot);
    view_close(v);
    stored_close(&s);
}

static void test_ledger(void **state)
{
    char(*paths)[40] = calloc(FILES, sizeof *paths);
    struct ledger_file *files;

    (void)state;
    assert_non_null(paths);
    files = make_files(paths);
    ledger_with(1, files);
    /* The record goes through the pending batch, and the map is too small. */
    store_set_map_step(16384);
    ledger_with(3, files);
    store_set_map_step(0);
    free(files);
    free(paths);
}

/* A snapshot stays what it was while batches come and the map grows. */
static void test_snapshots_stand_still(void **state)
{
    struct stored s;
    char key[32];

    (void)state;
    store_set_map_step(16384);
    for (unsigned shards = 1; shards <= 3; shards += 2) {
        struct stored_reader reader;

        stored_open(&s, plain, shards);
        fill(&s);
        reader = stored_reader_begin(&s);
        for (int batch = 0; batch < 4; batch++) {
            s.method = batch % 2 == 0 ? INSTALL_OVERWRITE : INSTALL_INCREMENT;
            for (int i = 0; i < 3000; i++) {
                (void)snprintf(key, sizeof key, "%d", i * (batch + 1));
                rows_source_add_text(&s.run, key, 1);
            }
            (void)snprintf(key, sizeof key, "%d", batch);
            assert_int_equal(stored_apply(&s, key), DF_OK);
        }
        stored_reader_end(reader);
        stored_close(&s);
    }
    store_set_map_step(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_histories),
        cmocka_unit_test(test_methods_that_are_chosen),
        cmocka_unit_test(test_large_overwrite),
        cmocka_unit_test(test_negatives_are_refused),
        cmocka_unit_test(test_negatives_are_allowed),
        cmocka_unit_test(test_only_so_many_negatives_are_kept),
        cmocka_unit_test(test_overflow_is_refused),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_failing_source),
        cmocka_unit_test(test_ledger),
        cmocka_unit_test(test_snapshots_stand_still),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
