/*
 * html_tag.h: a start tag with the attributes that somebody asks for.
 */
#ifndef JOBS_LINKS_HTML_TAG_H
#define JOBS_LINKS_HTML_TAG_H

#include "jobs/links/html_attribute.h"
#include "jobs/links/html_names.h"

/* Attributes as they stand in the page; data is NULL where there is none. Of
 * several with one name the first counts. */
struct html_tag {
    struct bytes name;
    const struct html_name *known;
    bool self_closing;
    bool has_font; /* one of color, face, size */
    struct bytes href;
    struct bytes rel;
    struct bytes type;
    struct bytes encoding;
};

/* Reads the attributes from *at, where the name ended, and moves it behind
 * the tag. False: the page ended, there is no tag. */
bool html_tag_read(struct html_index *x, size_t *at, struct html_tag *tag);

#endif
