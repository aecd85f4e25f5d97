/*
 * record.h: from stretches of a file's content to arrays of records.
 *
 *     record_parser_open(&p, format, columns, err)        per worker
 *       record_parser_start(p)                            per file
 *         record_parse(p, b, at_end, &used, sink, err)    per stretch
 *     record_parser_close(p)                              takes NULL
 *
 * A stretch begins where a record begins. All records that are whole in it
 * are given to the sink, some hundreds at a time; *used is where the first
 * begins that is not, and the next stretch must begin there. With at_end
 * nothing follows and all is used: a last record needs no line end.
 *
 * LF and CRLF end a record, nothing else does. The first row of csv and tsv
 * is the header. Lines that are wholly empty (in ndjson: blank) hold no record
 * and are counted - but every line is a record of `lines`, and in csv with one
 * column an empty line is a record with an empty field. csv_row.h and json.h
 * say what is refused. What is refused depends on the bytes of the record at
 * hand alone, never on where stretches end.
 */
#ifndef INPUT_RECORD_H
#define INPUT_RECORD_H

#include "base/buf.h"
#include "base/error.h"
#include "deltafold/job.h"

enum record_format {
    RECORD_NONE, /* a file is a document */
    RECORD_LINES,
    RECORD_CSV,
    RECORD_TSV,
    RECORD_NDJSON
};

/* The longest record, its line end not counted. A worker holds one whole, and
 * up to some ten times its length of what is found in it; what is longer is
 * nearly always a quote that was opened and forgotten. */
#define RECORD_MAX ((size_t)16 << 20)

/* The name of the one column of `lines`. */
#define RECORD_LINE_COLUMN "line"

struct record_sink {
    /* A failure ends record_parse and is returned from it as it is. */
    enum df_status (*take)(void *ctx, const struct df_record *records,
                           size_t n, struct df_error *err);
    void *ctx;
};

struct record_parser;
enum df_status record_parser_open(struct record_parser **p,
                                  enum record_format format,
                                  const struct df_columns *columns,
                                  struct df_error *err) DF_MUST_CHECK;
void record_parser_close(struct record_parser *p);

void record_parser_start(struct record_parser *p);

/* b is shorter than 4 GiB, and DF_SLACK bytes behind it are readable. */
enum df_status record_parse(struct record_parser *p, struct bytes b,
                            bool at_end, size_t *used,
                            const struct record_sink *sink,
                            struct df_error *err) DF_MUST_CHECK;

/* The header of the file at hand, as it stands there, without line end; empty
 * for formats without, and before it has come. */
struct bytes record_parser_header_row(const struct record_parser *p);

/* Whether the last failure was the input's; then err says only why, and the
 * record begins at *at of the stretch. */
bool record_parser_fault(const struct record_parser *p, size_t *at);

/* Empty lines since record_parser_open. */
uint64_t record_parser_blanks(const struct record_parser *p);

/* Takes a header that another worker has read as the first row of its file;
 * DF_INPUT where that refused it. Nothing is counted. */
enum df_status record_parser_header(struct record_parser *p,
                                    struct bytes header,
                                    struct df_error *err) DF_MUST_CHECK;

/* What formats with a header have: whether b begins with a whole one. *len is
 * its length with its line end. False without memory too. */
bool record_header_is_whole(enum record_format format, struct bytes b,
                            size_t *len);

static inline bool record_has_header(enum record_format format)
{
    return format == RECORD_CSV || format == RECORD_TSV;
}

/*
 * The smallest c such that a record ends before b.data[c], 0 where there is
 * none. inside: whether b begins between quotes; set to whether it ends so
 * (false for formats without).
 */
size_t record_border(enum record_format format, struct bytes b, bool *inside);

/* Whether the quotes in b turn inside to outside. */
bool record_parity(struct bytes b);

#endif
