/*
 * encoding.h: a page's bytes to UTF-8.
 *
 * By byte order mark, else <meta charset> (or http-equiv) in the first 1024
 * bytes as the HTML standard's prescan finds it, else UTF-8 where the whole
 * page is well-formed UTF-8, else windows-1252. Labels as the WHATWG Encoding
 * standard maps them (latin1 and us-ascii are windows-1252). Encodings other
 * than UTF-8, UTF-16 and windows-1252 are read as windows-1252: links are
 * ASCII there too.
 */
#ifndef JOBS_LINKS_ENCODING_H
#define JOBS_LINKS_ENCODING_H

#include "base/buf.h"

/* The page in UTF-8: either the page itself, less its mark, or room, which is
 * reset and filled (with DF_SLACK readable bytes behind). DF_SLACK bytes
 * behind the page are readable. False without memory. */
bool encoding_to_utf8(struct bytes page, struct buf *room, struct bytes *utf8);

/* The same for a page that is known to be UTF-8, whatever it says of itself:
 * only what is ill-formed is mended. */
bool encoding_mend(struct bytes page, struct buf *room, struct bytes *utf8);

#endif
