#include "jobs/dedup/instant.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/calendar.h"
#include "base/number.h"

enum {
    SECOND_US = 1000000,
    MINUTE_S = 60,
    HOUR_S = 3600,
    DAY_S = 86400,
    OFFSET_HOURS_MAX = 23 /* of an ISO 8601 offset */
};

bool instant_unit_of(const char *name, enum instant_unit *unit)
{
    static const char *const names[] = { "s", "ms", "us", "iso" };

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            *unit = (enum instant_unit)i;
            return true;
        }
    }
    return false;
}

/* ---- integers ---- */

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

enum {
    DIGITS_SAFE = 16, /* as few cannot be too much, even of what are none */
    DIGITS_AT_ONCE = 8
};

/* The first eight characters at once: neighbours are added up to numbers of
 * two digits, these to four, these to eight. False where one is no digit. */
static bool read_eight_digits(const uint8_t *text, int64_t *v)
{
    const uint64_t zeros = UINT64_C(0x3030303030303030);
    uint64_t c = __builtin_bswap64(load_be64(text)); /* the first lowest */
    uint64_t high = c & UINT64_C(0xf0f0f0f0f0f0f0f0);
    uint64_t over =
        (c + UINT64_C(0x0606060606060606)) & UINT64_C(0xf0f0f0f0f0f0f0f0);

    c -= zeros;
    c = c * 10 + (c >> 8);
    c = (c & UINT64_C(0x00ff00ff00ff00ff)) * 100 +
        (c >> 16 & UINT64_C(0x00ff00ff00ff00ff));
    c = (c & UINT64_C(0x0000ffff0000ffff)) * 10000 +
        (c >> 32 & UINT64_C(0x0000ffff0000ffff));
    *v = (int64_t)(c & UINT32_MAX);
    return high == zeros && over == zeros;
}

static bool read_few_digits(struct bytes text, int64_t *v)
{
    unsigned worst = 0;
    int64_t n = 0;
    size_t i = 0;

    if (text.len >= DIGITS_AT_ONCE) {
        if (!read_eight_digits(text.data, &n)) {
            return false;
        }
        i = DIGITS_AT_ONCE;
    }
    for (; i < text.len; i++) {
        unsigned digit = (unsigned)text.data[i] - '0';

        worst = digit > worst ? digit : worst;
        n = 10 * n + (int64_t)(digit & 0xff);
    }
    if (text.len == 0 || worst > 9) {
        return false;
    }
    *v = n;
    return true;
}

/* Digits alone, at least one, up to INSTANT_MAX. */
static bool read_digits(struct bytes text, int64_t *v)
{
    int64_t n = 0;

    if (text.len <= DIGITS_SAFE) {
        return read_few_digits(text, v);
    }
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.data[i])) {
            return false;
        }
        if (__builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, text.data[i] - '0', &n) ||
            n > INSTANT_MAX) {
            return false;
        }
    }
    *v = n;
    return text.len > 0;
}

static bool read_integer(struct bytes text, int64_t *v)
{
    bool negative = text.len > 0 && text.data[0] == '-';
    bool has_sign = negative || (text.len > 0 && text.data[0] == '+');

    if (has_sign) {
        text = bytes_of(text.data + 1, text.len - 1);
    }
    if (!read_digits(text, v)) {
        return false;
    }
    *v = negative ? -*v : *v;
    return true;
}

/* 0.DIGITS * 10^point, an integer of at most VALUE_DIGITS digits. */
enum { VALUE_DIGITS = 19 /* as INSTANT_MAX has; they fit in 64 bits */ };

static bool read_value(const struct number *n, int64_t *v)
{
    uint64_t value = 0;

    for (size_t i = n->first; i < n->last; i++) {
        if (n->literal[i] != '.') {
            value = 10 * value + (uint64_t)(n->literal[i] - '0');
        }
    }
    for (int64_t i = n->digits; i < n->point; i++) {
        value *= 10;
    }
    if (value > INSTANT_MAX) {
        return false;
    }
    *v = n->is_negative ? -(int64_t)value : (int64_t)value;
    return true;
}

bool instant_read_number(struct bytes literal, int64_t *instant)
{
    struct number n;

    if (read_integer(literal, instant)) {
        return true;
    }
    if (number_parse(literal, &n) != NUMBER_OK) {
        return false;
    }
    *instant = 0;
    return n.is_zero || (n.digits <= n.point && n.point <= VALUE_DIGITS &&
                         read_value(&n, instant));
}

/* ---- ISO 8601 ---- */

/* What is left of a text that is being read. */
struct cursor {
    struct bytes rest;
    bool ok;
};

static uint8_t peek(const struct cursor *c)
{
    return c->rest.len > 0 ? c->rest.data[0] : 0;
}

static void skip(struct cursor *c)
{
    c->rest = bytes_of(c->rest.data + 1, c->rest.len - 1);
}

/* Takes one of the bytes of `any`. */
static void expect(struct cursor *c, const char *any)
{
    uint8_t byte = peek(c);

    c->ok = c->ok && byte != 0 && strchr(any, byte) != NULL;
    if (c->ok) {
        skip(c);
    }
}

/* Exactly n digits. */
static int64_t number(struct cursor *c, size_t n, int64_t min, int64_t max)
{
    int64_t v = 0;

    if (!c->ok || c->rest.len < n ||
        !read_digits(bytes_of(c->rest.data, n), &v) || v < min || v > max) {
        c->ok = false;
        return min;
    }
    c->rest = bytes_of(c->rest.data + n, c->rest.len - n);
    return v;
}

static int64_t date_days(struct cursor *c)
{
    int64_t year = number(c, 4, 1, 9999);
    int64_t month;
    int64_t day;

    expect(c, "-");
    month = number(c, 2, 1, 12);
    expect(c, "-");
    day = number(c, 2, 1, calendar_days_in(year, month));
    return calendar_day(year, month, day);
}

/* Digits behind the point, in microseconds. */
static int64_t fraction_us(struct cursor *c)
{
    int64_t unit = SECOND_US;
    int64_t us = 0;

    if (peek(c) != '.' && peek(c) != ',') {
        return 0;
    }
    skip(c);
    c->ok = c->ok && is_digit(peek(c));
    while (is_digit(peek(c))) {
        unit /= 10;
        us += (peek(c) - '0') * unit;
        skip(c);
    }
    return us;
}

static int64_t clock_time_us(struct cursor *c)
{
    int64_t s = number(c, 2, 0, 23) * HOUR_S;
    int64_t us = 0;

    expect(c, ":");
    s += number(c, 2, 0, 59) * MINUTE_S;
    if (peek(c) == ':') {
        skip(c);
        s += number(c, 2, 0, 60);
        us = fraction_us(c);
    }
    return s * SECOND_US + us;
}

/* Seconds that the clock of the text is ahead of UTC. */
static int64_t offset_s(struct cursor *c)
{
    bool behind = peek(c) == '-';
    int64_t s;

    if (peek(c) == 'Z' || peek(c) == 'z') {
        skip(c);
        return 0;
    }
    expect(c, "+-");
    s = number(c, 2, 0, OFFSET_HOURS_MAX) * HOUR_S;
    if (c->rest.len > 0) {
        if (peek(c) == ':') {
            skip(c);
        }
        s += number(c, 2, 0, 59) * MINUTE_S;
    }
    return behind ? -s : s;
}

static bool read_iso(struct bytes text, int64_t *instant)
{
    struct cursor c = { .rest = text, .ok = true };
    int64_t us = date_days(&c) * DAY_S * SECOND_US;

    expect(&c, "Tt ");
    us += clock_time_us(&c);
    us -= offset_s(&c) * SECOND_US;
    *instant = us;
    return c.ok && c.rest.len == 0;
}

bool instant_read(enum instant_unit unit, struct bytes text, int64_t *instant)
{
    return unit == INSTANT_ISO ? read_iso(text, instant)
                               : read_integer(text, instant);
}

/* ---- as text ---- */

static void iso_text(char out[INSTANT_TEXT], int64_t instant)
{
    int64_t s = calendar_floor_div(instant, SECOND_US);
    int64_t us = instant - s * SECOND_US;
    int64_t days = calendar_floor_div(s, DAY_S);
    int64_t of_day = s - days * DAY_S;
    int64_t year;
    int64_t month;
    int64_t day;
    int len;

    calendar_date(days, &year, &month, &day);
    len = snprintf(out, INSTANT_TEXT,
                   "%04" PRId64 "-%02" PRId64 "-%02" PRId64 "T%02" PRId64
                   ":%02" PRId64 ":%02" PRId64,
                   year, month, day, of_day / HOUR_S, of_day / MINUTE_S % 60,
                   of_day % MINUTE_S);
    if (us != 0) {
        len += snprintf(out + len, (size_t)(INSTANT_TEXT - len), ".%06" PRId64,
                        us);
    }
    (void)snprintf(out + len, (size_t)(INSTANT_TEXT - len), "Z");
}

const char *instant_text(char out[INSTANT_TEXT], enum instant_unit unit,
                         int64_t instant)
{
    if (unit == INSTANT_ISO) {
        iso_text(out, instant);
    } else {
        (void)snprintf(out, INSTANT_TEXT, "%" PRId64, instant);
    }
    return out;
}

/* ---- stretches ---- */

static int64_t units_per_second(enum instant_unit unit)
{
    switch (unit) {
    case INSTANT_SECONDS:
        return 1;
    case INSTANT_MILLISECONDS:
        return 1000;
    case INSTANT_MICROSECONDS:
    case INSTANT_ISO:
        break;
    }
    return SECOND_US;
}

/* Microseconds of a suffix; 0 when there is none of that name. */
static int64_t suffix_us(const char *suffix)
{
    static const struct {
        const char *name;
        int64_t us;
    } suffixes[] = {
        { "us", 1 },
        { "ms", 1000 },
        { "s", SECOND_US },
        { "m", (int64_t)MINUTE_S * SECOND_US },
        { "h", (int64_t)HOUR_S * SECOND_US },
        { "d", (int64_t)DAY_S * SECOND_US },
        { "w", (int64_t)7 * DAY_S * SECOND_US },
    };

    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (strcmp(suffix, suffixes[i].name) == 0) {
            return suffixes[i].us;
        }
    }
    return 0;
}

const char *instant_read_stretch(enum instant_unit unit, const char *text,
                                 int64_t *stretch)
{
    size_t digits = strspn(text, "0123456789");
    int64_t us = suffix_us(text + digits);
    int64_t unit_us = SECOND_US / units_per_second(unit);

    if (digits == 0 || (text[digits] != '\0' && us == 0)) {
        return "is no duration: give digits, in the unit or with us, ms, s, "
               "m, h, d or w";
    }
    if (!read_digits(bytes_of(text, digits), stretch)) {
        return "is too long";
    }
    if (text[digits] == '\0') {
        return NULL;
    }
    if (__builtin_mul_overflow(*stretch, us, stretch)) {
        return "is too long";
    }
    if (*stretch % unit_us != 0) {
        return "is not whole in the unit of the times";
    }
    *stretch /= unit_us;
    return *stretch <= INSTANT_MAX ? NULL : "is too long";
}
