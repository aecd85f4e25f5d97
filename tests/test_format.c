/* cli/format, json, columns, human and output: what is printed, byte by
 * byte, and that it can be read back. */
#include "cli/format.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/codec.h"
#include "cli/columns.h"
#include "cli/human.h"
#include "cli/json.h"

static struct output out;
static FILE *file;
static int capture = -1; /* the descriptor of file, which out writes to */

static uint64_t seed = 20261201;

static uint64_t next_random(void)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return seed * 0x2545F4914F6CDD1Du;
}

static int start(void **state)
{
    (void)state;
    file = tmpfile();
    if (file == NULL) {
        return -1;
    }
    capture = fileno(file);
    output_init(&out, capture);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    return fclose(file);
}

/* What was printed since the last call, with a NUL behind; to be freed. */
static char *printed(size_t *len)
{
    struct df_error err;
    off_t size;
    char *text;

    assert_int_equal(output_finish(&out, &err), DF_OK);
    size = lseek(capture, 0, SEEK_END);
    assert_true(size >= 0);
    text = malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(pread(capture, text, (size_t)size, 0), size);
    text[size] = '\0';
    assert_int_equal(ftruncate(capture, 0), 0);
    assert_int_equal(lseek(capture, 0, SEEK_SET), 0);
    *len = (size_t)size;
    return text;
}

static void prints(const char *expected, size_t expected_len)
{
    size_t len;
    char *text = printed(&len);

    assert_int_equal(len, expected_len);
    assert_memory_equal(text, expected, len);
    free(text);
}

static const char *const one_name[] = { "count", NULL };
static const char *const two_names[] = { "sum", "count", NULL };
static const struct row_shape plain = { .components = 1 };
static const struct row_shape full = { .has_element = true, .components = 2 };

static void put_row(enum format_kind kind, struct row_shape shape,
                    struct bytes key, struct bytes element,
                    const int64_t *values)
{
    struct df_error err;
    struct format f;

    format_open(&f, kind, shape, shape.components == 1 ? one_name : two_names,
                &out);
    format_row(&f, key, element, values);
    assert_int_equal(format_close(&f, &err), DF_OK);
}

#define LITERAL(text) text, sizeof(text) - 1

static void tsv_rows_escape_four_bytes(void **state)
{
    const int64_t values[] = { -5, INT64_MIN };

    (void)state;
    put_row(FORMAT_TSV, plain, bytes_of(LITERAL("a\tb\nc\rd\\e\0\x01\xff")),
            bytes_of(NULL, 0), values);
    prints(LITERAL("a\\tb\\nc\\rd\\\\e\0\x01\xff\t-5\n"));
    put_row(FORMAT_TSV, full, bytes_of_string("k"), bytes_of_string("e"),
            values);
    prints(LITERAL("k\te\t-5\t-9223372036854775808\n"));
}

static void csv_rows_quote_what_must_be(void **state)
{
    const int64_t values[] = { 1, INT64_MAX };

    (void)state;
    put_row(FORMAT_CSV, full, bytes_of_string("a,b"),
            bytes_of_string("say \"x\""), values);
    prints(LITERAL("key,element,sum,count\r\n"
                   "\"a,b\",\"say \"\"x\"\"\",1,9223372036854775807\r\n"));
    put_row(FORMAT_CSV, plain, bytes_of_string(""), bytes_of(NULL, 0), values);
    prints(LITERAL("key,count\r\n\"\",1\r\n"));
    put_row(FORMAT_CSV, plain, bytes_of_string("a\nb"), bytes_of(NULL, 0),
            values);
    prints(LITERAL("key,count\r\n\"a\nb\",1\r\n"));
    put_row(FORMAT_CSV, plain, bytes_of_string("a b"), bytes_of(NULL, 0),
            values);
    prints(LITERAL("key,count\r\na b,1\r\n"));
}

static void ndjson_rows_lose_nothing(void **state)
{
    const int64_t values[] = { 0, 42 };

    (void)state;
    put_row(FORMAT_NDJSON, full, bytes_of(LITERAL("\"\\\b\f\n\r\t\v\0\x7f/")),
            bytes_of_string("\xc3\xa4\xf0\x9f\x8c\xb3"), values);
    prints(
        LITERAL("{\"key\":\"\\\"\\\\\\b\\f\\n\\r\\t\\u000b\\u0000\\u007f/\","
                "\"element\":\"\xc3\xa4\xf0\x9f\x8c\xb3\","
                "\"sum\":0,\"count\":42}\n"));
    put_row(FORMAT_NDJSON, full, bytes_of_string("\xff"),
            bytes_of_string("\xed\xa0\x80\x80"), values);
    prints(LITERAL("{\"key_base64\":\"/w==\",\"element_base64\":\"7aCAgA==\","
                   "\"sum\":0,\"count\":42}\n"));
}

static void msgpack_rows_are_arrays(void **state)
{
    const int64_t values[] = { -1, 300 };

    (void)state;
    put_row(FORMAT_MSGPACK, full, bytes_of_string("k"), bytes_of_string("el"),
            values);
    prints(LITERAL("\x94\xc4\x01k\xc4\x02"
                   "el\xff\xcd\x01\x2c"));
    put_row(FORMAT_MSGPACK, plain, bytes_of_string(""), bytes_of(NULL, 0),
            values);
    prints(LITERAL("\x92\xc4\x00\xff"));
}

/* One line of a cell of each kind, in each format. */
static void lines_have_cells_of_four_kinds(void **state)
{
    static const char *const names[] = { "a \"b\"", "t,u", "n",
                                         "j",       "bad", NULL };
    static const char list[] = "[\"x\\ty\",1]";
    const struct df_cell cells[] = {
        { DF_CELL_NULL, NULL, 0 },
        { DF_CELL_TEXT, (const uint8_t *)"x\ty", 3 },
        { DF_CELL_NUMBER, (const uint8_t *)"-1.50", 5 },
        { DF_CELL_JSON, (const uint8_t *)list, sizeof list - 1 },
        { DF_CELL_TEXT, (const uint8_t *)"\xff", 1 },
    };
    static const struct {
        const char *text;
        size_t len;
    } expected[] = {
        [FORMAT_TSV] = { LITERAL(
            "\\N\tx\\ty\t-1.50\t[\"x\\\\ty\",1]\t\xff\n") },
        [FORMAT_CSV] = { LITERAL(
            "\"a \"\"b\"\"\",\"t,u\",n,j,bad\r\n"
            ",x\ty,-1.50,\"[\"\"x\\ty\"\",1]\",\xff\r\n") },
        [FORMAT_NDJSON] = { LITERAL("{\"a \\\"b\\\"\":null,\"t,u\":\"x\\ty\","
                                    "\"n\":-1.50,\"j\":[\"x\\ty\",1],"
                                    "\"bad_base64\":\"/w==\"}\n") },
        [FORMAT_MSGPACK] = { LITERAL("\x95\xc0\xc4\x03x\ty\xa5-1.50"
                                     "\xaa[\"x\\ty\",1]\xc4\x01\xff") },
    };

    (void)state;
    for (unsigned i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct df_error err;
        struct format f;

        format_open_lines(&f, (enum format_kind)i, names, 5, &out);
        format_line(&f, cells);
        assert_int_equal(format_close(&f, &err), DF_OK);
        prints(expected[i].text, expected[i].len);
    }
}

/* An empty text is not taken for none. */
static void csv_lines_tell_empty_from_none(void **state)
{
    static const char *const names[] = { "a", "b", NULL };
    const struct df_cell cells[] = { { DF_CELL_TEXT, NULL, 0 },
                                     { DF_CELL_NULL, NULL, 0 } };
    struct df_error err;
    struct format f;

    (void)state;
    format_open_lines(&f, FORMAT_CSV, names, 2, &out);
    format_line(&f, cells);
    assert_int_equal(format_close(&f, &err), DF_OK);
    prints(LITERAL("a,b\r\n\"\",\r\n"));
}

static void base64_pads(void **state)
{
    (void)state;
    json_put_base64(&out, bytes_of(LITERAL("\xfb\xff\xfe")));
    json_put_base64(&out, bytes_of(LITERAL("ab")));
    json_put_base64(&out, bytes_of(LITERAL("a")));
    json_put_base64(&out, bytes_of(LITERAL("")));
    prints(LITERAL("\"+//+\"\"YWI=\"\"YQ==\"\"\""));
}

/* Undoes TSV's escapes in place; stops at tab or newline. */
static size_t unescape(uint8_t *text, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        uint8_t byte = text[i];

        assert_true(byte != '\t' && byte != '\n' && byte != '\r');
        if (byte == '\\') {
            i++;
            assert_true(i < len);
            byte = text[i] == 't'   ? '\t'
                   : text[i] == 'n' ? '\n'
                   : text[i] == 'r' ? '\r'
                                    : text[i];
        }
        text[n++] = byte;
    }
    return n;
}

static void random_bytes_go_through_tsv(void **state)
{
    enum { LEN = 70000 }; /* more than are escaped at a time */
    uint8_t *field = malloc(LEN);

    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    assert_non_null(field);
    for (int round = 0; round < 200; round++) {
        size_t n = round == 0 ? LEN : next_random() % 300;
        size_t len;
        uint8_t *text;

        for (size_t i = 0; i < n; i++) {
            uint64_t r = next_random();

            field[i] = (uint8_t)(r >> 8);
            if (r % 3 == 0) {
                field[i] = (uint8_t) "\t\n\r\\"[r / 3 % 4];
            }
        }
        format_tsv_field(&out, bytes_of(field, n));
        text = (uint8_t *)printed(&len);
        assert_int_equal(unescape(text, len), n);
        if (n > 0) {
            assert_memory_equal(text, field, n);
        }
        free(text);
    }
    free(field);
}

/* Undoes CSV's quotes of one field in place. */
static size_t unquote(uint8_t *text, size_t len)
{
    size_t n = 0;

    if (len == 0 || text[0] != '"') {
        return len;
    }
    for (size_t i = 1; i < len; i++) {
        if (text[i] == '"' && i + 1 < len && text[i + 1] == '"') {
            i++;
        } else if (text[i] == '"') {
            assert_int_equal(i, len - 1);
            return n;
        }
        text[n++] = text[i];
    }
    fail_msg("a quoted field has no end");
    return 0;
}

static void random_bytes_go_through_csv(void **state)
{
    const int64_t values[] = { 7 };
    static const char header[] = "key,count\r\n";
    static const char rest[] = ",7\r\n";

    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 500; round++) {
        uint8_t field[40];
        size_t n = next_random() % sizeof field;
        uint8_t *text;
        size_t len;
        size_t begin = sizeof header - 1;
        size_t end;

        for (size_t i = 0; i < n; i++) {
            field[i] = (uint8_t) "\",\r\nab"[next_random() % 6];
        }
        put_row(FORMAT_CSV, plain, bytes_of(field, n), bytes_of(NULL, 0),
                values);
        text = (uint8_t *)printed(&len);
        end = len - (sizeof rest - 1);
        assert_memory_equal(text, header, begin);
        assert_memory_equal(text + end, rest, sizeof rest - 1);
        assert_int_equal(unquote(text + begin, end - begin), n);
        if (n > 0) {
            assert_memory_equal(text + begin, field, n);
        }
        free(text);
    }
}

static void long_keys_go_through_json(void **state)
{
    enum { LEN = 65536 };
    uint8_t *key = malloc(LEN);
    size_t len;
    char *text;

    (void)state;
    assert_non_null(key);
    memset(key, 1, LEN);
    json_put_string(&out, bytes_of(key, LEN));
    text = printed(&len);
    assert_int_equal(len, 6 * LEN + 2);
    for (size_t i = 0; i < LEN; i++) {
        assert_memory_equal(text + 1 + 6 * i, "\\u0001", 6);
    }
    free(text);
    free(key);
}

static void objects_nest(void **state)
{
    struct json j = { .out = &out };

    (void)state;
    json_open(&j, NULL);
    json_uint(&j, "u", UINT64_MAX);
    json_open(&j, "empty");
    json_close(&j);
    json_open_array(&j, "list");
    json_text(&j, NULL, "x");
    json_open(&j, NULL);
    json_bool(&j, "yes", true);
    json_null(&j, "none");
    json_close(&j);
    json_close_array(&j);
    json_int(&j, "i", -7);
    json_hash(&j, "h", (struct hash128){ 0x0123456789abcdefu, 1 });
    json_close(&j);
    json_line(&j);
    prints(LITERAL("{\"u\":18446744073709551615,\"empty\":{},"
                   "\"list\":[\"x\",{\"yes\":true,\"none\":null}],\"i\":-7,"
                   "\"h\":\"0123456789abcdef0000000000000001\"}\n"));
}

static void columns_line_up(void **state)
{
    struct columns t = { .align = "rll" };
    struct df_error err;

    (void)state;
    columns_cell(&t, "7");
    columns_cell(&t, "\xc3\xa4pfel");
    columns_cell(&t, "x");
    columns_printf(&t, "%d", 1234);
    columns_cell(&t, "b");
    columns_cell(&t, "");
    assert_int_equal(columns_print(&t, &out, &err), DF_OK);
    columns_fini(&t);
    prints(LITERAL("   7  \xc3\xa4pfel  x\n1234  b\n"));
}

static size_t width_of(const char *text)
{
    return human_width(bytes_of_string(text));
}

static size_t fit_of(const char *text, size_t columns)
{
    return human_fit(bytes_of_string(text), columns);
}

static void wide_characters_take_two_columns(void **state)
{
    struct columns t = { .align = "ll" };
    struct df_error err;

    (void)state;
    assert_int_equal(width_of(""), 0);
    assert_int_equal(width_of("abc"), 3);
    assert_int_equal(width_of("\xc3\xa4"), 1);
    assert_int_equal(width_of("a\xcc\x88"), 1);        /* a mark */
    assert_int_equal(width_of("\xe6\xbc\xa2\xe5"), 3); /* and half of one */
    assert_int_equal(width_of("\xed\x95\x9c"), 2);     /* Hangul */
    assert_int_equal(width_of("\xf0\x9f\x98\x80"), 2); /* an emoji */
    assert_int_equal(fit_of("abc", 5), 3);
    assert_int_equal(fit_of("abc", 2), 2);
    assert_int_equal(fit_of("abc", 0), 0);
    assert_int_equal(fit_of("a\xcc\x88"
                            "bc",
                            1),
                     3);
    assert_int_equal(fit_of("\xe6\xbc\xa2\xe5\xad\x97", 3), 3);
    assert_int_equal(fit_of("\xe6\xbc\xa2\xe5\xad\x97", 4), 6);
    assert_int_equal(human_pad(bytes_of_string("\xe6\xbc\xa2"), 10), 8);
    assert_int_equal(human_pad(bytes_of_string("abc"), 2), 0);
    columns_cell(&t, "\xe6\xbc\xa2");
    columns_cell(&t, "x");
    columns_cell(&t, "abc");
    columns_cell(&t, "y");
    assert_int_equal(columns_print(&t, &out, &err), DF_OK);
    columns_fini(&t);
    prints(LITERAL("\xe6\xbc\xa2   x\nabc  y\n"));
}

static void numbers_for_people(void **state)
{
    char room[HUMAN_MAX];

    (void)state;
    assert_string_equal(human_count(room, 0), "0");
    assert_string_equal(human_count(room, 999), "999");
    assert_string_equal(human_count(room, 1000), "1,000");
    assert_string_equal(human_count(room, UINT64_MAX),
                        "18,446,744,073,709,551,615");
    assert_string_equal(human_bytes(room, 1), "1 byte");
    assert_string_equal(human_bytes(room, 999), "999 bytes");
    assert_string_equal(human_bytes(room, 1234), "1.2 kB");
    assert_string_equal(human_bytes(room, 999999), "1.0 MB");
    assert_string_equal(human_bytes(room, 45600000), "46 MB");
    assert_string_equal(human_bytes(room, UINT64_MAX), "18 EB");
    assert_string_equal(human_duration(room, 800), "0.8 ms");
    assert_string_equal(human_duration(room, 14100), "14 ms");
    assert_string_equal(human_duration(room, 1234567), "1.2 s");
    assert_string_equal(human_duration(room, 133000000), "2 min 13 s");
    assert_string_equal(human_time(room, 0), "1970-01-01T00:00:00Z");
    assert_string_equal(human_time(room, 1795918500), "2026-11-29T02:15:00Z");
}

static void digits_are_those_of_printf(void **state)
{
    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 10000; round++) {
        int64_t v = (int64_t)(next_random() >> (next_random() % 64));
        char expected[40];
        char room[OUTPUT_DIGITS_MAX + 1];

        v = round % 2 == 0 ? v : (int64_t)(0 - (uint64_t)v);
        (void)snprintf(expected, sizeof expected, "%lld", (long long)v);
        *output_digits(room, v) = '\0';
        assert_string_equal(room, expected);
    }
}

static void a_full_disk_is_noticed(void **state)
{
    struct df_error err = { 0 };
    int full_device = open("/dev/full", O_WRONLY | O_CLOEXEC);

    (void)state;
    assert_true(full_device >= 0);
    output_init(&out, full_device);
    output_text(&out, "x");
    assert_false(output_failed(&out));
    output_flush(&out);
    assert_true(output_failed(&out));
    assert_int_equal(output_finish(&out, &err), DF_SYSTEM);
    assert_string_equal(err.text, "standard output: No space left on device");
    assert_int_equal(close(full_device), 0);
    output_init(&out, capture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tsv_rows_escape_four_bytes),
        cmocka_unit_test(csv_rows_quote_what_must_be),
        cmocka_unit_test(ndjson_rows_lose_nothing),
        cmocka_unit_test(msgpack_rows_are_arrays),
        cmocka_unit_test(lines_have_cells_of_four_kinds),
        cmocka_unit_test(csv_lines_tell_empty_from_none),
        cmocka_unit_test(base64_pads),
        cmocka_unit_test(random_bytes_go_through_tsv),
        cmocka_unit_test(random_bytes_go_through_csv),
        cmocka_unit_test(long_keys_go_through_json),
        cmocka_unit_test(objects_nest),
        cmocka_unit_test(columns_line_up),
        cmocka_unit_test(wide_characters_take_two_columns),
        cmocka_unit_test(numbers_for_people),
        cmocka_unit_test(digits_are_those_of_printf),
        cmocka_unit_test(a_full_disk_is_noticed),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
