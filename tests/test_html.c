/*
 * test_html.c: the links of pages, by tables; and what must hold for any
 * bytes: the same links on every vector path and wherever the masks begin,
 * nothing read beyond the page, time that grows with the page alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "deltafold/job.h"
#include "jobs/links/html_foreign.h"
#include "jobs/links/html_index.h"
#include "jobs/links/html_reference.h"
#include "tests/html_links.h"
#include "tests/html_pages.h"

struct example {
    const char *page;
    const char *links;
};

static struct html_scanner *scanner;

static int open_scanner(void **state)
{
    (void)state;
    return html_scanner_open(&scanner) ? 0 : -1;
}

static int close_scanner(void **state)
{
    (void)state;
    html_scanner_close(scanner);
    return 0;
}

/* Whether a page has these links; with a guess where one is expected. */
static void check(struct bytes content, struct bytes wanted, bool guesses)
{
    struct buf room = { 0 };
    struct buf links = { 0 };
    struct bytes page = html_links_page(&room, content);
    bool is_exact = html_links_scan(scanner, page, &links);

    if (!bytes_equal(buf_bytes(&links), wanted) || is_exact == guesses) {
        print_message("%.*s\n--- found (%s)\n%.*s--- wanted\n%.*s",
                      (int)content.len, (const char *)content.data,
                      is_exact ? "exact" : "guessed", (int)links.len,
                      links.len > 0 ? (const char *)links.data : "",
                      (int)wanted.len, (const char *)wanted.data);
        fail();
    }
    buf_fini(&room);
    buf_fini(&links);
}

static void check_all(const struct example *examples, size_t n, bool guesses)
{
    for (size_t i = 0; i < n; i++) {
        check(bytes_of_string(examples[i].page),
              bytes_of_string(examples[i].links), guesses);
    }
}

#define CHECK_ALL(examples, guesses)                                          \
    check_all(examples, sizeof(examples) / sizeof *(examples), guesses)

static void attributes(void **state)
{
    static const struct example examples[] = {
        { "<a href=/docs/page/>", "link /docs/page/\n" },
        { "<A HREF=HTTPS://x.example/p>", "link HTTPS://x.example/p\n" },
        { "<a href=/a/b.html/>", "link /a/b.html/\n" },
        { "<a href = /sp>", "link /sp\n" },
        { "<a href='/q'class=z>", "link /q\n" },
        { "<a class=z/ href='/q'>", "link /q\n" },
        { "<a/href=/slash>", "link /slash\n" },
        { "<a href=/one href=/two>", "link /one\n" },
        { "<a href href=/two>", "link \n" },
        { "<area href=/area>", "link /area\n" },
        { "<a data-href=/no>", "" },
        { "<a hrefx=/no xhref=/no>", "" },
        { "<a name=n>", "" },
        { "<a>", "" },
        { "<a href>", "link \n" },
        { "<a href=>", "link \n" },
        { "<a href=''>", "link \n" },
        { "<a href=\"a'b>c\">", "link a'b>c\n" },
        { "<a href='a\"b>c'>", "link a\"b>c\n" },
        { "<a title='<a href=/no>' href=/yes>", "link /yes\n" },
        { "<a title=x\"> href=/no>", "" },
        { "<a \"=\" href=/no>", "" },
        { "<a \"=\" href=/no>\" href=/yes>", "link /yes\n" },
        { "<a b= \"> href=/no>\" href=/yes>", "link /yes\n" },
        { "<a =href=/no>", "" },
        { "<a = href=/yes>", "link /yes\n" },
        { "<a href==x>", "link =x\n" },
        { "<a href=a\"b'c`d=e<f>", "link a\"b'c`d=e<f\n" },
        { "<a\thref\n=\f/x\r>", "link /x\n" },
        { "<a href=' x '>", "link  x \n" },
        { "<a<b href=/no>", "" },
        { "<ab href=/no><abbr href=/no><address href=/no>", "" },
        { "<a=b href=/no>", "" },
        { "<span title='>' id=\"<a href=/no>\"><a href=/yes>", "link /yes\n" },
        { "<p title=a\"b><a href=/yes>", "link /yes\n" },
        { "<p a=b=\"c><a href=/yes>", "link /yes\n" },
        { "<p =\"><a href=/yes>", "link /yes\n" },
        { "</p title='><a href=/no>'><a href=/yes>", "link /yes\n" },
        { "</a href=/no>", "" },
        { "<link href=/no><img href=/no><A:b href=/no>", "" },
        { "<a href=/x", "" },
        { "<a href='/x>", "" },
        { "<a href=/x a=\"", "" },
        { "<a href=/1 rel=nofollow><a href=/2 rel='x\tNoFollow y'>"
          "<a href=/3 rel=nofollowing><a rel=me href=/4 rel=nofollow>",
          "nofollow /1\nnofollow /2\nlink /3\nlink /4\n" },
        { "<a href=/1 rel='no&#102;ollow'>", "nofollow /1\n" },
    };

    (void)state;
    CHECK_ALL(examples, false);
}

static void references(void **state)
{
    static const struct example examples[] = {
        { "<a href='?id=8&view=full'>", "link ?id=8&view=full\n" },
        { "<a href='?a&amp;b'>", "link ?a&b\n" },
        { "<a href='?a&ampb'>", "link ?a&ampb\n" },
        { "<a href='?a&amp=b'>", "link ?a&amp=b\n" },
        { "<a href='?a&amp'>", "link ?a&\n" },
        { "<a href='?a&amp b'>", "link ?a& b\n" },
        { "<a href='&AMP;&Amp;'>", "link &&Amp;\n" },
        { "<a href='&copy=1&copy;&copy'>", "link &copy=1\u00A9\u00A9\n" },
        { "<a href='&notit;&notin;&not;'>", "link &notit;\u2209\u00AC\n" },
        { "<a href='&ngE;&fjlig;'>", "link \u2267\u0338fj\n" },
        { "<a href='/n&NewLine;m&Tab;'>", "link /n\\x0Am\\x09\n" },
        { "<a href='&hearts&hearts;'>", "link &hearts\u2665\n" },
        { "<a href='&#38;&#38&#x26;&#X26x'>", "link &&&&x\n" },
        { "<a href='&#;&#x;&#a&#'>", "link &#;&#x;&#a&#\n" },
        { "<a href='&#128;&#x92;&#129;'>", "link \u20AC\u2019\xC2\x81\n" },
        { "<a href='&#0;&#xD800;&#x110000;&#99999999999999999999;'>",
          "link \uFFFD\uFFFD\uFFFD\uFFFD\n" },
        { "<a href='&#13;&#x10FFFF;'>", "link \\x0D\xF4\x8F\xBF\xBF\n" },
        { "<a href='&CounterClockwiseContourIntegral;'>", "link \u2233\n" },
        { "<a href='&CounterClockwiseContourIntegrals;'>",
          "link &CounterClockwiseContourIntegrals;\n" },
        { "<a href='&zwnj;&AElig;&AEli;&;&'>",
          "link \u200C\u00C6&AEli;&;&\n" },
        { "<a &#104;ref=/no>", "" },
        { "&lt;a href=/no&gt;", "" },
        { "<a href='a\r\nb\rc\r\r\n'>", "link a\\x0Ab\\x0Ac\\x0A\\x0A\n" },
    };

    (void)state;
    CHECK_ALL(examples, false);
}

/* Every name of the table is found, and with : counts without semicolon. */
static void all_references(void **state)
{
    size_t names = 0;
    size_t bare = 0;

    (void)state;
    for (size_t i = 0; i <= 'z' - 'A'; i++) {
        const char *at = html_reference_names[i];

        while (at != NULL && *at != '\0') {
            char text[HTML_REFERENCE_NAME_MAX + 3] = "&";
            size_t len = strcspn(at, "=:");
            uint32_t points[HTML_REFERENCE_POINTS];

            assert_true(len <= HTML_REFERENCE_NAME_MAX);
            memcpy(text + 1, at, len);
            text[1 + len] = ';';
            assert_int_equal(html_reference(bytes_of(text, len + 2), points),
                             len + 2);
            assert_int_equal(points[0], strtoul(at + len + 1, NULL, 16));
            assert_int_equal(html_reference(bytes_of(text, len + 1), points),
                             at[len] == ':' ? len + 1 : 0);
            names++;
            bare += at[len] == ':';
            at = strchr(at, ' ') + 1;
        }
    }
    assert_int_equal(names, 2125);
    assert_int_equal(bare, 106);
}

static void nul_in_values(void **state)
{
    static const char page[] = "<a href=\"a\0b\"><a hr\0ef=/no><a\0 href=/no>";

    (void)state;
    check(bytes_of(page, sizeof page - 1), bytes_of_string("link a\uFFFDb\n"),
          false);
}

static void comments(void **state)
{
    static const struct example examples[] = {
        { "<!-- <a href=/no> --><a href=/1>", "link /1\n" },
        { "<!--><a href=/1>-->", "link /1\n" },
        { "<!---><a href=/1>", "link /1\n" },
        { "<!----><a href=/1>", "link /1\n" },
        { "<!-----><a href=/1>", "link /1\n" },
        { "<!----!><a href=/1>", "link /1\n" },
        { "<!---!><a href=/no>", "" },
        { "<!-- x --!><a href=/1>", "link /1\n" },
        { "<!-- x -- ><a href=/no>", "" },
        { "<!-- x -> <a href=/no>", "" },
        { "<!--<!--><a href=/1>", "link /1\n" },
        { "<!-- --!--><a href=/1>", "link /1\n" },
        { "<!--[if IE]><a href=/no><![endif]--><a href=/1>", "link /1\n" },
        { "<![if IE]><a href=/1><![endif]>", "link /1\n" },
        { "<!-- unclosed <a href=/no>", "" },
        { "<!><a href=/1>", "link /1\n" },
        { "<!-><a href=/1>", "link /1\n" },
        { "<!DOCTYPE a \"><a href=/1>\">", "link /1\n" },
        { "<?php <a href=/no> ?><a href=/1>", "link /1\n" },
        { "</><a href=/1>", "link /1\n" },
        { "</ <a href=/no>><a href=/1>", "link /1\n" },
        { "</3 <a href=/no>", "" },
        { "<3<a href=/1>< a href=/no><", "link /1\n" },
        { "<![CDATA[ <a href=/no> ]]><a href=/1>", "link /1\n" },
        { "</", "" },
        { "<!", "" },
        { "<!-", "" },
        { "<!--", "" },
        { "", "" },
    };

    (void)state;
    CHECK_ALL(examples, false);
}

static void text_elements(void **state)
{
    static const struct example examples[] = {
        { "<title><a href=/no></title><a href=/1>", "link /1\n" },
        { "<title/><a href=/no></title><a href=/1>", "link /1\n" },
        { "<title></titlex><a href=/no></TITLE\n><a href=/1>", "link /1\n" },
        { "<title><!-- </title><a href=/1> -->", "link /1\n" },
        { "<title></title x='><a href=/no>'><a href=/1>", "link /1\n" },
        { "<textarea><a href=/no></textarea/><a href=/1>", "link /1\n" },
        { "<style>a{content:'<a href=/no>'}</style><a href=/1>", "link /1\n" },
        { "<xmp><a href=/no></xmp><a href=/1>", "link /1\n" },
        { "<iframe><a href=/no></iframe><a href=/1>", "link /1\n" },
        { "<noembed><a href=/no></noembed><a href=/1>", "link /1\n" },
        { "<noframes><a href=/no></noframes><a href=/1>", "link /1\n" },
        { "<noscript><a href=/1></noscript>", "link /1\n" },
        { "<title>", "" },
        { "<style><a href=/no></style", "" },
        { "<plaintext><a href=/no></plaintext><a href=/no>", "" },
        { "<script>'<a href=/no>'</script><a href=/1>", "link /1\n" },
        { "<script></scripts><a href=/no></script ><a href=/1>", "link /1\n" },
        { "<script><!-- </script><a href=/1> -->", "link /1\n" },
        { "<script><!-- <script> </script> <a href=/no> --></script>"
          "<a href=/1>",
          "link /1\n" },
        { "<script><!-- <script> --></script><a href=/1>", "link /1\n" },
        { "<script><!-- <scriptx> </script><a href=/1>", "link /1\n" },
        { "<script><!--><script></script><a href=/1>", "link /1\n" },
        { "<script><!---><script></script><a href=/1>", "link /1\n" },
        { "<script><!-- <script> </script> </script><a href=/1>",
          "link /1\n" },
        { "<script><!-- <script </script><a href=/no></script><a href=/1>",
          "link /1\n" },
        { "<template><a href=/no></template><a href=/1>", "link /1\n" },
        { "<template><template></template><a href=/no></template>"
          "<a href=/1>",
          "link /1\n" },
        { "<template><base href=/no></template></template><a href=/1>",
          "link /1\n" },
        { "<div><template></div><a href=/no>", "" },
        /* Where its first element is a column, no other is one. */
        { "<template><col><textarea></template><a href=/1>", "link /1\n" },
        { "<template><td><textarea></template><a href=/no>", "" },
        { "<template>x<!--x--><link><title></template></title></p>"
          "<COL><script></template><a href=/1>",
          "link /1\n" },
        { "<template><noscript><col><textarea></template><a href=/no>", "" },
        { "<template><col><svg><style></template><a href=/1>", "link /1\n" },
        { "<template><col><template><textarea></template></template>"
          "<a href=/no>",
          "" },
        { "<template><template><col></template><textarea></template>"
          "<a href=/no>",
          "" },
        { "<template><col><template><td></template><textarea></template>"
          "<a href=/1>",
          "link /1\n" },
    };

    (void)state;
    CHECK_ALL(examples, false);
}

static void bases(void **state)
{
    static const struct example examples[] = {
        { "<base href=/1><base href=/2><a href=x>", "base /1\nlink x\n" },
        { "<base target=x><base href=/2>", "base /2\n" },
        { "<a href=x><base href='/b&amp;'>", "link x\nbase /b&\n" },
        { "<base href>", "base \n" },
        { "<svg><base href=/no></svg><base href=/1>", "base /1\n" },
    };

    (void)state;
    CHECK_ALL(examples, false);
}

static void foreign(void **state)
{
    static const struct example examples[] = {
        { "<svg><a href=/no xlink:href=/no></a></svg><a href=/1>",
          "link /1\n" },
        { "<svg/><a href=/1>", "link /1\n" },
        { "<svg><g/><path d='>'/></svg><a href=/1>", "link /1\n" },
        { "<svg><style><a href=/no></style></svg><style></svg><a href=/no>"
          "</style><a href=/1>",
          "link /1\n" },
        { "<svg><style></svg><a href=/1>", "link /1\n" },
        { "<svg><title><a href=/1></a></title></svg><a href=/2>",
          "link /1\nlink /2\n" },
        { "<svg><desc><style><a href=/no></style><a href=/1></a></desc>",
          "link /1\n" },
        { "<svg><foreignObject><div><a href=/1></a></div></foreignObject>"
          "<a href=/no></svg>",
          "link /1\n" },
        { "<svg><foreignObject><svg><a href=/no></svg><a href=/1>",
          "link /1\n" },
        { "<svg><![CDATA[ <a href=/no> ]]><p><a href=/1>", "link /1\n" },
        { "<svg><![CDATA[ ]]]]><a href=/no><p><a href=/1>", "link /1\n" },
        { "<svg><foreignObject><p><![CDATA[ <a href=/no> ]]><a href=/1>",
          "link /1\n" },
        { "<svg><g><div><a href=/1>", "link /1\n" },
        { "<svg><font><a href=/no><font size=1><a href=/1>", "link /1\n" },
        { "<svg></p><a href=/1>", "link /1\n" },
        { "<svg></br><a href=/1>", "link /1\n" },
        { "<svg><script><a href=/no></script></svg><a href=/1>", "link /1\n" },
        { "<svg></body><a href=/no>", "" },
        { "<math><mi><a href=/1></a></mi><a href=/no></math><a href=/2>",
          "link /1\nlink /2\n" },
        { "<math><mi><mglyph><a href=/no>", "" },
        { "<math><mi><malignmark/><a href=/1>", "link /1\n" },
        { "<math><annotation-xml><a href=/no><svg><a href=/no>", "" },
        { "<math><annotation-xml encoding='TEXT/html'><a href=/1>",
          "link /1\n" },
        { "<math><annotation-xml><svg><title><a href=/1>", "link /1\n" },
        { "<math><annotation-xml><title><a href=/no>", "" },
        { "<svg><template><a href=/no></template></svg><a href=/1>",
          "link /1\n" },
        { "<svg><desc><template><a href=/no></template><a href=/1>",
          "link /1\n" },
        { "<template><svg><g></template><a href=/1>", "link /1\n" },
    };

    (void)state;
    CHECK_ALL(examples, false);
}

/* Where a tree would be needed: see html_foreign.h. Each is a kind. */
static void guesses(void **state)
{
    static const struct example examples[] = {
        /* an end tag inside an unclosed svg, for what is open outside */
        { "<div><svg><g></div><a href=/1>", "link /1\n" },
        { "<x-y><svg></x-y><a href=/1>", "link /1\n" },
        { "<svg></path><a href=/no>", "" },
        { "<td><svg><desc></td><a href=/1>", "link /1\n" },
        /* HTML elements that end each other in an integration point */
        { "<svg><desc><b><i></b></desc><a href=/no>", "" },
        { "<svg><desc><p><b><p></p></b><a href=/1>", "link /1\n" },
        { "<svg><desc><a href=/1><a href=/2>", "link /1\nlink /2\n" },
        /* tables, whose parts go by what is open outside */
        { "<svg><desc><td><a href=/1>", "link /1\n" },
    };

    (void)state;
    CHECK_ALL(examples, true);
}

static void framesets(void **state)
{
    static const struct example examples[] = {
        { "<frameset><a href=/no></frameset><a href=/no>", "" },
        { "<title>x</title><frameset><frame></frameset><a href=/no>", "" },
        { "<p><a href=/gone></a><frameset><a href=/no>", "" },
        { "<p><a href=/gone></a> &#32;<form><frameset>", "" },
        { "<base href=/b><p><base href=/gone><frameset>", "base /b\n" },
        { "<p><a href=/1></a>x<frameset><a href=/2>", "link /1\nlink /2\n" },
        { "<a href=/1></a><img><frameset><a href=/2>", "link /1\nlink /2\n" },
        { "<a href=/gone></a><input type=Hidden><frameset>", "" },
        { "<a href=/1></a><input type=text><frameset>", "link /1\n" },
        { "<body><frameset><a href=/1>", "link /1\n" },
        { "<template><frameset></template><a href=/1>", "link /1\n" },
        { "<svg><frameset></svg><a href=/1>", "link /1\n" },
        { "<svg><![CDATA[ ]]></svg><a href=/gone><frameset>", "" },
        { "<svg><![CDATA[x]]></svg><a href=/1><frameset>", "link /1\n" },
        { "<noscript></body><base href=/b><frameset>", "base /b\n" },
        { "</head><noscript><base href=/gone><frameset>", "" },
    };

    (void)state;
    CHECK_ALL(examples, false);
}

/* ---- what holds for any bytes ---- */

static uint64_t new_seed(void)
{
    const char *given = getenv("HTML_SEED");
    uint64_t seed =
        given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);

    print_message("HTML_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

static void make_page(uint64_t *seed, unsigned most, struct buf *page)
{
    buf_reset(page);
    html_pages_make(seed, (unsigned)(1 + html_pages_random(seed) % 15), most,
                    page);
    if (html_pages_random(seed) % 2 == 0) {
        html_pages_mutate(seed, page);
    }
}

/* Blanks in front of a page are nothing but another place in the masks. */
static void same_on_all_paths_and_places(void **state)
{
    uint64_t seed = new_seed();
    struct buf page = { 0 };
    struct buf moved = { 0 };
    struct buf room = { 0 };
    struct buf links = { 0 };
    struct buf again = { 0 };

    (void)state;
    for (unsigned round = 0; round < 400; round++) {
        size_t blanks = html_pages_random(&seed) % HTML_INDEX_SPAN * 2;

        make_page(&seed, round % 8 == 0 ? 1000 : 30, &page);
        html_index_prefer(html_index_path(0));
        buf_reset(&links);
        html_links_scan(scanner, html_links_page(&room, buf_bytes(&page)),
                        &links);
        buf_reset(&moved);
        while (blanks-- > 0) {
            assert_true(buf_append_byte(&moved, ' '));
        }
        assert_true(buf_append(&moved, page.data, page.len));
        for (size_t i = 0; html_index_path(i) != NULL; i++) {
            html_index_prefer(html_index_path(i));
            buf_reset(&again);
            html_links_scan(scanner, html_links_page(&room, buf_bytes(&moved)),
                            &again);
            assert_true(bytes_equal(buf_bytes(&links), buf_bytes(&again)));
        }
    }
    html_index_prefer(NULL);
    buf_fini(&page);
    buf_fini(&moved);
    buf_fini(&room);
    buf_fini(&links);
    buf_fini(&again);
}

/* A page cut anywhere: in its own memory, with slack and not a byte more. */
static void cut_anywhere(void **state)
{
    uint64_t seed = new_seed();
    struct buf page = { 0 };
    struct buf links = { 0 };

    (void)state;
    for (unsigned round = 0; round < 40; round++) {
        make_page(&seed, 20, &page);
        for (size_t len = 0; len <= page.len; len++) {
            uint8_t *exact = malloc(len + DF_SLACK);

            assert_non_null(exact);
            memset(exact + len, '>', DF_SLACK);
            memcpy(exact, page.data, len);
            buf_reset(&links);
            html_links_scan(scanner, bytes_of(exact, len), &links);
            free(exact);
        }
    }
    buf_fini(&page);
    buf_fini(&links);
}

/* The index against one look at a time. */
static void index_is_right(void **state)
{
    enum { LEN = 3 * HTML_INDEX_SPAN + 17 };
    static uint8_t page[LEN + DF_SLACK];
    static const char *const marks[HTML_MARKS] = { "<",
                                                   " \t\n\f\r/>=", ">\"'" };
    uint64_t seed = new_seed();
    struct html_index x;

    (void)state;
    for (size_t i = 0; i < sizeof page; i++) {
        uint64_t r = html_pages_random(&seed);

        /* All bytes, and stretches of several masks without a mark. */
        page[i] = r % 64 == 0 && i / 512 % 3 != 0 ? (uint8_t)(r >> 8) : 'x';
    }
    for (size_t path = 0; html_index_path(path) != NULL; path++) {
        html_index_prefer(html_index_path(path));
        html_index_open(&x, bytes_of(page, LEN));
        for (unsigned mark = 0; mark < HTML_MARKS; mark++) {
            size_t wanted = LEN;

            for (size_t at = LEN + 1; at-- > 0;) {
                if (at < LEN && page[at] != '\0' &&
                    strchr(marks[mark], page[at]) != NULL) {
                    wanted = at;
                }
                assert_int_equal(html_index_next(&x, mark, at), wanted);
            }
        }
    }
    html_index_prefer(NULL);
}

/* Megabytes of what could be looked through again and again. */
static void time_is_linear(void **state)
{
    static const char *const repeated[] = {
        "<",        "<!--",         "<!--x-",         "<script><!--",
        "<a b='",   "<title></t",   "<svg><![CDATA[", "</",
        "<svg><g>", "<template>",   "<svg><desc><b>", "<a href=x>",
        "<p><a>",   "&amp",         "<a href='&lzz",  "<![CDATA[]]",
        "</g>",     "<svg></g>",    "<svg></div>",    "<math><mi>",
        "<script>", "<!-- <script", "<frameset ",     "--!",
    };
    enum { SIZE = 2 << 20, SECONDS = 5 };
    struct buf content = { 0 };
    struct buf room = { 0 };
    struct buf links = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++) {
        clock_t begin = clock();

        buf_reset(&content);
        buf_reset(&links);
        while (content.len < SIZE) {
            assert_true(buf_append_string(&content, repeated[i]));
        }
        html_links_scan(scanner, html_links_page(&room, buf_bytes(&content)),
                        &links);
        if (clock() - begin > SECONDS * CLOCKS_PER_SEC) {
            fail_msg("%s takes too long", repeated[i]);
        }
    }
    buf_fini(&content);
    buf_fini(&room);
    buf_fini(&links);
}

static void depth_is_bounded(void **state)
{
    struct buf content = { 0 };
    const struct bytes deep = bytes_of_string("<g>");
    const struct bytes rest = bytes_of_string("<p><a href=/1>");
    const struct bytes wanted = bytes_of_string("link /1\n");

    (void)state;
    assert_true(buf_append_string(&content, "<svg>"));
    for (unsigned i = 1; i < HTML_DEPTH_MAX; i++) {
        assert_true(buf_append(&content, deep.data, deep.len));
    }
    assert_true(buf_append(&content, rest.data, rest.len));
    check(buf_bytes(&content), wanted, false);
    content.len -= rest.len;
    assert_true(buf_append(&content, deep.data, deep.len) &&
                buf_append(&content, rest.data, rest.len));
    check(buf_bytes(&content), wanted, true);
    buf_fini(&content);
}

static void long_values(void **state)
{
    enum { LEN = 3 << 20 };
    struct buf content = { 0 };
    struct buf wanted = { 0 };

    (void)state;
    assert_true(buf_append_string(&content, "<a href=\"") &&
                buf_append_string(&wanted, "link ") &&
                buf_reserve(&content, LEN) && buf_reserve(&wanted, LEN));
    memset(content.data + content.len, '>', LEN);
    memset(wanted.data + wanted.len, '>', LEN);
    content.len += LEN;
    wanted.len += LEN;
    assert_true(buf_append_string(&content, "&amp;\">") &&
                buf_append_string(&wanted, "&\n"));
    check(buf_bytes(&content), buf_bytes(&wanted), false);
    buf_fini(&content);
    buf_fini(&wanted);
}

/* ---- by content ---- */

static void looks(void **state)
{
    static const struct {
        const char *page;
        bool is_html;
    } examples[] = {
        { "<!DOCTYPE html>", true },
        { " \n<!doctype HTML PUBLIC 'x'>", true },
        { "\xEF\xBB\xBF<html lang=en>", true },
        { "<!-- c --> <!-- d --><HEAD>", true },
        { "<!-- c --> text", true },
        { "<!-- unclosed", true },
        { "<a href=x>", true },
        { "<p>", true },
        { "<br/>", true },
        { "<title>x", true },
        { "<?xml version='1.0'?><!DOCTYPE html>", true },
        { "<?xml version='1.0'?>\n<html xmlns='x'>", true },
        { "<?xml version='1.0'?><svg>", false },
        { "<?xml version='1.0'?><a href='x'/>", false },
        { "<?xml version='1.0'?><!-- c -->x", false },
        { "<!-- made by x --><svg>", false },
        { "<!DOCTYPE svg>", false },
        { "<!DOCTYPE htmlx>", false },
        { "<rss><channel>", false },
        { "<?php echo 1;", false },
        { "<", false },
        { "<p", false },
        { "<3 you", false },
        { "text <a href=x>", false },
        { "%PDF-1.4", false },
        { "\x89PNG\r\n", false },
        { "{\"a\": \"<p>\"}", false },
        { "", false },
        { " ", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        if (html_looks_like(bytes_of_string(examples[i].page)) !=
            examples[i].is_html) {
            fail_msg("%s", examples[i].page);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes),
        cmocka_unit_test(references),
        cmocka_unit_test(all_references),
        cmocka_unit_test(nul_in_values),
        cmocka_unit_test(comments),
        cmocka_unit_test(text_elements),
        cmocka_unit_test(bases),
        cmocka_unit_test(foreign),
        cmocka_unit_test(guesses),
        cmocka_unit_test(framesets),
        cmocka_unit_test(same_on_all_paths_and_places),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(index_is_right),
        cmocka_unit_test(time_is_linear),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(long_values),
        cmocka_unit_test(looks),
    };

    return cmocka_run_group_tests(tests, open_scanner, close_scanner);
}
