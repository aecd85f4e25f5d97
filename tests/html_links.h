/*
 * html_links.h: what is linked in a page, as one text that can be compared:
 * a line "link HREF", "nofollow HREF" or "base HREF" each, in the page's
 * order, with bytes below 0x20, 0x7F and backslash as \xHH.
 */
#ifndef TESTS_HTML_LINKS_H
#define TESTS_HTML_LINKS_H

#include "base/buf.h"
#include "jobs/links/html.h"

void html_links_add(struct buf *links, const char *kind, struct bytes href);

/* What the scanner finds, appended; true unless it guessed. */
bool html_links_scan(struct html_scanner *s, struct bytes page,
                     struct buf *links);

/* The bytes with DF_SLACK bytes of no meaning behind them: tags, quotes. */
struct bytes html_links_page(struct buf *room, struct bytes content);

/* Whether rel says nofollow, found in another way than the scanner's. */
bool html_links_is_nofollow(const char *rel);

#endif
