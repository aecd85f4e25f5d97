#include "input/json_members.h"

#include <stdlib.h>

#include "base/json_text.h"
#include "deltafold/job.h"
#include "input/grow.h"

/* Up to so many names are compared each with each; sorting costs more. */
enum { FEW = 12 };

static size_t behind(const struct json *j, size_t node)
{
    return node + j->nodes[node].nodes;
}

/* The name of a member, without escapes. names has been given room. */
static struct bytes name_of(struct json *j, size_t node)
{
    struct bytes raw = json_raw(j, &j->nodes[node]);
    uint8_t *out = j->names.data + j->names.len;
    size_t n;

    if (!j->nodes[node].is_escaped) {
        return raw;
    }
    n = json_unescape(raw, out);
    j->names.len += n;
    return bytes_of(out, n);
}

static bool add_member(struct json *j, size_t name)
{
    struct json_member *members = grow_array(
        j->members, &j->member_capacity, j->member_count, sizeof members[0]);

    if (members == NULL) {
        return false;
    }
    j->members = members;
    j->members[j->member_count++] = (struct json_member){
        .name = name_of(j, name),
        .value = (uint32_t)(name + 1),
    };
    return true;
}

/* Appends the object's members to the list. Names without escapes lie in
 * the text; the others in `names`, which must not move: it has room for all
 * that the text can hold. */
static bool list_members(struct json *j, size_t object)
{
    size_t end = behind(j, object);

    for (size_t name = object + 1; name < end; name = behind(j, name + 1)) {
        if (!add_member(j, name)) {
            return false;
        }
    }
    return true;
}

static bool begin_list(struct json *j)
{
    j->member_count = 0;
    buf_reset(&j->names);
    return buf_reserve(&j->names, j->text.len);
}

static int compare(const void *a, const void *b)
{
    const struct json_member *x = a;
    const struct json_member *y = b;
    int order = bytes_compare(x->name, y->name);

    /* Of the same name the one that comes first: so is the message. */
    return order != 0 ? order : (x->value > y->value) - (x->value < y->value);
}

/* Those of the list from `first` on. */
static void sort(struct json *j, size_t first)
{
    if (j->member_count - first > 1) {
        qsort(j->members + first, j->member_count - first,
              sizeof j->members[0], compare);
    }
}

static enum json_result check_sorted(struct json *j, size_t object,
                                     size_t *twice)
{
    if (!begin_list(j) || !list_members(j, object)) {
        return JSON_NO_MEMORY;
    }
    sort(j, 0);
    *twice = SIZE_MAX;
    for (size_t i = 1; i < j->member_count; i++) {
        const struct json_member *m = &j->members[i];

        if (bytes_equal(m[-1].name, m->name) && m->value - 1 < *twice) {
            *twice = m->value - 1;
        }
    }
    return *twice == SIZE_MAX ? JSON_OK : JSON_BAD;
}

/* Some names and their heads. */
struct few {
    uint64_t heads[FEW];
    struct bytes names[FEW];
    size_t n;
};

/* The members' names, if they are few and without escapes. */
static bool few_names(const struct json *j, size_t object, struct few *few)
{
    size_t end = behind(j, object);

    few->n = 0;
    for (size_t name = object + 1; name < end; name = behind(j, name + 1)) {
        if (few->n == FEW || j->nodes[name].is_escaped) {
            return false;
        }
        few->names[few->n] = json_raw(j, &j->nodes[name]);
        few->heads[few->n] = json_head(few->names[few->n]);
        few->n++;
    }
    return true;
}

static bool has_twice(const struct few *few)
{
    for (size_t i = 1; i < few->n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (few->heads[k] == few->heads[i] &&
                json_same_name(few->names[k], few->names[i])) {
                return true;
            }
        }
    }
    return false;
}

enum json_result json_members_check(struct json *j, size_t object,
                                    size_t *twice)
{
    struct few few;

    return few_names(j, object, &few) && !has_twice(&few)
               ? JSON_OK
               : check_sorted(j, object, twice);
}

/* ---- the canonical form ---- */

static bool put_value(struct json *j, size_t node, struct buf *out);

static bool put_string(struct json *j, const struct json_node *node,
                       struct buf *out)
{
    struct bytes raw = json_raw(j, node);
    struct buf text = { 0 };
    bool ok;

    if (!node->is_escaped) {
        return buf_append_byte(out, '"') &&
               buf_append(out, raw.data, raw.len) && buf_append_byte(out, '"');
    }
    ok = buf_reserve(&text, raw.len);
    if (ok) {
        text.len = json_unescape(raw, text.data);
        ok = json_text_append(out, buf_bytes(&text));
    }
    buf_fini(&text);
    return ok;
}

static bool put_number(struct bytes literal, struct buf *out)
{
    if (!buf_reserve(out, DF_NUMBER_ROOM(literal.len))) {
        return false;
    }
    out->len +=
        df_number_canonical(literal.data, literal.len, out->data + out->len);
    return true;
}

static bool put_array(struct json *j, size_t node, struct buf *out)
{
    size_t end = behind(j, node);
    bool ok = buf_append_byte(out, '[');

    for (size_t item = node + 1; ok && item < end; item = behind(j, item)) {
        ok = (item == node + 1 || buf_append_byte(out, ',')) &&
             put_value(j, item, out);
    }
    return ok && buf_append_byte(out, ']');
}

static bool put_object(struct json *j, size_t node, struct buf *out)
{
    size_t first = j->member_count;
    bool ok = list_members(j, node) && buf_append_byte(out, '{');
    size_t last = j->member_count;

    sort(j, first);
    for (size_t i = first; ok && i < last; i++) {
        /* By value: the list grows, and moves, with the members' own. */
        struct json_member m = j->members[i];

        ok = (i == first || buf_append_byte(out, ',')) &&
             json_text_append(out, m.name) && buf_append_byte(out, ':') &&
             put_value(j, m.value, out);
    }
    j->member_count = first;
    return ok && buf_append_byte(out, '}');
}

static bool put_value(struct json *j, size_t node, struct buf *out)
{
    const struct json_node *n = &j->nodes[node];

    switch ((enum json_kind)n->kind) {
    case JSON_STRING:
        return put_string(j, n, out);
    case JSON_NUMBER:
        return put_number(json_raw(j, n), out);
    case JSON_ARRAY:
        return put_array(j, node, out);
    case JSON_OBJECT:
        return put_object(j, node, out);
    case JSON_NULL:
    case JSON_FALSE:
    case JSON_TRUE:
    default:
        return buf_append(out, j->text.data + n->at, n->len);
    }
}

bool json_canonical(struct json *j, size_t node, struct buf *out)
{
    return begin_list(j) && put_value(j, node, out);
}
