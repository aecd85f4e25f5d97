/*
 * test_encoding.c: pages into UTF-8, by tables; and for any bytes: what
 * comes out is well-formed wherever it was not the page itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <utf8proc.h>

#include <cmocka.h>

#include "deltafold/job.h"
#include "jobs/links/encoding.h"
#include "jobs/links/encoding_labels.h"
#include "tests/html_links.h"
#include "tests/html_pages.h"

#define TEXT(s)                                                               \
    {                                                                         \
        s, sizeof(s) - 1                                                      \
    }

struct text {
    const char *data;
    size_t len;
};

static void check(struct bytes content, struct bytes wanted)
{
    struct buf room = { 0 };
    struct buf decoded = { 0 };
    struct bytes page = html_links_page(&room, content);
    struct bytes utf8;

    assert_true(encoding_to_utf8(page, &decoded, &utf8));
    if (!bytes_equal(utf8, wanted)) {
        print_message("%.*s\n--- is\n%.*s\n--- wanted\n%.*s\n",
                      (int)content.len, (const char *)content.data,
                      (int)utf8.len, (const char *)utf8.data, (int)wanted.len,
                      (const char *)wanted.data);
        fail();
    }
    /* Twice into the same room is the same. */
    assert_true(encoding_to_utf8(page, &decoded, &utf8));
    assert_true(bytes_equal(utf8, wanted));
    buf_fini(&room);
    buf_fini(&decoded);
}

static void pages(void **state)
{
    static const struct {
        struct text page;
        struct text utf8;
    } examples[] = {
        /* nothing declared */
        { TEXT(""), TEXT("") },
        { TEXT("abc"), TEXT("abc") },
        { TEXT("caf\xC3\xA9"), TEXT("caf\xC3\xA9") },
        { TEXT("caf\xE9"), TEXT("caf\xC3\xA9") },
        { TEXT("\x80\x81\x93\x9F\xFF"),
          TEXT("\u20AC\xC2\x81\u201C\u0178\u00FF") },
        { TEXT("\xC3\xA9\xE9"), TEXT("\u00C3\u00A9\u00E9") },
        { TEXT("\xED\xA0\x80"), TEXT("\u00ED\u00A0\u20AC") },
        /* marks */
        { TEXT("\xEF\xBB\xBF"), TEXT("") },
        { TEXT("\xEF\xBB\xBF<meta charset=latin1>\xC3\xA9"),
          TEXT("<meta charset=latin1>\xC3\xA9") },
        { TEXT("\xEF\xBB\xBF\xE9x"), TEXT("\uFFFDx") },
        { TEXT("\xFF\xFE<\0a\0\xE9\0"), TEXT("<a\u00E9") },
        { TEXT("\xFE\xFF\0<\0a\0\xE9"), TEXT("<a\u00E9") },
        { TEXT("\xFF\xFE\x3D\xD8\x00\xDE"), TEXT("\U0001F600") },
        { TEXT("\xFF\xFE\x3D\xD8x\0"), TEXT("\uFFFDx") },
        { TEXT("\xFF\xFE\x00\xDEx\0y"), TEXT("\uFFFDx\uFFFD") },
        { TEXT("\xFF\xFE\x3D\xD8"), TEXT("\uFFFD") },
        { TEXT("<\0?\0x\0>\0"), TEXT("<?x>") },
        { TEXT("\0<\0?\0x\0>"), TEXT("<?x>") },
        /* declared */
        { TEXT("<meta charset=utf-8>\xC3\xA9\xE9-\xE2\x82-\xF0\x9F\x98"),
          TEXT("<meta charset=utf-8>\u00E9\uFFFD-\uFFFD-\uFFFD") },
        { TEXT("<meta charset=utf-8>\xED\xA0\x80\xC0\xAF"),
          TEXT("<meta charset=utf-8>\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD") },
        { TEXT("<meta charset=ISO-8859-1>\xC3\xA9"),
          TEXT("<meta charset=ISO-8859-1>\u00C3\u00A9") },
        { TEXT("<META CHARSET = ' Latin1 '>\x80"),
          TEXT("<META CHARSET = ' Latin1 '>\u20AC") },
        { TEXT("<meta charset=utf-16>\xC3\xA9"),
          TEXT("<meta charset=utf-16>\u00E9") },
        { TEXT("<meta charset=nonsense>\xC3\xA9"),
          TEXT("<meta charset=nonsense>\u00E9") },
        { TEXT("<meta http-equiv=Content-Type content='text/html; "
               "charset=windows-1252'>\xC3\xA9"),
          TEXT("<meta http-equiv=Content-Type content='text/html; "
               "charset=windows-1252'>\u00C3\u00A9") },
        /* not declared: the wrong place */
        { TEXT("<meta content='text/html; charset=latin1'>\xC3\xA9"),
          TEXT("<meta content='text/html; charset=latin1'>\u00E9") },
        { TEXT("<!-- <meta charset=latin1> -->\xC3\xA9"),
          TEXT("<!-- <meta charset=latin1> -->\u00E9") },
        { TEXT("<p title='<meta charset=latin1>'>\xC3\xA9"),
          TEXT("<p title='<meta charset=latin1>'>\u00E9") },
        { TEXT("<metax charset=latin1>\xC3\xA9"),
          TEXT("<metax charset=latin1>\u00E9") },
    };

    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        check(bytes_of(examples[i].page.data, examples[i].page.len),
              bytes_of(examples[i].utf8.data, examples[i].utf8.len));
    }
}

static void prescans(void **state)
{
    static const struct {
        const char *page;
        enum encoding encoding;
    } examples[] = {
        { "<meta charset=\"utf8\">", ENCODING_UTF8 },
        { "<meta/charset='utf8'/>", ENCODING_UTF8 },
        { "<meta charset=utf8", ENCODING_UTF8 },
        { "<meta charset=latin1 charset=utf8>", ENCODING_OTHER },
        { "<meta charset=x><meta charset=utf8>", ENCODING_UTF8 },
        { "<!--><meta charset=utf8>-->", ENCODING_UTF8 },
        { "<!DOCTYPE html><html><head><meta charset=gbk>", ENCODING_OTHER },
        { "</x y='><meta charset=utf8>'><meta charset=gbk>", ENCODING_OTHER },
        { "<?xml?><meta charset=utf8>", ENCODING_UTF8 },
        { "<3 <meta charset=utf8>", ENCODING_UTF8 },
        { "<script>'<meta charset=utf8>'", ENCODING_UTF8 },
        { "<meta content='charset=utf8' http-equiv=content-type>",
          ENCODING_UTF8 },
        { "<meta content='charset x charset = \"utf8\"' "
          "http-equiv=content-type>",
          ENCODING_UTF8 },
        { "<meta content='charset=\"utf8' http-equiv=content-type>",
          ENCODING_UNKNOWN },
        { "<meta content='charset=utf8;x' http-equiv=refresh>",
          ENCODING_UNKNOWN },
        { "<meta content='charset=gbk' http-equiv=content-type "
          "charset=utf8>",
          ENCODING_UTF8 },
        { "<meta charset>", ENCODING_UNKNOWN },
        { "<meta", ENCODING_UNKNOWN },
        { "<", ENCODING_UNKNOWN },
    };

    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        if (encoding_prescan(bytes_of_string(examples[i].page)) !=
            examples[i].encoding) {
            fail_msg("%s", examples[i].page);
        }
    }
}

/* Only what ends within the first 1024 bytes counts. */
static void prescan_is_bounded(void **state)
{
    const struct bytes meta = bytes_of_string("<meta charset=gbk>");
    char page[2 * ENCODING_PRESCAN];

    (void)state;
    for (size_t at = ENCODING_PRESCAN - 2 * meta.len; at < ENCODING_PRESCAN;
         at++) {
        memset(page, ' ', sizeof page);
        memcpy(page + at, meta.data, meta.len);
        assert_int_equal(encoding_prescan(bytes_of(page, sizeof page)),
                         at + meta.len - 1 <= ENCODING_PRESCAN
                             ? ENCODING_OTHER
                             : ENCODING_UNKNOWN);
    }
}

static void labels(void **state)
{
    (void)state;
    assert_int_equal(encoding_of_label(bytes_of_string("\n UTF-8\t")),
                     ENCODING_UTF8);
    assert_int_equal(encoding_of_label(bytes_of_string("unicodefffe")),
                     ENCODING_UTF8);
    assert_int_equal(encoding_of_label(bytes_of_string("us-ascii")),
                     ENCODING_OTHER);
    assert_int_equal(encoding_of_label(bytes_of_string("Shift_JIS")),
                     ENCODING_OTHER);
    assert_int_equal(encoding_of_label(bytes_of_string("utf-8 utf8")),
                     ENCODING_UNKNOWN);
    assert_int_equal(encoding_of_label(bytes_of_string("utf-88")),
                     ENCODING_UNKNOWN);
    assert_int_equal(encoding_of_label(bytes_of_string("tf-8")),
                     ENCODING_UNKNOWN);
    assert_int_equal(encoding_of_label(bytes_of_string("")), ENCODING_UNKNOWN);
    assert_int_equal(encoding_of_label(bytes_of("utf-8\0", 6)),
                     ENCODING_UNKNOWN);
}

static bool is_well_formed(struct bytes text)
{
    for (size_t at = 0; at < text.len;) {
        utf8proc_int32_t point;
        utf8proc_ssize_t len = utf8proc_iterate(
            text.data + at, (utf8proc_ssize_t)(text.len - at), &point);

        if (len <= 0) {
            return false;
        }
        at += (size_t)len;
    }
    return true;
}

static void any_bytes(void **state)
{
    static const char *const heads[] = {
        "",         "<meta charset=utf-8>", "<meta charset=gbk>", "\xFF\xFE",
        "\xFE\xFF", "\xEF\xBB\xBF"
    };
    uint64_t seed = (uint64_t)time(NULL);
    struct buf content = { 0 };
    struct buf room = { 0 };
    struct buf decoded = { 0 };

    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (unsigned round = 0; round < 6000; round++) {
        size_t len = html_pages_random(&seed) % 100;
        struct bytes utf8;

        buf_reset(&content);
        assert_true(buf_append_string(&content, heads[round % 6]));
        while (len-- > 0) {
            uint64_t r = html_pages_random(&seed);
            static const char likely[] = "aaa<\xC3\xA9\xE2\x82\xAC\xF0\x9F";

            assert_true(buf_append_byte(
                &content,
                r % 3 == 0 ? (uint8_t)(r >> 8)
                           : (uint8_t)likely[(r >> 8) % (sizeof likely - 1)]));
        }
        assert_true(encoding_to_utf8(
            html_links_page(&room, buf_bytes(&content)), &decoded, &utf8));
        assert_true(is_well_formed(utf8));
    }
    buf_fini(&content);
    buf_fini(&room);
    buf_fini(&decoded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages),
        cmocka_unit_test(prescans),
        cmocka_unit_test(prescan_is_bounded),
        cmocka_unit_test(labels),
        cmocka_unit_test(any_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
