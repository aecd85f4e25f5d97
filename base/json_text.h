/*
 * json_text.h: the strings of JSON (RFC 8259, section 7), written and read.
 */
#ifndef BASE_JSON_TEXT_H
#define BASE_JSON_TEXT_H

#include "base/buf.h"

/* Whether a byte may not stand in a string as it is. */
static inline bool json_text_is_special(uint8_t byte)
{
    return byte < 0x20 || byte == '"' || byte == '\\';
}

/* Writes the shortest escape of a byte of ASCII; returns its end. */
enum { JSON_TEXT_ESCAPE = 6 /* bytes, at most */ };
uint8_t *json_text_escape(uint8_t *out, uint8_t byte);

/* Appends a string, between quotes, with the escapes that it must have and
 * the shortest of them; U+FFFD stands for what is not UTF-8. False without
 * memory. */
bool json_text_append(struct buf *out, struct bytes text);

/*
 * Reads the escape that p, which is a backslash, begins; left bytes, at least
 * 1, belong to the string. Returns its length, and the code point, of two
 * surrogates where it is beyond U+FFFF. Returns 0 for what is none, half of a
 * pair among them, and says why.
 */
size_t json_text_read_escape(const uint8_t *p, size_t left, uint32_t *point,
                             const char **why);

/* What stands between the quotes, without its escapes. out has room for
 * raw.len bytes, and may be raw.data or before it. False where there is a
 * quote, or an escape that is none. */
bool json_text_unescape(struct bytes raw, uint8_t *out, size_t *len);

#endif
