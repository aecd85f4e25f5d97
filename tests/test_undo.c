/*
 * The laws of history: over random histories of documents, with batches
 * undone, redone and corrected at random,
 *
 *   - the view is what a recomputation over the batches that are in it gives;
 *   - as of every entry that can be looked back to, it shows what it showed
 *     then, and those are the last `keep` entries at least;
 *   - what is undone is not applied again by itself, and nothing twice;
 *   - a corrected night is as if it had been right from the start.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "jobs/registry.h"
#include "jobs/wordcount/wordcount.h"
#include "kept_view.h"
#include "oracle.h"
#include "way.h"
#include "workplace.h"

enum { STEPS = 16, BATCHES = STEPS + 1 };

struct trial {
    struct history h;
    struct kept_view k;
    uint64_t random;
    uint64_t keep;
    uint64_t seq;
    bool undone[BATCHES + 1];   /* by number of the batch */
    uint64_t number[STEPS + 1]; /* the entry of each batch */
    struct buf past[STEPS + 1]; /* the rows after each entry */
    struct buf rows;
};

static void trial_open(struct trial *t, const struct df_job *job,
                       uint64_t seed)
{
    static const char *const lines[] = { "format=lines", "by=line", "count" };
    char root[INPUT_TREE_PATH];
    struct way way;

    *t = (struct trial){ .random = seed };
    way = way_random(&t->random);
    (void)workplace_new(root);
    history_open(&t->h, root, history_for(job), seed);
    /* Jobs over records take the documents' lines. */
    kept_open(&t->k, root, "view", job, lines, job->columns == NULL ? 0 : 3,
              way.shards);
    t->keep = 1 + random_below(&t->random, STEPS);
    kept_keep(&t->k, t->keep);
}

static void trial_close(struct trial *t)
{
    for (unsigned i = 0; i <= STEPS; i++) {
        buf_fini(&t->past[i]);
    }
    buf_fini(&t->rows);
    history_close(&t->h);
    kept_close(&t->k);
}

static void take_way(struct trial *t)
{
    struct way way = way_random(&t->random);

    way_take(&t->k, &way, (unsigned)t->seq);
    /* What is undone may have been deleted by a later batch. */
    t->k.options.on_negative = ENGINE_NEGATIVE_ALLOW;
}

static void add_batch(struct trial *t)
{
    unsigned undone = 0;

    history_step(&t->h);
    kept_must(kept_run(&t->k, t->h.deltas), &t->k);
    for (unsigned i = 1; i < t->h.batches; i++) {
        undone += t->undone[i] ? 1 : 0;
    }
    assert_int_equal(t->k.outcomes[ENGINE_APPLIED], 1);
    assert_int_equal(t->k.outcomes[ENGINE_UNDONE], undone);
    assert_int_equal(t->k.outcomes[ENGINE_ALREADY_APPLIED],
                     t->h.batches - 1 - undone);
    t->number[t->h.batches] = ++t->seq;
}

/* One batch out, or back in; refused when its run is not kept any more. */
static bool change_batch(struct trial *t)
{
    unsigned i = 1 + (unsigned)random_below(&t->random, t->h.batches);
    bool redo = t->undone[i];
    char number[32];
    enum df_status status;

    (void)snprintf(number, sizeof number, "#%llu",
                   (unsigned long long)t->number[i]);
    assert_int_equal(kept_undo(&t->k, number, !redo), DF_LEDGER);
    status = kept_undo(
        &t->k,
        random_below(&t->random, 2) == 0 ? number : history_batch_name(i),
        redo);
    if (status == DF_LEDGER) {
        /* Not among the last entries. */
        assert_true(t->number[i] + t->keep <= t->seq);
        return false;
    }
    kept_must(status, &t->k);
    t->undone[i] = !redo;
    t->seq++;
    return true;
}

static void check_past(struct trial *t)
{
    uint64_t reach = kept_reach(&t->k);

    assert_true(reach == 0 || reach + t->keep <= t->seq);
    for (uint64_t seq = reach; seq <= t->seq; seq++) {
        kept_must(kept_rows_at(&t->k, seq, &t->rows), &t->k);
        assert_same_rows(&t->past[seq], &t->rows);
    }
    if (reach > 0) {
        assert_int_equal(kept_rows_at(&t->k, reach - 1, &t->rows), DF_LEDGER);
    }
}

static void live_through(struct trial *t)
{
    while (t->seq < STEPS) {
        take_way(t);
        if (t->h.batches == 0 || random_below(&t->random, 3) > 0) {
            add_batch(t);
        } else if (!change_batch(t)) {
            continue;
        }
        kept_rows(&t->k, &t->past[t->seq]);
        kept_must(kept_verify(&t->k, t->h.deltas, true), &t->k);
        check_past(t);
    }
}

static void test_every_past_is_what_it_was(void **state)
{
    uint64_t seed = history_seed();
    const struct df_job *job;

    (void)state;
    for (size_t i = 0; (job = registry_job(i)) != NULL; i++) {
        for (unsigned n = 0; job->columns == NULL && n < history_times(4);
             n++) {
            struct trial t;

            trial_open(&t, job, seed + n);
            live_through(&t);
            trial_close(&t);
        }
    }
}

/* ---- a corrected night ---- */

static void words(const char *root, const char *directory, const char *night,
                  const char *text)
{
    char path[200];

    (void)snprintf(path, sizeof path, "%s/%s/inserted/a", directory, night);
    input_tree_text(root, path, text);
}

static void test_a_corrected_night(void **state)
{
    char root[INPUT_TREE_PATH];
    struct kept_view wrong;
    struct kept_view right;
    struct buf expected = { 0 };
    struct buf found = { 0 };

    (void)state;
    (void)workplace_new(root);
    words(root, "right", "n1", "one two");
    words(root, "right", "n2", "two three");
    words(root, "right", "n3", "three four");
    words(root, "wrong", "n1", "one two");
    words(root, "wrong", "n2", "twoo threee");
    words(root, "wrong", "n3", "three four");
    kept_open(&right, root, "right-view", &wordcount_job, NULL, 0, 3);
    kept_must(kept_run(&right, input_tree_path(root, "right")), &right);
    kept_open(&wrong, root, "wrong-view", &wordcount_job, NULL, 0, 3);
    kept_keep(&wrong, 5);
    kept_must(kept_run(&wrong, input_tree_path(root, "wrong")), &wrong);
    kept_must(kept_undo(&wrong, "n2", false), &wrong);
    assert_int_equal(kept_run(&wrong, input_tree_path(root, "right/n2")),
                     DF_LEDGER);
    wrong.options.allow_late = true;
    kept_must(kept_run(&wrong, input_tree_path(root, "right")), &wrong);
    assert_int_equal(wrong.outcomes[ENGINE_APPLIED], 1);
    kept_rows(&right, &expected);
    kept_rows(&wrong, &found);
    assert_same_rows(&expected, &found);
    kept_must(kept_verify(&wrong, input_tree_path(root, "right"), true),
              &wrong);
    /* The night's name stands for the corrected one now. */
    assert_int_equal(kept_undo(&wrong, "#2", true), DF_LEDGER);
    kept_must(kept_run(&wrong, input_tree_path(root, "right")), &wrong);
    assert_int_equal(wrong.outcomes[ENGINE_ALREADY_APPLIED], 3);
    assert_int_equal(kept_run(&wrong, input_tree_path(root, "wrong")),
                     DF_LEDGER);
    kept_close(&right);
    kept_close(&wrong);
    buf_fini(&expected);
    buf_fini(&found);
}

/* ---- what is refused ---- */

static void test_undo_that_makes_negative_rows_is_refused(void **state)
{
    char root[INPUT_TREE_PATH];
    struct kept_view k;
    struct snapshot_state before;
    struct snapshot_state after;

    (void)state;
    (void)workplace_new(root);
    kept_open(&k, root, "view", &wordcount_job, NULL, 0, 3);
    kept_keep(&k, 5);
    words(root, "deltas", "n1", "gone kept");
    input_tree_text(root, "deltas/n2/deleted/a", "gone kept");
    words(root, "deltas", "n2", "kept");
    kept_must(kept_run(&k, input_tree_path(root, "deltas")), &k);
    before = kept_state(&k);
    assert_int_equal(kept_undo(&k, "n1", false), DF_INPUT);
    assert_non_null(strstr(k.err.text, "'gone'"));
    assert_non_null(strstr(k.err.text, "n1"));
    after = kept_state(&k);
    assert_memory_equal(&before, &after, sizeof before);
    k.options.on_negative = ENGINE_NEGATIVE_ALLOW;
    kept_must(kept_undo(&k, "n1", false), &k);
    assert_int_equal(kept_count(&k, "gone"), -1);
    kept_must(kept_undo(&k, "n1", true), &k);
    after = kept_state(&k);
    assert_true(hash128_equal(before.digest, after.digest));
    kept_close(&k);
}

static void test_what_cannot_be_exact_is_refused(void **state)
{
    const char *window[] = { "window=2" };
    char root[INPUT_TREE_PATH];
    struct kept_view k;

    (void)state;
    (void)workplace_new(root);
    words(root, "deltas", "n1", "one");
    kept_open(&k, root, "plain", &wordcount_job, NULL, 0, 1);
    kept_must(kept_run(&k, input_tree_path(root, "deltas")), &k);
    assert_int_equal(kept_undo(&k, "n1", false), DF_LEDGER); /* not kept */
    assert_int_equal(kept_undo(&k, "n9", false), DF_LEDGER);
    assert_int_equal(kept_undo(&k, "#9", false), DF_LEDGER);
    assert_int_equal(kept_undo(&k, "#0", false), DF_LEDGER);
    kept_close(&k);
    kept_open(&k, root, "window", &wordcount_job, window, 1, 1);
    kept_must(kept_run(&k, input_tree_path(root, "deltas")), &k);
    assert_int_equal(kept_undo(&k, "n1", false), DF_LEDGER);
    assert_non_null(strstr(k.err.text, "window"));
    kept_close(&k);
}

/* The same content, undone, may come under another name; then it is no
 * longer to be redone. */
static void test_undone_content_under_another_name(void **state)
{
    char root[INPUT_TREE_PATH];
    struct kept_view k;

    (void)state;
    (void)workplace_new(root);
    kept_open(&k, root, "view", &wordcount_job, NULL, 0, 1);
    kept_keep(&k, 9);
    words(root, "deltas", "n1", "one");
    words(root, "deltas", "n2", "one");
    kept_must(kept_run(&k, input_tree_path(root, "deltas/n1")), &k);
    assert_int_equal(kept_run(&k, input_tree_path(root, "deltas/n2")),
                     DF_LEDGER);
    kept_must(kept_undo(&k, "n1", false), &k);
    kept_must(kept_run(&k, input_tree_path(root, "deltas/n2")), &k);
    assert_int_equal(kept_undo(&k, "n1", true), DF_LEDGER);
    kept_must(kept_undo(&k, "n2", false), &k);
    kept_must(kept_undo(&k, "n1", true), &k);
    assert_int_equal(kept_count(&k, "one"), 1);
    assert_int_equal(kept_undo(&k, "n2", true), DF_LEDGER);
    kept_close(&k);
}

/* A rebuild starts history anew, and goes on keeping. */
static void test_rebuild_begins_anew(void **state)
{
    char root[INPUT_TREE_PATH];
    struct kept_view k;
    struct buf rows = { 0 };

    (void)state;
    (void)workplace_new(root);
    kept_open(&k, root, "view", &wordcount_job, NULL, 0, 3);
    kept_keep(&k, 9);
    words(root, "deltas", "n1", "one");
    words(root, "deltas", "n2", "two");
    input_tree_text(root, "documents/a", "one two");
    kept_must(kept_run(&k, input_tree_path(root, "deltas")), &k);
    kept_must(kept_undo(&k, "n2", false), &k);
    assert_int_equal(kept_reach(&k), 0);
    kept_must(kept_rebuild(&k, input_tree_path(root, "documents"), NULL, 2),
              &k);
    assert_int_equal(kept_reach(&k), 4);
    assert_int_equal(kept_undo(&k, "n1", false), DF_LEDGER);
    /* Still undone, and said so; another name takes it. */
    kept_must(kept_run(&k, input_tree_path(root, "deltas")), &k);
    assert_int_equal(k.outcomes[ENGINE_UNDONE], 1);
    words(root, "deltas", "n3", "three");
    kept_must(kept_run(&k, input_tree_path(root, "deltas")), &k);
    kept_must(kept_undo(&k, "n3", false), &k);
    kept_must(kept_rows_at(&k, 5, &rows), &k);
    assert_int_equal(kept_reach(&k), 4);
    kept_close(&k);
    buf_fini(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_past_is_what_it_was),
        cmocka_unit_test(test_a_corrected_night),
        cmocka_unit_test(test_undo_that_makes_negative_rows_is_refused),
        cmocka_unit_test(test_what_cannot_be_exact_is_refused),
        cmocka_unit_test(test_undone_content_under_another_name),
        cmocka_unit_test(test_rebuild_begins_anew),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
