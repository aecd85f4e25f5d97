/*
 * ndjson.h: lines, and lines that are JSON objects (private to record.c).
 */
#ifndef INPUT_NDJSON_H
#define INPUT_NDJSON_H

#include "input/json.h"
#include "input/record_rows.h"

struct ndjson {
    bool is_json; /* false: `lines` */
    const struct df_columns *columns;
    struct bytes *names; /* of the columns */
    uint64_t *heads;     /* of the names; see json_head */
    size_t *picked;      /* by column: the node of its value; 0: absent */
    struct record_rows *rows;
    uint64_t blanks; /* empty lines since it was opened */
    struct json json;
    bool is_refused; /* the line at fault_at */
    size_t fault_at;
};

enum df_status ndjson_open(struct ndjson *n, bool is_json,
                           const struct df_columns *columns,
                           struct record_rows *rows,
                           struct df_error *err) DF_MUST_CHECK;
void ndjson_close(struct ndjson *n); /* safe on zeroed memory */

/* As record_parse. DF_INPUT and is_refused where a line is refused. */
enum df_status ndjson_parse(struct ndjson *n, struct bytes b, bool at_end,
                            size_t *used, struct df_error *err) DF_MUST_CHECK;

#endif
