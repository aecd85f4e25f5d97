#include "jobs/aggregate/decimal.h"

#include "deltafold/job.h"

enum {
    SHORT_DIGITS = 18, /* this many fit in 64 bits */
    WIDE_DIGITS = 39   /* 2^127 has as many */
};

static const uint64_t powers[] = { 1u,
                                   10u,
                                   100u,
                                   1000u,
                                   10000u,
                                   100000u,
                                   1000000u,
                                   10000000u,
                                   100000000u,
                                   1000000000u,
                                   10000000000u,
                                   100000000000u,
                                   1000000000000u,
                                   10000000000000u,
                                   100000000000000u,
                                   1000000000000000u,
                                   10000000000000000u,
                                   100000000000000000u,
                                   1000000000000000000u };

static bool is_digit(uint8_t byte)
{
    return (uint8_t)(byte - '0') < 10;
}

/* ---- texts ---- */

/* The exponent behind an e, up to the end; false when it is none. Beyond
 * EXPONENT_CAP it is no longer counted. */
static bool parse_exponent(const uint8_t *p, const uint8_t *end, int64_t *e)
{
    const int64_t cap = (int64_t)4 * DECIMAL_EXPONENT_MAX;
    bool negative = p < end && *p == '-';

    p += p < end && (*p == '-' || *p == '+') ? 1 : 0;
    if (p == end) {
        return false;
    }
    *e = 0;
    for (; p < end; p++) {
        if (!is_digit(*p)) {
            return false;
        }
        *e = *e < cap ? *e * 10 + (*p - '0') : *e;
    }
    *e = negative ? -*e : *e;
    return true;
}

/* The digits and the point of a text: where they end, where the point is
 * (the end when there is none), how many digits. */
struct mantissa {
    const uint8_t *begin;
    const uint8_t *end;
    const uint8_t *point;
    size_t digits;
};

static struct mantissa scan_mantissa(const uint8_t *p, const uint8_t *end)
{
    struct mantissa m = { .begin = p };

    for (; p < end && (is_digit(*p) || (*p == '.' && m.point == NULL)); p++) {
        if (*p == '.') {
            m.point = p;
        } else {
            m.digits++;
        }
    }
    m.end = p;
    m.point = m.point != NULL ? m.point : p;
    return m;
}

static bool is_significant(uint8_t byte)
{
    return byte != '0' && byte != '.';
}

/* Leaves zeros at the ends out; sets all but the sign. */
static void trim(struct decimal *d, const struct mantissa *m, int64_t *point)
{
    const uint8_t *first = m->begin;
    const uint8_t *last = m->end;

    while (first < last && !is_significant(*first)) {
        first++;
    }
    while (last > first && !is_significant(last[-1])) {
        last--;
    }
    d->first = first;
    d->last = last;
    d->digits =
        (size_t)(last - first) - (m->point > first && m->point < last ? 1 : 0);
    *point = m->point - first + (first > m->point ? 1 : 0);
}

enum decimal_fault decimal_split(struct bytes text, struct decimal *d)
{
    const uint8_t *end = text.data + text.len;
    bool has_sign =
        text.len > 0 && (text.data[0] == '-' || text.data[0] == '+');
    struct mantissa m = scan_mantissa(text.data + has_sign, end);
    int64_t exponent = 0;
    int64_t point;

    if (m.digits == 0 ||
        (m.end < end && ((*m.end | 0x20) != 'e' ||
                         !parse_exponent(m.end + 1, end, &exponent)))) {
        return DECIMAL_NO_NUMBER;
    }
    trim(d, &m, &point);
    d->is_negative = d->digits > 0 && text.data[0] == '-';
    d->point = 0;
    if (d->digits == 0) {
        return DECIMAL_OK;
    }
    point += exponent;
    if (d->digits > DECIMAL_DIGITS_MAX || point > DECIMAL_EXPONENT_MAX ||
        point < -DECIMAL_EXPONENT_MAX) {
        return DECIMAL_TOO_LARGE;
    }
    d->point = (int32_t)point;
    return DECIMAL_OK;
}

/* ---- integers at a scale ---- */

/* Takes digits on top of v; returns where they end. */
static const uint8_t *take_digits(const uint8_t *p, const uint8_t *end,
                                  uint64_t *v)
{
    for (; p < end && is_digit(*p); p++) {
        *v = *v * 10 + (uint64_t)(*p - '0');
    }
    return p;
}

/* Digits and a point, few enough for 64 bits and for the scale: what most
 * texts are. False for others, whatever they are. */
static bool parse_short(struct bytes text, unsigned scale, decimal_wide *value)
{
    const uint8_t *end = text.data + text.len;
    bool negative = text.len > 0 && text.data[0] == '-';
    const uint8_t *begin = text.data + negative;
    size_t behind = 0;
    uint64_t v = 0;
    const uint8_t *p;

    if (end - begin > SHORT_DIGITS) {
        return false;
    }
    p = take_digits(begin, end, &v);
    if (p == begin) {
        return false;
    }
    if (p < end && *p == '.') {
        const uint8_t *fraction = p + 1;

        p = take_digits(fraction, end, &v);
        behind = (size_t)(p - fraction);
    }
    if (p < end || behind > scale) {
        return false;
    }
    *value = (decimal_wide)v * (decimal_wide)powers[scale - behind];
    *value = negative ? -*value : *value;
    return true;
}

/* Takes n zeros on top of v; false beyond 128 bits. */
static bool take_zeros(decimal_wide *v, int64_t n)
{
    for (; n > 0; n--) {
        if (__builtin_mul_overflow(*v, 10, v)) {
            return false;
        }
    }
    return true;
}

static enum decimal_fault parse_any(struct bytes text, unsigned scale,
                                    decimal_wide *value)
{
    struct decimal d;
    enum decimal_fault fault = decimal_split(text, &d);
    int64_t whole; /* digits of the result */
    decimal_wide v = 0;

    *value = 0;
    if (fault != DECIMAL_OK || d.digits == 0) {
        return fault;
    }
    whole = (int64_t)d.point + (int64_t)scale;
    if (whole < (int64_t)d.digits) {
        return DECIMAL_TOO_FINE;
    }
    if (whole > WIDE_DIGITS) {
        return DECIMAL_TOO_LARGE;
    }
    for (const uint8_t *p = d.first; p < d.last; p++) {
        if (*p != '.' && (__builtin_mul_overflow(v, 10, &v) ||
                          __builtin_add_overflow(v, *p - '0', &v))) {
            return DECIMAL_TOO_LARGE;
        }
    }
    if (!take_zeros(&v, whole - (int64_t)d.digits)) {
        return DECIMAL_TOO_LARGE;
    }
    *value = d.is_negative ? -v : v;
    return DECIMAL_OK;
}

enum decimal_fault decimal_parse(struct bytes text, unsigned scale,
                                 decimal_wide *value)
{
    return parse_short(text, scale, value) ? DECIMAL_OK
                                           : parse_any(text, scale, value);
}

/* ---- bytes in order ---- */

/*
 * The sign; the point, with its top bit turned so that bytes are in order;
 * two digits to a byte as 1 to 100. Of a negative number all that is behind
 * the sign is complemented, and a byte above all others ends it, for there
 * the longer of two numbers is the smaller one:
 *
 *     -1.25   10 7ffffffe f2 e5 ff...     -1.2 lies above it
 *         0   20
 *      1.25   30 80000001 0d 33
 */
enum {
    SIGN_NEGATIVE = 0x10,
    SIGN_ZERO = 0x20,
    SIGN_POSITIVE = 0x30,
    POINT_SIZE = 4,
    NEGATIVE_END = 0xff,
    PAIRS = 100
};
static const uint32_t point_bias = (uint32_t)1 << 31;

/* The digits two by two; an odd one has a 0 behind. */
static uint8_t *put_pairs(const struct decimal *d, uint8_t *out)
{
    unsigned pair = 0;
    size_t taken = 0;

    for (const uint8_t *p = d->first; p < d->last; p++) {
        if (*p == '.') {
            continue;
        }
        pair = pair * 10 + (unsigned)(*p - '0');
        if (++taken % 2 == 0) {
            *out++ = (uint8_t)(pair + 1);
            pair = 0;
        }
    }
    if (taken % 2 == 1) {
        *out++ = (uint8_t)(pair * 10 + 1);
    }
    return out;
}

size_t decimal_encode(const struct decimal *d, uint8_t *out)
{
    uint8_t *end;

    if (d->digits == 0) {
        out[0] = SIGN_ZERO;
        return 1;
    }
    out[0] = d->is_negative ? SIGN_NEGATIVE : SIGN_POSITIVE;
    store_be32(out + 1, (uint32_t)d->point ^ point_bias);
    end = put_pairs(d, out + 1 + POINT_SIZE);
    if (d->is_negative) {
        for (uint8_t *p = out + 1; p < end; p++) {
            *p = (uint8_t) ~*p;
        }
        *end++ = NEGATIVE_END;
    }
    return (size_t)(end - out);
}

/* Writes pairs as digits, the last of them without a 0 behind; NULL when
 * malformed. */
static uint8_t *put_digits(uint8_t *out, struct bytes pairs, uint8_t mask)
{
    for (size_t i = 0; i < pairs.len; i++) {
        unsigned pair = (unsigned)(pairs.data[i] ^ mask) - 1;

        if (pair >= PAIRS) {
            return NULL;
        }
        *out++ = (uint8_t)('0' + pair / 10);
        if (i + 1 < pairs.len || pair % 10 != 0) {
            *out++ = (uint8_t)('0' + pair % 10);
        }
    }
    return out;
}

/* D.DDDeN, a literal for df_number_canonical. */
static uint8_t *put_exponent(uint8_t *out, int64_t e)
{
    uint8_t digits[20];
    size_t n = 0;

    *out++ = 'e';
    if (e < 0) {
        *out++ = '-';
        e = -e;
    }
    do {
        digits[n++] = (uint8_t)('0' + e % 10);
        e /= 10;
    } while (e > 0);
    while (n > 0) {
        *out++ = digits[--n];
    }
    return out;
}

/* What stands between sign and end; NULL when malformed. */
static uint8_t *put_literal(uint8_t *out, struct bytes body, bool negative)
{
    uint8_t mask = negative ? 0xff : 0;
    uint32_t point = load_be32(body.data) ^ point_bias;
    struct bytes pairs =
        bytes_of(body.data + POINT_SIZE, body.len - POINT_SIZE);
    uint8_t *p = out;
    uint8_t *digits;

    point = negative ? ~point : point;
    if (negative) {
        *p++ = '-';
    }
    digits = p + 1;
    p = put_digits(digits, pairs, mask);
    if (p == NULL || p == digits || digits[0] == '0') {
        return NULL;
    }
    digits[-1] = digits[0];
    if (p == digits + 1) {
        p = digits; /* one digit needs no point */
    } else {
        digits[0] = '.';
    }
    return put_exponent(p, (int64_t)(int32_t)point - 1);
}

size_t decimal_decode(struct bytes code, uint8_t *out)
{
    uint8_t *literal = out + decimal_decode_room(code.len) / 2;
    bool negative = code.len > 0 && code.data[0] == SIGN_NEGATIVE;
    size_t end = negative ? 1 : 0;
    uint8_t *p;

    if (code.len == 1 && code.data[0] == SIGN_ZERO) {
        out[0] = '0';
        return 1;
    }
    if (code.len < 1 + POINT_SIZE + 1 + end ||
        (!negative && code.data[0] != SIGN_POSITIVE) ||
        (negative && code.data[code.len - 1] != NEGATIVE_END)) {
        return 0;
    }
    p = put_literal(literal, bytes_of(code.data + 1, code.len - 1 - end),
                    negative);
    return p == NULL
               ? 0
               : df_number_canonical(literal, (size_t)(p - literal), out);
}

/* ---- results ---- */

/* The digits of magnitude, at least `least` of them, before `end`. */
static uint8_t *put_magnitude(uint8_t *end, decimal_wide_bits magnitude,
                              unsigned least)
{
    for (; magnitude != 0 || least > 0; magnitude /= 10) {
        *--end = (uint8_t)('0' + (unsigned)(magnitude % 10));
        least -= least > 0 ? 1 : 0;
    }
    return end;
}

/* sign, whole part, point, and digits behind it less zeros at the end. */
static size_t put_number(uint8_t *out, bool negative,
                         decimal_wide_bits magnitude, const uint8_t *behind,
                         unsigned n)
{
    uint8_t room[DECIMAL_TEXT_MAX];
    uint8_t *begin = put_magnitude(room + sizeof room, magnitude, 1);
    size_t len = (size_t)(room + sizeof room - begin);
    uint8_t *p = out;

    while (n > 0 && behind[n - 1] == '0') {
        n--;
    }
    if (negative && (magnitude != 0 || n > 0)) {
        *p++ = '-';
    }
    memcpy(p, begin, len);
    p += len;
    if (n > 0) {
        *p++ = '.';
        memcpy(p, behind, n);
        p += n;
    }
    return (size_t)(p - out);
}

static decimal_wide_bits magnitude_of(decimal_wide v)
{
    return v < 0 ? -(decimal_wide_bits)v : (decimal_wide_bits)v;
}

size_t decimal_text(uint8_t out[DECIMAL_TEXT_MAX], decimal_wide value,
                    unsigned scale)
{
    decimal_wide_bits magnitude = magnitude_of(value);
    uint8_t behind[DECIMAL_SCALE_MAX];

    (void)put_magnitude(behind + scale, magnitude % powers[scale], scale);
    return put_number(out, value < 0, magnitude / powers[scale], behind,
                      scale);
}

size_t decimal_quotient(uint8_t out[DECIMAL_TEXT_MAX], decimal_wide value,
                        unsigned scale, int64_t count)
{
    enum { BEHIND = DECIMAL_SCALE_MAX + DECIMAL_AVERAGE_DIGITS };
    const decimal_wide_bits by = (decimal_wide_bits)count;
    decimal_wide_bits magnitude = magnitude_of(value);
    /* At the scale: quotient and rest; then digit by digit, which never
     * leaves 128 bits, for the rest is below 2^63. */
    decimal_wide_bits quotient = magnitude / by;
    decimal_wide_bits rest = magnitude % by;
    decimal_wide_bits more = 0; /* the DECIMAL_AVERAGE_DIGITS */
    uint8_t behind[BEHIND];

    for (unsigned i = 0; i < DECIMAL_AVERAGE_DIGITS; i++) {
        rest *= 10;
        more = more * 10 + rest / by;
        rest %= by;
    }
    if (rest * 2 >= by && ++more == powers[DECIMAL_AVERAGE_DIGITS]) {
        more = 0;
        quotient++;
    }
    (void)put_magnitude(behind + scale, quotient % powers[scale], scale);
    (void)put_magnitude(behind + scale + DECIMAL_AVERAGE_DIGITS, more,
                        DECIMAL_AVERAGE_DIGITS);
    return put_number(out, value < 0, quotient / powers[scale], behind,
                      scale + DECIMAL_AVERAGE_DIGITS);
}
