/*
 * quoted.h: bytes as JSON strings, and back: for values in lists and for
 * keys that would read as something else.
 */
#ifndef JOBS_AGGREGATE_QUOTED_H
#define JOBS_AGGREGATE_QUOTED_H

#include "base/buf.h"

/* Appends a JSON string with the shortest escapes; {"base64":"..."} for what
 * is not UTF-8, so that no two texts look the same. False without memory. */
bool quoted_append(struct buf *out, struct bytes text);

#endif
