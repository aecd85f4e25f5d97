#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

enum df_status error_set(struct df_error *err, enum df_status status,
                         const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return status;
}

enum df_status error_prefix(struct df_error *err, enum df_status status,
                            const char *format, ...)
{
    char old[DF_ERROR_SIZE];
    va_list args;
    int len;

    memcpy(old, err->text, sizeof old);
    va_start(args, format);
    len = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (len >= 0 && (size_t)len < sizeof err->text) {
        (void)snprintf(err->text + len, sizeof err->text - (size_t)len, ": %s",
                       old);
    }
    return status;
}

enum df_status error_errno(struct df_error *err, int errnum,
                           const char *format, ...)
{
    char reason[128];
    va_list args;
    int len;

    /* The GNU variant returns its text; it may or may not use the buffer. */
    const char *text = strerror_r(errnum, reason, sizeof reason);

    va_start(args, format);
    len = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (len >= 0 && (size_t)len < sizeof err->text) {
        (void)snprintf(err->text + len, sizeof err->text - (size_t)len, ": %s",
                       text);
    }
    return DF_SYSTEM;
}

enum df_status error_no_memory(struct df_error *err)
{
    return error_set(err, DF_SYSTEM, "out of memory");
}

/* Writes one byte that is no part of a longer character of UTF-8 as shown;
 * returns the characters it took. */
static size_t show_byte(char *out, uint8_t byte)
{
    static const char digits[] = "0123456789ABCDEF";

    switch (byte) {
    case '\n':
        memcpy(out, "\\n", 2);
        return 2;
    case '\t':
        memcpy(out, "\\t", 2);
        return 2;
    case '\r':
        memcpy(out, "\\r", 2);
        return 2;
    default:
        break;
    }
    if (byte >= 0x20 && byte < 0x7f) {
        out[0] = (char)byte;
        return 1;
    }
    out[0] = '\\';
    out[1] = 'x';
    out[2] = digits[byte >> 4];
    out[3] = digits[byte & 15];
    return 4;
}

/* Whether a character beyond ASCII is not seen itself but in what it does to
 * others: controls of terminals (C1), other ends of lines, and what changes
 * the direction of text, so that one name looks like another. */
static bool is_control(uint32_t point)
{
    return (point >= 0x80 && point < 0xa0) || point == 0x61c ||
           point == 0x200e || point == 0x200f ||
           (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069);
}

size_t shown_character(char out[SHOWN_CHARACTER], struct bytes b,
                       size_t *taken)
{
    uint32_t point;
    size_t len = 0;

    *taken = utf8_decode(b.data, b.len, &point);
    if (point == UTF8_BAD) {
        *taken = 1;
    } else if (*taken > 1 && !is_control(point)) {
        memcpy(out, b.data, *taken);
        return *taken;
    }
    for (size_t i = 0; i < *taken; i++) {
        len += show_byte(out + len, b.data[i]);
    }
    return len;
}

const char *shown(struct shown *out, struct bytes b)
{
    /* Room for one more character, the dots and the NUL. */
    const size_t room = sizeof out->text - SHOWN_CHARACTER - 4;
    size_t len = 0;
    size_t taken;
    size_t i;

    for (i = 0; i < b.len && len < room; i += taken) {
        if (b.data[i] == '\\') {
            out->text[len++] = '\\';
        }
        len += shown_character(out->text + len,
                               bytes_of(b.data + i, b.len - i), &taken);
    }
    if (i < b.len) {
        memcpy(out->text + len, "...", 3);
        len += 3;
    }
    out->text[len] = '\0';
    return out->text;
}

const char *shown_line(char *out, size_t size, const char *text)
{
    struct bytes rest = bytes_of_string(text);
    size_t len = 0;
    size_t taken;

    while (rest.len > 0 && len + SHOWN_CHARACTER < size) {
        len += shown_character(out + len, rest, &taken);
        rest = bytes_of(rest.data + taken, rest.len - taken);
    }
    out[len] = '\0';
    return out;
}
