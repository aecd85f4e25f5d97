/*
 * rows_internal.h: entries of a table, for rows.c and rows_edit.c alone.
 */
#ifndef STATE_ROWS_INTERNAL_H
#define STATE_ROWS_INTERNAL_H

#include "state/rows.h"

/* An entry under a cursor, and the key of the one behind it. */
struct rows_entry {
    bool there; /* false: the table is empty */
    struct bytes key;
    struct bytes value;
    bool has_next;
    struct bytes next_key;
};

/* The entry that holds head, if any entry does: the last one whose key is
 * not after it, or the first of all. The cursor is left near it. */
enum df_status rows_find_entry(struct store_cursor *c, struct bytes head,
                               struct rows_entry *e, struct df_error *err);

#endif
