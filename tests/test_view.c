/* Views as directories: making, opening, locking, what may lie around. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "state/store.h"
#include "stored_view.h"

static const struct row_shape shape = { .components = 1 };

static struct view_definition definition_of(const char *text, unsigned shards)
{
    return (struct view_definition){ .text = bytes_of_string(text),
                                     .shape = shape,
                                     .shards = shards };
}

static enum df_status create(const char *path, struct df_error *err)
{
    struct view_definition d = definition_of("test 1", 2);

    return view_create(path, &d, err);
}

static enum df_status open_and_close(const char *path, enum view_access access,
                                     struct df_error *err)
{
    struct view *v;
    enum df_status status = view_open(&v, path, access, 0, err);

    assert_true((v != NULL) == (status == DF_OK));
    view_close(v);
    return status;
}

static void check_refused(const char *path, const char *why)
{
    struct df_error err;

    for (int access = VIEW_READ; access <= VIEW_WRITE; access++) {
        assert_int_equal(open_and_close(path, (enum view_access)access, &err),
                         DF_STATE);
        if (strstr(err.text, why) == NULL) {
            fail_msg("'%s' is not in: %s", why, err.text);
        }
    }
}

static bool is_there(const char *root, const char *name)
{
    return access(input_tree_path(root, name), F_OK) == 0;
}

/* ---- making ---- */

static void test_create_twice(void **state)
{
    struct stored s;

    (void)state;
    stored_open(&s, shape, 2);
    rows_source_add_text(&s.run, "a", 1);
    assert_int_equal(stored_apply(&s, "1"), DF_OK);
    assert_int_equal(create(s.path, &s.err), DF_STATE);
    assert_non_null(strstr(s.err.text, "there is a view already"));
    stored_check(&s);
    stored_close(&s);
}

static void test_create_where_others_are(void **state)
{
    static const char *const files[] = { "view/notes.txt", "view/tmp/mine",
                                         "view/gen-1/mine" };
    char root[INPUT_TREE_PATH];
    struct df_error err;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        input_tree_open(root);
        input_tree_text(root, files[i], "precious");
        assert_int_equal(create(input_tree_path(root, "view"), &err),
                         DF_STATE);
        assert_non_null(strstr(err.text, "not an empty directory"));
        assert_true(is_there(root, files[i]));
        assert_false(is_there(root, "view/lock"));
        input_tree_remove(root);
    }
}

static void test_create_in_an_impossible_place(void **state)
{
    char root[INPUT_TREE_PATH];
    struct df_error err;

    (void)state;
    input_tree_open(root);
    assert_int_equal(create(input_tree_path(root, "no/where"), &err),
                     DF_SYSTEM);
    input_tree_text(root, "file", "x");
    assert_int_equal(create(input_tree_path(root, "file"), &err), DF_STATE);
    input_tree_remove(root);
}

/* A crash in view_create leaves some of these; the next one takes it. */
static void test_create_after_a_crash(void **state)
{
    static const char *const left[] = { "view/lock", "view/tmp/x",
                                        "view/gen-1/shard-00.mdb",
                                        "view/gen-1/shard-01.mdb-lock",
                                        "view/current.new" };
    char root[INPUT_TREE_PATH];
    char path[INPUT_TREE_PATH];
    struct df_error err;

    (void)state;
    for (size_t n = 0; n <= 5; n++) {
        input_tree_open(root);
        (void)snprintf(path, sizeof path, "%s", input_tree_path(root, "view"));
        for (size_t i = 0; i < n; i++) {
            input_tree_text(root, left[i], i == 0 ? "" : "left over");
        }
        assert_int_equal(open_and_close(path, VIEW_WRITE, &err), DF_STATE);
        assert_int_equal(create(path, &err), DF_OK);
        assert_int_equal(open_and_close(path, VIEW_WRITE, &err), DF_OK);
        assert_int_equal(open_and_close(path, VIEW_READ, &err), DF_OK);
        assert_false(is_there(root, "view/current.new"));
        assert_false(is_there(root, "view/tmp/x"));
        input_tree_remove(root);
    }
}

static void test_odd_definitions(void **state)
{
    static uint8_t text[20000];
    static const size_t lens[] = { 0, 1, 255, 20000 };
    char root[INPUT_TREE_PATH];
    char path[INPUT_TREE_PATH];
    struct df_error err;
    struct view *v;

    (void)state;
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = (uint8_t)(255 - i % 256);
    }
    for (size_t i = 0; i < 4; i++) {
        struct view_definition d = {
            .text = bytes_of(text + 1, i == 3 ? lens[i] - 1 : lens[i]),
            .shape = { .has_element = i % 2 == 0, .components = 8 },
            .shards = i == 0 ? VIEW_SHARDS_MAX : 1,
        };
        const struct view_definition *found;

        input_tree_open(root);
        (void)snprintf(path, sizeof path, "%s",
                       input_tree_path(root, "a view\n%s"));
        assert_int_equal(view_create(path, &d, &err), DF_OK);
        assert_int_equal(view_open(&v, path, VIEW_READ, 0, &err), DF_OK);
        found = view_definition(v);
        assert_true(bytes_equal(found->text, d.text));
        assert_int_equal(found->shards, d.shards);
        assert_int_equal(found->shape.components, 8);
        assert_int_equal(found->shape.has_element, d.shape.has_element);
        assert_string_equal(view_path(v), path);
        assert_int_equal(view_recovered(v).len, 0);
        assert_true(view_disk_bytes(v) > 0);
        view_close(v);
        input_tree_remove(root);
    }
}

/* ---- damage ---- */

static void test_no_view(void **state)
{
    char root[INPUT_TREE_PATH];

    (void)state;
    input_tree_open(root);
    check_refused(input_tree_path(root, "nothing"), "no view here");
    check_refused(root, "no view here");
    assert_false(is_there(root, "lock"));
    input_tree_text(root, "file", "x");
    check_refused(input_tree_path(root, "file"), "no view here");
    input_tree_remove(root);
}

static void test_damaged_current(void **state)
{
    static const char head[] = "deltafold view format 1\ngeneration ";
    static const struct {
        const char *text;
        const char *why;
    } cases[] = {
        { "", "not a view this version can read" },
        { "deltafold view format 4\ngeneration 1\n", "not a view this" },
        { "?1\n", "is damaged" },
        { "1", "is damaged" },
        { "0\n", "is damaged" },
        { "x\n", "is damaged" },
        { "1 \n", "is damaged" },
        { "7\n", "generation 7 are missing" },
        { "99999999999999999999999\n", "are missing" },
    };
    struct stored s;

    (void)state;
    stored_open(&s, shape, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];

        (void)snprintf(text, sizeof text, "%s%s", i < 2 ? "" : head,
                       cases[i].text);
        input_tree_text(s.path, "current", text);
        check_refused(s.path, cases[i].why);
    }
    input_tree_text(s.path, "current",
                    "deltafold view format 1\ngeneration 1\n");
    stored_check(&s);
    stored_close(&s);
}

static void move(const char *root, const char *from, const char *to)
{
    char path[INPUT_TREE_PATH];

    (void)snprintf(path, sizeof path, "%s", input_tree_path(root, from));
    assert_int_equal(rename(path, input_tree_path(root, to)), 0);
}

static void test_missing_shard(void **state)
{
    struct stored s;

    (void)state;
    stored_open(&s, shape, 3);
    for (int i = 0; i < 3; i++) {
        char name[64];

        (void)snprintf(name, sizeof name, "gen-1/shard-0%d.mdb", i);
        move(s.path, name, "away");
        check_refused(s.path, "missing");
        /* Nothing was made in its place. */
        assert_false(is_there(s.path, name));
        move(s.path, "away", name);
    }
    stored_check(&s);
    stored_close(&s);
}

/* Files of another definition, of another place in the view, of another
 * batch. */
static void test_foreign_shards(void **state)
{
    struct stored s;
    struct stored other;
    struct view_definition d = definition_of("test 2", 3);
    char path[INPUT_TREE_PATH];

    (void)state;
    stored_open(&s, shape, 3);
    (void)snprintf(path, sizeof path, "%s", input_tree_path(s.root, "two"));
    assert_int_equal(view_create(path, &d, &s.err), DF_OK);
    move(s.root, "view/gen-1/shard-01.mdb", "away");
    move(s.root, "two/gen-1/shard-01.mdb", "view/gen-1/shard-01.mdb");
    check_refused(s.path, "shard 1 is not of this view");
    move(s.root, "view/gen-1/shard-02.mdb", "view/gen-1/shard-01.mdb");
    move(s.root, "away", "view/gen-1/shard-02.mdb");
    check_refused(s.path, "shard 1 is not of this view");
    stored_close(&s);

    /* Of another age: only the batch number tells. */
    stored_open(&s, shape, 3);
    stored_open(&other, shape, 3);
    rows_source_add_text(&s.run, "a", 1);
    assert_int_equal(stored_apply(&s, "1"), DF_OK);
    (void)snprintf(path, sizeof path, "%s",
                   stored_file(&s, "gen-1/shard-02.mdb"));
    assert_int_equal(rename(stored_file(&other, "gen-1/shard-02.mdb"), path),
                     0);
    assert_int_equal(open_and_close(s.path, VIEW_WRITE, &s.err), DF_STATE);
    assert_non_null(strstr(s.err.text, "shard 2 is at batch 0"));
    stored_close(&other);
    stored_close(&s);
}

static void test_shards_that_are_no_stores(void **state)
{
    struct stored s;
    struct df_error err;

    (void)state;
    stored_open(&s, shape, 2);
    input_tree_text(s.path, "gen-1/shard-01.mdb", "");
    check_refused(s.path, "not a store");
    input_tree_text(s.path, "gen-1/shard-01.mdb", "some words");
    check_refused(s.path, "shard-01.mdb");
    assert_int_equal(unlink(stored_file(&s, "gen-1/shard-01.mdb")), 0);
    input_tree_directory(s.path, "gen-1/shard-01.mdb");
    check_refused(s.path, "not a store");
    stored_close(&s);

    /* A store without the tables of a view. */
    stored_open(&s, shape, 1);
    {
        struct store *bare;

        assert_int_equal(unlink(stored_file(&s, "gen-1/shard-00.mdb")), 0);
        assert_int_equal(store_open(&bare,
                                    stored_file(&s, "gen-1/shard-00.mdb"),
                                    STORE_WRITE, NULL, &err),
                         DF_OK);
        store_close(bare);
    }
    check_refused(s.path, "damaged");
    stored_close(&s);
}

/* ---- leftovers ---- */

static void test_leftovers_are_removed(void **state)
{
    struct stored s;

    (void)state;
    stored_open(&s, shape, 1);
    input_tree_text(s.path, "tmp/spill", "x");
    input_tree_text(s.path, "gen-2/shard-00.mdb", "half a rebuild");
    input_tree_text(s.path, "gen-17/shard-00.mdb", "x");
    input_tree_text(s.path, "gen-1x/keep", "not ours");
    input_tree_text(s.path, "notes.txt", "not ours");
    stored_check(&s);
    assert_true(is_there(s.path, "tmp/spill")); /* a reader changes nothing */
    assert_int_equal(open_and_close(s.path, VIEW_WRITE, &s.err), DF_OK);
    assert_false(is_there(s.path, "tmp/spill"));
    assert_true(is_there(s.path, "tmp"));
    assert_false(is_there(s.path, "gen-2"));
    assert_false(is_there(s.path, "gen-17"));
    assert_true(is_there(s.path, "gen-1x/keep"));
    assert_true(is_there(s.path, "notes.txt"));
    stored_check(&s);
    stored_close(&s);
}

static void test_lost_scratch_and_lock_are_made_again(void **state)
{
    struct stored s;

    (void)state;
    stored_open(&s, shape, 1);
    assert_int_equal(rmdir(stored_file(&s, "tmp")), 0);
    assert_int_equal(unlink(stored_file(&s, "lock")), 0);
    stored_check(&s);
    rows_source_add_text(&s.run, "a", 1);
    assert_int_equal(stored_apply(&s, "1"), DF_OK);
    stored_check(&s);
    stored_close(&s);
}

/* ---- the lock ---- */

/* A process that has the view open for writing for a while. Returns when it
 * has. */
static pid_t other_writer(const char *path, long milliseconds)
{
    const struct timespec pause = { .tv_sec = milliseconds / 1000,
                                    .tv_nsec = milliseconds % 1000000000 };
    char byte;
    int ends[2];
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct view *v;
        struct df_error err;

        if (view_open(&v, path, VIEW_WRITE, 0, &err) != DF_OK ||
            write(ends[1], "", 1) != 1) {
            _exit(1);
        }
        (void)nanosleep(&pause, NULL);
        view_close(v);
        _exit(0);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return child;
}

static void test_lock(void **state)
{
    struct stored s;
    struct view *v;
    char holder[32];
    int64_t begun = clock_us();
    pid_t other;

    (void)state;
    stored_open(&s, shape, 2);
    other = other_writer(s.path, 2500);
    (void)snprintf(holder, sizeof holder, "process %ld)", (long)other);
    begun = clock_us();
    assert_int_equal(open_and_close(s.path, VIEW_WRITE, &s.err), DF_STATE);
    assert_true(clock_us() - begun < 900000);
    assert_non_null(strstr(s.err.text, holder));
    assert_int_equal(create(s.path, &s.err), DF_STATE);
    /* Readers do not mind. */
    stored_check(&s);

    begun = clock_us();
    assert_int_equal(view_open(&v, s.path, VIEW_WRITE, 1, &s.err), DF_STATE);
    assert_true(clock_us() - begun >= 1000000);
    assert_non_null(strstr(s.err.text, holder));

    /* Waiting long enough helps. */
    assert_int_equal(view_open(&v, s.path, VIEW_WRITE, 60, &s.err), DF_OK);
    view_close(v);
    assert_int_equal(waitpid(other, NULL, 0), other);
    stored_close(&s);
}

/* The lock dies with its process, whatever the file says. */
static void test_lock_of_a_dead_process(void **state)
{
    struct stored s;
    pid_t other;

    (void)state;
    stored_open(&s, shape, 1);
    other = other_writer(s.path, 60000);
    assert_int_equal(kill(other, SIGKILL), 0);
    assert_int_equal(waitpid(other, NULL, 0), other);
    rows_source_add_text(&s.run, "a", 1);
    assert_int_equal(stored_apply(&s, "1"), DF_OK);
    stored_check(&s);
    stored_close(&s);
}

/* ---- rights ---- */

/* Ends the process. */
static void meet_refusals(void)
{
    struct stored s;

    stored_open(&s, shape, 1);
    assert_int_equal(chmod(s.root, 0555), 0);
    assert_int_equal(create(input_tree_path(s.root, "new"), &s.err),
                     DF_SYSTEM);
    assert_int_equal(chmod(s.root, 0755), 0);
    assert_int_equal(chmod(stored_file(&s, "lock"), 0444), 0);
    assert_int_equal(open_and_close(s.path, VIEW_WRITE, &s.err), DF_SYSTEM);
    assert_non_null(strstr(s.err.text, "no permission"));
    assert_int_equal(chmod(stored_file(&s, "lock"), 0644), 0);
    assert_int_equal(chmod(stored_file(&s, "gen-1/shard-00.mdb"), 0444), 0);
    assert_int_equal(open_and_close(s.path, VIEW_WRITE, &s.err), DF_SYSTEM);
    assert_int_equal(open_and_close(s.path, VIEW_READ, &s.err), DF_OK);
    assert_int_equal(chmod(stored_file(&s, "gen-1/shard-00.mdb"), 0), 0);
    assert_int_equal(open_and_close(s.path, VIEW_READ, &s.err), DF_SYSTEM);
    assert_non_null(strstr(s.err.text, "shard-00.mdb"));
    assert_int_equal(chmod(stored_file(&s, "current"), 0), 0);
    assert_int_equal(open_and_close(s.path, VIEW_READ, &s.err), DF_SYSTEM);
    assert_non_null(strstr(s.err.text, "current"));
    stored_close(&s);
    _exit(0);
}

/* Root may write anywhere: as nobody then, in a process of its own. Where an
 * assertion fails there, that process does not end with 0. */
static void test_missing_rights(void **state)
{
    const uid_t nobody = 65534;
    int status = -1;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && setresuid(nobody, nobody, nobody) != 0) {
            _exit(77);
        }
        meet_refusals();
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        skip();
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create_twice),
        cmocka_unit_test(test_create_where_others_are),
        cmocka_unit_test(test_create_in_an_impossible_place),
        cmocka_unit_test(test_create_after_a_crash),
        cmocka_unit_test(test_odd_definitions),
        cmocka_unit_test(test_no_view),
        cmocka_unit_test(test_damaged_current),
        cmocka_unit_test(test_missing_shard),
        cmocka_unit_test(test_foreign_shards),
        cmocka_unit_test(test_shards_that_are_no_stores),
        cmocka_unit_test(test_leftovers_are_removed),
        cmocka_unit_test(test_lost_scratch_and_lock_are_made_again),
        cmocka_unit_test(test_lock),
        cmocka_unit_test(test_lock_of_a_dead_process),
        cmocka_unit_test(test_missing_rights),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
