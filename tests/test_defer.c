/*
 * Deferred batches: what readers see of them, shards that are ahead, merging
 * and folding - all of it at once, in parts, and given up - and what may not
 * be deferred.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "deferred.h"
#include "history.h"
#include "oracle.h"
#include "state/commit.h"
#include "state/inbox.h"

/* ---- readers ---- */

static void test_rows_and_runs_are_read_as_one(void **state)
{
    uint64_t random = history_seed();

    (void)state;
    for (unsigned shards = 1; shards <= 3; shards += 2) {
        struct stored s;

        deferred_open(&s, shards, 500);
        for (unsigned i = 0; i < 8; i++) {
            deferred_add(&s, 60, &random);
            stored_check(&s);
        }
        assert_int_equal(deferred_fold_all(&s).folded, 8);
        stored_check(&s);
        /* All of it falls to zero, in the overlay. */
        rows_source_add_all(&s.run, &s.model, -1);
        deferred_apply(&s, INSTALL_DEFER);
        assert_int_equal(s.model.count, 0);
        stored_check(&s);
        (void)deferred_fold_all(&s);
        stored_check(&s);
        assert_int_equal(deferred_entries(&s, 0, STORE_ROWS_0) +
                             deferred_entries(&s, 0, STORE_ROWS_1),
                         0);
        stored_close(&s);
    }
}

static void test_every_method_folds_what_is_deferred(void **state)
{
    static const enum install_method methods[] = { INSTALL_INCREMENT,
                                                   INSTALL_OVERWRITE };
    uint64_t random = history_seed();

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct stored s;

        deferred_open(&s, 1 + i / 2 * 2, 400);
        for (unsigned k = 0; k < 3; k++) {
            deferred_add(&s, 50, &random);
            deferred_add(&s, 50, &random);
            deferred_random(&s, 50, &random);
            deferred_apply(&s, methods[i % 2]);
            assert_int_equal(s.entry.method, methods[i % 2]);
            assert_int_equal(deferred_overlay(&s, 0).count, 0);
            assert_int_equal(deferred_entries(&s, 0, STORE_RUNS), 0);
            stored_check(&s);
        }
        stored_close(&s);
    }
}

/* ---- shards that are ahead ---- */

/* Commits the next batch as a deferred one in the last shards alone, as a
 * writer does that is killed before it comes to the first. */
static void defer_in_some(struct stored *s, unsigned committed)
{
    struct view *v = deferred_view(s, VIEW_WRITE);
    struct ledger_entry e = { .seq = s->seq + 1, .kind = LEDGER_BATCH };

    rows_source_order(&s->run, ROWS_BY_HEAD);
    assert_int_equal(view_empty_inbox(v, 1, &s->err), DF_OK);
    for (unsigned i = s->shards - committed; i < s->shards; i++) {
        struct rows_source part;
        struct shard_state shard;
        struct kept_run run;
        struct store_txn *t = NULL;
        struct shard_step step = { .seq = e.seq, .defer = true, .entry = &e };
        const struct runs_put put = {
            .shape = s->shape, .seq = e.seq, .run = &part.source, .chunk = 1
        };

        rows_source_of_shard(&s->run, s->shards, i, &part);
        assert_int_equal(runs_put(&put, v->stores[i], &t, &run, &s->err),
                         DF_OK);
        assert_int_equal(shard_state_load(t, &shard, &s->err), DF_OK);
        step.rows.digest = digest_add(shard.digest, run.digest);
        assert_int_equal(shard_advance(t, &shard, &step, &s->err), DF_OK);
        assert_int_equal(store_commit(t, &s->err), DF_OK);
        rows_source_fini(&part);
    }
    view_close(v);
    rows_source_reset(&s->run);
}

static void test_what_is_not_decided_is_not_seen(void **state)
{
    uint64_t random = history_seed();

    (void)state;
    for (unsigned committed = 1; committed <= 2; committed++) {
        struct stored s;

        deferred_open(&s, 3, 300);
        deferred_add(&s, 40, &random);
        deferred_random(&s, 40, &random);
        defer_in_some(&s, committed);
        assert_int_equal(deferred_overlay(&s, 2).count, 2);
        stored_check(&s); /* no writer, no waiting */
        /* Another batch gets its number. */
        deferred_add(&s, 30, &random);
        assert_int_equal(deferred_overlay(&s, 2).count, 2);
        stored_check(&s);
        deferred_random(&s, 40, &random);
        defer_in_some(&s, committed);
        deferred_random(&s, 30, &random);
        deferred_apply(&s, INSTALL_INCREMENT);
        stored_check(&s);
        (void)deferred_fold_all(&s);
        stored_check(&s);
        stored_close(&s);
    }
}

static void test_snapshots_stand_still_while_runs_are_folded(void **state)
{
    uint64_t random = history_seed();
    struct stored_reader readers[3];
    struct stored s;

    (void)state;
    deferred_open(&s, 3, 300);
    for (unsigned i = 0; i < 3; i++) {
        deferred_add(&s, 40, &random);
        readers[i] = stored_reader_begin(&s);
        deferred_add(&s, 40, &random);
        (void)deferred_fold_all(&s);
    }
    for (unsigned i = 0; i < 3; i++) {
        stored_reader_end(readers[i]);
    }
    stored_close(&s);
}

/* ---- merging and folding by itself ---- */

static void compact_as_a_run_does(struct stored *s, struct compact_report *sum)
{
    const struct compact_plan plan = { .budget_us = 1000000, .threads = 2 };
    struct compact_report report;

    assert_int_equal(deferred_compact(s, &plan, &report), DF_OK);
    sum->merged += report.merged;
    sum->folded += report.folded;
    sum->changes += report.changes;
}

/* Three hundred nights of like size: few runs at any time, each row merged and
 * folded a few times, and the file hardly longer after them than after a
 * third; what was dropped, were it lost, would make it three times as long. */
static void test_three_hundred_batches(void **state)
{
    enum { BATCHES = 300, ROWS = 8000, CHANGES = 40, TERMS = 20 };
    uint64_t random = history_seed();
    struct compact_report sum = { 0 };
    uint64_t third = 0;
    uint64_t changes = 0;
    struct view *v;
    struct stored s;

    (void)state;
    compact_set_scale(1000);
    store_set_map_step(64 << 10);
    deferred_open(&s, 1, ROWS);
    for (unsigned i = 1; i <= BATCHES; i++) {
        for (unsigned k = 0; k < CHANGES; k++) {
            deferred_number(&s.run, random_below(&random, ROWS), 1);
        }
        changes += CHANGES;
        deferred_apply(&s, INSTALL_DEFER);
        compact_as_a_run_does(&s, &sum);
        assert_true(deferred_overlay(&s, 0).count <= TERMS);
        if (i == BATCHES / 3) {
            v = deferred_view(&s, VIEW_READ);
            third = view_disk_bytes(v);
            view_close(v);
        }
    }
    stored_check(&s);
    v = deferred_view(&s, VIEW_READ);
    print_message(
        "merged %llu, folded %llu of %u runs, %llu of %llu changes;"
        " %llu bytes, after a third %llu\n",
        (unsigned long long)sum.merged, (unsigned long long)sum.folded,
        BATCHES, (unsigned long long)sum.changes, (unsigned long long)changes,
        (unsigned long long)view_disk_bytes(v), (unsigned long long)third);
    assert_true(view_disk_bytes(v) <= third + third / 2);
    view_close(v);
    assert_true(sum.merged > 0);
    assert_true(sum.folded > 0);
    assert_true(sum.changes <= changes);
    assert_true(sum.merged <= (size_t)2 * BATCHES);
    stored_close(&s);
    store_set_map_step(0);
    compact_set_scale(0);
}

/* Compacts until a fold is under way. */
static void fold_in_part(struct stored *s, uint64_t *random)
{
    const struct compact_plan plan = { .threads = 1 };
    struct compact_report report;

    for (unsigned i = 0; i < 50 && deferred_overlay(s, 0).folding == 0; i++) {
        deferred_add(s, 40, random);
        assert_int_equal(deferred_compact(s, &plan, &report), DF_OK);
        stored_check(s);
    }
    assert_true(deferred_overlay(s, 0).folding > 0);
    assert_true(deferred_overlay(s, 0).fold_rows > 0);
}

static void test_a_fold_goes_on_where_it_was(void **state)
{
    const struct compact_plan plan = { .threads = 1 };
    uint64_t random = history_seed();
    struct compact_report report = { 0 };
    uint64_t before = 0;
    struct stored s;

    (void)state;
    compact_set_scale(2000);
    deferred_open(&s, 1, 3000);
    fold_in_part(&s, &random);
    for (unsigned i = 0; deferred_overlay(&s, 0).folding > 0; i++) {
        assert_true(deferred_overlay(&s, 0).fold_rows > before);
        before = deferred_overlay(&s, 0).fold_rows;
        if (i < 3) {
            deferred_add(&s, 20, &random); /* on top of what is folded */
            assert_true(s.entry.compact_us > 0);
        }
        assert_int_equal(deferred_compact(&s, &plan, &report), DF_OK);
        stored_check(&s);
    }
    assert_true(report.folded > 0);
    (void)deferred_fold_all(&s);
    stored_check(&s);
    stored_close(&s);
    compact_set_scale(0);
}

static void test_a_fold_is_given_up_for_another_method(void **state)
{
    static const enum install_method methods[] = { INSTALL_INCREMENT,
                                                   INSTALL_OVERWRITE };
    uint64_t random = history_seed();

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct stored s;

        compact_set_scale(2000);
        deferred_open(&s, 1 + i / 2, 3000);
        fold_in_part(&s, &random);
        deferred_random(&s, 30, &random);
        deferred_apply(&s, methods[i % 2]);
        assert_int_equal(deferred_overlay(&s, 0).count, 0);
        assert_int_equal(deferred_overlay(&s, 0).folding, 0);
        assert_true(deferred_entries(&s, 0, STORE_ROWS_0) == 0 ||
                    deferred_entries(&s, 0, STORE_ROWS_1) == 0);
        stored_check(&s);
        stored_close(&s);
        compact_set_scale(0);
    }
}

static void test_a_stopped_fold_changes_nothing(void **state)
{
    volatile sig_atomic_t stop = 1;
    const struct compact_plan plan = { .everything = true,
                                       .threads = 1,
                                       .stop = &stop };
    uint64_t random = history_seed();
    struct compact_report report;
    struct stored s;

    (void)state;
    deferred_open(&s, 3, 500);
    deferred_add(&s, 50, &random);
    assert_int_equal(deferred_compact(&s, &plan, &report), DF_INTERRUPTED);
    assert_int_equal(report.folded, 0);
    stored_check(&s);
    (void)deferred_fold_all(&s);
    stored_check(&s);
    stored_close(&s);
}

static void test_maps_that_are_too_small(void **state)
{
    uint64_t random = history_seed();

    (void)state;
    for (unsigned shards = 1; shards <= 3; shards += 2) {
        struct stored s;

        store_set_map_step(16384);
        compact_set_scale(3000);
        deferred_open(&s, shards, 2000);
        for (unsigned i = 0; i < 12; i++) {
            struct compact_report sum = { 0 };

            deferred_add(&s, 80, &random);
            compact_as_a_run_does(&s, &sum);
        }
        stored_check(&s);
        (void)deferred_fold_all(&s);
        stored_check(&s);
        stored_close(&s);
        compact_set_scale(0);
        store_set_map_step(0);
    }
}

/* ---- what is not deferred ---- */

/* Where a sum might not fit the batch is seen row by row. */
static void test_numbers_too_great_to_defer(void **state)
{
    struct stored s;

    (void)state;
    for (unsigned shards = 1; shards <= 3; shards += 2) {
        deferred_open(&s, shards, 10);
        rows_source_add_text(&s.run, "great", INT64_MAX - 10);
        deferred_apply(&s, INSTALL_DEFER);
        assert_int_equal(s.entry.method, INSTALL_DEFER);
        stored_check(&s);
        rows_source_add_text(&s.run, "great", 10);
        deferred_apply(&s, INSTALL_DEFER);
        assert_int_equal(s.entry.method, INSTALL_OVERWRITE);
        stored_check(&s);
        rows_source_add_text(&s.run, "great", 1);
        s.method = INSTALL_DEFER;
        assert_int_equal(stored_apply(&s, "too much"), DF_INPUT);
        assert_non_null(strstr(s.err.text, "'great'"));
        rows_source_reset(&s.run);
        stored_check(&s);
        rows_source_add_text(&s.run, "great", 5 - INT64_MAX);
        deferred_apply(&s, INSTALL_DEFER);
        /* All is small now, and known to be. */
        rows_source_add_text(&s.run, "small", 1);
        deferred_apply(&s, INSTALL_DEFER);
        assert_int_equal(s.entry.method, INSTALL_DEFER);
        stored_check(&s);
        stored_close(&s);
    }
}

static void test_runs_are_not_piled_up_without_end(void **state)
{
    struct stored s;

    (void)state;
    deferred_open(&s, 2, 100);
    for (unsigned i = 0; i < OVERLAY_MAX; i++) {
        deferred_number(&s.run, i, 1);
        deferred_apply(&s, INSTALL_DEFER);
        assert_int_equal(s.entry.method, INSTALL_DEFER);
    }
    stored_check(&s);
    deferred_number(&s.run, 7, 1);
    deferred_apply(&s, INSTALL_DEFER);
    assert_int_equal(s.entry.method, INSTALL_OVERWRITE);
    assert_int_equal(deferred_overlay(&s, 1).count, 0);
    stored_check(&s);
    stored_close(&s);
}

static bool listed(const struct install_negatives *n, const char *key)
{
    size_t at = 0;

    while (at < n->keys.len) {
        size_t len = load_be32(n->keys.data + at);

        if (bytes_equal(bytes_of(n->keys.data + at + 4, len),
                        bytes_of_string(key))) {
            return true;
        }
        at += 4 + len;
    }
    return false;
}

/* Rows and overlay together decide what is negative. */
static void test_negatives_are_those_of_the_sum(void **state)
{
    static const enum install_method methods[] = { INSTALL_INCREMENT,
                                                   INSTALL_OVERWRITE,
                                                   INSTALL_DEFER };

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        struct stored s;

        deferred_open(&s, 1 + i / 3 * 2, 30);
        rows_source_add_text(&s.run, "rise", 3);
        rows_source_add_text(&s.run, "fall", 3);
        deferred_apply(&s, INSTALL_DEFER);
        rows_source_add_text(&s.run, "rise", 2);
        rows_source_add_text(&s.run, "fall", -2);
        deferred_apply(&s, INSTALL_DEFER);
        assert_int_equal(s.entry.method, INSTALL_DEFER);
        rows_source_add_text(&s.run, "rise", -5);
        rows_source_add_text(&s.run, "fall", -2);
        rows_source_add_text(&s.run, "never", -1);
        s.method = methods[i % 3];
        assert_int_equal(stored_apply(&s, "bad"), DF_INPUT);
        assert_int_equal(s.negatives.count, 2);
        assert_true(listed(&s.negatives, "fall"));
        assert_true(listed(&s.negatives, "never"));
        assert_non_null(strstr(s.err.text, "would become negative"));
        rows_source_reset(&s.run);
        stored_check(&s);
        /* One that was allowed and rises is nobody's fault, though the
         * overlay lowers it. */
        rows_source_add_text(&s.run, "debt", -5);
        s.allow_negative = true;
        deferred_apply(&s, INSTALL_DEFER);
        s.allow_negative = false;
        rows_source_add_text(&s.run, "debt", 1);
        deferred_apply(&s, methods[i % 3]);
        stored_check(&s);
        rows_source_add_text(&s.run, "debt", -1);
        s.method = methods[i % 3];
        assert_int_equal(stored_apply(&s, "bad"), DF_INPUT);
        stored_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_and_runs_are_read_as_one),
        cmocka_unit_test(test_every_method_folds_what_is_deferred),
        cmocka_unit_test(test_what_is_not_decided_is_not_seen),
        cmocka_unit_test(test_snapshots_stand_still_while_runs_are_folded),
        cmocka_unit_test(test_three_hundred_batches),
        cmocka_unit_test(test_a_fold_goes_on_where_it_was),
        cmocka_unit_test(test_a_fold_is_given_up_for_another_method),
        cmocka_unit_test(test_a_stopped_fold_changes_nothing),
        cmocka_unit_test(test_maps_that_are_too_small),
        cmocka_unit_test(test_numbers_too_great_to_defer),
        cmocka_unit_test(test_runs_are_not_piled_up_without_end),
        cmocka_unit_test(test_negatives_are_those_of_the_sum),
    };

    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    /* And once more, every shard committing its part. */
    inbox_set_batch_max(0);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
