/* One worker's table, in memory and spilling: runtime/combine.h. */
#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/combine_internal.h"
#include "runtime/reduce.h"
#include "tests/oracle.h"

enum { MIB = 1 << 20 };

static char directory[64];

static int make_directory(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    (void)snprintf(directory, sizeof directory, "%s/test_combine.XXXXXX",
                   base != NULL && strlen(base) < 40 ? base : "/tmp");
    return mkdtemp(directory) == NULL;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory); /* spill files have no names: it is empty */
}

static struct combine_plan plan_of(bool has_element, unsigned components,
                                   unsigned parts, size_t memory)
{
    return (struct combine_plan){ .shape = { .has_element = has_element,
                                             .components = components },
                                  .parts = parts,
                                  .memory = memory,
                                  .spill_directory = directory,
                                  .sample = 1 };
}

static struct combine *open_combine(const struct combine_plan *plan)
{
    struct combine *c;
    struct df_error err;

    assert_int_equal(combine_open(&c, plan, &err), DF_OK);
    return c;
}

static void finish(struct combine *c)
{
    struct df_error err;

    if (combine_finish(c, &err) != DF_OK) {
        fail_msg("%s", err.text);
    }
}

/* All that a finished combine holds must be what the oracle says. Returns
 * the rows. */
static size_t check(struct combine *c, const struct oracle *o)
{
    size_t rows = 0;

    for (unsigned p = 0; p < o->parts; p++) {
        struct reduce *r;
        struct df_error err;
        uint64_t bytes;

        assert_int_equal(reduce_open(&r, &c, 1, p, MIB, &err), DF_OK);
        rows += oracle_check_part(o, p, reduce_run(r), &bytes);
        reduce_close(r);
    }
    assert_int_equal(rows, o->n);
    return rows;
}

static void emit(struct combine *c, struct bytes key, struct bytes element,
                 const int64_t *values)
{
    df_emit(combine_emitter(c), key.data, key.len, element.data, element.len,
            values);
}

/* `pairs` pairs at random into both. */
static void fill(struct combine *c, struct oracle *o, size_t pairs,
                 struct oracle_random *random)
{
    for (size_t i = 0; i < pairs; i++) {
        struct bytes key = oracle_random_bytes(random);
        struct bytes element = oracle_random_bytes(random);
        int sign = rand_r(&random->seed) % 2 ? 1 : -1;
        int64_t values[DF_COMPONENTS_MAX];

        oracle_random_values(random, values);
        combine_sign(c, sign);
        emit(c, key, element, values);
        oracle_add(o, sign, key, element, values);
        oracle_free_bytes(key);
        oracle_free_bytes(element);
    }
    oracle_settle(o);
}

static void test_random_pairs(void **state)
{
    struct oracle_random random = { .seed = (unsigned)time(NULL),
                                    .distinct = 500,
                                    .has_long = true };

    (void)state;
    print_message("seed %u\n", random.seed);
    for (unsigned i = 0; i < 12; i++) {
        struct combine_plan plan =
            plan_of(i % 2 == 0, 1 + i % 3, 1 + i % 5, (size_t)64 * MIB);
        struct oracle o = { .shape = plan.shape, .parts = plan.parts };
        struct combine *c = open_combine(&plan);

        fill(c, &o, 2000, &random);
        finish(c);
        assert_int_equal(combine_stats(c).pairs, 2000);
        assert_int_equal(combine_stats(c).spills, 0);
        check(c, &o);
        combine_close(c);
        oracle_fini(&o);
    }
}

/* The smallest budget, and keys and elements that need all of it. */
static void test_longest_rows_fit_the_smallest_budget(void **state)
{
    struct combine_plan plan = plan_of(true, DF_COMPONENTS_MAX, 3, 1);
    struct oracle o = { .shape = plan.shape, .parts = plan.parts };
    struct combine *c = open_combine(&plan);
    uint8_t *zeros = calloc(1, DF_KEY_MAX + DF_SLACK);
    struct oracle_random random = { .seed = 1, .distinct = 1 };

    (void)state;
    assert_non_null(zeros);
    for (size_t i = 0; i < 60; i++) {
        struct bytes key = bytes_of(zeros, DF_KEY_MAX - i % 7);
        struct bytes element = bytes_of(zeros, DF_KEY_MAX - i % 5);
        int64_t values[DF_COMPONENTS_MAX];

        oracle_random_values(&random, values);
        emit(c, key, element, values);
        oracle_add(&o, 1, key, element, values);
    }
    oracle_settle(&o);
    finish(c);
    assert_true(combine_stats(c).spills > 5);
    check(c, &o);
    combine_close(c);
    oracle_fini(&o);
    free(zeros);
}

/* Lists of keys are counted on one path after the other. */
static void take_path(unsigned i)
{
    unsigned paths = 0;

    while (combine_path(paths) != NULL) {
        paths++;
    }
    combine_prefer(combine_path(i % paths));
}

/* Lists of keys give what the same pairs give one by one. */
static void test_key_lists(void **state)
{
    enum { KEYS = 3000 };
    struct oracle_random random = { .seed = (unsigned)time(NULL),
                                    .distinct = 900,
                                    .has_long = true };
    static const int64_t one[DF_COMPONENTS_MAX] = { 1 };

    (void)state;
    print_message("seed %u\n", random.seed);
    for (unsigned i = 0; i < 6; i++) {
        struct combine_plan plan =
            plan_of(false, 1, 1 + i, i % 2 ? MIB : (size_t)64 * MIB);
        struct oracle o = { .shape = plan.shape, .parts = plan.parts };
        struct df_key *keys = calloc(KEYS, sizeof *keys);
        struct combine *c;

        assert_non_null(keys);
        take_path(i);
        c = open_combine(&plan);
        for (size_t k = 0; k < KEYS;) {
            struct bytes key = oracle_random_bytes(&random);

            if (key.len == 0) { /* no key of a list is empty */
                oracle_free_bytes(key);
                continue;
            }
            keys[k++] = (struct df_key){ key.data, key.len };
        }
        for (size_t from = 0; from < KEYS;) {
            size_t n = (size_t)rand_r(&random.seed) % 500;
            int sign = rand_r(&random.seed) % 3 ? 1 : -1;

            n = n < KEYS - from ? n : KEYS - from;
            combine_sign(c, sign);
            df_emit_keys(combine_emitter(c), keys + from, n);
            for (; n > 0; n--, from++) {
                struct bytes key = bytes_of(keys[from].data, keys[from].len);

                oracle_add(&o, sign, key, key, one);
                oracle_free_bytes(key);
            }
        }
        oracle_settle(&o);
        finish(c);
        assert_int_equal(combine_stats(c).pairs, KEYS);
        check(c, &o);
        combine_close(c);
        oracle_fini(&o);
        free(keys);
    }
    combine_prefer(NULL);
}

/* Keys that begin alike and differ in their length alone, whatever part of it
 * a path looks at. */
static void test_keys_that_differ_in_length(void **state)
{
    enum { LENGTHS = 1100, TIMES = 3 };
    static uint8_t text[LENGTHS + DF_SLACK];
    static const int64_t times = TIMES;
    struct df_key keys[LENGTHS];

    (void)state;
    memset(text, 'a', sizeof text);
    for (unsigned i = 0; combine_path(i) != NULL; i++) {
        struct combine_plan plan = plan_of(false, 1, 2, (size_t)64 * MIB);
        struct oracle o = { .shape = plan.shape, .parts = plan.parts };
        struct combine *c;

        take_path(i);
        c = open_combine(&plan);
        for (size_t len = 1; len <= LENGTHS; len++) {
            keys[len - 1] = (struct df_key){ text, len };
            oracle_add(&o, 1, bytes_of(text, len), bytes_of(NULL, 0), &times);
        }
        for (unsigned k = 0; k < TIMES; k++) {
            df_emit_keys(combine_emitter(c), keys, LENGTHS);
        }
        oracle_settle(&o);
        finish(c);
        assert_int_equal(check(c, &o), LENGTHS);
        combine_close(c);
        oracle_fini(&o);
    }
    combine_prefer(NULL);
}

/* A key of number i: 8 to 20 bytes, on both sides of HOT_KEY_MAX. */
static size_t skewed_key(char *room, size_t size, uint64_t i)
{
    int n = snprintf(room, size, "word%0*" PRIu64, (int)(4 + i % 13), i);

    assert_in_range(n, 8, size - 1);
    return (size_t)n;
}

/* A few keys come often, many now and then: more than there are hot places, so
 * that they take them from each other; inserted, deleted, and spilled. */
static void test_hot_keys_and_cold_ones(void **state)
{
    enum { LISTS = 300, KEYS = 700, DISTINCT = 60000, ROOM = 64 };
    static const int64_t one = 1;
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    print_message("seed %u\n", seed);
    for (unsigned i = 0; i < 4; i++) {
        struct combine_plan plan =
            plan_of(false, 1, 3, i < 2 ? MIB : (size_t)64 * MIB);
        struct oracle o = { .shape = plan.shape, .parts = plan.parts };
        static char rooms[KEYS][ROOM];
        struct df_key keys[KEYS];
        struct combine *c;

        take_path(i);
        c = open_combine(&plan);

        for (unsigned list = 0; list < LISTS; list++) {
            int sign = rand_r(&seed) % 4 > 0 ? 1 : -1;

            for (unsigned k = 0; k < KEYS; k++) {
                uint64_t number = (unsigned)rand_r(&seed) % DISTINCT;

                number = number * number / DISTINCT * number / DISTINCT;
                keys[k].data = (uint8_t *)rooms[k];
                keys[k].len = skewed_key(rooms[k], ROOM, number);
                oracle_add(&o, sign, bytes_of(keys[k].data, keys[k].len),
                           bytes_of(NULL, 0), &one);
            }
            combine_sign(c, sign);
            df_emit_keys(combine_emitter(c), keys, KEYS);
            memset(rooms, 'x', sizeof rooms); /* they are the caller's */
        }
        oracle_settle(&o);
        finish(c);
        assert_true(i >= 2 || combine_stats(c).spills > 0);
        assert_true(check(c, &o) > (size_t)HOT_BYTES_MAX / 32);
        combine_close(c);
        oracle_fini(&o);
    }
    combine_prefer(NULL);
}

/* Key number i: `len` bytes, not in order of i. */
static void number_key(uint8_t *key, size_t len, uint64_t i)
{
    memset(key, 'n', len);
    store_be64(key, (i * 0x9e3779b97f4a7c15u) | 1ull << 56);
}

/* Ten times more distinct keys than fit, most of them met more than once. */
static void test_spills_dozens_of_times(void **state)
{
    enum { DISTINCT = 300000, LEN = 24 };
    struct combine_plan plan = plan_of(false, 1, 3, MIB);
    struct oracle o = { .shape = plan.shape, .parts = plan.parts };
    struct combine *c = open_combine(&plan);
    static const int64_t one = 1;
    uint8_t room[LEN + DF_SLACK];

    (void)state;
    for (uint64_t i = 0; i < DISTINCT + DISTINCT / 3; i++) {
        struct df_key key = { room, LEN };

        number_key(room, LEN, i % DISTINCT);
        df_emit_keys(combine_emitter(c), &key, 1);
        oracle_add(&o, 1, bytes_of(room, LEN), bytes_of(NULL, 0), &one);
    }
    oracle_settle(&o);
    finish(c);
    assert_in_range(combine_stats(c).spills, 24, 200);
    assert_in_range(combine_stats(c).spill_bytes, DISTINCT * LEN / 2,
                    DISTINCT * LEN * 2);
    assert_int_equal(check(c, &o), DISTINCT);
    combine_close(c);
    oracle_fini(&o);
}

static void test_what_cancels_is_gone(void **state)
{
    struct combine_plan plan = plan_of(true, 2, 2, MIB);
    struct oracle o = { .shape = plan.shape, .parts = plan.parts };
    static const int64_t values[] = { 3, -7 };
    static const int64_t zeros[] = { 0, 0 };
    static const int64_t half[] = { 3, 0 };
    struct combine *c = open_combine(&plan);
    struct bytes a = bytes_of_string("a");

    (void)state;
    emit(c, a, a, values);
    combine_sign(c, -1);
    emit(c, a, a, values);
    emit(c, a, bytes_of_string("never there"), zeros);
    emit(c, a, bytes_of_string("half"), half);
    oracle_add(&o, -1, a, bytes_of_string("half"), half);
    oracle_settle(&o);
    finish(c);
    assert_int_equal(check(c, &o), 1);
    combine_close(c);
    oracle_fini(&o);
}

enum { LIST = 300 };

/* One list of pairs into both: plain keys and others, elements or none. */
static void emit_list(struct combine *c, struct oracle *o,
                      struct oracle_random *random)
{
    static int64_t values[LIST][DF_COMPONENTS_MAX];
    struct bytes keys[LIST];
    struct bytes elements[LIST];
    struct df_pair pairs[LIST];
    size_t n = (size_t)rand_r(&random->seed) % LIST;
    int sign = rand_r(&random->seed) % 2 ? 1 : -1;

    combine_sign(c, sign);
    for (size_t i = 0; i < n; i++) {
        keys[i] = oracle_random_bytes(random);
        elements[i] = oracle_random_bytes(random);
        oracle_random_values(random, values[i]);
        if (rand_r(&random->seed) % 8 == 0) {
            memset(values[i], 0, sizeof values[i]);
        }
        pairs[i] =
            (struct df_pair){ keys[i].data, keys[i].len, elements[i].data,
                              elements[i].len, values[i] };
        oracle_add(o, sign, keys[i], elements[i], values[i]);
    }
    df_emit_pairs(combine_emitter(c), pairs, n);
    for (size_t i = 0; i < n; i++) {
        oracle_free_bytes(keys[i]);
        oracle_free_bytes(elements[i]);
    }
}

static void test_lists_of_pairs(void **state)
{
    struct oracle_random random = { .seed = (unsigned)time(NULL),
                                    .distinct = 3000,
                                    .has_long = true };

    (void)state;
    print_message("seed %u\n", random.seed);
    for (unsigned i = 0; i < 16; i++) {
        bool is_tiny = i % 4 == 3;
        struct combine_plan plan = plan_of(i % 2 == 0, 1 + i % 3, 1 + i % 5,
                                           (size_t)(is_tiny ? 1 : 64) * MIB);
        struct oracle o = { .shape = plan.shape, .parts = plan.parts };
        struct combine *c = open_combine(&plan);

        random.has_long = i % 3 == 0;
        for (unsigned k = 0; k < 20; k++) {
            emit_list(c, &o, &random);
        }
        oracle_settle(&o);
        finish(c);
        (void)check(c, &o);
        combine_close(c);
        oracle_fini(&o);
    }
}

static void check_failed(struct combine *c, const char *text)
{
    struct df_error err;

    assert_int_equal(combine_emitter(c)->status, DF_INPUT);
    assert_int_equal(combine_status(c, &err), DF_INPUT);
    assert_non_null(strstr(err.text, text));
    assert_int_equal(combine_finish(c, &err), DF_INPUT);
    combine_close(c);
}

/* The last pair did not fit to the others: the merge will tell. */
static void check_apart(struct combine *c)
{
    assert_int_equal(combine_emitter(c)->status, DF_OK);
    finish(c);
    assert_int_equal(combine_stats(c).spills, 2);
    combine_close(c);
}

static void test_sums_beyond_64_bits_are_apart(void **state)
{
    struct combine_plan plan = plan_of(false, 1, 2, MIB);
    struct combine_plan two = plan_of(true, 2, 2, MIB);
    static const int64_t most = INT64_MAX;
    static const int64_t least = INT64_MIN;
    static const int64_t second[] = { 0, INT64_MAX };
    struct bytes tree = bytes_of("tree and then some slack for look-ups", 4);
    struct df_key key = { tree.data, tree.len };
    struct combine *c = open_combine(&plan);

    (void)state;
    combine_sign(c, -1);
    emit(c, tree, tree, &least); /* has no negative */
    check_failed(c, "key 'tree': count beyond 64 bits");

    c = open_combine(&plan);
    emit(c, tree, tree, &most);
    df_emit_keys(combine_emitter(c), &key, 1);
    check_apart(c);

    c = open_combine(&plan);
    emit(c, tree, tree, &least);
    combine_sign(c, -1);
    df_emit_keys(combine_emitter(c), &key, 1);
    check_apart(c);

    c = open_combine(&two);
    emit(c, tree, bytes_of_string("leaf"), second);
    emit(c, tree, bytes_of_string("leaf"), second);
    check_apart(c);
}

static void test_failures_stick(void **state)
{
    struct combine_plan plan = plan_of(false, 1, 1, MIB);
    static const int64_t one = 1;
    uint8_t *data = malloc(DF_KEY_MAX + 1 + DF_SLACK);
    struct df_key key = { data, DF_KEY_MAX + 1 };
    struct combine *c = open_combine(&plan);

    (void)state;
    assert_non_null(data);
    memset(data, 'x', DF_KEY_MAX + 1 + DF_SLACK);
    emit(c, bytes_of(data, DF_KEY_MAX), bytes_of(NULL, 0), &one);
    assert_int_equal(combine_emitter(c)->status, DF_OK);
    emit(c, bytes_of(data, DF_KEY_MAX + 1), bytes_of(NULL, 0), &one);
    emit(c, bytes_of_string("short"), bytes_of(NULL, 0), &one);
    assert_int_equal(combine_stats(c).pairs, 2);
    check_failed(c, "65537 bytes long, more than 65536");

    c = open_combine(&plan);
    df_emit_keys(combine_emitter(c), &key, 1);
    check_failed(c, "key 'xxxxxxxx");

    plan.shape.has_element = true;
    c = open_combine(&plan);
    emit(c, bytes_of_string("k"), bytes_of(data, DF_KEY_MAX + 1), &one);
    check_failed(c, "element 'xxxxxxxx");
    free(data);
}

static void test_failure_set_by_a_mapper(void **state)
{
    struct combine_plan plan = plan_of(false, 1, 1, MIB);
    struct combine *c = open_combine(&plan);
    struct df_error err;

    (void)state;
    combine_emitter(c)->status = DF_SYSTEM;
    assert_int_equal(combine_status(c, &err), DF_SYSTEM);
    assert_string_equal(err.text, "out of memory");
    combine_close(c);
}

static void test_sample_keeps_keys_by_hash(void **state)
{
    enum { KEYS = 5000, SAMPLE = 7 };
    static const int64_t one = 1;

    (void)state;
    for (int by_list = 0; by_list < 2; by_list++) {
        struct combine_plan plan = plan_of(false, 1, 2, MIB);
        struct oracle o = { .shape = plan.shape, .parts = plan.parts };
        struct combine *c;
        uint8_t room[20 + DF_SLACK];

        plan.sample = SAMPLE;
        c = open_combine(&plan);
        for (uint64_t i = 0; i < KEYS; i++) {
            struct bytes k = bytes_of(room, 20);
            struct df_key key = { room, 20 };

            number_key(room, 20, i);
            if (by_list) {
                df_emit_keys(combine_emitter(c), &key, 1);
            } else {
                emit(c, k, k, &one);
            }
            if (row_key_hash(k) % SAMPLE == 0) {
                oracle_add(&o, 1, k, k, &one);
            }
        }
        oracle_settle(&o);
        finish(c);
        assert_in_range(check(c, &o), KEYS / SAMPLE / 2, KEYS / SAMPLE * 2);
        assert_int_equal(combine_stats(c).pairs, KEYS);
        combine_close(c);
        oracle_fini(&o);
    }
}

/* Emits distinct keys of `len` bytes. */
static void emit_numbers(struct combine *c, uint64_t n, size_t len)
{
    uint8_t room[256];

    for (uint64_t i = 0; i < n; i++) {
        struct df_key key = { room, len };

        number_key(room, len, i);
        df_emit_keys(combine_emitter(c), &key, 1);
    }
}

static void test_no_spill_directory(void **state)
{
    struct combine_plan plan = plan_of(false, 1, 1, MIB);
    struct combine *c;
    struct df_error err;

    (void)state;
    plan.spill_directory = "/nowhere/at/all";
    c = open_combine(&plan);
    emit_numbers(c, 100000, 20);
    assert_int_equal(combine_status(c, &err), DF_SYSTEM);
    assert_string_equal(err.text, "/nowhere/at/all: making a spill file: "
                                  "No such file or directory");
    combine_close(c);
}

/* A file that may not grow stands for a full disk. */
static struct rlimit limit_files(rlim_t bytes)
{
    struct rlimit old;
    struct rlimit tight;

    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = old;
    tight.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    return old;
}

static void test_spill_cannot_be_written(void **state)
{
    struct combine_plan plan = plan_of(false, 1, 1, MIB);
    struct combine *c = open_combine(&plan);
    struct rlimit old = limit_files(100000);
    struct df_error err;
    enum df_status status;

    (void)state;
    emit_numbers(c, 100000, 20);
    status = combine_status(c, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, DF_SYSTEM);
    assert_non_null(strstr(err.text, directory));
    assert_non_null(strstr(err.text, "writing a run: File too large"));
    combine_close(c);
}

/* Keys wait for their places when a long one needs a spill, which fails: then
 * the table is none any more, and they are not looked for. */
static void test_keys_that_wait_for_a_spill_that_fails(void **state)
{
    enum { SHORT = 9, LEN = 20, LONG = 4000 };
    struct combine_plan plan = plan_of(false, 1, 2, MIB);
    static uint8_t room[SHORT * LEN + LONG + DF_SLACK];
    struct rlimit old = limit_files(10000);
    struct df_key keys[SHORT + 1];
    struct combine *c = open_combine(&plan);
    struct df_error err;

    (void)state;
    memset(room, 'w', sizeof room);
    for (uint64_t n = 0; combine_status(c, &err) == DF_OK; n++) {
        assert_true(n < MIB);
        for (unsigned i = 0; i <= SHORT; i++) {
            uint8_t *key = room + (size_t)i * LEN;

            number_key(key, 8, n * (SHORT + 1) + i);
            keys[i].data = key;
            keys[i].len = i == SHORT ? LONG : LEN - i;
        }
        df_emit_keys(combine_emitter(c), keys, SHORT + 1);
    }
    df_emit_keys(combine_emitter(c), keys, SHORT + 1);
    combine_settle(c);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(combine_finish(c, &err), DF_SYSTEM);
    assert_non_null(strstr(err.text, "writing a run: File too large"));
    combine_close(c);
}

static unsigned open_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    unsigned n = 0;

    assert_non_null(d);
    while (readdir(d) != NULL) {
        n++;
    }
    (void)closedir(d);
    return n;
}

static void test_one_descriptor_and_no_name(void **state)
{
    struct combine_plan plan = plan_of(false, 1, 5, MIB);
    struct combine *c = open_combine(&plan);
    unsigned before = open_descriptors();

    (void)state;
    emit_numbers(c, 100000, 20);
    finish(c);
    assert_true(combine_stats(c).spills > 3);
    assert_int_equal(open_descriptors(), before + 1);
    assert_int_equal(rmdir(directory), 0); /* nothing is in it */
    assert_int_equal(mkdir(directory, 0700), 0);
    combine_close(c);
    assert_int_equal(open_descriptors(), before);
}

/* gcc and clang tell it differently. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#elif defined(__has_feature)
#define IS_SANITIZED                                                          \
    (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define IS_SANITIZED false
#endif

static long peak_kib(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* 100 MiB of distinct keys through 8 MiB; exits with the MiB that the
 * process grew by. */
static _Noreturn void grow_and_exit(void)
{
    enum { LEN = 64 };
    struct combine_plan plan = plan_of(false, 1, 3, (size_t)8 * MIB);
    long before = peak_kib();
    struct combine *c = open_combine(&plan);
    uint64_t rows = 0;
    struct df_error err;

    emit_numbers(c, (size_t)100 * MIB / LEN, LEN);
    if (combine_finish(c, &err) != DF_OK) {
        _exit(255);
    }
    for (unsigned p = 0; p < plan.parts; p++) {
        const struct row *row = NULL;
        struct reduce *r;

        if (reduce_open(&r, &c, 1, p, (size_t)8 * MIB, &err) != DF_OK) {
            _exit(255);
        }
        while (reduce_run(r)->next(reduce_run(r), &row, &err) == DF_OK &&
               row != NULL) {
            rows++;
        }
        reduce_close(r);
    }
    combine_close(c);
    _exit(rows == (size_t)100 * MIB / LEN ? (int)((peak_kib() - before) / 1024)
                                          : 255);
}

static void test_memory_stays_in_the_budget(void **state)
{
    pid_t child;
    int how;

    (void)state;
    if (IS_SANITIZED) {
        skip(); /* sanitizers need memory of their own */
    }
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        grow_and_exit();
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    print_message("grew by %d MiB\n", WEXITSTATUS(how));
    assert_in_range(WEXITSTATUS(how), 2, 8 + 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_pairs),
        cmocka_unit_test(test_longest_rows_fit_the_smallest_budget),
        cmocka_unit_test(test_key_lists),
        cmocka_unit_test(test_keys_that_differ_in_length),
        cmocka_unit_test(test_hot_keys_and_cold_ones),
        cmocka_unit_test(test_spills_dozens_of_times),
        cmocka_unit_test(test_what_cancels_is_gone),
        cmocka_unit_test(test_lists_of_pairs),
        cmocka_unit_test(test_sums_beyond_64_bits_are_apart),
        cmocka_unit_test(test_failures_stick),
        cmocka_unit_test(test_failure_set_by_a_mapper),
        cmocka_unit_test(test_sample_keeps_keys_by_hash),
        cmocka_unit_test(test_no_spill_directory),
        cmocka_unit_test(test_keys_that_wait_for_a_spill_that_fails),
        cmocka_unit_test(test_spill_cannot_be_written),
        cmocka_unit_test(test_one_descriptor_and_no_name),
        cmocka_unit_test(test_memory_stays_in_the_budget),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
