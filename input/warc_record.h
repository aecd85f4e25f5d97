/*
 * warc_record.h: the head of a WARC record (ISO 28500, versions 1.0 and
 * 1.1), as far as it tells what to do with the record.
 */
#ifndef INPUT_WARC_RECORD_H
#define INPUT_WARC_RECORD_H

#include "base/bytes.h"

enum warc_type { WARC_RESPONSE, WARC_RESOURCE, WARC_OTHER };

struct warc_record {
    enum warc_type type;
    uint64_t length;  /* of the block that follows the head */
    struct bytes uri; /* of the target, without angle brackets; points into
                         the head */
    bool is_web;      /* the target is http or https */
    bool is_partial;  /* cut by the writer, or the first of several segments */
};

/* head: with its first line, unfolded (fields.h). NULL, or what is wrong
 * with it. */
const char *warc_record_parse(struct bytes head, struct warc_record *record);

#endif
