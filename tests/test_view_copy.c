/* state/view_copy, base/file_copy: holes stay holes, locks stay behind, and
 * the copy is a view of its own. */
#include "state/view_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file_copy.h"
#include "state/snapshot.h"
#include "workplace.h"

static char root[INPUT_TREE_PATH];
static struct df_error err;

static char *path_of(const char *name)
{
    char *copy = strdup(input_tree_path(root, name));

    assert_non_null(copy);
    return copy;
}

static bool exists(const char *name)
{
    return access(input_tree_path(root, name), F_OK) == 0;
}

static struct stat status_of(const char *name)
{
    struct stat st;

    assert_int_equal(stat(input_tree_path(root, name), &st), 0);
    return st;
}

/* Data at these places, holes between. */
static void sparse_file(const char *name, const off_t *places, size_t n,
                        off_t length)
{
    int fd =
        open(input_tree_path(root, name), O_RDWR | O_CREAT | O_EXCL, 0600);

    assert_true(fd >= 0);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(pwrite(fd, "data", 4, places[i]), 4);
    }
    assert_int_equal(ftruncate(fd, length), 0);
    assert_int_equal(fsync(fd), 0);
    assert_int_equal(close(fd), 0);
}

static void check_byte(const char *name, off_t at, char wanted)
{
    int fd = open(input_tree_path(root, name), O_RDONLY);
    char byte = 'x';

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    assert_int_equal(byte, wanted);
    assert_int_equal(close(fd), 0);
}

static void holes(void **state)
{
    const off_t places[] = { 0, 50 << 20, 90 << 20 };
    char *from;
    char *to;

    (void)state;
    (void)workplace_new(root);
    sparse_file("from", places, 3, (off_t)100 << 20);
    from = path_of("from");
    to = path_of("to");
    assert_int_equal(file_copy(from, to, true, NULL, &err), DF_OK);
    assert_int_equal(status_of("to").st_size, (off_t)100 << 20);
    assert_true(status_of("to").st_blocks <= status_of("from").st_blocks + 64);
    for (size_t i = 0; i < 3; i++) {
        check_byte("to", places[i], 'd');
        check_byte("to", places[i] + 5, '\0');
    }
    free(from);
    free(to);
}

static void file_failures(void **state)
{
    static const volatile sig_atomic_t stop = 1;
    char *from;
    char *to;

    (void)state;
    (void)workplace_new(root);
    from = path_of("from");
    to = path_of("to");
    assert_int_equal(file_copy(from, to, false, NULL, &err), DF_SYSTEM);
    input_tree_text(root, "from", "some text");
    assert_int_equal(file_copy(from, to, false, &stop, &err), DF_INTERRUPTED);
    assert_int_equal(unlink(to), 0);
    assert_int_equal(file_copy(from, to, false, NULL, &err), DF_OK);
    assert_int_equal(status_of("to").st_size, 9);
    assert_int_equal(file_copy(from, to, false, NULL, &err), DF_SYSTEM);
    assert_int_equal(unlink(from), 0);
    assert_int_equal(symlink("to", from), 0);
    assert_int_equal(unlink(to), 0);
    assert_int_equal(file_copy(from, to, false, NULL, &err), DF_SYSTEM);
    free(from);
    free(to);
}

/* ---- views ---- */

static const struct view_definition definition = {
    .text = { (const uint8_t *)"wordcount 1", 11 },
    .shape = { .components = 1 },
    .shards = 3,
};

static void check_is_a_view(const char *path)
{
    struct view *v;

    assert_int_equal(view_open(&v, path, VIEW_WRITE, 0, &err), DF_OK);
    assert_int_equal(view_definition(v)->shards, 3);
    assert_true(bytes_equal(view_definition(v)->text, definition.text));
    view_close(v);
}

static void whole_view(void **state)
{
    char *from;
    char *to;

    (void)state;
    (void)workplace_new(root);
    from = path_of("view");
    to = path_of("copy");
    assert_int_equal(view_create(from, &definition, &err), DF_OK);
    check_is_a_view(from); /* leaves locks of LMDB */
    assert_true(exists("view/gen-1/shard-00.mdb-lock"));
    assert_int_equal(view_copy(from, to, 0, NULL, &err), DF_OK);
    assert_true(exists("copy/gen-1/shard-02.mdb"));
    assert_false(exists("copy/gen-1/shard-00.mdb-lock"));
    assert_false(exists("copy/tmp"));
    assert_false(exists("copy/lock"));
    assert_true(view_copy_bytes(to) > 0);
    assert_true(view_copy_bytes(to) <= view_copy_bytes(from) + 65536);
    check_is_a_view(to);
    check_is_a_view(from);
    free(from);
    free(to);
}

/* A writer is waited for; an interrupted copy is no view. */
static void view_failures(void **state)
{
    static const volatile sig_atomic_t stop = 1;
    struct view *v;
    char *from;
    char *to;

    (void)state;
    (void)workplace_new(root);
    from = path_of("view");
    to = path_of("copy");
    assert_int_equal(view_create(from, &definition, &err), DF_OK);
    assert_int_equal(view_open(&v, from, VIEW_WRITE, 0, &err), DF_OK);
    assert_int_equal(view_copy(from, to, 0, NULL, &err), DF_STATE);
    assert_non_null(strstr(err.text, "locked"));
    assert_false(exists("copy"));
    view_close(v);
    assert_int_equal(view_copy(from, to, 0, &stop, &err), DF_INTERRUPTED);
    assert_false(exists("copy/current"));
    assert_int_equal(view_open(&v, to, VIEW_READ, 0, &err), DF_STATE);
    assert_int_equal(view_copy(from, to, 0, NULL, &err), DF_SYSTEM);
    free(from);
    free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holes),
        cmocka_unit_test(file_failures),
        cmocka_unit_test(whole_view),
        cmocka_unit_test(view_failures),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
