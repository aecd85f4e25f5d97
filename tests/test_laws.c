/*
 * The laws of CONTRIBUTING.md over random histories (law 2 is in
 * test_ways.c, law 6 in test_readers.c):
 *
 *   1  after every batch the view is what recomputation gives
 *   4  a second run changes nothing, and reads nothing
 *   5  what is inserted and deleted leaves nothing behind
 *
 * DELTAFOLD_SEED repeats a run, DELTAFOLD_HISTORIES=N does N times as much.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "kept_view.h"
#include "state/compact.h"
#include "way.h"
#include "workplace.h"

enum { BATCHES = 10 };

/* ---- laws 1, 4 and 5 ---- */

/* One history on its way, and what its view should be. */
struct trial {
    struct history h;
    struct kept_view k;
    uint64_t random;
    const struct oracle_rule *rule; /* NULL: the job is its own oracle */
    bool rebuilt;
    struct buf expected;
    struct buf found;
};

static void trial_open(struct trial *t, const struct df_job *job,
                       const struct oracle_rule *rule,
                       const struct history_style *style, uint64_t seed)
{
    char root[INPUT_TREE_PATH];
    struct words_given given;
    struct way way;

    *t = (struct trial){ .random = seed, .rule = rule };
    way = way_random(&t->random);
    compact_set_scale((size_t)random_below(&t->random, 3) * 1500);
    (void)workplace_new(root);
    history_open(&t->h, root, style, seed);
    kept_open(&t->k, root, "view", job,
              rule != NULL ? words_given(&given, rule) : NULL,
              rule != NULL ? 3 : 0, way.shards);
}

static void trial_close(struct trial *t)
{
    history_close(&t->h);
    kept_close(&t->k);
    buf_fini(&t->expected);
    buf_fini(&t->found);
}

static void check_recomputation(struct trial *t)
{
    if (t->rule != NULL) {
        expected_by_oracle(t->rule, &t->h, &t->expected);
    } else {
        expected_by_job(&t->k.job, &t->h, &t->expected);
    }
    kept_rows(&t->k, &t->found);
    assert_same_rows(&t->expected, &t->found);
    kept_must(kept_verify(&t->k, t->h.survivors, false), &t->k);
    if (t->rebuilt) {
        assert_int_equal(kept_verify(&t->k, t->h.deltas, true), DF_USAGE);
    } else {
        kept_must(kept_verify(&t->k, t->h.deltas, true), &t->k);
    }
}

/* Applies the batch made last; now and then by naming all of them. */
static void apply_batch(struct trial *t)
{
    struct way way = way_random(&t->random);
    bool all = random_below(&t->random, 3) == 0;

    way_take(&t->k, &way, t->h.batches);
    kept_must(kept_run(&t->k, all ? t->h.deltas : t->h.batch), &t->k);
    assert_int_equal(t->k.outcomes[ENGINE_APPLIED], 1);
    assert_int_equal(t->k.outcomes[ENGINE_ALREADY_APPLIED],
                     all ? t->h.batches - 1 : 0);
}

static void rebuild_it(struct trial *t)
{
    struct snapshot_state before = kept_state(&t->k);
    struct way way = way_random(&t->random);
    struct snapshot_state after;

    way_take(&t->k, &way, 0);
    kept_must(kept_rebuild(&t->k, t->h.survivors, NULL, way.shards), &t->k);
    t->rebuilt = true;
    after = kept_state(&t->k);
    assert_int_equal(after.seq, before.seq + 1);
    assert_int_equal(after.unfolded, 0);
    if (before.unfolded == 0) {
        assert_int_equal(after.rows, before.rows);
    }
    assert_true(hash128_equal(after.digest, before.digest));
    check_recomputation(t);
}

static void check_second_run(struct trial *t)
{
    struct snapshot_state before = kept_state(&t->k);
    struct snapshot_state after;

    kept_must(kept_run(&t->k, t->h.deltas), &t->k);
    assert_int_equal(t->k.outcomes[ENGINE_ALREADY_APPLIED], t->h.batches);
    for (unsigned i = 0; i < KEPT_OUTCOMES; i++) {
        assert_true(i == ENGINE_ALREADY_APPLIED || t->k.outcomes[i] == 0);
    }
    after = kept_state(&t->k);
    assert_memory_equal(&after, &before, sizeof after);
}

static void live_through(struct trial *t, unsigned batches)
{
    uint64_t rebuild_at = random_below(&t->random, 2 * (uint64_t)batches);

    for (unsigned i = 0; i < batches; i++) {
        history_step(&t->h);
        apply_batch(t);
        check_recomputation(t);
        if (i == rebuild_at) {
            rebuild_it(t);
        }
    }
    check_second_run(t);
    history_erase(&t->h);
    apply_batch(t);
    check_recomputation(t);
    kept_check_empty(&t->k);
    check_second_run(t);
}

static void every_job_is_what_recomputation_gives(void **state)
{
    uint64_t seed = history_seed();
    const struct df_job *job;

    (void)state;
    for (size_t i = 0; (job = registry_job(i)) != NULL; i++) {
        /* Jobs over records: see test_aggregate_laws.c. */
        for (unsigned n = 0; job->columns == NULL && n < history_times(2);
             n++) {
            struct trial t;

            trial_open(&t, job, NULL, history_for(job), seed + n);
            live_through(&t, BATCHES);
            trial_close(&t);
        }
    }
}

static void words_are_what_the_oracle_counts(void **state)
{
    uint64_t seed = history_seed();

    (void)state;
    for (unsigned n = 0; n < history_times(1); n++) {
        for (unsigned i = 0; i < ORACLE_RULES; i++) {
            struct trial t;
            uint64_t number = (uint64_t)n * ORACLE_RULES + i;

            trial_open(&t, registry_find("wordcount"), &oracle_rules[i],
                       &history_small, seed + number);
            live_through(&t, BATCHES / 2);
            trial_close(&t);
        }
    }
}

/* ---- law 4: nothing is read ---- */

/* Writes other content of the same length and gives the file its old time. */
static void falsify(const char *path)
{
    struct stat st;
    struct timespec times[2];
    int fd = open(path, O_RDWR | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(pwrite(fd, "XYZ", 3, 0), 3);
    times[0] = st.st_atim;
    times[1] = st.st_mtim;
    assert_int_equal(futimens(fd, times), 0);
    (void)close(fd);
}

static void applied_batches_are_not_read_again(void **state)
{
    char root[INPUT_TREE_PATH];
    struct history h;
    struct kept_view k;
    struct snapshot_state before;
    struct snapshot_state after;

    (void)state;
    history_open(&h, workplace_new(root), &history_small, history_seed());
    kept_open(&k, root, "view", registry_find("wordcount"), NULL, 0, 2);
    history_steps(&h, 3);
    input_tree_text(h.batch, "inserted/false.txt", "abc def\n");
    k.options.allow_repeat = true;
    kept_must(kept_run(&k, h.deltas), &k);
    before = kept_state(&k);
    falsify(input_tree_path(h.batch, "inserted/false.txt"));
    kept_must(kept_run(&k, h.deltas), &k);
    assert_int_equal(k.outcomes[ENGINE_ALREADY_APPLIED], 3);
    k.options.paranoid = true;
    assert_int_equal(kept_run(&k, h.deltas), DF_LEDGER);
    assert_non_null(strstr(k.err.text, "batch_3"));
    assert_int_equal(k.outcomes[ENGINE_ALREADY_APPLIED], 2);
    after = kept_state(&k);
    assert_memory_equal(&after, &before, sizeof after);
    assert_int_equal(kept_verify(&k, h.deltas, true), DF_LEDGER);
    kept_close(&k);
    history_close(&h);
}

/* ---- rebuild as of an earlier batch ---- */

/* The documents as they stood at the batch, in root/then; the rows of a view
 * of them. */
static void rows_then(const struct history *h, const char *root,
                      const struct jobspec *job, struct buf *rows)
{
    history_write_survivors(h, input_tree_path(root, "then"));
    expected_by_job(job, h, rows);
}

static void a_rebuild_stands_where_it_is_told(void **state)
{
    enum { THEN = 4, NOW = 8 };
    uint64_t random = history_seed();
    char root[INPUT_TREE_PATH];
    char then[INPUT_TREE_PATH];
    struct buf rows[2] = { { 0 }, { 0 } };
    struct buf found = { 0 };
    struct history h;
    struct kept_view k;

    (void)state;
    history_open(&h, workplace_new(root), &history_small, random);
    kept_open(&k, root, "view", registry_find("wordcount"), NULL, 0, 3);
    (void)snprintf(then, sizeof then, "%s", input_tree_path(root, "then"));
    k.options.allow_repeat = true;
    history_steps(&h, THEN);
    rows_then(&h, root, &k.job, &rows[0]);
    history_steps(&h, NOW - THEN);
    expected_by_job(&k.job, &h, &rows[1]);
    /* As of batch 4: first from an empty view, then from one at batch 8. */
    for (unsigned round = 0; round < 2; round++) {
        kept_must(kept_rebuild(&k, then, history_batch_name(THEN), 1 + round),
                  &k);
        kept_rows(&k, &found);
        assert_same_rows(&rows[0], &found);
        kept_must(kept_verify(&k, then, false), &k);
        kept_must(kept_run(&k, h.deltas), &k);
        assert_int_equal(k.outcomes[ENGINE_COVERED], THEN);
        assert_int_equal(k.outcomes[ENGINE_APPLIED], NOW - THEN);
        kept_rows(&k, &found);
        assert_same_rows(&rows[1], &found);
        kept_must(kept_verify(&k, h.survivors, false), &k);
    }
    history_step(&h);
    kept_must(kept_run(&k, h.deltas), &k);
    kept_must(kept_verify(&k, h.survivors, false), &k);
    buf_fini(&rows[0]);
    buf_fini(&rows[1]);
    buf_fini(&found);
    kept_close(&k);
    history_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_is_what_recomputation_gives),
        cmocka_unit_test(words_are_what_the_oracle_counts),
        cmocka_unit_test(applied_batches_are_not_read_again),
        cmocka_unit_test(a_rebuild_stands_where_it_is_told),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
