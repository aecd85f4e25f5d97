#include "jobs/links/encoding_labels.h"
#include "jobs/links/html_attribute.h"
#include "jobs/links/html_names.h"

/*
 * The standard gives this algorithm a tokenizer of its own, simpler than the
 * real one: scripts and titles are tags like others, names take no notice of
 * what they name. Positions are indexes into the page's first bytes; at the
 * end of these it gives up.
 */
struct prescan {
    struct bytes page;
    size_t at;
};

struct attribute {
    struct bytes name;
    struct bytes value;
};

static bool is_over(const struct prescan *p)
{
    return p->at >= p->page.len;
}

static uint8_t here(const struct prescan *p)
{
    return is_over(p) ? '\0' : p->page.data[p->at];
}

static bool begins_with(const struct prescan *p, const char *text)
{
    size_t len = strlen(text);

    return p->page.len - p->at >= len &&
           html_same_name(bytes_of(p->page.data + p->at, len),
                          bytes_of_string(text));
}

static void skip_blanks(struct prescan *p)
{
    while (!is_over(p) && html_is_blank(here(p))) {
        p->at++;
    }
}

static struct bytes since(const struct prescan *p, size_t begin)
{
    return bytes_of(p->page.data + begin, p->at - begin);
}

static void get_value(struct prescan *p, struct bytes *value)
{
    size_t begin;
    uint8_t quote;

    skip_blanks(p);
    quote = here(p);
    if (quote == '"' || quote == '\'') {
        begin = ++p->at;
        while (!is_over(p) && here(p) != quote) {
            p->at++;
        }
        *value = since(p, begin);
        p->at += !is_over(p);
        return;
    }
    begin = p->at;
    while (!is_over(p) && !html_is_blank(here(p)) && here(p) != '>') {
        p->at++;
    }
    *value = since(p, begin);
}

/* "Get an attribute": false at the > or the end. */
static bool get_attribute(struct prescan *p, struct attribute *a)
{
    size_t begin;

    while (!is_over(p) && (html_is_blank(here(p)) || here(p) == '/')) {
        p->at++;
    }
    if (is_over(p) || here(p) == '>') {
        return false;
    }
    begin = p->at;
    while (!is_over(p) && !html_is_blank(here(p)) && here(p) != '/' &&
           here(p) != '>' && !(here(p) == '=' && p->at > begin)) {
        p->at++;
    }
    a->name = since(p, begin);
    a->value = since(p, p->at);
    skip_blanks(p);
    if (here(p) == '=') {
        p->at++;
        get_value(p, &a->value);
    }
    return true;
}

/* The value behind charset= in text, up to its quote, blank or ;. */
static struct bytes charset_value(struct prescan *p)
{
    uint8_t quote = here(p);
    size_t begin;

    if (quote == '"' || quote == '\'') {
        begin = ++p->at;
        while (!is_over(p) && here(p) != quote) {
            p->at++;
        }
        return is_over(p) ? bytes_of(p->page.data, 0) : since(p, begin);
    }
    begin = p->at;
    while (!is_over(p) && !html_is_blank(here(p)) && here(p) != ';') {
        p->at++;
    }
    return since(p, begin);
}

/* "Extracting a character encoding from a meta element": the encoding in
 * content="text/html; charset=...". */
static enum encoding of_content(struct bytes content)
{
    struct prescan p = { content, 0 };

    while (!is_over(&p)) {
        if (!begins_with(&p, "charset")) {
            p.at++;
            continue;
        }
        p.at += strlen("charset");
        skip_blanks(&p);
        if (here(&p) == '=') {
            p.at++;
            skip_blanks(&p);
            return encoding_of_label(charset_value(&p));
        }
    }
    return ENCODING_UNKNOWN;
}

/* The attributes of a meta, each counted once. */
struct meta {
    bool has_http_equiv;
    bool has_content;
    bool has_charset;
    bool is_pragma;    /* http-equiv is content-type */
    bool needs_pragma; /* the encoding is from content, not from charset */
    enum encoding encoding;
};

static void note(struct meta *meta, const struct attribute *a)
{
    if (html_same_name(a->name, bytes_of_string("http-equiv"))) {
        meta->is_pragma |=
            !meta->has_http_equiv &&
            html_same_name(a->value, bytes_of_string("content-type"));
        meta->has_http_equiv = true;
    } else if (html_same_name(a->name, bytes_of_string("content"))) {
        if (!meta->has_content && meta->encoding == ENCODING_UNKNOWN &&
            !meta->has_charset) {
            meta->encoding = of_content(a->value);
            meta->needs_pragma = meta->encoding != ENCODING_UNKNOWN;
        }
        meta->has_content = true;
    } else if (html_same_name(a->name, bytes_of_string("charset"))) {
        if (!meta->has_charset) {
            meta->encoding = encoding_of_label(a->value);
            meta->needs_pragma = false;
        }
        meta->has_charset = true;
    }
}

static enum encoding get_meta(struct prescan *p)
{
    struct meta meta = { 0 };
    struct attribute a;

    while (get_attribute(p, &a)) {
        note(&meta, &a);
    }
    return meta.needs_pragma && !meta.is_pragma ? ENCODING_UNKNOWN
                                                : meta.encoding;
}

static void skip_to(struct prescan *p, const char *end)
{
    while (!is_over(p) && !begins_with(p, end)) {
        p->at++;
    }
}

/* A tag's name up to a blank or >, and its attributes. */
static void skip_tag(struct prescan *p)
{
    struct attribute a;

    while (!is_over(p) && !html_is_blank(here(p)) && here(p) != '>') {
        p->at++;
    }
    while (get_attribute(p, &a)) {
    }
}

static bool is_letter_at(const struct prescan *p, size_t at)
{
    return at < p->page.len && html_is_letter(p->page.data[at]);
}

/* Past what begins at a <; meta is the only one to tell something. */
static enum encoding step(struct prescan *p)
{
    uint8_t next = p->at + 1 < p->page.len ? p->page.data[p->at + 1] : '\0';

    if (begins_with(p, "<!--")) {
        p->at += 2; /* the two dashes may be those of --> */
        skip_to(p, "-->");
    } else if (begins_with(p, "<meta") && p->at + 5 < p->page.len &&
               (html_is_blank(p->page.data[p->at + 5]) ||
                p->page.data[p->at + 5] == '/')) {
        p->at += strlen("<meta");
        return get_meta(p);
    } else if (is_letter_at(p, p->at + 1) ||
               (next == '/' && is_letter_at(p, p->at + 2))) {
        skip_tag(p);
    } else if (next == '!' || next == '/' || next == '?') {
        skip_to(p, ">");
    } else {
        p->at++;
    }
    return ENCODING_UNKNOWN;
}

enum encoding encoding_prescan(struct bytes page)
{
    struct prescan p = { page, 0 };
    enum encoding found = ENCODING_UNKNOWN;

    if (p.page.len > ENCODING_PRESCAN) {
        p.page.len = ENCODING_PRESCAN;
    }
    while (!is_over(&p) && found == ENCODING_UNKNOWN) {
        if (here(&p) == '<') {
            found = step(&p);
        } else {
            p.at++;
        }
    }
    return found;
}
