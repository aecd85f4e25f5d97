/*
 * csv and tsv: what a row is, in tables; then all ways to parse one thing -
 * vector paths, stretches of any length, byte by byte - against a machine of
 * four states that is written here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "input/csv_index.h"
#include "tests/record_text.h"

/* ---- the oracle ---- */

enum { ORACLE_WIDTH = 8 };

struct oracle {
    struct bytes text;
    uint8_t delimiter;
    size_t width;         /* of the header */
    const size_t *picked; /* columns in the order asked for */
    size_t picked_count;
    const size_t *order; /* by name; NULL: the whole is not wanted */
    const char *const *names;
    struct buf fields[ORACLE_WIDTH + 1]; /* more are counted only */
    size_t count;
    uint64_t blanks;
    struct buf out;
};

static bool ends_line(const struct oracle *o, size_t i)
{
    return o->text.data[i] == '\n' ||
           (o->text.data[i] == '\r' && i + 1 < o->text.len &&
            o->text.data[i + 1] == '\n');
}

static void put(struct oracle *o, uint8_t byte)
{
    if (o->count <= ORACLE_WIDTH) {
        assert_true(buf_append_byte(&o->fields[o->count], byte));
    }
}

static void put_whole(struct oracle *o)
{
    struct buf whole = { 0 };

    for (size_t i = 0; i < o->width; i++) {
        struct bytes name = bytes_of_string(o->names[o->order[i]]);
        struct bytes value = buf_bytes(&o->fields[o->order[i]]);
        uint8_t length[8];

        store_be64(length, name.len);
        assert_true(buf_append(&whole, length, 8));
        assert_true(buf_append(&whole, name.data, name.len));
        store_be64(length, value.len);
        assert_true(buf_append(&whole, length, 8));
        assert_true(buf_append(&whole, value.data, value.len));
    }
    record_text_field(&o->out, DF_TEXT, buf_bytes(&whole));
    buf_fini(&whole);
}

/* A row is over. False: it is refused. */
static bool end_row(struct oracle *o, size_t begin, size_t end)
{
    char why[80];

    if (begin == end && o->width != 1) {
        o->blanks++;
        return true;
    }
    if (o->count != o->width) {
        (void)snprintf(why, sizeof why,
                       "ragged row: %zu field%s, header has %zu", o->count,
                       o->count == 1 ? "" : "s", o->width);
        record_text_blanks(&o->out, o->blanks);
        record_text_fault(&o->out, begin, why);
        return false;
    }
    record_text_begin(&o->out, end - begin);
    for (size_t i = 0; i < o->picked_count; i++) {
        record_text_field(&o->out, DF_TEXT,
                          buf_bytes(&o->fields[o->picked[i]]));
    }
    if (o->order != NULL) {
        put_whole(o);
    }
    record_text_end(&o->out);
    return true;
}

static void broken(struct oracle *o, size_t begin, const char *why)
{
    record_text_blanks(&o->out, o->blanks);
    record_text_fault(&o->out, begin, why);
}

static void begin_row(struct oracle *o)
{
    for (size_t i = 0; i <= ORACLE_WIDTH; i++) {
        buf_reset(&o->fields[i]);
    }
    o->count = 0;
}

/* From `at` on, behind the header. */
static void oracle_run(struct oracle *o, size_t at)
{
    enum { START, BARE, QUOTED, CLOSED } state = START;
    size_t begin = at;

    begin_row(o);
    for (size_t i = at; i < o->text.len; i++) {
        uint8_t c = o->text.data[i];

        if (state == QUOTED) {
            if (c == '"') {
                state = CLOSED;
            } else {
                put(o, c);
            }
        } else if (c == '"' && state == START) {
            state = QUOTED;
        } else if (c == '"' && state == CLOSED) {
            put(o, c);
            state = QUOTED;
        } else if (c == '"') {
            broken(o, begin,
                   "broken quote: inside a field that is not quoted");
            return;
        } else if (c == o->delimiter) {
            o->count++;
            state = START;
        } else if (ends_line(o, i)) {
            o->count++;
            if (!end_row(o, begin, i)) {
                return;
            }
            i += c == '\r' ? 1 : 0;
            begin = i + 1;
            begin_row(o);
            state = START;
        } else if (state == CLOSED) {
            broken(o, begin, "broken quote: text behind the closing one");
            return;
        } else {
            put(o, c);
            state = BARE;
        }
    }
    if (state == QUOTED) {
        broken(o, begin,
               "broken quote: not closed before the end of the file");
        return;
    }
    if (begin < o->text.len) {
        o->count++;
        if (!end_row(o, begin, o->text.len)) {
            return;
        }
    }
    record_text_blanks(&o->out, o->blanks);
}

/* ---- random content ---- */

/* Names not in order, so that the order by name is another. */
static const char *const all_names[ORACLE_WIDTH] = { "m", "b", "z", "a",
                                                     "k", "c", "y", "d" };
static const size_t orders[ORACLE_WIDTH][ORACLE_WIDTH] = {
    { 0 },
    { 1, 0 },
    { 1, 0, 2 },
    { 3, 1, 0, 2 },
    { 3, 1, 4, 0, 2 },
    { 3, 1, 5, 4, 0, 2 },
    { 3, 1, 5, 4, 0, 6, 2 },
    { 3, 1, 5, 7, 4, 0, 6, 2 },
};

static void put_header(struct buf *text, size_t width, uint8_t delimiter)
{
    for (size_t i = 0; i < width; i++) {
        assert_true(i == 0 || buf_append_byte(text, delimiter));
        assert_true(buf_append_string(text, all_names[i]));
    }
    assert_true(buf_append_byte(text, '\n'));
}

/* Bytes from the alphabet of trouble. */
static void put_noise(struct buf *text, uint8_t delimiter)
{
    const uint8_t alphabet[] = { 'a',  'b',  delimiter, '"', '"', '\n',
                                 '\r', '\n', delimiter, 0,   0xff };
    size_t n = (size_t)(random() % 200);

    for (size_t i = 0; i < n; i++) {
        assert_true(buf_append_byte(
            text, alphabet[(size_t)random() % sizeof alphabet]));
    }
}

static void put_quoted(struct buf *text, uint8_t delimiter)
{
    size_t n = (size_t)(random() % 12);

    assert_true(buf_append_byte(text, '"'));
    for (size_t i = 0; i < n; i++) {
        const char *const parts[] = { "\"\"", "\n",
                                      "\r\n", "x",
                                      "\r",   delimiter == ',' ? "," : "\t" };

        assert_true(buf_append_string(text, parts[random() % 6]));
    }
    assert_true(buf_append_byte(text, '"'));
}

static void put_plain(struct buf *text)
{
    size_t n = (size_t)(random() % (random() % 20 == 0 ? 300 : 12));

    for (size_t i = 0; i < n; i++) {
        assert_true(
            buf_append_byte(text, (uint8_t)("xyz \r\xe9"[random() % 6])));
    }
}

/* Rows as they should be, and now and then one that is not. */
static void put_rows(struct buf *text, size_t width, uint8_t delimiter)
{
    size_t rows = (size_t)(random() % 12);

    for (size_t r = 0; r < rows; r++) {
        size_t n = random() % 40 == 0 ? (size_t)(random() % 9) : width;

        for (size_t i = 0; i < n; i++) {
            assert_true(i == 0 || buf_append_byte(text, delimiter));
            if (random() % 3 == 0) {
                put_quoted(text, delimiter);
            } else {
                put_plain(text);
            }
        }
        if (random() % 60 == 0) {
            put_noise(text, delimiter);
        }
        if (r + 1 < rows || random() % 2 == 0) {
            assert_true(
                buf_append_string(text, random() % 3 == 0 ? "\r\n" : "\n"));
        }
    }
}

static void check_all_ways(const struct oracle *o,
                           const struct df_columns *columns,
                           enum record_format format)
{
    const struct csv_index_path *path;

    for (size_t i = 0; (path = csv_index_path(i)) != NULL; i++) {
        csv_index_prefer(path);
        record_text_must_be(path->name, format, columns, o->text,
                            buf_bytes(&o->out));
    }
    csv_index_prefer(NULL);
}

static void try_one(unsigned seed)
{
    struct buf text = { 0 };
    size_t width;
    bool is_tsv;
    bool is_whole;
    uint8_t delimiter;
    size_t picked[3];
    const char *names[3];
    struct oracle o = { 0 };
    struct df_columns columns = { .names = names, .n = 3 };
    size_t header;

    srandom(seed);
    width = 1 + (size_t)(random() % ORACLE_WIDTH);
    is_tsv = random() % 4 == 0;
    is_whole = random() % 3 == 0;
    delimiter = is_tsv ? '\t' : ',';
    for (size_t i = 0; i < 3; i++) {
        picked[i] = (size_t)random() % width;
        names[i] = all_names[picked[i]];
    }
    columns.whole = is_whole;
    put_header(&text, width, delimiter);
    header = text.len;
    if (random() % 3 == 0) {
        put_noise(&text, delimiter);
    } else {
        put_rows(&text, width, delimiter);
    }
    o = (struct oracle){ .text = buf_bytes(&text),
                         .delimiter = delimiter,
                         .width = width,
                         .picked = picked,
                         .picked_count = 3,
                         .names = all_names,
                         .order = is_whole ? orders[width - 1] : NULL };
    oracle_run(&o, header);
    check_all_ways(&o, &columns, is_tsv ? RECORD_TSV : RECORD_CSV);
    for (size_t i = 0; i <= ORACLE_WIDTH; i++) {
        buf_fini(&o.fields[i]);
    }
    buf_fini(&o.out);
    buf_fini(&text);
}

static void all_ways_agree(void **state)
{
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    print_message("seed %u\n", seed);
    for (unsigned i = 0; i < 4000; i++) {
        try_one(seed + i);
    }
}

/* ---- tables ---- */

static void rows_of_rfc_4180(void **state)
{
    static const char *const names[] = { "a", "c" };
    static const struct df_columns columns = { .names = names, .n = 2 };
    static const struct record_text_case cases[] = {
        { "", " 0" },
        { "a,b,c", " 0" },
        { "\n\r\na,b,c\n", " 2" },
        { "a,b,c\n1,2,3\n", "5(2 1 1)(2 1 3); 0" },
        { "a,b,c\r\n1,2,3\r\n", "5(2 1 1)(2 1 3); 0" },
        { "a,b,c\n1,2,3", "5(2 1 1)(2 1 3); 0" },
        { "c,b,a\n1,2,3\n", "5(2 1 3)(2 1 1); 0" },
        { "\"a\",b,\"c\"\n1,2,3\n", "5(2 1 1)(2 1 3); 0" },
        { "a,b,c\n,,\n", "2(2 0 )(2 0 ); 0" },
        { "a,b,c\n\"\",\"\",\"\"\n", "8(2 0 )(2 0 ); 0" },
        { "a,b,c\n\"\"\"\",b,\"\"\"x\"\"\"\n", "14(2 1 \")(2 3 \"x\"); 0" },
        { "a,b,c\n\"1\n,\",2,\"\r\n\"\r\n", "12(2 3 1\n,)(2 2 \r\n); 0" },
        { "a,b,c\n1,2,3\r", "6(2 1 1)(2 2 3\r); 0" },
        { "a,b,c\n1\r,2,3\n", "6(2 2 1\r)(2 1 3); 0" },
        { "a,b,c\n\n1,2,3\n\r\n\n", "5(2 1 1)(2 1 3); 3" },
        { "a,b,c\n 1 , 2 , 3 \n", "11(2 3  1 )(2 3  3 ); 0" },
        { "a,b,c\n\xff,2,\xc3\n", "5(2 1 \xff)(2 1 \xc3); 0" },
        { "a,b,c\n1\xe2\x80\xa8,2,3\xc2\x85\n",
          "10(2 4 1\xe2\x80\xa8)(2 3 3\xc2\x85); 0" },
        { "a,b,c\n1,2\n", " 0 !6 ragged row: 2 fields, header has 3" },
        { "a,b,c\n1\n", " 0 !6 ragged row: 1 field, header has 3" },
        { "a,b,c\n1,2,3\n1,2,3,4\n",
          "5(2 1 1)(2 1 3); 0 !12 ragged row: 4 fields, header has 3" },
        { "a,b,c\n \n", " 0 !6 ragged row: 1 field, header has 3" },
        { "a,b,c\n\"1\"x,2,3\n",
          " 0 !6 broken quote: text behind the closing one" },
        { "a,b,c\n\"1\" ,2,3\n",
          " 0 !6 broken quote: text behind the closing one" },
        { "a,b,c\n1,2,\"3\"\r",
          " 0 !6 broken quote: text behind the closing one" },
        { "a,b,c\n1\",2,3\n",
          " 0 !6 broken quote: inside a field that is not quoted" },
        { "a,b,c\n1, \"2\",3\n",
          " 0 !6 broken quote: inside a field that is not quoted" },
        { "a,b,c\n1,2,3\n1,2,\"3\n",
          "5(2 1 1)(2 1 3); 0 !12 broken quote: not closed before the end of "
          "the file" },
        { "\"a,b,c\n",
          " 0 !0 broken quote: not closed before the end of the file" },
        { "a,b\n1,2\n", " 0 !0 no column 'c'; the header has: a, b" },
        { "a,b,C\n", " 0 !0 no column 'c'; the header has: a, b, C" },
        { "\na,c,a\n", " 1 !1 two columns named 'a'" },
        { "a,b,c\r1,2,3\r",
          " 0 !0 a CR without LF in the header: lines end in LF or CRLF; "
          "convert the file, or quote the name" },
        { "a,\"b\rb\",c\n1,2,3\n", "5(2 1 1)(2 1 3); 0" },
        { "a,b,b,c\n1,2,3,4\n", "7(2 1 1)(2 1 4); 0" },
        { "a,,c\n1,2,3\n", "5(2 1 1)(2 1 3); 0" },
    };

    (void)state;
    record_text_check(RECORD_CSV, &columns, cases,
                      sizeof cases / sizeof *cases);
}

static void one_column(void **state)
{
    static const char *const names[] = { "a" };
    static const struct df_columns columns = { .names = names, .n = 1 };
    static const struct record_text_case cases[] = {
        { "a\n1\n\n2\n", "1(2 1 1);0(2 0 );1(2 1 2); 0" },
        { "\na\r\n\r\n", "0(2 0 ); 1" },
        { "a\n1,2\n", " 0 !2 ragged row: 2 fields, header has 1" },
    };

    (void)state;
    record_text_check(RECORD_CSV, &columns, cases,
                      sizeof cases / sizeof *cases);
}

static void whole_rows(void **state)
{
    static const struct df_columns columns = { .whole = true };
    static const char *const same[] = { "b,a\n1,\"x\"\"\"\n",
                                        "a,b\n\"x\"\"\",\"1\"\n" };
    struct buf found[2] = { { 0 }, { 0 } };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        record_text(&found[i], RECORD_CSV, &columns, bytes_of_string(same[i]),
                    0);
    }
    /* But for the length of the row as it stands there. */
    assert_memory_equal(found[0].data + 1, found[1].data + 1,
                        found[0].len - 1);
    buf_fini(&found[0]);
    buf_fini(&found[1]);
    found[0] = (struct buf){ 0 };
    record_text(&found[0], RECORD_CSV, &columns, bytes_of_string("a,b,a\n"),
                0);
    assert_true(buf_append_byte(&found[0], 0));
    assert_string_equal((const char *)found[0].data,
                        " 0 !0 two columns named 'a'");
    buf_fini(&found[0]);
}

static void lines(void **state)
{
    static const char *const names[] = { "line" };
    static const struct df_columns columns = { .names = names, .n = 1 };
    static const struct record_text_case cases[] = {
        { "", " 0" },
        { "\n", "0(2 0 ); 0" },
        { "a\r\nb\rc\n\n d", "1(2 1 a);3(2 3 b\rc);0(2 0 );2(2 2  d); 0" },
        { "\"a\n\"\r", "2(2 2 \"a);2(2 2 \"\r); 0" },
    };

    (void)state;
    record_text_check(RECORD_LINES, &columns, cases,
                      sizeof cases / sizeof *cases);
}

/* ---- limits ---- */

/* A record of n bytes, quoted or not; whether it is refused, and how. */
static void long_record(size_t n, bool is_quoted, bool ends, const char *why)
{
    static const char *const names[] = { "a" };
    static const struct df_columns columns = { .names = names, .n = 1 };
    struct buf text = { 0 };
    struct buf found = { 0 };
    size_t inner = is_quoted ? n - 2 : n;

    assert_true(buf_append_string(&text, is_quoted ? "a\n\"" : "a\n"));
    assert_true(buf_reserve(&text, inner));
    memset(text.data + text.len, is_quoted ? '\n' : 'x', inner);
    text.len += inner;
    assert_true(buf_append_string(&text, !ends       ? ""
                                         : is_quoted ? "\"\r\n"
                                                     : "\r\n"));
    record_text(&found, RECORD_CSV, &columns, buf_bytes(&text),
                RECORD_MAX / 3);
    assert_true(buf_append_byte(&found, 0));
    if (why == NULL) {
        assert_null(strstr((const char *)found.data, " !"));
    } else {
        assert_non_null(strstr((const char *)found.data, why));
    }
    buf_fini(&found);
    buf_fini(&text);
}

static void longest_record(void **state)
{
    (void)state;
    long_record(RECORD_MAX, false, true, NULL);
    long_record(RECORD_MAX, true, true, NULL);
    long_record(RECORD_MAX + 1, false, true, " !2 a record longer than 16");
    long_record(RECORD_MAX + 1, true, true, " !2 a record longer than 16");
    long_record(3 * RECORD_MAX, true, true, " !2 a record longer than 16");
    long_record(2 * RECORD_MAX, true, false, " !2 a record longer than 16");
    long_record(RECORD_MAX / 2, true, false, " !2 broken quote: not closed");
}

/* Many columns, more than the index looks at in one go. */
static void wide_rows(void **state)
{
    enum { WIDTH = 100000 };
    static const char *const names[] = { "c0", "c99999" };
    static const struct df_columns columns = { .names = names, .n = 2 };
    struct buf text = { 0 };
    struct buf found = { 0 };

    (void)state;
    for (size_t i = 0; i < WIDTH; i++) {
        assert_true(
            buf_printf(&text, "c%zu%s", i, i + 1 == WIDTH ? "\n" : ","));
    }
    for (size_t row = 0; row < 3; row++) {
        for (size_t i = 0; i < WIDTH; i++) {
            assert_true(buf_printf(&text, "%zu%s", i % 10,
                                   i + 1 == WIDTH ? "\n" : ","));
        }
    }
    record_text(&found, RECORD_CSV, &columns, buf_bytes(&text), 250000);
    assert_true(buf_append_byte(&found, 0));
    assert_string_equal((const char *)found.data,
                        "199999(2 1 0)(2 1 9);199999(2 1 0)(2 1 9);"
                        "199999(2 1 0)(2 1 9); 0");
    buf_fini(&found);
    buf_fini(&text);
}

/* ---- parity ---- */

static void parity_of_quotes(void **state)
{
    uint8_t text[300];
    const struct csv_index_path *path;

    (void)state;
    for (size_t i = 0; (path = csv_index_path(i)) != NULL; i++) {
        for (size_t len = 0; len < sizeof text; len++) {
            bool odd = false;

            for (size_t k = 0; k < len; k++) {
                text[k] = (k * k + len) % 3 == 0 ? '"' : ',';
                odd ^= text[k] == '"';
            }
            assert_int_equal(path->parity(bytes_of(text, len)), odd);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_rfc_4180), cmocka_unit_test(one_column),
        cmocka_unit_test(whole_rows),       cmocka_unit_test(lines),
        cmocka_unit_test(longest_record),   cmocka_unit_test(wide_rows),
        cmocka_unit_test(parity_of_quotes), cmocka_unit_test(all_ways_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
