/*
 * url.h: http and https URLs, resolved and normalised.
 *
 *     struct url_base base = { 0 };
 *     url_base_set(&base, absolute)        per page (and per <base href>)
 *     url_resolve(&base, href, &out)       per link
 *     url_base_fini(&base)
 *
 * Parsing and resolution are the WHATWG URL standard's for special schemes.
 * The result is normalised further: fragment dropped, host lower case and in
 * ASCII (IDN by UTS 46), default port dropped, escapes in upper-case hex,
 * escaped unreserved characters (RFC 3986 section 2.3) decoded, path case,
 * query and trailing slash kept. An empty query keeps its question mark and
 * credentials stay, as they do in the standard's href.
 *
 * Any bytes are a reference: ill-formed UTF-8 counts as U+FFFD. Time is
 * linear in the length. A result is in normal form: resolved again, against
 * any base, it is itself.
 *
 * Unlike the standard: what follows a scheme other than http and https is
 * not looked at (URL_OTHER); a domain that is international, or has a label
 * in "xn--", is URL_INVALID beyond 1024 bytes, and where it has letters that
 * are newer than the Unicode of the ICU library.
 *
 * A base may be read by any number of threads.
 */
#ifndef JOBS_LINKS_URL_H
#define JOBS_LINKS_URL_H

#include "base/buf.h"

enum url_result {
    URL_OK,
    URL_OTHER,   /* not http or https: mailto:, javascript:, data: ... */
    URL_INVALID, /* not a URL by the standard */
    URL_NO_MEMORY
};

/* A parsed absolute URL that others are resolved against. Owns its text. */
struct url_base {
    struct buf text; /* normalised, without fragment */
    size_t host_end; /* scheme, "//", credentials, host and port are
                        text[0..host_end) */
    size_t dir_end;  /* the path up to its last slash: [host_end..dir_end) */
    size_t path_end; /* the path is text[host_end..path_end) */
};

/* Takes an absolute URL. On anything but URL_OK base is as before. */
enum url_result url_base_set(struct url_base *base, struct bytes absolute);
/* Takes a reference, relative to what base is now (a <base href>). On
 * anything but URL_OK base is as before. */
enum url_result url_base_move(struct url_base *base, struct bytes href);
void url_base_fini(struct url_base *base);

/* The normalised URL of href, appended to out (unchanged unless URL_OK).
 * Against a zeroed base only absolute URLs are not URL_INVALID. out keeps its
 * room, so that a buf in use again is not allocated again. */
enum url_result url_resolve(const struct url_base *base, struct bytes href,
                            struct buf *out);

#endif
