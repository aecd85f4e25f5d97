/*
 * error.h: filling a caller's struct df_error.
 *
 * Where most is known the text is set, on the way up it is prefixed, and
 * only cli prints it. Every function returns the status it was given, so
 * that a failure is one line: return error_set(err, DF_INPUT, "...").
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "base/bytes.h"
#include "deltafold/status.h"

enum df_status error_set(struct df_error *err, enum df_status status,
                         const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "what: strerror(errnum)". ENOENT, EACCES and the like are DF_SYSTEM too:
 * callers for whom they mean something else look at errno first. */
enum df_status error_errno(struct df_error *err, int errnum,
                           const char *format, ...)
    __attribute__((format(printf, 3, 4)));

enum df_status error_no_memory(struct df_error *err);

/* Puts "text: " in front of the message that is there. */
enum df_status error_prefix(struct df_error *err, enum df_status status,
                            const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Bytes as a message may show them: backslash, controls, marks that change the
 * direction of text, and what is not UTF-8 escaped as \n \t \r \\ or \xHH,
 * cut with "..." where they do not fit. Returns out->text. Use:
 * shown(&(struct shown){0}, name). */
struct shown {
    char text[300];
};
const char *shown(struct shown *out, struct bytes b);

/* The same for a whole message, in which names may or may not be shown() yet:
 * its backslashes stay as they are. Returns out; in SHOWN_LINE(n) bytes there
 * is room for any text of fewer than n. */
#define SHOWN_LINE(n) (4 * (n) + SHOWN_CHARACTER)
const char *shown_line(char *out, size_t size, const char *text);

/* And for the one character that b, not empty, begins with; returns its
 * length, *taken is what it was. */
enum { SHOWN_CHARACTER = 12 };
size_t shown_character(char out[SHOWN_CHARACTER], struct bytes b,
                       size_t *taken);

#endif
