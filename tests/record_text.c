#include "tests/record_text.h"

#include <stdio.h>
#include <stdlib.h>

static void must(bool ok)
{
    if (!ok) {
        (void)fprintf(stderr, "record_text: out of memory\n");
        abort();
    }
}

void record_text_begin(struct buf *out, size_t len)
{
    must(buf_printf(out, "%zu", len));
}

void record_text_field(struct buf *out, enum df_kind kind, struct bytes value)
{
    must(buf_printf(out, "(%d %zu ", (int)kind, value.len) &&
         buf_append(out, value.data, value.len) && buf_append_byte(out, ')'));
}

void record_text_end(struct buf *out)
{
    must(buf_append_byte(out, ';'));
}

void record_text_blanks(struct buf *out, uint64_t blanks)
{
    must(buf_printf(out, " %llu", (unsigned long long)blanks));
}

void record_text_fault(struct buf *out, size_t at, const char *why)
{
    must(buf_printf(out, " !%zu %s", at, why));
}

struct taker {
    struct buf *out;
    size_t width;
};

static enum df_status take(void *ctx, const struct df_record *records,
                           size_t n, struct df_error *err)
{
    struct taker *t = ctx;

    (void)err;
    for (size_t i = 0; i < n; i++) {
        record_text_begin(t->out, records[i].len);
        for (size_t k = 0; k < t->width; k++) {
            const struct df_field *f = &records[i].fields[k];

            record_text_field(t->out, f->kind, bytes_of(f->data, f->len));
        }
        record_text_end(t->out);
    }
    return DF_OK;
}

/* A stretch in memory of its own, so that reading beyond its slack shows. */
static enum df_status parse(struct record_parser *p, struct bytes b,
                            bool at_end, size_t *used,
                            const struct record_sink *sink,
                            struct df_error *err)
{
    uint8_t *room = malloc(b.len + DF_SLACK);
    enum df_status status;

    must(room != NULL);
    memcpy(room, b.data, b.len);
    memset(room + b.len, '"', DF_SLACK);
    status = record_parse(p, bytes_of(room, b.len), at_end, used, sink, err);
    free(room);
    return status;
}

void record_text(struct buf *out, enum record_format format,
                 const struct df_columns *columns, struct bytes content,
                 size_t step)
{
    struct taker taker = { out, columns->n + (columns->whole ? 1 : 0) };
    const struct record_sink sink = { take, &taker };
    struct record_parser *p;
    struct df_error err;
    size_t at = 0;
    size_t end = 0;
    size_t fault;
    enum df_status status = record_parser_open(&p, format, columns, &err);

    must(status == DF_OK);
    record_parser_start(p);
    do {
        size_t used;

        end = step == 0 || content.len - end < step ? content.len : end + step;
        status = parse(p, bytes_of(content.data + at, end - at),
                       end == content.len, &used, &sink, &err);
        if (status == DF_OK) {
            at += used;
        }
    } while (status == DF_OK && end < content.len);
    record_text_blanks(out, record_parser_blanks(p));
    if (status != DF_OK) {
        must(record_parser_fault(p, &fault));
        record_text_fault(out, at + fault, err.text);
    }
    record_parser_close(p);
}

static void must_be(const char *how, enum record_format format,
                    const struct df_columns *columns, struct bytes content,
                    size_t step, struct bytes expected)
{
    struct buf found = { 0 };

    record_text(&found, format, columns, content, step);
    if (!bytes_equal(buf_bytes(&found), expected)) {
        (void)fprintf(stderr, "%s, by %zu:\n%.*s\nfound: %.*s\nnot:   %.*s\n",
                      how, step, (int)content.len, (const char *)content.data,
                      (int)found.len, (const char *)found.data,
                      (int)expected.len, (const char *)expected.data);
        abort();
    }
    buf_fini(&found);
}

void record_text_must_be(const char *how, enum record_format format,
                         const struct df_columns *columns,
                         struct bytes content, struct bytes expected)
{
    enum { SHORT = 600 };
    static const size_t steps[] = { 0, 61, 1, 7 };
    size_t n = content.len < SHORT ? sizeof steps / sizeof steps[0] : 2;

    for (size_t i = 0; i < n; i++) {
        must_be(how, format, columns, content, steps[i], expected);
    }
}

void record_text_check(enum record_format format,
                       const struct df_columns *columns,
                       const struct record_text_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        record_text_must_be("a table", format, columns,
                            bytes_of_string(cases[i].text),
                            bytes_of_string(cases[i].found));
    }
}
