/*
 * decimal.h: decimal numbers as texts write them, exactly: as integers of
 * 128 bits at a scale, which can be added, and as bytes in the order of the
 * numbers, which can be compared.
 *
 * A number is digits with at most one point among them, at least one digit,
 * a sign in front and an exponent behind if there is need: 7, -0.50, +.5,
 * 007, 1e3, 2.5E-2. No blanks, no separators of thousands, no NaN.
 */
#ifndef JOBS_AGGREGATE_DECIMAL_H
#define JOBS_AGGREGATE_DECIMAL_H

#include "base/bytes.h"

enum {
    DECIMAL_SCALE_MAX = 18, /* digits behind the point that 64 bits hold */
    /* Digits of a number that is compared, zeros at its ends left out. No
     * quantity has as many; with them an element stays well below
     * DF_KEY_MAX and is copied and compared in no time. */
    DECIMAL_DIGITS_MAX = 10000,
    DECIMAL_EXPONENT_MAX = 999999999, /* what four bytes hold, in digits */
    DECIMAL_AVERAGE_DIGITS = 6        /* behind the scale, in a quotient */
};

/* What gcc and clang both have. */
__extension__ typedef __int128 decimal_wide;
__extension__ typedef unsigned __int128 decimal_wide_bits;

enum decimal_fault {
    DECIMAL_OK,
    DECIMAL_NO_NUMBER,
    DECIMAL_TOO_FINE, /* digits behind the scale that are not 0 */
    DECIMAL_TOO_LARGE /* beyond 128 bits, or the limits above */
};

/* A number taken apart: 0.DIGITS * 10^point, neither the first nor the last
 * of the digits a zero. */
struct decimal {
    bool is_negative;     /* never for 0 */
    const uint8_t *first; /* of the digits; a point may be among them */
    const uint8_t *last;  /* behind them; first for 0 */
    size_t digits;        /* 0 for 0 */
    int32_t point;
};

/* Fails with DECIMAL_NO_NUMBER, or DECIMAL_TOO_LARGE beyond the limits. */
enum decimal_fault decimal_split(struct bytes text, struct decimal *d);

/* text * 10^scale, which must be a whole number. -2^127 is too large, so that
 * every value has a negative. */
enum decimal_fault decimal_parse(struct bytes text, unsigned scale,
                                 decimal_wide *value);

/*
 * Bytes whose memcmp order is that of the numbers, the same for equal ones:
 * a sign, the point and two digits to a byte. out has
 * decimal_code_room(digits) bytes; returns how many it takes.
 */
static inline size_t decimal_code_room(size_t digits)
{
    return 1 + 4 + (digits + 1) / 2 + 1;
}
size_t decimal_encode(const struct decimal *d, uint8_t *out);

/* The JSON number that code encodes, in the form of df_number_canonical.
 * out has decimal_decode_room(code.len) bytes; returns the length, 0 when
 * malformed. */
static inline size_t decimal_decode_room(size_t code_len)
{
    return 2 * (2 * code_len + 64);
}
size_t decimal_decode(struct bytes code, uint8_t *out);

/* value / 10^scale as a JSON number, without zeros at its end. Returns the
 * length. */
enum { DECIMAL_TEXT_MAX = 64 };
size_t decimal_text(uint8_t out[DECIMAL_TEXT_MAX], decimal_wide value,
                    unsigned scale);

/* value / 10^scale / count, count > 0: the exact quotient rounded to scale +
 * DECIMAL_AVERAGE_DIGITS digits behind the point, a half away from zero. */
size_t decimal_quotient(uint8_t out[DECIMAL_TEXT_MAX], decimal_wide value,
                        unsigned scale, int64_t count);

#endif
