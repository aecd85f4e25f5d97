#include "base/number.h"

#include "deltafold/job.h"

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static size_t digits_from(struct bytes b, size_t at)
{
    size_t n = 0;

    while (at + n < b.len && is_digit(b.data[at + n])) {
        n++;
    }
    return n;
}

/* The exponent at `at`: its length. */
static size_t scan_exponent(struct bytes b, size_t at,
                            enum number_result *result)
{
    size_t i = at + 1;
    size_t n;
    size_t zeros = 0;

    if (i < b.len && (b.data[i] == '+' || b.data[i] == '-')) {
        i++;
    }
    n = digits_from(b, i);
    while (zeros < n && b.data[i + zeros] == '0') {
        zeros++;
    }
    if (n == 0) {
        *result = NUMBER_BAD;
    } else if (n - zeros > NUMBER_EXPONENT_DIGITS) {
        *result = NUMBER_HUGE_EXPONENT;
    }
    return i + n - at;
}

static size_t scan(struct bytes b, enum number_result *result)
{
    size_t i = b.len > 0 && b.data[0] == '-' ? 1 : 0;
    size_t whole = digits_from(b, i);

    *result = NUMBER_OK;
    if (whole == 0 || (whole > 1 && b.data[i] == '0')) {
        *result = NUMBER_BAD;
        return 0;
    }
    i += whole;
    if (i < b.len && b.data[i] == '.') {
        size_t fraction = digits_from(b, i + 1);

        if (fraction == 0) {
            *result = NUMBER_BAD;
            return 0;
        }
        i += 1 + fraction;
    }
    if (i < b.len && (b.data[i] | 0x20) == 'e') {
        i += scan_exponent(b, i, result);
    }
    return *result == NUMBER_OK ? i : 0;
}

/* Of a literal that has been scanned, with e or E at `at`. */
static int64_t exponent_at(struct bytes b, size_t at)
{
    size_t i = at + 1;
    bool is_negative = b.data[i] == '-';
    int64_t value = 0;

    i += b.data[i] == '-' || b.data[i] == '+' ? 1 : 0;
    for (; i < b.len; i++) {
        value = value * 10 + (b.data[i] - '0');
    }
    return is_negative ? -value : value;
}

/* Where the mantissa ends: at the exponent, or the end. */
static size_t mantissa_end(struct bytes b)
{
    size_t i = 0;

    while (i < b.len && (b.data[i] | 0x20) != 'e') {
        i++;
    }
    return i;
}

static bool counts(uint8_t c)
{
    return c >= '1' && c <= '9';
}

/* The exponent that the canonical form has, of one digit before the point. */
static bool is_huge(int64_t exponent)
{
    return exponent > NUMBER_EXPONENT_MAX || exponent < -NUMBER_EXPONENT_MAX;
}

/* A literal that has been scanned. */
static enum number_result take_apart(struct bytes literal, struct number *n)
{
    size_t begin = literal.data[0] == '-' ? 1 : 0;
    size_t end = mantissa_end(literal);
    size_t point;

    *n = (struct number){ .literal = literal.data, .is_negative = begin == 1 };
    point = begin + digits_from(literal, begin);
    n->first = begin;
    n->last = end;
    while (n->first < end && !counts(literal.data[n->first])) {
        n->first++;
    }
    if (n->first == end) {
        n->is_zero = true;
        return NUMBER_OK;
    }
    while (!counts(literal.data[n->last - 1])) {
        n->last--;
    }
    n->digits = (int64_t)(n->last - n->first) -
                (point > n->first && point < n->last ? 1 : 0);
    n->point = (int64_t)point - (int64_t)n->first + (n->first > point ? 1 : 0);
    if (end < literal.len) {
        n->point += exponent_at(literal, end);
    }
    return is_huge(n->point - 1) ? NUMBER_HUGE_EXPONENT : NUMBER_OK;
}

size_t number_scan(struct bytes b, enum number_result *result)
{
    struct number n;
    size_t len = scan(b, result);

    /* No exponent of a shorter literal comes near to having too many. */
    if (len > NUMBER_EXPONENT_DIGITS) {
        *result = take_apart(bytes_of(b.data, len), &n);
    }
    return *result == NUMBER_OK ? len : 0;
}

enum number_result number_parse(struct bytes literal, struct number *n)
{
    enum number_result result;

    if (scan(literal, &result) != literal.len || result != NUMBER_OK) {
        return result == NUMBER_OK ? NUMBER_BAD : result;
    }
    return take_apart(literal, n);
}

/* ---- the canonical form ---- */

/* As ECMAScript (and with it RFC 8785) writes numbers, but exact: plain
 * where that takes few zeros, else with an exponent. */
enum { PLAIN_POINT_MIN = -5, PLAIN_POINT_MAX = 21 };

static uint8_t *put(uint8_t *out, uint8_t byte)
{
    *out = byte;
    return out + 1;
}

static uint8_t *put_zeros(uint8_t *out, int64_t n)
{
    for (; n > 0; n--) {
        out = put(out, '0');
    }
    return out;
}

/* The digits, with a point behind the first `whole` of them unless that is
 * all of them or more. */
static uint8_t *put_digits(uint8_t *out, const struct number *n, int64_t whole)
{
    int64_t k = 0;

    for (size_t i = n->first; i < n->last; i++) {
        if (n->literal[i] == '.') {
            continue;
        }
        if (k++ == whole) {
            out = put(out, '.');
        }
        out = put(out, n->literal[i]);
    }
    return out;
}

static uint8_t *put_exponent(uint8_t *out, int64_t exponent)
{
    uint8_t digits[20];
    size_t n = 0;
    uint64_t left = exponent < 0 ? (uint64_t)-exponent : (uint64_t)exponent;

    out = put(out, 'e');
    out = put(out, exponent < 0 ? '-' : '+');
    do {
        digits[n++] = (uint8_t)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    while (n > 0) {
        out = put(out, digits[--n]);
    }
    return out;
}

size_t df_number_canonical(const uint8_t *literal, size_t len, uint8_t *out)
{
    struct number n;
    uint8_t *p = out;

    if (number_parse(bytes_of(literal, len), &n) != NUMBER_OK) {
        return 0;
    }
    if (n.is_zero) {
        out[0] = '0';
        return 1;
    }
    if (n.is_negative) {
        p = put(p, '-');
    }
    if (n.point > PLAIN_POINT_MAX || n.point < PLAIN_POINT_MIN) {
        p = put_digits(p, &n, 1);
        p = put_exponent(p, n.point - 1);
    } else if (n.point <= 0) {
        p = put(put(p, '0'), '.');
        p = put_zeros(p, -n.point);
        p = put_digits(p, &n, -1);
    } else {
        p = put_digits(p, &n, n.point);
        p = put_zeros(p, n.point - n.digits);
    }
    return (size_t)(p - out);
}
