#include "input/fields.h"

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

static struct bytes trimmed(struct bytes b)
{
    while (b.len > 0 && is_blank(b.data[0])) {
        b = bytes_of(b.data + 1, b.len - 1);
    }
    while (b.len > 0 && is_blank(b.data[b.len - 1])) {
        b.len--;
    }
    return b;
}

void fields_unfold(uint8_t *head, size_t len)
{
    uint8_t *end = head + len;
    uint8_t *lf = len == 0 ? NULL : memchr(head, '\n', len);

    /* Behind the first line: a head may not begin with a folded one. */
    while (lf != NULL && lf + 1 < end) {
        lf = memchr(lf + 1, '\n', (size_t)(end - lf - 1));
        if (lf != NULL && lf + 1 < end && is_blank(lf[1])) {
            lf[0] = ' ';
            if (lf[-1] == '\r') {
                lf[-1] = ' ';
            }
        }
    }
}

bool fields_line(struct bytes *rest, struct bytes *line)
{
    const uint8_t *lf =
        rest->len == 0 ? NULL : memchr(rest->data, '\n', rest->len);
    size_t len = lf == NULL ? rest->len : (size_t)(lf - rest->data);
    size_t taken = lf == NULL ? len : len + 1;

    if (rest->len == 0) {
        return false;
    }
    *line = bytes_of(rest->data, len);
    if (len > 0 && line->data[len - 1] == '\r') {
        line->len--;
    }
    *rest = bytes_of(rest->data + taken, rest->len - taken);
    return true;
}

bool fields_next(struct bytes *rest, struct field *field)
{
    struct bytes line;
    const uint8_t *colon;
    size_t before;

    if (!fields_line(rest, &line) || line.len == 0) {
        return false;
    }
    colon = memchr(line.data, ':', line.len);
    before = colon == NULL ? 0 : (size_t)(colon - line.data);
    field->name = trimmed(bytes_of(line.data, before));
    field->value = colon == NULL
                       ? line
                       : trimmed(bytes_of(colon + 1, line.len - before - 1));
    return true;
}

bool fields_word(struct bytes *list, struct bytes *word)
{
    while (list->len > 0) {
        const uint8_t *comma = memchr(list->data, ',', list->len);
        size_t len = comma == NULL ? list->len : (size_t)(comma - list->data);
        size_t taken = comma == NULL ? len : len + 1;

        *word = trimmed(bytes_of(list->data, len));
        *list = bytes_of(list->data + taken, list->len - taken);
        if (word->len > 0) {
            return true;
        }
    }
    return false;
}

bool fields_begins(struct bytes text, const char *lower)
{
    size_t len = strlen(lower);

    if (text.len < len) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        uint8_t c = text.data[i];

        if (c >= 'A' && c <= 'Z') {
            c = (uint8_t)(c - 'A' + 'a');
        }
        if (c != (uint8_t)lower[i]) {
            return false;
        }
    }
    return true;
}

bool fields_is(struct bytes text, const char *lower)
{
    return text.len == strlen(lower) && fields_begins(text, lower);
}
