/*
 * csv_header.h: which column is where (private to csv.c).
 */
#ifndef INPUT_CSV_HEADER_H
#define INPUT_CSV_HEADER_H

#include "input/csv.h"

/* Takes c->row, a row of b, as the header. DF_INPUT and why, where a column
 * that is asked for is not there or not clear. */
enum df_status csv_header_take(struct csv *c, struct bytes b,
                               struct df_error *err) DF_MUST_CHECK;

#endif
