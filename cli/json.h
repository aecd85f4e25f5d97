/*
 * json.h: one JSON object per line.
 *
 *     struct json j = { .out = out };
 *     json_open(&j, NULL);
 *     json_text(&j, "job", "wordcount"); json_uint(&j, "rows", rows);
 *     json_open(&j, "options"); ... json_close(&j);
 *     json_close(&j); json_line(&j);
 *
 * Bytes that are UTF-8 become a string. JSON has no form for others: they
 * stand under NAME_base64 in base64 (RFC 4648) instead of under NAME, so
 * that nothing is lost and a reader cannot take one for the other.
 */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include "base/hash.h"
#include "cli/output.h"

struct json {
    struct output *out;
    bool comma; /* something stands before in this object or array */
};

/* name is NULL in arrays and for the outermost object. */
void json_open(struct json *j, const char *name);
void json_close(struct json *j);
void json_open_array(struct json *j, const char *name);
void json_close_array(struct json *j);
void json_line(struct json *j); /* ends the line */

void json_text(struct json *j, const char *name, const char *text);
void json_bytes(struct json *j, const char *name, struct bytes b);
void json_uint(struct json *j, const char *name, uint64_t v);
void json_int(struct json *j, const char *name, int64_t v);
void json_bool(struct json *j, const char *name, bool v);
void json_null(struct json *j, const char *name);
void json_hash(struct json *j, const char *name, struct hash128 h);

/* The parts that rows are made of: a string with its quotes; base64 with
 * its quotes. */
void json_put_string(struct output *out, struct bytes utf8);
void json_put_base64(struct output *out, struct bytes b);

#endif
