/*
 * State follows the live keys alone: 200 batches of new keys under a fixed
 * period, and the files of the view are no larger after the last than after
 * the 40th - but for shard 0, which has the ledger, where every batch that
 * was ever applied stays listed: it may grow by those entries and no more. The
 * expiry point goes on over restarts, and a batch that does not name expired
 * keys rids the view of them all the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "jobs/dedup/dedup.h"
#include "kept_view.h"
#include "workplace.h"

enum {
    BATCHES = 200,
    SETTLED = 40,
    PER_BATCH = 6000,
    SHARDS_MAX = 3,
    /* Of an entry, its files, its name and its digest, in pages that are half
     * full at the worst. */
    LEDGER_ENTRY = 1024,
    DAY = 86400,
    EPOCH = 1700000000
};

static void write_day(const char *root, unsigned day)
{
    struct buf file = { 0 };
    char path[64];

    assert_true(buf_append_string(&file, "id,day\n"));
    for (unsigned i = 0; i < PER_BATCH; i++) {
        /* A tenth comes again the day after. */
        unsigned born = i % 10 == 0 && day > 0 ? day - 1 : day;

        assert_true(buf_printf(&file, "key-%05u-%05u,%u\n", born, i,
                               EPOCH + day * DAY));
    }
    (void)snprintf(path, sizeof path, "day_%u/inserted/r.csv", day);
    input_tree_file(root, path, file.data, file.len);
    buf_fini(&file);
}

static off_t size_of(const struct kept_view *k, unsigned shard)
{
    struct stat st;
    char name[64];

    (void)snprintf(name, sizeof name, "gen-1/shard-%02u.mdb", shard);
    assert_int_equal(stat(input_tree_path(k->path, name), &st), 0);
    return st.st_size;
}

static void check_sizes(const struct kept_view *k, unsigned shards,
                        const off_t *settled)
{
    for (unsigned i = 0; i < shards; i++) {
        off_t ledger = i == 0 ? (BATCHES - SETTLED) * LEDGER_ENTRY : 0;
        /* Which pages are split and which free ones are taken differs from
         * batch to batch. */
        off_t pages = settled[i] / 20;

        if (size_of(k, i) > settled[i] + ledger + pages) {
            fail_msg("shard %u: %lld bytes after %d batches, %lld after %d", i,
                     (long long)size_of(k, i), BATCHES, (long long)settled[i],
                     SETTLED);
        }
    }
}

static void stay_flat(const char *const *given, size_t n, unsigned shards,
                      enum install_method method)
{
    char root[INPUT_TREE_PATH];
    struct kept_view k;
    off_t settled[SHARDS_MAX] = { 0 };
    uint64_t rows = 0;

    (void)workplace_new(root);
    kept_open(&k, root, "view", &dedup_job, given, n, shards);
    for (unsigned day = 0; day < BATCHES; day++) {
        char path[32];

        write_day(root, day);
        (void)snprintf(path, sizeof path, "day_%u", day);
        k.options.method = method;
        k.options.threads = 2;
        kept_must(kept_run(&k, input_tree_path(root, path)), &k);
        for (unsigned i = 0; day + 1 == SETTLED && i < shards; i++) {
            settled[i] = size_of(&k, i);
            rows = kept_state(&k).rows;
        }
    }
    assert_true(rows > 0);
    assert_int_equal(kept_state(&k).rows, rows);
    check_sizes(&k, shards, settled);
    kept_close(&k);
}

static const char *const period[] = { "key=id", "time=day", "expire=10d",
                                      "span=1d" };
static const char *const bucket[] = { "key=id", "time=day", "expire=10d",
                                      "span=1d", "identity=bucket" };

static void periods_stay_flat_in_place(void **state)
{
    (void)state;
    stay_flat(period, 4, 2, INSTALL_INCREMENT);
}

static void periods_stay_flat_written_anew(void **state)
{
    (void)state;
    stay_flat(period, 4, 3, INSTALL_OVERWRITE);
}

static void buckets_stay_flat(void **state)
{
    (void)state;
    stay_flat(bucket, 5, 1, INSTALL_INCREMENT);
}

/* Everything expires at once, by one record of another key. */
static void one_record_rids_the_view_of_all(void **state)
{
    char root[INPUT_TREE_PATH];
    struct kept_view k;

    (void)state;
    (void)workplace_new(root);
    kept_open(&k, root, "view", &dedup_job, period, 4, 2);
    write_day(root, 5);
    kept_must(kept_run(&k, input_tree_path(root, "day_5")), &k);
    assert_int_equal(kept_state(&k).rows, 2 * PER_BATCH);
    input_tree_text(root, "day_6/inserted/r.csv", "id,day\nlast,1800000000\n");
    kept_must(kept_run(&k, input_tree_path(root, "day_6")), &k);
    assert_int_equal(kept_state(&k).rows, 2);
    input_tree_text(root, "day_7/inserted/r.csv",
                    "id,day\nlate,1700000000\nnot,1799900000\n");
    kept_must(kept_run(&k, input_tree_path(root, "day_7")), &k);
    assert_int_equal(k.applied.counters[DF_OUTCOME_EXPIRED - 1], 1);
    assert_int_equal(k.applied.counters[DF_OUTCOME_UNIQUE - 1], 1);
    kept_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(periods_stay_flat_in_place),
        cmocka_unit_test(periods_stay_flat_written_anew),
        cmocka_unit_test(buckets_stay_flat),
        cmocka_unit_test(one_record_rids_the_view_of_all),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
