/*
 * reader_private.h: the reader from within, for reader.c (documents) and
 * reader_records.c (records).
 */
#ifndef INPUT_READER_PRIVATE_H
#define INPUT_READER_PRIVATE_H

#include "input/decode.h"
#include "input/pieces.h"
#include "input/reader.h"
#include "input/source.h"
#include "input/units.h"
#include "input/warc.h"

enum {
    /* Bytes of one read: hashed and mapped while they are in the cache. A
     * decoder must be able to take it back. */
    READER_CHUNK = DECODE_CHUNK
};

/* Records being read. */
struct reader_records {
    struct record_parser *parser; /* NULL: the format is of documents */
    reader_record_sink *sink;
    void *ctx;
    const struct reader_units *units;
    struct reader_place place;
    uint64_t end_at;     /* where pieces.data[end] lies in the content of the
                            file, a mark not counted */
    struct bounds *kept; /* NULL: bounds are not kept */
    bool is_known;       /* the next three say where records are: */
    struct bounds_walk walk; /* those behind the next */
    bool has_next;
    uint64_t next_at; /* in the content */
    size_t next_len;
};

struct reader {
    struct reader_cut cut;
    struct source source;
    struct decode *file; /* over source */
    struct warc *warc;   /* over file */
    /* What the document at hand is pulled from: file, or warc's. */
    struct decode *content;
    struct pieces pieces;
    struct reader_records records;
};

/* Appends a chunk of content to the pieces; *at_end when nothing follows
 * it. */
enum df_status reader_fill(struct reader *r, bool *at_end,
                           struct df_error *err) DF_MUST_CHECK;

/* The first chunk of content of a file, decompressed, or of a unit; then its
 * mark is dropped, or it is turned from UTF-16. */
enum df_status reader_begin_file(struct reader *r, bool *at_end,
                                 struct df_error *err) DF_MUST_CHECK;
enum df_status reader_begin_text(struct reader *r, bool *at_end,
                                 struct df_error *err) DF_MUST_CHECK;

/* All pieces of a file that is open. */
enum df_status reader_read_file(struct reader *r,
                                struct df_error *err) DF_MUST_CHECK;

#endif
