/*
 * Law 2 of CONTRIBUTING.md: rows, ledger and digests are the same
 * bytes for any number of threads and shards, for any budget, however files
 * are split, whatever the method, and however small the store's maps are.
 *
 * DELTAFOLD_SEED repeats a run, DELTAFOLD_HISTORIES=N does N times as much.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "input/reader.h"
#include "kept_view.h"
#include "state/compact.h"
#include "state/store.h"
#include "tight_map.h"
#include "way.h"
#include "workplace.h"

enum {
    BATCHES = 10,
    SMALL_SCALE = 2000 /* bytes: views of these histories are folded often */
};

/* Rows and ledger that every way must come to. */
struct reference {
    const struct df_job *job;
    const char *const *given;
    size_t n;
    const struct history *h;
    const char *root;
    struct buf rows;
    struct buf ledger; /* with what was seen of rows ... */
    struct buf unseen; /* ... and without */
    unsigned ways;
};

static void go_way(const struct reference *r, const struct way *w,
                   struct kept_view *k)
{
    char name[HISTORY_NAME];

    (void)snprintf(name, sizeof name, "view_%u", r->ways);
    kept_open(k, r->root, name, r->job, r->given, r->n, w->shards);
    if (w->method != WAY_ALTERNATE) {
        way_take(k, w, 0);
        kept_must(kept_run(k, r->h->deltas), k);
        return;
    }
    for (unsigned i = 1; i <= r->h->batches; i++) {
        char batch[INPUT_TREE_PATH];

        (void)snprintf(batch, sizeof batch, "%s",
                       input_tree_path(r->h->deltas, history_batch_name(i)));
        way_take(k, w, i);
        kept_must(kept_run(k, batch), k);
    }
}

static void reference_open(struct reference *r)
{
    struct kept_view k;

    go_way(r, &way_plain, &k);
    r->ways++;
    kept_rows(&k, &r->rows);
    kept_ledger(&k, true, &r->ledger);
    kept_ledger(&k, false, &r->unseen);
    assert_true(r->rows.len > 0);
    kept_close(&k);
    input_tree_remove(k.path);
}

static void reference_close(struct reference *r)
{
    buf_fini(&r->rows);
    buf_fini(&r->ledger);
    buf_fini(&r->unseen);
}

/* Another way: the same rows and ledger. Returns how often it spilled for
 * its last batch. */
static uint64_t check_way(struct reference *r, const struct way *w)
{
    struct buf found = { 0 };
    struct kept_view k;

    way_show(w);
    go_way(r, w, &k);
    r->ways++;
    kept_ledger(&k, way_sees_rows(w), &found);
    assert_same_rows(way_sees_rows(w) ? &r->ledger : &r->unseen, &found);
    kept_rows(&k, &found);
    assert_same_rows(&r->rows, &found);
    kept_compact(&k);
    kept_rows(&k, &found);
    assert_same_rows(&r->rows, &found);
    buf_fini(&found);
    kept_close(&k);
    input_tree_remove(k.path);
    return k.applied.spills;
}

static void every_way_gives_the_same_bytes(void **state)
{
    static const struct way ways[] = {
        { 1, 1, WAY_MEMORY_TINY, 0, WAY_OVERWRITE },
        { 8, 1, 0, READER_HASH_BLOCK, WAY_ALTERNATE },
        { 2, 2, 0, 0, WAY_INCREMENT },
        { 8, 3, WAY_MEMORY_TINY, 0, WAY_ALTERNATE },
        { 1, 3, 0, 0, WAY_OVERWRITE },
        { 2, 16, 0, 0, WAY_INCREMENT },
        { 1, 1, 0, 0, WAY_DEFER },
        { 2, 3, WAY_MEMORY_TINY, 0, WAY_DEFER },
        { 2, 2, 0, 0, WAY_AUTO },
    };
    uint64_t seed = history_seed();
    const struct df_job *job;

    (void)state;
    for (size_t i = 0; (job = registry_job(i)) != NULL; i++) {
        char root[INPUT_TREE_PATH];
        struct history h;
        struct reference r = { .job = job,
                               .root = workplace_new(root),
                               .h = &h };

        if (job->columns != NULL) {
            continue; /* over records: see test_aggregate_laws.c */
        }
        history_open(&h, root, history_for(job), seed + i);
        history_steps(&h, 2 + history_tenth(BATCHES - 2));
        reference_open(&r);
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            compact_set_scale(k % 2 == 0 ? SMALL_SCALE : 0);
            (void)check_way(&r, &ways[k]);
        }
        compact_set_scale(0);
        reference_close(&r);
        history_close(&h);
    }
}

static void every_rule_of_words_gives_the_same_bytes(void **state)
{
    uint64_t seed = history_seed();
    uint64_t random = seed;

    (void)state;
    for (unsigned i = 0; i < history_times(history_tenth(ORACLE_RULES)); i++) {
        char root[INPUT_TREE_PATH];
        struct words_given given;
        struct history h;
        struct reference r = {
            .job = registry_find("wordcount"),
            .given =
                words_given(&given, &oracle_rules[(seed + i) % ORACLE_RULES]),
            .n = 3,
            .root = workplace_new(root),
            .h = &h,
        };

        history_open(&h, root, &history_small, random_next(&random));
        history_steps(&h, BATCHES / 2);
        reference_open(&r);
        for (unsigned k = 0; k < 2; k++) {
            struct way way = way_random(&random);

            (void)check_way(&r, &way);
        }
        reference_close(&r);
        history_close(&h);
    }
}

/* The view after all of a history, against the oracle. */
static void check_oracle(const struct reference *r,
                         const struct oracle_rule *rule)
{
    struct buf expected = { 0 };

    expected_by_oracle(rule, r->h, &expected);
    assert_same_rows(&expected, &r->rows);
    buf_fini(&expected);
}

static void ways_over(const struct history_style *style, unsigned batches,
                      const struct oracle_rule *rule, uint64_t seed,
                      const struct way *ways, size_t n, bool must_spill)
{
    char root[INPUT_TREE_PATH];
    struct words_given given;
    struct history h;
    struct reference r = { .job = registry_find("wordcount"),
                           .given = words_given(&given, rule),
                           .n = 3,
                           .root = workplace_new(root),
                           .h = &h };

    history_open(&h, root, style, seed);
    history_steps(&h, batches);
    if (batches > 1) {
        history_fill(&h);
    }
    reference_open(&r);
    check_oracle(&r, rule);
    for (size_t i = 0; i < n; i++) {
        uint64_t spills = check_way(&r, &ways[i]);

        assert_true(!must_spill || ways[i].memory == 0 || spills > 0);
    }
    reference_close(&r);
    history_close(&h);
}

static void a_small_budget_spills_and_changes_nothing(void **state)
{
    static const struct way ways[] = {
        { 1, 1, WAY_MEMORY_TINY, 0, WAY_INCREMENT },
        { 8, 3, WAY_MEMORY_TINY, 0, WAY_OVERWRITE },
        { 2, 16, WAY_MEMORY_TINY, 0, WAY_ALTERNATE },
        { 8, 2, 0, 0, WAY_OVERWRITE },
        { 2, 3, WAY_MEMORY_TINY, 0, WAY_DEFER },
    };

    (void)state;
    ways_over(&history_wide, 1, &oracle_rules[4], history_seed(), ways, 5,
              true);
    if (!history_is_sanitized()) {
        ways_over(&history_wide, 4, &oracle_rules[0], history_seed(), ways, 5,
                  false);
    }
}

static void huge_documents_are_split_without_a_trace(void **state)
{
    static const struct way ways[] = {
        { 1, 1, 0, 64 * READER_HASH_BLOCK, WAY_INCREMENT },
        { 8, 3, 0, READER_HASH_BLOCK, WAY_INCREMENT },
        { 2, 2, WAY_MEMORY_TINY, 2 * READER_HASH_BLOCK, WAY_OVERWRITE },
    };
    uint64_t seed = history_seed();

    (void)state;
    ways_over(&history_huge, 2, &oracle_rules[0], seed, ways, 3, false);
    if (!history_is_sanitized()) {
        ways_over(&history_huge, 1, &oracle_rules[3], seed, ways, 3, false);
        ways_over(&history_huge, 1, &oracle_rules[7], seed, ways, 3, false);
    }
}

/* Ids so long that the ledger's record alone fills a map. */
static void add_long_ids(struct history *h)
{
    enum { FILES = 60, ID = 60000 };
    struct buf manifest = { 0 };

    h->batches++;
    (void)snprintf(h->batch, sizeof h->batch, "%s",
                   input_tree_path(h->deltas, history_batch_name(h->batches)));
    for (unsigned i = 0; i < FILES; i++) {
        char path[HISTORY_NAME];

        (void)snprintf(path, sizeof path, "inserted/%u", i);
        input_tree_text(h->batch, path, "");
        assert_true(buf_printf(&manifest, "%u\t%u", i, i));
        assert_true(buf_reserve(&manifest, ID));
        memset(manifest.data + manifest.len, 'i', ID);
        manifest.len += ID;
        assert_true(buf_append_byte(&manifest, '\n'));
    }
    input_tree_file(h->batch, "manifest.tsv", manifest.data, manifest.len);
    buf_fini(&manifest);
}

/* Goes every way through maps of which a share is granted. */
static struct tight_map_met check_tight_ways(struct reference *r,
                                             unsigned share)
{
    static const struct way ways[] = {
        { 1, 1, WAY_MEMORY_TINY, 0, WAY_INCREMENT },
        { 2, 3, 0, 0, WAY_INCREMENT },
        { 1, 1, 0, 0, WAY_OVERWRITE },
        { 2, 3, WAY_MEMORY_TINY, 0, WAY_OVERWRITE },
        { 1, 1, 0, 0, WAY_DEFER },
        { 2, 3, 0, 0, WAY_ALTERNATE },
    };
    struct tight_map_met all = { 0 };

    reference_open(r);
    compact_set_scale(SMALL_SCALE);
    store_set_map_step(64 << 10);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct tight_map_met met;

        tight_map_begin(share);
        (void)check_way(r, &ways[i]);
        met = tight_map_end();
        print_message("  full in %u puts, %u commits\n", met.puts,
                      met.commits);
        assert_true(met.puts > 0);
        all.puts += met.puts;
        all.commits += met.commits;
    }
    store_set_map_step(0);
    compact_set_scale(0);
    reference_close(r);
    return all;
}

static void a_full_map_grows_and_changes_nothing(void **state)
{
    char root[INPUT_TREE_PATH];
    struct history h;
    struct reference r = { .job = registry_find("wordcount"),
                           .root = workplace_new(root),
                           .h = &h };

    (void)state;
    history_open(&h, root, &history_wide, history_seed());
    history_steps(&h, 1);
    add_long_ids(&h);
    history_step(&h);
    history_fill(&h);
    (void)check_tight_ways(&r, 16);
    history_close(&h);
}

static void a_map_that_is_full_at_commit_grows(void **state)
{
    char root[INPUT_TREE_PATH];
    struct history h;
    struct reference r = { .job = registry_find("wordcount"),
                           .root = workplace_new(root),
                           .h = &h };

    (void)state;
    history_open(&h, root, &history_small, history_seed());
    history_steps(&h, 2 * BATCHES);
    assert_true(check_tight_ways(&r, 1000).commits > 0);
    history_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_gives_the_same_bytes),
        cmocka_unit_test(every_rule_of_words_gives_the_same_bytes),
        cmocka_unit_test(a_small_budget_spills_and_changes_nothing),
        cmocka_unit_test(huge_documents_are_split_without_a_trace),
        cmocka_unit_test(a_full_map_grows_and_changes_nothing),
        cmocka_unit_test(a_map_that_is_full_at_commit_grows),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
