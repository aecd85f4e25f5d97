/* Views computed anew: the swap of generations and what is carried over. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "state/store.h"
#include "stored_view.h"

static const struct row_shape shape = { .components = 1 };

struct rebuilding {
    unsigned shards;
    const char *high;
    const char *covered;
    const char *name;
    bool allow_negative;
    bool (*keep)(void *ctx, struct bytes name);
    uint64_t kept; /* entries that keep lets through */
};

static bool keep_all(void *ctx, struct bytes name)
{
    (void)ctx;
    (void)name;
    return true;
}

/* Names that do not end in 2. */
static bool keep_some(void *ctx, struct bytes name)
{
    (void)ctx;
    return name.len == 0 || name.data[name.len - 1] != '2';
}

static void take_over(struct stored *s, const struct rebuilding *r)
{
    s->shards = r->shards;
    s->seq = r->kept + 1;
    rows_source_reset(&s->model);
    rows_source_add_all(&s->model, &s->run, 1);
    rows_source_order(&s->model, ROWS_BY_KEY);
    rows_source_reset(&s->run);
    assert_int_equal(s->entry.kind, LEDGER_REBUILD);
    assert_int_equal(s->entry.method, INSTALL_REBUILD);
    assert_int_equal(s->entry.seq, s->seq);
    assert_int_equal(s->entry.rows, s->model.count);
    assert_int_equal(s->entry.run_rows, s->model.count);
    assert_true(
        hash128_equal(s->entry.view_after, rows_source_digest(&s->model)));
}

/* Replaces the view's rows by s->run. */
static enum df_status rebuild(struct stored *s, const struct rebuilding *r)
{
    struct rows_source parts[VIEW_SHARDS_MAX];
    struct install_shard shards[VIEW_SHARDS_MAX] = { 0 };
    struct install_batch b = { .shards = shards,
                               .entry = &s->entry,
                               .memory = s->memory,
                               .threads = s->threads,
                               .allow_negative = r->allow_negative,
                               .started_us = clock_us(),
                               .stop = s->stop };
    struct install_rebuild how = { .shards = r->shards,
                                   .high = bytes_of_string(r->high),
                                   .covered = bytes_of_string(r->covered),
                                   .keep = r->keep };
    struct view *v;
    enum df_status status;

    rows_source_order(&s->run, ROWS_BY_HEAD);
    /* What is there before must not count. */
    s->entry = (struct ledger_entry){ .name = bytes_of_string(r->name),
                                      .rows = 5,
                                      .run_rows = 5,
                                      .view_before = { 5, 5 },
                                      .view_after = { 5, 5 },
                                      .program = bytes_of_string("test") };
    for (unsigned i = 0; i < r->shards; i++) {
        rows_source_of_shard(&s->run, r->shards, i, &parts[i]);
        shards[i].run = &parts[i].source;
        shards[i].rows_bound = parts[i].count;
        shards[i].bytes_bound = rows_source_bytes(&parts[i]);
    }
    install_negatives_fini(&s->negatives);
    assert_int_equal(view_open(&v, s->path, VIEW_WRITE, 0, &s->err), DF_OK);
    status = install_rebuild(v, &b, &how, &s->negatives, &s->err);
    view_close(v);
    for (unsigned i = 0; i < r->shards; i++) {
        rows_source_fini(&parts[i]);
    }
    if (status == DF_OK) {
        assert_true(hash128_equal(s->entry.view_before,
                                  rows_source_digest(&s->model)));
        take_over(s, r);
    }
    return status;
}

static void apply_three(struct stored *s)
{
    static const char *const names[] = { "night 1", "night 2", "night 3" };

    for (int i = 0; i < 3; i++) {
        rows_source_add_text(&s->run, "a", 1);
        rows_source_add_text(&s->run, names[i], i + 1);
        assert_int_equal(stored_apply(s, names[i]), DF_OK);
    }
}

static void add_many(struct stored *s, int n)
{
    char key[600];

    for (int i = 0; i < n; i++) {
        (void)snprintf(key, sizeof key, "%0*d", i % 9 == 0 ? 555 : 3, i);
        rows_source_add_text(&s->run, key, i + 1);
    }
}

static bool is_there(const struct stored *s, const char *name)
{
    return access(stored_file(s, name), F_OK) == 0;
}

static void test_other_numbers_of_shards(void **state)
{
    static const unsigned shards[] = { 3, 1, 16, 2, 2 };
    struct stored s;
    char name[32];

    (void)state;
    store_set_map_step(16384);
    stored_open(&s, shape, 2);
    apply_three(&s);
    for (unsigned i = 0; i < 5; i++) {
        struct rebuilding r = { .shards = shards[i],
                                .high = "night 3",
                                .covered = "night 3",
                                .name = "night 3",
                                .keep = keep_all,
                                .kept = s.seq };

        s.threads = 1 + i;
        s.memory = i == 0 ? 1 : 64 << 20;
        add_many(&s, 800 * (int)i);
        assert_int_equal(rebuild(&s, &r), DF_OK);
        (void)snprintf(name, sizeof name, "gen-%u", i + 1);
        assert_false(is_there(&s, name));
        (void)snprintf(name, sizeof name, "gen-%u", i + 2);
        assert_true(is_there(&s, name));
        stored_check(&s);
        (void)snprintf(name, sizeof name, "night %u", i + 4);
        rows_source_add_text(&s.run, "b", 1);
        assert_int_equal(stored_apply(&s, name), DF_OK);
        stored_check(&s);
    }
    stored_close(&s);
    store_set_map_step(0);
}

/* ---- what is carried over ---- */

static void check_name(struct snapshot *s, uint64_t seq, const char *name,
                       enum ledger_kind kind)
{
    struct ledger_entry e;
    struct df_error err;
    bool found;

    assert_int_equal(snapshot_ledger_get(s, seq, &e, &found, &err), DF_OK);
    assert_true(found);
    assert_int_equal(e.seq, seq);
    assert_int_equal(e.kind, kind);
    assert_true(bytes_equal(e.name, bytes_of_string(name)));
    assert_int_equal(
        snapshot_ledger_by_name(s, bytes_of_string(name), &e, &found, &err),
        DF_OK);
    assert_true(found == (kind == LEDGER_BATCH));
    assert_true(!found || e.seq == seq);
}

static bool count_file(void *ctx, const struct ledger_file *f)
{
    size_t *n = ctx;

    assert_int_equal(f->length, *n);
    (*n)++;
    return true;
}

static void test_ledger_is_carried_over(void **state)
{
    const struct rebuilding r = { .shards = 2,
                                  .high = "night 9",
                                  .covered = "night 7",
                                  .name = "as of",
                                  .keep = keep_some,
                                  .kept = 2 };
    struct ledger_file files[200] = { 0 };
    struct stored s;
    struct view *v;
    struct snapshot *snapshot;
    struct ledger_entry e;
    size_t n = 0;
    bool found;

    (void)state;
    for (size_t i = 0; i < 200; i++) {
        files[i] = (struct ledger_file){ .path = bytes_of_string("p"),
                                         .id = bytes_of_string("i"),
                                         .length = i };
    }
    stored_open(&s, shape, 1);
    s.files = files;
    s.file_count = 200;
    apply_three(&s);
    rows_source_add_text(&s.run, "new", 1);
    assert_int_equal(rebuild(&s, &r), DF_OK);
    stored_check(&s);
    assert_int_equal(view_open(&v, s.path, VIEW_READ, 0, &s.err), DF_OK);
    assert_int_equal(snapshot_open(&snapshot, v, &s.err), DF_OK);
    check_name(snapshot, 1, "night 1", LEDGER_BATCH);
    check_name(snapshot, 2, "night 3", LEDGER_BATCH);
    check_name(snapshot, 3, "as of", LEDGER_REBUILD);
    assert_int_equal(snapshot_ledger_by_name(snapshot,
                                             bytes_of_string("night 2"), &e,
                                             &found, &s.err),
                     DF_OK);
    assert_false(found);
    assert_int_equal(
        snapshot_ledger_files(snapshot, 2, count_file, &n, &s.err), DF_OK);
    assert_int_equal(n, 200);
    assert_true(bytes_equal(snapshot_ledger_high(snapshot),
                            bytes_of_string("night 9")));
    assert_true(bytes_equal(snapshot_ledger_covered(snapshot),
                            bytes_of_string("night 7")));
    snapshot_close(snapshot);
    view_close(v);
    stored_close(&s);
}

/* More entries than are copied in one transaction, into a small map. */
static void test_long_ledger(void **state)
{
    enum { ENTRIES = 600 };
    struct stored s;
    struct rebuilding r = { .shards = 1,
                            .high = "",
                            .covered = "",
                            .name = "",
                            .keep = keep_all,
                            .kept = ENTRIES };
    struct view *v;
    struct snapshot *snapshot;
    char name[16];

    (void)state;
    stored_open(&s, shape, 1);
    for (int i = 1; i <= ENTRIES; i++) {
        (void)snprintf(name, sizeof name, "%d", i);
        assert_int_equal(stored_apply(&s, name), DF_OK);
    }
    store_set_map_step(16384);
    assert_int_equal(rebuild(&s, &r), DF_OK);
    store_set_map_step(0);
    stored_check(&s);
    assert_int_equal(view_open(&v, s.path, VIEW_READ, 0, &s.err), DF_OK);
    assert_int_equal(snapshot_open(&snapshot, v, &s.err), DF_OK);
    check_name(snapshot, 1, "1", LEDGER_BATCH);
    check_name(snapshot, 257, "257", LEDGER_BATCH);
    check_name(snapshot, ENTRIES, "600", LEDGER_BATCH);
    snapshot_close(snapshot);
    view_close(v);
    stored_close(&s);
}

/* ---- readers, failures and leftovers ---- */

static void test_old_readers_keep_their_snapshot(void **state)
{
    const struct rebuilding r = { .shards = 1,
                                  .high = "",
                                  .covered = "",
                                  .name = "",
                                  .keep = keep_all,
                                  .kept = 3 };
    struct stored_reader reader;
    struct stored s;

    (void)state;
    stored_open(&s, shape, 3);
    apply_three(&s);
    reader = stored_reader_begin(&s);
    rows_source_add_text(&s.run, "new", 1);
    assert_int_equal(rebuild(&s, &r), DF_OK);
    stored_check(&s);
    assert_false(is_there(&s, "gen-1"));
    stored_reader_end(reader);
    stored_close(&s);
}

static volatile sig_atomic_t stop;

static enum df_status stop_here(void *ctx, size_t next, struct df_error *err)
{
    (void)ctx;
    (void)err;
    if (next == 3) {
        stop = 1;
    }
    return DF_OK;
}

static void test_failure_changes_nothing(void **state)
{
    struct rebuilding r = {
        .shards = 2, .high = "", .covered = "", .name = "", .keep = keep_all
    };
    struct stored s;

    (void)state;
    stored_open(&s, shape, 3);
    apply_three(&s);
    add_many(&s, 5000);
    s.stop = &stop;
    s.run.before = stop_here;
    stop = 0;
    assert_int_equal(rebuild(&s, &r), DF_INTERRUPTED);
    assert_false(is_there(&s, "gen-2"));
    stored_check(&s);

    s.stop = NULL;
    s.run.before = NULL;
    rows_source_add_text(&s.run, "debt", -1);
    rows_source_add_text(&s.run, "more", -1);
    assert_int_equal(rebuild(&s, &r), DF_INPUT);
    assert_int_equal(s.negatives.count, 2);
    assert_int_equal(s.negatives.keys.len, 2 * (4 + 4));
    assert_false(is_there(&s, "gen-2"));
    stored_check(&s);

    r.allow_negative = true;
    r.kept = 3;
    assert_int_equal(rebuild(&s, &r), DF_OK);
    stored_check(&s);
    stored_close(&s);
}

/* A crash before the swap leaves the new generation, after it the old. */
static void test_leftovers(void **state)
{
    struct rebuilding r = {
        .shards = 2, .high = "", .covered = "", .name = "", .keep = keep_all
    };
    struct stored s;

    (void)state;
    stored_open(&s, shape, 2);
    apply_three(&s);
    input_tree_text(s.path, "gen-2/shard-00.mdb", "unfinished");
    input_tree_text(s.path, "current.new",
                    "deltafold view format 2\ngeneration 2\n");
    stored_check(&s);
    rows_source_add_text(&s.run, "new", 1);
    r.kept = 3;
    assert_int_equal(rebuild(&s, &r), DF_OK);
    stored_check(&s);
    assert_true(is_there(&s, "gen-2"));

    input_tree_text(s.path, "gen-1/shard-00.mdb", "old");
    input_tree_text(s.path, "gen-1/pending.run", "old");
    stored_check(&s);
    rows_source_add_text(&s.run, "next", 1);
    assert_int_equal(stored_apply(&s, "night 4"), DF_OK);
    assert_false(is_there(&s, "gen-1"));
    stored_check(&s);
    stored_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_numbers_of_shards),
        cmocka_unit_test(test_ledger_is_carried_over),
        cmocka_unit_test(test_long_ledger),
        cmocka_unit_test(test_old_readers_keep_their_snapshot),
        cmocka_unit_test(test_failure_changes_nothing),
        cmocka_unit_test(test_leftovers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
