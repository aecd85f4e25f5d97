/*
 * output.h: standard output, buffered, whose failures are noticed.
 *
 *     output_init(&out, STDOUT_FILENO);
 *     output_text(&out, "..."); ...            as often as wanted
 *     status = output_finish(&out, err);
 *
 * Failures are sticky: after one nothing is written any more, output_failed
 * lets long work stop early, and output_finish reports it. A struct output is
 * large: it is static or allocated, not on the stack.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "base/buf.h"
#include "base/error.h"

enum {
    OUTPUT_BUFFER = 256 * 1024,
    OUTPUT_ROOM_MAX = 64 * 1024 /* most that output_room gives */
};

struct output {
    int fd;
    int errnum; /* of the first failure; 0: none */
    size_t len;
    char data[OUTPUT_BUFFER];
};

void output_init(struct output *out, int fd);

void output_bytes(struct output *out, struct bytes b);
void output_text(struct output *out, const char *text);
void output_byte(struct output *out, char byte);
/* Text in which there may be names, as error.h's shown_line has it. */
void output_shown(struct output *out, struct bytes text);
void output_printf(struct output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Room for n bytes (at most OUTPUT_ROOM_MAX) to be written in place; end is
 * one past the last that was. */
char *output_room(struct output *out, size_t n);
void output_filled(struct output *out, const char *end);

/* Hands what is there to the system: after each line that somebody waits
 * for. */
void output_flush(struct output *out);

static inline bool output_failed(const struct output *out)
{
    return out->errnum != 0;
}

/* Flushes, and says what went wrong with any of it: DF_SYSTEM. */
enum df_status output_finish(struct output *out,
                             struct df_error *err) DF_MUST_CHECK;

/* Decimal digits of v at p; returns the end. At most OUTPUT_DIGITS_MAX. */
enum { OUTPUT_DIGITS_MAX = 20 };
char *output_digits(char *p, int64_t v);
char *output_digits_unsigned(char *p, uint64_t v);

#endif
