#include "base/json_text.h"

#include "base/utf8.h"

/* The letter n of \n, and what it stands for. */
static const char letters[] = "bfnrt\"\\/";
static const char meanings[] = "\b\f\n\r\t\"\\/";

/* ---- writing ---- */

uint8_t *json_text_escape(uint8_t *out, uint8_t byte)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = byte != 0 ? strchr(meanings, byte) : NULL;

    *out++ = '\\';
    if (at != NULL) {
        *out++ = (uint8_t)letters[at - meanings];
        return out;
    }
    memcpy(out, "u00", 3);
    out[3] = (uint8_t)digits[byte >> 4];
    out[4] = (uint8_t)digits[byte & 15];
    return out + 5;
}

/* How many bytes of text, from i on, can be written as they are. */
static size_t plain(struct bytes text, size_t i)
{
    size_t begin = i;

    while (i < text.len && !json_text_is_special(text.data[i])) {
        uint32_t point = 0;
        size_t n = text.data[i] < 0x80
                       ? 1
                       : utf8_decode(text.data + i, text.len - i, &point);

        if (point == UTF8_BAD) {
            break;
        }
        i += n;
    }
    return i - begin;
}

/* What is not plain; returns how many bytes of text that was, 0 without
 * memory. */
static size_t append_special(struct buf *out, struct bytes text, size_t i)
{
    uint8_t escape[JSON_TEXT_ESCAPE];
    uint32_t point;
    size_t n = utf8_decode(text.data + i, text.len - i, &point);
    uint8_t *end = point == UTF8_BAD
                       ? escape + utf8_put(escape, UTF8_REPLACEMENT)
                       : json_text_escape(escape, text.data[i]);

    return buf_append(out, escape, (size_t)(end - escape)) ? n : 0;
}

bool json_text_append(struct buf *out, struct bytes text)
{
    size_t n;

    if (!buf_append_byte(out, '"')) {
        return false;
    }
    for (size_t i = 0; i < text.len; i += n) {
        n = plain(text, i);
        if (n > 0 ? !buf_append(out, text.data + i, n)
                  : (n = append_special(out, text, i)) == 0) {
            return false;
        }
    }
    return buf_append_byte(out, '"');
}

/* ---- reading ---- */

static int hex(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The unit of \uXXXX whose X begin at p; false where they are not hex. */
static bool read_unit(const uint8_t *p, size_t left, uint32_t *unit)
{
    *unit = 0;
    for (size_t i = 0; i < 4; i++) {
        int digit = i < left ? hex(p[i]) : -1;

        if (digit < 0) {
            return false;
        }
        *unit = *unit << 4 | (uint32_t)digit;
    }
    return true;
}

static bool is_high(uint32_t unit)
{
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low(uint32_t unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}

/* The escape at \u: a code point, of two units or one. */
static size_t read_unicode(const uint8_t *p, size_t left, uint32_t *point,
                           const char **why)
{
    uint32_t unit;
    uint32_t low;

    if (!read_unit(p + 2, left - 2, &unit)) {
        *why = "\\u without four hexadecimal digits";
        return 0;
    }
    *why = "half of a surrogate pair alone";
    *point = unit;
    if (is_low(unit)) {
        return 0;
    }
    if (!is_high(unit)) {
        return 6;
    }
    if (left < 12 || p[6] != '\\' || p[7] != 'u' ||
        !read_unit(p + 8, left - 8, &low) || !is_low(low)) {
        return 0;
    }
    *point = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    return 12;
}

size_t json_text_read_escape(const uint8_t *p, size_t left, uint32_t *point,
                             const char **why)
{
    const char *at;

    if (left >= 2 && p[1] == 'u') {
        return read_unicode(p, left, point, why);
    }
    *why = "unknown escape";
    at = left >= 2 && p[1] != 0 ? strchr(letters, p[1]) : NULL;
    if (at == NULL) {
        return 0;
    }
    *point = (uint8_t)meanings[at - letters];
    return 2;
}

bool json_text_unescape(struct bytes raw, uint8_t *out, size_t *len)
{
    size_t n = 0;

    for (size_t i = 0; i < raw.len;) {
        const char *why;
        uint32_t point;
        size_t escape;

        if (raw.data[i] == '"') {
            return false;
        }
        if (raw.data[i] != '\\') {
            out[n++] = raw.data[i++];
            continue;
        }
        escape =
            json_text_read_escape(raw.data + i, raw.len - i, &point, &why);
        if (escape == 0) {
            return false;
        }
        i += escape;
        n += utf8_put(out + n, point);
    }
    *len = n;
    return true;
}
