/*
 * chunked.h: the chunked transfer coding (RFC 9112, section 7.1), without a
 * copy and without memory of its own.
 *
 *     struct chunked c = { 0 };
 *     for (;;) {
 *         chunked_step(&c, &in, &content);
 *         ... content is the next run of it, in what was taken of in ...
 *     }
 *
 * Sizes are hexadecimal in either case; extensions and trailers are passed
 * over, however long; lines end in CRLF, those of sizes and trailers in LF
 * too.
 */
#ifndef INPUT_CHUNKED_H
#define INPUT_CHUNKED_H

#include "base/bytes.h"

enum chunked_state {
    CHUNKED_SIZE,      /* where the digits of a size stand */
    CHUNKED_EXTENSION, /* behind them */
    CHUNKED_CONTENT,
    CHUNKED_BEHIND,  /* the line end behind a chunk */
    CHUNKED_TRAILER, /* at the start of a line behind the last chunk */
    CHUNKED_TRAILER_LINE,
    CHUNKED_END,
    CHUNKED_BAD
};

struct chunked {
    enum chunked_state state;
    uint64_t left; /* bytes of the chunk at hand; its size so far */
    bool has_size; /* there was a digit */
    bool has_cr;   /* the byte before was a CR that needs its LF */
};

enum { CHUNKED_SNIFF = 17 }; /* more digits than a size can have */

/* Whether content begins with the size of a chunk; first has at least
 * CHUNKED_SNIFF bytes of it, or all. */
bool chunked_begins(struct bytes first);

/* Takes bytes off *in until there is content, or none are left, or the
 * state is CHUNKED_END or CHUNKED_BAD, where it stays. */
void chunked_step(struct chunked *c, struct bytes *in, struct bytes *content);

/* Nothing but the empty line that ends the trailers is missing: some
 * writers leave it out. */
static inline bool chunked_is_whole(const struct chunked *c)
{
    return c->state == CHUNKED_END || c->state == CHUNKED_TRAILER;
}

#endif
