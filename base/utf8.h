/*
 * utf8.h: one code point from bytes that may not be UTF-8, and back.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_BAD UINT32_MAX

enum { UTF8_POINT_MAX = 4, UTF8_REPLACEMENT = 0xFFFD };

static inline bool utf8_is_continuation(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Bytes that no well-formed text holds. */
static inline bool utf8_is_never(uint8_t byte)
{
    return byte == 0xc0 || byte == 0xc1 || byte >= 0xf5;
}

/* Whether second may follow the lead byte of three or four bytes: no
 * overlong forms, no surrogates, nothing above U+10FFFF. */
static inline bool utf8_second_fits(uint8_t lead, uint8_t second)
{
    switch (lead) {
    case 0xe0:
        return second >= 0xa0 && second <= 0xbf;
    case 0xed:
        return second >= 0x80 && second <= 0x9f;
    case 0xf0:
        return second >= 0x90 && second <= 0xbf;
    case 0xf4:
        return second >= 0x80 && second <= 0x8f;
    default:
        return utf8_is_continuation(second);
    }
}

/*
 * Decodes what s begins with; left, at least 1, bytes belong to it. Returns
 * its length. *point is UTF8_BAD for ill-formed bytes: the length is then
 * that of the maximal subpart, the unit in which they are passed over.
 */
static inline size_t utf8_decode(const uint8_t *s, size_t left,
                                 uint32_t *point)
{
    uint8_t lead = s[0];

    *point = UTF8_BAD;
    if (lead < 0x80) {
        *point = lead;
        return 1;
    }
    if (lead < 0xc2 || lead > 0xf4 || left < 2) {
        return 1;
    }
    if (lead < 0xe0) {
        if (utf8_is_continuation(s[1])) {
            *point = (lead & 0x1fU) << 6 | (s[1] & 0x3fU);
            return 2;
        }
        return 1;
    }
    if (!utf8_second_fits(lead, s[1])) {
        return 1;
    }
    if (left < 3 || !utf8_is_continuation(s[2])) {
        return 2;
    }
    if (lead < 0xf0) {
        *point = (lead & 0xfU) << 12 | (s[1] & 0x3fU) << 6 | (s[2] & 0x3fU);
        return 3;
    }
    if (left < 4 || !utf8_is_continuation(s[3])) {
        return 3;
    }
    *point = (lead & 0x7U) << 18 | (s[1] & 0x3fU) << 12 | (s[2] & 0x3fU) << 6 |
             (s[3] & 0x3fU);
    return 4;
}

static inline bool utf8_is_well_formed(const uint8_t *s, size_t len)
{
    uint32_t point = 0;

    for (size_t i = 0; i < len && point != UTF8_BAD;) {
        i += utf8_decode(s + i, len - i, &point);
    }
    return point != UTF8_BAD;
}

/* Writes a code point, at most UTF8_POINT_MAX bytes; returns how many. */
static inline size_t utf8_put(uint8_t *out, uint32_t point)
{
    if (point < 0x80) {
        out[0] = (uint8_t)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (uint8_t)(0xC0 | point >> 6);
        out[1] = (uint8_t)(0x80 | (point & 0x3F));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (uint8_t)(0xE0 | point >> 12);
        out[1] = (uint8_t)(0x80 | (point >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (point & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | point >> 18);
    out[1] = (uint8_t)(0x80 | (point >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (point >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (point & 0x3F));
    return 4;
}

#endif
