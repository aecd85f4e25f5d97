#include "jobs/links/html_reference.h"

#include "base/utf8.h"
#include "jobs/links/windows1252.h"

enum { LAST_POINT = 0x10FFFF };

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter(uint8_t byte)
{
    return (uint8_t)((byte | 0x20) - 'a') < 26;
}

/* The digit's value, or 16. */
static uint32_t hex_digit(uint8_t byte)
{
    if (is_digit(byte)) {
        return (uint32_t)(byte - '0');
    }
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? (uint32_t)(byte - 'a' + 10) : 16;
}

/* ---- &#38; and &#x26; ---- */

static uint32_t replaced(uint32_t point)
{
    if (point == 0 || point > LAST_POINT ||
        (point >= 0xD800 && point <= 0xDFFF)) {
        return UTF8_REPLACEMENT;
    }
    return point < 0x100 ? windows1252_point((uint8_t)point) : point;
}

static size_t numeric(struct bytes text, uint32_t *point)
{
    bool is_hex = text.len > 2 && (text.data[2] | 0x20) == 'x';
    uint32_t radix = is_hex ? 16 : 10;
    size_t begin = is_hex ? 3 : 2;
    size_t at = begin;
    uint32_t sum = 0;

    for (; at < text.len; at++) {
        uint32_t digit = hex_digit(text.data[at]);

        if (digit >= radix) {
            break;
        }
        /* Stays above the last point once it is there. */
        sum = sum > LAST_POINT ? sum : sum * radix + digit;
    }
    if (at == begin) {
        return 0;
    }
    *point = replaced(sum);
    return at < text.len && text.data[at] == ';' ? at + 1 : at;
}

/* ---- &amp; ---- */

static int compare_entry(struct bytes name, const char *entry)
{
    size_t i = 0;

    while (i < name.len && entry[i] == (char)name.data[i]) {
        i++;
    }
    if (entry[i] == '=' || entry[i] == ':') {
        return i < name.len;
    }
    return i == name.len || (char)name.data[i] < entry[i] ? -1 : 1;
}

/* Where the value of a name begins, at its = or :, or NULL. A search by
 * halves over text: the middle moves back to where an entry begins. */
static const char *find(struct bytes name)
{
    const char *low;
    const char *high;

    if (name.len == 0 || name.len > HTML_REFERENCE_NAME_MAX ||
        !is_letter(name.data[0])) {
        return NULL;
    }
    low = html_reference_names[name.data[0] - 'A'];
    high = low + strlen(low);
    while (low < high) {
        const char *entry = low + (high - low) / 2;
        int order;

        while (entry > low && entry[-1] != ' ') {
            entry--;
        }
        order = compare_entry(name, entry);
        if (order == 0) {
            return entry + name.len;
        }
        if (order < 0) {
            high = entry;
        } else {
            low = strchr(entry, ' ') + 1;
        }
    }
    return NULL;
}

static void read_points(const char *at, uint32_t points[HTML_REFERENCE_POINTS])
{
    unsigned n = 0;

    memset(points, 0, HTML_REFERENCE_POINTS * sizeof *points);
    for (; *at != ' '; at++) {
        if (*at == '+') {
            n++;
        } else {
            points[n] = points[n] * 16 + hex_digit((uint8_t)*at);
        }
    }
}

/*
 * The standard takes the longest name that matches. All names are letters
 * and digits, so with a semicolon that is the whole run of these; and
 * without, a shorter one than the run has a letter or digit behind it and
 * does not count in an attribute.
 */
static size_t named(struct bytes text, uint32_t points[HTML_REFERENCE_POINTS])
{
    size_t end = 1;
    const char *value;
    uint8_t next;

    while (end < text.len && end <= HTML_REFERENCE_NAME_MAX &&
           (is_letter(text.data[end]) || is_digit(text.data[end]))) {
        end++;
    }
    value = find(bytes_of(text.data + 1, end - 1));
    next = end < text.len ? text.data[end] : '\0';
    if (value == NULL ||
        (next != ';' && (*value != ':' || next == '=' || is_letter(next) ||
                         is_digit(next)))) {
        return 0;
    }
    read_points(value + 1, points);
    return next == ';' ? end + 1 : end;
}

size_t html_reference(struct bytes text,
                      uint32_t points[HTML_REFERENCE_POINTS])
{
    if (text.len > 1 && text.data[1] == '#') {
        points[1] = 0;
        return numeric(text, &points[0]);
    }
    return named(text, points);
}

/* ---- values ---- */

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Whether one of eight bytes is 0. */
static bool has_zero(uint64_t v)
{
    return ((v - EACH(1)) & ~v & EACH(0x80)) != 0;
}

static bool is_plain(struct bytes raw)
{
    size_t i = 0;

    for (; i + 8 <= raw.len; i += 8) {
        uint64_t v;

        memcpy(&v, raw.data + i, sizeof v);
        if (has_zero(v) || has_zero(v ^ EACH('&')) ||
            has_zero(v ^ EACH('\r'))) {
            return false;
        }
    }
    for (; i < raw.len; i++) {
        uint8_t byte = raw.data[i];

        if (byte == '\0' || byte == '&' || byte == '\r') {
            return false;
        }
    }
    return true;
}

/* Decodes the reference at text into out; returns the bytes of text. */
static size_t put_reference(struct bytes text, struct buf *out)
{
    uint32_t points[HTML_REFERENCE_POINTS];
    size_t taken = html_reference(text, points);

    if (taken == 0) {
        out->data[out->len++] = '&';
        return 1;
    }
    for (unsigned i = 0; i < HTML_REFERENCE_POINTS && points[i] != 0; i++) {
        out->len += utf8_put(out->data + out->len, points[i]);
    }
    return taken;
}

bool html_value_decode(struct bytes raw, struct buf *room, struct bytes *value)
{
    *value = raw;
    if (is_plain(raw)) {
        return true;
    }
    /* A NUL gives three bytes, and nothing gives more for its own: the
     * shortest reference to two code points has five bytes. */
    buf_reset(room);
    if (!buf_reserve(room, 3 * raw.len + 1)) {
        return false;
    }
    for (size_t at = 0; at < raw.len;) {
        uint8_t byte = raw.data[at];

        if (byte == '&') {
            at += put_reference(bytes_of(raw.data + at, raw.len - at), room);
            continue;
        }
        at++;
        if (byte == '\0') {
            room->len += utf8_put(room->data + room->len, UTF8_REPLACEMENT);
        } else if (byte != '\r' || at >= raw.len || raw.data[at] != '\n') {
            room->data[room->len++] = byte == '\r' ? '\n' : byte;
        }
    }
    *value = buf_bytes(room);
    return true;
}
