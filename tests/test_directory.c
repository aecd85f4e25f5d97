/* Directories: made once or twice, emptied of files, removed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/directory.h"
#include "workplace.h"

static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static void test_make(void **state)
{
    char root[INPUT_TREE_PATH];
    const char *path;
    struct df_error err;

    (void)state;
    workplace_new(root);
    path = input_tree_path(root, "d");
    assert_int_equal(directory_make(path, &err), DF_OK);
    assert_int_equal(directory_make(path, &err), DF_OK);
    assert_int_equal(directory_sync(path, &err), DF_OK);
    path = input_tree_path(root, "not/there");
    assert_int_equal(directory_make(path, &err), DF_SYSTEM);
    assert_non_null(strstr(err.text, "not/there"));
    assert_int_equal(directory_sync(path, &err), DF_SYSTEM);
    assert_non_null(strstr(err.text, "not/there"));
}

/* Directories within stay, and so does what holds them. */
static void test_empty_and_remove(void **state)
{
    char root[INPUT_TREE_PATH];
    struct df_error err;

    (void)state;
    workplace_new(root);
    input_tree_text(root, "file", "x");
    input_tree_text(root, ".hidden", "x");
    assert_int_equal(directory_make(input_tree_path(root, "below"), &err),
                     DF_OK);
    directory_empty(root);
    assert_false(is_there(input_tree_path(root, "file")));
    assert_false(is_there(input_tree_path(root, ".hidden")));
    assert_true(is_there(input_tree_path(root, "below")));
    directory_remove(root);
    assert_true(is_there(root));
    directory_remove(input_tree_path(root, "below"));
    directory_remove(root);
    assert_false(is_there(root));
    directory_empty(root);
    directory_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_make),
        cmocka_unit_test(test_empty_and_remove),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
