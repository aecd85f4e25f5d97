/*
 * records.c: how fast records are parsed, without what comes before and
 * behind.
 *
 *     bench_records
 *
 * Makes some tens of MB of rows of about 60 bytes in memory, as csv, as csv
 * with a quoted field in every row, as ndjson and as lines, and picks three
 * columns of them (of lines the one there is) in stretches as long as the
 * reader's, on every vector path this processor has. Prints the median and
 * the spread of several runs on one thread, by its processor time: nothing is
 * read or waited for. Before a time is printed the
 * fields are compared, as a hash, with those the rows were made of.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/hash.h"
#include "input/csv_index.h"
#include "input/record.h"

enum { RUNS = 7, ROWS = 500 * 1000, CHUNK = 256 << 10, COLUMNS = 3 };

static const char *const names[COLUMNS] = { "user", "amount", "country" };
static const char *const line_names[] = { RECORD_LINE_COLUMN };

static void fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "bench_records: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void must(bool ok)
{
    if (!ok) {
        fail("memory", "there is none left");
    }
}

/* ---- the rows, and what must be found in them ---- */

struct content {
    const char *label;
    enum record_format format;
    bool is_quoted;
    struct buf text;
    struct hash128 fields; /* of the columns, one after the other */
};

struct row {
    char user[20];
    char amount[20];
    char country[4];
    char note[20];
};

static struct row row_of(unsigned i)
{
    struct row r;
    unsigned x = i * 2654435761U;

    (void)snprintf(r.user, sizeof r.user, "user%07u", x % 3000000U);
    (void)snprintf(r.amount, sizeof r.amount, "%u.%02u", x >> 20,
                   (x >> 8) % 100);
    (void)snprintf(r.country, sizeof r.country, "%c%c",
                   (int)('A' + (x >> 4) % 26), (int)('A' + (x >> 9) % 26));
    (void)snprintf(r.note, sizeof r.note, "note %u", x % 977);
    return r;
}

static void hash_field(struct hash_stream *h, const void *data, size_t len)
{
    hash_stream_add(h, bytes_of(data, len));
    hash_stream_add(h, bytes_of("\n", 1));
}

static void put_row(struct content *c, unsigned i, const struct row *r,
                    struct hash_stream *h)
{
    struct buf *t = &c->text;
    size_t begin = t->len;
    const char *quote = c->is_quoted ? "\"" : "";

    switch (c->format) {
    case RECORD_NDJSON:
        must(buf_printf(t,
                        "{\"id\":%u,\"user\":\"%s\",\"amount\":%s,"
                        "\"country\":\"%s\",\"note\":\"%s\"}\n",
                        i, r->user, r->amount, r->country, r->note));
        break;
    case RECORD_LINES:
        must(buf_printf(t, "%08u %s %s %s %s 2026-11-29T12:00\n", i, r->user,
                        r->amount, r->country, r->note));
        hash_field(h, t->data + begin, t->len - begin - 1);
        return;
    case RECORD_CSV:
    case RECORD_TSV:
    case RECORD_NONE:
    default:
        must(buf_printf(t, "%08u,%s,%s,%s,%s%s%s,2026-11-29T12:00\n", i,
                        r->user, r->amount, r->country, quote, r->note,
                        quote));
        break;
    }
    hash_field(h, r->user, strlen(r->user));
    hash_field(h, r->amount, strlen(r->amount));
    hash_field(h, r->country, strlen(r->country));
}

static void make(struct content *c)
{
    struct hash_stream *h;

    must(hash_stream_open(&h));
    hash_stream_reset(h);
    if (c->format == RECORD_CSV) {
        must(
            buf_append_string(&c->text, "id,user,amount,country,note,time\n"));
    }
    for (unsigned i = 0; i < ROWS; i++) {
        struct row r = row_of(i);

        put_row(c, i, &r, h);
    }
    must(buf_reserve(&c->text, DF_SLACK));
    memset(c->text.data + c->text.len, 0, DF_SLACK);
    c->fields = hash_stream_end(h);
    hash_stream_close(h);
}

/* ---- measuring ---- */

struct taker {
    struct hash_stream *hash; /* NULL: count only */
    size_t width;
    uint64_t records;
    uint64_t bytes; /* of fields: they are looked at */
};

static enum df_status take(void *ctx, const struct df_record *records,
                           size_t n, struct df_error *err)
{
    struct taker *t = ctx;

    (void)err;
    t->records += n;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < t->width; k++) {
            const struct df_field *f = &records[i].fields[k];

            t->bytes += f->len;
            if (t->hash != NULL) {
                hash_field(t->hash, f->data, f->len);
            }
        }
    }
    return DF_OK;
}

static void parse(const struct content *c, struct taker *t)
{
    bool is_lines = c->format == RECORD_LINES;
    const struct df_columns columns = { .names = is_lines ? line_names : names,
                                        .n = is_lines ? 1 : COLUMNS };
    const struct record_sink sink = { take, t };
    struct record_parser *p;
    struct df_error err;
    size_t at = 0;
    size_t end = 0;

    t->width = columns.n;
    if (record_parser_open(&p, c->format, &columns, &err) != DF_OK) {
        fail(c->label, err.text);
    }
    record_parser_start(p);
    while (end < c->text.len) {
        size_t used;

        end = c->text.len - end < CHUNK ? c->text.len : end + CHUNK;
        if (record_parse(p, bytes_of(c->text.data + at, end - at),
                         end == c->text.len, &used, &sink, &err) != DF_OK) {
            fail(c->label, err.text);
        }
        at += used;
    }
    record_parser_close(p);
}

static void check(const struct content *c)
{
    struct taker t = { 0 };

    must(hash_stream_open(&t.hash));
    hash_stream_reset(t.hash);
    parse(c, &t);
    if (t.records != ROWS ||
        !hash128_equal(hash_stream_end(t.hash), c->fields)) {
        fail(c->label, "other fields than the rows were made of");
    }
    hash_stream_close(t.hash);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

static void measure(const struct content *c, const char *path)
{
    double speeds[RUNS];
    double mb = (double)c->text.len / 1e6;

    check(c);
    for (unsigned i = 0; i < RUNS; i++) {
        struct taker t = { 0 };
        double begin = seconds();

        parse(c, &t);
        speeds[i] = mb / (seconds() - begin);
    }
    qsort(speeds, RUNS, sizeof *speeds, ascending);
    printf("%-10s %-9s %6.0f MB/s  (%.0f to %.0f)  %5.1f M records/s of %.0f "
           "bytes\n",
           c->label, path, speeds[RUNS / 2], speeds[0], speeds[RUNS - 1],
           speeds[RUNS / 2] / mb * ROWS / 1e6, mb * 1e6 / ROWS);
}

int main(void)
{
    struct content all[] = {
        { .label = "csv", .format = RECORD_CSV },
        { .label = "csv quoted", .format = RECORD_CSV, .is_quoted = true },
        { .label = "ndjson", .format = RECORD_NDJSON },
        { .label = "lines", .format = RECORD_LINES },
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct csv_index_path *path;

        make(&all[i]);
        for (size_t k = 0; (path = csv_index_path(k)) != NULL; k++) {
            csv_index_prefer(path);
            measure(&all[i], all[i].format == RECORD_CSV ? path->name : "");
            if (all[i].format != RECORD_CSV) {
                break; /* these have one way */
            }
        }
        buf_fini(&all[i].text);
    }
    return EXIT_SUCCESS;
}
