/*
 * http.h: the head of an HTTP response, as far as it tells how to read what
 * follows.
 */
#ifndef INPUT_HTTP_H
#define INPUT_HTTP_H

#include "base/bytes.h"
#include "input/decode.h"

struct http_head {
    unsigned status;         /* 100 to 999 */
    bool is_chunked;         /* Transfer-Encoding: chunked */
    bool is_decodable;       /* all codings are known, at most one packs */
    enum decode_kind coding; /* that one. DECODE_ZLIB: or DECODE_DEFLATE;
                                "deflate" means either, see http_deflate */
};

/* head: status line and fields, unfolded (fields.h). False where it does
 * not begin as an HTTP response does. */
bool http_parse(struct bytes head, struct http_head *http);

/* What "deflate" is by its first two bytes: RFC 1950, as the standard has
 * it, or RFC 1951 bare, as some servers send it. A bare stream could begin
 * like that only with a stored block whose padding is not zero. */
enum decode_kind http_deflate(struct bytes first);

#endif
