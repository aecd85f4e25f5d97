/* Heads and chunks: input/fields.h, input/http.h, input/chunked.h and
 * input/warc_record.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/buf.h"
#include "input/chunked.h"
#include "input/fields.h"
#include "input/http.h"
#include "input/warc_record.h"
#include "tests/packed.h"

#define BYTES(literal) bytes_of(literal, sizeof(literal) - 1)

static void check_same(struct bytes got, const char *want)
{
    if (!bytes_equal(got, bytes_of_string(want))) {
        fail_msg("'%.*s' is not '%s'", (int)got.len, (const char *)got.data,
                 want);
    }
}

/* ---- fields ------------------------------------------------------------ */

static void test_fields(void **state)
{
    char head[] = "First: line\r\nName: value \r\nBare\nFolded: one\r\n"
                  "\ttwo\n three\r\nEmpty:\r\n:no name\r\nLast: a: b\r\n\r\n"
                  "Behind: it\r\n";
    static const char *const want[][2] = {
        { "Name", "value" }, { "", "Bare" },    { "Folded", "" },
        { "Empty", "" },     { "", "no name" }, { "Last", "a: b" },
    };
    struct bytes rest = bytes_of(head, sizeof head - 1);
    struct bytes line;
    struct field field;

    (void)state;
    fields_unfold((uint8_t *)head, sizeof head - 1);
    assert_true(fields_line(&rest, &line));
    check_same(line, "First: line");
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        assert_true(fields_next(&rest, &field));
        check_same(field.name, want[i][0]);
        if (i == 2) {
            /* What was between the lines is blank. */
            check_same(field.value, "one  \ttwo  three");
        } else {
            check_same(field.value, want[i][1]);
        }
    }
    assert_false(fields_next(&rest, &field));
    check_same(rest, "Behind: it\r\n");
}

static void test_folded_first_line(void **state)
{
    char head[] = "HTTP/1.1 200 OK\r\n X: y\r\n z\r\n\r\n";
    struct bytes rest = bytes_of(head, sizeof head - 1);
    struct bytes line;

    (void)state;
    fields_unfold((uint8_t *)head, sizeof head - 1);
    assert_true(fields_line(&rest, &line));
    check_same(line, "HTTP/1.1 200 OK");
    assert_true(fields_line(&rest, &line));
    check_same(line, " X: y   z");
}

static void test_words(void **state)
{
    struct bytes list = BYTES(" gzip ,, chunked,\tbr");
    struct bytes word;

    (void)state;
    assert_true(fields_word(&list, &word));
    check_same(word, "gzip");
    assert_true(fields_word(&list, &word));
    check_same(word, "chunked");
    assert_true(fields_word(&list, &word));
    check_same(word, "br");
    assert_false(fields_word(&list, &word));
    assert_true(fields_is(BYTES("Content-LENGTH"), "content-length"));
    assert_false(fields_is(BYTES("content-lengths"), "content-length"));
    assert_false(fields_is(BYTES("content-lengt"), "content-length"));
    /* Not what differs from a letter by the same bit as its case does. */
    assert_false(fields_is(BYTES("warc\x0f"), "warc/"));
    assert_true(fields_begins(BYTES("HTTPS://a"), "https://"));
}

/* ---- HTTP -------------------------------------------------------------- */

static void test_status_lines(void **state)
{
    static const struct {
        const char *line;
        unsigned status; /* 0: it is none */
    } cases[] = {
        { "HTTP/1.1 200 OK", 200 },
        { "HTTP/1.0 404 Not Found", 404 },
        { "http/2 200", 200 },
        { "HTTP/1.1 200", 200 },
        { "HTTP/1.1  200 OK", 200 },
        { "HTTP/1.1 999 x", 999 },
        { "HTTP/1.1 2000 OK", 0 },
        { "HTTP/1.1 20 OK", 0 },
        { "HTTP/1.1 020 OK", 0 },
        { "HTTP/1.1 2x0 OK", 0 },
        { "HTTP/1.1", 0 },
        { "HTTP/ 200 OK", 0 },
        { "HTTP/1.1 ", 0 },
        { "ICY 200 OK", 0 },
        { "HTTP/1.1\t200 OK", 0 },
        { "<html>", 0 },
        { "", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_head http;
        struct buf head = { 0 };

        assert_true(buf_printf(&head, "%s\r\n\r\n", cases[i].line));
        if (http_parse(buf_bytes(&head), &http) != (cases[i].status != 0) ||
            (cases[i].status != 0 && http.status != cases[i].status)) {
            fail_msg("'%s'", cases[i].line);
        }
        buf_fini(&head);
    }
}

static void test_codings(void **state)
{
    static const struct {
        const char *fields;
        bool is_decodable;
        bool is_chunked;
        enum decode_kind coding;
    } cases[] = {
        { "", true, false, DECODE_PLAIN },
        { "Content-Encoding: gzip\r\n", true, false, DECODE_GZIP },
        { "content-encoding:X-GZIP\r\n", true, false, DECODE_GZIP },
        { "Content-Encoding: deflate\r\n", true, false, DECODE_ZLIB },
        { "Content-Encoding: zstd\r\n", true, false, DECODE_ZSTD },
        { "Content-Encoding: identity, gzip\r\n", true, false, DECODE_GZIP },
        { "Content-Encoding:\r\n", true, false, DECODE_PLAIN },
        { "Content-Encoding: br\r\n", false, false, DECODE_PLAIN },
        { "Content-Encoding: gzip, br\r\n", false, false, DECODE_GZIP },
        { "Content-Encoding: gzip, gzip\r\n", false, false, DECODE_GZIP },
        { "Transfer-Encoding: Chunked\r\n", true, true, DECODE_PLAIN },
        { "Transfer-Encoding: gzip, chunked\r\n", true, true, DECODE_GZIP },
        { "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", true,
          true, DECODE_GZIP },
        { "Content-Encoding: gzip\r\nTransfer-Encoding: gzip\r\n", false,
          false, DECODE_GZIP },
        { "Content-Encoding: chunked\r\n", false, false, DECODE_PLAIN },
        { "X-Crawl-Content-Encoding: br\r\n", true, false, DECODE_PLAIN },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_head http;
        struct buf head = { 0 };

        assert_true(
            buf_printf(&head, "HTTP/1.1 200 OK\r\n%s\r\n", cases[i].fields));
        assert_true(http_parse(buf_bytes(&head), &http));
        if (http.is_decodable != cases[i].is_decodable ||
            http.is_chunked != cases[i].is_chunked ||
            http.coding != cases[i].coding) {
            fail_msg("%s", cases[i].fields);
        }
        buf_fini(&head);
    }
}

/* Both forms of "deflate", at all levels, of much and little. */
static void test_deflate(void **state)
{
    struct buf text = { 0 };

    (void)state;
    for (int i = 0; i < 400; i++) {
        struct buf packed = { 0 };

        packed_zlib(&packed, buf_bytes(&text));
        assert_int_equal(http_deflate(buf_bytes(&packed)), DECODE_ZLIB);
        buf_reset(&packed);
        packed_deflate(&packed, buf_bytes(&text));
        assert_int_equal(http_deflate(buf_bytes(&packed)), DECODE_DEFLATE);
        buf_fini(&packed);
        assert_true(buf_append_byte(&text, (uint8_t)random()));
    }
    buf_fini(&text);
}

/* ---- chunks ------------------------------------------------------------ */

/* Steps over coded in runs of at most `most` bytes. */
static struct chunked run(struct bytes coded, size_t most, struct buf *content)
{
    struct chunked c = { .state = CHUNKED_SIZE };

    while (coded.len > 0 && c.state != CHUNKED_BAD && c.state != CHUNKED_END) {
        size_t len = (size_t)random() % most + 1;
        struct bytes in =
            bytes_of(coded.data, len < coded.len ? len : coded.len);
        struct bytes got;
        size_t given = in.len;

        chunked_step(&c, &in, &got);
        assert_true(buf_append(content, got.data, got.len));
        coded = bytes_of(coded.data + (given - in.len),
                         coded.len - (given - in.len));
    }
    return c;
}

static void test_chunks(void **state)
{
    static const struct {
        const char *coded;
        const char *content; /* NULL: bad */
    } cases[] = {
        { "0\r\n\r\n", "" },
        { "5\r\nhello\r\n0\r\n\r\n", "hello" },
        { "5\nhello\r\n0\n\n", "hello" },
        { "5\nhello\n0\n\n", NULL },
        { "0005\r\nhello\r\n000\r\n\r\n", "hello" },
        { "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n",
          "01234567890123456789" },
        { "0b\r\nhello world\r\n0\r\n\r\n", "hello world" },
        { "5;name=value\r\nhello\r\n0;x=\"y\"\r\n\r\n", "hello" },
        { "5 \r\nhello\r\n0\t\r\n\r\n", "hello" },
        { "5 ; name\r\nhello\r\n0\r\n\r\n", "hello" },
        { "2\r\n\r\n\r\n1\r\n0\r\n0\r\n\r\n", "\r\n0" },
        { "1\r\na\r\n0\r\nTrailer: 1\r\nOther: 2\r\n\r\n", "a" },
        { "1\r\na\r\n0\r\n", "a" }, /* no empty line */
        { "5\r\nhel", NULL },
        { "5\r\nhello", NULL },
        { "5\r\nhello\r\n", NULL },
        { "5\r\nhello\r\n0", NULL },
        { "5\r\nhello\r\n0\r\nTrail", NULL },
        { "5\r\nhello!\r\n0\r\n\r\n", NULL },
        { "5\r\nhello\r\r\n0\r\n\r\n", NULL },
        { "6\r\nhello\r\n0\r\n\r\n", NULL },
        { "5\rhello\r\n0\r\n\r\n", NULL },
        { "5\r5\nhello\r\n0\r\n\r\n", NULL },
        { "5 5\r\nhello\r\n0\r\n\r\n", "hello" }, /* as an extension */
        { "5x\r\nhello\r\n0\r\n\r\n", NULL },
        { "0x5\r\nhello\r\n0\r\n\r\n", NULL },
        { "-5\r\nhello\r\n0\r\n\r\n", NULL },
        { "\r\nhello\r\n0\r\n\r\n", NULL },
        { ";\r\n\r\n", NULL },
        { "1\r\na\r\n\r\n0\r\n\r\n", NULL },
        { "ffffffffffffffff\r\na", NULL },
        { "10000000000000000\r\na", NULL },
        { "fffffffffffffffffffff\r\na", NULL },
        { "00000000000000000000000000001\r\na\r\n0\r\n\r\n", "a" },
        { "0\r\n\rx", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t most = 1; most < 40; most += most == 1 ? 1 : 18) {
            struct buf content = { 0 };
            struct chunked c =
                run(bytes_of_string(cases[i].coded), most, &content);

            if (chunked_is_whole(&c) != (cases[i].content != NULL)) {
                fail_msg("state %d after '%s'", (int)c.state, cases[i].coded);
            }
            if (cases[i].content != NULL) {
                check_same(buf_bytes(&content), cases[i].content);
            }
            buf_fini(&content);
        }
    }
}

static void test_random_chunks(void **state)
{
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    print_message("seed %u\n", seed);
    srandom(seed);
    for (int round = 0; round < 300; round++) {
        struct buf text = { 0 };
        struct buf coded = { 0 };
        struct buf content = { 0 };
        size_t len = (size_t)random() % 3000;
        struct chunked c;

        while (text.len < len) {
            assert_true(buf_append_byte(&text, (uint8_t)random()));
        }
        packed_chunks(&coded, buf_bytes(&text), 1 + (size_t)random() % 700,
                      random() % 2 == 0);
        c = run(buf_bytes(&coded), 1 + (size_t)random() % 100, &content);
        assert_int_equal(c.state, CHUNKED_END);
        assert_true(bytes_equal(buf_bytes(&content), buf_bytes(&text)));
        buf_fini(&text);
        buf_fini(&coded);
        buf_fini(&content);
    }
}

static void test_where_chunks_begin(void **state)
{
    (void)state;
    assert_true(chunked_begins(BYTES("5\r\nhello")));
    assert_true(chunked_begins(BYTES("FF;x=y\r\n")));
    assert_true(chunked_begins(BYTES("1a \r\n")));
    assert_true(chunked_begins(BYTES("12345678901234567")));
    assert_true(chunked_begins(BYTES("0")));
    assert_false(chunked_begins(BYTES("")));
    assert_false(chunked_begins(BYTES("<html>")));
    assert_false(chunked_begins(BYTES("beauty")));
    assert_false(chunked_begins(BYTES("\r\n5")));
    assert_false(chunked_begins(BYTES("\x1f\x8b")));
}

/* ---- WARC -------------------------------------------------------------- */

static void test_good_records(void **state)
{
    struct warc_record r;

    (void)state;
    assert_null(warc_record_parse(
        BYTES("WARC/1.1\r\nwarc-type: RESPONSE\r\nWARC-TARGET-URI: "
              "<https://a/?b=c>\r\nX: y\r\ncontent-length:  0012\r\n\r\n"),
        &r));
    assert_int_equal(r.type, WARC_RESPONSE);
    assert_int_equal(r.length, 12);
    check_same(r.uri, "https://a/?b=c");
    assert_true(r.is_web);
    assert_false(r.is_partial);
    assert_null(warc_record_parse(
        BYTES("WARC/1.0\nWARC-Type: resource\nWARC-Target-URI: ftp://a/\n"
              "WARC-Truncated: length\nContent-Length: "
              "9223372036854775799\n\n"),
        &r));
    assert_int_equal(r.type, WARC_RESOURCE);
    assert_true(r.length == UINT64_C(9223372036854775799));
    check_same(r.uri, "ftp://a/");
    assert_false(r.is_web);
    assert_true(r.is_partial);
    assert_null(warc_record_parse(
        BYTES("WARC/1.0\r\nWARC-Type: request\r\nContent-Length: 0\r\n\r\n"),
        &r));
    assert_int_equal(r.type, WARC_OTHER);
    assert_null(warc_record_parse(
        BYTES(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: HTTP://a\r\n"
            "WARC-Segment-Number: 1\r\nContent-Length: 0\r\n\r\n"),
        &r));
    assert_true(r.is_web);
    assert_true(r.is_partial);
}

static void test_bad_records(void **state)
{
    static const struct {
        const char *head;
        const char *why;
    } cases[] = {
        { "WARC/0.18\r\nWARC-Type: request\r\nContent-Length: 0\r\n\r\n",
          "version" },
        { "WARC/1.2\r\nWARC-Type: request\r\nContent-Length: 0\r\n\r\n",
          "version" },
        { "WARC/1.01\r\nWARC-Type: request\r\nContent-Length: 0\r\n\r\n",
          "version" },
        { "", "version" },
        { "WARC/1.0\r\nWARC-Type: request\r\n\r\n", "no Content-Length" },
        { "WARC/1.0\r\nContent-Length: 0\r\n\r\n", "no WARC-Type" },
        { "WARC/1.0\r\nWARC-Type: request\r\nContent-Length:\r\n\r\n",
          "not a number" },
        { "WARC/1.0\r\nWARC-Type: request\r\nContent-Length: -1\r\n\r\n",
          "not a number" },
        { "WARC/1.0\r\nWARC-Type: request\r\nContent-Length: 1 2\r\n\r\n",
          "not a number" },
        { "WARC/1.0\r\nWARC-Type: request\r\nContent-Length: 0x10\r\n\r\n",
          "not a number" },
        { "WARC/1.0\r\nWARC-Type: request\r\nContent-Length: "
          "18446744073709551617\r\n\r\n",
          "not a number" },
        { "WARC/1.0\r\nWARC-Type: request\r\nContent-Length: 1\r\n"
          "content-length: 2\r\n\r\n",
          "twice" },
        { "WARC/1.0\r\nWARC-Type: request\r\nno field\r\nContent-Length: "
          "1\r\n\r\n",
          "colon" },
        { "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 1\r\n\r\n",
          "no WARC-Target-URI" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct warc_record r;
        const char *wrong =
            warc_record_parse(bytes_of_string(cases[i].head), &r);

        if (wrong == NULL || strstr(wrong, cases[i].why) == NULL) {
            fail_msg("%s: %s", cases[i].head, wrong);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_folded_first_line),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_status_lines),
        cmocka_unit_test(test_codings),
        cmocka_unit_test(test_deflate),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_random_chunks),
        cmocka_unit_test(test_where_chunks_begin),
        cmocka_unit_test(test_good_records),
        cmocka_unit_test(test_bad_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
