/*
 * warc.h: the documents in a WARC file (ISO 28500, versions 1.0 and 1.1),
 * in their order, from one pass over its bytes and without a file: what
 * they come from is a decode.
 *
 *     warc_open(&w, file, err)                          once per reader
 *       warc_start(w, head, err)                        per file
 *         warc_next(w, &uri, &found, err)               per document
 *         decode_pull(warc_content(w), ...) ...         to its end
 *     warc_close(w)
 *
 * A document is the content of a `response` record whose target is http or
 * https and whose block is an HTTP response of status 200, or the block of
 * a `resource` record with such a target, as it is. Its id is the target
 * URI, as it is written but for angle brackets around it. The same URI may
 * come many times: each record is a document.
 *
 * Content is decoded of the chunked transfer coding and of the codings
 * gzip, x-gzip, deflate (RFC 1950 or bare RFC 1951), zstd and identity.
 * Writers of archives may have done that and left the HTTP head as it was:
 * content that does not begin as its coding does (with the size of a chunk,
 * or with the magic number of gzip or zstd) is taken as it is, and counted.
 *
 * Passed over and counted are records of other types and targets, other
 * statuses, responses that are not HTTP, records cut by their writer
 * (WARC-Truncated) or in segments, and content in another coding (br), or
 * in more than one.
 *
 * Refused (DF_INPUT), naming the record by its place in the file: what is
 * no record, or has no good head; a block that ends early, or that no line
 * end follows; chunks or compressed content that do not decode to their
 * end.
 */
#ifndef INPUT_WARC_H
#define INPUT_WARC_H

#include "input/decode.h"
#include "input/reader.h"

enum {
    /* Longest head of a record or of a response: room for a URI of
     * DF_KEY_MAX and for more cookies than browsers take. */
    WARC_HEAD_MAX = 256 << 10
};

/* By the name: ends in .warc, .warc.gz or .warc.zst, in any case. */
bool warc_is_named(struct bytes path);

struct warc;
enum df_status warc_open(struct warc **w, struct decode *file,
                         struct df_error *err) DF_MUST_CHECK;
void warc_close(struct warc *w); /* takes NULL */

/* Ends reading with DF_INTERRUPTED once *stop is not 0. */
void warc_watch(struct warc *w, const volatile sig_atomic_t *stop);

/* Begins with the first byte of file; head are the first bytes of it, if
 * they have been pulled already, at most DECODE_CHUNK. */
enum df_status warc_start(struct warc *w, struct bytes head,
                          struct df_error *err) DF_MUST_CHECK;

/* The next document, or *found is false at the end, which has then been
 * read. What is left of the document before is passed over. uri lives
 * until the next call. */
enum df_status warc_next(struct warc *w, struct bytes *uri, bool *found,
                         struct df_error *err) DF_MUST_CHECK;

/* What the content of the document is pulled from; always the same. */
struct decode *warc_content(struct warc *w);

/* Of all files since warc_open. */
struct reader_counts warc_counts(const struct warc *w);

#endif
