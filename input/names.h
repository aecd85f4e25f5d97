/*
 * names.h: what file names mean to the input (README.md, "How deltas are
 * laid out").
 */
#ifndef INPUT_NAMES_H
#define INPUT_NAMES_H

#include "base/error.h"
#include "input/pool.h"

/* Why a file or directory of this name is left out, static; NULL when it is
 * not. Unfinished uploads and editors' copies look like this. */
const char *names_left_out(const char *name);

/* Whether a name in a directory makes it a batch. */
bool names_mark_a_batch(const char *name);

/* A copy of path without slashes at its end; "/" stays. */
char *names_trimmed(struct pool *pool, const char *path);

/* The last component of a trimmed path; for "." and "x/.." that of the real
 * path. */
enum df_status names_last(struct pool *pool, const char *path, char **name,
                          struct df_error *err) DF_MUST_CHECK;

#endif
