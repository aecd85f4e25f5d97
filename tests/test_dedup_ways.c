/*
 * Many keys, more than a small budget holds: the same rows and the same
 * outcome files, byte for byte, from plain and compressed files, for any
 * number of threads and shards, any split, any budget and both ways to
 * install; and those that the oracle gives.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dedup_oracle.h"
#include "jobs/dedup/dedup.h"
#include "packed.h"
#include "way.h"
#include "workplace.h"

enum { BATCHES = 2, RECORDS = 160000, KEYS = 250000, FILES = 5, GIVEN = 6 };

static const char *const file_names[FILES] = { "unique", "duplicate",
                                               "expired", "rejected",
                                               "retracted" };

static const struct way ways[] = {
    { 1, 1, 0, 0, WAY_INCREMENT },
    { 2, 1, 8 << 20, 1 << 20, WAY_OVERWRITE },
    { 2, 3, WAY_MEMORY_TINY, 1 << 20, WAY_INCREMENT },
    { 8, 2, 64 << 20, 1 << 20, WAY_ALTERNATE },
    { 1, 16, WAY_MEMORY_TINY, 0, WAY_OVERWRITE },
};
enum { WAYS = sizeof ways / sizeof ways[0] };

struct wide {
    char root[INPUT_TREE_PATH];
    struct dedup_rule rule;
    struct dedup_oracle o;
    uint64_t random;
    struct buf outcomes[BATCHES][FILES]; /* what the files must hold */
    struct hash128 digests[BATCHES];
};

/* One record into the batch's file, and what becomes of it. */
static void tell(struct wide *w, unsigned batch, struct buf *file, int64_t now)
{
    char key[32];
    char line[64];
    int64_t time = now - (int64_t)random_below(&w->random, 400);
    enum dedup_oracle_outcome outcome;

    if (random_below(&w->random, 100) == 0) {
        time -= 3000;
    }
    (void)snprintf(key, sizeof key, "%" PRIu64,
                   random_below(&w->random, KEYS));
    outcome = dedup_oracle_insert(&w->o, key, time);
    assert_in_range(outcome, ORACLE_UNIQUE, ORACLE_EXPIRED);
    (void)snprintf(line, sizeof line, "%s,%" PRId64 ",as it is\n", key, time);
    assert_true(buf_append_string(file, line));
    assert_true(buf_append_string(&w->outcomes[batch][outcome], line));
}

/* The second file is compressed: one unit, whatever its size, whose outcomes
 * do not fit in what a worker may gather before its turn. */
static void write_file(struct wide *w, unsigned batch, unsigned f,
                       struct buf *file)
{
    struct buf packed = { 0 };
    char path[64];

    (void)snprintf(path, sizeof path, "deltas/batch_%u/inserted/%u.csv%s",
                   batch, f, f == 1 ? ".gz" : "");
    if (f == 1) {
        packed_gzip(&packed, buf_bytes(file));
    } else {
        assert_true(buf_append(&packed, file->data, file->len));
    }
    input_tree_file(w->root, path, packed.data, packed.len);
    buf_fini(&packed);
}

static void write_batch(struct wide *w, unsigned batch)
{
    struct buf file = { 0 };

    for (int i = 0; i < FILES; i++) {
        assert_true(
            buf_append_string(&w->outcomes[batch][i],
                              i == 3 ? "id,ts,x,reason\n" : "id,ts,x\n"));
    }
    for (unsigned f = 0; f < 2; f++) {
        buf_reset(&file);
        assert_true(buf_append_string(&file, "id,ts,x\n"));
        for (int i = 0; i < RECORDS / 2; i++) {
            tell(w, batch, &file,
                 (int64_t)(batch * RECORDS + f * RECORDS / 2 + (unsigned)i) /
                     100);
        }
        write_file(w, batch, f, &file);
    }
    buf_fini(&file);
}

static void check_outcomes(struct wide *w, const char *directory,
                           unsigned batch)
{
    char *room = malloc(16 << 20);

    assert_non_null(room);
    for (int i = 0; i < FILES; i++) {
        const struct buf *expected = &w->outcomes[batch][i];
        char path[INPUT_TREE_PATH];
        size_t n;
        FILE *f;

        (void)snprintf(path, sizeof path, "%s/batch_%u/%s",
                       input_tree_path(w->root, directory), batch,
                       file_names[i]);
        f = fopen(path, "rb");
        assert_non_null(f);
        n = fread(room, 1, 16 << 20, f);
        (void)fclose(f);
        if (n != expected->len || memcmp(room, expected->data, n) != 0) {
            fail_msg("%s: %zu bytes, expected %zu, or not the same", path, n,
                     expected->len);
        }
    }
    free(room);
}

static void go(struct wide *w, unsigned number, const char *const *given,
               size_t n)
{
    const struct way *way = &ways[number];
    char view[32];
    char directory[32];
    struct kept_view k;

    way_show(way);
    (void)snprintf(view, sizeof view, "view_%u", number);
    (void)snprintf(directory, sizeof directory, "outcomes_%u", number);
    kept_open(&k, w->root, view, &dedup_job, given, n, way->shards);
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        char path[INPUT_TREE_PATH];
        char out[INPUT_TREE_PATH];

        way_take(&k, way, batch);
        (void)snprintf(out, sizeof out, "%s",
                       input_tree_path(w->root, directory));
        k.options.outcomes = out;
        (void)snprintf(path, sizeof path, "%s/batch_%u",
                       input_tree_path(w->root, "deltas"), batch);
        kept_must(kept_run(&k, path), &k);
        check_outcomes(w, directory, batch);
        assert_true(hash128_equal(kept_state(&k).digest, w->digests[batch]));
    }
    kept_close(&k);
}

static void try_all(const struct dedup_rule *rule, const char *const *given,
                    size_t n)
{
    struct wide w = { .rule = *rule, .random = history_seed() };

    (void)workplace_new(w.root);
    dedup_oracle_open(&w.o, &w.rule);
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        uint64_t rows;

        write_batch(&w, batch);
        w.digests[batch] = dedup_oracle_digest(&w.o, &rows);
    }
    for (unsigned i = 0; i < WAYS; i++) {
        go(&w, i, given, n);
    }
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        for (int i = 0; i < FILES; i++) {
            buf_fini(&w.outcomes[batch][i]);
        }
    }
    dedup_oracle_close(&w.o);
}

static void periods_come_out_the_same_on_every_way(void **state)
{
    static const char *const given[] = { "key=id", "time=ts", "expire=2000",
                                         "span=100", "reference=1500" };

    (void)state;
    try_all(&(struct dedup_rule){ .is_timed = true,
                                  .period = 2000,
                                  .span = 100,
                                  .has_reference = true,
                                  .reference = 1500 },
            given, 5);
}

static void buckets_come_out_the_same_on_every_way(void **state)
{
    static const char *const given[] = { "key=id", "time=ts", "expire=2000",
                                         "span=700", "identity=bucket" };

    (void)state;
    try_all(
        &(struct dedup_rule){
            .is_timed = true, .by_bucket = true, .period = 2000, .span = 700 },
        given, 5);
}

static void keys_for_ever_come_out_the_same_on_every_way(void **state)
{
    static const char *const given[] = { "key=id" };

    (void)state;
    try_all(&(struct dedup_rule){ 0 }, given, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(periods_come_out_the_same_on_every_way),
        cmocka_unit_test(buckets_come_out_the_same_on_every_way),
        cmocka_unit_test(keys_for_ever_come_out_the_same_on_every_way),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
