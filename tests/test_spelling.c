/* base/spelling: how far words are from each other, and which is nearest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/spelling.h"

static bool is_near(const char *given, const char *name)
{
    struct spelling near = { 0 };

    spelling_look(&near, given, name);
    return near.name != NULL;
}

static void distances_count_edits(void **state)
{
    (void)state;
    assert_int_equal(spelling_distance("run", "run"), 0);
    assert_int_equal(spelling_distance("", "abc"), 3);
    assert_int_equal(spelling_distance("abc", ""), 3);
    assert_int_equal(spelling_distance("rnu", "run"), 1);
    assert_int_equal(spelling_distance("exprot", "export"), 1);
    assert_int_equal(spelling_distance("kitten", "sitting"), 3);
    assert_true(is_near("verfy", "verify"));
    assert_false(is_near("top", "get"));
    assert_false(is_near("x", "run"));
}

static void the_nearest_is_found(void **state)
{
    struct spelling near = { 0 };

    (void)state;
    spelling_look(&near, "casee", "ngram");
    assert_null(near.name);
    spelling_look(&near, "casee", "cases");
    spelling_look(&near, "casee", "case");
    assert_string_equal(near.name, "cases"); /* both are as near */
    spelling_look(&near, "casee", "casee");
    assert_string_equal(near.name, "casee");
    spelling_look(&near, "casee", "cased");
    assert_string_equal(near.name, "casee");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_count_edits),
        cmocka_unit_test(the_nearest_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
