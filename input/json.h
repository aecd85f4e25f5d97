/*
 * json.h: one JSON text (RFC 8259), checked strictly, and its values exactly
 * as they stand there.
 *
 *     struct json j = { 0 };
 *     json_parse(&j, text)        the nodes of all values
 *       json_unescape(...)            a string without escapes
 *       json_canonical(...)       a value in the one form that all its
 *                                 spellings have in common
 *     json_fini(&j);
 *
 * No library: those at hand turn numbers into doubles, keep one of two
 * members of the same name, or take bytes that are not UTF-8. Here numbers
 * stay literals; two members of the same name, lone surrogates, ill-formed
 * UTF-8 and exponents of more than 18 digits are refused.
 *
 * Nodes lie in one array, in the order of the text. Behind an object come its
 * members, of each the name and then the value; behind an array its elements;
 * node.nodes is how many to pass over to come to what follows.
 */
#ifndef INPUT_JSON_H
#define INPUT_JSON_H

#include "base/buf.h"

enum {
    /* Arrays and objects within each other. Each costs a stack frame; data
     * that people make has some ten. */
    JSON_DEPTH_MAX = 512
};

enum json_kind {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

struct json_node {
    uint32_t at;    /* in the text; of a string: behind the quote */
    uint32_t len;   /* of a string: between the quotes */
    uint32_t nodes; /* this one and all in it */
    uint8_t kind;
    bool is_escaped; /* a string with a backslash in it */
};

/* A member whose name is at hand without escapes. */
struct json_member {
    struct bytes name;
    uint32_t value; /* node */
};

enum json_result { JSON_OK, JSON_BAD, JSON_NO_MEMORY };

struct json {
    struct bytes text;
    struct json_node *nodes;
    size_t count;
    size_t capacity;
    const char *why; /* of JSON_BAD, and where in the text */
    size_t why_at;
    /* Scratch: members of the objects at hand, one list behind the other,
     * and their names where they have escapes. */
    struct json_member *members;
    size_t member_count;
    size_t member_capacity;
    struct buf names;
};

/* text is shorter than 4 GiB; 8 bytes behind it are readable. It is kept,
 * not copied. */
enum json_result json_parse(struct json *j, struct bytes text);
void json_fini(struct json *j); /* safe on zeroed memory */

static inline struct bytes json_raw(const struct json *j,
                                    const struct json_node *node)
{
    return bytes_of(j->text.data + node->at, node->len);
}

/* The first bytes of a name, zeros behind it: names that differ mostly differ
 * here already. Eight bytes from the name on are readable. */
static inline uint64_t json_head(struct bytes name)
{
    uint64_t head = 0;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&head, name.data, sizeof head);
    return name.len < sizeof head ? head & ~(UINT64_MAX << 8 * name.len)
                                  : head;
#else
    memcpy(&head, name.data, name.len < sizeof head ? name.len : sizeof head);
    return head;
#endif
}

/* Whether two names with one head are the same. */
static inline bool json_same_name(struct bytes a, struct bytes b)
{
    return a.len == b.len &&
           (a.len <= sizeof(uint64_t) || memcmp(a.data, b.data, a.len) == 0);
}

/* A string of a text that has been checked; out has room for raw.len bytes.
 * Returns how many there are. */
size_t json_unescape(struct bytes raw, uint8_t *out);

/*
 * Appends a value: no blanks, members in byte order of their names, strings
 * with the shortest escapes, numbers as df_number_canonical writes them (RFC
 * 8785, but for the order of names beyond U+FFFF, and exact). False without
 * memory.
 */
bool json_canonical(struct json *j, size_t node, struct buf *out);

#endif
