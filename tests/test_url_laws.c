/*
 * Random references: what must be true of them whatever the URL standard
 * says, and how long the longest may take.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "job_conformance.h"
#include "jobs/links/url.h"

enum {
    ROUNDS = 30000,
    LONG_US = 20000000 /* for 130 references of a mebibyte */
};

/* ---- random references ---- */

static const char *const pieces[] = {
    "/",
    "/",
    "/",
    ".",
    "..",
    "../",
    "./",
    "%2e",
    "%2E",
    ".%2e/",
    "a",
    "B",
    "x.html",
    "?",
    "#",
    "\\",
    "//",
    " ",
    "%",
    "%4",
    "%41",
    "%7e",
    "%zz",
    "%34",
    "%C3%a4",
    "\xc3\xa4",
    "\xff",
    "\xe2\x82",
    "\"",
    "<",
    "^",
    "{",
    "'",
    "[",
    "]",
    "|",
    "@",
    ":",
    ":80",
    ":443",
    "&=",
    "+",
    "\x01",
    "\x7f",
    "~",
    "https:",
    "http://",
    "//h",
    "mailto:",
    "1.2",
    "0x7f",
    "[::1]",
    "xn--4ca",
    "xn--a",
    ".c",
    "%2f",
    "%5C",
    "%00",
    "-",
    "_",
    "\xe2\x98\x83",
    "\xd7\x90",
    "\xe2\x80\x8d",
    "HTTPS://H.",
    "\xc3\x9f",
};

static const char *const bases[] = {
    "https://h/",
    "http://site.example/dir/sub/page.html?q=1",
    "https://u:p@xn--4ca:81/a//b/?",
    "http://[::1]/x",
};

static void make_reference(struct buf *href, uint64_t *random)
{
    static const char *const heads[] = { "http://", "//", "https:", "/" };
    uint64_t n = random_below(random, 9);

    buf_reset(href);
    if (random_below(random, 2) == 0) {
        assert_true(buf_append_string(href, heads[random_below(random, 4)]));
    }
    while (n-- > 0) {
        const char *piece =
            pieces[random_below(random, sizeof pieces / sizeof *pieces)];

        assert_true(buf_append_string(href, piece));
    }
}

/* ---- the laws ---- */

struct trial {
    struct url_base base;
    struct buf href;
    struct buf out; /* what href is; empty unless result is URL_OK */
    struct buf again;
    enum url_result result;
    uint64_t random;
};

/* href, changed to `text`, must be what it was. */
static void expect_same(struct trial *t, struct bytes text, const char *law)
{
    enum url_result result;

    buf_reset(&t->again);
    result = url_resolve(&t->base, text, &t->again);
    if (result != t->result ||
        !bytes_equal(buf_bytes(&t->again), buf_bytes(&t->out))) {
        fail_msg("%s: <%.*s> is <%.*s>, <%.*s> is <%.*s>", law,
                 (int)t->href.len, (const char *)t->href.data, (int)t->out.len,
                 (const char *)t->out.data, (int)text.len,
                 (const char *)text.data, (int)t->again.len,
                 (const char *)t->again.data);
    }
}

static void check_form(const struct trial *t)
{
    assert_true(t->out.len > strlen("http://"));
    for (size_t i = 0; i < t->out.len; i++) {
        uint8_t c = t->out.data[i];

        assert_true(c > ' ' && c < 0x7f && c != '#' && c != '<');
    }
}

/* What is written is in normal form, whatever it is resolved against. */
static void check_settled(struct trial *t)
{
    struct url_base other = { 0 };

    check_form(t);
    expect_same(t, buf_bytes(&t->out), "resolved again");
    assert_int_equal(url_base_set(&other, buf_bytes(&t->out)), URL_OK);
    assert_true(bytes_equal(buf_bytes(&other.text), buf_bytes(&t->out)));
    assert_int_equal(url_base_move(&other, bytes_of("#x", 2)), URL_OK);
    assert_true(bytes_equal(buf_bytes(&other.text), buf_bytes(&t->out)));
    url_base_fini(&other);
}

static void append(struct buf *out, const void *data, size_t len)
{
    assert_true(buf_append(out, data, len));
}

/* A tab between code points, a fragment, and blanks around are not there;
 * the first is also what keeps the reference off the short way. */
static void check_additions(struct trial *t)
{
    size_t at = (size_t)random_below(&t->random, t->href.len + 1);
    struct buf text = { 0 };

    while (at < t->href.len && (t->href.data[at] & 0x80) != 0) {
        at++;
    }
    append(&text, t->href.data, at);
    append(&text, "\t", 1);
    append(&text, t->href.data + at, t->href.len - at);
    expect_same(t, buf_bytes(&text), "a tab inside");
    buf_reset(&text);
    append(&text, " \n\x02", 3);
    append(&text, t->href.data, t->href.len);
    append(&text, "\x1f\r ", 3);
    expect_same(t, buf_bytes(&text), "blanks around");
    buf_fini(&text);
}

static void run_trial(struct trial *t)
{
    const char *base = bases[random_below(&t->random, 4)];

    assert_int_equal(url_base_set(&t->base, bytes_of_string(base)), URL_OK);
    make_reference(&t->href, &t->random);
    buf_reset(&t->out);
    t->result = url_resolve(&t->base, buf_bytes(&t->href), &t->out);
    if (t->result == URL_OK) {
        check_settled(t);
    }
    if (t->href.len > 0) {
        check_additions(t);
    }
    /* What would be stripped from the end is not in front of a fragment. */
    if (t->href.len > 0 && t->href.data[t->href.len - 1] > ' ') {
        append(&t->href, "#\xff <", 4);
        expect_same(t, buf_bytes(&t->href), "a fragment");
    }
}

static void random_references(void **state)
{
    uint64_t seed = (uint64_t)time(NULL);
    struct trial t = { .random = seed };
    size_t resolved = 0;

    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (unsigned i = 0; i < ROUNDS; i++) {
        run_trial(&t);
        resolved += t.result == URL_OK;
    }
    assert_true(resolved > ROUNDS / 4 && resolved < ROUNDS);
    url_base_fini(&t.base);
    buf_fini(&t.href);
    buf_fini(&t.out);
    buf_fini(&t.again);
}

/* ---- length ---- */

/* A mebibyte of one piece again and again takes no time that is noticed;
 * with quadratic time it would take hours. */
static void long_references(void **state)
{
    static const char *const repeated[] = {
        "../",   "./", "a/../", "a/",       "/",  "%2e%2E/",  "..",
        "%41",   "%",  "\xff",  "\xc3\xa4", "\t", " ",        "a/b/../",
        "?/../", "@",  ":",     "[",        "0.", "xn--4ca.", "\\..",
        "0",     "a.", "a",     "%%34",     "-",
    };
    static const char *const heads[] = { "", "http://", "http://h/", "//[",
                                         "http://h:" };
    struct url_base base = { 0 };
    struct buf href = { 0 };
    struct buf out = { 0 };
    int64_t begin = clock_us();

    (void)state;
    assert_int_equal(url_base_set(&base, bytes_of_string("https://h/a/b/c")),
                     URL_OK);
    for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++) {
        for (size_t k = 0; k < sizeof heads / sizeof *heads; k++) {
            buf_reset(&href);
            append(&href, heads[k], strlen(heads[k]));
            while (href.len < (size_t)1 << 20) {
                append(&href, repeated[i], strlen(repeated[i]));
            }
            buf_reset(&out);
            assert_int_not_equal(url_resolve(&base, buf_bytes(&href), &out),
                                 URL_NO_MEMORY);
        }
    }
    assert_true(clock_us() - begin < LONG_US);
    buf_fini(&out);
    buf_fini(&href);
    url_base_fini(&base);
}

static void dots_at_length(void **state)
{
    struct url_base base = { 0 };
    struct buf href = { 0 };

    (void)state;
    assert_int_equal(url_base_set(&base, bytes_of_string("https://h/a/b/c")),
                     URL_OK);
    for (size_t i = 0; i < 100000; i++) {
        append(&href, "x/", 2);
    }
    for (size_t i = 0; i < 99999; i++) {
        append(&href, "../", 3);
    }
    assert_int_equal(url_base_move(&base, buf_bytes(&href)), URL_OK);
    assert_int_equal(base.text.len, strlen("https://h/a/b/x/"));
    assert_memory_equal(base.text.data, "https://h/a/b/x/", base.text.len);
    buf_fini(&href);
    url_base_fini(&base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_references),
        cmocka_unit_test(long_references),
        cmocka_unit_test(dots_at_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
