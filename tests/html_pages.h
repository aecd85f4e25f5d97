/*
 * html_pages.h: random pages that are hard on an HTML tokenizer.
 */
#ifndef TESTS_HTML_PAGES_H
#define TESTS_HTML_PAGES_H

#include "base/buf.h"

/* Which fragments a page may be made of. */
enum html_pages {
    HTML_PAGES_PLAIN = 1 << 0,   /* text, comments, attributes, raw text */
    HTML_PAGES_FOREIGN = 1 << 1, /* svg, math, integration points */
    HTML_PAGES_FRAMES = 1 << 2,  /* what may stand before a frameset */
    HTML_PAGES_TABLES = 1 << 3   /* elements that move and end each other */
};

/* The next number of a sequence that *seed begins. */
uint64_t html_pages_random(uint64_t *seed);

/* A page of up to `most` fragments, appended. */
void html_pages_make(uint64_t *seed, unsigned kinds, unsigned most,
                     struct buf *page);

/* Bytes changed, cut out, doubled and put in at random places. */
void html_pages_mutate(uint64_t *seed, struct buf *page);

#endif
