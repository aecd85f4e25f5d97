/*
 * Tables of references and what they are by the WHATWG URL standard and
 * url.h. test_url_laws.c has random ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "jobs/links/url_chars.h"
#include "url_table.h"

#define INVALID URL_TABLE_INVALID
#define OTHER URL_TABLE_OTHER
#define ROWS(table) (table), sizeof(table) / sizeof *(table)

static void set_base(struct url_base *base, const char *url)
{
    assert_int_equal(url_base_set(base, bytes_of_string(url)), URL_OK);
}

/* ---- references ---- */

static void relative_references(void **state)
{
    static const struct url_row rows[] = {
        { "", "https://site.example/dir/sub/page.html?q=1" },
        { "#", "https://site.example/dir/sub/page.html?q=1" },
        { "#top", "https://site.example/dir/sub/page.html?q=1" },
        { "# a\tb#c", "https://site.example/dir/sub/page.html?q=1" },
        { "?", "https://site.example/dir/sub/page.html?" },
        { "?#x", "https://site.example/dir/sub/page.html?" },
        { "?page=2", "https://site.example/dir/sub/page.html?page=2" },
        { "??a/../b", "https://site.example/dir/sub/page.html??a/../b" },
        { "x", "https://site.example/dir/sub/x" },
        { "x?", "https://site.example/dir/sub/x?" },
        { "./a", "https://site.example/dir/sub/a" },
        { "a/../b", "https://site.example/dir/sub/b" },
        { ".", "https://site.example/dir/sub/" },
        { "./", "https://site.example/dir/sub/" },
        { "..", "https://site.example/dir/" },
        { "../", "https://site.example/dir/" },
        { "../..", "https://site.example/" },
        { "../../../../up", "https://site.example/up" },
        { "...", "https://site.example/dir/sub/..." },
        { ".a/..b/c.", "https://site.example/dir/sub/.a/..b/c." },
        { "a/..", "https://site.example/dir/sub/" },
        { "a/b/.", "https://site.example/dir/sub/a/b/" },
        { "a/./b/./", "https://site.example/dir/sub/a/b/" },
        { "a//b///c", "https://site.example/dir/sub/a//b///c" },
        { "a//../b", "https://site.example/dir/sub/a/b" },
        { "/", "https://site.example/" },
        { "/root", "https://site.example/root" },
        { "/.", "https://site.example/" },
        { "/..", "https://site.example/" },
        { "/../a", "https://site.example/a" },
        { "/..//a", "https://site.example//a" },
        { "/a/b/../../../c", "https://site.example/c" },
        { "/a?b/../c", "https://site.example/a?b/../c" },
        { "/a?b?c#d?e", "https://site.example/a?b?c" },
        { "//cdn.example/x", "https://cdn.example/x" },
        { "//cdn.example", "https://cdn.example/" },
        { "//cdn.example?q", "https://cdn.example/?q" },
        { "//cdn.example#f", "https://cdn.example/" },
        { "///three", "https://three/" },
        { "////four/x", "https://four/x" },
        { "//", INVALID },
        { "///", INVALID },
        { "\\back\\slash", "https://site.example/back/slash" },
        { "\\\\host\\x", "https://host/x" },
        { "/\\host/x", "https://host/x" },
        { "a\\..\\b", "https://site.example/dir/sub/b" },
        { "..\\x", "https://site.example/dir/x" },
        { "x?a\\b", "https://site.example/dir/sub/x?a\\b" },
        { "a:b", OTHER },
        { "./a:b", "https://site.example/dir/sub/a:b" },
        { "1a:b", "https://site.example/dir/sub/1a:b" },
        { ":a", "https://site.example/dir/sub/:a" },
        { "a/b:c", "https://site.example/dir/sub/a/b:c" },
        { "a?b:c", "https://site.example/dir/sub/a?b:c" },
        { "a_b:c", "https://site.example/dir/sub/a_b:c" },
        { "x;y=1,2@3", "https://site.example/dir/sub/x;y=1,2@3" },
    };

    (void)state;
    url_table_check("https://site.example/dir/sub/page.html?q=1#f",
                    ROWS(rows));
}

static void schemes(void **state)
{
    static const struct url_row rows[] = {
        { "https:rel", "https://site.example/dir/rel" },
        { "https:../rel", "https://site.example/rel" },
        { "https:./", "https://site.example/dir/" },
        { "https:", "https://site.example/dir/page?q" },
        { "https:#f", "https://site.example/dir/page?q" },
        { "https:?x", "https://site.example/dir/page?x" },
        { "https:/x", "https://site.example/x" },
        { "https:\\x", "https://site.example/x" },
        { "https:/\\x/y", "https://x/y" },
        { "https:\\/x/y", "https://x/y" },
        { "https://x", "https://x/" },
        { "https:///x/y", "https://x/y" },
        { "HTTPS:rel", "https://site.example/dir/rel" },
        { "http:rel", "http://rel/" },
        { "http:/x/y", "http://x/y" },
        { "http:\\x", "http://x/" },
        { "http:x@y", "http://x@y/" },
        { "http:", INVALID },
        { "http:?x", INVALID },
        { "http:#x", INVALID },
        { "HtTp://X/Y", "http://x/Y" },
        { "httpsx://a", OTHER },
        { "htt://a", OTHER },
        { "http+x://a", OTHER },
        { "MAILTO:x@y.example", OTHER },
        { " JavaScript:void(0)", OTHER },
        { "java\nscript:alert(1)", OTHER },
        { "java\tscr\ript:alert(1)", OTHER },
        { "\x01\x1fjavascript:x", OTHER },
        { "data:text/html,hi", OTHER },
        { "tel:1", OTHER },
        { "ftp://h/p", OTHER },
        { "wss://h/p", OTHER },
        { "file:///c:/x", OTHER },
        { "c:\\x", OTHER },
        { "java script:x", "https://site.example/dir/java%20script:x" },
    };

    (void)state;
    url_table_check("https://site.example/dir/page?q", ROWS(rows));
}

static void without_a_base(void **state)
{
    static const struct url_row rows[] = {
        { "", INVALID },
        { "#f", INVALID },
        { "/x", INVALID },
        { "//h/x", INVALID },
        { "x", INVALID },
        { "mailto:x", OTHER },
        { "http:x", "http://x/" },
        { "https:/x", "https://x/" },
        { "https:///x", "https://x/" },
        { "https://", INVALID },
        { "https:///", INVALID },
        { "https://?x", INVALID },
    };

    (void)state;
    url_table_check(NULL, ROWS(rows));
}

static void blanks(void **state)
{
    static const struct url_row rows[] = {
        { "  /f  ", "https://s.example/f" },
        { "\nhttps://other.example/a\n", "https://other.example/a" },
        { "/c\n/d\te", "https://s.example/c/de" },
        { "/c\r\n", "https://s.example/c" },
        { " \t ", "https://s.example/d/p" },
        { "\x01\x02x\x1f ", "https://s.example/d/x" },
        { "a b", "https://s.example/d/a%20b" },
        { "a #x", "https://s.example/d/a%20" },
        { "a\t#x", "https://s.example/d/a" },
        { "a# ", "https://s.example/d/a" },
        { ".\t./x", "https://s.example/x" },
        { "/\t/h/x", "https://h/x" },
        { "ht\ntps://h\t.c/x", "https://h.c/x" },
        { "%4\t1", "https://s.example/d/A" },
        { "?a b", "https://s.example/d/p?a%20b" },
        { "\x7f", "https://s.example/d/%7F" },
        { "\xc2\xa0x", "https://s.example/d/%C2%A0x" },
    };

    (void)state;
    url_table_check("https://s.example/d/p", ROWS(rows));
}

/* ---- path and query ---- */

static void escapes(void **state)
{
    static const struct url_row rows[] = {
        { "/%7Esmith", "https://h/~smith" },
        { "/%7esmith", "https://h/~smith" },
        { "/%41%5a%61%7A%30%39%2d%5F", "https://h/AZaz09-_" },
        { "/a%2Fb%2fc", "https://h/a%2Fb%2Fc" },
        { "/%e4%c3%A4", "https://h/%E4%C3%A4" },
        { "/%00%20%25%3f%23", "https://h/%00%20%25%3F%23" },
        { "/%2e", "https://h/" },
        { "/a/%2E%2e", "https://h/" },
        { "/a/.%2E/b", "https://h/b" },
        { "/a/%2e./b/%2e/c", "https://h/b/c" },
        { "/a/%2e%2e%2e", "https://h/a/..." },
        { "/a/..%2fb", "https://h/a/..%2Fb" },
        { "/a/%252e%252e/b", "https://h/a/%252e%252e/b" },
        { "/a\\%2e%2e\\b", "https://h/b" },
        { "/%", "https://h/%" },
        { "/%4", "https://h/%4" },
        { "/%zz%4g", "https://h/%zz%4g" },
        { "/%%41", "https://h/%%41" },
        { "/%%7e", "https://h/%~" },
        { "/%%34%31", "https://h/%%341" },
        { "/%4%31", "https://h/%4%31" },
        { "/%g%41", "https://h/%gA" },
        { "/%/%41", "https://h/%/A" },
        { "?%7e%2f%c3%", "https://h/?~%2F%C3%" },
        { "?%2e%2E/../", "https://h/?../../" },
        { "/\"<>`{}^|[]!$&'()*+,;=:@", "https://h/%22%3C%3E%60%7B%7D%5E|[]!$&"
                                       "'()*+,;=:@" },
        { "/?\"<>`{}^|[]!$&'()*+,;=:@/?\\",
          "https://h/?%22%3C%3E`{}^|[]!$&%27()*+,;=:@/?\\" },
        { "/\xc3\xa4?\xe2\x82\xac", "https://h/%C3%A4?%E2%82%AC" },
        { "/\xf0\x9f\x98\x80", "https://h/%F0%9F%98%80" },
        /* Ill-formed, one U+FFFD for each maximal subpart. */
        { "/\xff", "https://h/%EF%BF%BD" },
        { "/\xe2\x82z", "https://h/%EF%BF%BDz" },
        { "/\xed\xa0\x80", "https://h/%EF%BF%BD%EF%BF%BD%EF%BF%BD" },
        { "/\xc0\xaf", "https://h/%EF%BF%BD%EF%BF%BD" },
        { "?\xf0\x9f", "https://h/?%EF%BF%BD" },
        { "/\xc3\t\xa4", "https://h/%EF%BF%BD%EF%BF%BD" },
        { "/\xc3%A4", "https://h/%EF%BF%BD%A4" },
        { "//\xc3%A4", INVALID },
        { "//%C3%A4", "https://xn--4ca/" },
    };
    struct url_base base = { 0 };

    (void)state;
    url_table_check("https://h", ROWS(rows));
    set_base(&base, "https://h/");
    url_table_check_bytes(&base, bytes_of("/a\0b", 4), "https://h/a%00b");
    url_table_check_bytes(&base, bytes_of("\0/a\0", 4), "https://h/a");
    url_table_check_bytes(&base, bytes_of("//a\0b", 5), INVALID);
    url_table_check_bytes(&base, bytes_of(NULL, 0), "https://h/");
    url_base_fini(&base);
}

/* What WHATWG calls the sets, one rule per byte, beside the table. */
static void classes_of_bytes(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 256; c++) {
        bool is_encoded = c < 0x20 || c > 0x7e;
        bool is_query = is_encoded || (c > 0 && strchr(" \"#<>'", (int)c));
        bool is_path = is_encoded || (c > 0 && strchr(" \"#<>?^`{}", (int)c));
        bool is_user = is_path || strchr("/:;=@[\\]|", (int)c) != NULL;
        bool is_alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                        (c >= 'A' && c <= 'Z');
        bool is_odd = ((is_path || is_query) && c != '#' && c != '?') ||
                      c == '%' || c == '\\';
        uint8_t b = (uint8_t)c;

        assert_int_equal(url_char_is(b, URL_CHAR_QUERY), is_query);
        assert_int_equal(url_char_is(b, URL_CHAR_PATH), is_path);
        assert_int_equal(url_char_is(b, URL_CHAR_USER), is_user);
        assert_int_equal(url_char_is(b, URL_CHAR_ODD), is_odd);
        assert_int_equal(url_char_is(b, URL_CHAR_HIGH), c >= 0x80);
        assert_int_equal(url_char_is(b, URL_CHAR_BARRED),
                         c <= 0x20 || c == 0x7f ||
                             (c < 0x7f && strchr("#/:<>?@[\\]^|%", (int)c)));
        assert_int_equal(url_char_is(b, URL_CHAR_UNRESERVED),
                         is_alnum || (c > 0 && strchr("-._~", (int)c)));
        assert_int_equal(url_char_is(b, URL_CHAR_SCHEME),
                         is_alnum || (c > 0 && strchr("-.+", (int)c)));
        assert_int_equal(url_char_is(b, URL_CHAR_HOST),
                         (is_alnum && !(c >= 'A' && c <= 'Z')) ||
                             (c > 0 && strchr("-._", (int)c)));
        assert_int_equal(url_char_is(b, URL_CHAR_BLANK),
                         c == '\t' || c == '\n' || c == '\r');
        assert_int_equal(url_char_is(b, URL_CHAR_HEX),
                         c > 0 && strchr("0123456789abcdefABCDEF", (int)c));
    }
}

/* ---- bases, and out ---- */

static void check_base(const struct url_base *base, const char *text,
                       const char *host, const char *dir, const char *path)
{
    assert_int_equal(base->text.len, strlen(text));
    assert_memory_equal(base->text.data, text, strlen(text));
    assert_int_equal(base->host_end, strlen(host));
    assert_int_equal(base->dir_end, strlen(dir));
    assert_int_equal(base->path_end, strlen(path));
}

static void bases(void **state)
{
    struct url_base base = { 0 };

    (void)state;
    assert_int_equal(url_base_set(&base, bytes_of_string("x")), URL_INVALID);
    assert_int_equal(url_base_set(&base, bytes_of_string("tel:1")), URL_OTHER);
    assert_int_equal(base.text.len, 0);
    set_base(&base, "HTTP://u@H:81/a/%7eb?c/d#e");
    check_base(&base, "http://u@h:81/a/~b?c/d", "http://u@h:81",
               "http://u@h:81/a/", "http://u@h:81/a/~b");
    assert_int_equal(url_base_move(&base, bytes_of_string("//")), URL_INVALID);
    assert_int_equal(url_base_set(&base, bytes_of_string("/x")), URL_INVALID);
    check_base(&base, "http://u@h:81/a/~b?c/d", "http://u@h:81",
               "http://u@h:81/a/", "http://u@h:81/a/~b");
    assert_int_equal(url_base_move(&base, bytes_of_string("../s/")), URL_OK);
    check_base(&base, "http://u@h:81/s/", "http://u@h:81", "http://u@h:81/s/",
               "http://u@h:81/s/");
    assert_int_equal(url_base_move(&base, bytes_of_string("")), URL_OK);
    assert_int_equal(url_base_move(&base, bytes_of_string("//g")), URL_OK);
    check_base(&base, "http://g/", "http://g", "http://g/", "http://g/");
    url_base_fini(&base);
    url_base_fini(&base);
    assert_int_equal(base.text.capacity, 0);
}

static void out_is_appended_to(void **state)
{
    struct url_base base = { 0 };
    struct buf out = { 0 };
    const uint8_t *data;

    (void)state;
    set_base(&base, "https://h/");
    assert_int_equal(url_resolve(&base, bytes_of_string("a"), &out), URL_OK);
    data = out.data;
    assert_int_equal(url_resolve(&base, bytes_of_string("/%"), &out), URL_OK);
    assert_int_equal(url_resolve(&base, bytes_of_string("//["), &out),
                     URL_INVALID);
    assert_int_equal(url_resolve(&base, bytes_of_string("x:\ty"), &out),
                     URL_OTHER);
    assert_int_equal(out.len, strlen("https://h/ahttps://h/%"));
    assert_memory_equal(out.data, "https://h/ahttps://h/%", out.len);
    assert_ptr_equal(out.data, data);
    buf_fini(&out);
    url_base_fini(&base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relative_references),
        cmocka_unit_test(schemes),
        cmocka_unit_test(without_a_base),
        cmocka_unit_test(blanks),
        cmocka_unit_test(escapes),
        cmocka_unit_test(classes_of_bytes),
        cmocka_unit_test(bases),
        cmocka_unit_test(out_is_appended_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
