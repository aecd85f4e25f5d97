/*
 * A dedup view as people read it: which key a text means, and that running
 * out of memory is never taken for anything else. realloc is this suite's
 * own (the build wraps it): all that grows here is a buf.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "jobs/dedup/dedup.h"
#include "jobs/dedup/present.h"
#include "jobs/registry.h"

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

static void subject_open(struct subject *s, const char *const *given, size_t n)
{
    struct df_error err = { { 0 } };

    assert_int_equal(jobspec_open(&s->spec, &dedup_job, given, n, &err),
                     DF_OK);
    assert_int_equal(dedup_present.open(s->spec.config, &s->presenter, &err),
                     DF_OK);
}

static void subject_close(struct subject *s)
{
    dedup_present.close(s->presenter);
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
    subject_open(&s, given, 2);
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
static bool reads_without_memory(struct subject *s, int n)
{
    static const uint8_t key[] = "\1t\5\"a\\\n7n\1"
                                 "7";
    const int64_t values[] = { 1 };
    const struct df_cell *cells;
    const uint8_t *row_key;
    size_t len;
    struct df_error err = { { 0 } };
    void *presenter = NULL;
    enum df_status status;
    bool ended;

    assert_int_equal(dedup_present.open(s->spec.config, &presenter, &err),
                     DF_OK);
    countdown = n;
    assert_true(dedup_present.key(presenter, key, sizeof key - 1));
    status = dedup_present.row(presenter, NULL, 0, values);
    if (status == DF_OK) {
        status = dedup_present.cells(presenter, &cells);
    }
    if (status == DF_OK) {
        status =
            dedup_present.find(presenter, "\"a\"\t7", 5, &row_key, &len, &err);
    }
    ended = countdown == 0;
    countdown = -1;
    assert_int_equal(status, ended ? DF_SYSTEM : DF_OK);
    dedup_present.close(presenter);
    return ended;
}

static void without_memory_it_says_so(void **state)
{
    static const char *const given[] = { "key=id,n", "format=ndjson" };
    struct subject s;
    int n = 1;

    (void)state;
    subject_open(&s, given, 2);
    while (reads_without_memory(&s, n)) {
        n++;
    }
    assert_in_range(n, 4, 100); /* the key, its cells, what is sought */
    subject_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_means_a_key),
        cmocka_unit_test(without_memory_it_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
