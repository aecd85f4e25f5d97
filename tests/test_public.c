/* The public reader API: include/deltafold/view.h. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "deltafold/view.h"
#include "stored_view.h"

static const struct row_shape plain = { .components = 1 };
static const struct row_shape pairs = { .has_element = true, .components = 2 };

static struct df_view *open_public(const struct stored *s)
{
    struct df_view *view;
    struct df_error err;

    if (df_view_open(&view, s->path, &err) != DF_OK) {
        fail_msg("%s", err.text);
    }
    return view;
}

static void apply(struct stored *s, const char *name)
{
    if (stored_apply(s, name) != DF_OK) {
        fail_msg("%s", s->err.text);
    }
}

/* In a process of its own: a process has a view open once. */
static void apply_elsewhere(struct stored *s, const char *name)
{
    int status = -1;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        apply(s, name);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    s->seq++;
    rows_source_order(&s->run, ROWS_BY_HEAD);
    rows_source_add_all(&s->model, &s->run, 1);
    rows_source_order(&s->model, ROWS_BY_KEY);
    rows_source_reset(&s->run);
}

static void test_info(void **state)
{
    struct stored s;
    struct df_view *view;
    struct df_view_info info;
    unsigned char digest[HASH128_SIZE];

    (void)state;
    stored_open(&s, pairs, 3);
    view = open_public(&s);
    df_view_info(view, &info);
    assert_string_equal(info.definition, "test 1");
    assert_int_equal(info.components, 2);
    assert_int_equal(info.has_element, 1);
    assert_int_equal(info.batches, 0);
    assert_int_equal(info.rows, 0);
    df_view_close(view);
    rows_source_add(&s.run, bytes_of_string("k"), bytes_of_string("e"),
                    (const int64_t[]){ 1, -2 });
    apply(&s, "1");
    view = open_public(&s);
    df_view_info(view, &info);
    assert_int_equal(info.batches, 1);
    assert_int_equal(info.rows, 1);
    hash128_store(digest, rows_source_digest(&s.model));
    assert_memory_equal(info.digest, digest, sizeof digest);
    df_view_close(view);
    df_view_close(NULL);
    stored_close(&s);
}

static void check_get(struct df_view *view, struct bytes key,
                      struct bytes element, enum df_status expected,
                      int64_t first, int64_t second)
{
    struct df_error err = { "untouched" };
    int64_t values[2] = { 99, 99 };

    assert_int_equal(df_view_get(view, key.data, key.len, element.data,
                                 element.len, values, &err),
                     expected);
    assert_int_equal(values[0], first);
    assert_int_equal(values[1], second);
    if (expected == DF_OK) {
        assert_string_equal(err.text, "untouched");
    } else {
        assert_non_null(strstr(err.text, "no such key"));
    }
}

static void test_get(void **state)
{
    static const char key[] = "a\0b";
    const struct bytes k = bytes_of(key, 3);
    const struct bytes none = bytes_of(NULL, 0);
    struct stored s;
    struct df_view *view;

    (void)state;
    stored_open(&s, pairs, 2);
    rows_source_add(&s.run, k, bytes_of_string("e"),
                    (const int64_t[]){ 5, 6 });
    rows_source_add(&s.run, none, none, (const int64_t[]){ 7, 8 });
    apply(&s, "1");
    view = open_public(&s);
    check_get(view, k, bytes_of_string("e"), DF_OK, 5, 6);
    check_get(view, none, none, DF_OK, 7, 8);
    check_get(view, k, none, DF_DIFFERS, 0, 0);
    check_get(view, bytes_of(key, 1), bytes_of_string("e"), DF_DIFFERS, 0, 0);
    df_view_close(view);
    stored_close(&s);
}

static void test_element_is_ignored_by_jobs_without(void **state)
{
    struct stored s;
    struct df_view *view;
    struct df_error err;
    int64_t value = 0;

    (void)state;
    stored_open(&s, plain, 1);
    rows_source_add_text(&s.run, "tree", 3);
    apply(&s, "1");
    view = open_public(&s);
    assert_int_equal(df_view_get(view, "tree", 4, "x", 1, &value, &err),
                     DF_OK);
    assert_int_equal(value, 3);
    assert_int_equal(df_view_get(view, "tre", 3, NULL, 0, &value, &err),
                     DF_DIFFERS);
    assert_int_equal(value, 0);
    df_view_close(view);
    stored_close(&s);
}

/* ---- each ---- */

struct seen {
    char keys[200];
    size_t count;
    size_t stop_at;
    int64_t sum;
};

static int note(void *ctx, const struct df_view_row *row)
{
    struct seen *seen = ctx;

    assert_true(row->key_len + 1 < sizeof seen->keys - strlen(seen->keys));
    (void)strncat(seen->keys, (const char *)row->key, row->key_len);
    (void)strcat(seen->keys, " ");
    assert_int_equal(row->element_len, 0);
    seen->sum += row->values[0];
    return ++seen->count == seen->stop_at;
}

static void check_each(struct df_view *view, const char *prefix,
                       size_t stop_at, const char *keys, int64_t sum)
{
    struct seen seen = { .stop_at = stop_at };
    struct df_error err;

    assert_int_equal(df_view_each(view, prefix,
                                  prefix == NULL ? 0 : strlen(prefix), note,
                                  &seen, &err),
                     DF_OK);
    assert_string_equal(seen.keys, keys);
    assert_int_equal(seen.sum, sum);
}

static void test_each(void **state)
{
    struct stored s;
    struct df_view *view;

    (void)state;
    stored_open(&s, plain, 3);
    rows_source_add_text(&s.run, "tree", 1);
    rows_source_add_text(&s.run, "treehouse", 2);
    rows_source_add_text(&s.run, "trend", 4);
    rows_source_add_text(&s.run, "ant", 8);
    rows_source_add_text(&s.run, "zoo", 16);
    apply(&s, "1");
    view = open_public(&s);
    check_each(view, NULL, 0, "ant tree treehouse trend zoo ", 31);
    check_each(view, "", 0, "ant tree treehouse trend zoo ", 31);
    check_each(view, "tree", 0, "tree treehouse ", 3);
    check_each(view, "tree", 1, "tree ", 1);
    check_each(view, NULL, 3, "ant tree treehouse ", 11);
    check_each(view, "x", 0, "", 0);
    check_each(view, "zoology", 0, "", 0);
    df_view_close(view);
    stored_close(&s);
}

/* ---- refresh ---- */

static void check_value(struct df_view *view, const char *key,
                        int64_t expected)
{
    struct df_error err;
    int64_t value;
    enum df_status status =
        df_view_get(view, key, strlen(key), NULL, 0, &value, &err);

    assert_int_equal(status, expected == 0 ? DF_DIFFERS : DF_OK);
    assert_int_equal(value, expected);
}

static void test_refresh(void **state)
{
    struct stored s;
    struct df_view *view;
    struct df_view_info info;
    struct df_error err;

    (void)state;
    stored_open(&s, plain, 3);
    view = open_public(&s);
    for (int i = 1; i <= 4; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "%d", i);
        s.method = i % 2 == 0 ? INSTALL_OVERWRITE : INSTALL_INCREMENT;
        rows_source_add_text(&s.run, "a", i);
        apply_elsewhere(&s, name);
        check_value(view, "a", i * (i - 1) / 2); /* a snapshot */
        assert_int_equal(df_view_refresh(view, &err), DF_OK);
        check_value(view, "a", i * (i + 1) / 2);
        df_view_info(view, &info);
        assert_int_equal(info.batches, i);
        assert_string_equal(info.definition, "test 1");
    }
    df_view_close(view);
    stored_close(&s);
}

static bool keep_none(void *ctx, struct bytes name)
{
    (void)ctx;
    (void)name;
    return false;
}

/* Replaces all rows by "b" 5, with another number of shards. */
static void rebuild(const struct stored *s, unsigned shards)
{
    struct rows_source all = { .shape = plain };
    struct rows_source parts[VIEW_SHARDS_MAX];
    struct install_shard shard[VIEW_SHARDS_MAX] = { 0 };
    struct install_negatives negatives = { 0 };
    struct ledger_entry entry = { .program = bytes_of_string("test") };
    struct install_batch b = { .shards = shard,
                               .entry = &entry,
                               .threads = 1,
                               .started_us = clock_us() };
    struct install_rebuild how = { .shards = shards, .keep = keep_none };
    struct view *v;
    struct df_error err;

    rows_source_add_text(&all, "b", 5);
    rows_source_order(&all, ROWS_BY_HEAD);
    for (unsigned i = 0; i < shards; i++) {
        rows_source_of_shard(&all, shards, i, &parts[i]);
        shard[i] = (struct install_shard){ &parts[i].source, 1, 100 };
    }
    assert_int_equal(view_open(&v, s->path, VIEW_WRITE, 0, &err), DF_OK);
    assert_int_equal(install_rebuild(v, &b, &how, &negatives, &err), DF_OK);
    view_close(v);
    for (unsigned i = 0; i < shards; i++) {
        rows_source_fini(&parts[i]);
    }
    rows_source_fini(&all);
}

static void test_refresh_over_a_rebuild(void **state)
{
    struct stored s;
    struct df_view *view;
    struct df_view_info info;
    struct df_error err;
    int status = -1;
    pid_t child;

    (void)state;
    stored_open(&s, plain, 1);
    rows_source_add_text(&s.run, "a", 1);
    apply(&s, "1");
    view = open_public(&s);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        rebuild(&s, 4);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    check_value(view, "a", 1);
    check_value(view, "b", 0);
    assert_int_equal(df_view_refresh(view, &err), DF_OK);
    check_value(view, "a", 0);
    check_value(view, "b", 5);
    df_view_info(view, &info);
    assert_int_equal(info.batches, 1);
    assert_int_equal(info.rows, 1);
    df_view_close(view);
    stored_close(&s);
}

/* ---- failures ---- */

static void test_failures(void **state)
{
    struct stored s;
    struct df_view *view;
    struct df_error err;

    (void)state;
    stored_open(&s, plain, 1);
    assert_int_equal(
        df_view_open(&view, input_tree_path(s.root, "nothing"), &err),
        DF_STATE);
    assert_null(view);
    assert_non_null(strstr(err.text, "no view here"));
    /* After a refresh that failed the handle can be closed. */
    view = open_public(&s);
    assert_int_equal(unlink(stored_file(&s, "current")), 0);
    assert_int_equal(df_view_refresh(view, &err), DF_STATE);
    df_view_close(view);
    stored_close(&s);
}

static int64_t count_of(struct df_view *view, const char *key)
{
    struct df_error err;
    int64_t count = 0;
    enum df_status status =
        df_view_get(view, key, strlen(key), NULL, 0, &count, &err);

    assert_true(status == DF_OK || status == DF_DIFFERS);
    assert_int_equal(status == DF_OK, count != 0);
    return count;
}

static void test_at(void **state)
{
    struct stored s;
    struct df_view *view;
    struct df_view_info info;
    struct df_error err;

    (void)state;
    stored_open(&s, plain, 3);
    s.keep = true;
    rows_source_add_text(&s.run, "tree", 2);
    apply(&s, "one");
    rows_source_add_text(&s.run, "tree", 3);
    rows_source_add_text(&s.run, "sea", 1);
    apply(&s, "two");
    view = open_public(&s);
    assert_int_equal(count_of(view, "tree"), 5);
    assert_int_equal(df_view_at(view, "one", &err), DF_OK);
    assert_int_equal(count_of(view, "tree"), 2);
    assert_int_equal(count_of(view, "sea"), 0);
    df_view_info(view, &info);
    assert_int_equal(info.batches, 1);
    assert_int_equal(info.rows, 1);
    /* What cannot be had changes nothing. */
    assert_int_equal(df_view_at(view, "three", &err), DF_LEDGER);
    assert_int_equal(df_view_at(view, "#3", &err), DF_LEDGER);
    assert_int_equal(count_of(view, "tree"), 2);
    assert_int_equal(df_view_at(view, "#0", &err), DF_OK);
    assert_int_equal(count_of(view, "tree"), 0);
    assert_int_equal(df_view_at(view, NULL, &err), DF_OK);
    assert_int_equal(count_of(view, "tree"), 5);
    df_view_close(view);
    stored_close(&s);
}

static int count_rows(void *ctx, const struct df_view_row *row)
{
    int *n = ctx;

    (void)row;
    (*n)++;
    return 0;
}

/* Readers do not see what having= hides; a view is what it is. */
static void test_having(void **state)
{
    struct view_definition d = { .text = bytes_of_string("test 1"),
                                 .shape = plain,
                                 .shards = 3,
                                 .having = { .is_set = true, .least = 2 } };
    struct stored s;
    struct df_view *view;
    struct df_view_info info;
    struct df_error err;
    int rows = 0;

    (void)state;
    stored_open(&s, plain, 3);
    (void)snprintf(s.path, sizeof s.path, "%s",
                   input_tree_path(s.root, "having"));
    assert_int_equal(view_create(s.path, &d, &err), DF_OK);
    rows_source_add_text(&s.run, "tree", 2);
    rows_source_add_text(&s.run, "sea", 1);
    rows_source_add_text(&s.run, "less", -3);
    s.allow_negative = true;
    apply(&s, "one");
    stored_check(&s);
    view = open_public(&s);
    assert_int_equal(count_of(view, "tree"), 2);
    assert_int_equal(count_of(view, "sea"), 0);
    assert_int_equal(df_view_each(view, NULL, 0, count_rows, &rows, &err),
                     DF_OK);
    assert_int_equal(rows, 1);
    df_view_info(view, &info);
    assert_int_equal(info.rows, 3);
    assert_int_equal(df_view_refresh(view, &err), DF_OK);
    assert_int_equal(count_of(view, "sea"), 0);
    df_view_close(view);
    stored_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_element_is_ignored_by_jobs_without),
        cmocka_unit_test(test_each),
        cmocka_unit_test(test_refresh),
        cmocka_unit_test(test_refresh_over_a_rebuild),
        cmocka_unit_test(test_at),
        cmocka_unit_test(test_having),
        cmocka_unit_test(test_failures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
