/*
 * top_lines.h: the greatest lines of a view that its job shows in its own
 * way, from one scan with a bounded heap.
 */
#ifndef CLI_TOP_LINES_H
#define CLI_TOP_LINES_H

#include "cli/lines.h"
#include "cli/output.h"

/* Prints the n lines with the greatest cell in the column `by` (NULL: the
 * first behind the key's), greatest first, equal ones as export has them.
 * Numbers are compared as such; a text is above a number, any of them above
 * none. DF_USAGE where there is no such column. */
enum df_status top_lines(struct opened *o, size_t n, const char *by,
                         struct output *out,
                         struct df_error *err) DF_MUST_CHECK;

#endif
