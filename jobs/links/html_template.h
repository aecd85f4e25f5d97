/*
 * html_template.h: the <template> elements that are open outside of svg and
 * math. Nothing in them is a link; but where the text of a <textarea> or a
 * <script> in them ends has to be known, and for that whether these are read
 * at all: in a template whose first element is a <col> only columns are.
 *
 *     <template><col> <textarea> </template> <a href=x>     x is a link
 *     <template><td>  <textarea> </template> <a href=x>     x is text
 *
 * (The standard's "in template" and "in column group", 13.2.6.4.22 and .12.)
 */
#ifndef JOBS_LINKS_HTML_TEMPLATE_H
#define JOBS_LINKS_HTML_TEMPLATE_H

#include "jobs/links/html_tag.h"

/* Templates within each other whose content is followed: as many elements as
 * browsers keep open. Further ones are taken for content of any kind. */
enum { HTML_TEMPLATES_MAX = 512 };

enum html_template_holds {
    HTML_TEMPLATE_NOTHING, /* yet, but for what may stand in a head */
    HTML_TEMPLATE_COLUMNS,
    HTML_TEMPLATE_CONTENT
};

struct html_templates {
    size_t depth;
    uint8_t holds[HTML_TEMPLATES_MAX]; /* enum html_template_holds, by depth */
};

/* A start tag in a template, or that of one anywhere. False where it is
 * passed over. */
bool html_templates_start(struct html_templates *t,
                          const struct html_tag *tag);
/* </template>; nothing where none is open. */
void html_templates_end(struct html_templates *t);

#endif
