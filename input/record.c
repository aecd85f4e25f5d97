#include "input/record.h"

#include <stdlib.h>

#include "input/csv.h"
#include "input/csv_index.h"
#include "input/ndjson.h"

struct record_parser {
    enum record_format format;
    const struct df_columns *columns;
    struct record_rows rows;
    struct csv csv;       /* csv, tsv */
    struct ndjson ndjson; /* lines, ndjson */
    bool has_fault;
    size_t fault_at;
};

static uint8_t delimiter_of(enum record_format format)
{
    return format == RECORD_TSV ? '\t' : ',';
}

enum df_status record_parser_open(struct record_parser **p,
                                  enum record_format format,
                                  const struct df_columns *columns,
                                  struct df_error *err)
{
    struct record_parser *made = calloc(1, sizeof *made);
    enum df_status status;

    *p = NULL;
    if (made == NULL) {
        return error_no_memory(err);
    }
    made->format = format;
    made->columns = columns;
    status = record_rows_init(&made->rows,
                              columns->n + (columns->whole ? 1 : 0), err);
    if (status == DF_OK && record_has_header(format)) {
        status = csv_open(&made->csv, delimiter_of(format), columns,
                          &made->rows, err);
    } else if (status == DF_OK) {
        status = ndjson_open(&made->ndjson, format == RECORD_NDJSON, columns,
                             &made->rows, err);
    }
    if (status != DF_OK) {
        record_parser_close(made);
        return status;
    }
    *p = made;
    return DF_OK;
}

void record_parser_close(struct record_parser *p)
{
    if (p == NULL) {
        return;
    }
    csv_close(&p->csv);
    ndjson_close(&p->ndjson);
    record_rows_fini(&p->rows);
    free(p);
}

void record_parser_start(struct record_parser *p)
{
    csv_start(&p->csv);
    p->has_fault = false;
}

static enum df_status parse(struct record_parser *p, struct bytes b,
                            bool at_end, size_t *used, struct df_error *err)
{
    enum df_status status;

    if (record_has_header(p->format)) {
        p->csv.fault_at = SIZE_MAX;
        status = csv_parse(&p->csv, b, at_end, used, err);
        p->fault_at = p->csv.fault_at;
    } else {
        status = ndjson_parse(&p->ndjson, b, at_end, used, err);
        p->fault_at = p->ndjson.is_refused ? p->ndjson.fault_at : SIZE_MAX;
    }
    return status;
}

enum df_status record_parse(struct record_parser *p, struct bytes b,
                            bool at_end, size_t *used,
                            const struct record_sink *sink,
                            struct df_error *err)
{
    enum df_status status;

    p->rows.sink = sink;
    p->rows.count = 0;
    p->rows.scratch.len = 0;
    status = parse(p, b, at_end, used, err);
    p->has_fault = status == DF_INPUT && p->fault_at != SIZE_MAX;
    /* What the sink says of an earlier record comes first. */
    if (status == DF_OK || p->has_fault) {
        enum df_status given = record_rows_flush(&p->rows, err);

        p->has_fault = p->has_fault && given == DF_OK;
        status = given == DF_OK ? status : given;
    }
    return status;
}

struct bytes record_parser_header_row(const struct record_parser *p)
{
    return buf_bytes(&p->csv.header);
}

enum df_status record_parser_header(struct record_parser *p,
                                    struct bytes header, struct df_error *err)
{
    uint64_t blanks = p->csv.blanks;
    size_t used;
    enum df_status status = parse(p, header, false, &used, err);

    p->csv.blanks = blanks;
    return status;
}

bool record_parser_fault(const struct record_parser *p, size_t *at)
{
    *at = p->fault_at;
    return p->has_fault;
}

uint64_t record_parser_blanks(const struct record_parser *p)
{
    return p->csv.blanks + p->ndjson.blanks;
}

bool record_header_is_whole(enum record_format format, struct bytes b,
                            size_t *len)
{
    struct csv_row row = { 0 };
    enum csv_row_result result;

    *len = 0;
    do {
        struct bytes rest = bytes_of(b.data + *len, b.len - *len);

        result = rest.len == 0
                     ? CSV_MORE
                     : csv_row_parse(&row, rest, delimiter_of(format), false);
        *len += result == CSV_ROW ? row.next : 0;
    } while (result == CSV_ROW && row.len == 0);
    csv_row_fini(&row);
    return result == CSV_ROW;
}

size_t record_border(enum record_format format, struct bytes b, bool *inside)
{
    bool quoted = *inside;

    if (!record_has_header(format)) {
        const uint8_t *lf = memchr(b.data, '\n', b.len);

        return lf == NULL ? 0 : (size_t)(lf - b.data) + 1;
    }
    for (size_t i = 0; i < b.len; i++) {
        quoted ^= b.data[i] == '"';
        if (b.data[i] == '\n' && !quoted) {
            *inside = false;
            return i + 1;
        }
    }
    *inside = quoted;
    return 0;
}

bool record_parity(struct bytes b)
{
    return csv_index_best()->parity(b);
}
