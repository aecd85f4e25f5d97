/*
 * column_list.h: lists of columns as options of jobs take them.
 *
 *     by=region,"sales person"   sum=price:2,tax   top=3:city,5:"a,b"
 *
 * Names stand between commas. One that has a comma or a quote in it, or
 * nothing, is written in double quotes, its quotes doubled, as in csv; in
 * lists that can have more than names, so is one with a colon or a blank, and
 * a star without quotes stands for all records.
 */
#ifndef JOBS_COLUMN_LIST_H
#define JOBS_COLUMN_LIST_H

#include "base/buf.h"
#include "base/error.h"

struct column_list_item {
    struct bytes name; /* in the room given to column_list_take */
    bool is_star;
    /* What stands before or behind the name with a colon between; no data
     * where there is none. */
    struct bytes before;
    struct bytes behind;
};

enum column_list_kind {
    COLUMN_LIST_NAMES,  /* nothing else */
    COLUMN_LIST_SCALED, /* name, name:behind */
    COLUMN_LIST_COUNTED /* digits:name as well */
};

/* Takes the first item off *text, which is not empty. The name's bytes are
 * appended to room, which is large enough: room->capacity bytes behind
 * room->len are at least text->len. `option` is for the message. */
enum df_status column_list_take(const char *option, enum column_list_kind kind,
                                struct bytes *text, struct buf *room,
                                struct column_list_item *item,
                                struct df_error *err) DF_MUST_CHECK;

/* Appends a name as it is written in any list; false without memory. */
bool column_list_append_name(struct buf *out, struct bytes name);

#endif
