/*
 * test_html_gumbo.c: the scanner against a whole HTML parser: on every page
 * of /usr/share/doc, on random pages, and on real ones with random damage.
 *
 * A difference is excused only where the scanner said that it guessed, or
 * where gumbo is known to be wrong by the standard of today: `faults` names
 * these, with a page each that shows it. How many are excused is bounded.
 */
#include <ctype.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

#include <cmocka.h>

#include "jobs/links/encoding.h"
#include "tests/html_gumbo.h"
#include "tests/html_links.h"
#include "tests/html_pages.h"

#if defined(__SANITIZE_ADDRESS__)
enum { EVERY = 8 }; /* one page in so many: sanitizers are slow */
#else
enum { EVERY = 1 };
#endif

/* ---- where gumbo differs from the standard ---- */

static bool has(struct bytes page, const char *text)
{
    size_t len = strlen(text);

    for (size_t i = 0; i + len <= page.len; i++) {
        if (strncasecmp((const char *)page.data + i, text, len) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_foreign(struct bytes page)
{
    return has(page, "<svg") || has(page, "<math");
}

/* </p> and </br> end the svg that they stand in since 2020. */
static bool is_paragraph_in_foreign(struct bytes page)
{
    return has_foreign(page) && (has(page, "</p") || has(page, "</br"));
}

/* gumbo forgets, at </>, what sort of tag it is in: the next svg is taken
 * for self-closing or not at random. */
static bool is_nothing_before_foreign(struct bytes page)
{
    return has_foreign(page) && has(page, "</>");
}

/* In svg gumbo compares the name of an end tag with all that stands in it. */
static bool is_long_end_in_foreign(struct bytes page)
{
    for (size_t i = 0; has_foreign(page) && i + 2 < page.len; i++) {
        size_t end = i + 2;

        if (page.data[i] != '<' || page.data[i + 1] != '/') {
            continue;
        }
        while (end < page.len && isalnum(page.data[end])) {
            end++;
        }
        if (end > i + 2 && end < page.len && page.data[end] != '>') {
            return true;
        }
    }
    return false;
}

/* Blank CDATA does not make a frameset come too late, </br> does. */
static bool is_late_frameset(struct bytes page)
{
    return has(page, "<frameset") &&
           (has(page, "</br") || has(page, "<![CDATA["));
}

/* A select holds any element since 2025; gumbo drops the tags. */
static bool is_select(struct bytes page)
{
    return has(page, "<select");
}

static const struct fault {
    const char *name;
    bool (*may_show)(struct bytes page);
    const char *page;
    const char *scanner;
    const char *gumbo;
} faults[] = {
    { "</p> in svg", is_paragraph_in_foreign, "<svg></p><a href=/1>",
      "link /1\n", "" },
    { "</br> in svg", is_paragraph_in_foreign, "<svg></br><a href=/1>",
      "link /1\n", "" },
    { "</> before svg", is_nothing_before_foreign, "</><svg></svg><a href=/1>",
      "link /1\n", "" },
    { "end tag with an attribute in svg", is_long_end_in_foreign,
      "<a href=/1><svg><a></a b><x><a href=/2>", "link /1\n",
      "link /1\nlink /2\n" },
    { "</br> before frameset", is_late_frameset,
      "</br><a href=/1></a><frameset>", "link /1\n", "" },
    { "blank CDATA before frameset", is_late_frameset,
      "<svg><![CDATA[ ]]></svg><a href=/1></a><frameset>", "", "link /1\n" },
    { "link in select", is_select, "<select><a href=/1></select>", "link /1\n",
      "" },
    { "text element in select", is_select,
      "<select><title></select><a href=/1></title>", "", "link /1\n" },
};

enum { FAULTS = sizeof faults / sizeof *faults };

static bool is_faulty(struct bytes page)
{
    for (size_t i = 0; i < FAULTS; i++) {
        if (faults[i].may_show(page)) {
            return true;
        }
    }
    return false;
}

/* ---- comparing ---- */

struct judge {
    struct html_scanner *scanner;
    struct buf room;
    struct buf mine;
    struct buf theirs;
    size_t pages;
    size_t links;
    size_t guessed; /* by the scanner; most of these agree, too */
    size_t excused; /* differ, and may */
    size_t differ;
};

static void open_judge(struct judge *j)
{
    memset(j, 0, sizeof *j);
    assert_true(html_scanner_open(&j->scanner));
}

static void close_judge(struct judge *j)
{
    html_scanner_close(j->scanner);
    buf_fini(&j->room);
    buf_fini(&j->mine);
    buf_fini(&j->theirs);
}

static void print(const char *label, struct bytes text)
{
    enum { MOST = 2000 };
    int len = (int)(text.len < MOST ? text.len : MOST);

    print_message("--- %s\n%.*s\n", label, len,
                  text.len > 0 ? (const char *)text.data : "");
}

/* page has its slack. */
static void compare(struct judge *j, struct bytes page, const char *label)
{
    bool is_exact;

    buf_reset(&j->mine);
    buf_reset(&j->theirs);
    is_exact = html_links_scan(j->scanner, page, &j->mine);
    html_gumbo_links(page, &j->theirs);
    j->pages++;
    j->guessed += !is_exact;
    for (size_t i = 0; i < j->mine.len; i++) {
        j->links += j->mine.data[i] == '\n';
    }
    if (bytes_equal(buf_bytes(&j->mine), buf_bytes(&j->theirs))) {
        return;
    }
    if (!is_exact || is_faulty(page)) {
        j->excused++;
        return;
    }
    j->differ++;
    print(label, page);
    print("scanner", buf_bytes(&j->mine));
    print("gumbo", buf_bytes(&j->theirs));
}

/* Fails where pages differ, or more than one in a thousand times `most` are
 * excused. */
static void assert_agreement(const struct judge *j, size_t most)
{
    print_message("%zu pages, %zu links: %zu differ, %zu excused, "
                  "%zu guessed\n",
                  j->pages, j->links, j->differ, j->excused, j->guessed);
    assert_int_equal(j->differ, 0);
    assert_true(j->excused * 1000 <= j->pages * most);
}

static void faults_are_as_named(void **state)
{
    struct judge j;

    (void)state;
    open_judge(&j);
    for (size_t i = 0; i < FAULTS; i++) {
        const struct fault *fault = &faults[i];
        struct bytes page =
            html_links_page(&j.room, bytes_of_string(fault->page));

        buf_reset(&j.mine);
        buf_reset(&j.theirs);
        print_message("%s\n", fault->name);
        assert_true(html_links_scan(j.scanner, page, &j.mine));
        html_gumbo_links(page, &j.theirs);
        assert_true(
            bytes_equal(buf_bytes(&j.mine), bytes_of_string(fault->scanner)));
        assert_true(
            bytes_equal(buf_bytes(&j.theirs), bytes_of_string(fault->gumbo)));
        assert_true(fault->may_show(page));
    }
    close_judge(&j);
}

/* ---- real pages ---- */

/* nftw gives its callback no argument. */
static struct walk {
    struct judge judge;
    struct buf content;
    struct buf decoded;
    size_t seen;
    uint64_t *damage; /* seed; NULL: as they are */
} * walk;

static bool read_file(const char *path, struct buf *content)
{
    FILE *file = fopen(path, "rb");
    size_t got = 0;

    buf_reset(content);
    if (file == NULL) {
        return false;
    }
    do {
        content->len += got;
        assert_true(buf_reserve(content, 1 << 16));
        got = fread(content->data + content->len, 1, 1 << 16, file);
    } while (got > 0);
    fclose(file);
    return true;
}

static int visit(const char *path, const struct stat *st, int type,
                 struct FTW *ftw)
{
    const char *dot = strrchr(path, '.');
    struct bytes page;

    (void)st;
    (void)ftw;
    if (type != FTW_F || dot == NULL ||
        (strcmp(dot, ".html") != 0 && strcmp(dot, ".htm") != 0) ||
        walk->seen++ % (walk->damage != NULL ? 16 : EVERY) != 0 ||
        !read_file(path, &walk->content)) {
        return 0;
    }
    if (walk->damage != NULL) {
        html_pages_mutate(walk->damage, &walk->content);
    }
    page = html_links_page(&walk->judge.room, buf_bytes(&walk->content));
    assert_true(encoding_to_utf8(page, &walk->decoded, &page));
    compare(&walk->judge, page, path);
    return 0;
}

static void walk_pages(struct walk *w)
{
    walk = w;
    open_judge(&w->judge);
    assert_true(nftw("/usr/share/doc", visit, 16, FTW_PHYS) >= 0);
    close_judge(&w->judge);
    buf_fini(&w->content);
    buf_fini(&w->decoded);
}

static void real_pages_agree(void **state)
{
    struct walk w = { 0 };

    (void)state;
    walk_pages(&w);
    assert_agreement(&w.judge, 0);
    assert_int_equal(w.judge.guessed, 0);
}

static uint64_t new_seed(void)
{
    const char *given = getenv("HTML_SEED");
    uint64_t seed =
        given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);

    print_message("HTML_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

static void damaged_pages_agree(void **state)
{
    uint64_t seed = new_seed();
    struct walk w = { .damage = &seed };

    (void)state;
    walk_pages(&w);
    assert_agreement(&w.judge, 10);
}

/* ---- random pages ---- */

static void random_pages(unsigned kinds, unsigned longest, size_t most)
{
    enum { PAGES = 8000 / EVERY };
    uint64_t seed = new_seed();
    struct buf content = { 0 };
    struct judge j;

    open_judge(&j);
    for (unsigned i = 0; i < PAGES; i++) {
        buf_reset(&content);
        html_pages_make(&seed, kinds, longest, &content);
        compare(&j, html_links_page(&j.room, buf_bytes(&content)),
                "random page");
    }
    close_judge(&j);
    buf_fini(&content);
    assert_agreement(&j, most);
    assert_true(j.links > 0);
}

static void plain_pages_agree(void **state)
{
    (void)state;
    random_pages(HTML_PAGES_PLAIN, 16, 0);
}

static void tables_agree(void **state)
{
    (void)state;
    random_pages(HTML_PAGES_PLAIN | HTML_PAGES_TABLES, 24, 0);
}

static void foreign_pages_agree(void **state)
{
    (void)state;
    random_pages(HTML_PAGES_FOREIGN, 10, 30);
    random_pages(HTML_PAGES_FOREIGN | HTML_PAGES_PLAIN, 10, 30);
}

static void frames_agree(void **state)
{
    (void)state;
    random_pages(HTML_PAGES_FRAMES, 10, 30);
}

static void everything_agrees(void **state)
{
    (void)state;
    random_pages(HTML_PAGES_PLAIN | HTML_PAGES_FOREIGN | HTML_PAGES_FRAMES |
                     HTML_PAGES_TABLES,
                 12, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_as_named),
        cmocka_unit_test(plain_pages_agree),
        cmocka_unit_test(tables_agree),
        cmocka_unit_test(foreign_pages_agree),
        cmocka_unit_test(frames_agree),
        cmocka_unit_test(everything_agrees),
        cmocka_unit_test(real_pages_agree),
        cmocka_unit_test(damaged_pages_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
