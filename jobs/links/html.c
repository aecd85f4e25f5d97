#include "jobs/links/html.h"

#include <stdlib.h>

#include "jobs/links/html_foreign.h"
#include "jobs/links/html_opening.h"
#include "jobs/links/html_reference.h"
#include "jobs/links/html_template.h"
#include "jobs/links/html_text.h"

/*
 * A page is read from < to <. What a tag leads to depends, in HTML itself,
 * on its name alone: some elements hold text up to their end tag, template's
 * content is no part of the page, and for the rest a scanner goes on behind
 * the tag. Two things need more, and are `wary`: svg and math
 * (html_foreign.h), and the beginning of the page (html_opening.h). There a
 * link may be met before it is known that a frameset takes its place; so at
 * the first such link the page is read ahead, once, as far as a frameset is
 * possible.
 */
enum fate {
    FATE_OPEN, /* of a body that a frameset may still replace: not known */
    FATE_STAYS,
    FATE_GOES
};

struct scan {
    struct html_index index;
    struct html_foreign foreign;
    struct html_opening opening;
    size_t at;
    struct html_templates templates;
    bool wary;  /* opening is not over, or in svg or math */
    bool ended; /* what follows is no markup */
    bool has_base;
    enum fate fate;
    const struct html_handler *handler; /* NULL when reading ahead */
};

struct html_scanner {
    struct scan scan;
    struct scan ahead;
    struct buf href; /* decoded */
    struct buf rel;
};

bool html_scanner_open(struct html_scanner **s)
{
    *s = calloc(1, sizeof **s);
    return *s != NULL;
}

void html_scanner_close(struct html_scanner *s)
{
    if (s != NULL) {
        buf_fini(&s->href);
        buf_fini(&s->rel);
        free(s);
    }
}

bool html_scanner_guessed(const struct html_scanner *s)
{
    return s->scan.foreign.guessed;
}

static void see_wary(struct scan *scan)
{
    scan->wary =
        scan->foreign.depth > 0 || !html_opening_is_over(&scan->opening);
}

static bool in_template(const struct scan *scan)
{
    return scan->templates.depth + scan->foreign.templates > 0;
}

/* ---- links ---- */

static bool scan_page(struct html_scanner *s, struct scan *scan);

/* Whether what is met now stays in the page: see above. */
static bool stays(struct html_scanner *s, struct scan *scan)
{
    if (!html_opening_is_unsure(&scan->opening)) {
        return true;
    }
    if (scan->fate == FATE_OPEN) {
        s->ahead = *scan;
        s->ahead.handler = NULL;
        (void)scan_page(s, &s->ahead);
        scan->fate = s->ahead.fate == FATE_GOES ? FATE_GOES : FATE_STAYS;
    }
    return scan->fate == FATE_STAYS;
}

/* Whether one of the words is nofollow, in any case. */
static bool has_nofollow(struct bytes rel)
{
    const struct bytes nofollow = bytes_of_string("nofollow");
    size_t at = 0;

    while (at < rel.len) {
        size_t begin = at;

        while (at < rel.len && !html_is_blank(rel.data[at])) {
            at++;
        }
        if (html_same_name(bytes_of(rel.data + begin, at - begin), nofollow)) {
            return true;
        }
        at++;
    }
    return false;
}

static bool report_link(struct html_scanner *s, struct scan *scan,
                        const struct html_tag *tag)
{
    const struct html_handler *handler = scan->handler;
    struct bytes href;
    struct bytes rel = { 0 };

    if (!html_value_decode(tag->href, &s->href, &href) ||
        (tag->rel.data != NULL &&
         !html_value_decode(tag->rel, &s->rel, &rel))) {
        return false;
    }
    handler->link(handler->ctx, href, has_nofollow(rel));
    return true;
}

static bool report_base(struct html_scanner *s, struct scan *scan,
                        const struct html_tag *tag)
{
    struct bytes href;

    if (scan->has_base) {
        return true;
    }
    scan->has_base = true;
    if (!html_value_decode(tag->href, &s->href, &href)) {
        return false;
    }
    scan->handler->base(scan->handler->ctx, href);
    return true;
}

static bool report(struct html_scanner *s, struct scan *scan,
                   const struct html_tag *tag)
{
    if (tag->href.data == NULL || scan->handler == NULL || in_template(scan) ||
        !stays(s, scan)) {
        return true;
    }
    return tag->known->element == HTML_BASE ? report_base(s, scan, tag)
                                            : report_link(s, scan, tag);
}

/* ---- tags ---- */

/* Past an end tag, or a start tag that nothing depends on, from where its
 * name ends. */
static void skip_tag(struct scan *scan, size_t at)
{
    const struct bytes page = scan->index.page;
    struct html_attribute a;

    if (at < page.len && page.data[at] == '>') {
        scan->at = at + 1; /* as most do */
        return;
    }
    while (html_attribute_next(&scan->index, &at, &a)) {
    }
    scan->at = at;
}

/* Past the text that the tag begins, and its end tag. */
static void skip_text(struct scan *scan, const struct html_tag *tag)
{
    size_t less = tag->known->element == HTML_SCRIPT
                      ? html_find_script_end(&scan->index, scan->at)
                      : html_find_end_tag(&scan->index, scan->at, tag->name);

    scan->at = less;
    if (less < scan->index.page.len) {
        skip_tag(scan, less + strlen("</") + tag->name.len);
    }
}

/* Whether a tag is HTML's, and what it leads to inside of svg and math and
 * at the beginning of the page. */
static bool see_wary_start(struct scan *scan, const struct html_tag *tag)
{
    struct html_foreign *foreign = &scan->foreign;

    if (foreign->depth > 0 && !html_foreign_start(foreign, tag)) {
        return false;
    }
    if (!in_template(scan) && html_opening_start(&scan->opening, tag)) {
        scan->fate = FATE_GOES;
        scan->ended = true;
        return false;
    }
    if (foreign->depth > 0 && tag->known->element != HTML_SVG &&
        tag->known->element != HTML_MATH) {
        html_foreign_html(foreign, tag);
    }
    return true;
}

/* What HTML's rules make of a tag that they read. */
static bool start_html(struct html_scanner *s, struct scan *scan,
                       const struct html_tag *tag)
{
    switch ((int)tag->known->element) {
    case HTML_A:
    case HTML_AREA:
    case HTML_BASE:
        return report(s, scan, tag);
    case HTML_SVG:
    case HTML_MATH:
        html_foreign_enter(&scan->foreign, tag);
        break;
    case HTML_PLAINTEXT:
        scan->ended = true;
        break;
    default:
        if ((tag->known->traits & HTML_TEXT) != 0) {
            skip_text(scan, tag);
        }
        break;
    }
    return true;
}

/* A start tag whose name is page[begin .. end). */
static bool start_tag(struct html_scanner *s, struct scan *scan, size_t begin,
                      size_t end)
{
    struct html_tag tag;
    bool is_htmls = true;

    tag.name = bytes_of(scan->index.page.data + begin, end - begin);
    tag.known = html_name_of(tag.name);
    scan->at = end;
    if (!html_tag_read(&scan->index, &scan->at, &tag)) {
        scan->ended = true;
        return true;
    }
    if (scan->wary) {
        is_htmls = see_wary_start(scan, &tag);
    }
    /* Inside of svg a template is a node on that stack. */
    if (is_htmls && scan->foreign.depth == 0) {
        is_htmls = html_templates_start(&scan->templates, &tag);
    }
    if (is_htmls && !start_html(s, scan, &tag)) {
        return false;
    }
    see_wary(scan);
    return true;
}

/* An end tag whose name is page[begin .. end), when it may matter. */
static void end_tag(struct scan *scan, size_t begin, size_t end)
{
    struct bytes name = bytes_of(scan->index.page.data + begin, end - begin);
    const struct html_name *known = html_name_of(name);
    bool is_template = known->element == HTML_TEMPLATE;

    skip_tag(scan, end);
    if (scan->at > scan->index.page.len) {
        return; /* the page ended in it */
    }
    if (!in_template(scan)) {
        html_opening_end(&scan->opening, known);
    }
    if (scan->foreign.depth > 0) {
        is_template = html_foreign_end(&scan->foreign, name, known);
    }
    if (is_template && scan->templates.depth > 0) {
        html_templates_end(&scan->templates);
        html_foreign_leave(&scan->foreign);
    }
    see_wary(scan);
}

static bool read_start_tag(struct html_scanner *s, struct scan *scan,
                           size_t begin)
{
    size_t end = html_name_end(&scan->index, begin);
    uint8_t first = scan->index.page.data[begin];
    bool is_a = end - begin == 1 && (first | 0x20) == 'a';

    if (scan->wary || scan->templates.depth > 0 || is_a ||
        html_name_may_matter(first, end - begin)) {
        return start_tag(s, scan, begin, end);
    }
    skip_tag(scan, end);
    return true;
}

static void read_end_tag(struct scan *scan, size_t begin)
{
    const struct bytes page = scan->index.page;

    if (begin >= page.len) {
        scan->at = page.len;
    } else if (html_is_letter(page.data[begin])) {
        size_t end = html_name_end(&scan->index, begin);

        if (scan->wary || scan->templates.depth > 0) {
            end_tag(scan, begin, end);
        } else {
            skip_tag(scan, end);
        }
    } else {
        /* </> is nothing, others are comments. */
        scan->at = html_skip_greater(&scan->index, begin);
    }
}

static bool is_at(struct bytes page, size_t at, const char *text)
{
    size_t len = strlen(text);

    return page.len - at >= len && memcmp(page.data + at, text, len) == 0;
}

/* CDATA from begin on without the ]]> it may end with. */
static struct bytes cdata_text(struct bytes page, size_t begin, size_t end)
{
    bool is_closed = end - begin >= 3 && is_at(page, end - 3, "]]>");

    return bytes_of(page.data + begin, end - begin - (is_closed ? 3 : 0));
}

/* From <! on: comments, CDATA; a doctype ends with its first >. */
static void read_markup(struct scan *scan, size_t less)
{
    const struct bytes page = scan->index.page;
    const char *cdata = "<![CDATA[";

    if (is_at(page, less, "<!--")) {
        scan->at = html_skip_comment(&scan->index, less + strlen("<!--"));
    } else if (html_foreign_has_cdata(&scan->foreign) &&
               is_at(page, less, cdata)) {
        size_t begin = less + strlen(cdata);

        scan->at = html_skip_cdata(&scan->index, begin);
        if (!in_template(scan)) {
            html_opening_cdata(&scan->opening,
                               cdata_text(page, begin, scan->at));
        }
    } else {
        scan->at = html_skip_greater(&scan->index, less + 1);
    }
}

/* Text from begin to end, if not in a tag that the page ended in. */
static void see_text(struct scan *scan, size_t begin, size_t end)
{
    if (begin < end && !in_template(scan)) {
        html_opening_text(
            &scan->opening,
            bytes_of(scan->index.page.data + begin, end - begin));
        see_wary(scan);
    }
}

/* The markup at a <, if it is one. */
static bool read_markup_at(struct html_scanner *s, struct scan *scan,
                           size_t less)
{
    const struct bytes page = scan->index.page;
    uint8_t next = less + 1 < page.len ? page.data[less + 1] : '\0';

    if (html_is_letter(next)) {
        return read_start_tag(s, scan, less + 1);
    }
    switch (next) {
    case '/':
        read_end_tag(scan, less + 2);
        break;
    case '!':
        read_markup(scan, less);
        break;
    case '?':
        scan->at = html_skip_greater(&scan->index, less + 1);
        break;
    default:
        see_text(scan, less, less + 1);
        scan->at = less + 1;
        break;
    }
    return true;
}

static bool scan_page(struct html_scanner *s, struct scan *scan)
{
    bool is_ahead = scan->handler == NULL;

    while (!scan->ended && !(is_ahead && !scan->opening.may_frame)) {
        size_t less = html_index_next(&scan->index, HTML_LESS, scan->at);

        if (scan->wary) {
            see_text(scan, scan->at, less);
        }
        if (less >= scan->index.page.len) {
            break;
        }
        if (!read_markup_at(s, scan, less)) {
            return false;
        }
    }
    return true;
}

bool html_scan(struct html_scanner *s, struct bytes page,
               const struct html_handler *handler)
{
    struct scan *scan = &s->scan;

    html_index_open(&scan->index, page);
    scan->foreign.depth = 0;
    scan->foreign.templates = 0;
    scan->foreign.guessed = false;
    scan->at = 0;
    scan->templates.depth = 0;
    html_opening_begin(&scan->opening);
    scan->wary = true;
    scan->ended = false;
    scan->has_base = false;
    scan->fate = FATE_OPEN;
    scan->handler = handler;
    return scan_page(s, scan);
}
