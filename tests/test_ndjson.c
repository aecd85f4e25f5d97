/*
 * JSON: what is one, what is none and why, and the canonical form; lines of
 * it as records.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "input/json.h"
#include "tests/record_text.h"

/* ---- what is JSON ---- */

/* A copy with eight bytes behind it, and no more. */
static enum json_result parse(struct json *j, struct bytes text,
                              uint8_t **room)
{
    *room = malloc(text.len + 8);
    assert_non_null(*room);
    memcpy(*room, text.data, text.len);
    memset(*room + text.len, '"', 8);
    return json_parse(j, bytes_of(*room, text.len));
}

/* The canonical form, or "!AT why". */
static const char *outcome(struct bytes text)
{
    static struct buf out;
    struct json j = { 0 };
    uint8_t *room;

    buf_reset(&out);
    switch (parse(&j, text, &room)) {
    case JSON_OK:
        assert_true(json_canonical(&j, 0, &out));
        break;
    case JSON_BAD:
        assert_true(buf_printf(&out, "!%zu %s", j.why_at, j.why));
        break;
    case JSON_NO_MEMORY:
    default:
        fail();
    }
    assert_true(buf_append_byte(&out, 0));
    json_fini(&j);
    free(room);
    return (const char *)out.data;
}

/* A text, and its canonical form or what is wrong with it. */
static const char *const text_cases[][2] = {
    { "null", "null" },
    { " true ", "true" },
    { "\tfalse\r\n", "false" },
    { "[]", "[]" },
    { "{}", "{}" },
    { "[ ]", "[]" },
    { "{ }", "{}" },
    { "[1, 2 ,3]", "[1,2,3]" },
    { "[[],{},[[]]]", "[[],{},[[]]]" },
    { "{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}" },
    { "{\"b\":{\"d\":1,\"c\":[{\"f\":0,\"e\":0}]},\"a\":2}",
      "{\"a\":2,\"b\":{\"c\":[{\"e\":0,\"f\":0}],\"d\":1}}" },
    { "{\"aa\":1,\"a\":2,\"\":3}", "{\"\":3,\"a\":2,\"aa\":1}" },
    { "{\"\\u0062\":1,\"a\":2}", "{\"a\":2,\"b\":1}" },
    { "{\"a\":{\"x\":1},\"b\":{\"x\":1}}",
      "{\"a\":{\"x\":1},\"b\":{\"x\":1}}" },
    { "[1.0,1e0,-0,1e2]", "[1,1,0,100]" },
    { "\"\"", "\"\"" },
    { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\"" },
    { "\"\\u000a\\u001F\\u007f\\u00e9\\u20AC\"",
      "\"\\n\\u001f\x7f\xc3\xa9\xe2\x82\xac\"" },
    { "\"\\ud83d\\uDE00\"", "\"\xf0\x9f\x98\x80\"" },
    { "\"\\u0000\"", "\"\\u0000\"" },
    { "\"\xe2\x80\xa8\xc2\x85\xef\xbf\xbf\"",
      "\"\xe2\x80\xa8\xc2\x85\xef\xbf\xbf\"" },
    { "\"long enough for more than one step of eight bytes\"",
      "\"long enough for more than one step of eight bytes\"" },
    { "", "!0 ends where a value must be" },
    { "  ", "!2 ends where a value must be" },
    { "nul", "!0 not a value" },
    { "nulls", "!4 text behind the value" },
    { "True", "!0 not a value" },
    { "'a'", "!0 not a value" },
    { "1 2", "!2 text behind the value" },
    { "{} {}", "!3 text behind the value" },
    { "01", "!0 not a number" },
    { "-", "!0 not a number" },
    { "1.", "!0 not a number" },
    { ".1", "!0 not a value" },
    { "+1", "!0 not a value" },
    { "1e", "!0 not a number" },
    { "NaN", "!0 not a value" },
    { "-Infinity", "!0 not a number" },
    { "0x10", "!1 text behind the value" },
    { "[1,]", "!3 not a value" },
    { "[,1]", "!1 not a value" },
    { "[1 2]", "!3 neither ',' nor ']' behind an element" },
    { "[1", "!2 neither ',' nor ']' behind an element" },
    { "[", "!1 ends where a value must be" },
    { "{\"a\":1,}", "!7 a member without a name in quotes" },
    { "{a:1}", "!1 a member without a name in quotes" },
    { "{\"a\"}", "!4 no ':' behind a member's name" },
    { "{\"a\":}", "!5 not a value" },
    { "{\"a\":1 \"b\":2}", "!7 neither ',' nor '}' behind a member" },
    { "{\"a\":1", "!6 neither ',' nor '}' behind a member" },
    { "{1:2}", "!1 a member without a name in quotes" },
    { "{\"a\":1}}", "!7 text behind the value" },
    { "]", "!0 not a value" },
    { "// c\n1", "!0 not a value" },
    { "\"a", "!2 a string that does not end" },
    { "\"a\\\"", "!4 a string that does not end" },
    { "\"\\", "!1 unknown escape" },
    { "\"\\x41\"", "!1 unknown escape" },
    { "\"\\a\"", "!1 unknown escape" },
    { "\"\\u12\"", "!1 \\u without four hexadecimal digits" },
    { "\"\\u12g4\"", "!1 \\u without four hexadecimal digits" },
    { "\"\\ud83d\"", "!1 half of a surrogate pair alone" },
    { "\"\\ude00\"", "!1 half of a surrogate pair alone" },
    { "\"\\ud83d\\u0041\"", "!1 half of a surrogate pair alone" },
    { "\"\\ud83dxxxxxx\"", "!1 half of a surrogate pair alone" },
    { "\"a\tb\"", "!2 control character in a string" },
    { "\"a\x1f\"", "!2 control character in a string" },
    { "\"\xff\"", "!1 bytes that are not UTF-8" },
    { "\"\xc3\"", "!1 bytes that are not UTF-8" },
    { "\"\xc0\xaf\"", "!1 bytes that are not UTF-8" },
    { "\"\xed\xa0\x80\"", "!1 bytes that are not UTF-8" },
    { "\"\xf4\x90\x80\x80\"", "!1 bytes that are not UTF-8" },
    { "\xef\xbb\xbf{}", "!0 not a value" },
    { "[\xc2\xa0]", "!1 not a value" },
    { "{\"a\":1,\"a\":1}", "!8 two members of the same name" },
    { "{\"a\":1,\"\\u0061\":1}", "!8 two members of the same name" },
    { "[{\"x\":{\"a\":1,\"b\":2,\"a\":1}}]",
      "!20 two members of the same name" },
    { "[1e1000000000000000000]",
      "!1 a number whose exponent has more than 18 digits" },
    { "[1e999999999999999999]", "[1e+999999999999999999]" },
    { "[0.01e-999999999999999997]", "[1e-999999999999999999]" },
    { "[10e999999999999999999]",
      "!1 a number whose exponent has more than 18 digits" },
    { "[0.1e-999999999999999999]",
      "!1 a number whose exponent has more than 18 digits" },
};

static void texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof text_cases / sizeof *text_cases; i++) {
        assert_string_equal(outcome(bytes_of_string(text_cases[i][0])),
                            text_cases[i][1]);
    }
    assert_string_equal(outcome(bytes_of("[\0]", 3)), "!1 not a value");
    assert_string_equal(outcome(bytes_of("\"\0\"", 3)),
                        "!1 control character in a string");
    assert_string_equal(outcome(bytes_of("1\0", 2)),
                        "!1 text behind the value");
}

/* Arrays and objects in turn, n of them in each other. */
static void nest(struct buf *text, unsigned n)
{
    buf_reset(text);
    for (unsigned i = 0; i < n; i++) {
        assert_true(buf_append_string(text, i % 2 == 0 ? "[" : "{\"a\":"));
    }
    assert_true(buf_append_byte(text, '1'));
    for (unsigned i = n; i > 0; i--) {
        assert_true(buf_append_string(text, i % 2 == 1 ? "]" : "}"));
    }
}

static void deepest(void **state)
{
    struct buf text = { 0 };

    (void)state;
    nest(&text, JSON_DEPTH_MAX);
    assert_int_equal(outcome(buf_bytes(&text))[0], '[');
    nest(&text, JSON_DEPTH_MAX + 1);
    assert_non_null(strstr(outcome(buf_bytes(&text)), " more than 512 "));
    buf_fini(&text);
}

/* Objects with more members than are compared each with each. */
static void many_members(void **state)
{
    struct buf text = { 0 };

    (void)state;
    for (unsigned n = 1; n < 60; n++) {
        unsigned twice = n / 2;

        buf_reset(&text);
        assert_true(buf_append_byte(&text, '{'));
        for (unsigned i = n; i > 0; i--) {
            assert_true(
                buf_printf(&text, "\"n%02u\":%u%s", i, i, i > 1 ? "," : ""));
        }
        assert_true(buf_append_byte(&text, '}'));
        assert_memory_equal(outcome(buf_bytes(&text)), "{\"n01\":1", 8);
        text.len--;
        assert_true(buf_printf(&text, ",\"n%02u\":0}", twice + 1));
        assert_non_null(
            strstr(outcome(buf_bytes(&text)), " two members of the same"));
    }
    buf_fini(&text);
}

/* ---- random values: every spelling has one canonical form ---- */

static void put(struct buf *out, const char *s)
{
    assert_true(buf_append_string(out, s));
}

static void put_blanks(struct buf *out)
{
    static const char *const blanks[] = { "", "", " ", "\t", "\r", "  " };

    put(out, blanks[random() % 6]);
}

/* One of the characters, in one of its spellings. */
static void put_character(struct buf *out, unsigned c)
{
    static const char *const spellings[][3] = {
        { "a", "\\u0061", "a" },
        { "\\n", "\\u000a", "\\u000A" },
        { "\\\"", "\\u0022", "\\\"" },
        { "\\\\", "\\u005c", "\\u005C" },
        { "/", "\\/", "\\u002f" },
        { "\xc3\xa9", "\\u00e9", "\\u00E9" },
        { "\xf0\x9f\x98\x80", "\\ud83d\\ude00", "\\uD83D\\uDE00" },
        { "\\u0001", "\\u0001", "\\u0001" },
    };

    put(out, spellings[c][random() % 3]);
}

static void put_string(struct buf *out, uint64_t value)
{
    put(out, "\"");
    for (unsigned i = 0; i < value % 7; i++) {
        put_character(out, (unsigned)(value >> (3 * i) & 7));
    }
    /* Names of different values differ. */
    assert_true(buf_printf(out, "%llu\"", (unsigned long long)value));
}

static void put_number(struct buf *out, uint64_t value)
{
    static const char *const ends[] = { "", ".0", "00e-2", "E+0" };

    assert_true(buf_printf(out, "%llu%s", (unsigned long long)value,
                           ends[random() % 4]));
}

static void put_value(struct buf *out, uint64_t value, unsigned depth);

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    return x ^ x >> 27;
}

/* The value's members from a random one on, in a circle. */
static void put_object(struct buf *out, uint64_t value, unsigned depth)
{
    unsigned n = (unsigned)(value % 17);
    unsigned first = n == 0 ? 0 : (unsigned)random() % n;

    put(out, "{");
    for (unsigned k = 0; k < n; k++) {
        unsigned i = (first + k) % n;

        put(out, k == 0 ? "" : ",");
        put_blanks(out);
        put_string(out, value % 1000 + i);
        put_blanks(out);
        put(out, ":");
        put_blanks(out);
        put_value(out, mix(value + i), depth + 1);
        put_blanks(out);
    }
    put(out, "}");
}

static void put_array(struct buf *out, uint64_t value, unsigned depth)
{
    put(out, "[");
    for (unsigned i = 0; i < value % 4; i++) {
        put(out, i == 0 ? "" : ",");
        put_blanks(out);
        put_value(out, mix(value + i), depth + 1);
    }
    put_blanks(out);
    put(out, "]");
}

static void put_value(struct buf *out, uint64_t value, unsigned depth)
{
    static const char *const words[] = { "null", "true", "false" };

    switch (depth < 4 ? value >> 8 & 7 : value >> 8 & 3) {
    case 0:
        put(out, words[value % 3]);
        break;
    case 1:
        put_number(out, 1 + value % 100000);
        break;
    case 2:
    case 3:
        put_string(out, value);
        break;
    case 4:
        put_array(out, value, depth);
        break;
    default:
        put_object(out, value, depth);
        break;
    }
}

static void spellings_agree(void **state)
{
    unsigned seed = (unsigned)time(NULL);
    struct buf text = { 0 };
    struct buf first = { 0 };

    (void)state;
    print_message("seed %u\n", seed);
    srandom(seed);
    for (unsigned round = 0; round < 1500; round++) {
        uint64_t value = mix(seed + round);

        for (unsigned k = 0; k < 4; k++) {
            buf_reset(&text);
            put_value(&text, value, 0);
            if (k == 0) {
                buf_reset(&first);
                put(&first, outcome(buf_bytes(&text)));
                assert_true(buf_append_byte(&first, 0));
                assert_int_not_equal(first.data[0], '!');
                continue;
            }
            assert_string_equal(outcome(buf_bytes(&text)),
                                (const char *)first.data);
        }
        first.len--;
        put(&text, "");
        assert_string_equal(outcome(buf_bytes(&first)),
                            (const char *)first.data);
    }
    buf_fini(&text);
    buf_fini(&first);
}

/* ---- records ---- */

static void records(void **state)
{
    static const char *const names[] = { "a", "b" };
    static const struct df_columns columns = { .names = names, .n = 2 };
    static const struct record_text_case cases[] = {
        { "", " 0" },
        { "\n \n\t\r\n", " 3" },
        { "{}", "2(0 0 )(0 0 ); 0" },
        { "{\"a\":1,\"b\":\"x\"}\n", "15(3 1 1)(2 1 x); 0" },
        { "{\"b\":\"x\",\"a\":1}\r\n", "15(3 1 1)(2 1 x); 0" },
        { "{\"a\":null,\"b\":true}\n{\"a\":false}",
          "19(1 4 null)(5 4 true);11(4 5 false)(0 0 ); 0" },
        { "{\"a\":1e400,\"b\":1.0}\n", "19(3 5 1e400)(3 3 1.0); 0" },
        { "{\"a\":\"\\u00e9\",\"\\u0062\":\"\"}\n",
          "26(2 2 \xc3\xa9)(2 0 ); 0" },
        { "{\"a\":{\"y\":1.0,\"x\":[ ]},\"c\":{\"b\":1}}\n",
          "35(6 14 {\"x\":[],\"y\":1})(0 0 ); 0" },
        { "{}\n[]\n", "2(0 0 )(0 0 ); 0 !3 not a JSON object" },
        { "{}\n\n{\"a\":}\n",
          "2(0 0 )(0 0 ); 1 !4 invalid JSON at byte 6: not a value" },
        { "{\"a\":\n1}\n",
          " 0 !0 invalid JSON at byte 6: ends where a value must be" },
        { "{\"c\":1,\"c\":2}\n",
          " 0 !0 invalid JSON at byte 9: two members of the same name" },
    };

    (void)state;
    record_text_check(RECORD_NDJSON, &columns, cases,
                      sizeof cases / sizeof *cases);
}

static void whole_records(void **state)
{
    static const char *const names[] = { "a", "a" };
    static const struct df_columns columns = { .names = names,
                                               .n = 2,
                                               .whole = true };
    static const struct record_text_case cases[] = {
        { "{\"b\" : 1.0, \"a\":\"\\/\"}",
          "21(2 1 /)(2 1 /)(2 15 {\"a\":\"/\",\"b\":1}); 0" },
        { "{\"a\":[1e20]}",
          "12(6 23 [100000000000000000000])(6 23 [100000000000000000000])"
          "(2 29 {\"a\":[100000000000000000000]}); 0" },
    };

    (void)state;
    record_text_check(RECORD_NDJSON, &columns, cases,
                      sizeof cases / sizeof *cases);
}

/* A canonical form much longer than the record, after records that point
 * into the scratch. */
static void scratch_grows(void **state)
{
    static const char *const names[] = { "a" };
    static const struct df_columns columns = { .names = names,
                                               .n = 1,
                                               .whole = true };
    static const char head[] = "10(2 1 \n)(2 10 {\"a\":\"\\n\"});";
    static const char tail[] = ";10(2 1 \t)(2 10 {\"a\":\"\\t\"}); 0";
    struct buf text = { 0 };
    struct buf found = { 0 };

    (void)state;
    put(&text, "{\"a\":\"\\n\"}\n{\"a\":[1e20");
    for (unsigned i = 1; i < 100000; i++) {
        put(&text, ",1e20");
    }
    put(&text, "]}\n{\"a\":\"\\t\"}\n");
    record_text(&found, RECORD_NDJSON, &columns, buf_bytes(&text), 0);
    assert_memory_equal(found.data, head, strlen(head));
    assert_memory_equal(found.data + found.len - strlen(tail), tail,
                        strlen(tail));
    buf_fini(&text);
    buf_fini(&found);
}

static void longest(size_t n, bool ends, const char *why)
{
    static const char *const names[] = { "a" };
    static const struct df_columns columns = { .names = names, .n = 1 };
    struct buf text = { 0 };
    struct buf found = { 0 };

    put(&text, "\n{\"a\":\"");
    assert_true(buf_reserve(&text, n));
    memset(text.data + text.len, 'x', n - 8);
    text.len += n - 8;
    put(&text, ends ? "\"}\r\n" : "\"}");
    record_text(&found, RECORD_NDJSON, &columns, buf_bytes(&text),
                RECORD_MAX / 3);
    assert_true(buf_append_byte(&found, 0));
    if (why == NULL) {
        assert_null(strstr((const char *)found.data, " !"));
    } else {
        assert_non_null(strstr((const char *)found.data, why));
    }
    buf_fini(&text);
    buf_fini(&found);
}

static void longest_record(void **state)
{
    (void)state;
    longest(RECORD_MAX, true, NULL);
    longest(RECORD_MAX, false, NULL);
    longest(RECORD_MAX + 1, true, " !1 a record longer than 16 MiB");
    longest(RECORD_MAX + 1, false, " !1 a record longer than 16 MiB");
    longest(3 * RECORD_MAX, true, " !1 a record longer than 16 MiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),         cmocka_unit_test(deepest),
        cmocka_unit_test(many_members),  cmocka_unit_test(spellings_agree),
        cmocka_unit_test(records),       cmocka_unit_test(whole_records),
        cmocka_unit_test(scratch_grows), cmocka_unit_test(longest_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
