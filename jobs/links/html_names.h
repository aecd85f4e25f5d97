/*
 * html_names.h: the element names that change how a page is read.
 */
#ifndef JOBS_LINKS_HTML_NAMES_H
#define JOBS_LINKS_HTML_NAMES_H

#include "base/bytes.h"

/* Names the scanner asks for one by one; all others are HTML_OTHER. */
enum html_element {
    HTML_OTHER,
    HTML_A,
    HTML_ANNOTATION_XML,
    HTML_AREA,
    HTML_BASE,
    HTML_BODY,
    HTML_BR,
    HTML_COL,
    HTML_DESC,
    HTML_FONT,
    HTML_FOREIGN_OBJECT,
    HTML_FRAMESET,
    HTML_HEAD_ELEMENT,
    HTML_HTML,
    HTML_INPUT,
    HTML_MALIGNMARK,
    HTML_MATH,
    HTML_MGLYPH,
    HTML_NOSCRIPT,
    HTML_P,
    HTML_PLAINTEXT,
    HTML_SCRIPT,
    HTML_SVG,
    HTML_TEMPLATE,
    HTML_TITLE
};

enum html_trait {
    /* Its content is text up to its own end tag (RCDATA, RAWTEXT, script). */
    HTML_TEXT = 1 << 0,
    /* It has no content. */
    HTML_VOID = 1 << 1,
    /* It ends the svg or math that it stands in. */
    HTML_BREAKOUT = 1 << 2,
    /* It may stand before the body without opening it. */
    HTML_HEAD = 1 << 3,
    /* A frameset behind it is too late (sets "frameset-ok" to "not ok"). */
    HTML_LATE = 1 << 4,
    /* It ends a paragraph that is open. */
    HTML_BLOCK = 1 << 5,
    /* Its start tag ends others of this kind that are open. */
    HTML_TANGLED = 1 << 6,
    /* Its tags go by what is open however far outside. */
    HTML_FAR = 1 << 7,
    /* Its start tag makes no element within a body. */
    HTML_IGNORED = 1 << 8,
    /* HTML content may stand in it when it is svg's, or math's. */
    HTML_SVG_POINT = 1 << 9,
    HTML_MATH_POINT = 1 << 10,
    /* It is an element of HTML: an end tag can be meant for one. */
    HTML_KNOWN = 1 << 11,
    /* It may stand in a noscript in the head. */
    HTML_NOSCRIPT_HEAD = 1 << 12
};

struct html_name {
    const char *text; /* lower case */
    enum html_element element;
    unsigned traits;
};

/* The entry of a name in any case; one with HTML_OTHER and no trait for
 * names that nothing depends on. */
const struct html_name *html_name_of(struct bytes name);

/* Whether a start tag of that first letter and length may be one that the
 * scanner stops at in plain HTML; cheap, true for some others. Not for <a>,
 * which is the most frequent. */
bool html_name_may_matter(uint8_t first, size_t len);

/* Both in lower case the same (ASCII). */
bool html_same_name(struct bytes a, struct bytes b);

static inline uint8_t html_lower(uint8_t byte)
{
    return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte | 0x20) : byte;
}

#endif
