/*
 * record_text.h: records as text, to compare ways to parse them.
 */
#ifndef TESTS_RECORD_TEXT_H
#define TESTS_RECORD_TEXT_H

#include "input/record.h"

/*
 * Parses content, handing over `step` bytes more at a time (0: all at once),
 * and appends to out of each record "LEN(kind LEN BYTES)...;", then the
 * number of empty lines, then the fault, if there is one, as "!AT why".
 * Aborts on other failures.
 */
void record_text(struct buf *out, enum record_format format,
                 const struct df_columns *columns, struct bytes content,
                 size_t step);

/*
 * Parses content in stretches of several lengths, in those of a few bytes only
 * where it is short. Aborts, having said so, with `how` in front, where
 * record_text gives anything else than expected.
 */
void record_text_must_be(const char *how, enum record_format format,
                         const struct df_columns *columns,
                         struct bytes content, struct bytes expected);

/* The same for a table. */
struct record_text_case {
    const char *text;
    const char *found;
};
void record_text_check(enum record_format format,
                       const struct df_columns *columns,
                       const struct record_text_case *cases, size_t n);

/* The parts of record_text, for oracles. */
void record_text_begin(struct buf *out, size_t len);
void record_text_field(struct buf *out, enum df_kind kind, struct bytes value);
void record_text_end(struct buf *out);
void record_text_blanks(struct buf *out, uint64_t blanks);
void record_text_fault(struct buf *out, size_t at, const char *why);

#endif
