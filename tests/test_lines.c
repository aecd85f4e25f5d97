/* Views as their jobs show them, and as rows where they do not: cli/opened.h
 * and cli/lines.h. */
#include "cli/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kept_view.h"
#include "workplace.h"

static void make_view(const char *path, const char *definition,
                      struct row_shape shape)
{
    const struct view_definition d = { .text = bytes_of_string(definition),
                                       .shape = shape,
                                       .shards = 1 };
    struct df_error err = { { 0 } };

    if (view_create(path, &d, &err) != DF_OK) {
        fail_msg("%s", err.text);
    }
}

static const struct row_shape sums = { .components = 4, .wide = 4 };

/* What this program would not make the same way is read as rows, with names
 * that say nothing. */
static void other_versions_are_shown_as_rows(void **state)
{
    static const char *const definitions[] = {
        "aggregate 99 by=a count=* scale=6 sum=b",
        "aggregate 1 by=a newer=x",
        "aggregate 1 by=a count=* scale=6 sum=b,b",
    };
    char root[INPUT_TREE_PATH];

    (void)state;
    (void)workplace_new(root);
    for (unsigned i = 0; i < sizeof definitions / sizeof *definitions; i++) {
        char path[INPUT_TREE_PATH];
        struct df_error err = { { 0 } };
        struct opened o;

        (void)snprintf(path, sizeof path, "%.4000s/%u", root, i);
        make_view(path, definitions[i], sums);
        assert_int_equal(opened_read(&o, path, &err), DF_OK);
        assert_null(o.present);
        assert_string_equal(o.names[0], "value1");
        assert_string_equal(o.names[3], "value4");
        opened_close(&o);
        assert_int_equal(opened_work(&o, path, VIEW_READ, 0, &err), DF_STATE);
    }
}

static void the_shape_is_kept(void **state)
{
    char root[INPUT_TREE_PATH];
    char path[INPUT_TREE_PATH];
    struct df_error err = { { 0 } };
    struct opened o;

    (void)state;
    (void)snprintf(path, sizeof path, "%.4000s/view", workplace_new(root));
    make_view(path, "aggregate 1 by=a scale=6 sum=b", sums);
    assert_int_equal(opened_read(&o, path, &err), DF_OK);
    assert_int_equal(view_definition(o.view)->shape.wide, sums.wide);
    assert_non_null(o.present);
    assert_string_equal(o.names[2], "sum_low_b");
    opened_close(&o);
}

/* Jobs without columns of their own are rows, with the job's names. */
static void words_are_rows(void **state)
{
    char root[INPUT_TREE_PATH];
    struct kept_view k;
    struct df_error err = { { 0 } };
    struct opened o;

    (void)state;
    kept_open(&k, workplace_new(root), "view", registry_find("wordcount"),
              NULL, 0, 1);
    assert_int_equal(opened_read(&o, k.path, &err), DF_OK);
    assert_null(o.present);
    assert_int_equal(view_definition(o.view)->shape.wide, 0);
    assert_string_equal(o.names[0], "count");
    opened_close(&o);
    kept_close(&k);
}

static void one_key_is_one_line(void **state)
{
    static const char *const given[] = { "by=g", "max=v" };
    char root[INPUT_TREE_PATH];
    struct kept_view k;
    struct df_error err = { { 0 } };
    const struct df_cell *cells;
    struct bytes key;
    struct opened o;
    struct lines *l;

    (void)state;
    kept_open(&k, workplace_new(root), "view", registry_find("aggregate"),
              given, 2, 1);
    input_tree_text(root, "b1/inserted/r.csv", "g,v\na,1\nb,2\n");
    kept_must(kept_run(&k, input_tree_path(root, "b1")), &k);
    kept_close(&k);
    assert_int_equal(opened_read(&o, k.path, &err), DF_OK);
    assert_int_equal(lines_open(&l, &o, &err), DF_OK);
    assert_int_equal(lines_find(l, "b", &key, &err), DF_OK);
    assert_int_equal(lines_select(l, SNAPSHOT_KEY, key, &err), DF_OK);
    assert_int_equal(lines_next(l, &cells, &err), DF_OK);
    assert_int_equal(cells[1].len, 1);
    assert_int_equal(cells[1].data[0], '2');
    assert_int_equal(lines_next(l, &cells, &err), DF_OK);
    assert_null(cells);
    lines_close(l);
    opened_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_versions_are_shown_as_rows),
        cmocka_unit_test(the_shape_is_kept),
        cmocka_unit_test(words_are_rows),
        cmocka_unit_test(one_key_is_one_line),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
