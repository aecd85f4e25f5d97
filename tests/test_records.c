/*
 * Files of records, read in units (input/reader.h): the same records, in the
 * same order, and the same refusals, for any size of units.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/hash.h"
#include "input/reader.h"
#include "tests/workplace.h"

#define MIB ((size_t)1 << 20)

static const char *const names[] = { "a", "b" };
static const struct df_columns columns = { .names = names, .n = 2 };
static const char *const line_names[] = { RECORD_LINE_COLUMN };
static const struct df_columns line_columns = { .names = line_names, .n = 1 };

/* ---- reading ---- */

struct outcome {
    struct hash128 records; /* in the order of arrival */
    uint64_t count;
    uint64_t blanks;
    struct hash128 file;
    enum df_status status;
    struct df_error err;
    size_t units;
};

struct taker {
    struct hash_stream *hash;
    struct buf noted;
    struct buf stood; /* all records as they stood, each with its length */
    bool by_bounds;   /* they have no fields */
    uint64_t count;
    uint64_t in_unit;
    size_t unit;
    uint64_t refuse_at; /* this record, counted from 0, is refused */
};

/* Some at a time: an addition to a hash costs more than a record. */
static void note(struct taker *t, struct bytes b)
{
    assert_true(buf_append(&t->noted, b.data, b.len) &&
                buf_append_byte(&t->noted, 0));
    if (t->noted.len > 65536) {
        hash_stream_add(t->hash, buf_bytes(&t->noted));
        buf_reset(&t->noted);
    }
}

static void note_stood(struct taker *t, const struct df_record *record)
{
    const uint64_t len = record->len;

    assert_true(buf_append(&t->stood, &len, sizeof len) &&
                buf_append(&t->stood, record->data, record->len));
}

static enum df_status take(void *ctx, const struct reader_place *place,
                           const struct df_record *records, size_t n,
                           struct df_error *err)
{
    struct taker *t = ctx;

    assert_int_equal(place->unit, t->unit);
    assert_int_equal(place->index, t->in_unit);
    for (size_t i = 0; i < n; i++) {
        const struct df_field *f = records[i].fields;

        note_stood(t, &records[i]);
        if (t->by_bounds) {
            continue;
        }
        note(t, bytes_of(records[i].data, records[i].len));
        note(t, bytes_of(f->data, f->len));
        if (t->count + i == t->refuse_at) {
            return reader_refuse(place, &records[i], "not to my taste", err);
        }
    }
    t->in_unit += n;
    t->count += n;
    return DF_OK;
}

static enum df_status read_units(struct reader *r, struct reader_units *units,
                                 struct taker *t, struct df_error *err)
{
    enum df_status status = DF_OK;

    if (!units->has_bounds && reader_units_need_scan(units)) {
        /* In any order. */
        for (size_t i = units->count; status == DF_OK && i > 0; i--) {
            status = reader_scan(r, units, i - 1, err);
        }
        reader_units_scanned(units);
    }
    for (size_t i = 0; status == DF_OK && i < units->count; i++) {
        t->unit = i;
        t->in_unit = 0;
        status = reader_read_records(r, units, i, take, t, err);
    }
    return status == DF_OK ? reader_finish(units, err) : status;
}

/* Once more, by what was kept: the same records, and the same hash. */
static void read_again(struct reader *r, struct reader_units *units,
                       const struct taker *before)
{
    struct taker t = { .refuse_at = UINT64_MAX, .by_bounds = true };
    const struct hash128 hash = units->batch->files[0].hash;
    struct df_error err;

    units->has_bounds = true;
    if (read_units(r, units, &t, &err) != DF_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(t.count, before->count);
    assert_true(bytes_equal(buf_bytes(&t.stood), buf_bytes(&before->stood)));
    assert_true(hash128_equal(units->batch->files[0].hash, hash));
    buf_fini(&t.stood);
}

static struct outcome read_batch(const char *root, enum record_format format,
                                 uint64_t unit_size, uint64_t refuse_at)
{
    const struct reader_cut cut = {
        .unit_size = unit_size,
        .format = format,
        .columns = format == RECORD_LINES ? &line_columns : &columns,
    };
    struct taker t = { .refuse_at = refuse_at };
    struct outcome o = { .status = DF_OK };
    struct reader_units units;
    struct reader *r;
    struct batch batch;

    assert_true(hash_stream_open(&t.hash));
    hash_stream_reset(t.hash);
    assert_int_equal(batch_scan(&batch, root, 2, &o.err), DF_OK);
    assert_int_equal(reader_plan_units(&units, &batch, &cut, &o.err), DF_OK);
    assert_int_equal(reader_open(&r, &cut, &o.err), DF_OK);
    units.keeps_bounds = true;
    o.status = read_units(r, &units, &t, &o.err);
    hash_stream_add(t.hash, buf_bytes(&t.noted));
    buf_fini(&t.noted);
    o.records = hash_stream_end(t.hash);
    o.count = t.count;
    o.blanks = reader_counts(r).blank_lines;
    o.file = batch.files[0].hash;
    if (o.status == DF_OK) {
        read_again(r, &units, &t);
    }
    buf_fini(&t.stood);
    o.units = units.count;
    reader_close(r);
    reader_units_fini(&units);
    batch_fini(&batch);
    hash_stream_close(t.hash);
    return o;
}

static const uint64_t unit_sizes[] = { MIB, 2 * MIB, 3 * MIB };

/* Reads what is at root in units of all sizes, and compares with one unit.
 * Returns that outcome. */
static struct outcome check_splits(const char *root, enum record_format format,
                                   uint64_t refuse_at)
{
    struct outcome whole = read_batch(root, format, 1024 * MIB, refuse_at);

    assert_int_equal(whole.units, 1);
    for (size_t i = 0; i < sizeof unit_sizes / sizeof *unit_sizes; i++) {
        struct outcome o = read_batch(root, format, unit_sizes[i], refuse_at);

        assert_int_equal(o.status, whole.status);
        if (whole.status != DF_OK) {
            assert_string_equal(o.err.text, whole.err.text);
            continue;
        }
        assert_int_equal(o.count, whole.count);
        assert_int_equal(o.blanks, whole.blanks);
        assert_true(hash128_equal(o.records, whole.records));
        assert_true(hash128_equal(o.file, whole.file));
    }
    return whole;
}

/* ---- content ---- */

static void put(struct buf *out, const char *s)
{
    assert_true(buf_append_string(out, s));
}

static void write_file(const char *root, const char *path,
                       const struct buf *content)
{
    input_tree_file(root, path, content->data, content->len);
}

/* About n bytes of rows in which line feeds are mostly content. */
static uint64_t put_rows(struct buf *out, size_t n, unsigned *seed)
{
    static const char *const fields[] = {
        "plain", "\"\n\"",       "\"a\n,\r\nb\"", "\"\"\"\n\"\"\"", "",
        "\"\"",  "\"\n\n\n\n\"", "\"\"\"\"",      "with\rin it",
    };
    enum { FIELDS = sizeof fields / sizeof *fields };
    uint64_t rows = 0;
    size_t end = out->len + n;

    while (out->len < end) {
        put(out, fields[(size_t)rand_r(seed) % FIELDS]);
        put(out, ",");
        put(out, fields[(size_t)rand_r(seed) % FIELDS]);
        put(out, rand_r(seed) % 4 == 0 ? "\r\n" : "\n");
        if (rand_r(seed) % 50 == 0) {
            put(out, "\n");
        }
        rows++;
    }
    return rows;
}

/* ---- every border ---- */

/* The same rows moved byte by byte: each border of units falls on every
 * place of a row once. */
static void moved_byte_by_byte(void **state)
{
    char root[INPUT_TREE_PATH];
    unsigned seed = (unsigned)time(NULL);
    struct buf rows = { 0 };
    uint64_t count;
    struct hash128 first = { 0, 0 };

    (void)state;
    print_message("seed %u\n", seed);
    workplace_new(root);
    count = put_rows(&rows, 3 * MIB + MIB / 3, &seed);
    for (size_t shift = 0; shift < 30; shift++) {
        struct buf file = { 0 };
        struct outcome o;

        /* A column's name is as long as it takes. */
        assert_true(buf_printf(&file, "b,\"a\"\n"));
        for (size_t i = 0; i < shift; i++) {
            put(&file, "\n");
        }
        assert_true(buf_append(&file, rows.data, rows.len));
        write_file(root, "inserted/x.csv", &file);
        buf_fini(&file);
        o = check_splits(root, RECORD_CSV, UINT64_MAX);
        assert_int_equal(o.status, DF_OK);
        assert_int_equal(o.count, count);
        if (shift == 0) {
            first = o.records;
        }
        assert_true(hash128_equal(o.records, first));
        assert_int_equal(unlink(input_tree_path(root, "inserted/x.csv")), 0);
    }
    buf_fini(&rows);
}

/* ---- records longer than units, and headers ---- */

static void put_long_field(struct buf *out, size_t n, const char *unit)
{
    put(out, "\"");
    for (size_t end = out->len + n; out->len < end;) {
        put(out, unit);
    }
    put(out, "\"");
}

static void longer_than_units(void **state)
{
    char root[INPUT_TREE_PATH];
    struct buf file = { 0 };
    uint64_t rows;
    struct outcome o;

    (void)state;
    workplace_new(root);
    put(&file, "\xef\xbb\xbf"
               "b,a,");
    put_long_field(&file, 2 * MIB + 7, "name\n");
    put(&file, "\n");
    rows = 2;
    put(&file, "1,\"2\n\",3\n");
    put(&file, "x,");
    put_long_field(&file, 5 * MIB + 13, "\n\"\",");
    put(&file, ",\n");
    for (unsigned i = 0; i < 1000; i++) {
        put(&file, "\"\n\",\"\"\"\",3\n");
        rows++;
    }
    write_file(root, "inserted/x.csv", &file);
    o = check_splits(root, RECORD_CSV, UINT64_MAX);
    assert_int_equal(o.status, DF_OK);
    assert_int_equal(o.count, rows);
    buf_fini(&file);
}

/* ---- other formats ---- */

static void lines_and_objects(void **state)
{
    static const enum record_format formats[] = { RECORD_LINES,
                                                  RECORD_NDJSON };
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    print_message("seed %u\n", seed);
    for (size_t k = 0; k < 2; k++) {
        char root[INPUT_TREE_PATH];
        struct buf file = { 0 };
        struct outcome o;
        uint64_t n = 0;

        workplace_new(root);
        while (file.len < 4 * MIB) {
            int c = rand_r(&seed);

            assert_true(buf_printf(
                &file, "{\"a\":\"%.*s\"}%s", c % 70,
                "----------------------------------------------------------"
                "------------------------------",
                c % 3 == 0 ? "\r\n" : "\n"));
            n++;
            if (c % 7 == 0) {
                put(&file, "\n");
                n += formats[k] == RECORD_LINES ? 1 : 0;
            }
        }
        put(&file, "{}");
        write_file(root, "inserted/x", &file);
        o = check_splits(root, formats[k], UINT64_MAX);
        assert_int_equal(o.status, DF_OK);
        assert_int_equal(o.count, n + 1);
        buf_fini(&file);
    }
}

/* ---- refusals: file, line, reason ---- */

static void put_plain_rows(struct buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        put(out, "\"two\nlines\",and a field\n");
    }
}

/* Something wrong behind n rows of two lines each, and more rows. */
static void check_refused(size_t n, const char *wrong, const char *why)
{
    char root[INPUT_TREE_PATH];
    char expected[INPUT_TREE_PATH + 200];
    struct buf file = { 0 };
    struct outcome o;

    workplace_new(root);
    put(&file, "\xef\xbb\xbf"
               "a,b\n");
    put_plain_rows(&file, n);
    put(&file, wrong);
    put_plain_rows(&file, 100000);
    write_file(root, "inserted/x.csv", &file);
    buf_fini(&file);
    o = check_splits(root, RECORD_CSV, UINT64_MAX);
    (void)snprintf(expected, sizeof expected, "%s/inserted/x.csv:%zu: %s",
                   root, 2 + 2 * n, why);
    assert_int_equal(o.status, DF_INPUT);
    assert_string_equal(o.err.text, expected);
}

static void refusals_name_the_line(void **state)
{
    static const size_t places[] = { 0, 1, 30000, 43691, 43692, 90000 };

    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        check_refused(places[i], "1,2,3\n",
                      "ragged row: 3 fields, header has 2");
        check_refused(places[i], "1,2\"\n",
                      "broken quote: inside a field that is not quoted");
        check_refused(places[i], "\"1\"\"\n",
                      "broken quote: text behind the closing one");
    }
}

static void sinks_refuse(void **state)
{
    char root[INPUT_TREE_PATH];
    char expected[INPUT_TREE_PATH + 200];
    struct buf file = { 0 };

    (void)state;
    workplace_new(root);
    put(&file, "a,b\n");
    put_plain_rows(&file, 100000);
    put(&file, "too,many,fields\n");
    write_file(root, "inserted/x.csv", &file);
    buf_fini(&file);
    for (size_t i = 0; i < 100000; i += 33333) {
        struct outcome o = check_splits(root, RECORD_CSV, i);

        (void)snprintf(expected, sizeof expected,
                       "%s/inserted/x.csv:%zu: not to my taste", root,
                       2 + 2 * i);
        assert_string_equal(o.err.text, expected);
    }
}

/* Another content for the file; what the scan saw of it is as if it always had
 * been. */
static void change(const char *root, struct batch *batch, const char *text)
{
    struct df_error err;
    struct batch now;

    input_tree_text(root, "inserted/x.csv", text);
    assert_int_equal(batch_scan(&now, root, 2, &err), DF_OK);
    batch->files[0].length = now.files[0].length;
    batch->files[0].mtime = now.files[0].mtime;
    batch_fini(&now);
}

/* Between the two readings of a unit: by its bounds it is cut as it was, and
 * the hash tells; what ends early is refused. */
static void changed_in_between(void **state)
{
    const struct reader_cut cut = { .format = RECORD_CSV,
                                    .columns = &columns };
    struct taker t = { .refuse_at = UINT64_MAX };
    char root[INPUT_TREE_PATH];
    struct reader_units units;
    struct hash128 hash;
    struct batch batch;
    struct df_error err;
    struct reader *r;

    (void)state;
    workplace_new(root);
    input_tree_text(root, "inserted/x.csv", "a,b\n1,2\n3,4\n");
    assert_true(hash_stream_open(&t.hash));
    assert_int_equal(batch_scan(&batch, root, 2, &err), DF_OK);
    assert_int_equal(reader_plan_units(&units, &batch, &cut, &err), DF_OK);
    assert_int_equal(reader_open(&r, &cut, &err), DF_OK);
    units.keeps_bounds = true;
    assert_int_equal(read_units(r, &units, &t, &err), DF_OK);
    assert_int_equal(t.count, 2);
    hash = batch.files[0].hash;

    units.has_bounds = true;
    t.by_bounds = true;
    change(root, &batch, "a,b\n1,\"\n\n,4\n");
    assert_int_equal(read_units(r, &units, &t, &err), DF_OK);
    assert_int_equal(t.count, 4);
    assert_false(hash128_equal(batch.files[0].hash, hash));

    change(root, &batch, "a,b\n1,2\n");
    assert_int_equal(read_units(r, &units, &t, &err), DF_INPUT);
    assert_non_null(strstr(err.text, "changed while it was read"));
    reader_close(r);
    reader_units_fini(&units);
    batch_fini(&batch);
    hash_stream_close(t.hash);
    buf_fini(&t.noted);
    buf_fini(&t.stood);
}

/* A quote that is never closed swallows the rest: the first to see that is
 * the one whose record it is. */
static void never_closed(void **state)
{
    char root[INPUT_TREE_PATH];
    struct buf file = { 0 };
    struct outcome o;

    (void)state;
    workplace_new(root);
    put(&file, "a,b\n1,2\n1,\"");
    for (size_t i = 0; i < 500000; i++) {
        put(&file, "1,2\n1,2\n");
    }
    write_file(root, "inserted/x.csv", &file);
    o = check_splits(root, RECORD_CSV, UINT64_MAX);
    assert_non_null(strstr(o.err.text, "x.csv:3: broken quote: not closed"));
    while (file.len < RECORD_MAX + 3 * MIB) {
        put(&file, "1,2\n1,2\n1,2\n1,2\n1,2\n1,2\n1,2\n1,2\n1,2\n1,2\n");
    }
    assert_int_equal(unlink(input_tree_path(root, "inserted/x.csv")), 0);
    write_file(root, "inserted/x.csv", &file);
    o = check_splits(root, RECORD_CSV, UINT64_MAX);
    assert_non_null(strstr(o.err.text, "x.csv:3: a record longer than 16"));
    buf_fini(&file);
}

/* ---- compressed, and UTF-16 ---- */

static struct outcome outcome_of(const char *path, const struct buf *content)
{
    char root[INPUT_TREE_PATH];

    workplace_new(root);
    write_file(root, path, content);
    return check_splits(root, RECORD_CSV, UINT64_MAX);
}

static void decoded(void **state)
{
    struct buf plain = { 0 };
    struct buf wide = { 0 };
    struct buf packed = { 0 };
    struct outcome expected;
    struct outcome found;
    unsigned seed = 7;
    uLongf n;

    (void)state;
    put(&plain, "b,a\n");
    (void)put_rows(&plain, 2 * MIB, &seed);
    expected = outcome_of("inserted/x.csv", &plain);
    assert_int_equal(expected.status, DF_OK);
    assert_true(buf_append(&wide, "\xff\xfe", 2));
    for (size_t i = 0; i < plain.len; i++) {
        assert_true(buf_append_byte(&wide, plain.data[i]) &&
                    buf_append_byte(&wide, 0));
    }
    found = outcome_of("inserted/x.csv", &wide);
    assert_true(hash128_equal(found.records, expected.records));
    assert_true(buf_append_string(&wide, "1")); /* half a character */
    found = outcome_of("inserted/x.csv", &wide);
    assert_non_null(strstr(found.err.text, ": ragged row: 1 field"));

    n = compressBound((uLong)plain.len) + 32;
    assert_true(buf_reserve(&packed, n));
    {
        z_stream z = { .next_in = plain.data, .avail_in = (uInt)plain.len };

        assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 31, 8, 0), Z_OK);
        z.next_out = packed.data;
        z.avail_out = (uInt)n;
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        packed.len = z.total_out;
        assert_int_equal(deflateEnd(&z), Z_OK);
    }
    found = outcome_of("inserted/x.csv.gz", &packed);
    assert_int_equal(found.status, DF_OK);
    assert_true(hash128_equal(found.records, expected.records));
    assert_int_equal(found.blanks, expected.blanks);
    buf_fini(&plain);
    buf_fini(&wide);
    buf_fini(&packed);
}

static void archives_hold_no_records(void **state)
{
    char root[INPUT_TREE_PATH];
    struct outcome o;

    (void)state;
    workplace_new(root);
    input_tree_text(root, "inserted/x.warc", "a,b\n1,2\n");
    o = check_splits(root, RECORD_CSV, UINT64_MAX);
    assert_int_equal(o.status, DF_INPUT);
    assert_non_null(strstr(o.err.text, "inserted/x.warc: an archive"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moved_byte_by_byte),
        cmocka_unit_test(longer_than_units),
        cmocka_unit_test(lines_and_objects),
        cmocka_unit_test(refusals_name_the_line),
        cmocka_unit_test(sinks_refuse),
        cmocka_unit_test(changed_in_between),
        cmocka_unit_test(never_closed),
        cmocka_unit_test(decoded),
        cmocka_unit_test(archives_hold_no_records),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
