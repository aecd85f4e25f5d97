/*
 * html_text.h: passing over what holds no tags.
 *
 * `at` is where the standard's state begins; what comes back is where to go
 * on, the page's length where it ended first. Every one looks at a byte once:
 * what is not closed runs to the end of the page, and nothing is looked for
 * twice.
 */
#ifndef JOBS_LINKS_HTML_TEXT_H
#define JOBS_LINKS_HTML_TEXT_H

#include "jobs/links/html_attribute.h"

/* From behind <!-- to behind the comment's end: > or -> at once, later -->
 * or --!>. */
size_t html_skip_comment(struct html_index *x, size_t at);

/* From behind <![CDATA[ to behind its ]]>. */
size_t html_skip_cdata(struct html_index *x, size_t at);

/* From behind <name ...> to the < of its end tag: RCDATA and RAWTEXT. */
size_t html_find_end_tag(struct html_index *x, size_t at, struct bytes name);

/* The same for script, with its escaped (<!--) and double escaped
 * (<!-- <script>) states. */
size_t html_find_script_end(struct html_index *x, size_t at);

#endif
