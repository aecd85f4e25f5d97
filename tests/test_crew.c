/*
 * The crew over files of records: a job over records, one that refuses a
 * record, and a sink in the job's place; for any number of workers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/hash.h"
#include "runtime/crew.h"
#include "tests/workplace.h"

enum { ROWS = 200000, THREADS_MAX = 8 };

/* ---- a job: how much of each key, by csv or ndjson ---- */

static const struct df_option no_options[] = { { 0 } };
static const char *const components[] = { "sum", NULL };
static const char *const counters[] = { NULL };
static const char *const names[] = { "key", "n" };
static const struct df_columns columns = { .names = names, .n = 2 };

static enum df_status configure(const struct df_settings *settings,
                                void **config, struct df_error *err)
{
    (void)settings;
    (void)err;
    *config = NULL;
    return DF_OK;
}

static void release(void *config)
{
    (void)config;
}

static const struct df_columns *columns_of(const void *config)
{
    (void)config;
    return &columns;
}

static enum df_status mapper_open(const void *config, void **mapper,
                                  struct df_error *err)
{
    (void)config;
    (void)err;
    *mapper = NULL;
    return DF_OK;
}

static void map_records(void *mapper, const struct df_record *records,
                        size_t n, struct df_emitter *e)
{
    (void)mapper;
    for (size_t i = 0; i < n; i++) {
        const struct df_field *f = records[i].fields;
        int64_t value = strtol((const char *)f[1].data, NULL, 10);

        if (f[1].len == 0) {
            df_refuse(e, &records[i], "column 'n' is empty");
            return;
        }
        df_emit(e, f[0].data, f[0].len, NULL, 0, &value);
    }
}

static const struct df_job summing = {
    .name = "summing",
    .summary = "sums",
    .version = 1,
    .options = no_options,
    .components = components,
    .counters = counters,
    .configure = configure,
    .release = release,
    .columns = columns_of,
    .map_records = map_records,
    .mapper_open = mapper_open,
    .mapper_close = release,
};

/* ---- batches ---- */

struct subject {
    struct jobspec job;
    struct batch batch;
    struct engine_options options;
    struct crew *crew;
    char root[INPUT_TREE_PATH];
};

static void put_rows(struct buf *out, size_t bad)
{
    assert_true(buf_append_string(out, "n,key\n"));
    for (size_t i = 0; i < ROWS; i++) {
        if (i == bad) {
            assert_true(buf_append_string(out, "\"\",\"a\nb\"\n"));
        }
        assert_true(buf_printf(out, "%zu,\"key\n%zu\"\n", i % 10, i % 97));
    }
}

static void open_subject(struct subject *s, const char *root, unsigned threads,
                         crew_records *records, void *ctx)
{
    struct df_error err = { "" };
    struct crew_plan plan = {
        .job = &s->job,
        .shape = { .components = 1 },
        .parts = 1,
        .threads = threads,
        .memory = (size_t)16 << 20,
        .scratch = root,
        .sample = 1,
        .options = &s->options,
        .records = records,
        .records_ctx = ctx,
    };

    *s = (struct subject){ .options = { .threads = threads,
                                        .unit_size = READER_HASH_BLOCK } };
    assert_int_equal(jobspec_open(&s->job, &summing, NULL, 0, &err), DF_OK);
    assert_int_equal(batch_scan(&s->batch, root, 2, &err), DF_OK);
    assert_int_equal(crew_open(&s->crew, &plan, &err), DF_OK);
}

static void close_subject(struct subject *s)
{
    crew_close(s->crew);
    batch_fini(&s->batch);
    jobspec_close(&s->job);
}

static const unsigned thread_counts[] = { 1, 2, THREADS_MAX };
enum { THREAD_COUNTS = sizeof thread_counts / sizeof *thread_counts };

/* ---- the tests ---- */

static void records_become_rows(void **state)
{
    char root[INPUT_TREE_PATH];
    struct buf file = { 0 };

    (void)state;
    workplace_new(root);
    put_rows(&file, SIZE_MAX);
    input_tree_file(root, "inserted/x.csv", file.data, file.len);
    input_tree_text(root, "deleted/y.csv", "key,n\n\n\"key\n0\",5");
    for (size_t k = 0; k < THREAD_COUNTS; k++) {
        struct subject s;
        struct df_error err = { "" };
        struct crew_stats stats;
        const struct row *row;
        uint64_t rows = 0;
        int64_t sum = 0;

        open_subject(&s, root, thread_counts[k], NULL, NULL);
        assert_int_equal(crew_map(s.crew, &s.batch, NULL, &err), DF_OK);
        assert_int_equal(crew_finish(s.crew, &err), DF_OK);
        assert_int_equal(crew_reduce(s.crew, &err), DF_OK);
        for (;;) {
            struct run_source *run = crew_run(s.crew, 0);

            assert_int_equal(run->next(run, &row, &err), DF_OK);
            if (row == NULL) {
                break;
            }
            rows++;
            sum += row->values[0];
        }
        assert_int_equal(rows, 97);
        assert_int_equal(sum, (int64_t)ROWS / 10 * 45 - 5);
        stats = crew_stats(s.crew);
        assert_int_equal(stats.inserted, ROWS);
        assert_int_equal(stats.deleted, 1);
        assert_int_equal(stats.records, ROWS + 2);
        assert_int_equal(stats.skipped, 1);
        assert_int_equal(stats.pairs, ROWS + 1);
        close_subject(&s);
    }
    buf_fini(&file);
}

/* Of several refused records the first is named, whoever comes to it. */
static void first_refusal_wins(void **state)
{
    static const size_t bad[] = { 0, 1, 1024, 70000, ROWS - 1 };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char root[INPUT_TREE_PATH];
        char expected[2 * INPUT_TREE_PATH];
        struct buf file = { 0 };

        workplace_new(root);
        put_rows(&file, bad[i]);
        assert_true(buf_append_string(&file, "too,many,fields\n"));
        input_tree_file(root, "inserted/x.csv", file.data, file.len);
        buf_fini(&file);
        (void)snprintf(expected, sizeof expected,
                       "%s/inserted/x.csv:%zu: column 'n' is empty", root,
                       2 + 2 * bad[i]);
        for (size_t k = 0; k < THREAD_COUNTS; k++) {
            struct subject s;
            struct df_error err = { "" };

            open_subject(&s, root, thread_counts[k], NULL, NULL);
            assert_int_equal(crew_map(s.crew, &s.batch, NULL, &err), DF_INPUT);
            assert_string_equal(err.text, expected);
            close_subject(&s);
        }
    }
}

/* ---- a sink ---- */

/* Each worker writes down what it was given. */
struct given {
    struct reader_place place;
    uint64_t n;
    struct hash128 hash; /* of the keys */
};
struct worker_log {
    struct given *list;
    size_t count;
};

static enum df_status note(void *ctx, unsigned worker,
                           const struct reader_place *place,
                           const struct df_record *records, size_t n,
                           struct df_error *err)
{
    struct worker_log *log = (struct worker_log *)ctx + worker;
    struct given g = { .place = *place, .n = n };

    (void)err;
    for (size_t i = 0; i < n; i++) {
        const struct df_field *f = records[i].fields;

        g.hash = hash128(bytes_of(f->data, f->len), g.hash.low);
    }
    log->list = realloc(log->list, (log->count + 1) * sizeof *log->list);
    assert_non_null(log->list);
    log->list[log->count++] = g;
    return DF_OK;
}

static int by_arrival(const void *a, const void *b)
{
    const struct reader_place *x = &((const struct given *)a)->place;
    const struct reader_place *y = &((const struct given *)b)->place;

    if (x->unit != y->unit) {
        return x->unit < y->unit ? -1 : 1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

/* The order of arrival, put together from what the workers have. */
static struct hash128 check_arrival(struct worker_log *logs, size_t *total)
{
    struct worker_log all = { 0 };
    struct hash128 hash = { 0, 0 };
    uint64_t index = 0;

    for (unsigned w = 0; w < THREADS_MAX; w++) {
        all.list = realloc(all.list,
                           (all.count + logs[w].count + 1) * sizeof *all.list);
        assert_non_null(all.list);
        for (size_t i = 0; i < logs[w].count; i++) {
            all.list[all.count++] = logs[w].list[i];
        }
        free(logs[w].list);
    }
    qsort(all.list, all.count, sizeof *all.list, by_arrival);
    *total = 0;
    for (size_t i = 0; i < all.count; i++) {
        const struct given *g = &all.list[i];

        index = i > 0 && g[-1].place.unit == g->place.unit ? index : 0;
        assert_int_equal(g->place.index, index);
        index += g->n;
        *total += g->n;
        hash.high ^= g->hash.high * (2 * i + 1);
        assert_int_equal(g->place.file->section, BATCH_INSERTED);
    }
    free(all.list);
    return hash;
}

static void sinks_see_the_order(void **state)
{
    char root[INPUT_TREE_PATH];
    struct buf file = { 0 };
    struct hash128 first = { 0, 0 };

    (void)state;
    workplace_new(root);
    put_rows(&file, SIZE_MAX);
    input_tree_file(root, "inserted/x.csv", file.data, file.len);
    input_tree_file(root, "inserted/y.csv", file.data, file.len);
    buf_fini(&file);
    for (size_t k = 0; k < THREAD_COUNTS; k++) {
        struct worker_log logs[THREADS_MAX] = { { 0 } };
        struct subject s;
        struct df_error err = { "" };
        struct hash128 hash;
        size_t total;

        open_subject(&s, root, thread_counts[k], note, logs);
        assert_int_equal(crew_map(s.crew, &s.batch, NULL, &err), DF_OK);
        assert_int_equal(crew_stats(s.crew).inserted, 2 * ROWS);
        hash = check_arrival(logs, &total);
        first = k == 0 ? hash : first;
        assert_int_equal(total, 2 * ROWS);
        assert_true(hash128_equal(hash, first));
        close_subject(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_become_rows),
        cmocka_unit_test(first_refusal_wins),
        cmocka_unit_test(sinks_see_the_order),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
