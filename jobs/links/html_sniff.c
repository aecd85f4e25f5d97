#include "jobs/links/html.h"
#include "jobs/links/html_attribute.h"
#include "jobs/links/html_names.h"

static bool begins_with(struct bytes page, const char *text)
{
    size_t len = strlen(text);

    return page.len >= len &&
           html_same_name(bytes_of(page.data, len), bytes_of_string(text));
}

static void drop(struct bytes *page, size_t len)
{
    page->data += len;
    page->len -= len;
}

static void drop_blanks(struct bytes *page)
{
    while (page->len > 0 && html_is_blank(page->data[0])) {
        drop(page, 1);
    }
}

/* Past the first `end`; false where there is none. */
static bool drop_to(struct bytes *page, const char *end)
{
    const uint8_t *found =
        page->len > 0 ? memmem(page->data, page->len, end, strlen(end)) : NULL;

    if (found == NULL) {
        return false;
    }
    drop(page, (size_t)(found - page->data) + strlen(end));
    return true;
}

/* The name that page begins with, up to a blank, / or >. */
static struct bytes first_name(struct bytes page)
{
    size_t len = 0;

    while (len < page.len && !html_is_blank(page.data[len]) &&
           page.data[len] != '/' && page.data[len] != '>') {
        len++;
    }
    return bytes_of(page.data, len < page.len ? len : 0);
}

static bool is_html_doctype(struct bytes page)
{
    if (!begins_with(page, "<!doctype")) {
        return false;
    }
    drop(&page, strlen("<!doctype"));
    drop_blanks(&page);
    return html_same_name(first_name(page), bytes_of_string("html"));
}

/* Whether page begins with the start tag of an element of HTML. */
static bool is_html_tag(struct bytes page, bool is_xml)
{
    const struct html_name *known;

    if (page.len < 2 || page.data[0] != '<') {
        return false;
    }
    drop(&page, 1);
    known = html_name_of(first_name(page));
    return is_xml ? known->element == HTML_HTML
                  : (known->traits & HTML_KNOWN) != 0;
}

/* The bytes that the MIME sniffing standard finds in no text. */
static bool is_binary(uint8_t byte)
{
    return byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\f' &&
           byte != '\r' && byte != 0x1B;
}

bool html_may_be(struct bytes page)
{
    size_t looked_at = page.len < HTML_SNIFFED ? page.len : HTML_SNIFFED;

    for (size_t i = 0; i < looked_at; i++) {
        if (is_binary(page.data[i])) {
            return false;
        }
    }
    drop_blanks(&page);
    return page.len > 0 && !begins_with(page, "<?xml") &&
           !begins_with(page, "%PDF-");
}

bool html_looks_like(struct bytes page)
{
    bool is_xml = false;
    bool has_comment = false;

    if (begins_with(page, "\xEF\xBB\xBF")) {
        drop(&page, 3);
    }
    for (drop_blanks(&page); page.len > 0; drop_blanks(&page)) {
        if (begins_with(page, "<!--")) {
            has_comment = true;
            if (!drop_to(&page, "-->")) {
                return !is_xml;
            }
        } else if (begins_with(page, "<?xml")) {
            is_xml = true;
            if (!drop_to(&page, "?>")) {
                return false;
            }
        } else {
            break;
        }
    }
    /* No document but HTML begins with a comment and then text. */
    return is_html_doctype(page) || is_html_tag(page, is_xml) ||
           (has_comment && !is_xml && (page.len == 0 || page.data[0] != '<'));
}
