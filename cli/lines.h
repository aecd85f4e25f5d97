/*
 * lines.h: a view as its job shows it, line by line.
 *
 *     lines_open(&l, opened, err);              opened->present is not NULL
 *     lines_select(l, SNAPSHOT_KEY, key, err);  any number of times
 *       lines_next(l, &cells, err) ...          NULL at the end
 *     lines_find(l, text, &key, err)            a user's KEY
 *     lines_close(l);                           takes NULL
 *
 * Keys that the job does not show, and lines that the view's option having=
 * hides, are passed over. Belongs to one thread; cells are borrowed until the
 * next call.
 */
#ifndef CLI_LINES_H
#define CLI_LINES_H

#include "cli/opened.h"

struct lines;

enum df_status lines_open(struct lines **out, const struct opened *o,
                          struct df_error *err) DF_MUST_CHECK;
void lines_close(struct lines *l);

const char *const *lines_names(const struct lines *l);
unsigned lines_cells(const struct lines *l); /* of a line */
unsigned lines_key_cells(const struct lines *l);

enum df_status lines_select(struct lines *l, enum snapshot_select select,
                            struct bytes bytes,
                            struct df_error *err) DF_MUST_CHECK;
enum df_status lines_next(struct lines *l, const struct df_cell **cells,
                          struct df_error *err) DF_MUST_CHECK;

/* Only the first column can be meant by a prefix; NULL: all lines have it. */
bool lines_has_prefix(const struct lines *l, const struct df_cell *cells,
                      const char *prefix);

/* DF_USAGE when text cannot be a key. *key is borrowed until lines_next. */
enum df_status lines_find(struct lines *l, const char *text, struct bytes *key,
                          struct df_error *err) DF_MUST_CHECK;

#endif
