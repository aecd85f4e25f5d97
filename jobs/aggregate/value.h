/*
 * value.h: a field as bytes that tell kind and value, for group keys and for
 * values that are counted.
 *
 *     null (or absent)   00
 *     false, true        01, 02
 *     a number           03 and its code (decimal.h): 1, 1.0 and 1e0 are one
 *     nested             04 and its canonical JSON
 *     text               itself; 07 in front where it begins with 00 to 07
 *
 * So the text of a csv field is its own code, with nothing to be copied, and
 * 42 and "42" are two. Codes are in the order of the list, numbers in that of
 * their values, texts in byte order.
 *
 * A key of several columns has their codes one behind the other, each but
 * the last with every 00 written 00 FF and ended by 00 01, as row keys are
 * (state/row.h): no two lists of values have one key, whatever bytes they
 * hold, and keys are in the order of the first column, then of the second.
 */
#ifndef JOBS_AGGREGATE_VALUE_H
#define JOBS_AGGREGATE_VALUE_H

#include "base/buf.h"
#include "deltafold/job.h"
#include "jobs/aggregate/decimal.h"

enum { VALUE_GUARD = 0x07 };

/* Texts that are their own code. The first byte behind an empty text may be
 * looked at (DF_SLACK). */
static inline bool value_is_plain(const struct df_field *f)
{
    return f->kind == DF_TEXT && (f->len == 0 || f->data[0] > VALUE_GUARD);
}

enum value_fault { VALUE_OK, VALUE_NO_MEMORY, VALUE_BAD_NUMBER };

/* Appends the code. VALUE_BAD_NUMBER beyond the limits of decimal.h. */
enum value_fault value_append(struct buf *out, const struct df_field *f);

/* Appends the code in `code` as a part of a key that is not the last. */
bool value_append_part(struct buf *out, struct bytes code);

/* Takes the first part off *key, unescaped and appended to room, into which
 * *code then points; the last part is *key itself. False when malformed or
 * without memory. */
bool value_take_part(struct bytes *key, struct buf *room, struct bytes *code);

/* What a code shows; bytes are in the code or appended to room. DF_STATE when
 * malformed, DF_SYSTEM without memory. */
enum df_status value_cell(struct bytes code, struct buf *room,
                          struct df_cell *cell) DF_MUST_CHECK;

#endif
