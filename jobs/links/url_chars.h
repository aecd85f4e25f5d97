/*
 * url_chars.h: what the bytes of a URL are, and how a part of it is written.
 *
 * Names in quotation marks are those of the WHATWG URL standard. Private to
 * jobs/links/url*.c.
 */
#ifndef JOBS_LINKS_URL_CHARS_H
#define JOBS_LINKS_URL_CHARS_H

#include "base/bytes.h"

enum url_char {
    URL_CHAR_SLASH = 1 << 0,
    URL_CHAR_DOT = 1 << 1, /* SLASH << 1: url.c counts on it */
    URL_CHAR_COLON = 1 << 2,
    URL_CHAR_HASH = 1 << 3,
    URL_CHAR_BLANK = 1 << 4,      /* tab, LF, CR: removed everywhere */
    URL_CHAR_HIGH = 1 << 5,       /* 0x80 and above */
    URL_CHAR_ODD = 1 << 6,        /* path or query may not copy it as it is */
    URL_CHAR_SCHEME = 1 << 7,     /* of a scheme, behind its first letter */
    URL_CHAR_HOST = 1 << 8,       /* of a host, copied as it is */
    URL_CHAR_UNRESERVED = 1 << 9, /* RFC 3986, section 2.3 */
    URL_CHAR_HEX = 1 << 10,
    URL_CHAR_PATH = 1 << 11,  /* in the "path percent-encode set" */
    URL_CHAR_QUERY = 1 << 12, /* in the "special-query" one */
    URL_CHAR_USER = 1 << 13,  /* in the "userinfo" one */
    URL_CHAR_BARRED = 1 << 14 /* a "forbidden domain code point" */
};

/* The enum url_char bits of each byte. */
extern const uint16_t url_chars[256];

static inline bool url_char_is(uint8_t byte, unsigned bits)
{
    return (url_chars[byte] & bits) != 0;
}

static inline bool url_char_is_slash(uint8_t byte)
{
    return byte == '/' || byte == '\\';
}

static inline bool url_char_is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

/* Of a byte that is URL_CHAR_HEX. */
static inline unsigned url_char_hex(uint8_t byte)
{
    return url_char_is_digit(byte) ? byte - (unsigned)'0'
                                   : (byte | 0x20U) - (unsigned)'a' + 10;
}

/* Whether an escape, %XX, begins at data[at]; *byte is then its value. */
static inline bool url_escape_at(struct bytes text, size_t at, uint8_t *byte)
{
    const uint8_t *s = text.data + at;

    if (text.len - at < 3 || s[0] != '%' || !url_char_is(s[1], URL_CHAR_HEX) ||
        !url_char_is(s[2], URL_CHAR_HEX)) {
        return false;
    }
    *byte = (uint8_t)(url_char_hex(s[1]) << 4 | url_char_hex(s[2]));
    return true;
}

/*
 * Writes text at o, as a part of a URL has it whose percent-encode set is
 * `set` (a bit of enum url_char), and returns where it ends. Escapes are
 * normalised; a % that begins none stays, and no escape is decoded where
 * its byte would make one of such a % ("%%34%31" stays as it is, for "%41"
 * would be another URL). So writing what was written changes nothing.
 */
uint8_t *url_write_escaped(uint8_t *o, struct bytes text, unsigned set);

#endif
