/*
 * outcome_layout.h: the columns of outcome files, where those of the input
 * files differ.
 *
 * A batch's files need not have the same columns, nor the same order of them.
 * Its outcome files have one header: the columns of all, in order of first
 * appearance. Records of a file that has just that header are copied as they
 * stand; those of others are laid out anew, field by field as they stand,
 * with nothing in columns that the file does not have.
 *
 *     outcome_layout_init(&l, delimiter)
 *       outcome_layout_add(&l, header, &map) ...   files, in their order
 *     outcome_layout_header(&l, last, out)
 *     outcome_layout_record(&map, &row, record, out)
 *     outcome_layout_fini(&l)
 */
#ifndef RUNTIME_OUTCOME_LAYOUT_H
#define RUNTIME_OUTCOME_LAYOUT_H

#include "base/buf.h"
#include "input/csv_row.h"

struct outcome_column {
    char *name; /* unquoted; of name_len bytes */
    size_t name_len;
    char *shown; /* as it stood */
    size_t shown_len;
    size_t number; /* 0 for the first column of that name in a file, 1 for the
                      second ... */
};

struct outcome_layout {
    uint8_t delimiter;
    struct outcome_column *columns;
    size_t count;
};

/* Where a file's columns go. */
struct outcome_map {
    size_t count; /* columns of the file */
    size_t *to;   /* of each */
    bool is_same; /* set by outcome_map_settle: nothing is to be done */
};

void outcome_layout_init(struct outcome_layout *l, uint8_t delimiter);
void outcome_layout_fini(struct outcome_layout *l);

/* False without memory. */
bool outcome_layout_add(struct outcome_layout *l, struct bytes header,
                        struct outcome_map *map);
/* When all files are added. */
void outcome_map_settle(struct outcome_map *map,
                        const struct outcome_layout *l);
void outcome_map_fini(struct outcome_map *map);

/* Appends the header; `more`, if not NULL, is a further column, whose name
 * gets _2, _3 ... behind it where there is one of its name. */
bool outcome_layout_header(const struct outcome_layout *l, const char *more,
                           struct buf *out);

/* Appends a record of a file, laid out anew. row is scratch. */
bool outcome_layout_record(const struct outcome_layout *l,
                           const struct outcome_map *map, struct csv_row *row,
                           struct bytes record, struct buf *out);

#endif
