/*
 * html_foreign.h: which elements are open inside svg and math.
 *
 * Outside of svg and math a scanner needs no stack of open elements: a tag
 * is a tag whatever stands around it. Inside, that stack decides whether
 * CDATA is text, whether <style> begins raw text, whether an <a> is HTML's.
 * It holds what is open from the outermost svg or math on:
 *
 *     <svg><g><foreignObject><div>      svg, g, foreignObject, div
 *
 * What HTML stands in foreignObject and its like (the integration points) is
 * followed by name, tag by tag. Where HTML's tree construction would do more
 * than that - elements that end each other, end tags for what is not on
 * top, or for what was opened outside of the svg - the likely thing is done
 * and `guessed` is set: the links of such a page may differ from a
 * browser's. In plain HTML there is nothing to guess.
 */
#ifndef JOBS_LINKS_HTML_FOREIGN_H
#define JOBS_LINKS_HTML_FOREIGN_H

#include "jobs/links/html_tag.h"

/* As many open elements as browsers keep. Further ones are passed over as
 * if they were void (and guessed is set): memory stays bounded. */
enum { HTML_DEPTH_MAX = 512 };

enum html_space { HTML_SPACE_HTML, HTML_SPACE_SVG, HTML_SPACE_MATH };

/* What a foreign element lets stand in it. */
enum html_point {
    HTML_POINT_NONE,
    HTML_POINT_HTML, /* HTML: foreignObject, desc, title ... */
    HTML_POINT_TEXT, /* HTML but for mglyph, malignmark: mi, mo ... */
    HTML_POINT_SVG   /* svg alone: annotation-xml */
};

struct html_node {
    struct bytes name; /* in the page */
    const struct html_name *known;
    enum html_space space;
    enum html_point point;
    /* Of the run of nodes up to this one that are all HTML's, or all not. */
    size_t run_begin;
    unsigned run_traits;
    bool run_has_paragraph;
    bool run_has_point;
};

struct html_foreign {
    struct html_node nodes[HTML_DEPTH_MAX];
    size_t depth;     /* 0: not inside svg or math */
    size_t templates; /* nodes that are HTML's template */
    bool guessed;
};

static inline const struct html_node *html_foreign_top(
    const struct html_foreign *f)
{
    return &f->nodes[f->depth - 1];
}

/* Whether <![CDATA[ begins text here. */
static inline bool html_foreign_has_cdata(const struct html_foreign *f)
{
    return f->depth > 0 && html_foreign_top(f)->space != HTML_SPACE_HTML;
}

/* A start tag inside svg or math: true where HTML's rules read it. Else it
 * is done with. */
bool html_foreign_start(struct html_foreign *f, const struct html_tag *tag);

/* An svg or math start tag that HTML's rules read. */
void html_foreign_enter(struct html_foreign *f, const struct html_tag *tag);

/* Another start tag that HTML's rules read, while depth is not 0. */
void html_foreign_html(struct html_foreign *f, const struct html_tag *tag);

/* An end tag while depth is not 0. True when it is </template> and none is
 * open in here: then it is for one outside, if there is one. */
bool html_foreign_end(struct html_foreign *f, struct bytes name,
                      const struct html_name *known);

/* Everything in here is closed: a template around it ended. */
void html_foreign_leave(struct html_foreign *f);

#endif
