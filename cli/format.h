/*
 * format.h: rows as export, get, top and verify write them, or the lines of
 * a job that shows its view in its own way (df_present).
 *
 *   tsv      key, element where the job has one, values; tab between, newline
 *            after; tab, newline, CR and backslash in a key or an element as
 *            \t \n \r \\; no header, so that sort, join and diff work
 *   csv      RFC 4180: a header, CRLF, fields with a comma, quote, CR or LF
 *            in quotes, quotes doubled
 *   ndjson   {"key":"...","element":"...","count":N}, with the job's names
 *            of its values; what is not UTF-8 as "key_base64" (json.h)
 *   msgpack  per row an array of key and element (bin) and values (int)
 *
 *     format_open(&f, kind, shape, names, out);
 *     format_row(&f, key, element, values) ...;
 *     format_close(&f);
 *
 * or, for lines, whose cells stand under their names in csv and ndjson
 *
 *     format_open_lines(&f, kind, names, n, out);
 *     format_line(&f, cells) ...;
 *     format_close(&f);
 *
 *   cell     tsv       csv           ndjson           msgpack
 *   null     \N        nothing       null             nil
 *   text     escaped   as it is      string           bin
 *   number   digits    digits        number           str
 *   json     escaped   as it is      as it is         str
 *
 * Bytes are written as they are but for the escapes named.
 */
#ifndef CLI_FORMAT_H
#define CLI_FORMAT_H

#include "cli/output.h"
#include "state/row.h"

enum format_kind { FORMAT_TSV, FORMAT_CSV, FORMAT_NDJSON, FORMAT_MSGPACK };
/* The names, in that order, as an OPTION_CHOICE has them. */
#define FORMAT_CHOICES "tsv|csv|ndjson|msgpack"

struct format {
    enum format_kind kind;
    struct row_shape shape;
    const char *const *names; /* of the values or the cells, borrowed */
    unsigned cells;           /* lines: how many */
    struct output *out;
    struct buf packed; /* msgpack: one row; ndjson: one name */
    bool no_memory;
};

/* Writes the header where the format has one. */
void format_open(struct format *f, enum format_kind kind,
                 struct row_shape shape, const char *const *names,
                 struct output *out);
void format_row(struct format *f, struct bytes key, struct bytes element,
                const int64_t *values);
void format_open_lines(struct format *f, enum format_kind kind,
                       const char *const *names, unsigned n,
                       struct output *out);
void format_line(struct format *f, const struct df_cell *cells);
/* TSV and ndjson: a line whose cells have changed; the first `keys` of them,
 * which have not, then the others as they were and as they are. NULL: there
 * is no line; not both. In ndjson the two sides are objects, or null. */
void format_line_change(struct format *f, unsigned keys,
                        const struct df_cell *old_cells,
                        const struct df_cell *new_cells);
/* Fails with DF_SYSTEM when memory ran out (msgpack alone needs any). */
enum df_status format_close(struct format *f,
                            struct df_error *err) DF_MUST_CHECK;

/* TSV: a row whose values have changed, old values before new ones. */
void format_tsv_change(struct format *f, struct bytes key,
                       struct bytes element, const int64_t *old_values,
                       const int64_t *new_values);
/* The values by name, into an object that is open. */
struct json;
void format_json_values(const struct format *f, struct json *j,
                        const int64_t *values);

/* One field with TSV's escapes. */
void format_tsv_field(struct output *out, struct bytes b);

#endif
