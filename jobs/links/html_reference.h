/*
 * html_reference.h: character references (&amp; &#38; &#x26; &copy) as the
 * HTML standard decodes them in attribute values (13.2.5.72 to 80).
 */
#ifndef JOBS_LINKS_HTML_REFERENCE_H
#define JOBS_LINKS_HTML_REFERENCE_H

#include "base/buf.h"

enum { HTML_REFERENCE_POINTS = 2 /* most code points of one reference */ };

/* The reference that text, which begins with &, begins with: how many bytes
 * of text it takes, 0 when it is none, and its code points (0 behind the
 * last). A name without its semicolon counts only where no = or letter or
 * digit follows: the rule for attributes. */
size_t html_reference(struct bytes text,
                      uint32_t points[HTML_REFERENCE_POINTS]);

/* A value as it stands in the page into what the parser makes of it:
 * references decoded, CR and CRLF into LF, NUL into U+FFFD. Gives raw itself
 * where nothing changes, else room, which is reset. False without memory. */
bool html_value_decode(struct bytes raw, struct buf *room,
                       struct bytes *value);

/* The named references by first letter (index: letter - 'A'), in byte order
 * of their names, each as NAME=POINT or NAME=POINT+POINT in hexadecimal and
 * a blank; with : for = where the name counts without a semicolon, too. */
enum { HTML_REFERENCE_NAME_MAX = 31 };
extern const char *const html_reference_names['z' - 'A' + 1];

#endif
