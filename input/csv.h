/*
 * csv.h: rows of csv and tsv (private to record.c).
 */
#ifndef INPUT_CSV_H
#define INPUT_CSV_H

#include "input/csv_row.h"
#include "input/record_rows.h"

struct csv {
    uint8_t delimiter;
    const struct df_columns *columns;
    struct record_rows *rows;
    uint64_t blanks;    /* empty lines since it was opened */
    struct csv_row row; /* one taken apart byte by byte */
    uint32_t *ends;     /* where fields end; see csv_index.h */
    size_t ends_capacity;
    struct csv_field *cut; /* the fields of the row at hand, if all are
                              wanted */

    /* Of the file at hand. */
    bool has_header;
    struct buf header;   /* as it stands in the file, without line end */
    size_t width;        /* columns of the header; 0 before */
    size_t *picked;      /* columns->n of them: where the column stands */
    size_t times_picked; /* how often one column is picked, at most */
    size_t *order;       /* all columns, by name; only if wanted */
    struct buf names;
    struct csv_field *named; /* names[order[i]] in `names` */
    size_t capacity;         /* of order, named and cut */
    size_t fault_at;
};

enum df_status csv_open(struct csv *c, uint8_t delimiter,
                        const struct df_columns *columns,
                        struct record_rows *rows,
                        struct df_error *err) DF_MUST_CHECK;
void csv_close(struct csv *c); /* safe on zeroed memory */
void csv_start(struct csv *c);

/* As record_parse. DF_INPUT with fault_at set where a row is refused. */
enum df_status csv_parse(struct csv *c, struct bytes b, bool at_end,
                         size_t *used, struct df_error *err) DF_MUST_CHECK;

#endif
