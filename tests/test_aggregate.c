/* The job aggregate: its options, what it emits, refuses and shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "jobs/aggregate/quoted.h"
#include "jobs/aggregate/value.h"
#include "tests/record_conformance.h"

enum { GIVEN_MAX = 6, FIELDS_MAX = 4, RECORDS_MAX = 16 };

static uint64_t noise = 42;

static size_t given_count(const char *const *given)
{
    size_t n = 0;

    while (n < GIVEN_MAX && given[n] != NULL) {
        n++;
    }
    return n;
}

/* ---- options ---- */

static void options_have_one_spelling(void **state)
{
    static const struct {
        const char *given[GIVEN_MAX];
        const char *definition;
    } table[] = {
        { { NULL }, "aggregate 1 count=* scale=6" },
        { { "count" }, "aggregate 1 count=* scale=6" },
        { { "by=a", "by=b", "sum=x,y", "sum=z" },
          "aggregate 1 by=a,b scale=6 sum=x,y,z" },
        { { "by=\"a\"", "count=b", "count" },
          "aggregate 1 by=a count=b,* scale=6" },
        { { "by=\"a b\",\"c,d\"", "sum=\"e:f\":2,\"\"\"\"", "top=3:\"\"" },
          "aggregate 1 by=\"a\\x20b\",\"c,d\" scale=6 sum=\"e:f\":2,\"\"\"\" "
          "top=3:\"\"" },
        /* The scale of a column is said at each of its aggregates. */
        { { "sum=x:2,y:3", "avg=x", "scale=3" },
          "aggregate 1 avg=x:2 scale=3 sum=x:2,y" },
        { { "min=d:text,e", "max=\"*\"", "distinct=d", "top=10:2024" },
          "aggregate 1 distinct=d max=\"*\" min=d:text,e scale=6 "
          "top=10:2024" },
        { { "by=", "sum=", "sum=x", "format=csv" },
          "aggregate 1 scale=6 sum=x" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct buf definition = { 0 };
        struct jobspec spec;
        struct df_error err = { { 0 } };

        if (jobspec_open(&spec, registry_find("aggregate"), table[i].given,
                         given_count(table[i].given), &err) != DF_OK) {
            fail_msg("%zu: %s", i, err.text);
        }
        assert_true(jobspec_definition(&spec, &definition));
        assert_true(buf_append_byte(&definition, 0));
        assert_string_equal((const char *)definition.data,
                            table[i].definition);
        buf_fini(&definition);
        jobspec_close(&spec);
    }
}

static void wrong_options_are_named(void **state)
{
    static const struct {
        const char *given[GIVEN_MAX];
        const char *why;
    } table[] = {
        { { "sum" }, "'sum' is not of the form NAME=VALUE" },
        { { "scale=2", "scale=2" }, "option 'scale' is given twice" },
        { { "scale=19" }, "option 'scale': scale '19' is not 0 to 18" },
        { { "scale=02" }, "option 'scale': scale '02' is not 0 to 18" },
        { { "sum=x:x" }, "option 'sum': scale 'x' is not 0 to 18" },
        { { "sum=x:2", "avg=x:3" }, "column 'x' has scale 2 already" },
        { { "sum=x", "sum=x" }, "option 'sum': 'x' is given twice" },
        { { "sum=x,x:2" }, "option 'sum': 'x' is given twice" },
        { { "min=x,x:text" }, "option 'min': 'x' is given twice" },
        { { "top=1:x,2:x" }, "option 'top': 'x' is given twice" },
        { { "count", "count" }, "option 'count': '*' is given twice" },
        { { "by=a,b,a" }, "option 'by': 'a' is given twice" },
        { { "by=*" }, "option 'by': '*' is not a list of columns" },
        { { "by=a:2" }, "option 'by': 'a' is not a list of columns" },
        { { "sum=*" }, "option 'sum': '*' is no column" },
        { { "min=x:2" }, "option 'min': '2' behind a column is not 'text'" },
        { { "distinct=x:2" }, "option 'distinct': '2' behind a column" },
        { { "top=x" }, "option 'top': N:COLUMN is needed, with N 1 to 1000" },
        { { "top=0:x" }, "with N 1 to 1000" },
        { { "top=1001:x" }, "with N 1 to 1000" },
        { { "sum=a b" }, "option 'sum': 'a b' does not begin with a column" },
        { { "sum=a,,b" }, "option 'sum': ',b' does not begin with a column" },
        { { "sum=a," }, "option 'sum': ',' does not begin with a column" },
        { { "sum=,a" }, "option 'sum': ',a' does not begin with a column" },
        { { "sum=\"a" }, "option 'sum': '\"a' has no closing quote" },
        { { "sum=\"a\"b" }, "does not begin with a column" },
        { { "format=document" }, "option 'format': 'document' is not one of" },
        { { "sum=a,b,c,d,e,f,g,h,i,j,k" },
          "need 34 numbers per group, more than 32" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct jobspec spec;
        struct df_error err = { { 0 } };

        assert_int_equal(jobspec_open(&spec, registry_find("aggregate"),
                                      table[i].given,
                                      given_count(table[i].given), &err),
                         DF_USAGE);
        if (strstr(err.text, table[i].why) == NULL) {
            fail_msg("'%s' says: %s", table[i].given[0], err.text);
        }
    }
}

/* The last that fit, and one more. */
static void limits_are_what_they_say(void **state)
{
    struct buf list = { 0 };
    struct jobspec spec;
    struct df_error err = { { 0 } };
    const char *given;

    (void)state;
    assert_true(buf_append_string(&list, "distinct=c0"));
    for (unsigned i = 1; i < DF_COLUMNS_MAX; i++) {
        assert_true(buf_printf(&list, ",c%u", i));
    }
    assert_true(buf_append_byte(&list, 0));
    given = (const char *)list.data;
    assert_int_equal(
        jobspec_open(&spec, registry_find("aggregate"), &given, 1, &err),
        DF_OK);
    jobspec_close(&spec);
    list.len--;
    assert_true(buf_append(&list, ",more", 6));
    given = (const char *)list.data;
    assert_int_equal(
        jobspec_open(&spec, registry_find("aggregate"), &given, 1, &err),
        DF_USAGE);
    assert_non_null(strstr(err.text, "a view reads at most 64 columns"));
    buf_fini(&list);
    given = "sum=a,b,c,d,e,f,g,h,i,j"; /* 31 components */
    assert_int_equal(
        jobspec_open(&spec, registry_find("aggregate"), &given, 1, &err),
        DF_OK);
    assert_int_equal(spec.components, 31);
    jobspec_close(&spec);
}

static void names_are_all_different(void **state)
{
    static const char *const given[] = { "by=count,sum_x", "count", "sum=x",
                                         "min=x:text" };
    static const char *const names[] = { "count",   "sum_x", "count_2",
                                         "sum_x_2", "min_x", NULL };
    struct jobspec spec;
    struct df_error err;
    const char *const *found;

    (void)state;
    assert_int_equal(
        jobspec_open(&spec, registry_find("aggregate"), given, 4, &err),
        DF_OK);
    found = spec.job->present->columns(spec.config);
    for (size_t i = 0; names[i] != NULL; i++) {
        assert_string_equal(found[i], names[i]);
    }
    assert_null(found[5]);
    assert_int_equal(spec.job->present->key_columns(spec.config), 2);
    jobspec_close(&spec);
}

/* ---- a view in memory: pairs, summed, shown ---- */

struct subject {
    struct jobspec spec;
    struct collector rows;
    void *presenter;
};

static void subject_open(struct subject *s, const char *const *given)
{
    struct df_error err = { { 0 } };

    if (jobspec_open(&s->spec, registry_find("aggregate"), given,
                     given_count(given), &err) != DF_OK) {
        fail_msg("%s", err.text);
    }
    collector_init_spec(&s->rows, &s->spec);
    assert_int_equal(
        s->spec.job->present->open(s->spec.config, &s->presenter, &err),
        DF_OK);
}

static void subject_close(struct subject *s)
{
    s->spec.job->present->close(s->presenter);
    collector_fini(&s->rows);
    jobspec_close(&s->spec);
}

/* Maps n records of as many fields as the job asks for. */
static void feed(struct subject *s, const struct made_field *fields, size_t n)
{
    const struct df_columns *columns = s->spec.job->columns(s->spec.config);
    struct made_records r;
    struct df_error err;
    void *mapper;

    made_records_init(&r, fields, n, columns->n, &noise);
    assert_int_equal(s->spec.job->mapper_open(s->spec.config, &mapper, &err),
                     DF_OK);
    s->spec.job->map_records(mapper, r.records, n, &s->rows.emitter);
    s->spec.job->mapper_close(mapper);
    made_records_fini(&r);
}

static void append_cell(struct buf *out, const struct df_cell *cell)
{
    static const char marks[] = { [DF_CELL_NULL] = '0',
                                  [DF_CELL_TEXT] = 't',
                                  [DF_CELL_NUMBER] = 'n',
                                  [DF_CELL_JSON] = 'j' };

    assert_true(buf_printf(out, " %c:", marks[cell->kind]) &&
                (cell->len == 0 || buf_append(out, cell->data, cell->len)));
}

/* All lines, cells with their kinds in front, as a string to be freed. */
static char *lines_of(struct subject *s)
{
    const struct df_present *present = s->spec.job->present;
    const struct df_cell *cells;
    struct buf out = { 0 };

    collector_sum(&s->rows);
    for (size_t i = 0; i < s->rows.count;) {
        struct bytes key = collector_key(&s->rows, i);

        assert_true(present->key(s->presenter, key.data, key.len));
        for (;
             i < s->rows.count && bytes_equal(collector_key(&s->rows, i), key);
             i++) {
            const struct collected *p = &s->rows.pairs[i];

            assert_int_equal(
                present->row(s->presenter,
                             s->rows.bytes.data + p->key + p->key_len,
                             p->element_len, p->values),
                DF_OK);
        }
        assert_int_equal(present->cells(s->presenter, &cells), DF_OK);
        for (size_t c = 0; present->columns(s->spec.config)[c] != NULL; c++) {
            append_cell(&out, &cells[c]);
        }
        assert_true(buf_append_byte(&out, '\n'));
    }
    assert_true(buf_append_byte(&out, 0));
    return (char *)out.data;
}

static void shows(const char *const *given, const struct made_field *fields,
                  size_t n, const char *lines)
{
    struct subject s;
    char *found;

    subject_open(&s, given);
    feed(&s, fields, n);
    assert_string_equal(s.rows.refused, "");
    found = lines_of(&s);
    assert_string_equal(found, lines);
    free(found);
    subject_close(&s);
}

static void csv_values_are_added_up(void **state)
{
    static const char *const given[GIVEN_MAX] = { "by=g", "count", "count=v",
                                                  "sum=v", "avg=v" };
    static const struct made_field fields[] = {
        { DF_TEXT, "b" }, { DF_TEXT, "0.1" },  { DF_TEXT, "b" },
        { DF_TEXT, "" },  { DF_TEXT, "b" },    { DF_TEXT, "0.2" },
        { DF_TEXT, "" },  { DF_TEXT, "-1e3" }, { DF_TEXT, "c" },
        { DF_TEXT, "" },
    };

    (void)state;
    shows(given, fields, 5,
          " t: n:1 n:1 n:-1000 n:-1000\n"
          " t:b n:3 n:2 n:0.3 n:0.15\n"
          " t:c n:1 n:0 0: 0:\n");
}

static void sets_tell_values_apart(void **state)
{
    static const char *const given[GIVEN_MAX] = { "min=v", "max=v",
                                                  "distinct=v", "top=2:v" };
    static const struct made_field fields[] = {
        { DF_TEXT, "10" },  { DF_TEXT, "9" },   { DF_TEXT, "9.0" },
        { DF_TEXT, "-1" },  { DF_TEXT, "-1" },  { DF_TEXT, "" },
        { DF_TEXT, "1e1" }, { DF_TEXT, "-1.5" }
    };

    (void)state;
    shows(given, fields, 8, " n:-1.5 n:10 n:6 j:[[\"-1\",2],[\"-1.5\",1]]\n");
}

static void text_is_compared_where_it_is_asked_for(void **state)
{
    static const char *const given[GIVEN_MAX] = { "min=v:text", "max=v:text" };
    static const struct made_field fields[] = { { DF_TEXT, "10" },
                                                { DF_TEXT, "9" },
                                                { DF_TEXT, "abc" } };

    (void)state;
    shows(given, fields, 3, " t:10 t:abc\n");
    shows(given, fields, 2, " t:10 t:9\n");
}

static void kinds_of_ndjson_are_different_groups(void **state)
{
    static const char *const given[GIVEN_MAX] = { "format=ndjson", "by=g",
                                                  "count" };
    static const struct made_field fields[] = {
        { DF_NUMBER, "42" },     { DF_TEXT, "42" },     { DF_NUMBER, "4.2e1" },
        { DF_NULL, "null" },     { DF_ABSENT, NULL },   { DF_TRUE, "true" },
        { DF_TEXT, "true" },     { DF_FALSE, "false" }, { DF_NESTED, "[1]" },
        { DF_TEXT, "[1]" },      { DF_TEXT, "" },       { DF_TEXT, "\x03" },
        { DF_NUMBER, "420e-1" }, { DF_NUMBER, "-0.0" }, { DF_NUMBER, "0" },
    };

    (void)state;
    shows(given, fields, 15,
          " t: n:1\n"
          " 0: n:2\n"
          " j:false n:1\n"
          " j:true n:1\n"
          " n:0 n:2\n"
          " n:42 n:3\n"
          " j:[1] n:1\n"
          " t:\x03 n:1\n"
          " j:\"42\" n:1\n"
          " j:\"[1]\" n:1\n"
          " j:\"true\" n:1\n");
}

static void values_of_ndjson_have_kinds(void **state)
{
    static const char *const given[GIVEN_MAX] = { "format=ndjson",
                                                  "distinct=v", "top=3:v",
                                                  "count=v", "count" };
    static const struct made_field fields[] = {
        { DF_NUMBER, "1" },  { DF_TEXT, "1" },    { DF_NUMBER, "1.0" },
        { DF_TEXT, "" },     { DF_TRUE, "true" }, { DF_NULL, "null" },
        { DF_ABSENT, NULL },
    };

    (void)state;
    shows(given, fields, 7, " n:5 n:7 n:4 j:[[1,2],[\"\",1],[true,1]]\n");
}

/* No list of values has the key of another. */
static void compound_keys_are_apart(void **state)
{
    static const char *const given[GIVEN_MAX] = { "by=a,b", "count" };
    static const struct made_field fields[] = {
        { DF_TEXT, "a" },  { DF_TEXT, "b,c" },  { DF_TEXT, "a,b" },
        { DF_TEXT, "c" },  { DF_TEXT, "" },     { DF_TEXT, "ab" },
        { DF_TEXT, "ab" }, { DF_TEXT, "" },     { DF_TEXT, "b" },
        { DF_TEXT, "a" },  { DF_TEXT, "\x01" }, { DF_TEXT, "\x01" },
    };

    (void)state;
    shows(given, fields, 6,
          " t: t:ab n:1\n"
          " t:\x01 t:\x01 n:1\n"
          " t:a t:b,c n:1\n"
          " t:a,b t:c n:1\n"
          " t:ab t: n:1\n"
          " t:b t:a n:1\n");
}

/* ---- refusals ---- */

static void refusals_name_column_and_value(void **state)
{
    static const struct {
        const char *given[GIVEN_MAX];
        struct made_field field;
        const char *why;
    } table[] = {
        { { "sum=v" },
          { DF_TEXT, "1.2.3" },
          "column 'v': '1.2.3' is no decimal number" },
        { { "sum=v" },
          { DF_TEXT, "a\nb" },
          "column 'v': 'a\\nb' is no decimal number" },
        { { "sum=v" },
          { DF_TEXT, "0.1234567" },
          "column 'v': '0.1234567' has more than 6 digits behind the point" },
        { { "avg=v:0" }, { DF_TEXT, "1.5" }, "more than 0 digits" },
        { { "sum=v" },
          { DF_TEXT, "1e33" },
          "column 'v': '1e33' is too large for 128 bits with 6 digits" },
        { { "min=v" },
          { DF_TEXT, "2026-01-01" },
          "column 'v': '2026-01-01' is no decimal number" },
        { { "max=v" },
          { DF_TEXT, "1e9999999999" },
          "has too many digits or too great an exponent" },
        { { "format=ndjson", "sum=v" },
          { DF_TRUE, "true" },
          "column 'v': 'true' is no decimal number" },
        { { "format=ndjson", "sum=v" },
          { DF_TEXT, "" },
          "column 'v': '' is no decimal number" },
        { { "format=ndjson", "min=v:text" },
          { DF_NUMBER, "7" },
          "column 'v': '7' is no string" },
        { { "format=ndjson", "by=v" },
          { DF_NUMBER, "1e9999999999" },
          "column 'v': '1e9999999999' has too many digits" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct subject s;

        subject_open(&s, table[i].given);
        feed(&s, &table[i].field, 1);
        assert_int_equal(s.rows.emitter.status, DF_INPUT);
        if (strstr(s.rows.refused, table[i].why) == NULL) {
            fail_msg("%zu: %s", i, s.rows.refused);
        }
        subject_close(&s);
    }
}

/* Keys and elements of DF_KEY_MAX bytes are taken, longer ones refused. */
static void long_values_are_refused(void **state)
{
    static const char *const by[GIVEN_MAX] = { "by=v" };
    static const char *const set[GIVEN_MAX] = { "distinct=v" };
    char *text = malloc(DF_KEY_MAX + 2);
    struct made_field field = { DF_TEXT, text };

    (void)state;
    assert_non_null(text);
    memset(text, 'x', DF_KEY_MAX + 1);
    for (unsigned i = 0; i < 4; i++) {
        bool is_set = i / 2 != 0;
        size_t most = is_set ? DF_KEY_MAX - 1 : DF_KEY_MAX;
        struct subject s;

        memset(text, 'x', DF_KEY_MAX + 1);
        text[most + i % 2] = '\0';
        subject_open(&s, is_set ? set : by);
        feed(&s, &field, 1);
        assert_int_equal(s.rows.emitter.status, i % 2 ? DF_INPUT : DF_OK);
        if (i % 2) {
            assert_non_null(
                strstr(s.rows.refused, is_set ? "65535" : "65537"));
        }
        subject_close(&s);
    }
    free(text);
}

/* Keys that fill a piece before its records do: none is left out, and the
 * buffer is emptied in between. */
static void long_keys_come_in_short_pieces(void **state)
{
    enum { RECORDS = 100 };
    static const char *const by[GIVEN_MAX] = { "by=a,b" };
    char *text = malloc(30001);
    struct made_field fields[2 * RECORDS];
    struct subject s;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', 30000);
    text[30000] = '\0';
    for (size_t i = 0; i < RECORDS; i++) {
        fields[2 * i] = (struct made_field){ DF_TEXT, text };
        fields[2 * i + 1] = (struct made_field){ DF_TEXT, i % 2 ? "p" : "q" };
    }
    subject_open(&s, by);
    feed(&s, fields, RECORDS);
    assert_int_equal(s.rows.count, RECORDS);
    assert_true(s.rows.lists > 1);
    collector_sum(&s.rows);
    assert_int_equal(s.rows.count, 2);
    assert_int_equal(s.rows.pairs[0].values[0], RECORDS / 2);
    assert_int_equal(s.rows.pairs[1].values[0], RECORDS / 2);
    subject_close(&s);
    free(text);
}

/* ---- KEY ---- */

/* Every line's key cells, written as TSV has them, find its key. */
static void shown_keys_are_found(void **state)
{
    static const struct made_field values[] = {
        { DF_TEXT, "" },
        { DF_TEXT, "a\tb\\" },
        { DF_TEXT, "\x05" },
        { DF_TEXT, "42" },
        { DF_TEXT, "true" },
        { DF_TEXT, "\"q\"" },
        { DF_TEXT, "[" },
        { DF_TEXT, "\n\r" },
        { DF_TEXT, "\\N" },
        { DF_NUMBER, "42" },
        { DF_NUMBER, "-1e50" },
        { DF_NULL, "null" },
        { DF_TRUE, "true" },
        { DF_FALSE, "false" },
        { DF_NESTED, "{\"a\":1}" },
        { DF_TEXT, "\xc3\xa4" },
    };
    enum { VALUES = sizeof values / sizeof *values };

    (void)state;
    for (unsigned json = 0; json < 2; json++) {
        static const char *const given[][GIVEN_MAX] = {
            { "by=a,b,c" }, { "by=a,b,c", "format=ndjson" }
        };

        for (unsigned i = 0; i < 500; i++) {
            struct made_field fields[3];
            const struct df_cell *cells;
            struct subject s;
            struct buf text = { 0 };
            const uint8_t *key;
            size_t key_len;
            struct df_error err = { { 0 } };

            for (unsigned k = 0; k < 3; k++) {
                fields[k] =
                    values[random_below(&noise, json != 0 ? VALUES : 9)];
            }
            subject_open(&s, given[json]);
            feed(&s, fields, 1);
            assert_int_equal(s.rows.count, 1);
            assert_true(s.spec.job->present->key(
                s.presenter, collector_key(&s.rows, 0).data,
                collector_key(&s.rows, 0).len));
            assert_int_equal(s.spec.job->present->cells(s.presenter, &cells),
                             DF_OK);
            for (unsigned k = 0; k < 3; k++) {
                assert_true(k == 0 || buf_append_byte(&text, '\t'));
                if (cells[k].kind == DF_CELL_NULL) {
                    assert_true(buf_append_string(&text, "\\N"));
                }
                for (size_t at = 0; at < cells[k].len; at++) {
                    uint8_t c = cells[k].data[at];
                    const char *e = c == '\t'   ? "\\t"
                                    : c == '\n' ? "\\n"
                                    : c == '\r' ? "\\r"
                                    : c == '\\' ? "\\\\"
                                                : NULL;

                    assert_true(e != NULL ? buf_append_string(&text, e)
                                          : buf_append_byte(&text, c));
                }
            }
            assert_true(buf_append_byte(&text, 0));
            if (s.spec.job->present->find(s.presenter, (const char *)text.data,
                                          text.len - 1, &key, &key_len,
                                          &err) != DF_OK) {
                fail_msg("%s", err.text);
            }
            assert_true(bytes_equal(bytes_of(key, key_len),
                                    collector_key(&s.rows, 0)));
            buf_fini(&text);
            subject_close(&s);
        }
    }
}

static void impossible_keys_are_usage(void **state)
{
    static const struct {
        const char *given[GIVEN_MAX];
        const char *text;
        const char *why;
    } table[] = {
        { { "by=a" }, "x\ty", "has 1 column; a TAB in it is written \\t" },
        { { "by=a,b" }, "x", "has 2 columns, with a TAB between" },
        { { "by=a,b" }, "x\ty\tz", "has 2 columns" },
        { { "count" }, "x", "all records are one group, whose key is ''" },
        { { "by=a" },
          "C:\\x",
          "a backslash begins \\t, \\n, \\r, \\\\ or \\N" },
        { { "by=a" }, "x\\", "a backslash begins" },
        { { "by=a", "format=ndjson" }, "\"x", "is no JSON string" },
        { { "by=a", "format=ndjson" }, "\"\\\\ud800\"", "is no JSON string" },
        { { "by=a", "format=ndjson" }, "\"\\ud800\"", "is no JSON string" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct df_error err = { { 0 } };
        const uint8_t *key;
        size_t key_len;
        struct subject s;

        subject_open(&s, table[i].given);
        assert_int_equal(s.spec.job->present->find(s.presenter, table[i].text,
                                                   strlen(table[i].text), &key,
                                                   &key_len, &err),
                         DF_USAGE);
        if (strstr(err.text, table[i].why) == NULL) {
            fail_msg("%zu: %s", i, err.text);
        }
        subject_close(&s);
    }
}

/* ---- JSON strings ---- */

static void strings_are_json(void **state)
{
    static const struct {
        const char *text;
        const char *json;
    } cases[] = {
        { "a\n\xc3\xa4", "\"a\\n\xc3\xa4\"" },
        /* Two texts never look the same. */
        { "a\xff", "{\"base64\":\"Yf8=\"}" },
        { "\xff\xfe\xfd", "{\"base64\":\"//79\"}" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = { 0 };

        assert_true(quoted_append(&out, bytes_of_string(cases[i].text)));
        assert_true(buf_append_byte(&out, 0));
        assert_string_equal(out.data, cases[i].json);
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_have_one_spelling),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(limits_are_what_they_say),
        cmocka_unit_test(names_are_all_different),
        cmocka_unit_test(csv_values_are_added_up),
        cmocka_unit_test(sets_tell_values_apart),
        cmocka_unit_test(text_is_compared_where_it_is_asked_for),
        cmocka_unit_test(kinds_of_ndjson_are_different_groups),
        cmocka_unit_test(values_of_ndjson_have_kinds),
        cmocka_unit_test(compound_keys_are_apart),
        cmocka_unit_test(refusals_name_column_and_value),
        cmocka_unit_test(long_values_are_refused),
        cmocka_unit_test(long_keys_come_in_short_pieces),
        cmocka_unit_test(shown_keys_are_found),
        cmocka_unit_test(impossible_keys_are_usage),
        cmocka_unit_test(strings_are_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
