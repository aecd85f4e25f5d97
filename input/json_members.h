/*
 * json_members.h: the members of an object by name (private to json.c and
 * json_members.c).
 */
#ifndef INPUT_JSON_MEMBERS_H
#define INPUT_JSON_MEMBERS_H

#include "input/json.h"

/* JSON_BAD where two members of the object have the same name; *twice is the
 * node of the second. Its nodes are complete. */
enum json_result json_members_check(struct json *j, size_t object,
                                    size_t *twice);

#endif
