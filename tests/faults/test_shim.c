/* The shim itself: what a probe's files look like after each kind of fault.
 * FAULTS_SHIM and FAULTS_PROBE name the two. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/faults/process.h"
#include "tests/faults/tree.h"

static char *work;

static int setup(void **state)
{
    char *root;

    (void)state;
    work = tree_temporary();
    root = text("%s/root", work);
    tree_make(root);
    free(root);
    root = text("%s/attic", work);
    tree_make(root);
    free(root);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tree_remove(work);
    free(work);
    return 0;
}

static void given(const char *name, const char *content)
{
    char *path = text("%s/root/%s", work, name);

    tree_write(path, content);
    free(path);
}

/* The file holds this; NULL: there is none. */
static void expect(const char *name, const char *content)
{
    char *path = text("%s/root/%s", work, name);
    char *found = tree_read(path);

    if (content == NULL) {
        assert_null(found);
    } else {
        assert_non_null(found);
        assert_string_equal(found, content);
    }
    free(found);
    free(path);
}

enum { ARGS_MAX = 40 };

/* Splits `script` at blanks; "@x" is x below the root. */
static void script_args(const char *script, const char *argv[ARGS_MAX])
{
    char *copy = text("%s", script);
    char *rest = copy;
    char *word;
    size_t n = 1;

    while ((word = strsep(&rest, " ")) != NULL) {
        assert_true(n + 1 < ARGS_MAX);
        argv[n++] = word[0] == '@' ? text("%s/root/%s", work, word + 1)
                                   : text("%s", word);
    }
    argv[n] = NULL;
    free(copy);
}

static struct outcome probe(const char *mode, unsigned at, unsigned seed,
                            const char *script)
{
    const char *argv[ARGS_MAX] = { getenv("FAULTS_PROBE") };
    const char *env[] = { text("LD_PRELOAD=%s", getenv("FAULTS_SHIM")),
                          text("FAULT_ROOT=%s/root", work),
                          text("FAULT_ATTIC=%s/attic", work),
                          text("FAULT_REPORT=%s/report", work),
                          text("FAULT_MODE=%s", mode),
                          text("FAULT_AT=%u", at),
                          text("FAULT_SEED=%u", seed),
                          NULL };
    struct outcome o;

    script_args(script, argv);
    process_run(&o, argv, env);
    for (size_t i = 1; argv[i] != NULL; i++) {
        free((char *)(uintptr_t)argv[i]);
    }
    for (size_t i = 0; env[i] != NULL; i++) {
        free((char *)(uintptr_t)env[i]);
    }
    return o;
}

static void probe_dies(const char *mode, unsigned at, unsigned seed,
                       const char *script)
{
    struct outcome o = probe(mode, at, seed, script);

    assert_int_equal(o.signal, SIGKILL);
    outcome_fini(&o);
}

static void probe_says(const char *mode, unsigned at, const char *script,
                       const char *said)
{
    struct outcome o = probe(mode, at, 0, script);

    assert_int_equal(o.exit_code, 0);
    assert_string_equal(o.out, said);
    outcome_fini(&o);
}

static void counts_what_lies_below_the_root(void **state)
{
    char *report = text("%s/report", work);
    char *outside = text("append %s/outside x append @a x sync @a "
                         "rename @a @b unlink @b",
                         work);
    char *said;

    (void)state;
    probe_says("count", 0, outside, "");
    said = tree_read(report);
    assert_non_null(said);
    /* Creation, write, sync, rename, unlink. */
    assert_memory_equal(said, "calls 5 ", 8);
    assert_non_null(strstr(said, "fired 0"));
    free(said);
    free(outside);
    free(report);
}

static void kill_comes_before_the_call(void **state)
{
    (void)state;
    given("a", "old");
    probe_dies("kill", 2, 0, "write @a 0 new write @a 0 xxx");
    expect("a", "new");
}

static void partial_kill_writes_a_beginning(void **state)
{
    bool seen[5] = { false };

    (void)state;
    for (unsigned seed = 1; seed <= 40; seed++) {
        char *path = text("%s/root/a", work);
        char *found;

        given("a", "----");
        probe_dies("partial", 1, seed, "write @a 0 abcd");
        found = tree_read(path);
        assert_non_null(found);
        assert_int_equal(strlen(found), 4);
        size_t n = strspn(found, "abcd");
        assert_memory_equal(found, "abcd", n);
        assert_memory_equal(found + n, "----", 4 - n);
        seen[n] = true;
        free(found);
        free(path);
    }
    assert_true(seen[0] && seen[1] && seen[2] && seen[3] && seen[4]);
}

static void fails_once_or_for_ever(void **state)
{
    (void)state;
    given("a", "");
    probe_says("enospc", 2, "write @a 0 x write @a 0 y write @a 0 z unlink @a",
               "2: ENOSPC\n");
    given("a", "");
    probe_says("eio", 2, "write @a 0 x sync @a write @a 0 z", "2: EIO\n");
    assert_int_equal(setenv("FAULT_STICKY", "1", 1), 0);
    probe_says("enospc", 2, "write @a 0 x write @a 0 y write @a 0 z unlink @a",
               "2: ENOSPC\n3: ENOSPC\n");
    assert_int_equal(unsetenv("FAULT_STICKY"), 0);
}

static void short_write_writes_half(void **state)
{
    (void)state;
    given("a", "");
    probe_says("short", 1, "write @a 0 abcd", "1: EAGAIN\n");
    expect("a", "ab");
}

static void nth_allocation_fails(void **state)
{
    /* The probe allocates nothing else before the first failure's line. */
    struct outcome all = probe("nomem", 1000000, 0, "allocate 10 allocate 20");
    unsigned failed = 0;

    (void)state;
    assert_string_equal(all.out, "");
    outcome_fini(&all);
    for (unsigned at = 1; at <= 10; at++) {
        struct outcome o = probe("nomem", at, 0, "allocate 10 allocate 20");

        failed += strcmp(o.out, "1: ENOMEM\n") == 0 ||
                  strcmp(o.out, "2: ENOMEM\n") == 0;
        outcome_fini(&o);
    }
    assert_int_equal(failed, 2);
}

static void power_cut_takes_back_writes(void **state)
{
    (void)state;
    given("a", "0123456789");
    probe_dies("powercut", 3, 0, "write @a 2 xx write @a 8 yyyy write @a 0 z");
    expect("a", "0123456789");
}

static void power_cut_keeps_what_was_synced(void **state)
{
    (void)state;
    given("a", "0123456789");
    probe_dies("powercut", 4, 0,
               "write @a 2 xx sync @a write @a 8 yyyy write @a 0 z");
    expect("a", "01xx456789");
}

static void synced_writes_last_among_unsynced(void **state)
{
    (void)state;
    given("a", "0123456789");
    probe_dies("powercut", 4, 0,
               "write @a 0 abc dsync @a 1 XY write @a 9 long write @a 0 z");
    expect("a", "0XY3456789");
}

static void synced_write_may_lengthen(void **state)
{
    (void)state;
    given("a", "01");
    probe_dies("powercut", 3, 0, "write @a 0 abcd dsync @a 4 XY write @a 0 z");
    /* Bytes 2 and 3 were never synced: the disk has a hole there. */
    {
        char *path = text("%s/root/a", work);
        char *found = tree_read(path);

        assert_non_null(found);
        assert_string_equal(found, "01"); /* up to the hole's zeros */
        free(found);
        free(path);
    }
}

static void power_cut_takes_back_truncation(void **state)
{
    (void)state;
    given("a", "0123456789");
    probe_dies("powercut", 3, 0, "truncate @a 3 write @a 3 x unlink @a");
    expect("a", "0123456789");
}

static void new_name_lasts_only_by_its_directory(void **state)
{
    (void)state;
    probe_dies("powercut", 4, 0, "append @a one sync @a unlink @a");
    expect("a", NULL);
    probe_dies("powercut", 5, 0, "append @b one sync @b sync @ unlink @b");
    expect("b", "one");
}

static void power_cut_takes_back_rename(void **state)
{
    (void)state;
    given("a", "new");
    given("b", "old");
    probe_dies("powercut", 2, 0, "rename @a @b write @b 0 x");
    expect("a", "new");
    expect("b", "old");
    probe_dies("powercut", 3, 0, "rename @a @b sync @ write @b 0 x");
    expect("a", NULL);
    expect("b", "new");
}

static void power_cut_takes_back_unlink_and_mkdir(void **state)
{
    (void)state;
    given("a", "content");
    probe_dies("powercut", 5, 0,
               "unlink @a mkdir @d append @d/f x write @d/f 0 y");
    expect("a", "content");
    expect("d/f", NULL);
}

static void renamed_twice_goes_back_twice(void **state)
{
    (void)state;
    given("a", "1");
    given("c", "3");
    probe_dies("powercut", 4, 0,
               "rename @a @b rename @b @c unlink @c mkdir @d");
    expect("a", "1");
    expect("b", NULL);
    expect("c", "3");
}

/* Each of two unsynced pages is lost or kept by itself, so all four
 * outcomes must be seen; the synced part never suffers. */
static void random_cut_loses_pages_one_by_one(void **state)
{
    unsigned seen[2][2] = { { 0 } };
    char *blank = malloc(8193);

    (void)state;
    assert_non_null(blank);
    memset(blank, '.', 8192);
    blank[8192] = '\0';
    for (unsigned seed = 1; seed <= 60; seed++) {
        char *path = text("%s/root/a", work);
        char *found;

        given("a", blank);
        probe_dies("powercut-random", 5, seed,
                   "write @a 100 S sync @a write @a 0 x write @a 4096 y "
                   "write @a 8000 z");
        found = tree_read(path);
        assert_non_null(found);
        assert_int_equal(strlen(found), 8192);
        assert_int_equal(found[100], 'S');
        assert_true((found[4096] == 'y') == (found[8000] == 'z'));
        seen[found[0] == 'x'][found[4096] == 'y']++;
        free(found);
        free(path);
    }
    assert_true(seen[0][0] && seen[0][1] && seen[1][0] && seen[1][1]);
    free(blank);
}

static void random_cut_keeps_the_order_of_directories(void **state)
{
    unsigned seen[4] = { 0 };

    (void)state;
    for (unsigned seed = 1; seed <= 60; seed++) {
        char *a = text("%s/root/a", work);
        char *b = text("%s/root/b", work);
        char *first;
        char *second;

        given("a", "1");
        given("b", "2");
        probe_dies("powercut-random", 2, seed, "unlink @a unlink @b");
        first = tree_read(a);
        second = tree_read(b);
        seen[(first == NULL) * 2 + (second == NULL)]++;
        free(first);
        free(second);
        free(a);
        free(b);
    }
    assert_int_equal(seen[1], 0); /* b gone but not a: out of order */
    assert_true(seen[0] && seen[2] && seen[3]);
}

static void power_goes_when_the_program_ends(void **state)
{
    (void)state;
    given("a", "old");
    probe_says("powercut", 1000, "write @a 0 new", "");
    expect("a", "old");
    probe_says("powercut", 1000, "write @a 0 new sync @a", "");
    expect("a", "new");
}

int main(void)
{
#define SHIM_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        SHIM_TEST(counts_what_lies_below_the_root),
        SHIM_TEST(kill_comes_before_the_call),
        SHIM_TEST(partial_kill_writes_a_beginning),
        SHIM_TEST(fails_once_or_for_ever),
        SHIM_TEST(short_write_writes_half),
        SHIM_TEST(nth_allocation_fails),
        SHIM_TEST(power_cut_takes_back_writes),
        SHIM_TEST(power_cut_keeps_what_was_synced),
        SHIM_TEST(synced_writes_last_among_unsynced),
        SHIM_TEST(synced_write_may_lengthen),
        SHIM_TEST(power_cut_takes_back_truncation),
        SHIM_TEST(new_name_lasts_only_by_its_directory),
        SHIM_TEST(power_cut_takes_back_rename),
        SHIM_TEST(power_cut_takes_back_unlink_and_mkdir),
        SHIM_TEST(renamed_twice_goes_back_twice),
        SHIM_TEST(random_cut_loses_pages_one_by_one),
        SHIM_TEST(random_cut_keeps_the_order_of_directories),
        SHIM_TEST(power_goes_when_the_program_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
