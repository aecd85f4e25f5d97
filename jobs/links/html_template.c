#include "jobs/links/html_template.h"

/* base, link, meta, script, style, template, title and their like. */
static bool stands_in_head(const struct html_name *known)
{
    return (known->traits & (HTML_HEAD | HTML_IGNORED)) == HTML_HEAD &&
           known->element != HTML_NOSCRIPT;
}

static bool is_followed(const struct html_templates *t)
{
    return t->depth > 0 && t->depth <= HTML_TEMPLATES_MAX;
}

static void open_template(struct html_templates *t)
{
    t->depth++;
    if (is_followed(t)) {
        t->holds[t->depth - 1] = HTML_TEMPLATE_NOTHING;
    }
}

bool html_templates_start(struct html_templates *t, const struct html_tag *tag)
{
    uint8_t *holds = is_followed(t) ? &t->holds[t->depth - 1] : NULL;

    if (tag->known->element == HTML_TEMPLATE) {
        open_template(t);
        return true;
    }
    if (holds != NULL && *holds == HTML_TEMPLATE_NOTHING &&
        !stands_in_head(tag->known)) {
        *holds = tag->known->element == HTML_COL ? HTML_TEMPLATE_COLUMNS
                                                 : HTML_TEMPLATE_CONTENT;
    }
    return holds == NULL || *holds != HTML_TEMPLATE_COLUMNS;
}

void html_templates_end(struct html_templates *t)
{
    t->depth -= t->depth > 0;
}
