#include "input/record_rows.h"

#include <stdlib.h>

#define SCRATCH_MIN ((size_t)64 << 10)

enum df_status record_rows_init(struct record_rows *rows, size_t width,
                                struct df_error *err)
{
    size_t most = RECORD_ROWS_FIELDS_MAX / (width == 0 ? 1 : width);

    *rows = (struct record_rows){ .width = width };
    rows->capacity = most < RECORD_ROWS_MAX ? most : RECORD_ROWS_MAX;
    rows->records = calloc(rows->capacity, sizeof rows->records[0]);
    rows->fields = calloc(rows->capacity * width + 1, sizeof rows->fields[0]);
    if (rows->records == NULL || rows->fields == NULL ||
        !buf_reserve(&rows->scratch, SCRATCH_MIN)) {
        record_rows_fini(rows);
        return error_no_memory(err);
    }
    memset(rows->scratch.data, 0, rows->scratch.capacity);
    return DF_OK;
}

void record_rows_fini(struct record_rows *rows)
{
    free(rows->records);
    free(rows->fields);
    buf_fini(&rows->scratch);
    *rows = (struct record_rows){ 0 };
}

enum df_status record_rows_flush(struct record_rows *rows,
                                 struct df_error *err)
{
    size_t n = rows->count;

    rows->count = 0;
    rows->scratch.len = 0;
    return n == 0 ? DF_OK
                  : rows->sink->take(rows->sink->ctx, rows->records, n, err);
}

enum df_status record_rows_make_room(struct record_rows *rows, size_t room,
                                     struct df_error *err)
{
    size_t before = rows->scratch.capacity;
    enum df_status status = record_rows_flush(rows, err);

    if (status != DF_OK) {
        return status;
    }
    if (!buf_reserve(&rows->scratch, room + DF_SLACK)) {
        return error_no_memory(err);
    }
    /* Jobs look at slack without using what they see. */
    memset(rows->scratch.data + before, 0, rows->scratch.capacity - before);
    return DF_OK;
}
