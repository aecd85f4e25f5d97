#include "cli/human.h"

#include <stdio.h>
#include <time.h>

#include <utf8proc.h>

#include "base/utf8.h"

const char *human_count(char room[HUMAN_MAX], uint64_t v)
{
    char *p = room + HUMAN_MAX;
    unsigned digits = 0;

    *--p = '\0';
    do {
        if (digits > 0 && digits % 3 == 0) {
            *--p = ',';
        }
        *--p = (char)('0' + v % 10);
        v /= 10;
        digits++;
    } while (v != 0);
    return memmove(room, p, (size_t)(room + HUMAN_MAX - p));
}

const char *human_bytes(char room[HUMAN_MAX], uint64_t v)
{
    static const char *const units[] = { "kB", "MB", "GB", "TB", "PB", "EB" };
    double scaled = (double)v / 1000;
    size_t unit = 0;

    if (v < 1000) {
        (void)snprintf(room, HUMAN_MAX, "%u byte%s", (unsigned)v,
                       human_plural(v));
        return room;
    }
    while (scaled >= 999.5 && unit < 5) {
        scaled /= 1000;
        unit++;
    }
    (void)snprintf(room, HUMAN_MAX, scaled < 9.95 ? "%.1f %s" : "%.0f %s",
                   scaled, units[unit]);
    return room;
}

const char *human_duration(char room[HUMAN_MAX], uint64_t us)
{
    double ms = (double)us / 1000;

    if (ms < 9.95) {
        (void)snprintf(room, HUMAN_MAX, "%.1f ms", ms);
    } else if (ms < 999.5) {
        (void)snprintf(room, HUMAN_MAX, "%.0f ms", ms);
    } else if (ms < 99950) {
        (void)snprintf(room, HUMAN_MAX, "%.1f s", ms / 1000);
    } else {
        (void)snprintf(room, HUMAN_MAX, "%llu min %llu s",
                       (unsigned long long)(us / 60000000),
                       (unsigned long long)(us / 1000000 % 60));
    }
    return room;
}

const char *human_time(char room[HUMAN_MAX], int64_t seconds)
{
    time_t t = (time_t)seconds;
    struct tm tm;

    if (gmtime_r(&t, &tm) == NULL ||
        strftime(room, HUMAN_MAX, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0) {
        (void)snprintf(room, HUMAN_MAX, "@%lld", (long long)seconds);
    }
    return room;
}

/* The width of the character at *at, which moves behind it. */
static size_t next_width(struct bytes text, size_t *at)
{
    uint32_t point;

    *at += utf8_decode(text.data + *at, text.len - *at, &point);
    return point == UTF8_BAD ? 1 : (size_t)utf8proc_charwidth((int32_t)point);
}

size_t human_width(struct bytes text)
{
    size_t width = 0;

    for (size_t at = 0; at < text.len;) {
        width += next_width(text, &at);
    }
    return width;
}

size_t human_fit(struct bytes text, size_t columns)
{
    size_t width = 0;
    size_t fits = 0;

    for (size_t at = 0; at < text.len; fits = at) {
        width += next_width(text, &at);
        if (width > columns) {
            break;
        }
    }
    return fits;
}

int human_pad(struct bytes text, size_t columns)
{
    size_t width = human_width(text);

    return width < columns ? (int)(columns - width) : 0;
}
