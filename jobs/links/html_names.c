#include "jobs/links/html_names.h"

/* By name, in byte order. */
static const struct html_name names[] = {
    { "a", HTML_A, HTML_TANGLED | HTML_KNOWN },
    { "abbr", HTML_OTHER, HTML_KNOWN },
    { "acronym", HTML_OTHER, HTML_KNOWN },
    { "address", HTML_OTHER, HTML_BLOCK | HTML_KNOWN },
    { "annotation-xml", HTML_ANNOTATION_XML, 0 },
    { "applet", HTML_OTHER, HTML_LATE | HTML_KNOWN },
    { "area", HTML_AREA, HTML_VOID | HTML_LATE | HTML_KNOWN },
    { "article", HTML_OTHER, HTML_BLOCK | HTML_KNOWN },
    { "aside", HTML_OTHER, HTML_BLOCK | HTML_KNOWN },
    { "audio", HTML_OTHER, HTML_KNOWN },
    { "b", HTML_OTHER, HTML_BREAKOUT | HTML_KNOWN },
    { "base", HTML_BASE, HTML_VOID | HTML_HEAD | HTML_KNOWN },
    { "basefont", HTML_OTHER,
      HTML_VOID | HTML_HEAD | HTML_NOSCRIPT_HEAD | HTML_KNOWN },
    { "bdi", HTML_OTHER, HTML_KNOWN },
    { "bdo", HTML_OTHER, HTML_KNOWN },
    { "bgsound", HTML_OTHER,
      HTML_VOID | HTML_HEAD | HTML_NOSCRIPT_HEAD | HTML_KNOWN },
    { "big", HTML_OTHER, HTML_BREAKOUT | HTML_KNOWN },
    { "blockquote", HTML_OTHER, HTML_BREAKOUT | HTML_BLOCK | HTML_KNOWN },
    { "body", HTML_BODY,
      HTML_BREAKOUT | HTML_LATE | HTML_IGNORED | HTML_KNOWN },
    { "br", HTML_BR, HTML_VOID | HTML_BREAKOUT | HTML_LATE | HTML_KNOWN },
    { "button", HTML_OTHER, HTML_LATE | HTML_TANGLED | HTML_KNOWN },
    { "canvas", HTML_OTHER, HTML_KNOWN },
    { "caption", HTML_OTHER, HTML_FAR | HTML_KNOWN },
    { "center", HTML_OTHER, HTML_BREAKOUT | HTML_BLOCK | HTML_KNOWN },
    { "cite", HTML_OTHER, HTML_KNOWN },
    { "code", HTML_OTHER, HTML_BREAKOUT | HTML_KNOWN },
    { "col", HTML_COL, HTML_VOID | HTML_FAR | HTML_KNOWN },
    { "colgroup", HTML_OTHER, HTML_FAR | HTML_KNOWN },
    { "data", HTML_OTHER, HTML_KNOWN },
    { "datalist", HTML_OTHER, HTML_KNOWN },
    { "dd", HTML_OTHER,
      HTML_BREAKOUT | HTML_LATE | HTML_BLOCK | HTML_TANGLED | HTML_KNOWN },
    { "del", HTML_OTHER, HTML_KNOWN },
    { "desc", HTML_DESC, HTML_SVG_POINT },
    { "details", HTML_OTHER, HTML_BLOCK | HTML_KNOWN },
    { "dfn", HTML_OTHER, HTML_KNOWN },
    { "dialog", HTML_OTHER, HTML_BLOCK | HTML_KNOWN },
    { "dir", HTML_OTHER, HTML_BLOCK | HTML_KNOWN },
    { "div", HTML_OTHER, HTML_BREAKOUT | HTML_BLOCK | HTML_KNOWN },
    { "dl", HTML_OTHER, HTML_BREAKOUT | HTML_BLOCK | HTML_KNOWN },
    { "dt", HTML_OTHER,
      HTML_BREAKOUT | HTML_LATE | HTML_BLOCK | HTML_TANGLED | HTML_KNOWN },
    { "em", HTML_OTHER, HTML_BREAKOUT | HTML_KNOWN },
    { "embed", HTML_OTHER,
      HTML_VOID | HTML_BREAKOUT | HTML_LATE | HTML_KNOWN },
    { "fieldset", HTML_OTHER, HTML_BLOCK | HTML_KNOWN },
    { "figcaption", HTML_OTHER, HTML_BLOCK | HTML_KNOWN },
    { "figure", HTML_OTHER, HTML_BLOCK | HTML_KNOWN },
    { "font", HTML_FONT, HTML_KNOWN },
    { "footer", HTML_OTHER, HTML_BLOCK | HTML_KNOWN },
    { "foreignobject", HTML_FOREIGN_OBJECT, HTML_SVG_POINT },
    { "form", HTML_OTHER, HTML_BLOCK | HTML_FAR | HTML_KNOWN },
    { "frame", HTML_OTHER, HTML_VOID | HTML_IGNORED | HTML_KNOWN },
    { "frameset", HTML_FRAMESET, HTML_HEAD | HTML_IGNORED | HTML_KNOWN },
    { "h1", HTML_OTHER,
      HTML_BREAKOUT | HTML_BLOCK | HTML_TANGLED | HTML_KNOWN },
    { "h2", HTML_OTHER,
      HTML_BREAKOUT | HTML_BLOCK | HTML_TANGLED | HTML_KNOWN },
    { "h3", HTML_OTHER,
      HTML_BREAKOUT | HTML_BLOCK | HTML_TANGLED | HTML_KNOWN },
    { "h4", HTML_OTHER,
      HTML_BREAKOUT | HTML_BLOCK | HTML_TANGLED | HTML_KNOWN },
    { "h5", HTML_OTHER,
      HTML_BREAKOUT | HTML_BLOCK | HTML_TANGLED | HTML_KNOWN },
    { "h6", HTML_OTHER,
      HTML_BREAKOUT | HTML_BLOCK | HTML_TANGLED | HTML_KNOWN },
    { "head", HTML_HEAD_ELEMENT,
      HTML_BREAKOUT | HTML_HEAD | HTML_NOSCRIPT_HEAD | HTML_IGNORED |
          HTML_KNOWN },
    { "header", HTML_OTHER, HTML_BLOCK | HTML_KNOWN },
    { "hgroup", HTML_OTHER, HTML_BLOCK | HTML_KNOWN },
    { "hr", HTML_OTHER,
      HTML_VOID | HTML_BREAKOUT | HTML_LATE | HTML_BLOCK | HTML_TANGLED |
          HTML_KNOWN },
    { "html", HTML_HTML,
      HTML_HEAD | HTML_NOSCRIPT_HEAD | HTML_IGNORED | HTML_KNOWN },
    { "i", HTML_OTHER, HTML_BREAKOUT | HTML_KNOWN },
    { "iframe", HTML_OTHER, HTML_TEXT | HTML_LATE | HTML_KNOWN },
    { "image", HTML_OTHER, HTML_VOID | HTML_LATE | HTML_KNOWN },
    { "img", HTML_OTHER, HTML_VOID | HTML_BREAKOUT | HTML_LATE | HTML_KNOWN },
    { "input", HTML_INPUT, HTML_VOID | HTML_LATE | HTML_KNOWN },
    { "ins", HTML_OTHER, HTML_KNOWN },
    { "kbd", HTML_OTHER, HTML_KNOWN },
    { "keygen", HTML_OTHER, HTML_VOID | HTML_LATE | HTML_KNOWN },
    { "label", HTML_OTHER, HTML_KNOWN },
    { "legend", HTML_OTHER, HTML_KNOWN },
    { "li", HTML_OTHER,
      HTML_BREAKOUT | HTML_LATE | HTML_BLOCK | HTML_TANGLED | HTML_KNOWN },
    { "link", HTML_OTHER,
      HTML_VOID | HTML_HEAD | HTML_NOSCRIPT_HEAD | HTML_KNOWN },
    { "listing", HTML_OTHER,
      HTML_BREAKOUT | HTML_LATE | HTML_BLOCK | HTML_KNOWN },
    { "main", HTML_OTHER, HTML_BLOCK | HTML_KNOWN },
    { "malignmark", HTML_MALIGNMARK, 0 },
    { "map", HTML_OTHER, HTML_KNOWN },
    { "mark", HTML_OTHER, HTML_KNOWN },
    { "marquee", HTML_OTHER, HTML_LATE | HTML_KNOWN },
    { "math", HTML_MATH, 0 },
    { "menu", HTML_OTHER, HTML_BREAKOUT | HTML_BLOCK | HTML_KNOWN },
    { "meta", HTML_OTHER,
      HTML_VOID | HTML_BREAKOUT | HTML_HEAD | HTML_NOSCRIPT_HEAD |
          HTML_KNOWN },
    { "meter", HTML_OTHER, HTML_KNOWN },
    { "mglyph", HTML_MGLYPH, 0 },
    { "mi", HTML_OTHER, HTML_MATH_POINT },
    { "mn", HTML_OTHER, HTML_MATH_POINT },
    { "mo", HTML_OTHER, HTML_MATH_POINT },
    { "ms", HTML_OTHER, HTML_MATH_POINT },
    { "mtext", HTML_OTHER, HTML_MATH_POINT },
    { "nav", HTML_OTHER, HTML_BLOCK | HTML_KNOWN },
    { "nobr", HTML_OTHER, HTML_BREAKOUT | HTML_TANGLED | HTML_KNOWN },
    { "noembed", HTML_OTHER, HTML_TEXT | HTML_KNOWN },
    { "noframes", HTML_OTHER,
      HTML_TEXT | HTML_HEAD | HTML_NOSCRIPT_HEAD | HTML_KNOWN },
    { "noscript", HTML_NOSCRIPT, HTML_HEAD | HTML_NOSCRIPT_HEAD | HTML_KNOWN },
    { "object", HTML_OTHER, HTML_LATE | HTML_KNOWN },
    { "ol", HTML_OTHER, HTML_BREAKOUT | HTML_BLOCK | HTML_KNOWN },
    { "optgroup", HTML_OTHER, HTML_TANGLED | HTML_KNOWN },
    { "option", HTML_OTHER, HTML_TANGLED | HTML_KNOWN },
    { "output", HTML_OTHER, HTML_KNOWN },
    { "p", HTML_P, HTML_BREAKOUT | HTML_BLOCK | HTML_KNOWN },
    { "param", HTML_OTHER, HTML_VOID | HTML_KNOWN },
    { "picture", HTML_OTHER, HTML_KNOWN },
    { "plaintext", HTML_PLAINTEXT, HTML_BLOCK | HTML_KNOWN },
    { "pre", HTML_OTHER, HTML_BREAKOUT | HTML_LATE | HTML_BLOCK | HTML_KNOWN },
    { "progress", HTML_OTHER, HTML_KNOWN },
    { "q", HTML_OTHER, HTML_KNOWN },
    { "rb", HTML_OTHER, HTML_TANGLED | HTML_KNOWN },
    { "rp", HTML_OTHER, HTML_TANGLED | HTML_KNOWN },
    { "rt", HTML_OTHER, HTML_TANGLED | HTML_KNOWN },
    { "rtc", HTML_OTHER, HTML_TANGLED | HTML_KNOWN },
    { "ruby", HTML_OTHER, HTML_BREAKOUT | HTML_KNOWN },
    { "s", HTML_OTHER, HTML_BREAKOUT | HTML_KNOWN },
    { "samp", HTML_OTHER, HTML_KNOWN },
    { "script", HTML_SCRIPT, HTML_TEXT | HTML_HEAD | HTML_KNOWN },
    { "search", HTML_OTHER, HTML_BLOCK | HTML_KNOWN },
    { "section", HTML_OTHER, HTML_BLOCK | HTML_KNOWN },
    { "select", HTML_OTHER, HTML_LATE | HTML_TANGLED | HTML_KNOWN },
    { "slot", HTML_OTHER, HTML_KNOWN },
    { "small", HTML_OTHER, HTML_BREAKOUT | HTML_KNOWN },
    { "source", HTML_OTHER, HTML_VOID | HTML_KNOWN },
    { "span", HTML_OTHER, HTML_BREAKOUT | HTML_KNOWN },
    { "strike", HTML_OTHER, HTML_BREAKOUT | HTML_KNOWN },
    { "strong", HTML_OTHER, HTML_BREAKOUT | HTML_KNOWN },
    { "style", HTML_OTHER,
      HTML_TEXT | HTML_HEAD | HTML_NOSCRIPT_HEAD | HTML_KNOWN },
    { "sub", HTML_OTHER, HTML_BREAKOUT | HTML_KNOWN },
    { "summary", HTML_OTHER, HTML_BLOCK | HTML_KNOWN },
    { "sup", HTML_OTHER, HTML_BREAKOUT | HTML_KNOWN },
    { "svg", HTML_SVG, 0 },
    { "table", HTML_OTHER,
      HTML_BREAKOUT | HTML_LATE | HTML_BLOCK | HTML_TANGLED | HTML_KNOWN },
    { "tbody", HTML_OTHER, HTML_FAR | HTML_KNOWN },
    { "td", HTML_OTHER, HTML_FAR | HTML_KNOWN },
    { "template", HTML_TEMPLATE, HTML_HEAD | HTML_LATE | HTML_KNOWN },
    { "textarea", HTML_OTHER, HTML_TEXT | HTML_LATE | HTML_KNOWN },
    { "tfoot", HTML_OTHER, HTML_FAR | HTML_KNOWN },
    { "th", HTML_OTHER, HTML_FAR | HTML_KNOWN },
    { "thead", HTML_OTHER, HTML_FAR | HTML_KNOWN },
    { "time", HTML_OTHER, HTML_KNOWN },
    { "title", HTML_TITLE,
      HTML_TEXT | HTML_HEAD | HTML_SVG_POINT | HTML_KNOWN },
    { "tr", HTML_OTHER, HTML_FAR | HTML_KNOWN },
    { "track", HTML_OTHER, HTML_VOID | HTML_KNOWN },
    { "tt", HTML_OTHER, HTML_BREAKOUT | HTML_KNOWN },
    { "u", HTML_OTHER, HTML_BREAKOUT | HTML_KNOWN },
    { "ul", HTML_OTHER, HTML_BREAKOUT | HTML_BLOCK | HTML_KNOWN },
    { "var", HTML_OTHER, HTML_BREAKOUT | HTML_KNOWN },
    { "video", HTML_OTHER, HTML_KNOWN },
    { "wbr", HTML_OTHER, HTML_VOID | HTML_LATE | HTML_KNOWN },
    { "xmp", HTML_OTHER, HTML_TEXT | HTML_LATE | HTML_BLOCK | HTML_KNOWN },
};

enum { NAMES = sizeof names / sizeof *names, NAME_MAX_LEN = 14 };

static const struct html_name other = { "", HTML_OTHER, 0 };

const struct html_name *html_name_of(struct bytes name)
{
    char lower[NAME_MAX_LEN + 1];
    size_t low = 0;
    size_t high = NAMES;

    if (name.len == 1 && html_lower(name.data[0]) == 'a') {
        return &names[0];
    }
    if (name.len > NAME_MAX_LEN) {
        return &other;
    }
    for (size_t i = 0; i < name.len; i++) {
        lower[i] = (char)html_lower(name.data[i]);
    }
    lower[name.len] = '\0';
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(lower, names[middle].text);

        if (order == 0) {
            /* A NUL in the page ends the string, not the name. */
            return strlen(lower) == name.len ? &names[middle] : &other;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return &other;
}

bool html_name_may_matter(uint8_t first, size_t len)
{
    /* By letter, the lengths of: area base template title textarea style
     * script xmp iframe noembed noframes plaintext svg math frameset. */
    static const uint16_t lengths[32] = {
        ['a' & 31] = 1 << 4,          ['b' & 31] = 1 << 4,
        ['f' & 31] = 1 << 8,          ['i' & 31] = 1 << 6,
        ['m' & 31] = 1 << 4,          ['n' & 31] = 1 << 7 | 1 << 8,
        ['p' & 31] = 1 << 9,          ['s' & 31] = 1 << 3 | 1 << 5 | 1 << 6,
        ['t' & 31] = 1 << 5 | 1 << 8, ['x' & 31] = 1 << 3,
    };

    return len < 16 && (lengths[first & 31] >> len & 1) != 0;
}

bool html_same_name(struct bytes a, struct bytes b)
{
    if (a.len != b.len) {
        return false;
    }
    for (size_t i = 0; i < a.len; i++) {
        if (html_lower(a.data[i]) != html_lower(b.data[i])) {
            return false;
        }
    }
    return true;
}
