#include "jobs/links/html_tag.h"

/* The length is known to be that of name, in lower case. */
static inline bool is_named(const struct html_attribute *a, const char *name)
{
    return html_lower(a->name.data[0]) == (uint8_t)name[0] &&
           html_same_name(a->name, bytes_of_string(name));
}

static void keep_first(struct bytes *place, const struct html_attribute *a)
{
    if (place->data == NULL) {
        *place = a->value;
    }
}

static inline void note(struct html_tag *tag, const struct html_attribute *a)
{
    switch (a->name.len) {
    case 3:
        if (is_named(a, "rel")) {
            keep_first(&tag->rel, a);
        }
        break;
    case 4:
        if (is_named(a, "href")) {
            keep_first(&tag->href, a);
        } else if (is_named(a, "type")) {
            keep_first(&tag->type, a);
        } else if (is_named(a, "face") || is_named(a, "size")) {
            tag->has_font = true;
        }
        break;
    case 5:
        tag->has_font |= is_named(a, "color");
        break;
    case 8:
        if (is_named(a, "encoding")) {
            keep_first(&tag->encoding, a);
        }
        break;
    default:
        break;
    }
}

bool html_tag_read(struct html_index *x, size_t *at, struct html_tag *tag)
{
    struct html_attribute a;

    const struct bytes none = { NULL, 0 };

    tag->has_font = false;
    tag->href = none;
    tag->rel = none;
    tag->type = none;
    tag->encoding = none;
    while (html_attribute_next(x, at, &a)) {
        note(tag, &a);
    }
    tag->self_closing = a.self_closing;
    return !a.page_ended;
}
