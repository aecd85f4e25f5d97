/*
 * html_gumbo.h: the links of a page as gumbo, a whole HTML parser, has them
 * in its tree: the judge of the scanner.
 *
 * Elements that the tree builder copies (reconstructed formatting elements,
 * the adoption agency's clones) are left out: one tag is one link. The order
 * is that of the tags in the page.
 */
#ifndef TESTS_HTML_GUMBO_H
#define TESTS_HTML_GUMBO_H

#include "base/buf.h"

/* As html_links.h writes them, appended. */
void html_gumbo_links(struct bytes page, struct buf *links);

#endif
