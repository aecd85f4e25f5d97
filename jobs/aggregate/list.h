/*
 * list.h: lists of columns as the options of aggregate take them.
 *
 *     by=region,"sales person"   sum=price:2,tax   top=3:city,5:"a,b"
 *
 * Names stand between commas. One that has a comma, a colon, a blank or a
 * quote in it, or nothing, is written in double quotes, its quotes doubled,
 * as in csv. A star without quotes stands for all records.
 */
#ifndef JOBS_AGGREGATE_LIST_H
#define JOBS_AGGREGATE_LIST_H

#include "base/buf.h"
#include "base/error.h"

struct list_item {
    struct bytes name; /* in the room given to list_take */
    bool is_star;
    /* What stands before or behind the name with a colon between; no data
     * where there is none. */
    struct bytes before;
    struct bytes behind;
};

/* Takes the first item off *text, which is not empty. Only in a numbered list
 * are digits and a colon in front of a name no part of it. The name's bytes
 * are appended to room, which is large enough: room->capacity bytes behind
 * room->len are at least text->len. `option` is for the message. */
enum df_status list_take(const char *option, bool is_numbered,
                         struct bytes *text, struct buf *room,
                         struct list_item *item,
                         struct df_error *err) DF_MUST_CHECK;

/* Appends a name as it is written in a list; false without memory. */
bool list_append_name(struct buf *out, struct bytes name);

#endif
