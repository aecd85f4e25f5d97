/* Batch directories: input/batch.h. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "deltafold/job.h"
#include "input/batch.h"
#include "input/walk.h"
#include "tests/input_tree.h"

static char root[INPUT_TREE_PATH];

static int set_up(void **state)
{
    (void)state;
    input_tree_open(root);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    input_tree_remove(root);
    return 0;
}

/* A path below root in room of its own. */
static const char *at(const char *path)
{
    static char room[8][2 * INPUT_TREE_PATH];
    static unsigned next;
    char *full = room[next++ % 8];

    (void)snprintf(full, sizeof room[0], "%s/%s", root, path);
    return full;
}

static void put(const char *path, const char *text)
{
    input_tree_text(root, path, text);
}

/* From one to more than there may be lanes, in turns: what is found does not
 * depend on it. */
static unsigned threads(void)
{
    static unsigned calls;

    return 1 + calls++ % (WALK_LANES_MAX + 1);
}

static void scan(struct batch *b, const char *path)
{
    struct df_error err = { "" };
    enum df_status status = batch_scan(b, at(path), threads(), &err);

    if (status != DF_OK) {
        fail_msg("%s", err.text);
    }
}

/* The batch is refused, and the message has the words. */
static void check_refused(const char *path, const char *names, const char *why)
{
    struct df_error err = { "" };
    struct batch b;

    assert_int_equal(batch_scan(&b, at(path), threads(), &err), DF_INPUT);
    if (strstr(err.text, at(names)) != err.text ||
        strstr(err.text, why) == NULL) {
        fail_msg("message is: %s", err.text);
    }
    assert_int_equal(b.file_count, 0);
    assert_null(b.files);
    assert_null(b.owned);
}

static void check_file(const struct batch *b, size_t i, const char *path,
                       const char *id)
{
    assert_true(i < b->file_count);
    assert_string_equal(b->files[i].path, path);
    assert_int_equal(b->files[i].id.len, strlen(id));
    assert_memory_equal(b->files[i].id.data, id, strlen(id));
}

static void check_notice(const struct batch *b, size_t i, const char *path,
                         const char *why)
{
    assert_true(i < b->notice_count);
    assert_string_equal(b->notices[i].path, path);
    assert_string_equal(b->notices[i].why, why);
}

/* ---- scanning ---------------------------------------------------------- */

static void test_files_are_in_order(void **state)
{
    struct batch b;
    struct stat st;

    (void)state;
    put("n1/inserted/b", "bb");
    put("n1/inserted/a/z", "");
    put("n1/inserted/a-1", "1");
    put("n1/inserted/a.txt", "1");
    put("n1/deleted/z", "old");
    put("n1/_SUCCESS", "");
    scan(&b, "n1/");
    assert_string_equal(b.name, "n1");
    assert_string_equal(b.path, at("n1"));
    assert_true(b.has_marker);
    assert_int_equal(b.file_count, 5);
    assert_int_equal(b.notice_count, 0);
    check_file(&b, 0, "deleted/z", "z");
    check_file(&b, 1, "inserted/a-1", "a-1");
    check_file(&b, 2, "inserted/a.txt", "a.txt");
    check_file(&b, 3, "inserted/a/z", "a/z");
    check_file(&b, 4, "inserted/b", "b");
    assert_int_equal(b.files[0].section, BATCH_DELETED);
    assert_int_equal(b.files[1].section, BATCH_INSERTED);
    assert_int_equal(b.files[4].length, 2);
    assert_int_equal(stat(at("n1/inserted/b"), &st), 0);
    assert_int_equal(b.files[4].mtime / 1000000000, st.st_mtim.tv_sec);
    assert_int_equal(b.files[4].mtime % 1000000000, st.st_mtim.tv_nsec);
    assert_true(hash128_equal(b.files[4].hash, (struct hash128){ 0, 0 }));
    batch_fini(&b);
    batch_fini(&b);
}

static void test_empty_batch(void **state)
{
    struct batch b;

    (void)state;
    input_tree_directory(root, "empty");
    scan(&b, "empty");
    assert_int_equal(b.file_count, 0);
    assert_false(b.has_marker);
    batch_fini(&b);
    input_tree_directory(root, "e2/inserted/a/b");
    scan(&b, "e2");
    assert_int_equal(b.file_count, 0);
    batch_fini(&b);
}

static void test_left_out(void **state)
{
    struct batch b;

    (void)state;
    put("b/inserted/good.txt", "x");
    put("b/inserted/_under.txt", "x");
    put("b/inserted/_SUCCESS", "x");
    put("b/inserted/nl\nname.txt", "x");
    put("b/inserted/tmp", "x");
    put("b/inserted/.hidden.txt", "x");
    put("b/inserted/a.txt~", "x");
    put("b/inserted/b.tmp", "x");
    put("b/inserted/c.part", "x");
    put("b/inserted/d.partial", "x");
    put("b/inserted/e._COPYING_", "x");
    put("b/inserted/.git/config", "x");
    put("b/inserted/dir.tmp/f.txt", "x");
    put("b/.DS_Store", "x");
    put("b/lost+found/x", "x");
    input_tree_link(root, "b/inserted/link.txt", "good.txt");
    input_tree_link(root, "b/inserted/loop", ".");
    input_tree_link(root, "b/inserted/.#lock", "me@host.1:2");
    input_tree_link(root, "b/insert", "inserted");
    scan(&b, "b");
    assert_false(b.has_marker);
    assert_int_equal(b.file_count, 5);
    check_file(&b, 0, "inserted/_SUCCESS", "_SUCCESS");
    check_file(&b, 1, "inserted/_under.txt", "_under.txt");
    check_file(&b, 2, "inserted/good.txt", "good.txt");
    check_file(&b, 3, "inserted/nl\nname.txt", "nl\nname.txt");
    check_file(&b, 4, "inserted/tmp", "tmp");
    assert_int_equal(b.notice_count, 14);
    check_notice(&b, 0, ".DS_Store", "begins with a dot");
    check_notice(&b, 1, "insert", "symbolic link");
    check_notice(&b, 2, "inserted/.#lock", "begins with a dot");
    check_notice(&b, 3, "inserted/.git", "begins with a dot");
    check_notice(&b, 4, "inserted/.hidden.txt", "begins with a dot");
    check_notice(&b, 5, "inserted/a.txt~", "ends in ~");
    check_notice(&b, 6, "inserted/b.tmp", "ends in .tmp");
    check_notice(&b, 7, "inserted/c.part", "ends in .part");
    check_notice(&b, 8, "inserted/d.partial", "ends in .partial");
    check_notice(&b, 9, "inserted/dir.tmp", "ends in .tmp");
    check_notice(&b, 10, "inserted/e._COPYING_", "ends in ._COPYING_");
    check_notice(&b, 11, "inserted/link.txt", "symbolic link");
    check_notice(&b, 12, "inserted/loop", "symbolic link");
    check_notice(&b, 13, "lost+found", "belongs to the file system");
    batch_fini(&b);
}

static void make_socket(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path);
    assert_int_equal(
        bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    (void)close(fd);
}

static void test_refused(void **state)
{
    (void)state;
    input_tree_directory(root, "l/inserted");
    input_tree_link(root, "l/inserted/to\nnothing", "/nonexistent/x");
    check_refused("l", "l/inserted/to\\nnothing", "dangling");
    input_tree_directory(root, "s/deleted/deep");
    input_tree_link(root, "s/deleted/deep/self", "self");
    check_refused("s", "s/deleted/deep/self", "dangling");
    input_tree_directory(root, "f/inserted");
    assert_int_equal(mkfifo(at("f/inserted/pipe.txt"), 0666), 0);
    check_refused("f", "f/inserted/pipe.txt", "FIFO");
    input_tree_directory(root, "k/inserted");
    make_socket(at("k/inserted/s"));
    check_refused("k", "k/inserted/s", "socket");
    input_tree_directory(root, "real");
    input_tree_directory(root, "c");
    input_tree_link(root, "c/inserted", "../real");
    check_refused("c", "c/inserted", "symbolic link");
    put("d/deleted", "x");
    check_refused("d", "d/deleted", "directory");
    input_tree_directory(root, "m/manifest.tsv");
    check_refused("m", "m/manifest.tsv", "file");
    input_tree_directory(root, "y/_SUCCESS");
    check_refused("y", "y/_SUCCESS", "file");
    put("i/insert/a.txt", "x");
    put("i/inserted/b.txt", "x");
    check_refused("i", "i/insert", "does not belong");
    put("r/README", "x");
    check_refused("r", "r/README", "does not belong");
    put("u/updated/a", "x");
    check_refused("u", "u/updated", "under deleted/");
    put("t/deleted.txt", "x");
    check_refused("t", "t/deleted.txt", "under deleted/");
    check_refused("nothing", "nothing", "No such file");
    put("plain", "x");
    check_refused("plain", "plain", "Not a directory");
}

/* Of many bad files the lowest path is named, in whatever order the
 * directories list them: one after the other, as each is taken away. */
static void test_lowest_is_refused(void **state)
{
    static const char *const sorted[] = {
        "x/deleted/n/a",       "x/deleted/n/m",  "x/deleted/z",
        "x/inserted/B",        "x/inserted/a.b", "x/inserted/a/a/z",
        "x/inserted/a/b",      "x/inserted/a0",  "x/inserted/m/1",
        "x/inserted/m/10",     "x/inserted/m/2", "x/inserted/zz",
        "x/inserted/\xC3\xA4",
    };
    const size_t n = sizeof sorted / sizeof sorted[0];

    (void)state;
    input_tree_directory(root, "x/deleted/n");
    input_tree_directory(root, "x/inserted/a/a");
    input_tree_directory(root, "x/inserted/m");
    for (size_t i = 0; i < n; i++) {
        /* 5 and n have no common divisor. */
        assert_int_equal(mkfifo(at(sorted[i * 5 % n]), 0666), 0);
    }
    for (size_t i = 0; i < n; i++) {
        check_refused("x", sorted[i], "FIFO");
        assert_int_equal(unlink(at(sorted[i])), 0);
    }
    put("y/zebra", "x");
    put("y/apple", "x");
    put("y/horse", "x");
    check_refused("y", "y/apple", "does not belong");
}

static void test_unreadable(void **state)
{
    (void)state;
    if (geteuid() == 0) {
        skip();
    }
    input_tree_directory(root, "p/inserted/secret");
    assert_int_equal(chmod(at("p/inserted/secret"), 0), 0);
    check_refused("p", "p/inserted/secret", "Permission denied");
    assert_int_equal(chmod(at("p/inserted/secret"), 0777), 0);
}

static void test_device(void **state)
{
    struct df_error err;
    struct batch b;

    (void)state;
    assert_int_equal(batch_scan_tree(&b, "/dev", threads(), &err), DF_INPUT);
    assert_int_equal(strncmp(err.text, "/dev/", 5), 0);
}

static void test_descriptors_run_out(void **state)
{
    struct rlimit old;
    struct rlimit none;
    struct df_error err;
    struct batch b;

    (void)state;
    put("b/inserted/a", "x");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(batch_scan(&b, at("b"), threads(), &err), DF_SYSTEM);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_non_null(strstr(err.text, "Too many open files"));
}

/* A directory in a directory in a directory. */
static void dig(const char *from, unsigned depth, const char *name,
                const char *file)
{
    int fd = open(from, O_RDONLY | O_DIRECTORY);
    int created;

    for (unsigned i = 0; i < depth; i++) {
        int next;

        assert_int_equal(mkdirat(fd, name, 0777), 0);
        next = openat(fd, name, O_RDONLY | O_DIRECTORY);
        assert_true(next >= 0);
        (void)close(fd);
        fd = next;
    }
    created = openat(fd, file, O_WRONLY | O_CREAT, 0666);
    assert_true(created >= 0);
    (void)close(created);
    (void)close(fd);
}

static void test_deep_and_wide_with_few_descriptors(void **state)
{
    enum { DEPTH = 1900, WIDE = 300 };
    struct rlimit old;
    struct rlimit few;
    struct batch b;
    char name[64];

    (void)state;
    input_tree_directory(root, "b/inserted");
    dig(at("b/inserted"), DEPTH, "d", "f");
    for (int i = 0; i < WIDE; i++) {
        (void)snprintf(name, sizeof name, "b/inserted/w/%d/f", i);
        put(name, "");
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = old;
    few.rlim_cur = 16;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    scan(&b, "b");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(b.file_count, WIDE + 1);
    assert_int_equal(strlen(b.files[0].path), 9 + 2 * DEPTH + 1);
    batch_fini(&b);
}

static void test_path_too_long(void **state)
{
    char name[201];

    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    input_tree_directory(root, "b/inserted");
    dig(at("b/inserted"), 30, name, "f");
    check_refused("b", "b/inserted/nnn", "path longer than");
}

static void test_names_of_batches(void **state)
{
    char here[INPUT_TREE_PATH];
    struct df_error err;
    struct batch b;

    (void)state;
    input_tree_directory(root, "2026-11-29/inserted");
    input_tree_link(root, "latest", "2026-11-29");
    scan(&b, "latest//");
    assert_string_equal(b.name, "latest");
    batch_fini(&b);
    scan(&b, "2026-11-29/inserted/..");
    assert_string_equal(b.name, "2026-11-29");
    batch_fini(&b);
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(at("2026-11-29")), 0);
    assert_int_equal(batch_scan(&b, ".", threads(), &err), DF_OK);
    assert_string_equal(b.name, "2026-11-29");
    assert_string_equal(b.path, ".");
    batch_fini(&b);
    assert_int_equal(chdir(here), 0);
}

static void test_plain_directory(void **state)
{
    struct df_error err;
    struct batch b;

    (void)state;
    put("docs/inserted/a", "x");
    put("docs/b", "x");
    put("docs/x/manifest.tsv", "x");
    put("docs/x/_SUCCESS", "x");
    put("docs/_SUCCESS", "");
    put("docs/c.tmp", "");
    put("docs/manifest.tsv", "b\thttps://b/\ninserted/a\tA\n");
    assert_int_equal(batch_scan_tree(&b, at("docs"), threads(), &err), DF_OK);
    assert_int_equal(b.file_count, 4);
    check_file(&b, 0, "b", "https://b/");
    check_file(&b, 1, "inserted/a", "A");
    check_file(&b, 2, "x/_SUCCESS", "x/_SUCCESS");
    check_file(&b, 3, "x/manifest.tsv", "x/manifest.tsv");
    assert_int_equal(b.files[0].section, BATCH_INSERTED);
    assert_true(b.has_marker);
    assert_int_equal(b.notice_count, 1);
    batch_fini(&b);
    input_tree_link(root, "docs/gone", "nowhere");
    assert_int_equal(batch_scan_tree(&b, at("docs"), threads(), &err),
                     DF_INPUT);
    assert_non_null(strstr(err.text, "docs/gone: dangling"));
}

/* ---- manifest ---------------------------------------------------------- */

static void test_manifest(void **state)
{
    struct batch b;

    (void)state;
    put("b/inserted/a.html", "x");
    put("b/deleted/a.html", "x");
    put("b/inserted/b.html", "x");
    put("b/deleted/b.html", "x");
    put("b/inserted/t\ta\\b", "x");
    put("b/inserted/plain", "x");
    put("b/manifest.tsv", "\xEF\xBB\xBF"
                          "a.html\thttps://a/\r\n"
                          "t\\ta\\\\b\tid\\n\\r\n"
                          "inserted/b.html\tnew");
    scan(&b, "b");
    assert_int_equal(b.file_count, 6);
    check_file(&b, 0, "deleted/a.html", "https://a/");
    check_file(&b, 1, "deleted/b.html", "b.html");
    check_file(&b, 2, "inserted/a.html", "https://a/");
    check_file(&b, 3, "inserted/b.html", "new");
    check_file(&b, 4, "inserted/plain", "plain");
    check_file(&b, 5, "inserted/t\ta\\b", "id\n\r");
    batch_fini(&b);
    put("b/manifest.tsv", "");
    scan(&b, "b");
    check_file(&b, 3, "inserted/b.html", "b.html");
    batch_fini(&b);
}

static void test_manifest_refused(void **state)
{
    static const struct {
        const char *text;
        const char *line;
        const char *why;
    } cases[] = {
        { "a", "1", "one tab" },
        { "a\t1\n\n", "2", "one tab" },
        { "a\tb\tc\n", "1", "one tab" },
        { "\tid\n", "1", "path is empty" },
        { "a\t\r\n", "1", "id is empty" },
        { "a\t1\nzz\t2\n", "2", "'zz' names no document" },
        { "./a\t1\n", "1", "names no document" },
        { "deleted/b\t1\n", "1", "names no document" },
        { "inserted/\t1\n", "1", "names no document" },
        { "a\t1\nb\t3\na\t2\n", "3", "'a' is listed twice, in line 1 too" },
        { "a\t1\ninserted/a\t2\n", "2", "listed twice" },
        { "a\\x\t1\n", "1", "backslash" },
        { "a\t1\\\n", "1", "backslash" },
    };

    (void)state;
    put("b/inserted/a", "x");
    put("b/deleted/a", "x");
    put("b/inserted/b", "x");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char names[64];

        (void)snprintf(names, sizeof names,
                       "b/manifest.tsv:%s: ", cases[i].line);
        put("b/manifest.tsv", cases[i].text);
        check_refused("b", names, cases[i].why);
    }
    put("b/manifest.tsv", "b\ta\n");
    check_refused("b", "b/inserted/a", "same id as inserted/b: 'a'");
    put("b/manifest.tsv", "a\tX\nb\tX\n");
    check_refused("b", "b/inserted/a", "same id as inserted/b: 'X'");
}

static void test_manifest_long_ids(void **state)
{
    const size_t longest = DF_KEY_MAX;
    char *text = malloc(3 * longest);
    struct batch b;

    (void)state;
    assert_non_null(text);
    put("b/inserted/a", "x");
    memset(text, 'i', 3 * longest);
    memcpy(text, "a\t", 2);
    input_tree_file(root, "b/manifest.tsv", text, 2 + longest);
    scan(&b, "b");
    assert_int_equal(b.files[0].id.len, longest);
    batch_fini(&b);
    input_tree_file(root, "b/manifest.tsv", text, 2 + longest + 1);
    check_refused("b", "b/manifest.tsv:1: ", "longer than 65536");
    input_tree_file(root, "b/manifest.tsv", text, 3 * longest);
    check_refused("b", "b/manifest.tsv:1: ", "longer than any");
    free(text);
}

/* Lines fall across the ends of reads in every way. */
static void test_manifest_of_many(void **state)
{
    enum { FILES = 1500 };
    struct buf text = { 0 };
    struct batch b;
    char name[64];

    (void)state;
    for (unsigned i = 0; i < FILES; i++) {
        (void)snprintf(name, sizeof name, "b/inserted/%u", i);
        put(name, "");
        assert_true(buf_printf(&text, "%u\tid-%0*u\n", i,
                               (int)(i * 7919 % 50) + 1, i));
    }
    input_tree_file(root, "b/manifest.tsv", text.data, text.len);
    scan(&b, "b");
    assert_int_equal(b.file_count, FILES);
    for (size_t i = 0; i < FILES; i++) {
        unsigned n = (unsigned)atoi(b.files[i].path + strlen("inserted/"));

        (void)snprintf(name, sizeof name, "id-%0*u", (int)(n * 7919 % 50) + 1,
                       n);
        assert_int_equal(b.files[i].id.len, strlen(name));
        assert_memory_equal(b.files[i].id.data, name, strlen(name));
    }
    batch_fini(&b);
    buf_fini(&text);
}

/* ---- digest ------------------------------------------------------------ */

static struct hash128 digest_of(const struct batch *b)
{
    struct hash128 digest;
    struct df_error err;

    assert_int_equal(batch_digest(b, &digest, &err), DF_OK);
    return digest;
}

static void test_digest(void **state)
{
    struct batch a;
    struct batch b;

    (void)state;
    put("a/inserted/1", "x");
    put("a/inserted/2", "x");
    put("b/inserted/p", "x");
    put("b/inserted/q", "x");
    put("b/manifest.tsv", "p\t2\nq\t1\n");
    scan(&a, "a");
    scan(&b, "b");
    a.files[0].hash = b.files[1].hash = (struct hash128){ 1, 2 };
    a.files[1].hash = b.files[0].hash = (struct hash128){ 3, 4 };
    assert_true(hash128_equal(digest_of(&a), digest_of(&b)));
    b.files[0].hash.low++;
    assert_false(hash128_equal(digest_of(&a), digest_of(&b)));
    b.files[0].hash.low--;
    b.files[0].length++;
    assert_false(hash128_equal(digest_of(&a), digest_of(&b)));
    b.files[0].length--;
    b.files[0].section = BATCH_DELETED;
    assert_false(hash128_equal(digest_of(&a), digest_of(&b)));
    b.files[0].section = BATCH_INSERTED;
    assert_true(hash128_equal(digest_of(&a), digest_of(&b)));
    batch_fini(&a);
    batch_fini(&b);
}

/* ---- order and lists --------------------------------------------------- */

static void test_natural_order(void **state)
{
    static const char *const sorted[] = {
        "",
        "1",
        "01",
        "2",
        "10",
        "2026-09-05",
        "2026-9-30",
        "2026-10-01",
        "2026-11-1",
        "2026-11-29",
        "99999999999999999999",
        "100000000000000000000",
        "a",
        "a0",
        "a00",
        "a1",
        "a01",
        "a1b",
        "batch_9",
        "batch_10",
        "batch_10a",
        "batch_11",
        "batchx",
        "\xC3\xA4",
    };
    static const size_t n = sizeof sorted / sizeof sorted[0];

    (void)state;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            int order = batch_name_compare(sorted[i], sorted[j]);

            if ((order > 0) - (order < 0) != (i > j) - (i < j)) {
                fail_msg("'%s' and '%s': %d", sorted[i], sorted[j], order);
            }
        }
    }
}

/* A total order on random names: antisymmetric, transitive, 0 for same. */
static void test_natural_order_is_total(void **state)
{
    enum { NAMES = 120 };
    char names[NAMES][8];
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    print_message("seed %u\n", seed);
    srandom(seed);
    for (size_t i = 0; i < NAMES; i++) {
        size_t len = (size_t)random() % 6;

        for (size_t k = 0; k < len; k++) {
            names[i][k] = "0019a_"[random() % 6];
        }
        names[i][len] = '\0';
    }
    for (size_t i = 0; i < NAMES; i++) {
        for (size_t j = 0; j < NAMES; j++) {
            int ij = batch_name_compare(names[i], names[j]);
            int ji = batch_name_compare(names[j], names[i]);

            assert_int_equal((ij > 0) - (ij < 0), (ji < 0) - (ji > 0));
            assert_int_equal(ij == 0, strcmp(names[i], names[j]) == 0);
            for (size_t k = 0; k < NAMES && ij <= 0; k++) {
                if (batch_name_compare(names[j], names[k]) <= 0) {
                    assert_true(batch_name_compare(names[i], names[k]) <= 0);
                }
            }
        }
    }
}

static void open_list(struct batch_list *list, const char *path)
{
    struct df_error err = { "" };

    if (batch_list_open(list, path, &err) != DF_OK) {
        fail_msg("%s", err.text);
    }
}

static void test_list_of_batches(void **state)
{
    struct batch_list list;

    (void)state;
    put("all/batch_10/deleted/d.txt", "x");
    put("all/batch_9/inserted/d.txt", "x");
    put("all/batch_11/_SUCCESS", "");
    put("all/batch_11/updated/x", "");
    input_tree_directory(root, "all/batch_12");
    put("all/batch_13/.gitkeep", "");
    put("all/notes.txt", "x");
    put("all/.hidden/inserted/x", "x");
    put("all/batch_14.tmp/inserted/x", "x");
    input_tree_link(root, "all/latest", "batch_11");
    open_list(&list, at("all/"));
    assert_int_equal(list.count, 5);
    assert_string_equal(list.names[0], "batch_9");
    assert_string_equal(list.names[1], "batch_10");
    assert_string_equal(list.names[2], "batch_11");
    assert_string_equal(list.names[3], "batch_12");
    assert_string_equal(list.names[4], "batch_13");
    assert_string_equal(list.paths[1], at("all/batch_10"));
    assert_int_equal(list.notice_count, 4);
    assert_string_equal(list.notices[0].path, ".hidden");
    assert_string_equal(list.notices[1].path, "batch_14.tmp");
    assert_string_equal(list.notices[2].path, "latest");
    assert_string_equal(list.notices[2].why, "symbolic link");
    assert_string_equal(list.notices[3].path, "notes.txt");
    assert_string_equal(list.notices[3].why, "a file beside batches");
    batch_list_fini(&list);
    batch_list_fini(&list);
}

static void test_list_of_one(void **state)
{
    static const char *const marks[] = { "inserted/", "deleted/", "updated/",
                                         "manifest.tsv", "_SUCCESS" };
    char path[64];

    (void)state;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        struct batch_list list;

        (void)snprintf(path, sizeof path, "b%zu/%s", i, marks[i]);
        if (strchr(marks[i], '/') != NULL) {
            input_tree_directory(root, path);
        } else {
            put(path, "");
        }
        (void)snprintf(path, sizeof path, "b%zu/x.tmp", i);
        put(path, "");
        (void)snprintf(path, sizeof path, "b%zu", i);
        open_list(&list, at(path));
        assert_int_equal(list.count, 1);
        assert_string_equal(list.names[0], path);
        assert_string_equal(list.paths[0], at(path));
        assert_int_equal(list.notice_count, 0);
        batch_list_fini(&list);
    }
}

static void check_list_refused(const char *path, const char *names,
                               const char *why)
{
    struct df_error err = { "" };
    struct batch_list list;

    assert_int_equal(batch_list_open(&list, at(path), &err), DF_INPUT);
    if (strstr(err.text, at(names)) != err.text ||
        strstr(err.text, why) == NULL) {
        fail_msg("message is: %s", err.text);
    }
    assert_int_equal(list.count, 0);
    assert_null(list.owned);
}

static void test_list_edges(void **state)
{
    struct batch_list list;

    (void)state;
    input_tree_directory(root, "none");
    open_list(&list, at("none"));
    assert_int_equal(list.count, 0);
    batch_list_fini(&list);
    put("real/b1/inserted/x", "");
    input_tree_link(root, "way", "real");
    open_list(&list, at("way"));
    assert_int_equal(list.count, 1);
    assert_string_equal(list.paths[0], at("way/b1"));
    batch_list_fini(&list);
    open_list(&list, at("real/b1/."));
    assert_int_equal(list.count, 1);
    assert_string_equal(list.names[0], "b1");
    batch_list_fini(&list);
    put("real/b2/insert/x", "");
    check_list_refused("real", "real/b2", "is no batch");
    put("mis/insert/x", "");
    check_list_refused("mis", "mis/insert", "is no batch");
    put("file", "");
    check_list_refused("file", "file", "a batch is a directory with");
    check_list_refused("absent", "absent", "No such file");
    input_tree_directory(root, "dang");
    input_tree_link(root, "dang/latest", "2026-11-29");
    check_list_refused("dang", "dang/latest", "dangling");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_files_are_in_order),
        TEST(test_empty_batch),
        TEST(test_left_out),
        TEST(test_refused),
        TEST(test_lowest_is_refused),
        TEST(test_unreadable),
        TEST(test_device),
        TEST(test_descriptors_run_out),
        TEST(test_deep_and_wide_with_few_descriptors),
        TEST(test_path_too_long),
        TEST(test_names_of_batches),
        TEST(test_plain_directory),
        TEST(test_manifest),
        TEST(test_manifest_refused),
        TEST(test_manifest_long_ids),
        TEST(test_manifest_of_many),
        TEST(test_digest),
        TEST(test_natural_order),
        TEST(test_natural_order_is_total),
        TEST(test_list_of_batches),
        TEST(test_list_of_one),
        TEST(test_list_edges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
