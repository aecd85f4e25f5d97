/* One LMDB environment: growth, other processes, foreign files, memory. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "input_tree.h"
#include "state/store.h"

enum { SMALL_STEP = 16384, VALUE_MAX = 3000 };

static char root[INPUT_TREE_PATH];
static char path[INPUT_TREE_PATH];

static int make_root(void **state)
{
    (void)state;
    input_tree_open(root);
    (void)snprintf(path, sizeof path, "%s", input_tree_path(root, "s.mdb"));
    return 0;
}

static int remove_root(void **state)
{
    (void)state;
    store_set_map_step(0);
    input_tree_remove(root);
    return 0;
}

static struct store *open_store(enum store_access access)
{
    struct store *s;
    struct df_error err;

    if (store_open(&s, path, access, NULL, &err) != DF_OK) {
        fail_msg("%s", err.text);
    }
    return s;
}

static struct store_txn *begin(struct store *s, enum store_access access)
{
    struct store_txn *t;
    struct df_error err;

    if (store_begin(&t, s, access, &err) != DF_OK) {
        fail_msg("%s", err.text);
    }
    return t;
}

static struct bytes key_of(char room[16], unsigned n)
{
    return bytes_of(room, (size_t)snprintf(room, 16, "%010u", n));
}

static uint64_t file_size(void)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

/* ---- one transaction ---- */

static void test_get_put_and_cursors(void **state)
{
    struct store *s = open_store(STORE_WRITE);
    struct store_txn *t = begin(s, STORE_WRITE);
    struct store_cursor *c;
    struct bytes key;
    struct bytes value;
    struct df_error err;
    char room[16];
    bool found;

    (void)state;
    for (unsigned i = 0; i < 10; i += 2) {
        assert_int_equal(store_append(t, STORE_ROWS_0, key_of(room, i),
                                      bytes_of("x", 1), &err),
                         DF_OK);
    }
    assert_int_equal(store_cursor_open(&c, t, STORE_ROWS_0, &err), DF_OK);
    assert_int_equal(
        store_cursor_seek(c, key_of(room, 3), &value, &found, &err), DF_OK);
    assert_false(found);
    assert_int_equal(
        store_cursor_insert(c, key_of(room, 3), bytes_of("yy", 2), &err),
        DF_OK);
    assert_int_equal(store_cursor_seek_range(c, key_of(room, 5), &key, &value,
                                             &found, &err),
                     DF_OK);
    assert_true(found && bytes_equal(key, key_of(room, 6)));
    assert_int_equal(
        store_cursor_insert(c, key_of(room, 6), bytes_of("longer", 6), &err),
        DF_OK);
    assert_int_equal(store_cursor_next(c, &key, &value, &found, &err), DF_OK);
    assert_true(found && bytes_equal(key, key_of(room, 8)));
    assert_int_equal(store_cursor_remove(c, &err), DF_OK);
    assert_int_equal(store_cursor_last(c, &key, &value, &found, &err), DF_OK);
    assert_true(found && bytes_equal(value, bytes_of("longer", 6)));
    assert_int_equal(store_cursor_next(c, &key, &value, &found, &err), DF_OK);
    assert_false(found);
    assert_int_equal(store_cursor_seek_range(c, bytes_of(NULL, 0), &key,
                                             &value, &found, &err),
                     DF_OK);
    assert_true(found && bytes_equal(key, key_of(room, 0)));
    store_cursor_close(c);
    assert_int_equal(store_commit(t, &err), DF_OK);
    store_close(s);
}

/* Keys that no table can hold are not found, in words and without fuss. */
static void test_impossible_keys(void **state)
{
    static const uint8_t long_key[512] = { 'k' };
    struct store *s = open_store(STORE_WRITE);
    struct store_txn *t = begin(s, STORE_WRITE);
    struct bytes value;
    struct df_error err;
    bool found = true;

    (void)state;
    assert_int_equal(
        store_get(t, STORE_NAMES, bytes_of(NULL, 0), &value, &found, &err),
        DF_OK);
    assert_false(found);
    assert_int_equal(store_get(t, STORE_NAMES,
                               bytes_of(long_key, sizeof long_key), &value,
                               &found, &err),
                     DF_OK);
    assert_false(found);
    assert_int_equal(store_put(t, STORE_NAMES,
                               bytes_of(long_key, sizeof long_key),
                               bytes_of("x", 1), &err),
                     DF_SYSTEM);
    store_abort(t);
    store_abort(NULL);
    store_cursor_close(NULL);
    store_close(s);
    store_close(NULL);
}

/* ---- growth ---- */

struct met {
    unsigned put;
    unsigned commit;
};

/* Writes and removes rows at random; tells what found the map full. */
static enum df_status change(struct store *s, unsigned seed, struct met *met,
                             struct df_error *err)
{
    static const uint8_t value[VALUE_MAX];
    struct store_txn *t = begin(s, STORE_WRITE);
    struct store_cursor *c;
    enum df_status status = store_cursor_open(&c, t, STORE_ROWS_0, err);
    bool removes = rand_r(&seed) % 4 == 0;
    unsigned n = (unsigned)rand_r(&seed) % 500;

    for (unsigned i = 0; status == DF_OK && i < n; i++) {
        char room[16];
        struct bytes key = key_of(room, (unsigned)rand_r(&seed) % 2000);
        size_t len = 1 + (size_t)rand_r(&seed) % VALUE_MAX;
        struct bytes old;
        bool found;

        status = store_cursor_seek(c, key, &old, &found, err);
        if (status == DF_OK && found && removes) {
            status = store_cursor_remove(c, err);
        } else if (status == DF_OK) {
            status = store_cursor_insert(c, key, bytes_of(value, len), err);
        }
        met->put += status != DF_OK;
    }
    store_cursor_close(c);
    if (status != DF_OK) {
        store_abort(t);
        return status;
    }
    status = store_commit(t, err);
    met->commit += status != DF_OK;
    return status;
}

static void test_map_grows(void **state)
{
    struct met met = { 0, 0 };
    struct store *s;
    struct df_error err;

    (void)state;
    store_set_map_step(SMALL_STEP);
    for (unsigned round = 0; round < 60; round++) {
        if (round % 4 == 0) {
            (void)unlink(path);
        }
        s = open_store(STORE_WRITE);
        for (unsigned i = 0; i < 3; i++) {
            enum df_status status;

            do {
                status = change(s, 3 * round + i, &met, &err);
            } while (status != DF_OK && store_grow_if_full(s, &status, &err));
            assert_int_equal(status, DF_OK);
        }
        store_close(s);
    }
    print_message("full in %u puts, %u commits\n", met.put, met.commit);
    assert_true(met.put > 0);
    assert_true(met.commit > 0);
}

/* Nothing is tried again that failed of something else. */
static void test_only_a_full_map_grows(void **state)
{
    struct store *s = open_store(STORE_WRITE);
    struct store_txn *t = begin(s, STORE_WRITE);
    enum df_status status = DF_INPUT;
    struct df_error err;

    (void)state;
    assert_false(store_grow_if_full(s, &status, &err));
    assert_int_equal(status, DF_INPUT);
    assert_int_equal(
        store_put(t, STORE_META, bytes_of(NULL, 0), bytes_of("x", 1), &err),
        DF_SYSTEM);
    store_abort(t);
    assert_false(store_grow_if_full(s, &status, &err));
    store_close(s);
}

/* When there is no address space for more, the store can still be closed,
 * and every call until then says so. */
static void test_map_that_cannot_grow(void **state)
{
    struct store *s = open_store(STORE_WRITE);
    struct store_txn *t;
    struct df_error err;

    (void)state;
    assert_int_equal(store_reserve(s, UINT64_C(1) << 60, &err), DF_SYSTEM);
    assert_int_equal(store_begin(&t, s, STORE_READ, &err), DF_SYSTEM);
    assert_null(t);
    assert_int_equal(store_begin(&t, s, STORE_WRITE, &err), DF_SYSTEM);
    assert_int_equal(store_reserve(s, 1, &err), DF_SYSTEM);
    store_relax(s);
    store_close(s);
    s = open_store(STORE_READ);
    store_abort(begin(s, STORE_READ));
    store_close(s);
}

/*
 * LMDB does not write pages at the end of the file that a transaction took
 * and gave back: the file may then end before the last page its header
 * counts. Such a file is sound and must open again, by whom ever it was left.
 */
static void test_file_is_as_long_as_it_says(void **state)
{
    struct df_error err;

    (void)state;
    store_set_map_step(1 << 20);
    for (unsigned seed = 1; seed <= 40; seed++) {
        struct met met;

        (void)unlink(path);
        for (unsigned i = 0; i < 6; i++) {
            struct store *s = open_store(STORE_WRITE);
            enum df_status status;

            do {
                status = change(s, 100 * seed + i, &met, &err);
            } while (status != DF_OK && store_grow_if_full(s, &status, &err));
            assert_int_equal(status, DF_OK);
            store_close(s);
            assert_true(file_size() < (64U << 20));
            store_close(open_store(STORE_READ));
        }
    }
}

/* While a writer has it open the file is a hole at its end; a process that
 * dies leaves that, the next one cuts it off. */
static void test_file_of_a_dead_writer(void **state)
{
    pid_t child = fork();
    uint64_t left;

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        struct df_error err;
        struct met met;

        _exit(change(open_store(STORE_WRITE), 1, &met, &err) == DF_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    left = file_size();
    store_close(open_store(STORE_READ));
    assert_int_equal(file_size(), left);
    for (int i = 0; i < 5; i++) {
        store_close(open_store(STORE_WRITE));
        assert_true(file_size() < left);
    }
}

/* ---- other processes ---- */

struct reader {
    pid_t process;
    int ready;
    int go;
};

static void check_grown(struct store *s)
{
    struct store_txn *t = begin(s, STORE_READ);
    struct store_size size;
    struct bytes value;
    struct df_error err;
    char room[16];
    bool found;

    assert_int_equal(store_table_size(t, STORE_ROWS_0, &size, &err), DF_OK);
    assert_int_equal(size.entries, 5000);
    for (unsigned i = 0; i < 5000; i++) {
        assert_int_equal(
            store_get(t, STORE_ROWS_0, key_of(room, i), &value, &found, &err),
            DF_OK);
        assert_true(found);
        assert_int_equal(value.len, 1000);
        assert_int_equal(value.data[999], (uint8_t)i);
    }
    store_abort(t);
}

/* Reads before the file has grown, beside an open transaction, and after. */
static void read_in_child(int ready, int go)
{
    struct store *s = open_store(STORE_READ);
    struct store_txn *old = begin(s, STORE_READ);
    struct store_txn *t;
    struct store_size size;
    struct df_error err;
    char byte = 0;

    assert_int_equal(write(ready, &byte, 1), 1);
    assert_int_equal(read(go, &byte, 1), 1);
    assert_int_equal(store_begin(&t, s, STORE_READ, &err), DF_STATE);
    assert_non_null(strstr(err.text, "grown"));
    assert_int_equal(store_table_size(old, STORE_ROWS_0, &size, &err), DF_OK);
    assert_int_equal(size.entries, 0);
    store_abort(old);
    check_grown(s);
    store_close(s);
    _exit(0);
}

static void test_reader_in_another_process(void **state)
{
    static uint8_t value[1000];
    struct store_txn *t;
    struct store *s;
    struct df_error err;
    int ready[2];
    int go[2];
    int status = -1;
    char byte;
    pid_t child;

    (void)state;
    store_set_map_step(131072);
    store_close(open_store(STORE_WRITE));
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        read_in_child(ready[1], go[0]);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    s = open_store(STORE_WRITE);
    assert_int_equal(store_reserve(s, 16 << 20, &err), DF_OK);
    t = begin(s, STORE_WRITE);
    for (unsigned i = 0; i < 5000; i++) {
        char room[16];

        value[999] = (uint8_t)i;
        assert_int_equal(store_append(t, STORE_ROWS_0, key_of(room, i),
                                      bytes_of(value, sizeof value), &err),
                         DF_OK);
    }
    assert_int_equal(store_commit(t, &err), DF_OK);
    store_close(s);
    assert_int_equal(write(go[1], "", 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (int i = 0; i < 2; i++) {
        (void)close(ready[i]);
        (void)close(go[i]);
    }
}

/* ---- files that are no stores ---- */

static void write_file(const void *data, size_t len)
{
    input_tree_file(root, "s.mdb", data, len);
}

/* Refused in words that name the file; never a signal. */
static void check_refused(enum df_status expected)
{
    for (int access = STORE_READ; access <= STORE_WRITE; access++) {
        struct store *s;
        struct df_error err;
        bool missing = true;
        enum df_status status =
            store_open(&s, path, (enum store_access)access, &missing, &err);

        assert_int_equal(status, expected);
        assert_null(s);
        assert_false(missing);
        assert_non_null(strstr(err.text, "s.mdb"));
    }
}

static void test_missing_file(void **state)
{
    struct store *s;
    struct df_error err;
    bool missing = false;

    (void)state;
    assert_int_equal(store_open(&s, path, STORE_READ, &missing, &err),
                     DF_STATE);
    assert_true(missing);
    assert_non_null(strstr(err.text, "s.mdb"));
    assert_int_not_equal(access(path, F_OK), 0);
    s = open_store(STORE_WRITE);
    store_close(s);
    s = open_store(STORE_READ);
    store_close(s);
}

static void test_garbage(void **state)
{
    static uint8_t garbage[65536];
    static const size_t lens[] = { 1, 100, 4096, 8192, 65536 };
    unsigned seed = 4711;

    (void)state;
    write_file("", 0);
    check_refused(DF_STATE);
    for (size_t i = 0; i < sizeof garbage; i++) {
        garbage[i] = (uint8_t)rand_r(&seed);
    }
    for (size_t i = 0; i < 5; i++) {
        write_file(garbage, lens[i]);
        check_refused(DF_STATE);
    }
    assert_int_equal(unlink(path), 0);
    input_tree_directory(root, "s.mdb");
    check_refused(DF_STATE);
}

static size_t read_file(uint8_t *data, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, data, room);

    assert_true(n > 0 && (size_t)n < room);
    (void)close(fd);
    return (size_t)n;
}

static void fill_store(void)
{
    struct store *s = open_store(STORE_WRITE);
    struct df_error err;
    struct met met;

    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(change(s, i, &met, &err), DF_OK);
    }
    store_close(s);
}

static void test_truncated_file(void **state)
{
    static uint8_t data[8 << 20];
    size_t len;

    (void)state;
    fill_store();
    len = read_file(data, sizeof data);
    for (size_t cut = 1; cut < len; cut = cut < 9000 ? cut + 97 : cut * 3) {
        write_file(data, cut);
        check_refused(DF_STATE);
    }
    write_file(data, len - 1);
    check_refused(DF_STATE);
    write_file(data, len);
    store_close(open_store(STORE_READ));
}

/* The page size is what LMDB divides by; it stands in both headers. */
static void test_impossible_page_size(void **state)
{
    static const uint32_t sizes[] = { 0, 1, 255, 4097, 1 << 20, UINT32_MAX };
    static uint8_t data[8 << 20];
    const size_t at = 40; /* of the page size in the first header */
    size_t len;

    (void)state;
    fill_store();
    len = read_file(data, sizeof data);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint32_t good;

        memcpy(&good, data + at, sizeof good);
        assert_int_equal(good, sysconf(_SC_PAGESIZE));
        memcpy(data + at, &sizes[i], sizeof sizes[i]);
        write_file(data, len);
        check_refused(DF_STATE);
        memcpy(data + at, &good, sizeof good);
    }
}

/* LMDB believes the numbers in its two roots: any bit of them may have
 * changed, and neither is what it says an endless loop, nor a signal, nor
 * taken for a lack of memory. */
static void test_changed_roots(void **state)
{
    static const size_t fields[][2] = { { 32, 44 }, { 136, 152 } };
    static uint8_t data[8 << 20];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned refused = 0;
    size_t len;

    (void)state;
    fill_store();
    len = read_file(data, sizeof data);
    for (size_t bit = 0; bit < 2 * page * 8; bit++) {
        size_t at = bit / 8 % page;
        struct df_error err;
        struct store *s;
        enum df_status status;

        if (!(at >= fields[0][0] && at < fields[0][1]) &&
            !(at >= fields[1][0] && at < fields[1][1])) {
            continue;
        }
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        write_file(data, len);
        status = store_open(&s, path, STORE_READ, NULL, &err);
        assert_true(status == DF_OK || status == DF_STATE);
        refused += status == DF_STATE;
        if (status == DF_OK) {
            store_close(s);
        }
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(refused > 300);
}

/* ---- memory ---- */

/* Bytes of files that are mapped in; files in memory are told apart. */
static long resident(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[256];
    long sum = 0;

    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL) {
        long kilobytes;

        if (sscanf(line, "RssFile: %ld", &kilobytes) == 1 ||
            sscanf(line, "RssShmem: %ld", &kilobytes) == 1) {
            sum += kilobytes;
        }
    }
    (void)fclose(f);
    return sum * 1024;
}

enum { BIG_ROWS = 60000, BIG_VALUE = 1900, VALUES_MIB = 108 };

static const long mib = 1 << 20;

static void fill_big(void)
{
    static uint8_t value[BIG_VALUE];
    struct store *s = open_store(STORE_WRITE);
    struct store_txn *t = NULL;
    struct df_error err;
    char room[16];

    assert_int_equal(store_reserve(s, UINT64_C(256) << 20, &err), DF_OK);
    for (unsigned i = 0; i < BIG_ROWS; i++) {
        if (t == NULL) {
            t = begin(s, STORE_WRITE);
        }
        value[i % BIG_VALUE]++;
        assert_int_equal(store_append(t, STORE_ROWS_0, key_of(room, i),
                                      bytes_of(value, sizeof value), &err),
                         DF_OK);
        if (i % 15000 == 14999) {
            assert_int_equal(store_commit(t, &err), DF_OK);
            t = NULL;
        }
    }
    store_close(s);
}

/* Reads all of it; returns the most that was mapped in at once. */
static long walk_big(struct store *s, bool randomly, bool by_cursor)
{
    struct store_txn *t = begin(s, STORE_READ);
    struct store_cursor *c;
    struct bytes value;
    struct bytes key;
    struct df_error err;
    unsigned seed = 1;
    char room[16];
    long most = 0;
    bool found;

    assert_int_equal(store_cursor_open(&c, t, STORE_ROWS_0, &err), DF_OK);
    for (unsigned i = 0; i < BIG_ROWS; i++) {
        enum df_status status;
        unsigned n = randomly ? (unsigned)rand_r(&seed) % BIG_ROWS : i;

        status = !by_cursor ? store_get(t, STORE_ROWS_0, key_of(room, n),
                                        &value, &found, &err)
                 : randomly ? store_cursor_seek(c, key_of(room, n), &value,
                                                &found, &err)
                            : store_cursor_next(c, &key, &value, &found, &err);
        assert_int_equal(status, DF_OK);
        assert_true(found);
        assert_int_equal(value.len, BIG_VALUE);
        if (i % 500 == 0) {
            long now = resident();

            most = now > most ? now : most;
        }
    }
    store_cursor_close(c);
    store_abort(t);
    return most;
}

static void test_scans_take_little_memory(void **state)
{
    struct store *s;
    long before;
    long scan;
    long seeks;

    (void)state;
    fill_big();
    assert_true(file_size() > (uint64_t)(VALUES_MIB * mib));
    s = open_store(STORE_READ);
    before = resident();
    scan = walk_big(s, false, true) - before;
    seeks = walk_big(s, true, true) - before;
    print_message("mapped in: scan %ld MiB, seeks %ld MiB\n", scan / mib,
                  seeks / mib);
    assert_true(scan < 24 * mib);
    assert_true(seeks < 24 * mib);
    /* Gets do not look after it; so this is what it would be. */
    store_relax(s);
    assert_true(walk_big(s, false, false) - before > 100 * mib);
    store_relax(s);
    assert_true(resident() - before < 8 * mib);
    store_close(s);
}

/* ---- damage ---- */

static const char needle[] = "a value that is nowhere else";

/* Changes one bit of the text wherever it stands in the file. */
static void damage(const char *text)
{
    size_t size = (size_t)file_size();
    size_t len = strlen(text);
    uint8_t *all = malloc(size);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    unsigned places = 0;

    assert_non_null(all);
    assert_int_equal(pread(fd, all, size, 0), (ssize_t)size);
    for (size_t at = 0; at + len <= size; at++) {
        if (memcmp(all + at, text, len) == 0) {
            all[at + len / 2] ^= 4;
            places++;
        }
    }
    assert_true(places > 0);
    assert_int_equal(pwrite(fd, all, size, 0), (ssize_t)size);
    (void)close(fd);
    free(all);
}

static void put_needle(void)
{
    struct store *s = open_store(STORE_WRITE);
    struct store_txn *t = begin(s, STORE_WRITE);
    struct df_error err;
    char room[16];

    for (unsigned i = 0; i < 9; i++) {
        assert_int_equal(store_put(t, STORE_META, key_of(room, i),
                                   bytes_of_string(i == 4 ? needle : ""),
                                   &err),
                         DF_OK);
    }
    assert_int_equal(store_commit(t, &err), DF_OK);
    store_close(s);
}

/* The statuses of reading the one key by get, and all by a cursor. */
static void read_needle(enum df_status *by_get, enum df_status *by_cursor)
{
    struct store *s = open_store(STORE_READ);
    struct store_txn *t = begin(s, STORE_READ);
    struct store_cursor *c;
    struct df_error err;
    struct bytes key;
    struct bytes value;
    char room[16];
    bool found;

    *by_get = store_get(t, STORE_META, key_of(room, 4), &value, &found, &err);
    assert_int_equal(store_cursor_open(&c, t, STORE_META, &err), DF_OK);
    do {
        *by_cursor = store_cursor_next(c, &key, &value, &found, &err);
    } while (*by_cursor == DF_OK && found);
    if (*by_cursor != DF_OK) {
        assert_non_null(strstr(err.text, "is damaged"));
    }
    store_cursor_close(c);
    store_abort(t);
    store_close(s);
}

static void test_a_changed_bit_is_told(void **state)
{
    static const char *const places[] = { needle, "0000000004" };

    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        enum df_status by_get;
        enum df_status by_cursor;

        (void)unlink(path);
        put_needle();
        read_needle(&by_get, &by_cursor);
        assert_int_equal(by_get, DF_OK);
        assert_int_equal(by_cursor, DF_OK);
        damage(places[i]);
        read_needle(&by_get, &by_cursor);
        assert_int_equal(by_get, DF_STATE);
        assert_int_equal(by_cursor, DF_STATE);
    }
}

/* A writer does not make it anew, empty. */
static void test_a_table_whose_name_changed_is_told(void **state)
{
    static const char *const names[] = { "meta", "rows1", "kept", "names" };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int access = STORE_READ; access <= STORE_WRITE; access++) {
            struct store *s;
            struct df_error err;

            (void)unlink(path);
            put_needle();
            damage(names[i]);
            assert_int_equal(
                store_open(&s, path, (enum store_access)access, NULL, &err),
                DF_STATE);
        }
    }
}

/* They are read and written as they were. */
static void test_files_without_checks(void **state)
{
    enum df_status by_get;
    enum df_status by_cursor;

    (void)state;
    store_set_checks(false);
    put_needle();
    store_set_checks(true);
    put_needle();
    damage(needle);
    read_needle(&by_get, &by_cursor);
    assert_int_equal(by_get, DF_OK);
    assert_int_equal(by_cursor, DF_OK);
}

#define WITH_ROOT(test)                                                       \
    cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROOT(test_get_put_and_cursors),
        WITH_ROOT(test_impossible_keys),
        WITH_ROOT(test_map_grows),
        WITH_ROOT(test_only_a_full_map_grows),
        WITH_ROOT(test_map_that_cannot_grow),
        WITH_ROOT(test_file_is_as_long_as_it_says),
        WITH_ROOT(test_file_of_a_dead_writer),
        WITH_ROOT(test_reader_in_another_process),
        WITH_ROOT(test_missing_file),
        WITH_ROOT(test_garbage),
        WITH_ROOT(test_truncated_file),
        WITH_ROOT(test_impossible_page_size),
        WITH_ROOT(test_changed_roots),
        WITH_ROOT(test_scans_take_little_memory),
        WITH_ROOT(test_a_changed_bit_is_told),
        WITH_ROOT(test_a_table_whose_name_changed_is_told),
        WITH_ROOT(test_files_without_checks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
