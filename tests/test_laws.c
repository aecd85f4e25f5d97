/*
 * The laws of DESIGN.md, section 11, that need no crash and no second
 * process, over random histories:
 *
 *   1  after every batch the view is what recomputation gives
 *   2  rows and ledger are the same however they came about
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

#include "input/reader.h"
#include "kept_view.h"
#include "state/store.h"
#include "tight_map.h"

enum { BATCHES = 10, MEMORY_TINY = 1 << 20 };

/* Under it each test makes a directory of its own. */
static char base[INPUT_TREE_PATH];

static const char *new_root(char root[INPUT_TREE_PATH])
{
    static unsigned number;
    char name[HISTORY_NAME];

    (void)snprintf(name, sizeof name, "root_%u", number++);
    (void)snprintf(root, INPUT_TREE_PATH, "%s", input_tree_path(base, name));
    input_tree_directory(root, "");
    return root;
}

/* ---- options of word count, as strings ---- */

struct given {
    char text[3][HISTORY_NAME];
    const char *list[3];
};

static const char *const *given_of(struct given *g,
                                   const struct oracle_rule *rule)
{
    (void)snprintf(g->text[0], HISTORY_NAME, "tokenizer=%s", rule->tokenizer);
    (void)snprintf(g->text[1], HISTORY_NAME, "case=%s", rule->letter_case);
    (void)snprintf(g->text[2], HISTORY_NAME, "ngram=%u", rule->ngram);
    for (unsigned i = 0; i < 3; i++) {
        g->list[i] = g->text[i];
    }
    return g->list;
}

/* ---- ways to the same view ---- */

enum way_method { WAY_INCREMENT, WAY_OVERWRITE, WAY_ALTERNATE };

struct way {
    unsigned threads;
    unsigned shards;
    size_t memory;      /* 0: default */
    uint64_t unit_size; /* 0: default */
    enum way_method method;
};

static const struct way plain_way = { 1, 1, 0, 0, WAY_INCREMENT };

static struct way random_way(uint64_t *random)
{
    static const unsigned threads[] = { 1, 2, 8 };
    static const unsigned shards[] = { 1, 2, 3, 16 };
    static const size_t memory[] = { MEMORY_TINY, 8 << 20, 64 << 20, 0 };
    static const uint64_t units[] = { READER_HASH_BLOCK,
                                      3 * READER_HASH_BLOCK,
                                      64 * READER_HASH_BLOCK, 0 };

    return (struct way){
        .threads = threads[random_below(random, 3)],
        .shards = shards[random_below(random, 4)],
        .memory = memory[random_below(random, 4)],
        .unit_size = units[random_below(random, 4)],
        .method = (enum way_method)random_below(random, 3),
    };
}

static void show_way(const struct way *w)
{
    static const char *const methods[] = { "increment", "overwrite",
                                           "alternate" };

    print_message("  threads %u, shards %u, memory %zu, units %llu, %s\n",
                  w->threads, w->shards, w->memory,
                  (unsigned long long)w->unit_size, methods[w->method]);
}

static void take_way(struct kept_view *k, const struct way *w, unsigned batch)
{
    bool overwrites = w->method == WAY_OVERWRITE ||
                      (w->method == WAY_ALTERNATE && batch % 2 == 0);

    k->options.threads = w->threads;
    k->options.memory = w->memory;
    k->options.unit_size = w->unit_size;
    k->options.method = overwrites ? INSTALL_OVERWRITE : INSTALL_INCREMENT;
    /* A history may come by the same batch twice. */
    k->options.allow_repeat = true;
}

static void must(enum df_status status, const struct kept_view *k)
{
    if (status != DF_OK) {
        fail_msg("%s: %s", k->path, k->err.text);
    }
}

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
    struct given given;
    struct way way;

    *t = (struct trial){ .random = seed, .rule = rule };
    way = random_way(&t->random);
    (void)new_root(root);
    history_open(&t->h, root, style, seed);
    kept_open(&t->k, root, "view", job,
              rule != NULL ? given_of(&given, rule) : NULL,
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
    must(kept_verify(&t->k, t->h.survivors, false), &t->k);
    if (t->rebuilt) {
        assert_int_equal(kept_verify(&t->k, t->h.deltas, true), DF_USAGE);
    } else {
        must(kept_verify(&t->k, t->h.deltas, true), &t->k);
    }
}

/* Applies the batch made last; now and then by naming all of them. */
static void apply_batch(struct trial *t)
{
    struct way way = random_way(&t->random);
    bool all = random_below(&t->random, 3) == 0;

    take_way(&t->k, &way, t->h.batches);
    must(kept_run(&t->k, all ? t->h.deltas : t->h.batch), &t->k);
    assert_int_equal(t->k.outcomes[ENGINE_APPLIED], 1);
    assert_int_equal(t->k.outcomes[ENGINE_ALREADY_APPLIED],
                     all ? t->h.batches - 1 : 0);
}

static void rebuild_it(struct trial *t)
{
    struct snapshot_state before = kept_state(&t->k);
    struct way way = random_way(&t->random);
    struct snapshot_state after;

    take_way(&t->k, &way, 0);
    must(kept_rebuild(&t->k, t->h.survivors, NULL, way.shards), &t->k);
    t->rebuilt = true;
    after = kept_state(&t->k);
    assert_int_equal(after.seq, before.seq + 1);
    assert_int_equal(after.rows, before.rows);
    assert_true(hash128_equal(after.digest, before.digest));
    check_recomputation(t);
}

static void check_second_run(struct trial *t)
{
    struct snapshot_state before = kept_state(&t->k);
    struct snapshot_state after;

    must(kept_run(&t->k, t->h.deltas), &t->k);
    assert_int_equal(t->k.outcomes[ENGINE_ALREADY_APPLIED], t->h.batches);
    for (unsigned i = 0; i < KEPT_OUTCOMES; i++) {
        assert_true(i == ENGINE_ALREADY_APPLIED || t->k.outcomes[i] == 0);
    }
    after = kept_state(&t->k);
    assert_memory_equal(&after, &before, sizeof after);
}

static void live_through(struct trial *t, unsigned batches)
{
    uint64_t rebuild_at = random_below(&t->random, 2 * batches);

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
        for (unsigned n = 0; n < history_times(2); n++) {
            struct trial t;

            trial_open(&t, job, NULL, &history_small, seed + n);
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

            trial_open(&t, registry_find("wordcount"), &oracle_rules[i],
                       &history_small, seed + n * ORACLE_RULES + i);
            live_through(&t, BATCHES / 2);
            trial_close(&t);
        }
    }
}

/* ---- law 2 ---- */

/* Rows and ledger that every way must come to. */
struct reference {
    const struct df_job *job;
    const char *const *given;
    size_t n;
    const struct history *h;
    const char *root;
    struct buf rows;
    struct buf ledger;
    unsigned ways;
};

static void go_way(const struct reference *r, const struct way *w,
                   struct kept_view *k)
{
    char name[HISTORY_NAME];

    (void)snprintf(name, sizeof name, "view_%u", r->ways);
    kept_open(k, r->root, name, r->job, r->given, r->n, w->shards);
    if (w->method != WAY_ALTERNATE) {
        take_way(k, w, 0);
        k->options.method = w->method == WAY_OVERWRITE ? INSTALL_OVERWRITE
                                                       : INSTALL_INCREMENT;
        must(kept_run(k, r->h->deltas), k);
        return;
    }
    for (unsigned i = 1; i <= r->h->batches; i++) {
        char batch[INPUT_TREE_PATH];

        (void)snprintf(batch, sizeof batch, "%s",
                       input_tree_path(r->h->deltas, history_batch_name(i)));
        take_way(k, w, i);
        must(kept_run(k, batch), k);
    }
}

static void reference_open(struct reference *r)
{
    struct kept_view k;

    go_way(r, &plain_way, &k);
    r->ways++;
    kept_rows(&k, &r->rows);
    kept_ledger(&k, &r->ledger);
    assert_true(r->rows.len > 0);
    kept_close(&k);
    input_tree_remove(k.path);
}

static void reference_close(struct reference *r)
{
    buf_fini(&r->rows);
    buf_fini(&r->ledger);
}

/* Another way: the same rows and ledger. Returns how often it spilled for
 * its last batch. */
static uint64_t check_way(struct reference *r, const struct way *w)
{
    struct buf found = { 0 };
    struct kept_view k;

    show_way(w);
    go_way(r, w, &k);
    r->ways++;
    kept_ledger(&k, &found);
    assert_same_rows(&r->ledger, &found);
    kept_rows(&k, &found);
    assert_same_rows(&r->rows, &found);
    buf_fini(&found);
    kept_close(&k);
    input_tree_remove(k.path);
    return k.applied.spills;
}

static void make_batches(struct history *h, unsigned n)
{
    while (n-- > 0) {
        history_step(h);
    }
}

static void every_way_gives_the_same_bytes(void **state)
{
    static const struct way ways[] = {
        { 1, 1, MEMORY_TINY, 0, WAY_OVERWRITE },
        { 8, 1, 0, READER_HASH_BLOCK, WAY_ALTERNATE },
        { 2, 2, 0, 0, WAY_INCREMENT },
        { 8, 3, MEMORY_TINY, 0, WAY_ALTERNATE },
        { 1, 3, 0, 0, WAY_OVERWRITE },
        { 2, 16, 0, 0, WAY_INCREMENT },
    };
    uint64_t seed = history_seed();
    struct reference r = { .root = base };
    char root[INPUT_TREE_PATH];
    struct history h;

    (void)state;
    r.root = new_root(root);
    history_open(&h, root, &history_small, seed);
    make_batches(&h, BATCHES);
    r.h = &h;
    for (size_t i = 0; (r.job = registry_job(i)) != NULL; i++) {
        reference_open(&r);
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            (void)check_way(&r, &ways[k]);
        }
        reference_close(&r);
        r.rows = r.ledger = (struct buf){ 0 };
    }
    history_close(&h);
}

static void every_rule_of_words_gives_the_same_bytes(void **state)
{
    uint64_t random = history_seed();

    (void)state;
    for (unsigned i = 0; i < history_times(1) * ORACLE_RULES; i++) {
        char root[INPUT_TREE_PATH];
        struct given given;
        struct history h;
        struct reference r = {
            .job = registry_find("wordcount"),
            .given = given_of(&given, &oracle_rules[i % ORACLE_RULES]),
            .n = 3,
            .root = new_root(root),
            .h = &h,
        };

        history_open(&h, root, &history_small, random_next(&random));
        make_batches(&h, BATCHES / 2);
        reference_open(&r);
        for (unsigned k = 0; k < 2; k++) {
            struct way way = random_way(&random);

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
    struct given given;
    struct history h;
    struct reference r = { .job = registry_find("wordcount"),
                           .given = given_of(&given, rule),
                           .n = 3,
                           .root = new_root(root),
                           .h = &h };

    history_open(&h, root, style, seed);
    make_batches(&h, batches);
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
        { 1, 1, MEMORY_TINY, 0, WAY_INCREMENT },
        { 8, 3, MEMORY_TINY, 0, WAY_OVERWRITE },
        { 2, 16, MEMORY_TINY, 0, WAY_ALTERNATE },
        { 8, 2, 0, 0, WAY_OVERWRITE },
    };

    (void)state;
    ways_over(&history_wide, 1, &oracle_rules[4], history_seed(), ways, 4,
              true);
    ways_over(&history_wide, 4, &oracle_rules[0], history_seed(), ways, 4,
              false);
}

static void huge_documents_are_split_without_a_trace(void **state)
{
    static const struct way ways[] = {
        { 1, 1, 0, 64 * READER_HASH_BLOCK, WAY_INCREMENT },
        { 8, 3, 0, READER_HASH_BLOCK, WAY_INCREMENT },
        { 2, 2, MEMORY_TINY, 2 * READER_HASH_BLOCK, WAY_OVERWRITE },
    };
    uint64_t seed = history_seed();

    (void)state;
    ways_over(&history_huge, 2, &oracle_rules[0], seed, ways, 3, false);
    ways_over(&history_huge, 1, &oracle_rules[3], seed, ways, 3, false);
    ways_over(&history_huge, 1, &oracle_rules[7], seed, ways, 3, false);
}

/* Ids so long that the ledger's record alone fills a map. */
static void add_long_ids(struct history *h)
{
    enum { FILES = 60, ID = 60000 };
    struct buf manifest = { 0 };

    h->batches++;
    (void)snprintf(h->batch, sizeof h->batch, "%s",
                   input_tree_path(h->deltas,
                                   history_batch_name(h->batches)));
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
        { 1, 1, MEMORY_TINY, 0, WAY_INCREMENT },
        { 2, 3, 0, 0, WAY_INCREMENT },
        { 1, 1, 0, 0, WAY_OVERWRITE },
        { 2, 3, MEMORY_TINY, 0, WAY_OVERWRITE },
    };
    struct tight_map_met all = { 0 };

    reference_open(r);
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
    reference_close(r);
    return all;
}

static void a_full_map_grows_and_changes_nothing(void **state)
{
    char root[INPUT_TREE_PATH];
    struct history h;
    struct reference r = { .job = registry_find("wordcount"),
                           .root = new_root(root),
                           .h = &h };

    (void)state;
    history_open(&h, root, &history_wide, history_seed());
    make_batches(&h, 1);
    add_long_ids(&h);
    make_batches(&h, 2);
    (void)check_tight_ways(&r, 16);
    history_close(&h);
}

static void a_map_that_is_full_at_commit_grows(void **state)
{
    char root[INPUT_TREE_PATH];
    struct history h;
    struct reference r = { .job = registry_find("wordcount"),
                           .root = new_root(root),
                           .h = &h };

    (void)state;
    history_open(&h, root, &history_small, history_seed());
    make_batches(&h, 2 * BATCHES);
    assert_true(check_tight_ways(&r, 1000).commits > 0);
    history_close(&h);
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
    history_open(&h, new_root(root), &history_small, history_seed());
    kept_open(&k, root, "view", registry_find("wordcount"), NULL, 0, 2);
    make_batches(&h, 3);
    input_tree_text(h.batch, "inserted/false.txt", "abc def\n");
    k.options.allow_repeat = true;
    must(kept_run(&k, h.deltas), &k);
    before = kept_state(&k);
    falsify(input_tree_path(h.batch, "inserted/false.txt"));
    must(kept_run(&k, h.deltas), &k);
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
    history_open(&h, new_root(root), &history_small, random);
    kept_open(&k, root, "view", registry_find("wordcount"), NULL, 0, 3);
    (void)snprintf(then, sizeof then, "%s", input_tree_path(root, "then"));
    k.options.allow_repeat = true;
    make_batches(&h, THEN);
    rows_then(&h, root, &k.job, &rows[0]);
    make_batches(&h, NOW - THEN);
    expected_by_job(&k.job, &h, &rows[1]);
    /* As of batch 4: first from an empty view, then from one at batch 8. */
    for (unsigned round = 0; round < 2; round++) {
        must(kept_rebuild(&k, then, history_batch_name(THEN), 1 + round),
             &k);
        kept_rows(&k, &found);
        assert_same_rows(&rows[0], &found);
        must(kept_verify(&k, then, false), &k);
        must(kept_run(&k, h.deltas), &k);
        assert_int_equal(k.outcomes[ENGINE_COVERED], THEN);
        assert_int_equal(k.outcomes[ENGINE_APPLIED], NOW - THEN);
        kept_rows(&k, &found);
        assert_same_rows(&rows[1], &found);
        must(kept_verify(&k, h.survivors, false), &k);
    }
    history_step(&h);
    must(kept_run(&k, h.deltas), &k);
    must(kept_verify(&k, h.survivors, false), &k);
    buf_fini(&rows[0]);
    buf_fini(&rows[1]);
    buf_fini(&found);
    kept_close(&k);
    history_close(&h);
}

static int open_base(void **state)
{
    (void)state;
    input_tree_open(base);
    return 0;
}

static int remove_base(void **state)
{
    (void)state;
    input_tree_remove(base);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_is_what_recomputation_gives),
        cmocka_unit_test(words_are_what_the_oracle_counts),
        cmocka_unit_test(every_way_gives_the_same_bytes),
        cmocka_unit_test(every_rule_of_words_gives_the_same_bytes),
        cmocka_unit_test(a_small_budget_spills_and_changes_nothing),
        cmocka_unit_test(huge_documents_are_split_without_a_trace),
        cmocka_unit_test(a_full_map_grows_and_changes_nothing),
        cmocka_unit_test(a_map_that_is_full_at_commit_grows),
        cmocka_unit_test(applied_batches_are_not_read_again),
        cmocka_unit_test(a_rebuild_stands_where_it_is_told),
    };

    return cmocka_run_group_tests(tests, open_base, remove_base);
}
