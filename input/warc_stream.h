/*
 * warc_stream.h: the bytes of an archive as its records are cut from them,
 * and where in the file they lie.
 *
 *     warc_stream_start(&s, file, head)     per file; false without memory
 *       warc_stream_fill(&s, n, err)        has n bytes ready, or all
 *       warc_stream_ready(&s)               those
 *       warc_stream_take(&s, n)             and on
 *     warc_stream_fini(&s)                  safe on zeroed memory
 */
#ifndef INPUT_WARC_STREAM_H
#define INPUT_WARC_STREAM_H

#include <signal.h>

#include "base/buf.h"
#include "input/decode.h"

enum { WARC_STREAM_FILL_MAX = 64 };

struct warc_stream {
    struct decode *file; /* not owned */
    uint8_t *chunk;      /* DECODE_CHUNK bytes */
    size_t begin;        /* chunk[begin..end) has not been taken */
    size_t end;
    uint64_t at;             /* where chunk[begin] lies in the content */
    size_t pulled;           /* chunk[pulled..end) came with the last pull */
    struct decode_member in; /* the member that was pulled from */
    const volatile sig_atomic_t *stop; /* not 0: DF_INTERRUPTED; may be NULL
                                        */
};

/* Where a record begins. */
struct warc_place {
    uint64_t at;
    bool is_packed; /* the file is compressed; then either `at` is that of
                       the member which begins with the record, */
    bool is_member; /* or else that in the decompressed content */
};

/* head: bytes that have been pulled from file already. */
bool warc_stream_start(struct warc_stream *s, struct decode *file,
                       struct bytes head);
void warc_stream_fini(struct warc_stream *s);

/* n is at most WARC_STREAM_FILL_MAX. Fewer are ready only at the end. */
enum df_status warc_stream_fill(struct warc_stream *s, size_t n,
                                struct df_error *err) DF_MUST_CHECK;

static inline struct bytes warc_stream_ready(const struct warc_stream *s)
{
    return bytes_of(s->chunk + s->begin, s->end - s->begin);
}

static inline void warc_stream_take(struct warc_stream *s, size_t n)
{
    s->begin += n;
    s->at += n;
}

/* Of the first byte that is ready. */
struct warc_place warc_stream_place(const struct warc_stream *s);

/* Takes a head of lines: all up to the first empty one, that one included,
 * but no more than `most` bytes and not beyond the end. *is_whole tells
 * whether the empty line was there. */
enum df_status warc_stream_head(struct warc_stream *s, struct buf *head,
                                size_t most, bool *is_whole,
                                struct df_error *err) DF_MUST_CHECK;

#endif
