#include "cli/output.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void output_init(struct output *out, int fd)
{
    out->fd = fd;
    out->errnum = 0;
    out->len = 0;
}

static void write_all(struct output *out, const char *data, size_t len)
{
    while (len > 0 && out->errnum == 0) {
        ssize_t n = write(out->fd, data, len);

        if (n >= 0) {
            data += n;
            len -= (size_t)n;
        } else if (errno != EINTR) {
            out->errnum = errno;
        }
    }
}

void output_flush(struct output *out)
{
    write_all(out, out->data, out->len);
    out->len = 0;
}

char *output_room(struct output *out, size_t n)
{
    assert(n <= OUTPUT_ROOM_MAX);
    if (n > sizeof out->data - out->len) {
        output_flush(out);
    }
    return out->data + out->len;
}

void output_filled(struct output *out, const char *end)
{
    out->len = (size_t)(end - out->data);
}

void output_bytes(struct output *out, struct bytes b)
{
    if (b.len > sizeof out->data - out->len) {
        output_flush(out);
    }
    if (b.len > sizeof out->data) {
        write_all(out, (const char *)b.data, b.len);
    } else if (b.len > 0) {
        memcpy(out->data + out->len, b.data, b.len);
        out->len += b.len;
    }
}

void output_text(struct output *out, const char *text)
{
    output_bytes(out, bytes_of_string(text));
}

void output_shown(struct output *out, struct bytes text)
{
    char character[SHOWN_CHARACTER];
    size_t taken;

    while (text.len > 0) {
        size_t len = shown_character(character, text, &taken);

        output_bytes(out, bytes_of(character, len));
        text = bytes_of(text.data + taken, text.len - taken);
    }
}

void output_byte(struct output *out, char byte)
{
    *output_room(out, 1) = byte;
    out->len++;
}

void output_printf(struct output *out, const char *format, ...)
{
    char *room = output_room(out, OUTPUT_ROOM_MAX);
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(room, OUTPUT_ROOM_MAX, format, args);
    va_end(args);
    assert(len >= 0 && len < OUTPUT_ROOM_MAX);
    out->len += (size_t)len;
}

enum df_status output_finish(struct output *out, struct df_error *err)
{
    output_flush(out);
    if (out->errnum != 0) {
        return error_errno(err, out->errnum, "standard output");
    }
    return DF_OK;
}

char *output_digits_unsigned(char *p, uint64_t v)
{
    char digits[OUTPUT_DIGITS_MAX];
    size_t i = sizeof digits;

    do {
        digits[--i] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    memcpy(p, digits + i, sizeof digits - i);
    return p + (sizeof digits - i);
}

char *output_digits(char *p, int64_t v)
{
    if (v < 0) {
        *p++ = '-';
        return output_digits_unsigned(p, 0 - (uint64_t)v);
    }
    return output_digits_unsigned(p, (uint64_t)v);
}
