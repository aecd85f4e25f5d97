/*
 * windows1252.h: the code point of a byte of windows-1252.
 *
 * The bytes 0x80 to 0x9F mean the same in a page of that encoding and in
 * numeric character references (&#150;), in the HTML standard both.
 */
#ifndef JOBS_LINKS_WINDOWS1252_H
#define JOBS_LINKS_WINDOWS1252_H

#include <stdint.h>

static inline uint32_t windows1252_point(uint8_t byte)
{
    static const uint16_t controls[32] = {
        0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
        0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,   0x017D, 0x8F,
        0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
        0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178,
    };

    return byte >= 0x80 && byte < 0xA0 ? controls[byte - 0x80] : byte;
}

#endif
