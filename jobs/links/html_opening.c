#include "jobs/links/html_opening.h"

#include "jobs/links/html_reference.h"

void html_opening_begin(struct html_opening *o)
{
    o->place = HTML_IN_HEAD;
    o->may_frame = true;
}

/* Text that is more than blanks. */
static void see_words(struct html_opening *o)
{
    o->place = HTML_IN_BODY;
    o->may_frame = false;
}

static bool is_blank_reference(struct bytes text, size_t *taken)
{
    uint32_t points[HTML_REFERENCE_POINTS];

    *taken = html_reference(text, points);
    return *taken > 0 && points[1] == 0 && points[0] < 0x80 &&
           html_is_blank((uint8_t)points[0]);
}

void html_opening_text(struct html_opening *o, struct bytes text)
{
    size_t at = 0;

    while (at < text.len) {
        size_t taken = 1;

        if (text.data[at] == '\0') {
            o->place = HTML_IN_BODY; /* and is dropped */
        } else if (!html_is_blank(text.data[at]) &&
                   !is_blank_reference(bytes_of(text.data + at, text.len - at),
                                       &taken)) {
            see_words(o);
            return;
        }
        at += taken;
    }
}

void html_opening_cdata(struct html_opening *o, struct bytes text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] != '\0' && !html_is_blank(text.data[i])) {
            see_words(o);
            return;
        }
    }
}

/* Before the body. */
static void see_head_start(struct html_opening *o, const struct html_tag *tag)
{
    bool is_noscript = tag->known->element == HTML_NOSCRIPT;

    if ((tag->known->traits & HTML_HEAD) == 0 ||
        (is_noscript && o->place == HTML_AFTER_HEAD)) {
        o->place = HTML_IN_BODY;
    } else if (is_noscript) {
        o->place = HTML_IN_HEAD_NOSCRIPT;
    } else if ((tag->known->traits & HTML_NOSCRIPT_HEAD) == 0 &&
               o->place == HTML_IN_HEAD_NOSCRIPT) {
        o->place = HTML_IN_HEAD;
    }
}

static bool is_hidden_input(const struct html_tag *tag)
{
    return tag->known->element == HTML_INPUT &&
           html_same_name(tag->type, bytes_of_string("hidden"));
}

bool html_opening_start(struct html_opening *o, const struct html_tag *tag)
{
    if (tag->known->element == HTML_FRAMESET) {
        return o->place != HTML_IN_BODY || o->may_frame;
    }
    if (o->place != HTML_IN_BODY) {
        see_head_start(o, tag);
    }
    if ((tag->known->traits & HTML_LATE) != 0 && !is_hidden_input(tag)) {
        o->may_frame = false;
    }
    return false;
}

void html_opening_end(struct html_opening *o, const struct html_name *known)
{
    bool in_noscript = o->place == HTML_IN_HEAD_NOSCRIPT;

    switch ((int)known->element) {
    case HTML_BR:
        see_words(o); /* as <br> */
        break;
    case HTML_BODY:
    case HTML_HTML:
        o->place = in_noscript ? o->place : HTML_IN_BODY;
        break;
    case HTML_HEAD_ELEMENT:
        o->place = o->place == HTML_IN_HEAD ? HTML_AFTER_HEAD : o->place;
        break;
    case HTML_NOSCRIPT:
        o->place = in_noscript ? HTML_IN_HEAD : o->place;
        break;
    default:
        break;
    }
}
