/*
 * Views as people read them, where jobs show their own: which key of dedup a
 * text means, and that running out of memory is never taken for anything else.
 * realloc is this suite's own (the build wraps it): all that grows here is a
 * buf.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "jobs/aggregate/aggregate.h"
#include "jobs/dedup/dedup.h"
#include "jobs/dedup/present.h"
#include "jobs/registry.h"

/* A key of two columns. */
#define TEXT "\"a\\\\n\"\t7"

/* Calls until one fails; below 0: none does. */
static int countdown = -1;

void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size)
{
    if (countdown == 0 || (countdown > 0 && --countdown == 0)) {
        return NULL;
    }
    return __real_realloc(p, size);
}

struct subject {
    struct jobspec spec;
    void *presenter;
};

static void subject_open(struct subject *s, const struct df_job *job,
                         const char *const *given, size_t n)
{
    struct df_error err = { { 0 } };

    assert_int_equal(jobspec_open(&s->spec, job, given, n, &err), DF_OK);
    assert_int_equal(job->present->open(s->spec.config, &s->presenter, &err),
                     DF_OK);
}

static void subject_close(struct subject *s)
{
    s->spec.job->present->close(s->presenter);
    jobspec_close(&s->spec);
}

/* The row key that a text means, behind its first byte; its length, or 0 and
 * why. */
static size_t found(struct subject *s, const char *text, const char **key,
                    struct df_error *err)
{
    const uint8_t *row_key;
    size_t len;
    enum df_status status = dedup_present.find(
        s->presenter, text, strlen(text), &row_key, &len, err);

    if (status != DF_OK) {
        assert_int_equal(status, DF_USAGE);
        return 0;
    }
    *key = (const char *)row_key + 1;
    return len - 1;
}

static void a_text_means_a_key(void **state)
{
    static const char *const given[] = { "key=id", "format=ndjson" };
    static const struct {
        const char *text;
        const char *key; /* NULL: none, and why */
        const char *why;
    } cases[] = {
        { "a", "ta", NULL },
        { "", "t", NULL },
        { "7.0", "n7", NULL },
        { "\"7\"", "t7", NULL },
        { "true", "y", NULL },
        { "[1]", "j[1]", NULL },
        { "a\\tb", "ta\tb", NULL },
        { "\"\\ud83d\\ude00\"", "t\xf0\x9f\x98\x80", NULL },
        { "\"\\\\ud83d\\\\ude00\"", "t\xf0\x9f\x98\x80", NULL },
        { "\"\\\\ud83d\"", NULL, "is no JSON string" },
        { "\"\\\\ude00\\\\ud83d\"", NULL, "is no JSON string" },
        { "\"a", NULL, "is no JSON string" },
        { "\"", NULL, "is no JSON string" },
        { "\"a\"b\"", NULL, "is no JSON string" },
        { "a\\", NULL, "a backslash begins" },
        { "a\\b", NULL, "a backslash begins" },
        { "\"\\ud83d\"", NULL, "is no JSON string" },
        { "\\N", NULL, "is null" },
        { "a\tb", NULL, "a key of this view has 1 column;" },
    };
    struct subject s;

    (void)state;
    subject_open(&s, &dedup_job, given, 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct df_error err = { { 0 } };
        const char *key = NULL;
        size_t len = found(&s, cases[i].text, &key, &err);

        if (cases[i].key != NULL) {
            if (!bytes_equal(bytes_of(key, len),
                             bytes_of_string(cases[i].key))) {
                fail_msg("%s: %s", cases[i].text, err.text);
            }
        } else if (len > 0 || strstr(err.text, cases[i].why) == NULL) {
            fail_msg("%s: '%s'", cases[i].text, err.text);
        }
    }
    subject_close(&s);
}

/* All that a reader calls, with memory that ends at the n-th call: false once
 * it does not. */
static bool reads_without_memory(struct subject *s, struct bytes key, int n)
{
    const struct df_present *present = s->spec.job->present;
    const int64_t values[DF_COMPONENTS_MAX] = { 1, 1, 5 };
    const struct df_cell *cells = NULL;
    const uint8_t *row_key;
    size_t len;
    struct df_error err = { { 0 } };
    void *presenter = NULL;
    enum df_status status = present->open(s->spec.config, &presenter, &err);
    bool ended;

    assert_int_equal(status, DF_OK);
    countdown = n;
    assert_true(present->key(presenter, key.data, key.len));
    status = present->row(presenter, NULL, 0, values);
    if (status == DF_OK) {
        status = present->cells(presenter, &cells);
    }
    if (status == DF_OK) {
        status =
            present->find(presenter, TEXT, strlen(TEXT), &row_key, &len, &err);
    }
    ended = countdown == 0;
    countdown = -1;
    assert_int_equal(status, ended ? DF_SYSTEM : DF_OK);
    present->close(presenter);
    return ended;
}

/* The key, its cells, what is sought: each takes memory. */
static void check_memory(const struct df_job *job, const char *const *given,
                         size_t given_count)
{
    const uint8_t *data;
    struct buf key = { 0 };
    struct df_error err = { { 0 } };
    struct subject s;
    size_t len;
    int n = 1;

    subject_open(&s, job, given, given_count);
    assert_int_equal(
        job->present->find(s.presenter, TEXT, strlen(TEXT), &data, &len, &err),
        DF_OK);
    assert_true(buf_append(&key, data, len));
    while (reads_without_memory(&s, buf_bytes(&key), n)) {
        n++;
    }
    assert_in_range(n, 4, 100);
    buf_fini(&key);
    subject_close(&s);
}

static void without_memory_they_say_so(void **state)
{
    static const char *const of_dedup[] = { "key=id,n", "format=ndjson" };
    static const char *const of_aggregate[] = { "by=id,n", "count", "sum=v",
                                                "format=ndjson" };

    (void)state;
    check_memory(&dedup_job, of_dedup, 2);
    check_memory(&aggregate_job, of_aggregate, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_means_a_key),
        cmocka_unit_test(without_memory_they_say_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
