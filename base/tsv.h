/*
 * tsv.h: fields of tab-separated text: tab, newline, CR and backslash are
 * written \t \n \r \\, in what readers print, in keys that they are given and
 * in manifests.
 */
#ifndef BASE_TSV_H
#define BASE_TSV_H

#include "base/buf.h"

/* The letter behind the backslash; 0 for a byte that is written as it is. */
static inline char tsv_letter(uint8_t byte)
{
    switch (byte) {
    case '\t':
        return 't';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\\':
        return '\\';
    default:
        return 0;
    }
}

/* Appends a field; false without memory. */
bool tsv_append(struct buf *out, struct bytes field);

/* A field as it was meant. out has room for field.len bytes, and may be
 * field.data. False where a backslash begins none of the four. */
bool tsv_unescape(struct bytes field, uint8_t *out, size_t *len);

/* Takes the bytes up to the next tab off rest, and the tab; *more tells
 * whether there was one. */
struct bytes tsv_take(struct bytes *rest, bool *more);

#endif
