/*
 * What becomes of batches that are odd (README.md, "Exactly once"): deletions
 * of what never was, batches that come late, again or changed, and a run that
 * is interrupted. Each leaves the view at a whole batch.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "kept_view.h"
#include "state/compact.h"
#include "workplace.h"

/* A view of words, batches written by hand, and where they lie. */
struct scene {
    char root[INPUT_TREE_PATH];
    char deltas[INPUT_TREE_PATH];
    struct kept_view k;
    struct snapshot_state before;
};

static void scene_open(struct scene *s, unsigned shards)
{
    (void)workplace_new(s->root);
    input_tree_directory(s->root, "deltas");
    (void)snprintf(s->deltas, sizeof s->deltas, "%s",
                   input_tree_path(s->root, "deltas"));
    kept_open(&s->k, s->root, "view", registry_find("wordcount"), NULL, 0,
              shards);
}

static void scene_close(struct scene *s)
{
    kept_close(&s->k);
}

static void put(const struct scene *s, const char *path, const char *text)
{
    input_tree_text(s->deltas, path, text);
}

static enum df_status run(struct scene *s, const char *batch)
{
    char path[INPUT_TREE_PATH];

    (void)snprintf(path, sizeof path, "%s",
                   batch == NULL ? s->deltas
                                 : input_tree_path(s->deltas, batch));
    s->before = kept_state(&s->k);
    return kept_run(&s->k, path);
}

static void must_run(struct scene *s, const char *batch)
{
    kept_must(run(s, batch), &s->k);
}

static void assert_says(const struct scene *s, const char *what)
{
    if (strstr(s->k.err.text, what) == NULL) {
        fail_msg("'%s' does not say '%s'", s->k.err.text, what);
    }
}

static void assert_unchanged(const struct scene *s)
{
    struct snapshot_state now = kept_state(&s->k);
    struct buf rows = { 0 };

    assert_memory_equal(&now, &s->before, sizeof now);
    kept_rows(&s->k, &rows);
    buf_fini(&rows);
}

/* ---- deletions of what never was ---- */

/* batch_1: a, b; batch_2: deletes b, deletes a ghost with a word of b. */
static void put_ghost(const struct scene *s)
{
    put(s, "batch_1/inserted/a.txt", "red green");
    put(s, "batch_1/inserted/b.txt", "red blue");
    put(s, "batch_2/deleted/b.txt", "red blue");
    put(s, "batch_2/deleted/ghost.txt", "blue zebra");
    put(s, "batch_2/inserted/c.txt", "new");
}

static void abort_refuses_the_batch(void **state)
{
    (void)state;
    for (unsigned shards = 1; shards <= 3; shards++) {
        struct scene s;

        scene_open(&s, shards);
        put(&s, "batch_1/inserted/a.txt", "red green");
        put(&s, "batch_2/deleted/ghost.txt", "red zebra");
        put(&s, "batch_2/inserted/c.txt", "new");
        put(&s, "batch_3/inserted/d.txt", "later");
        must_run(&s, "batch_1");
        assert_int_equal(run(&s, NULL), DF_INPUT);
        assert_says(&s, "batch_2");
        assert_says(&s, "'ghost.txt'");
        assert_says(&s, "'zebra'");
        assert_int_equal(s.k.outcomes[ENGINE_APPLIED], 0);
        assert_unchanged(&s);
        s.k.options.method = INSTALL_OVERWRITE;
        assert_int_equal(run(&s, NULL), DF_INPUT);
        assert_says(&s, "'zebra'");
        assert_unchanged(&s);
        s.k.options.method = INSTALL_DEFER;
        assert_int_equal(run(&s, NULL), DF_INPUT);
        assert_says(&s, "batch_2");
        assert_says(&s, "'ghost.txt'");
        assert_says(&s, "'zebra'");
        assert_unchanged(&s);
        assert_int_equal(kept_count(&s.k, "red"), 1);
        assert_int_equal(kept_count(&s.k, "new"), 0);
        scene_close(&s);
    }
}

/* What quarantine leaves out is a batch itself. */
static void check_quarantined(struct scene *s)
{
    struct batch b;
    struct kept_view other;
    struct df_error err;

    assert_true(s->k.quarantine[0] != '\0');
    assert_int_equal(batch_scan(&b, s->k.quarantine, 2, &err), DF_OK);
    assert_int_equal(b.file_count, 1);
    assert_string_equal(b.files[0].path, "deleted/ghost.txt");
    assert_string_equal(b.name, "batch_2");
    batch_fini(&b);
    kept_open(&other, s->root, "other", registry_find("wordcount"), NULL, 0,
              1);
    other.options.on_negative = ENGINE_NEGATIVE_ALLOW;
    assert_int_equal(kept_run(&other, s->k.quarantine), DF_OK);
    assert_int_equal(kept_count(&other, "zebra"), -1);
    assert_int_equal(kept_count(&other, "blue"), -1);
    assert_int_equal(kept_state(&other).rows, 2);
    kept_close(&other);
}

static void quarantine_leaves_out_the_ghost_alone(void **state)
{
    (void)state;
    for (unsigned shards = 1; shards <= 3; shards += 2) {
        struct scene s;

        scene_open(&s, shards);
        put_ghost(&s);
        s.k.options.on_negative = ENGINE_NEGATIVE_QUARANTINE;
        must_run(&s, NULL);
        assert_int_equal(s.k.applied.quarantined, 1);
        assert_int_equal(s.k.applied.deleted, 1);
        assert_int_equal(s.k.applied.inserted, 1);
        assert_int_equal(kept_count(&s.k, "red"), 1);
        assert_int_equal(kept_count(&s.k, "green"), 1);
        assert_int_equal(kept_count(&s.k, "new"), 1);
        assert_int_equal(kept_state(&s.k).rows, 3);
        check_quarantined(&s);
        must_run(&s, NULL);
        assert_int_equal(s.k.outcomes[ENGINE_ALREADY_APPLIED], 2);
        assert_unchanged(&s);
        assert_int_equal(kept_verify(&s.k, s.deltas, true), DF_OK);
        scene_close(&s);
    }
}

/* A history in which every batch deletes ghosts as well: what is left is
 * what the history says. The ledger knows documents by their bytes on disk,
 * so these are deleted as they were inserted: none compressed. */
static void quarantine_keeps_to_the_history(void **state)
{
    uint64_t random = history_seed();
    struct history_style style = history_small;

    (void)state;
    style.gzip_one_in = 0;
    for (unsigned n = 0; n < history_times(3); n++) {
        struct scene s;
        struct history h;
        struct buf expected = { 0 };
        struct buf found = { 0 };

        scene_open(&s, 1 + n % 3);
        history_open(&h, s.root, &style, random_next(&random));
        s.k.options.on_negative = ENGINE_NEGATIVE_QUARANTINE;
        s.k.options.allow_repeat = true;
        for (unsigned i = 0; i < 6; i++) {
            unsigned ghosts = (unsigned)random_below(&random, 3);

            history_step(&h);
            for (unsigned g = 0; g < ghosts; g++) {
                (void)history_haunt(&h);
            }
            must_run(&s, NULL);
            assert_int_equal(s.k.applied.quarantined, ghosts);
            assert_int_equal(s.k.quarantine[0] != '\0', ghosts > 0);
            expected_by_oracle(&oracle_rules[0], &h, &expected);
            kept_rows(&s.k, &found);
            assert_same_rows(&expected, &found);
            assert_int_equal(kept_verify(&s.k, h.survivors, false), DF_OK);
        }
        assert_int_equal(kept_verify(&s.k, h.deltas, true), DF_OK);
        buf_fini(&expected);
        buf_fini(&found);
        history_close(&h);
        scene_close(&s);
    }
}

/* Among many documents, and where the first word is not to blame. */
static void abort_names_a_ghost_in_a_crowd(void **state)
{
    struct scene s;
    struct history h;

    (void)state;
    scene_open(&s, 3);
    history_open(&h, s.root, &history_small, history_seed());
    s.k.options.allow_repeat = true;
    for (unsigned i = 0; i < 5; i++) {
        history_step(&h);
    }
    input_tree_text(h.batch, "deleted/d1/ghost.txt",
                    "word1 word2 never\xc3\xa9 word3");
    input_tree_text(h.batch, "inserted/d1/ghost.txt", "word1 word2 word3");
    assert_int_equal(run(&s, NULL), DF_INPUT);
    assert_int_equal(s.k.outcomes[ENGINE_APPLIED], 4);
    assert_says(&s, "'batch_5'");
    assert_says(&s, "'d1/ghost.txt'");
    assert_int_equal(kept_state(&s.k).seq, 4);
    assert_int_equal(kept_count(&s.k, "never\xc3\xa9"), 0);
    history_close(&h);
    scene_close(&s);
}

static void allow_shows_what_is_negative(void **state)
{
    (void)state;
    for (unsigned shards = 1; shards <= 3; shards += 2) {
        struct scene s;

        scene_open(&s, shards);
        put(&s, "batch_1/deleted/x.txt", "one two two");
        put(&s, "batch_2/inserted/x.txt", "one two two");
        s.k.options.on_negative = ENGINE_NEGATIVE_ALLOW;
        must_run(&s, "batch_1");
        assert_int_equal(kept_count(&s.k, "one"), -1);
        assert_int_equal(kept_count(&s.k, "two"), -2);
        assert_int_equal(kept_state(&s.k).rows, 2);
        assert_int_equal(kept_verify(&s.k, s.deltas, true), DF_OK);
        scene_close(&s);
    }
}

/* What is negative vanishes when it is made good, by either method. */
static void allowed_negatives_vanish_when_made_good(void **state)
{
    static const enum install_method methods[] = { INSTALL_INCREMENT,
                                                   INSTALL_OVERWRITE,
                                                   INSTALL_DEFER };

    (void)state;
    for (unsigned i = 0; i < 9; i++) {
        struct scene s;

        scene_open(&s, 1 + i % 4);
        put(&s, "batch_1/deleted/x.txt", "one two two");
        put(&s, "batch_2/inserted/x.txt", "one two two");
        s.k.options.on_negative = ENGINE_NEGATIVE_ALLOW;
        put(&s, "batch_0/inserted/y.txt", "four");
        put(&s, "batch_3/deleted/y.txt", "four");
        must_run(&s, "batch_0");
        s.k.options.method = methods[i % 3];
        must_run(&s, "batch_1");
        s.k.options.on_negative = ENGINE_NEGATIVE_ABORT;
        s.k.options.method = methods[i / 3];
        must_run(&s, "batch_2");
        must_run(&s, "batch_3");
        kept_check_empty(&s.k);
        assert_int_equal(kept_verify(&s.k, s.deltas, true), DF_OK);
        scene_close(&s);
    }
}

/* ---- late, changed, repeated, empty ---- */

static void a_late_batch_is_refused_unless_allowed(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, 2);
    put(&s, "batch_1/inserted/a", "a1");
    put(&s, "batch_9/inserted/b", "b9");
    put(&s, "batch_10/inserted/c", "c10");
    must_run(&s, NULL);
    assert_int_equal(s.k.outcomes[ENGINE_APPLIED], 3);
    put(&s, "batch_2/inserted/d", "d2");
    assert_int_equal(run(&s, NULL), DF_LEDGER);
    assert_says(&s, "batch_2");
    assert_says(&s, "batch_10");
    assert_says(&s, "--allow-late");
    assert_unchanged(&s);
    s.k.options.allow_late = true;
    must_run(&s, NULL);
    assert_int_equal(s.k.outcomes[ENGINE_APPLIED], 1);
    assert_int_equal(kept_count(&s.k, "d2"), 1);
    /* The late one has not lowered the last name. */
    s.k.options.allow_late = false;
    put(&s, "batch_3/inserted/e", "e3");
    assert_int_equal(run(&s, "batch_3"), DF_LEDGER);
    assert_says(&s, "batch_10");
    put(&s, "batch_11/inserted/f", "f11");
    must_run(&s, "batch_11");
    scene_close(&s);
}

static void an_applied_name_with_other_content_is_refused(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, 1);
    put(&s, "batch_1/inserted/a", "alpha");
    must_run(&s, NULL);
    /* The same content with another time is the same. */
    (void)usleep(2000);
    put(&s, "batch_1/inserted/a", "alpha");
    must_run(&s, NULL);
    assert_int_equal(s.k.outcomes[ENGINE_ALREADY_APPLIED], 1);
    put(&s, "batch_1/inserted/a", "omega");
    put(&s, "batch_2/inserted/b", "beta");
    assert_int_equal(run(&s, NULL), DF_LEDGER);
    assert_says(&s, "batch_1");
    assert_says(&s, "other content");
    assert_unchanged(&s);
    put(&s, "batch_1/inserted/a", "alpha");
    put(&s, "batch_1/inserted/more", "");
    assert_int_equal(run(&s, NULL), DF_LEDGER);
    assert_unchanged(&s);
    scene_close(&s);
}

static void a_repeat_under_another_name_is_refused_unless_allowed(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, 3);
    put(&s, "batch_1/inserted/a", "alpha alpha");
    put(&s, "batch_2/inserted/b", "beta");
    put(&s, "batch_3/inserted/a", "alpha alpha");
    assert_int_equal(run(&s, NULL), DF_LEDGER);
    assert_int_equal(s.k.outcomes[ENGINE_APPLIED], 2);
    assert_says(&s, "batch_3");
    assert_says(&s, "batch_1");
    assert_says(&s, "--allow-repeat");
    assert_int_equal(kept_count(&s.k, "alpha"), 2);
    assert_int_equal(kept_state(&s.k).seq, 2);
    s.k.options.allow_repeat = true;
    must_run(&s, NULL);
    assert_int_equal(s.k.outcomes[ENGINE_APPLIED], 1);
    assert_int_equal(kept_count(&s.k, "alpha"), 4);
    scene_close(&s);
}

static void empty_batches_are_no_repeats(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, 2);
    for (unsigned i = 1; i <= 3; i++) {
        char path[2 * HISTORY_NAME];

        (void)snprintf(path, sizeof path, "%s/inserted",
                       history_batch_name(i));
        input_tree_directory(s.deltas, path);
    }
    must_run(&s, NULL);
    assert_int_equal(s.k.outcomes[ENGINE_APPLIED], 3);
    assert_int_equal(kept_state(&s.k).seq, 3);
    kept_check_empty(&s.k);
    must_run(&s, NULL);
    assert_int_equal(s.k.outcomes[ENGINE_ALREADY_APPLIED], 3);
    assert_unchanged(&s);
    scene_close(&s);
}

static void a_batch_without_its_marker_waits(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, 1);
    put(&s, "batch_1/inserted/a", "alpha");
    s.k.options.require_marker = true;
    must_run(&s, NULL);
    assert_int_equal(s.k.outcomes[ENGINE_NOT_READY], 1);
    assert_unchanged(&s);
    put(&s, "batch_1/_SUCCESS", "");
    must_run(&s, NULL);
    assert_int_equal(s.k.outcomes[ENGINE_APPLIED], 1);
    scene_close(&s);
}

static void a_dry_run_changes_nothing(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, 2);
    put(&s, "batch_1/inserted/a", "alpha");
    put(&s, "batch_2/inserted/b", "beta");
    must_run(&s, "batch_1");
    s.k.options.dry_run = true;
    must_run(&s, NULL);
    assert_int_equal(s.k.outcomes[ENGINE_ALREADY_APPLIED], 1);
    assert_int_equal(s.k.outcomes[ENGINE_WOULD_APPLY], 1);
    assert_unchanged(&s);
    /* Nor does one that would be refused. */
    (void)unlink(input_tree_path(s.deltas, "batch_2/inserted/b"));
    put(&s, "batch_2/inserted/a", "alpha");
    assert_int_equal(run(&s, NULL), DF_LEDGER);
    assert_unchanged(&s);
    scene_close(&s);
}

static void what_a_rebuild_covers_is_not_applied(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, 1);
    put(&s, "batch_1/inserted/a", "alpha");
    put(&s, "batch_2/inserted/b", "beta");
    put(&s, "batch_3/inserted/c", "gamma");
    input_tree_text(s.root, "documents/a", "alpha");
    input_tree_text(s.root, "documents/b", "beta");
    assert_int_equal(
        kept_rebuild(&s.k, input_tree_path(s.root, "documents"), "batch_2", 3),
        DF_OK);
    must_run(&s, NULL);
    assert_int_equal(s.k.outcomes[ENGINE_COVERED], 2);
    assert_int_equal(s.k.outcomes[ENGINE_APPLIED], 1);
    assert_int_equal(kept_state(&s.k).rows, 3);
    s.k.options.allow_late = true;
    must_run(&s, "batch_1");
    assert_int_equal(s.k.outcomes[ENGINE_APPLIED], 1);
    assert_int_equal(kept_count(&s.k, "alpha"), 2);
    scene_close(&s);
}

/* ---- interrupted ---- */

static volatile sig_atomic_t stop;

static void stop_it(void *ctx)
{
    unsigned *after = ctx;

    if (--*after == 0) {
        stop = 1;
    }
}

static void a_run_stops_between_batches(void **state)
{
    enum { STOP_AFTER = 2 };
    unsigned after = STOP_AFTER;
    struct scene s;

    (void)state;
    scene_open(&s, 3);
    for (unsigned i = 1; i <= 4; i++) {
        char path[2 * HISTORY_NAME];

        (void)snprintf(path, sizeof path, "%s/inserted/d%u",
                       history_batch_name(i), i);
        put(&s, path, "word");
    }
    s.k.options.stop = &stop;
    stop = 1;
    assert_int_equal(run(&s, NULL), DF_INTERRUPTED);
    assert_unchanged(&s);
    stop = 0;
    s.k.reported = stop_it;
    s.k.reported_ctx = &after;
    assert_int_equal(run(&s, NULL), DF_INTERRUPTED);
    assert_int_equal(s.k.outcomes[ENGINE_APPLIED], STOP_AFTER);
    assert_int_equal(kept_state(&s.k).seq, STOP_AFTER);
    assert_int_equal(kept_count(&s.k, "word"), STOP_AFTER);
    stop = 0;
    must_run(&s, NULL);
    assert_int_equal(kept_count(&s.k, "word"), 4);
    scene_close(&s);
}

static void stop_at_first_sight(void *ctx, const struct engine_progress *p)
{
    unsigned *seen = ctx;

    (void)p;
    (*seen)++;
    stop = 1;
}

/* Progress is told within a batch: stopped there, nothing of it remains. */
static void a_run_stops_within_a_batch(void **state)
{
    unsigned seen = 0;
    struct scene s;
    struct history h;

    (void)state;
    scene_open(&s, 2);
    history_open(&h, s.root, &history_huge, history_seed());
    history_step(&h);
    s.k.options.threads = 2;
    s.k.options.stop = &stop;
    s.k.options.progress = stop_at_first_sight;
    s.k.options.progress_ctx = &seen;
    stop = 0;
    assert_int_equal(run(&s, NULL), DF_INTERRUPTED);
    assert_true(seen > 0);
    assert_unchanged(&s);
    assert_int_equal(kept_state(&s.k).seq, 0);
    stop = 0;
    s.k.options.progress = NULL;
    must_run(&s, NULL);
    /* Nor does a rebuild or a verification that is stopped change it. */
    stop = 1;
    s.before = kept_state(&s.k);
    assert_int_equal(kept_rebuild(&s.k, h.survivors, NULL, 3), DF_INTERRUPTED);
    assert_unchanged(&s);
    assert_int_equal(kept_verify(&s.k, h.survivors, false), DF_INTERRUPTED);
    stop = 0;
    assert_int_equal(kept_verify(&s.k, h.survivors, false), DF_OK);
    history_close(&h);
    scene_close(&s);
}

static void on_alarm(int signal_number)
{
    (void)signal_number;
    stop = 1;
}

static void set_alarm(long microseconds)
{
    struct itimerval in = { .it_value = { .tv_usec = microseconds } };

    assert_int_equal(setitimer(ITIMER_REAL, &in, NULL), 0);
}

/* The view is at the entry's batch, whole. */
static void check_whole(struct scene *s, const struct snapshot_state *states)
{
    struct snapshot_state now = kept_state(&s->k);
    struct buf rows = { 0 };

    assert_true(hash128_equal(now.digest, states[now.seq].digest));
    if (now.unfolded == 0) {
        assert_int_equal(now.rows, states[now.seq].rows);
    }
    kept_rows(&s->k, &rows);
    buf_fini(&rows);
}

static const enum install_method methods_in_turn[] = {
    INSTALL_INCREMENT, INSTALL_DEFER, INSTALL_OVERWRITE, INSTALL_DEFER
};

/* Interrupted at any moment, again and again, until all is applied. */
static void a_run_stops_anywhere(void **state)
{
    enum { BATCHES = 12, TRIES = 600, LONGER_US = 500 };
    uint64_t random = history_seed();
    struct snapshot_state states[BATCHES + 1] = { { 0 } };
    struct sigaction action = { .sa_handler = on_alarm };
    unsigned interrupted = 0;
    enum df_status status = DF_INTERRUPTED;
    struct scene s;
    struct scene other;
    struct history h;

    (void)state;
    scene_open(&s, 3);
    scene_open(&other, 1);
    history_open(&h, s.root, &history_small, random);
    other.k.options.allow_repeat = true;
    s.k.options.allow_repeat = true;
    compact_set_scale(2000);
    for (unsigned i = 1; i <= BATCHES; i++) {
        history_step(&h);
        assert_int_equal(kept_run(&other.k, h.batch), DF_OK);
        states[i] = kept_state(&other.k);
    }
    s.k.options.stop = &stop;
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    for (unsigned i = 0; i < TRIES && status == DF_INTERRUPTED; i++) {
        s.k.options.method = methods_in_turn[i % 4];
        stop = 0;
        /* Shorter than the first batch at first, where that takes no time;
         * longer each time, so that a slow machine gets there too. */
        set_alarm(1 +
                  (long)random_below(&random, (uint64_t)LONGER_US * (i + 1)));
        status = kept_run(&s.k, h.deltas);
        set_alarm(0);
        interrupted += status == DF_INTERRUPTED ? 1 : 0;
        check_whole(&s, states);
    }
    print_message("interrupted %u times\n", interrupted);
    assert_int_equal(status, DF_OK);
    assert_true(interrupted > 0);
    compact_set_scale(0);
    stop = 0; /* the last alarm may have come when all was done */
    assert_int_equal(kept_verify(&s.k, h.survivors, false), DF_OK);
    history_close(&h);
    scene_close(&s);
    scene_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(abort_refuses_the_batch),
        cmocka_unit_test(abort_names_a_ghost_in_a_crowd),
        cmocka_unit_test(quarantine_leaves_out_the_ghost_alone),
        cmocka_unit_test(quarantine_keeps_to_the_history),
        cmocka_unit_test(allow_shows_what_is_negative),
        cmocka_unit_test(allowed_negatives_vanish_when_made_good),
        cmocka_unit_test(a_late_batch_is_refused_unless_allowed),
        cmocka_unit_test(an_applied_name_with_other_content_is_refused),
        cmocka_unit_test(
            a_repeat_under_another_name_is_refused_unless_allowed),
        cmocka_unit_test(empty_batches_are_no_repeats),
        cmocka_unit_test(a_batch_without_its_marker_waits),
        cmocka_unit_test(a_dry_run_changes_nothing),
        cmocka_unit_test(what_a_rebuild_covers_is_not_applied),
        cmocka_unit_test(a_run_stops_between_batches),
        cmocka_unit_test(a_run_stops_within_a_batch),
        cmocka_unit_test(a_run_stops_anywhere),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
