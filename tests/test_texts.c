/*
 * Text as others write it: which bytes are UTF-8, strings of JSON, fields of
 * TSV.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/json_text.h"
#include "base/tsv.h"
#include "base/utf8.h"
#include "job_conformance.h"

static bool is_well_formed(const char *text)
{
    struct bytes b = bytes_of_string(text);

    return utf8_is_well_formed(b.data, b.len);
}

static void utf8_is_told_from_other_bytes(void **state)
{
    static const char *const good[] = { "",
                                        "a",
                                        "\xc2\x80",
                                        "\xdf\xbf",
                                        "\xe0\xa0\x80",
                                        "\xed\x9f\xbf",
                                        "\xee\x80\x80",
                                        "\xf0\x90\x80\x80",
                                        "\xf4\x8f\xbf\xbf" };
    static const char *const bad[] = { "\x80",
                                       "\xc0\xaf",
                                       "\xc1\xbf",
                                       "\xc3",
                                       "\xe0\x9f\xbf",
                                       "\xed\xa0\x80",
                                       "\xf0\x8f\xbf\xbf",
                                       "\xf4\x90\x80\x80",
                                       "\xf5\x80\x80\x80",
                                       "\xe2\x82",
                                       "a\xff" };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(is_well_formed(good[i]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(is_well_formed(bad[i]));
    }
}

/* ---- JSON ---- */

static void strings_are_written_with_the_shortest_escapes(void **state)
{
    static const struct {
        const char *text;
        const char *json;
    } cases[] = {
        { "", "\"\"" },
        { "a/b", "\"a/b\"" },
        { "\"\\", "\"\\\"\\\\\"" },
        { "\b\f\n\r\t\v", "\"\\b\\f\\n\\r\\t\\u000b\"" },
        { "\x1f\x7f", "\"\\u001f\x7f\"" },
        { "\xc3\xa4\n\xf0\x9f\x98\x80", "\"\xc3\xa4\\n\xf0\x9f\x98\x80\"" },
        { "a\xff\xe2\x82z", "\"a\xef\xbf\xbd\xef\xbf\xbdz\"" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = { 0 };

        assert_true(json_text_append(&out, bytes_of_string(cases[i].text)));
        assert_true(buf_append_byte(&out, 0));
        assert_string_equal(out.data, cases[i].json);
        buf_fini(&out);
    }
}

static void strings_are_read_as_they_are_meant(void **state)
{
    static const struct {
        const char *json;
        const char *text; /* NULL: it is none */
    } cases[] = {
        { "", "" },
        { "\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t" },
        { "\\u00E4\\u20aC", "\xc3\xa4\xe2\x82\xac" },
        { "\\ud83d\\uDE00x", "\xf0\x9f\x98\x80x" },
        { "\\ud83d", NULL },
        { "\\ud83dx", NULL },
        { "\\ud83d\\n", NULL },
        { "\\ud83d\\ud83d", NULL },
        { "\\ude00", NULL },
        { "\\ud83d\\ude0", NULL },
        { "\\u12g4", NULL },
        { "\\u123", NULL },
        { "\\", NULL },
        { "\\x", NULL },
        { "a\"b", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes raw = bytes_of_string(cases[i].json);
        /* Just the room that is asked for: the sanitizer looks. */
        uint8_t *out = malloc(raw.len + 1);
        size_t len;
        bool ok;

        assert_non_null(out);
        ok = json_text_unescape(raw, out, &len);
        if (ok != (cases[i].text != NULL)) {
            fail_msg("%s: %d", cases[i].json, ok);
        }
        if (ok) {
            out[len] = 0;
            assert_string_equal(out, cases[i].text);
        }
        free(out);
    }
}

/* ---- TSV ---- */

static void fields_come_back(void **state)
{
    uint64_t noise = 11;

    (void)state;
    for (unsigned i = 0; i < 3000; i++) {
        uint8_t text[20];
        struct buf field = { 0 };
        size_t len = random_below(&noise, sizeof text);

        for (size_t k = 0; k < len; k++) {
            text[k] = (uint8_t) "\t\n\r\\tnra\xff"[random_below(&noise, 9)];
        }
        assert_true(tsv_append(&field, bytes_of(text, len)));
        assert_true(buf_append_byte(&field, '\t'));
        assert_ptr_equal(memchr(field.data, '\t', field.len),
                         field.data + field.len - 1);
        field.len--;
        assert_true(tsv_unescape(buf_bytes(&field), field.data, &field.len));
        assert_true(bytes_equal(buf_bytes(&field), bytes_of(text, len)));
        buf_fini(&field);
    }
}

static void a_backslash_begins_one_of_four(void **state)
{
    static const char *const bad[] = { "\\", "a\\", "\\N", "\\x", "\\0" };
    uint8_t out[8];
    size_t len;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(tsv_unescape(bytes_of_string(bad[i]), out, &len));
    }
}

static void fields_lie_between_tabs(void **state)
{
    static const char *const fields[] = { "a", "", "b" };
    struct bytes rest = bytes_of_string("a\t\tb");
    bool more = true;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_true(more);
        assert_true(
            bytes_equal(tsv_take(&rest, &more), bytes_of_string(fields[i])));
    }
    assert_false(more);
    assert_int_equal(tsv_take(&rest, &more).len, 0);
    assert_false(more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_is_told_from_other_bytes),
        cmocka_unit_test(strings_are_written_with_the_shortest_escapes),
        cmocka_unit_test(strings_are_read_as_they_are_meant),
        cmocka_unit_test(fields_come_back),
        cmocka_unit_test(a_backslash_begins_one_of_four),
        cmocka_unit_test(fields_lie_between_tabs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
