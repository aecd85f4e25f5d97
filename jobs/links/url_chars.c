#include "jobs/links/url_chars.h"

enum {
    ALL = URL_CHAR_PATH | URL_CHAR_QUERY | URL_CHAR_USER,
    /* One name of two letters for each kind of byte. */
    ct = URL_CHAR_ODD | ALL | URL_CHAR_BARRED, /* controls, space */
    bl = ct | URL_CHAR_BLANK,
    hi = URL_CHAR_ODD | ALL | URL_CHAR_HIGH,
    ok = 0,
    dg = URL_CHAR_SCHEME | URL_CHAR_HOST | URL_CHAR_UNRESERVED | URL_CHAR_HEX,
    hx = dg, /* a-f */
    lo = dg & ~URL_CHAR_HEX,
    UX = dg & ~URL_CHAR_HOST, /* A-F */
    UP = lo & ~URL_CHAR_HOST,
    mi = lo, /* - */
    dt = lo | URL_CHAR_DOT,
    un = URL_CHAR_HOST | URL_CHAR_UNRESERVED, /* _ */
    ti = URL_CHAR_UNRESERVED,                 /* ~ */
    pl = URL_CHAR_SCHEME,                     /* + */
    qu = URL_CHAR_ODD | ALL,                  /* " */
    ha = URL_CHAR_HASH | ALL | URL_CHAR_BARRED,
    pc = URL_CHAR_ODD | URL_CHAR_BARRED,  /* % */
    ap = URL_CHAR_ODD | URL_CHAR_QUERY,   /* ' */
    an = ct,                              /* < > */
    us = URL_CHAR_USER,                   /* ; = */
    ub = URL_CHAR_USER | URL_CHAR_BARRED, /* @ [ ] | */
    sl = ub | URL_CHAR_SLASH,
    co = ub | URL_CHAR_COLON,
    qm = ub | URL_CHAR_PATH,
    bs = ub | URL_CHAR_ODD,     /* backslash */
    ca = bs | URL_CHAR_PATH,    /* ^ */
    br = ca & ~URL_CHAR_BARRED, /* ` { } */
};

/* clang-format off */
const uint16_t url_chars[256] = {
    ct, ct, ct, ct, ct, ct, ct, ct, ct, bl, bl, ct, ct, bl, ct, ct,
    ct, ct, ct, ct, ct, ct, ct, ct, ct, ct, ct, ct, ct, ct, ct, ct,
/*      !   "   #   $   %   &   '   (   )   *   +   ,   -   .   /   */
    ct, ok, qu, ha, ok, pc, ok, ap, ok, ok, ok, pl, ok, mi, dt, sl,
/*  0   1   2   3   4   5   6   7   8   9   :   ;   <   =   >   ?   */
    dg, dg, dg, dg, dg, dg, dg, dg, dg, dg, co, us, an, us, an, qm,
/*  @   A   B   C   D   E   F   G   H   I   J   K   L   M   N   O   */
    ub, UX, UX, UX, UX, UX, UX, UP, UP, UP, UP, UP, UP, UP, UP, UP,
/*  P   Q   R   S   T   U   V   W   X   Y   Z   [   \   ]   ^   _   */
    UP, UP, UP, UP, UP, UP, UP, UP, UP, UP, UP, ub, bs, ub, ca, un,
/*  `   a   b   c   d   e   f   g   h   i   j   k   l   m   n   o   */
    br, hx, hx, hx, hx, hx, hx, lo, lo, lo, lo, lo, lo, lo, lo, lo,
/*  p   q   r   s   t   u   v   w   x   y   z   {   |   }   ~   DEL */
    lo, lo, lo, lo, lo, lo, lo, lo, lo, lo, lo, br, ub, br, ti, ct,
    hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi,
    hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi,
    hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi,
    hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi,
    hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi,
    hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi,
    hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi,
    hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi, hi,
};
/* clang-format on */

static uint8_t *write_escape(uint8_t *o, uint8_t byte)
{
    static const char digits[] = "0123456789ABCDEF";

    o[0] = '%';
    o[1] = (uint8_t)digits[byte >> 4];
    o[2] = (uint8_t)digits[byte & 15];
    return o + 3;
}

/* bare: where the last % was written that begins no escape, or NULL. */
static bool completes_escape(const uint8_t *bare, const uint8_t *o,
                             uint8_t byte)
{
    if (bare == NULL || !url_char_is(byte, URL_CHAR_HEX)) {
        return false;
    }
    return o - bare == 1 ||
           (o - bare == 2 && url_char_is(o[-1], URL_CHAR_HEX));
}

uint8_t *url_write_escaped(uint8_t *o, struct bytes text, unsigned set)
{
    const uint8_t *bare = NULL;

    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];

        if (url_escape_at(text, i, &c)) {
            i += 2;
            if (url_char_is(c, URL_CHAR_UNRESERVED) &&
                !completes_escape(bare, o, c)) {
                *o++ = c;
            } else {
                o = write_escape(o, c);
            }
        } else if (url_char_is(c, set)) {
            o = write_escape(o, c);
        } else {
            bare = c == '%' ? o : bare;
            *o++ = c;
        }
    }
    return o;
}
