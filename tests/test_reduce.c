/* Many workers' tables and spills as one run per partition: reduce.h. */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/combine_internal.h"
#include "runtime/reduce.h"
#include "state/merge.h"
#include "tests/give.h"
#include "tests/oracle.h"

enum { MIB = 1 << 20, WORKERS_MAX = 8 };

static char directory[64];

static int make_directory(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    (void)snprintf(directory, sizeof directory, "%s/test_reduce.XXXXXX",
                   base != NULL && strlen(base) < 40 ? base : "/tmp");
    return mkdtemp(directory) == NULL;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

/* Workers with the same plan, and what they must come to. */
struct crew {
    struct combine_plan plan;
    struct combine *workers[WORKERS_MAX];
    unsigned n;
    bool gives; /* what workers have alike is added up before */
    struct oracle oracle;
};

static void crew_open(struct crew *crew, unsigned n, bool has_element,
                      unsigned components, unsigned parts, size_t memory)
{
    *crew = (struct crew){ .n = n };
    crew->plan = (struct combine_plan){ .shape = { .has_element = has_element,
                                                   .components = components },
                                        .parts = parts,
                                        .memory = memory,
                                        .spill_directory = directory,
                                        .sample = 1 };
    crew->oracle.shape = crew->plan.shape;
    crew->oracle.parts = parts;
    for (unsigned i = 0; i < n; i++) {
        struct df_error err;

        assert_int_equal(combine_open(&crew->workers[i], &crew->plan, &err),
                         DF_OK);
    }
}

static void crew_close(struct crew *crew)
{
    for (unsigned i = 0; i < crew->n; i++) {
        combine_close(crew->workers[i]);
    }
    oracle_fini(&crew->oracle);
}

static void crew_emit(struct crew *crew, unsigned worker, int sign,
                      struct bytes key, struct bytes element,
                      const int64_t *values)
{
    struct combine *c = crew->workers[worker];

    combine_sign(c, sign);
    df_emit(combine_emitter(c), key.data, key.len, element.data, element.len,
            values);
    oracle_add(&crew->oracle, sign, key, element, values);
}

static uint64_t crew_finish(struct crew *crew)
{
    uint64_t spills = 0;

    if (crew->gives) {
        give_between(crew->workers, crew->n);
    }
    for (unsigned i = 0; i < crew->n; i++) {
        struct df_error err;

        if (combine_finish(crew->workers[i], &err) != DF_OK) {
            fail_msg("%s", err.text);
        }
        spills += combine_stats(crew->workers[i]).spills;
    }
    oracle_settle(&crew->oracle);
    return spills;
}

/* Random pairs to random workers; the first ones get most. */
static void crew_fill(struct crew *crew, size_t pairs,
                      struct oracle_random *random)
{
    for (size_t i = 0; i < pairs; i++) {
        struct bytes key = oracle_random_bytes(random);
        struct bytes element = oracle_random_bytes(random);
        unsigned worker = (unsigned)rand_r(&random->seed) % crew->n;
        int64_t values[DF_COMPONENTS_MAX];

        if (worker > 0 && rand_r(&random->seed) % 2) {
            worker = 0;
        }
        oracle_random_values(random, values);
        crew_emit(crew, worker, rand_r(&random->seed) % 2 ? 1 : -1, key,
                  element, values);
        oracle_free_bytes(key);
        oracle_free_bytes(element);
    }
}

static struct reduce *open_part(struct crew *crew, unsigned part,
                                size_t memory)
{
    struct reduce *r;
    struct df_error err;

    if (reduce_open(&r, crew->workers, crew->n, part, memory, &err) != DF_OK) {
        fail_msg("%s", err.text);
    }
    return r;
}

/* Reads a few rows, then from the start to the end, and once more. */
static void check_part(struct crew *crew, unsigned part, size_t memory,
                       unsigned few)
{
    struct reduce *r = open_part(crew, part, memory);
    struct run_source *run = reduce_run(r);
    struct reduce_bound bound = reduce_bound(r);
    const struct row *row = NULL;
    struct df_error err;
    uint64_t bytes;
    size_t rows;

    for (unsigned i = 0; i < few; i++) {
        assert_int_equal(run->next(run, &row, &err), DF_OK);
        if (row == NULL) {
            break;
        }
    }
    for (int again = 0; again < 2; again++) {
        assert_int_equal(run->rewind(run, &err), DF_OK);
        rows = oracle_check_part(&crew->oracle, part, run, &bytes);
        assert_true(bound.rows >= rows && bound.bytes >= bytes);
        assert_int_equal(run->next(run, &row, &err), DF_OK);
        assert_null(row); /* the end stays the end */
    }
    reduce_close(r);
}

static void check_all(struct crew *crew, size_t memory, unsigned few)
{
    for (unsigned p = 0; p < crew->plan.parts; p++) {
        check_part(crew, p, memory, few);
    }
}

static void test_random_crews(void **state)
{
    struct oracle_random random = { .seed = (unsigned)time(NULL),
                                    .distinct = 1500,
                                    .has_long = true };
    uint64_t spills = 0;

    (void)state;
    print_message("seed %u\n", random.seed);
    for (unsigned i = 0; i < 16; i++) {
        struct crew crew;

        crew_open(&crew, 1 + i % WORKERS_MAX, i % 2 == 0, 1 + i % 3, 1 + i % 5,
                  i % 4 < 2 ? MIB : (size_t)64 * MIB);
        crew.gives = i % 3 != 0;
        crew_fill(&crew, 6000, &random);
        spills += crew_finish(&crew);
        check_all(&crew, i % 3 ? (size_t)8 * MIB : 1, i * 7);
        crew_close(&crew);
    }
    assert_true(spills > 0);
}

static void number_key(uint8_t key[8], uint64_t i)
{
    store_be64(key, i * 0x9e3779b97f4a7c15u);
}

/* Every worker spills dozens of times; then whatever the memory of the
 * reducer, from no group merges to several levels of them, the same rows. */
static void crew_of_many_spills(struct crew *crew, unsigned n)
{
    static const int64_t one = 1;
    enum { EACH = 150000, DISTINCT = 120000 };

    crew_open(crew, n, false, 1, 2, MIB);
    for (unsigned w = 0; w < n; w++) {
        for (uint64_t i = 0; i < EACH; i++) {
            uint8_t key[8];

            number_key(key, (i + w * UINT64_C(50000)) % DISTINCT);
            crew_emit(crew, w, (i + w) % 5 == 0 ? -1 : 1, bytes_of(key, 8),
                      bytes_of(NULL, 0), &one);
        }
    }
    assert_true(crew_finish(crew) > UINT64_C(8) * n);
}

static void test_any_memory_gives_the_same_rows(void **state)
{
    static const size_t memories[] = { 1, 40000, 150000, 400000,
                                       (size_t)64 * MIB };
    struct crew crew;

    (void)state;
    crew_of_many_spills(&crew, 2);
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++) {
        check_all(&crew, memories[i], 3);
    }
    crew_close(&crew);
}

struct reducer {
    struct crew *crew;
    unsigned part;
    size_t memory;
    uint64_t rows;
    int64_t sum;
    bool failed;
};

static void *run_reducer(void *arg)
{
    struct reducer *job = arg;
    struct reduce *r;
    struct df_error err;
    const struct row *row = NULL;
    enum df_status status;

    if (reduce_open(&r, job->crew->workers, job->crew->n, job->part,
                    job->memory, &err) != DF_OK) {
        job->failed = true;
        return NULL;
    }
    while ((status = reduce_run(r)->next(reduce_run(r), &row, &err)) ==
               DF_OK &&
           row != NULL) {
        job->rows++;
        job->sum += row->values[0];
    }
    job->failed = status != DF_OK;
    reduce_close(r);
    return NULL;
}

static void test_reducers_at_the_same_time(void **state)
{
    enum { REDUCERS = 4 };
    struct reducer jobs[REDUCERS] = { 0 };
    pthread_t threads[REDUCERS];
    struct crew crew;
    uint64_t rows = 0;
    int64_t sum = 0;
    int64_t want = 0;

    (void)state;
    crew_of_many_spills(&crew, 2);
    for (unsigned i = 0; i < REDUCERS; i++) {
        jobs[i].crew = &crew;
        jobs[i].part = i % 2;
        jobs[i].memory = i < 2 ? 100000 : MIB;
        assert_int_equal(
            pthread_create(&threads[i], NULL, run_reducer, &jobs[i]), 0);
    }
    for (unsigned i = 0; i < REDUCERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_false(jobs[i].failed);
        rows += jobs[i].rows;
        sum += jobs[i].sum;
    }
    for (size_t i = 0; i < crew.oracle.n; i++) {
        want += crew.oracle.rows[i]->values[0];
    }
    assert_int_equal(rows, 2 * crew.oracle.n);
    assert_int_equal(sum, 2 * want);
    crew_close(&crew);
}

static void test_nothing_is_an_empty_run(void **state)
{
    struct crew crew;
    struct reduce *r;

    (void)state;
    crew_open(&crew, 3, true, 2, 4, MIB);
    assert_int_equal(crew_finish(&crew), 0);
    check_all(&crew, MIB, 1);
    r = open_part(&crew, 0, MIB);
    assert_int_equal(reduce_bound(r).rows, 0);
    assert_int_equal(reduce_bound(r).bytes, 0);
    reduce_close(r);
    crew_close(&crew);
}

static void test_workers_that_cancel(void **state)
{
    static const int64_t values[] = { 1000, -3 };
    struct bytes key = bytes_of_string("key");
    struct crew crew;

    (void)state;
    crew_open(&crew, 2, true, 2, 1, MIB);
    crew_emit(&crew, 0, 1, key, key, values);
    crew_emit(&crew, 1, -1, key, key, values);
    crew_emit(&crew, 1, 1, key, bytes_of_string("other"), values);
    (void)crew_finish(&crew);
    assert_int_equal(crew.oracle.n, 1);
    check_all(&crew, MIB, 0);
    crew_close(&crew);
}

static void test_bound_holds_for_sums_that_grow(void **state)
{
    static const int64_t grows[][2] = {
        { 65535, 1 },      { 127, 1 },
        { 255, 255 },      { -32768, -1 },
        { UINT32_MAX, 1 }, { INT32_MIN, -1 },
        { -32, -1 },       { UINT32_MAX, UINT32_MAX }
    };
    struct bytes key = bytes_of_string("k");

    (void)state;
    for (size_t i = 0; i < sizeof grows / sizeof *grows; i++) {
        struct crew crew;
        int64_t values[2][DF_COMPONENTS_MAX];

        for (int c = 0; c < DF_COMPONENTS_MAX; c++) {
            values[0][c] = grows[i][0];
            values[1][c] = grows[i][1];
        }
        crew_open(&crew, 2, false, DF_COMPONENTS_MAX, 1, MIB);
        crew_emit(&crew, 0, 1, key, key, values[0]);
        crew_emit(&crew, 1, 1, key, key, values[1]);
        (void)crew_finish(&crew);
        check_all(&crew, MIB, 0);
        crew_close(&crew);
    }
}

static void check_beyond_64_bits(bool gives)
{
    static const int64_t most = INT64_MAX;
    struct bytes key = bytes_of_string("tree");
    struct crew crew;
    struct reduce *r;
    struct df_error err;
    const struct row *row;

    crew_open(&crew, 2, false, 1, 1, MIB);
    crew.gives = gives;
    crew_emit(&crew, 0, 1, key, key, &most);
    crew_emit(&crew, 1, 1, key, key, &most);
    if (gives) {
        give_between(crew.workers, crew.n);
    }
    assert_int_equal(combine_finish(crew.workers[0], &err), DF_OK);
    assert_int_equal(combine_finish(crew.workers[1], &err), DF_OK);
    r = open_part(&crew, 0, MIB);
    assert_int_equal(reduce_run(r)->next(reduce_run(r), &row, &err), DF_INPUT);
    assert_string_equal(err.text, "key 'tree': count beyond 64 bits");
    reduce_close(r);
    crew_close(&crew);
}

static void test_sum_over_workers_beyond_64_bits(void **state)
{
    (void)state;
    check_beyond_64_bits(false);
    check_beyond_64_bits(true);
}

/* Of two workers, each row lies with one of them afterwards; of more, none is
 * left with all. */
static void check_given(unsigned workers, unsigned components,
                        struct oracle_random *random)
{
    struct crew crew;
    size_t rows = 0;
    size_t before = 0;

    crew_open(&crew, workers, true, components, 3, (size_t)64 * MIB);
    crew_fill(&crew, 9000, random);
    for (unsigned i = 0; i < workers; i++) {
        before += crew.workers[i]->table.used;
    }
    crew.gives = true;
    assert_int_equal(crew_finish(&crew), 0);
    for (unsigned i = 0; i < workers; i++) {
        for (unsigned p = 0; p < crew.plan.parts; p++) {
            rows += combine_rows(crew.workers[i], p).n;
        }
    }
    assert_true(workers == 2 ? rows == crew.oracle.n : rows < before);
    check_all(&crew, MIB, 2);
    crew_close(&crew);
}

/* So many keys that some share a tag, that slots lie behind their homes, and
 * that some of those are at the borders of shares and the end of the table. */
static void test_lists_of_keys_are_given(void **state)
{
    enum { LISTS = 150, KEYS = 1000, DISTINCT = 200000, LEN = 12 };
    static const int64_t one = 1;
    static uint8_t room[KEYS * LEN + DF_SLACK];
    static struct df_key keys[KEYS];
    unsigned seed = (unsigned)time(NULL);
    struct crew crew;

    (void)state;
    print_message("seed %u\n", seed);
    crew_open(&crew, 3, false, 1, 2, (size_t)64 * MIB);
    crew.gives = true;
    for (unsigned list = 0; list < LISTS; list++) {
        for (unsigned i = 0; i < KEYS; i++) {
            uint64_t number = (unsigned)rand_r(&seed) % DISTINCT;

            keys[i].data = room + (size_t)i * LEN;
            keys[i].len = LEN - number % 5;
            memset(room + (size_t)i * LEN, 'n', LEN);
            store_be64(room + (size_t)i * LEN, (number + 1) << 40);
            room[(size_t)i * LEN] = 'k';
            oracle_add(&crew.oracle, 1, bytes_of(keys[i].data, keys[i].len),
                       bytes_of(NULL, 0), &one);
        }
        df_emit_keys(combine_emitter(crew.workers[list % 3]), keys, KEYS);
    }
    assert_int_equal(crew_finish(&crew), 0);
    check_all(&crew, MIB, 3);
    crew_close(&crew);
}

static void test_what_is_given_is_sorted_once(void **state)
{
    struct oracle_random random = { .seed = (unsigned)time(NULL),
                                    .distinct = 60 };

    (void)state;
    print_message("seed %u\n", random.seed);
    for (unsigned components = 1; components < 4; components++) {
        for (unsigned workers = 2; workers <= WORKERS_MAX; workers += 3) {
            check_given(workers, components, &random);
        }
    }
}

/* ---- Merging, of runs that are made up ---- */

struct list_source {
    struct run_source source;
    const struct row *rows;
    size_t n;
    size_t at;
    bool fails; /* at its end */
};

static enum df_status list_next(struct run_source *source,
                                const struct row **row, struct df_error *err)
{
    struct list_source *s = (struct list_source *)source;

    if (s->at == s->n && s->fails) {
        return error_set(err, DF_STATE, "made to fail");
    }
    *row = s->at < s->n ? &s->rows[s->at++] : NULL;
    return DF_OK;
}

static enum df_status list_rewind(struct run_source *source,
                                  struct df_error *err)
{
    (void)err;
    ((struct list_source *)source)->at = 0;
    return DF_OK;
}

static struct list_source list_of(const struct row *rows, size_t n)
{
    return (struct list_source){ .source = { list_next, list_rewind, NULL },
                                 .rows = rows,
                                 .n = n };
}

/* No two keys are known to share their hash; here two heads are said to. */
static void test_colliding_heads_are_refused(void **state)
{
    static const struct row_shape shape = { .components = 1 };
    static const int64_t one = 1;
    uint8_t head[ROW_HEAD_MAX];
    struct row rows[] = {
        { bytes_of(head, sizeof head), bytes_of_string("a"), &one },
        { bytes_of(head, sizeof head), bytes_of_string("b"), &one }
    };
    struct list_source lists[] = { list_of(&rows[0], 1),
                                   list_of(&rows[1], 1) };
    struct run_source *sources[] = { &lists[0].source, &lists[1].source };
    struct run_source *merge;
    const struct row *row;
    struct df_error err;

    (void)state;
    memset(head, 'h', sizeof head);
    assert_int_equal(merge_open(&merge, shape, sources, 2, &err), DF_OK);
    assert_int_equal(merge->next(merge, &row, &err), DF_INPUT);
    assert_non_null(strstr(err.text, "128-bit hash"));
    merge_close(merge);
}

static void test_failing_source_fails_the_merge(void **state)
{
    static const struct row_shape shape = { .components = 1 };
    static const int64_t one = 1;
    struct row rows[] = { { bytes_of_string("a"), { 0 }, &one },
                          { bytes_of_string("c"), { 0 }, &one } };
    struct list_source lists[] = { list_of(rows, 1), list_of(rows, 2),
                                   list_of(rows + 1, 1) };
    struct run_source *sources[] = { &lists[0].source, &lists[1].source,
                                     &lists[2].source };
    struct run_source *merge;
    const struct row *row;
    struct df_error err;

    (void)state;
    lists[1].fails = true;
    assert_int_equal(merge_open(&merge, shape, sources, 3, &err), DF_OK);
    assert_int_equal(merge->next(merge, &row, &err), DF_OK);
    assert_int_equal(row->values[0], 2);
    assert_int_equal(merge->next(merge, &row, &err), DF_STATE);
    assert_string_equal(err.text, "made to fail");
    merge_close(merge);
}

/* What a merge compares first are eight bytes: heads that are all ones there,
 * shorter ones, ones that differ behind, and sources that have ended. */
static void test_heads_of_ones_come_last(void **state)
{
    static const struct row_shape shape = { .components = 1 };
    static const int64_t one = 1;
    static const char ones[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff";
    struct row rows[] = {
        { bytes_of_string("a"), { 0 }, &one },
        { bytes_of_string("sea"), { 0 }, &one },
        { bytes_of_string("seaside1"), { 0 }, &one },
        { bytes_of_string("seaside12"), { 0 }, &one },
        { bytes_of(ones, 7), { 0 }, &one },
        { bytes_of(ones, 8), { 0 }, &one },
        { bytes_of(ones, 9), { 0 }, &one },
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    struct list_source lists[] = { list_of(rows, 1), list_of(rows, ROWS),
                                   list_of(rows + 2, 2),
                                   list_of(rows + 5, 1) };
    static const int64_t sums[] = { 2, 1, 2, 2, 1, 2, 1 };
    struct run_source *sources[] = { &lists[0].source, &lists[1].source,
                                     &lists[2].source, &lists[3].source };
    struct run_source *merge;
    const struct row *row;
    struct df_error err;

    (void)state;
    assert_int_equal(merge_open(&merge, shape, sources, 4, &err), DF_OK);
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(merge->next(merge, &row, &err), DF_OK);
        assert_non_null(row);
        assert_true(bytes_equal(row->head, rows[i].head));
        assert_int_equal(row->values[0], sums[i]);
    }
    assert_int_equal(merge->next(merge, &row, &err), DF_OK);
    assert_null(row);
    merge_close(merge);
}

/* Two sources, from none to all rows in both; one may count negated; begun
 * again in the middle. */
static void check_two(unsigned *seed)
{
    enum { ROWS = 60 };
    static const struct row_shape shape = { .components = 1 };
    static uint8_t heads[ROWS];
    struct row rows[2][ROWS];
    int64_t values[2][ROWS];
    int64_t sums[ROWS] = { 0 };
    bool minus[2] = { rand_r(seed) % 3 == 0, rand_r(seed) % 3 == 0 };
    unsigned share = 1 + (unsigned)rand_r(seed) % 9;
    struct list_source lists[2];
    struct run_source *sources[2];
    struct run_source *merge;
    struct df_error err;

    for (unsigned side = 0; side < 2; side++) {
        size_t n = 0;
        /* One may end long before the other. */
        unsigned end = rand_r(seed) % 4 == 0 ? ROWS / 8 : ROWS;

        for (unsigned i = 0; i < end; i++) {
            heads[i] = (uint8_t)(i * 255 / (ROWS - 1));
            if ((unsigned)rand_r(seed) % 10 < share) {
                values[side][n] = 1 + rand_r(seed) % 2;
                sums[i] += minus[side] ? -values[side][n] : values[side][n];
                rows[side][n] = (struct row){ bytes_of(&heads[i], 1),
                                              { 0 },
                                              &values[side][n] };
                n++;
            }
        }
        lists[side] = list_of(rows[side], n);
        sources[side] = &lists[side].source;
    }
    assert_int_equal(merge_open_signed(&merge, shape, sources, minus, 2, &err),
                     DF_OK);
    for (int again = 0; again < 2; again++) {
        unsigned stop = again == 0 ? (unsigned)rand_r(seed) % ROWS : ROWS;
        const struct row *row;

        for (unsigned i = 0; i < stop; i++) {
            if (sums[i] != 0) {
                assert_int_equal(merge->next(merge, &row, &err), DF_OK);
                assert_non_null(row);
                assert_int_equal(row->head.data[0], heads[i]);
                assert_int_equal(row->values[0], sums[i]);
            }
        }
        if (stop == ROWS) {
            assert_int_equal(merge->next(merge, &row, &err), DF_OK);
            assert_null(row);
        }
        assert_int_equal(merge->rewind(merge, &err), DF_OK);
    }
    merge_close(merge);
}

static void test_two_sources_at_random(void **state)
{
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    print_message("seed %u\n", seed);
    for (unsigned i = 0; i < 3000; i++) {
        check_two(&seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_crews),
        cmocka_unit_test(test_any_memory_gives_the_same_rows),
        cmocka_unit_test(test_reducers_at_the_same_time),
        cmocka_unit_test(test_nothing_is_an_empty_run),
        cmocka_unit_test(test_workers_that_cancel),
        cmocka_unit_test(test_bound_holds_for_sums_that_grow),
        cmocka_unit_test(test_sum_over_workers_beyond_64_bits),
        cmocka_unit_test(test_what_is_given_is_sorted_once),
        cmocka_unit_test(test_lists_of_keys_are_given),
        cmocka_unit_test(test_two_sources_at_random),
        cmocka_unit_test(test_colliding_heads_are_refused),
        cmocka_unit_test(test_failing_source_fails_the_merge),
        cmocka_unit_test(test_heads_of_ones_come_last),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
