/*
 * csv_row.h: one row of csv or tsv, byte by byte: the authority on what a
 * row is (RFC 4180). csv.h takes the short way wherever it can; header rows,
 * the last row without a line end and everything that is to be refused come
 * here.
 *
 *     struct csv_row row = { 0 };
 *     csv_row_parse(&row, b, delimiter, at_end)
 *     csv_row_fini(&row);
 *
 * Quotes stand around a whole field and nowhere else; `""` within is one.
 * Between quotes delimiters and line ends are content. LF and CRLF end a
 * row, a lone CR does not. NUL and bytes that are not UTF-8 are bytes.
 */
#ifndef INPUT_CSV_ROW_H
#define INPUT_CSV_ROW_H

#include "base/bytes.h"

struct csv_field {
    size_t at; /* of the content: behind the quote */
    size_t len;
    bool is_escaped; /* has `""` in it */
};

enum csv_row_result {
    CSV_ROW,    /* a row */
    CSV_MORE,   /* ends behind b */
    CSV_BROKEN, /* broken quote; why says which */
    CSV_NO_MEMORY
};

struct csv_row {
    struct csv_field *fields;
    size_t count;
    size_t capacity;
    size_t len;  /* of the row, without its line end */
    size_t next; /* where the next one begins */
    const char *why;
};

/* at_end: nothing follows b, which is not empty. */
enum csv_row_result csv_row_parse(struct csv_row *row, struct bytes b,
                                  uint8_t delimiter, bool at_end);
void csv_row_fini(struct csv_row *row);

/* Copies a field of b, `""` as `"`; out has room for field->len bytes. Returns
 * how many there are. */
size_t csv_field_text(struct bytes b, const struct csv_field *field,
                      uint8_t *out);

#endif
