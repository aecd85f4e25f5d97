/*
 * number.h: the literals of JSON numbers (RFC 8259, section 6), by their
 * exact value. The public df_number_canonical is here too.
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include "base/bytes.h"

/* Digits of an exponent, leading zeros left out, as it is written and as the
 * canonical form has it: what the sum of an exponent and a length needs fits
 * in 64 bits by far. No measured quantity comes near; a longer one is an
 * attack or an error. */
enum { NUMBER_EXPONENT_DIGITS = 18 };
#define NUMBER_EXPONENT_MAX INT64_C(999999999999999999)

enum number_result { NUMBER_OK, NUMBER_BAD, NUMBER_HUGE_EXPONENT };

/* A literal taken apart: (-1)^is_negative * 0.DIGITS * 10^point. */
struct number {
    const uint8_t *literal;
    bool is_negative;
    bool is_zero;
    size_t first; /* of the digits in the literal that count: neither */
    size_t last;  /* leading nor trailing zeros; a point may be between */
    int64_t digits;
    int64_t point;
};

/* How many bytes of b, from its start, are a number as JSON has them; 0 if
 * none. What may follow is not looked at. */
size_t number_scan(struct bytes b, enum number_result *result);

/* literal is a whole number and nothing else. */
enum number_result number_parse(struct bytes literal, struct number *n);

#endif
