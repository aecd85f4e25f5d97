/*
 * key.h: what makes two records the same, in bytes.
 *
 * A key is one field or several, each written as
 *
 *     kind    one byte: t text, n number, f false, y true, j nested, w whole
 *             record
 *     length  of the value: one byte up to 254, else 255 and 32 bits,
 *             big-endian; left out for a key of one field
 *     value   a number in its canonical form, anything else as it is
 *
 * so that "a","bc" and "ab","c" are two keys, as are 42 and "42", while 1,
 * 1.0 and 1e0 are one. Examples: "a" alone is `ta`; ("a", 7) is
 * `t \1 a n \1 7`, the number's canonical bytes aside.
 */
#ifndef JOBS_DEDUP_KEY_H
#define JOBS_DEDUP_KEY_H

#include "base/buf.h"
#include "deltafold/job.h"

/* Appends the key of n fields, none of which is absent or null. */
enum key_result {
    KEY_OK,
    KEY_TOO_LONG, /* a value, or all together, has more than DF_KEY_MAX bytes
                   */
    KEY_NO_MEMORY
};
enum key_result key_append(struct buf *out, const struct df_field *fields,
                           size_t n, bool is_whole);

/* Appends one field, alone or as one of several, and adds the length of its
 * value to *len. */
enum key_result key_append_field(struct buf *out, const struct df_field *field,
                                 bool alone, bool is_whole, size_t *len);

/* Takes the next field off a key; `alone`: it is the only one. False when
 * the key is malformed. */
struct key_part {
    char kind;
    struct bytes value;
};
bool key_next(struct bytes *key, bool alone, struct key_part *part);

#endif
