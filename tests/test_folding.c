/*
 * A batch of a fold job in so little memory that parts of its keys are
 * divided, and what they are divided into again: the same outcome of every
 * record, the same counts and the same rows as with plenty.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "jobs/dedup/dedup.h"
#include "kept_view.h"
#include "runtime/folding.h"
#include "workplace.h"

enum {
    RECORDS = 150000,
    KEYS = 1000000, /* so that nearly all are distinct */
    AT_ONCE = 1000,
    UNIT = 30000,
    PARTS_MOST = 64, /* that are divided at first, see folding.c */
    SHARDS = 2,
    LOCK_WAIT = 10
};

static const size_t tiny = 64 << 10;
static const size_t plenty = 256 << 20;

/* What a batch came to. */
struct result {
    struct buf outcomes;
    struct buf rows;
    struct folding_stats stats;
};

static void must(enum df_status status, const struct df_error *err)
{
    if (status != DF_OK) {
        fail_msg("%s", err->text);
    }
}

/* Record i, with its field's text in room. */
static void make_record(uint64_t *random, char room[2][64],
                        struct df_field fields[2], struct df_record *record)
{
    uint64_t number = random_below(random, KEYS);

    (void)snprintf(room[0], 64, "%llu", (unsigned long long)number);
    (void)snprintf(room[1], 64, "%d", (int)random_below(random, 4000));
    for (int i = 0; i < 2; i++) {
        fields[i] = (struct df_field){ DF_TEXT, (const uint8_t *)room[i],
                                       strlen(room[i]) };
    }
    *record = (struct df_record){ .fields = fields };
}

static void add_records(struct folding *f, uint64_t random)
{
    static char rooms[AT_ONCE][2][64];
    static struct df_field fields[AT_ONCE][2];
    static struct df_record records[AT_ONCE];
    struct df_error err;

    for (unsigned from = 0; from < RECORDS; from += AT_ONCE) {
        struct fold_place place = { .unit = from / UNIT,
                                    .index = from % UNIT };

        for (unsigned i = 0; i < AT_ONCE; i++) {
            make_record(&random, rooms[i], fields[i], &records[i]);
        }
        /* A unit is one worker's. */
        must(
            folding_records(f, place.unit % 2, &place, records, AT_ONCE, &err),
            &err);
    }
}

static void take_rows(struct folding *f, struct buf *out)
{
    struct df_error err;

    for (unsigned part = 0; part < SHARDS; part++) {
        struct run_source *run = folding_run(f, part);
        const struct row *row;

        must(run->next(run, &row, &err), &err);
        while (row != NULL) {
            assert_true(buf_append(out, row->head.data, row->head.len) &&
                        buf_append(out, row->values, 2 * sizeof(int64_t)));
            must(run->next(run, &row, &err), &err);
        }
    }
}

static struct result fold(struct kept_view *k, uint64_t seed, size_t memory)
{
    struct result result = { 0 };
    struct folding_plan plan = { .job = &k->job,
                                 .workers = 2,
                                 .units = RECORDS / UNIT,
                                 .memory = memory,
                                 .wants_outcomes = true };
    struct folding *f;
    struct df_error err;

    must(view_open(&plan.view, k->path, VIEW_WRITE, LOCK_WAIT, &err), &err);
    plan.scratch = view_scratch(plan.view);
    must(folding_open(&f, &plan, &err), &err);
    add_records(f, seed);
    must(folding_finish(f, &err), &err);
    for (size_t i = 0; i < plan.units; i++) {
        const struct buf *unit = &folding_outcomes(f)->units[i];

        assert_true(buf_append(&result.outcomes, unit->data, unit->len));
    }
    take_rows(f, &result.rows);
    result.stats = folding_stats(f);
    folding_close(f);
    view_close(plan.view);
    return result;
}

static void compare(struct result *a, struct result *b)
{
    assert_int_equal(a->outcomes.len, RECORDS);
    assert_true(bytes_equal(buf_bytes(&a->outcomes), buf_bytes(&b->outcomes)));
    assert_true(bytes_equal(buf_bytes(&a->rows), buf_bytes(&b->rows)));
    assert_memory_equal(a->stats.counters, b->stats.counters,
                        sizeof a->stats.counters);
    for (int i = 0; i < 2; i++) {
        struct result *r = i == 0 ? a : b;

        buf_fini(&r->outcomes);
        buf_fini(&r->rows);
    }
}

/* Into an empty view, and into one that holds some of the keys. */
static void parts_are_divided_more_than_once(void **state)
{
    static const char *const given[] = { "key=id", "time=ts", "expire=3000",
                                         "span=70" };
    uint64_t seed = history_seed();
    char root[INPUT_TREE_PATH];
    struct buf csv = { 0 };
    struct kept_view k;

    (void)state;
    (void)workplace_new(root);
    kept_open(&k, root, "view", &dedup_job, given, 4, SHARDS);
    for (int i = 0; i < 2; i++) {
        struct result divided = fold(&k, seed, tiny);
        struct result whole = fold(&k, seed, plenty);

        assert_int_equal(whole.stats.splits, 0);
        assert_true(divided.stats.splits > PARTS_MOST);
        compare(&divided, &whole);
        assert_true(buf_append_string(&csv, i == 0 ? "id,ts\n" : ""));
        for (unsigned n = 0; i == 0 && n < 40000; n++) {
            assert_true(buf_printf(&csv, "%u,%u\n", n * 25, n % 1000));
        }
        if (i == 0) {
            input_tree_file(root, "b1/inserted/r.csv", csv.data, csv.len);
            kept_must(kept_run(&k, input_tree_path(root, "b1")), &k);
        }
    }
    buf_fini(&csv);
    kept_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_divided_more_than_once),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
