/*
 * The cost model: what it says of small and large batches, how it is fitted
 * to a view, and that a noisy night does not change its mind. And the filter
 * of stored runs, and the times that are noted beside the ledger.
 */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "state/cost.h"
#include "state/filter.h"
#include "state/inbox.h"
#include "state/ledger_table.h"
#include "state/timings.h"
#include "state/view_internal.h"
#include "stored_view.h"

static const struct cost_fit unfitted;

/* A view of so many rows, 400 to a page, and a batch of a part of it. */
static struct cost_features view_of(double rows, double part)
{
    return (struct cost_features){ .run_rows = rows * part,
                                   .run_bytes = 12 * rows * part,
                                   .view_rows = rows,
                                   .leaf_pages = rows / 400 + 1,
                                   .page_size = 4096,
                                   .shards = 2,
                                   .lanes = 2,
                                   .is_small =
                                       inbox_is_for(12 * rows * part) };
}

static enum install_method chosen(double rows, double part)
{
    struct cost_features f = view_of(rows, part);

    return cost_choose(&f, &unfitted, true, true).method;
}

static void test_sane_from_the_start(void **state)
{
    (void)state;
    assert_int_equal(chosen(30e6, 0.0001), INSTALL_DEFER);
    assert_int_equal(chosen(10e6, 0.01), INSTALL_DEFER);
    assert_int_equal(chosen(1e6, 0.01), INSTALL_DEFER);
    assert_int_equal(chosen(10e6, 1), INSTALL_OVERWRITE);
    assert_int_equal(chosen(100e3, 1), INSTALL_OVERWRITE);
    /* One commit in place of several. */
    assert_int_equal(chosen(10e3, 0.0001), INSTALL_DEFER);
    assert_int_equal(chosen(10e3, 0.1), INSTALL_DEFER);
}

static void test_more_work_costs_more(void **state)
{
    (void)state;
    for (int m = INSTALL_INCREMENT; m <= INSTALL_DEFER; m++) {
        double last = 0;

        for (unsigned rows = 100; rows <= 1000000; rows *= 10) {
            struct cost_features f = view_of(1e6, rows / 1e6);
            double us = cost_model(&f, (enum install_method)m);

            assert_true(us > last);
            last = us;
        }
    }
}

static void test_what_cannot_be_deferred_is_not(void **state)
{
    struct cost_features f = view_of(10e6, 0.001);

    (void)state;
    assert_int_not_equal(cost_choose(&f, &unfitted, true, false).method,
                         INSTALL_DEFER);
}

/* 30 KB of rows are counted after every batch, 100 KB need not be. */
static void test_tiny_views_are_not_deferred_to(void **state)
{
    struct cost_features f = view_of(1e4, 0.001);

    (void)state;
    assert_int_equal(cost_choose(&f, &unfitted, true, true).method,
                     INSTALL_DEFER);
    f = view_of(2e3, 0.001);
    assert_int_not_equal(cost_choose(&f, &unfitted, true, true).method,
                         INSTALL_DEFER);
}

static void test_what_cannot_be_changed_in_place_is_not(void **state)
{
    /* Between the two of them it would be the increment. */
    struct cost_features f = view_of(1e6, 0.001);

    (void)state;
    assert_int_equal(cost_choose(&f, &unfitted, true, false).method,
                     INSTALL_INCREMENT);
    assert_int_equal(cost_choose(&f, &unfitted, false, false).method,
                     INSTALL_OVERWRITE);
}

static void test_threads_that_are_worth_it(void **state)
{
    struct cost_features small = view_of(10e3, 0.1);
    struct cost_features large = view_of(10e6, 0.01);

    (void)state;
    assert_int_equal(cost_team(&small, INSTALL_INCREMENT), 1);
    assert_int_equal(cost_team(&small, INSTALL_OVERWRITE), 1);
    assert_int_equal(cost_team(&large, INSTALL_INCREMENT), 2);
    assert_int_equal(cost_team(&large, INSTALL_OVERWRITE), 2);
    assert_int_equal(cost_team(&large, INSTALL_DEFER), 2);
    large.lanes = 1;
    assert_int_equal(cost_team(&large, INSTALL_OVERWRITE), 1);
}

/* A fold that has begun is not given up when it is nearly done. */
static void test_a_fold_that_has_begun(void **state)
{
    struct cost_features f = view_of(1e6, 0.05);

    (void)state;
    f.overlay_rows = f.folding_rows = 1e5;
    f.overlay_bytes = f.folding_bytes =
        2 * cost_due_bytes(f.leaf_pages / 2, f.page_size);
    f.fold_left = 1e6;
    assert_int_equal(cost_choose(&f, &unfitted, true, true).method,
                     INSTALL_OVERWRITE);
    f.fold_left = 1e5;
    assert_int_equal(cost_choose(&f, &unfitted, true, true).method,
                     INSTALL_DEFER);
}

/* A slow disk is slow for every method: one that was not tried since does not
 * look cheap. */
static void test_slow_commits_are_slow_for_all(void **state)
{
    static const struct cost_fit slow = { .commit = 9 };
    static const double sizes[] = { 1e4, 1e5, 1e6 };

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct cost_features f = view_of(sizes[i], 0.03);

        assert_int_equal(cost_choose(&f, &slow, true, true).method,
                         INSTALL_DEFER);
    }
}

/* ---- months ---- */

/* What a month of nights costs, with what is put off, in a world that is as
 * the model has it. */
static double month_of(double rows, double part, enum install_method m)
{
    double due = 2 * cost_due_bytes(rows / 800, 4096);
    double us = 0;
    struct cost_features f = view_of(rows, part);

    for (unsigned night = 0; night < 30; night++) {
        enum install_method by =
            m == INSTALL_AUTO ? cost_choose(&f, &unfitted, true, true).method
                              : m;

        us += cost_model(&f, by);
        f.overlay_rows = by == INSTALL_DEFER ? f.overlay_rows + f.run_rows : 0;
        f.overlay_bytes = 12 * f.overlay_rows;
        if (f.overlay_bytes >= due) {
            us += cost_fold(&f, &unfitted, f.overlay_rows);
            f.overlay_rows = f.overlay_bytes = 0;
        }
    }
    return us + f.overlay_bytes / due * cost_fold(&f, &unfitted, due / 12);
}

static void test_months_of_any_size(void **state)
{
    static const double sizes[] = { 1e4, 1e5, 1e6, 1e7, 3e7 };
    static const double parts[] = { 1e-4, 1e-3, 0.01, 0.03, 0.05,
                                    0.1,  0.2,  0.3,  0.5,  1 };

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            double best =
                fmin(fmin(month_of(sizes[i], parts[k], INSTALL_INCREMENT),
                          month_of(sizes[i], parts[k], INSTALL_OVERWRITE)),
                     month_of(sizes[i], parts[k], INSTALL_DEFER));
            double us = month_of(sizes[i], parts[k], INSTALL_AUTO);

            print_message("%.0f rows, %g %%: auto %.2f of the best\n",
                          sizes[i], 100 * parts[k], us / best);
            assert_true(us <= 1.15 * best);
        }
    }
}

/* ---- fit ---- */

/* An entry of so many rows that took `off` times what was modelled, and what
 * that was beside commits. */
static double apply(struct stored *s, enum install_method m, size_t rows,
                    double off)
{
    struct view *v;
    struct ledger_entry e;
    char name[32];

    for (size_t i = 0; i < rows; i++) {
        (void)snprintf(name, sizeof name, "%llu-%zu",
                       (unsigned long long)s->seq + 1, i);
        rows_source_add_text(&s->run, name, 1);
    }
    s->method = m;
    assert_int_equal(stored_apply(s, name), DF_OK);
    assert_true(s->entry.model_us >= s->entry.model_commit_us);
    assert_true(s->entry.model_commit_us > 0);
    assert_true(s->entry.predicted_us > 0);
    e = s->entry;
    e.install_us = (uint64_t)((double)e.model_us * off) + 1000000;
    assert_int_equal(view_open(&v, s->path, VIEW_READ, 0, &s->err), DF_OK);
    timings_note(v, &e);
    view_close(v);
    return (double)(e.model_us - e.model_commit_us);
}

static struct cost_fit fit_of(struct stored *s)
{
    struct timings timings;
    struct cost_fit fit;
    struct store_txn *t;
    struct view *v;

    assert_int_equal(view_open(&v, s->path, VIEW_READ, 0, &s->err), DF_OK);
    timings_load(&timings, v);
    assert_int_equal(store_begin(&t, v->stores[0], STORE_READ, &s->err),
                     DF_OK);
    assert_int_equal(cost_fit_load(&fit, t, &timings, s->seq, &s->err), DF_OK);
    store_abort(t);
    view_close(v);
    return fit;
}

static double commit_factor_of(struct stored *s)
{
    struct cost_fit fit = fit_of(s);

    return cost_commit_factor(&fit);
}

static double work_factor_of(struct stored *s, enum install_method m)
{
    struct cost_fit fit = fit_of(s);

    return cost_work_factor(&fit, m);
}

static const struct row_shape plain = { .components = 1 };

/* Times here are a second and more, factors beyond the limit of 16. The
 * first night does not decide, the second does. */
static void test_fitted_by_the_median(void **state)
{
    struct stored s;

    (void)state;
    stored_open(&s, plain, 1);
    assert_true(commit_factor_of(&s) == 1);
    (void)apply(&s, INSTALL_OVERWRITE, 1, 1000);
    assert_true(commit_factor_of(&s) == 1);
    (void)apply(&s, INSTALL_DEFER, 1, 1000);
    assert_true(commit_factor_of(&s) == 16);
    assert_true(work_factor_of(&s, INSTALL_DEFER) == 1);
    stored_close(&s);
}

/* Nights of many rows tell of these, and nothing of commits. */
static void test_work_is_fitted_by_itself(void **state)
{
    enum { MANY = 40000 };
    struct stored s;

    (void)state;
    stored_open(&s, plain, 1);
    for (unsigned i = 0; i < 2; i++) {
        double work = apply(&s, INSTALL_OVERWRITE, MANY, 1000);

        assert_true(work > (double)s.entry.model_commit_us);
    }
    assert_true(commit_factor_of(&s) == 1);
    assert_true(work_factor_of(&s, INSTALL_OVERWRITE) == 16);
    /* The others are as far off, for all that is known. */
    assert_true(work_factor_of(&s, INSTALL_DEFER) == 16);
    stored_close(&s);
}

/* What a ledger of such entries says. */
struct told {
    enum install_method method;
    uint64_t install_us;
    uint64_t model_us;
    uint64_t commit_us; /* of that */
};

static void put_entry(struct store_txn *t, uint64_t seq,
                      const struct told *told)
{
    struct ledger_record r = { 0 };
    struct df_error err;
    const struct ledger_entry e = { .seq = seq,
                                    .kind = LEDGER_REBUILD,
                                    .method = told->method,
                                    .install_us = told->install_us,
                                    .model_us = told->model_us,
                                    .model_commit_us = told->commit_us };

    assert_int_equal(ledger_record_make(&r, &e, NULL, 0, &err), DF_OK);
    assert_int_equal(ledger_table_put(t, &r, &err), DF_OK);
    ledger_record_fini(&r);
}

static struct cost_fit fit_to(const struct told *told, size_t n)
{
    static const struct timings none;
    char root[INPUT_TREE_PATH];
    struct cost_fit fit;
    struct df_error err;
    struct store_txn *t;
    struct store *s;

    input_tree_open(root);
    assert_int_equal(store_open(&s, input_tree_path(root, "store"),
                                STORE_WRITE, NULL, &err),
                     DF_OK);
    assert_int_equal(store_begin(&t, s, STORE_WRITE, &err), DF_OK);
    for (size_t i = 0; i < n; i++) {
        put_entry(t, i + 1, &told[i]);
    }
    assert_int_equal(cost_fit_load(&fit, t, &none, n, &err), DF_OK);
    store_abort(t);
    store_close(s);
    input_tree_remove(root);
    return fit;
}

static void check_fit(const struct told *told, size_t n, double commit,
                      double work)
{
    struct cost_fit fit = fit_to(told, n);

    assert_true(fabs(cost_commit_factor(&fit) - commit) < 1e-9);
    assert_true(fabs(cost_work_factor(&fit, INSTALL_INCREMENT) - work) < 1e-9);
}

#define FIT(told, commit, work)                                               \
    check_fit(told, sizeof(told) / sizeof *(told), commit, work)

static void test_entries_tell_of_what_is_most_of_them(void **state)
{
    /* Commits of three times 900; then work of 3900 + 2 * 3900 by that. */
    static const struct told both[] = {
        { INSTALL_DEFER, 2700 + 100, 1000, 900 },
        { INSTALL_DEFER, 2700 + 100, 1000, 900 },
        { INSTALL_INCREMENT, 3 * 1300 + 2 * 3900, 5200, 1300 },
        { INSTALL_INCREMENT, 3 * 1300 + 2 * 3900, 5200, 1300 },
    };
    static const struct told halves[] = {
        { INSTALL_INCREMENT, 9000, 1000, 500 },
        { INSTALL_INCREMENT, 9000, 1000, 500 },
    };
    /* A night in which commits were quicker than ever. */
    static const struct told quick[] = {
        { INSTALL_DEFER, 9000, 1000, 1000 },
        { INSTALL_DEFER, 9000, 1000, 1000 },
        { INSTALL_INCREMENT, 5000, 4000, 1000 },
        { INSTALL_INCREMENT, 5000, 4000, 1000 },
    };
    /* Of an earlier version. */
    static const struct told old[] = {
        { INSTALL_INCREMENT, 9000, 1000, 0 },
        { INSTALL_INCREMENT, 9000, 1000, 0 },
    };

    (void)state;
    FIT(both, 3, 2);
    FIT(halves, 1, 1);
    FIT(quick, 9, 1);
    FIT(old, 1, 1);
}

static void note_us(struct stored *s, uint64_t seq, uint64_t us)
{
    struct ledger_entry e = { .seq = seq, .install_us = us };
    struct view *v;

    assert_int_equal(view_open(&v, s->path, VIEW_READ, 0, &s->err), DF_OK);
    timings_note(v, &e);
    view_close(v);
}

static void test_a_noisy_night_changes_nothing(void **state)
{
    double calm;
    struct stored s;

    (void)state;
    stored_open(&s, plain, 1);
    for (unsigned i = 0; i < 7; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "%u", i);
        rows_source_add_text(&s.run, name, 1);
        s.method = i == 0 ? INSTALL_OVERWRITE : INSTALL_INCREMENT;
        assert_int_equal(stored_apply(&s, name), DF_OK);
        /* Longer than what it took, or it would not be believed. */
        note_us(&s, s.seq, UINT64_C(10000000));
    }
    calm = commit_factor_of(&s);
    assert_true(calm == 16);
    note_us(&s, 4, s.entry.install_us);
    assert_true(commit_factor_of(&s) == calm);
    stored_close(&s);
}

/* ---- times beside the ledger ---- */

static void test_times_with_the_commit(void **state)
{
    struct snapshot *snapshot;
    struct ledger_entry e;
    struct view *v;
    struct stored s;
    bool found;
    int fd;

    (void)state;
    stored_open(&s, plain, 1);
    rows_source_add_text(&s.run, "a", 1);
    assert_int_equal(stored_apply(&s, "1"), DF_OK);
    note_us(&s, 1, 77000000);
    for (unsigned damaged = 0; damaged <= 1; damaged++) {
        if (damaged == 1) {
            fd = open(stored_file(&s, "gen-1/timings"), O_WRONLY);
            assert_int_equal(pwrite(fd, "x", 1, TIMINGS_SLOT + 15), 1);
            (void)close(fd);
        }
        assert_int_equal(view_open(&v, s.path, VIEW_READ, 0, &s.err), DF_OK);
        assert_int_equal(snapshot_open(&snapshot, v, &s.err), DF_OK);
        assert_int_equal(snapshot_ledger_get(snapshot, 1, &e, &found, &s.err),
                         DF_OK);
        assert_true(found);
        assert_int_equal(e.install_us == 77000000, damaged == 0);
        assert_true(e.measured_us >= e.install_us);
        snapshot_close(snapshot);
        view_close(v);
    }
    stored_close(&s);
}

/* ---- filter ---- */

static uint64_t hash_of(uint64_t n)
{
    uint8_t raw[8];

    store_be64(raw, n);
    return hash64(bytes_of(raw, sizeof raw));
}

static void test_a_filter_never_denies_and_seldom_errs(void **state)
{
    static const size_t sizes[] = { 1, 10, 60, 1500, 20000 };

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t size = filter_size(sizes[i]);
        uint8_t *filter = calloc(1, size);
        unsigned wrong = 0;

        assert_non_null(filter);
        for (uint64_t n = 0; n < sizes[i]; n++) {
            filter_add(filter, size, hash_of(n));
        }
        for (uint64_t n = 0; n < sizes[i]; n++) {
            assert_true(filter_may_hold(bytes_of(filter, size), hash_of(n)));
        }
        for (uint64_t n = 0; n < 100000; n++) {
            wrong +=
                filter_may_hold(bytes_of(filter, size), hash_of(n + 1000000));
        }
        print_message("%zu hashes: %u of 100000 wrong\n", sizes[i], wrong);
        assert_true(wrong < 3000);
        free(filter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sane_from_the_start),
        cmocka_unit_test(test_more_work_costs_more),
        cmocka_unit_test(test_what_cannot_be_deferred_is_not),
        cmocka_unit_test(test_tiny_views_are_not_deferred_to),
        cmocka_unit_test(test_what_cannot_be_changed_in_place_is_not),
        cmocka_unit_test(test_threads_that_are_worth_it),
        cmocka_unit_test(test_a_fold_that_has_begun),
        cmocka_unit_test(test_slow_commits_are_slow_for_all),
        cmocka_unit_test(test_months_of_any_size),
        cmocka_unit_test(test_fitted_by_the_median),
        cmocka_unit_test(test_work_is_fitted_by_itself),
        cmocka_unit_test(test_entries_tell_of_what_is_most_of_them),
        cmocka_unit_test(test_a_noisy_night_changes_nothing),
        cmocka_unit_test(test_times_with_the_commit),
        cmocka_unit_test(test_a_filter_never_denies_and_seldom_errs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
