/* cli/bench_*: lists of sizes and methods, the report in words, as a table
 * and as CSV, and the files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/bench_files.h"
#include "cli/bench_lists.h"
#include "cli/bench_text.h"
#include "workplace.h"

#define LENGTH(a) (sizeof(a) / sizeof(a)[0])

enum { REPEATS = 3, METHODS = 3, SIZES_MAX = 4 };

static struct df_error err;

/* ---- lists ---- */

static void sizes(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        double percents[4];
    } good[] = {
        { "5", 1, { 5 } },
        { "0.01,100", 2, { 0.01, 100 } },
        { "10,1,5,1,10.0", 3, { 1, 5, 10 } },
    };
    static const char *const bad[] = {
        "",    ",",  "1,", "0",  "0.0", "-1",  "100.1", "1e1",
        "nan", "1.", ".5", "5%", " 5",  "0x5", "1,,2",  "0.000000000000000001"
    };
    struct bench_lists lists;

    (void)state;
    for (size_t i = 0; i < LENGTH(good); i++) {
        assert_int_equal(bench_lists_parse(&lists, good[i].text, NULL, &err),
                         DF_OK);
        assert_int_equal(lists.percent_count, good[i].n);
        for (size_t k = 0; k < good[i].n; k++) {
            assert_true(lists.percents[k] == good[i].percents[k]);
        }
    }
    for (size_t i = 0; i < LENGTH(bad); i++) {
        assert_int_equal(bench_lists_parse(&lists, bad[i], NULL, &err),
                         DF_USAGE);
        assert_non_null(strstr(err.text, "--sizes"));
    }
}

static void sizes_limit(void **state)
{
    struct bench_lists lists;
    struct buf text = { 0 };

    (void)state;
    for (int i = 1; i <= DELTAS_MAX; i++) {
        assert_true(buf_printf(&text, "%s%d", i == 1 ? "" : ",", i));
    }
    assert_true(buf_append_byte(&text, 0));
    assert_int_equal(
        bench_lists_parse(&lists, (const char *)text.data, NULL, &err), DF_OK);
    assert_int_equal(lists.percent_count, DELTAS_MAX);
    text.len--;
    assert_true(buf_append_string(&text, ",99"));
    assert_true(buf_append_byte(&text, 0));
    assert_int_equal(
        bench_lists_parse(&lists, (const char *)text.data, NULL, &err),
        DF_USAGE);
    buf_fini(&text);
}

static void methods(void **state)
{
    struct bench_lists lists;

    (void)state;
    assert_int_equal(bench_lists_parse(&lists, "1", NULL, &err), DF_OK);
    for (size_t i = 0; crossover_method(i) != NULL; i++) {
        assert_true(i < CROSSOVER_METHODS_MAX);
        assert_true(lists.methods[i]);
    }
    assert_int_equal(bench_lists_parse(&lists, "1", "overwrite", &err), DF_OK);
    assert_false(lists.methods[1]);
    assert_true(lists.methods[2]);
    assert_int_equal(bench_lists_parse(&lists, "1", "increment,over", &err),
                     DF_USAGE);
    assert_non_null(strstr(err.text, "'over' is none of full, increment"));
    assert_int_equal(bench_lists_parse(&lists, "1", "", &err), DF_USAGE);
}

/* ---- a report made up ---- */

/* Medians in milliseconds, by size and method; quartiles a tenth around. */
struct made {
    size_t sizes;
    double percents[SIZES_MAX];
    double ms[SIZES_MAX][METHODS];
};

static struct crossover_size room_for_sizes[SIZES_MAX];
static struct crossover_sample room_for_samples[SIZES_MAX * METHODS * REPEATS];

static struct crossover_report report_of(const struct made *m)
{
    struct crossover_report r = { .documents = 1234,
                                  .bytes = 5000000,
                                  .rows = 98765,
                                  .view_bytes = 1000000,
                                  .methods = { 0, 1, 2 },
                                  .method_count = METHODS,
                                  .repeats = REPEATS,
                                  .sizes = room_for_sizes,
                                  .size_count = m->sizes,
                                  .samples = room_for_samples };

    for (size_t i = 0; i < m->sizes; i++) {
        r.sizes[i] = (struct crossover_size){ .asked = m->percents[i],
                                              .percent = m->percents[i],
                                              .deleted = 3,
                                              .inserted = 1000 + i,
                                              .bytes = 48000,
                                              .rows = 98000 };
        for (size_t k = 0; k < METHODS; k++) {
            struct crossover_sample *s = crossover_samples(&r, i, k);

            for (unsigned n = 0; n < REPEATS; n++) {
                s[n].us = m->ms[i][k] * 1000 * (0.8 + 0.2 * n);
                s[n].method = crossover_method(k)->method;
            }
        }
    }
    return r;
}

static void sentences(void **state)
{
    static const struct {
        struct made made;
        const char *wanted; /* increment beside full */
    } cases[] = {
        { { 2, { 0.01, 50 }, { { 1000, 10, 1 }, { 1000, 500, 1 } } },
          "increment is faster than full recomputation at every size measured "
          "(2.0 to 100 times)" },
        { { 2, { 0.01, 50 }, { { 10, 1000, 1 }, { 10, 1000, 1 } } },
          "increment is slower than full recomputation at every size measured "
          "(100 times)" },
        { { 2, { 1, 50 }, { { 10, 10, 1 }, { 10, 11, 1 } } },
          "increment and full recomputation cannot be told apart at any size "
          "measured" },
        { { 3, { 1, 10, 50 }, { { 9, 1, 1 }, { 9, 3, 1 }, { 9, 9, 1 } } },
          "increment is faster than full recomputation up to 10 % (3.0 to 9.0 "
          "times); elsewhere the two cannot be told apart" },
        { { 3, { 1, 10, 50 }, { { 9, 9, 1 }, { 9, 3, 1 }, { 9, 1, 1 } } },
          "increment is faster than full recomputation from 10 % on (3.0 to "
          "9.0 times); elsewhere the two cannot be told apart" },
        { { 3, { 1, 10, 50 }, { { 9, 9, 1 }, { 9, 3, 1 }, { 9, 9, 1 } } },
          "increment is faster than full recomputation from 10 % to 10 % (3.0 "
          "times); elsewhere the two cannot be told apart" },
        { { 2, { 1, 100 }, { { 10, 1, 1 }, { 10, 100, 1 } } },
          "increment is faster than full recomputation up to 10 % (measured: "
          "1 % and 100 %), slower beyond" },
        { { 3,
            { 0.01, 1, 100 },
            { { 1, 10, 1 }, { 10, 1, 1 }, { 1, 10, 1 } } },
          "increment is slower than full recomputation up to 0.1 % (measured: "
          "0.01 % and 1 %), faster up to 10 % (measured: 1 % and 100 %), "
          "slower beyond" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct crossover_report r = report_of(&cases[i].made);
        struct buf text = { 0 };

        assert_true(bench_sentence(&r, 1, 0, &text));
        assert_true(buf_append_byte(&text, 0));
        assert_string_equal((char *)text.data, cases[i].wanted);
        buf_fini(&text);
    }
}

static const struct made usual = {
    3,
    { 0.01, 1, 100 },
    { { 800, 6, 90 }, { 800, 90, 100 }, { 810, 2000, 400 } },
};

static const char usual_table[] =
    "documents  a\\nb: 1,234 in the base, 5.0 MB\n"
    "view       wordcount 1 case=lower\n"
    "           98,765 rows, 1.0 MB, 2 shards\n"
    "measured   3 times each, in turns, after a warm-up; seed 7\n"
    "\n"
    "DELTA                FULL  INCREMENT  OVERWRITE\n"
    "0.01 % 48 kB       800 ms    *6.0 ms      90 ms\n"
    "-3 +1,000        720..880   5.4..6.6     81..99\n"
    "1 % 48 kB          800 ms     *90 ms    *100 ms\n"
    "-3 +1,001        720..880     81..99    90..110\n"
    "100 % 48 kB        810 ms      2.0 s    *400 ms\n"
    "-3 +1,002        729..891 1.80..2.20   360..440\n"
    "* the fastest, and what cannot be told apart from it; second lines: "
    "quartiles\n"
    "\n"
    "increment was installed by overwrite at 100 % (1 of 3)\n"
    "increment is faster than full recomputation up to 26 % (measured: 1 % "
    "and 100 %), slower beyond\n"
    "overwrite is faster than full recomputation at every size measured (2.0 "
    "to 8.9 times)\n"
    "increment is faster than overwrite up to 1.3 % (measured: 0.01 % and "
    "100 %), slower beyond\n";

static struct bench_subject subject_of(const struct crossover_report *r)
{
    return (struct bench_subject){ .report = r,
                                   .documents = "a\nb",
                                   .job = "wordcount",
                                   .definition = "wordcount 1 case=lower",
                                   .shards = 2,
                                   .seed = 7 };
}

/* What bench_print wrote, with a NUL behind; to be freed. */
static char *printed(const struct bench_subject *s)
{
    static struct output out;
    FILE *file = tmpfile();
    char *text = calloc(1, 10000);

    assert_non_null(file);
    assert_non_null(text);
    output_init(&out, fileno(file));
    assert_int_equal(bench_print(s, &out, &err), DF_OK);
    assert_int_equal(output_finish(&out, &err), DF_OK);
    assert_true(pread(fileno(file), text, 9999, 0) > 0);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void table(void **state)
{
    struct crossover_report r = report_of(&usual);
    struct bench_subject s = subject_of(&r);
    char *text;

    (void)state;
    crossover_samples(&r, 2, 1)[2].method = INSTALL_OVERWRITE;
    text = printed(&s);
    assert_string_equal(text, usual_table);
    free(text);
}

/* What is too long for the first column takes from the next. */
static void long_sizes(void **state)
{
    struct crossover_report r = report_of(&usual);
    struct bench_subject s = subject_of(&r);
    char *text;

    (void)state;
    r.sizes[0].deleted = 123456;
    r.sizes[0].inserted = 123456;
    text = printed(&s);
    assert_non_null(
        strstr(text, "\n-123,456 +123,456 720..880   5.4..6.6     81..99\n"));
    free(text);
}

static void ranges(void **state)
{
    static const struct {
        struct spread spread;
        const char *text;
    } told[] = {
        { { .median = 5000, .low = 4120, .high = 6080 }, "4.1..6.1" },
        { { .median = 500000, .low = 412000, .high = 608000 }, "412..608" },
        { { .median = 5e6, .low = 4.126e6, .high = 6.08e6 }, "4.13..6.08" },
        { { .median = 5e7, .low = 4.126e7, .high = 6.08e7 }, "41.3..60.8" },
        { { .median = 5e8, .low = 4.12e8, .high = 6.08e8 }, "412..608 s" },
    };
    char room[BENCH_TEXT];

    (void)state;
    for (size_t i = 0; i < LENGTH(told); i++) {
        assert_string_equal(bench_range(room, &told[i].spread), told[i].text);
    }
}

/* One repeat tells no spread, and nothing is said of which is faster. */
static void one_repeat(void **state)
{
    struct crossover_report r = report_of(&usual);
    struct bench_subject s = subject_of(&r);
    char *text;

    (void)state;
    r.repeats = 1;
    text = printed(&s);
    assert_non_null(strstr(text, "needs at least 3 repeats"));
    assert_null(strstr(text, "is faster than"));
    free(text);
}

static void csv(void **state)
{
    struct crossover_report r = report_of(&usual);
    struct bench_subject s = subject_of(&r);
    struct buf text = { 0 };
    size_t lines = 0;

    (void)state;
    assert_true(bench_csv(&s, &text));
    assert_true(buf_append_byte(&text, 0));
    for (size_t i = 0; i < text.len; i++) {
        lines += text.data[i] == '\n';
    }
    assert_int_equal(lines, 1 + 3 * METHODS * REPEATS);
    assert_non_null(
        strstr((char *)text.data,
               "\n0.01,0.01,3,1000,48000,increment,increment,2,0.006000,98000,"
               "00000000000000000000000000000000\n"));
    buf_fini(&text);
}

/* The crossings of the report are marks of the chart. */
static void chart(void **state)
{
    struct crossover_report r = report_of(&usual);
    struct bench_subject s = subject_of(&r);
    struct buf text = { 0 };

    (void)state;
    s.documents = "/a/rather/long/way/to/the/documents/called/<&\"corpus";
    assert_true(bench_svg(&s, &text));
    assert_true(buf_append_byte(&text, 0));
    assert_non_null(strstr((char *)text.data, "increment = full: 26 %"));
    assert_non_null(strstr((char *)text.data, "increment = overwrite: 1.3 %"));
    assert_null(strstr((char *)text.data, "overwrite = full"));
    assert_non_null(strstr((char *)text.data, "documents/called/&lt;&amp;"));
    assert_null(strstr((char *)text.data, "/a/rather"));
    buf_fini(&text);
}

/* ---- files ---- */

static void put_file(const char *root, const char *name, const char *text)
{
    input_tree_text(root, name, text);
}

static void files(void **state)
{
    char root[INPUT_TREE_PATH];
    struct crossover_report r = report_of(&usual);
    struct bench_subject s = subject_of(&r);
    struct bench_files f;
    char *prefix;

    (void)state;
    (void)workplace_new(root);
    prefix = strdup(input_tree_path(root, "out"));
    assert_non_null(prefix);
    assert_int_equal(bench_files_init(&f, prefix, false, &err), DF_OK);
    assert_string_equal(f.directory, root);
    assert_int_equal(bench_files_write(&f, &s, &err), DF_OK);
    bench_files_fini(&f);
    assert_int_equal(access(input_tree_path(root, "out.csv"), R_OK), 0);
    assert_int_equal(access(input_tree_path(root, "out.csv.tmp"), F_OK), -1);
    assert_int_equal(unlink(input_tree_path(root, "out.csv")), 0);
    assert_int_equal(bench_files_init(&f, prefix, false, &err), DF_USAGE);
    assert_non_null(strstr(err.text, "out.svg exists"));
    bench_files_fini(&f);
    put_file(root, "out.csv", "old");
    assert_int_equal(bench_files_init(&f, prefix, true, &err), DF_OK);
    assert_int_equal(bench_files_write(&f, &s, &err), DF_OK);
    bench_files_fini(&f);
    free(prefix);
}

static void no_place_for_files(void **state)
{
    struct bench_files f;

    (void)state;
    assert_int_equal(bench_files_init(&f, "no/such/place", false, &err),
                     DF_SYSTEM);
    bench_files_fini(&f);
    assert_int_equal(bench_files_init(&f, "/tmp/", false, &err), DF_USAGE);
    bench_files_fini(&f);
    assert_int_equal(bench_files_init(&f, "", false, &err), DF_USAGE);
    bench_files_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),   cmocka_unit_test(sizes_limit),
        cmocka_unit_test(methods), cmocka_unit_test(sentences),
        cmocka_unit_test(table),   cmocka_unit_test(long_sizes),
        cmocka_unit_test(ranges),  cmocka_unit_test(one_repeat),
        cmocka_unit_test(csv),     cmocka_unit_test(chart),
        cmocka_unit_test(files),   cmocka_unit_test(no_place_for_files),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
