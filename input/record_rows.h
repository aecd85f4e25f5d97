/*
 * record_rows.h: records on their way to the sink (private to the parsers).
 *
 *     if (!record_rows_has_room(rows, room))    for one more, and for `room`
 *         record_rows_make_room(rows, room, err)    bytes of text in scratch
 *     ... record_rows_fields(rows)[0 .. width), rows->scratch ...
 *     record_rows_add(rows, data, len)          it is complete
 *     record_rows_flush(rows, err)              at the end of a stretch
 *
 * Fields point into the stretch or into the scratch, which does not move
 * while records point there: where it has no room for the next record those
 * that are complete are given away first.
 */
#ifndef INPUT_RECORD_ROWS_H
#define INPUT_RECORD_ROWS_H

#include "input/record.h"

enum {
    /* Of one call to the sink: enough to hide what a call costs, few enough
     * to stay in the second-level cache with what they point to. */
    RECORD_ROWS_MAX = 1024,
    RECORD_ROWS_FIELDS_MAX = 8192
};

struct record_rows {
    struct df_record *records;
    struct df_field *fields;
    size_t width; /* fields of a record */
    size_t count;
    size_t capacity;
    struct buf scratch; /* DF_SLACK of its capacity are kept free */
    const struct record_sink *sink;
};

enum df_status record_rows_init(struct record_rows *rows, size_t width,
                                struct df_error *err) DF_MUST_CHECK;
void record_rows_fini(struct record_rows *rows);

enum df_status record_rows_flush(struct record_rows *rows,
                                 struct df_error *err) DF_MUST_CHECK;

/* Makes room when there is none. */
enum df_status record_rows_make_room(struct record_rows *rows, size_t room,
                                     struct df_error *err) DF_MUST_CHECK;

static inline bool record_rows_has_room(const struct record_rows *rows,
                                        size_t room)
{
    return rows->count < rows->capacity &&
           rows->scratch.capacity - rows->scratch.len >= room + DF_SLACK;
}

/* The fields of the record that is being made. */
static inline struct df_field *record_rows_fields(struct record_rows *rows)
{
    return rows->fields + rows->count * rows->width;
}

static inline void record_rows_add(struct record_rows *rows,
                                   const uint8_t *data, size_t len)
{
    rows->records[rows->count] = (struct df_record){
        .data = data,
        .len = len,
        .fields = record_rows_fields(rows),
    };
    rows->count++;
}

#endif
