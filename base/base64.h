/*
 * base64.h: base64 (RFC 4648, section 4), group by group.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { BASE64_GROUP = 4 };

/* The one to three bytes at in as four characters. */
static inline void base64_group(char out[BASE64_GROUP], const uint8_t *in,
                                size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t v = (uint32_t)in[0] << 16;

    v |= n > 1 ? (uint32_t)in[1] << 8 : 0;
    v |= n > 2 ? in[2] : 0;
    out[0] = digits[v >> 18];
    out[1] = digits[v >> 12 & 63];
    memset(out + 2, '=', 2);
    if (n > 1) {
        out[2] = digits[v >> 6 & 63];
    }
    if (n > 2) {
        out[3] = digits[v & 63];
    }
}

#endif
