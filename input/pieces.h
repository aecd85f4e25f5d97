/*
 * pieces.h: from the content of a document, as it comes, to pieces.
 *
 *     pieces_init(&p, cut)
 *       pieces_start(&p, id, is_first, sink, ctx)     per document or unit
 *         pieces_room(&p, size, err)                  room for more content
 *         ... write n bytes to p.data + p.end, p.end += n ...
 *         pieces_drain(&p, err)                       gives what it can
 *       pieces_finish(&p, is_last, is_unfinished, err)   gives the rest
 *     pieces_fini(&p)
 *
 * A piece ends at the last cut in what has come, so pieces are about as
 * long as the reads: what was just read and hashed is mapped while it is in
 * the cache. What stands behind that cut is kept for the next piece. Only
 * where DF_UNCUT bytes have no cut a piece is cut by force, after that many
 * (up to 3 fewer, not to tear a character of UTF-8). Example, with DF_UNCUT =
 * 8 and cuts behind blanks:
 *
 *     content    "ab cd efghijklmnopq rs"
 *     pieces     "ab cd "  "efghijkl|"  "|mnopq "  "rs"
 *
 * where | is `unfinished` and `continues`. The rule depends on the content
 * alone wherever the stretch begins at a cut or a unit's border, and a
 * stretch of more than DF_UNCUT bytes is cut at least once whatever the
 * units, so a job can leave out what is that long for every split.
 */
#ifndef INPUT_PIECES_H
#define INPUT_PIECES_H

#include "input/reader.h"

struct pieces {
    const struct reader_cut *cut;
    uint8_t *data;   /* content; DF_SLACK bytes more than capacity */
    size_t capacity; /* every byte of it is initialised */
    size_t begin;    /* data[begin..end) has not been given */
    size_t end;
    struct bytes id;
    bool is_first;  /* nothing has been given */
    bool continues; /* the last piece was cut by force */
    reader_sink *sink;
    void *ctx;
};

void pieces_init(struct pieces *p, const struct reader_cut *cut);
void pieces_fini(struct pieces *p);

void pieces_start(struct pieces *p, struct bytes id, bool is_first,
                  reader_sink *sink, void *ctx);

/* Room for size bytes behind data[end]; data and begin may change. */
enum df_status pieces_room(struct pieces *p, size_t size,
                           struct df_error *err) DF_MUST_CHECK;

/* Content not yet given. */
static inline struct bytes pieces_pending(const struct pieces *p)
{
    return bytes_of(p->data + p->begin, p->end - p->begin);
}

/* Where b, which begins with DF_UNCUT bytes without a cut, is cut by force. */
size_t pieces_forced_cut(struct bytes b);

/* The first cut in the first DF_UNCUT bytes of b, or 0. */
size_t pieces_first_cut(const struct pieces *p, struct bytes b);

/* Gives pieces up to the last cut. At least one byte is kept where there is
 * one: the last piece of a document must say so and not be empty. */
enum df_status pieces_drain(struct pieces *p,
                            struct df_error *err) DF_MUST_CHECK;

/* Gives all the rest. is_last: it ends where the document ends;
 * is_unfinished: where it was cut by force. */
enum df_status pieces_finish(struct pieces *p, bool is_last,
                             bool is_unfinished,
                             struct df_error *err) DF_MUST_CHECK;

#endif
