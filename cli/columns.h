/*
 * columns.h: columns that line up, for people.
 *
 *     struct columns t = { .align = "rl" };      one letter per column
 *     columns_cell(&t, "7"); columns_cell(&t, "seven"); ...   row by row
 *     columns_print(&t, out); columns_fini(&t);
 *
 * Kept in memory until printed: for lists of thousands, not of millions.
 */
#ifndef CLI_COLUMNS_H
#define CLI_COLUMNS_H

#include "cli/output.h"

enum { COLUMNS_MAX = 12 };

struct columns {
    const char *align; /* l or r per column, at most COLUMNS_MAX */
    struct buf text;   /* cells, each with its NUL */
    size_t cells;
    size_t widths[COLUMNS_MAX];
    bool no_memory;
};

void columns_cell(struct columns *t, const char *text);
void columns_printf(struct columns *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* DF_SYSTEM when memory ran out; nothing is printed then. */
enum df_status columns_print(const struct columns *t, struct output *out,
                             struct df_error *err) DF_MUST_CHECK;
void columns_fini(struct columns *t);

#endif
