#include "input/csv_row.h"

#include <stdlib.h>

#include "input/grow.h"

void csv_row_fini(struct csv_row *row)
{
    free(row->fields);
    *row = (struct csv_row){ 0 };
}

size_t csv_field_text(struct bytes b, const struct csv_field *field,
                      uint8_t *out)
{
    const uint8_t *data = b.data + field->at;
    size_t n = 0;

    if (!field->is_escaped) {
        memcpy(out, data, field->len);
        return field->len;
    }
    for (size_t i = 0; i < field->len; i++) {
        out[n++] = data[i];
        i += data[i] == '"' ? 1 : 0; /* the second of two */
    }
    return n;
}

static bool add_field(struct csv_row *row, struct csv_field field)
{
    struct csv_field *fields =
        grow_array(row->fields, &row->capacity, row->count, sizeof fields[0]);

    if (fields == NULL) {
        return false;
    }
    row->fields = fields;
    row->fields[row->count++] = field;
    return true;
}

/* The length of the line end at `at`: 0 if there is none. */
static size_t line_end(struct bytes b, size_t at)
{
    if (at < b.len && b.data[at] == '\n') {
        return 1;
    }
    return at + 1 < b.len && b.data[at] == '\r' && b.data[at + 1] == '\n' ? 2
                                                                          : 0;
}

static enum csv_row_result broken(struct csv_row *row, const char *why)
{
    row->why = why;
    return CSV_BROKEN;
}

/* The field between quotes whose content begins at field->at. *end is where
 * the closing quote stands. */
static enum csv_row_result quoted(struct csv_row *row, struct bytes b,
                                  bool at_end, struct csv_field *field,
                                  size_t *end)
{
    size_t i = field->at;

    for (;;) {
        const uint8_t *quote = memchr(b.data + i, '"', b.len - i);

        if (quote == NULL) {
            return at_end ? broken(row, "broken quote: not closed before the "
                                        "end of the file")
                          : CSV_MORE;
        }
        i = (size_t)(quote - b.data);
        if (i + 1 == b.len && !at_end) {
            return CSV_MORE;
        }
        if (i + 1 == b.len || b.data[i + 1] != '"') {
            break;
        }
        field->is_escaped = true;
        i += 2;
    }
    *end = i;
    field->len = i - field->at;
    return CSV_ROW;
}

static enum csv_row_result bare(struct csv_row *row, struct bytes b,
                                uint8_t delimiter, bool at_end,
                                struct csv_field *field)
{
    size_t i = field->at;

    while (i < b.len && b.data[i] != delimiter && line_end(b, i) == 0) {
        if (b.data[i] == '"') {
            return broken(row, "broken quote: inside a field that is not "
                               "quoted");
        }
        i++;
    }
    field->len = i - field->at;
    return i < b.len || at_end ? CSV_ROW : CSV_MORE;
}

/* The field at `at`; *end is where it is over, its quotes included. */
static enum csv_row_result parse_field(struct csv_row *row, struct bytes b,
                                       uint8_t delimiter, bool at_end,
                                       size_t at, size_t *end)
{
    struct csv_field field = { .at = at };
    enum csv_row_result result;

    if (at < b.len && b.data[at] == '"') {
        field.at++;
        result = quoted(row, b, at_end, &field, end);
        *end += 1;
    } else {
        result = bare(row, b, delimiter, at_end, &field);
        *end = field.at + field.len;
    }
    if (result == CSV_ROW && !add_field(row, field)) {
        return CSV_NO_MEMORY;
    }
    return result;
}

enum csv_row_result csv_row_parse(struct csv_row *row, struct bytes b,
                                  uint8_t delimiter, bool at_end)
{
    size_t at = 0;

    row->count = 0;
    row->why = NULL;
    for (;;) {
        size_t end = 0;
        enum csv_row_result result =
            parse_field(row, b, delimiter, at_end, at, &end);

        if (result != CSV_ROW) {
            return result;
        }
        if (end == b.len || line_end(b, end) > 0) {
            if (end == b.len && !at_end) {
                return CSV_MORE;
            }
            row->len = end;
            row->next = end + line_end(b, end);
            return CSV_ROW;
        }
        if (b.data[end] != delimiter) {
            if (b.data[end] == '\r' && end + 1 == b.len && !at_end) {
                return CSV_MORE;
            }
            return broken(row, "broken quote: text behind the closing one");
        }
        at = end + 1;
    }
}
