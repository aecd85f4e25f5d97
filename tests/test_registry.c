#include "jobs/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "job_conformance.h"

static void jobs_are_in_order_of_name(void **state)
{
    (void)state;
    assert_non_null(registry_job(0));
    for (size_t i = 1; registry_job(i) != NULL; i++) {
        assert_true(strcmp(registry_job(i - 1)->name, registry_job(i)->name) <
                    0);
    }
    assert_null(registry_job(1000));
}

static void jobs_are_found_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; registry_job(i) != NULL; i++) {
        assert_ptr_equal(registry_find(registry_job(i)->name),
                         registry_job(i));
    }
    assert_null(registry_find("wordcoun"));
    assert_null(registry_find(""));
}

/* The definition that options give, or the error. */
static const char *defined(struct buf *out, const struct df_job *job,
                           const char *const *given, size_t n)
{
    struct jobspec spec;
    struct df_error err;

    buf_reset(out);
    if (jobspec_open(&spec, job, given, n, &err) == DF_OK) {
        assert_true(jobspec_definition(&spec, out));
        jobspec_close(&spec);
    } else {
        assert_true(buf_append_string(out, err.text));
        assert_null(spec.values);
    }
    assert_true(buf_append_byte(out, '\0'));
    return (const char *)out->data;
}

static void options_are_checked_and_canonical(void **state)
{
    static const struct {
        const char *given[3];
        const char *outcome;
    } cases[] = {
        { { NULL }, "wordcount 1 case=lower ngram=1 tokenizer=unicode" },
        { { "tokenizer=ascii", "case=keep", "ngram=8" },
          "wordcount 1 case=keep ngram=8 tokenizer=ascii" },
        { { "case=fold", "tokenizer=whitespace" },
          "wordcount 1 case=fold ngram=1 tokenizer=whitespace" },
        { { "case=upper" },
          "option 'case': 'upper' is not one of lower|fold|keep" },
        { { "case=" }, "option 'case': '' is not one of lower|fold|keep" },
        { { "ngram=02" }, "option 'ngram': '02' is not one of 1..8" },
        { { "ngram=0" }, "option 'ngram': '0' is not one of 1..8" },
        { { "ngram=9" }, "option 'ngram': '9' is not one of 1..8" },
        { { "ngram=1 " }, "option 'ngram': '1 ' is not one of 1..8" },
        { { "tokenizer=a=b" },
          "option 'tokenizer': 'a=b' is not one of "
          "unicode|ascii|whitespace" },
        { { "lang=de" },
          "unknown option 'lang': wordcount has case, ngram, tokenizer, "
          "format, content, id, window, slide, interval, having, keep, base" },
        { { "=x" },
          "unknown option '': wordcount has case, ngram, tokenizer, "
          "format, content, id, window, slide, interval, having, keep, base" },
        { { "case" }, "'case' is not of the form NAME=VALUE" },
        { { "case=keep", "case=keep" }, "option 'case' is given twice" },
    };
    struct buf out = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = 0;

        while (n < 3 && cases[i].given[n] != NULL) {
            n++;
        }
        assert_string_equal(
            defined(&out, registry_find("wordcount"), cases[i].given, n),
            cases[i].outcome);
    }
    buf_fini(&out);
}

/* ---- what files hold ---- */

static void formats_of_documents(void **state)
{
    static const struct {
        const char *given[3];
        const char *outcome;
    } cases[] = {
        { { "format=document" },
          "wordcount 1 case=lower ngram=1 tokenizer=unicode" },
        { { "format=lines" },
          "wordcount 1 case=lower format=lines ngram=1 tokenizer=unicode" },
        { { "format=csv", "content=the text" },
          "wordcount 1 case=lower content=the\\x20text format=csv ngram=1 "
          "tokenizer=unicode" },
        { { "format=ndjson", "content=c", "id=i" },
          "wordcount 1 case=lower content=c format=ndjson id=i ngram=1 "
          "tokenizer=unicode" },
        { { "format=CSV" },
          "option 'format': 'CSV' is not one of "
          "document|lines|csv|tsv|ndjson" },
        { { "format=tsv" },
          "option 'content': format=tsv needs it, to name the column with "
          "the text" },
        { { "format=lines", "content=line" },
          "option 'content': format=lines has no columns" },
        { { "id=x" }, "option 'id': format=document has no columns" },
    };
    struct buf out = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = 0;

        while (n < 3 && cases[i].given[n] != NULL) {
            n++;
        }
        assert_string_equal(
            defined(&out, registry_find("wordcount"), cases[i].given, n),
            cases[i].outcome);
    }
    buf_fini(&out);
}

/* A job over records, which asks for two columns. */
static const char *const record_columns[] = { "line", "amount" };
static size_t columns_asked;

static const struct df_columns *record_columns_of(const void *config)
{
    static struct df_columns columns = { .names = record_columns };

    (void)config;
    columns.n = columns_asked;
    return &columns;
}

static enum df_status record_configure(const struct df_settings *settings,
                                       void **config, struct df_error *err)
{
    (void)settings;
    (void)err;
    *config = NULL;
    return DF_OK;
}

static void formats_of_records(void **state)
{
    static const struct df_option none[] = { { 0 } };
    static const char *const components[] = { "n", NULL };
    static const struct df_job job = {
        .name = "records",
        .version = 1,
        .options = none,
        .components = components,
        .configure = record_configure,
        .columns = record_columns_of,
    };
    static const struct {
        const char *given[1];
        const char *outcome;
        size_t columns;
    } cases[] = {
        { { NULL }, "records 1", 2 },
        { { "format=csv" }, "records 1", 2 },
        { { "format=tsv" }, "records 1 format=tsv", 2 },
        { { "format=lines" }, "records 1 format=lines", 1 },
        { { "format=lines" },
          "option 'format': lines have one column, 'line': there is no "
          "'amount'",
          2 },
        { { "format=document" },
          "option 'format': 'document' is not one of csv|tsv|ndjson|lines",
          2 },
        { { "content=x" },
          "unknown option 'content': records has format, window, slide, "
          "interval, having, keep, base",
          2 },
    };
    struct buf out = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        columns_asked = cases[i].columns;
        assert_string_equal(defined(&out, &job, cases[i].given,
                                    cases[i].given[0] == NULL ? 0 : 1),
                            cases[i].outcome);
    }
    buf_fini(&out);
}

/* A job whose values may be anything, to see definitions tell them apart. */
static enum df_status any_configure(const struct df_settings *settings,
                                    void **config, struct df_error *err)
{
    (void)settings;
    (void)err;
    *config = NULL;
    return DF_OK;
}

static void definitions_are_unambiguous(void **state)
{
    static const struct df_option options[] = {
        { .name = "b", .initial = "", .values = "any", .help = "" },
        { .name = "a", .initial = "", .values = "any", .help = "" },
        { 0 },
    };
    static const char *const components[] = { "count", NULL };
    static const struct df_job job = { .name = "any",
                                       .version = 3,
                                       .options = options,
                                       .components = components,
                                       .configure = any_configure };
    static const char *const blank[] = { "b=x a=\\y\n", "a=\xc3\xa9" };
    struct buf out = { 0 };

    (void)state;
    assert_string_equal(defined(&out, &job, NULL, 0), "any 3");
    assert_string_equal(defined(&out, &job, blank, 2),
                        "any 3 a=\xc3\xa9 b=x\\x20a=\\x5Cy\\x0A");
    buf_fini(&out);
}

static void closing_is_safe_on_zeroed_memory(void **state)
{
    struct jobspec spec = { 0 };

    (void)state;
    jobspec_close(&spec);
}

static void jobs_conform(void **state)
{
    (void)state;
    for (size_t i = 0; registry_job(i) != NULL; i++) {
        job_conformance(registry_job(i), NULL, 0, (uint64_t)time(NULL));
    }
}

static void wordcount_conforms_with_each_option(void **state)
{
    static const char *const given[][3] = {
        { "tokenizer=ascii", "case=lower", "ngram=1" },
        { "tokenizer=ascii", "case=keep", "ngram=3" },
        { "tokenizer=whitespace", "case=lower", "ngram=1" },
        { "tokenizer=whitespace", "case=keep", "ngram=2" },
        { "tokenizer=unicode", "case=fold", "ngram=1" },
        { "tokenizer=unicode", "case=keep", "ngram=1" },
        { "tokenizer=unicode", "case=lower", "ngram=8" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        job_conformance(registry_find("wordcount"), given[i], 3,
                        (uint64_t)time(NULL));
    }
}

static void aggregate_conforms_with_each_option(void **state)
{
    static const char *const given[][4] = {
        { "by=a", "count=b", "sum=b,c:3", "avg=c" },
        { "by=a,b", "count", "min=c", "max=c" },
        { "by=a", "distinct=a,b", "top=3:b", "avg=c" },
        { "by=c", "min=a:text", "max=b", "top=1:c" },
        { "by=a,b", "format=ndjson", "sum=c", "min=d" },
        { "by=a", "format=ndjson", "top=2:b", "distinct=c" },
        { "format=tsv", "count", "scale=0", "avg=x:1" },
        { "format=lines", "by=line", "count", "top=5:line" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        job_conformance(registry_find("aggregate"), given[i], 4,
                        (uint64_t)time(NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_in_order_of_name),
        cmocka_unit_test(jobs_are_found_by_name),
        cmocka_unit_test(options_are_checked_and_canonical),
        cmocka_unit_test(formats_of_documents),
        cmocka_unit_test(formats_of_records),
        cmocka_unit_test(definitions_are_unambiguous),
        cmocka_unit_test(closing_is_safe_on_zeroed_memory),
        cmocka_unit_test(jobs_conform),
        cmocka_unit_test(wordcount_conforms_with_each_option),
        cmocka_unit_test(aggregate_conforms_with_each_option),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
