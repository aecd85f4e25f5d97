/*
 * html_attribute.h: the inside of a tag, name by name and value by value,
 * as the states from "before attribute name" to "self-closing start tag" of
 * the HTML standard read it (13.2.5.32 to 40). Names and values are as they
 * stand in the page.
 *
 *     at = html_name_end(x, less + 1)
 *     while (html_attribute_next(x, &at, &a)) { ... }
 *     a.page_ended: there is no such tag, nor anything behind it
 *     otherwise `at` is behind its >, and a.self_closing is known
 *
 * Inline: the scanner passes over most tags with nothing but this.
 */
#ifndef JOBS_LINKS_HTML_ATTRIBUTE_H
#define JOBS_LINKS_HTML_ATTRIBUTE_H

#include "jobs/links/html_index.h"

struct html_attribute {
    struct bytes name;
    struct bytes value; /* empty where there is none */
    bool self_closing;
    bool page_ended;
};

static inline bool html_is_blank(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r' && byte != '\v');
}

static inline bool html_is_letter(uint8_t byte)
{
    return (uint8_t)((byte | 0x20) - 'a') < 26;
}

/* Where the tag name ends that begins at `at`; = is part of it. */
static inline size_t html_name_end(struct html_index *x, size_t at)
{
    do {
        at = html_index_next(x, HTML_STOP, at + 1);
    } while (at < x->page.len && x->page.data[at] == '=');
    return at;
}

static inline size_t html_skip_blanks(const struct html_index *x, size_t at)
{
    while (at < x->page.len && html_is_blank(x->page.data[at])) {
        at++;
    }
    return at;
}

/* Just behind the first > at or after `at`, or the page's end. */
static inline size_t html_skip_greater(struct html_index *x, size_t at)
{
    at = html_index_next(x, HTML_CLOSE, at);
    while (at < x->page.len && x->page.data[at] != '>') {
        at = html_index_next(x, HTML_CLOSE, at + 1);
    }
    return at < x->page.len ? at + 1 : at;
}

/* The value whose = is before `at`; returns where to go on. */
static inline size_t html_attribute_value(struct html_index *x, size_t at,
                                          struct bytes *value)
{
    const uint8_t *page = x->page.data;
    size_t len = x->page.len;
    size_t begin;

    at = html_skip_blanks(x, at);
    begin = at;
    if (at < len && (page[at] == '"' || page[at] == '\'')) {
        begin++;
        do {
            at = html_index_next(x, HTML_CLOSE, at + 1);
        } while (at < len && page[at] != page[begin - 1]);
        *value = bytes_of(page + begin, at - begin);
        return at < len ? at + 1 : len;
    }
    while (at < len && page[at] != '>' && !html_is_blank(page[at])) {
        at = html_index_next(x, HTML_STOP, at + 1);
    }
    *value = bytes_of(page + begin, at - begin);
    return at;
}

/* The next attribute at or after *at; false behind the last one. */
static inline bool html_attribute_next(struct html_index *x, size_t *at,
                                       struct html_attribute *a)
{
    const uint8_t *page = x->page.data;
    size_t len = x->page.len;
    size_t begin = *at;
    size_t end;

    while (begin < len && (html_is_blank(page[begin]) || page[begin] == '/')) {
        begin++;
    }
    if (begin >= len || page[begin] == '>') {
        a->page_ended = begin >= len;
        a->self_closing = begin < len && begin > *at && page[begin - 1] == '/';
        *at = begin + 1;
        return false;
    }
    /* What begins with = is a name. */
    end = html_index_next(x, HTML_STOP, begin + 1);
    a->name = bytes_of(page + begin, end - begin);
    a->value = bytes_of(page + end, 0);
    *at = html_skip_blanks(x, end);
    if (*at < len && page[*at] == '=') {
        *at = html_attribute_value(x, *at + 1, &a->value);
    }
    return true;
}

#endif
