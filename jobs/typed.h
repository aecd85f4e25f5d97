/*
 * typed.h: a column of a key as people write it and read it: as export prints
 * it in TSV. In views of ndjson, where 42 and "42" are two keys, a text that
 * could be taken for something else stands between double quotes there.
 */
#ifndef JOBS_TYPED_H
#define JOBS_TYPED_H

#include "base/buf.h"
#include "base/error.h"
#include "deltafold/job.h"

/* Whether a text of an ndjson view must stand between quotes, as a JSON
 * string: by itself it would be read as a number, true, false, something
 * nested or another text. */
bool typed_is_ambiguous(struct bytes text);

/*
 * What a column means; the field's bytes are put into out, in place of what is
 * there. \N is null. Of ndjson, what is neither a number, true or false, an
 * array or object, nor between quotes is the text that it is. A string may
 * come as JSON has it, without TSV's escapes around JSON's own, if it has
 * escapes that TSV has not. DF_USAGE, naming the column and why.
 */
enum df_status typed_read(struct buf *out, struct bytes column, bool is_ndjson,
                          struct df_field *field,
                          struct df_error *err) DF_MUST_CHECK;

/* "KEY 'text': why", DF_USAGE. */
enum df_status typed_refuse(struct bytes text, const char *why,
                            struct df_error *err);

#endif
