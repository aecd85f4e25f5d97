#include "jobs/aggregate/quoted.h"

#include "base/utf8.h"

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char base64_open[] = "{\"base64\":\"";
static const char base64_close[] = "\"}";

static bool is_utf8(struct bytes b)
{
    for (size_t i = 0; i < b.len;) {
        uint32_t point;

        i += utf8_decode(b.data + i, b.len - i, &point);
        if (point == UTF8_BAD) {
            return false;
        }
    }
    return true;
}

static char short_escape(uint8_t byte)
{
    switch (byte) {
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    case '"':
    case '\\':
        return (char)byte;
    default:
        return 0;
    }
}

static bool append_escaped(struct buf *out, uint8_t byte)
{
    char letter = short_escape(byte);

    if (letter != 0) {
        return buf_append_byte(out, '\\') &&
               buf_append_byte(out, (uint8_t)letter);
    }
    return byte < ' ' ? buf_printf(out, "\\u%04x", byte)
                      : buf_append_byte(out, byte);
}

static bool append_base64(struct buf *out, struct bytes b)
{
    bool ok = true;

    for (size_t i = 0; ok && i < b.len; i += 3) {
        size_t left = b.len - i;
        unsigned v = (unsigned)b.data[i] << 16 |
                     (left > 1 ? (unsigned)b.data[i + 1] << 8 : 0) |
                     (left > 2 ? b.data[i + 2] : 0u);

        for (unsigned k = 0; ok && k < 4; k++) {
            unsigned six = v >> (18 - 6 * k) & 63;

            ok = buf_append_byte(out, k <= left ? (uint8_t)base64_digits[six]
                                                : '=');
        }
    }
    return ok;
}

bool quoted_append(struct buf *out, struct bytes text)
{
    bool ok;

    if (!is_utf8(text)) {
        return buf_append_string(out, base64_open) &&
               append_base64(out, text) &&
               buf_append_string(out, base64_close);
    }
    ok = buf_append_byte(out, '"');
    for (size_t i = 0; ok && i < text.len; i++) {
        ok = append_escaped(out, text.data[i]);
    }
    return ok && buf_append_byte(out, '"');
}

/* ---- back ---- */

static int hex_digit(uint8_t byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* Four hex digits; false when they are none. */
static bool take_hex(struct bytes *rest, uint32_t *v)
{
    *v = 0;
    if (rest->len < 4) {
        return false;
    }
    for (unsigned i = 0; i < 4; i++) {
        int digit = hex_digit(rest->data[i]);

        if (digit < 0) {
            return false;
        }
        *v = *v << 4 | (uint32_t)digit;
    }
    *rest = bytes_of(rest->data + 4, rest->len - 4);
    return true;
}

/* Behind \u: one unit, or two that are one code point. */
static bool take_point(struct bytes *rest, uint32_t *point)
{
    uint32_t low;

    if (!take_hex(rest, point) || (*point >= 0xDC00 && *point <= 0xDFFF)) {
        return false;
    }
    if (*point < 0xD800 || *point > 0xDBFF) {
        return true;
    }
    if (rest->len < 2 || rest->data[0] != '\\' || rest->data[1] != 'u') {
        return false;
    }
    *rest = bytes_of(rest->data + 2, rest->len - 2);
    if (!take_hex(rest, &low) || low < 0xDC00 || low > 0xDFFF) {
        return false;
    }
    *point = 0x10000 + ((*point - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

static uint8_t meaning_of(uint8_t letter)
{
    static const char letters[] = "bfnrt\"\\/";
    static const char meanings[] = "\b\f\n\r\t\"\\/";
    const char *at = letter == 0 ? NULL : strchr(letters, letter);

    return at == NULL ? 0 : (uint8_t)meanings[at - letters];
}

/* Behind a backslash. */
static enum quoted_result take_escape(struct buf *out, struct bytes *rest)
{
    uint8_t letter = rest->len > 0 ? rest->data[0] : 0;
    uint8_t utf8[UTF8_POINT_MAX];
    uint32_t point = meaning_of(letter);

    if (letter != 'u' && point == 0) {
        return QUOTED_BAD;
    }
    *rest = bytes_of(rest->data + 1, rest->len - 1);
    if (letter == 'u' && !take_point(rest, &point)) {
        return QUOTED_BAD;
    }
    return buf_append(out, utf8, utf8_put(utf8, point)) ? QUOTED_OK
                                                        : QUOTED_NO_MEMORY;
}

static enum quoted_result parse_string(struct buf *out, struct bytes inside)
{
    enum quoted_result result = QUOTED_OK;

    while (result == QUOTED_OK && inside.len > 0) {
        uint8_t byte = inside.data[0];

        inside = bytes_of(inside.data + 1, inside.len - 1);
        if (byte == '"') {
            return QUOTED_BAD;
        }
        if (byte == '\\') {
            result = take_escape(out, &inside);
        } else if (!buf_append_byte(out, byte)) {
            result = QUOTED_NO_MEMORY;
        }
    }
    return result;
}

enum quoted_result quoted_parse(struct buf *out, struct bytes json)
{
    if (json.len < 2 || json.data[0] != '"' ||
        json.data[json.len - 1] != '"') {
        return QUOTED_BAD;
    }
    return parse_string(out, bytes_of(json.data + 1, json.len - 2));
}
