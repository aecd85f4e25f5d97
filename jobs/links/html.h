/*
 * html.h: the links of an HTML page as a browser's parser sees them, in one
 * streaming pass over the bytes, without a tree.
 *
 *     struct html_scanner *s;
 *     html_scanner_open(&s)                    false without memory
 *     html_scan(s, page, &handler)             per page; false without memory
 *     html_scanner_close(s)                    takes NULL
 *
 * The scanner follows the tokenization states of the WHATWG HTML standard
 * (section 13.2.5) as far as they decide what is a tag and what its
 * attributes are. Pages are UTF-8 (encoding.h). Any bytes are a page: there
 * is no failure but for memory, time is linear, memory is bounded by the
 * longest attribute value.
 *
 * One tag is one link, in the order of the page: the copies that a tree
 * builder makes of an unclosed <a> do not count, and of two <base> the first
 * in the page is taken, also where a <table> would move the second before it.
 * <select> holds any element, as the standard says since 2025.
 *
 * One thread per scanner.
 */
#ifndef JOBS_LINKS_HTML_H
#define JOBS_LINKS_HTML_H

#include "base/buf.h"

/* Called in the order of the page; bytes are borrowed for the call. The base
 * may come behind links, which a browser resolves against it as well: who
 * resolves them collects them first. */
struct html_handler {
    /* href of the first <base> that has one; at most once in a page. */
    void (*base)(void *ctx, struct bytes href);
    /* a[href] and area[href] of HTML (not svg's), outside of <template>:
     * character references decoded, not stripped, not resolved. nofollow: its
     * rel has that word, in any case. */
    void (*link)(void *ctx, struct bytes href, bool nofollow);
    void *ctx;
};

struct html_scanner;
bool html_scanner_open(struct html_scanner **s);
void html_scanner_close(struct html_scanner *s);

/* DF_SLACK bytes behind the page are readable. */
bool html_scan(struct html_scanner *s, struct bytes page,
               const struct html_handler *handler);

/* Whether the last page had tags whose reading would need the whole tree:
 * HTML inside svg or math that is not well nested (html_foreign.h), or more
 * than HTML_DEPTH_MAX elements deep there. Its links are then a likely
 * reading. Everywhere else links are exactly what a parser finds. */
bool html_scanner_guessed(const struct html_scanner *s);

/* Whether bytes are an HTML page at all, by content: what a browser's
 * sniffing would take for text/html in its first bytes, leading blanks and
 * comments aside; not images, PDF, XML that is no XHTML, plain text. Of
 * pages in UTF-8 (encoding.h). */
bool html_looks_like(struct bytes page);

/* The same for bytes that are called a page, as by the end of their name:
 * these may begin with any text, but not as XML and PDF do. */
bool html_may_be(struct bytes page);
enum { HTML_SNIFFED = 1445 }; /* bytes that the MIME standard looks at */

#endif
