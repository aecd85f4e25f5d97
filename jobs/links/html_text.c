#include "jobs/links/html_text.h"

#include "jobs/links/html_names.h"

/* Whether the bytes before `at`, from `begin` on, end with text. */
static bool ends_with(const struct html_index *x, size_t begin, size_t at,
                      const char *text)
{
    size_t len = strlen(text);

    return at - begin >= len &&
           memcmp(x->page.data + at - len, text, len) == 0;
}

static bool begins_with(const struct html_index *x, size_t at,
                        const char *text)
{
    size_t len = strlen(text);

    return x->page.len - at >= len &&
           memcmp(x->page.data + at, text, len) == 0;
}

size_t html_skip_comment(struct html_index *x, size_t at)
{
    size_t begin = at;

    if (begins_with(x, at, ">")) {
        return at + 1;
    }
    if (begins_with(x, at, "->")) {
        return at + 2;
    }
    while (at < x->page.len) {
        at = html_skip_greater(x, at);
        if (ends_with(x, begin, at, "-->") ||
            ends_with(x, begin, at, "--!>")) {
            return at;
        }
    }
    return at;
}

size_t html_skip_cdata(struct html_index *x, size_t at)
{
    size_t begin = at;

    while (at < x->page.len) {
        at = html_skip_greater(x, at);
        if (ends_with(x, begin, at, "]]>")) {
            return at;
        }
    }
    return at;
}

/* Whether at `at` stands that name, and then a blank, / or >. */
static bool has_name(const struct html_index *x, size_t at, struct bytes name)
{
    uint8_t next;

    if (x->page.len - at <= name.len) {
        return false;
    }
    next = x->page.data[at + name.len];
    return (html_is_blank(next) || next == '/' || next == '>') &&
           html_same_name(bytes_of(x->page.data + at, name.len), name);
}

size_t html_find_end_tag(struct html_index *x, size_t at, struct bytes name)
{
    size_t len = x->page.len;

    for (;;) {
        at = html_index_next(x, HTML_LESS, at);
        if (at >= len ||
            (begins_with(x, at, "</") && has_name(x, at + 2, name))) {
            return at;
        }
        at++;
    }
}

/*
 * Inside <!-- of a script: to the < of the end tag, or behind the --> that
 * leads back to plain script data. `begin` is where its dashes begin, which
 * may be those of --> already.
 */
static size_t escaped_script(struct html_index *x, size_t begin, bool *ended)
{
    const struct bytes script = bytes_of_string("script");
    bool is_double = false;

    *ended = false;
    for (size_t at = begin; at < x->page.len; at++) {
        uint8_t byte = x->page.data[at];

        if (byte == '>' && ends_with(x, begin, at + 1, "-->")) {
            return at + 1;
        }
        if (byte != '<') {
            continue;
        }
        if (begins_with(x, at, "</") && has_name(x, at + 2, script)) {
            if (!is_double) {
                *ended = true;
                return at;
            }
            is_double = false;
            at += 2 + script.len;
        } else if (!is_double && has_name(x, at + 1, script)) {
            is_double = true;
            at += 1 + script.len;
        }
    }
    return x->page.len;
}

size_t html_find_script_end(struct html_index *x, size_t at)
{
    const struct bytes script = bytes_of_string("script");
    bool ended = false;

    while (at < x->page.len) {
        at = html_index_next(x, HTML_LESS, at);
        if (begins_with(x, at, "</") && has_name(x, at + 2, script)) {
            return at;
        }
        if (!begins_with(x, at, "<!--")) {
            at++;
            continue;
        }
        at = escaped_script(x, at + strlen("<!"), &ended);
        if (ended) {
            return at;
        }
    }
    return x->page.len;
}
