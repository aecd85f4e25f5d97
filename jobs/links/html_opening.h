/*
 * html_opening.h: the beginning of a page, where a <frameset> may still take
 * the place of a body, and a link's fate hangs on what follows it:
 *
 *     <title>..</title> <frameset>        frames, no link can follow
 *     <p> <a href=x></a> <frameset>       frames: the body, and x, are gone
 *     <p>text <a href=x></a> <frameset>   too late, passed over
 *
 * Told of everything at the beginning of a page, but for what stands inside
 * a <template>, it follows the insertion modes of the standard (13.2.6.4)
 * from "before html" to "in body" as far as these decide it. Soon after the
 * body's begin it is html_opening_is_over, and need not be told any more.
 */
#ifndef JOBS_LINKS_HTML_OPENING_H
#define JOBS_LINKS_HTML_OPENING_H

#include "jobs/links/html_tag.h"

enum html_place {
    HTML_IN_HEAD, /* or before */
    HTML_IN_HEAD_NOSCRIPT,
    HTML_AFTER_HEAD,
    HTML_IN_BODY
};

struct html_opening {
    enum html_place place;
    bool may_frame; /* "frameset-ok", the standard says */
};

static inline bool html_opening_is_over(const struct html_opening *o)
{
    return o->place == HTML_IN_BODY && !o->may_frame;
}

/* Whether what is met now would go with the body. */
static inline bool html_opening_is_unsure(const struct html_opening *o)
{
    return o->place == HTML_IN_BODY && o->may_frame;
}

void html_opening_begin(struct html_opening *o);

/* Text as it stands in the page, references and all; or without these. */
void html_opening_text(struct html_opening *o, struct bytes text);
void html_opening_cdata(struct html_opening *o, struct bytes text);

/* A start tag that HTML's rules read. True when it is a frameset that takes
 * the page: nothing behind it is a link. */
bool html_opening_start(struct html_opening *o, const struct html_tag *tag);
void html_opening_end(struct html_opening *o, const struct html_name *known);

#endif
