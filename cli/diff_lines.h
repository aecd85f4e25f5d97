/*
 * diff_lines.h: what changed between two entries, as the job shows its view.
 */
#ifndef CLI_DIFF_LINES_H
#define CLI_DIFF_LINES_H

#include "cli/format.h"
#include "cli/opened.h"

/* The view before and after, and a scan of the rows that changed in between:
 * each key of it whose line is not the same, and begins with prefix (NULL:
 * any), is written. */
enum df_status diff_lines(const struct opened *before,
                          const struct opened *after,
                          struct snapshot_scan *changed, const char *prefix,
                          bool ndjson, struct output *out,
                          struct df_error *err) DF_MUST_CHECK;

#endif
