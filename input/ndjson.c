#include "input/ndjson.h"

#include <stdlib.h>

/* json_head of a name that nothing is known to follow. */
static uint64_t head_of(struct bytes name)
{
    uint8_t room[8] = { 0 };

    memcpy(room, name.data, name.len < sizeof room ? name.len : sizeof room);
    return json_head(bytes_of(room, name.len));
}

enum df_status ndjson_open(struct ndjson *n, bool is_json,
                           const struct df_columns *columns,
                           struct record_rows *rows, struct df_error *err)
{
    *n = (struct ndjson){ .is_json = is_json,
                          .columns = columns,
                          .rows = rows };
    n->names = calloc(columns->n + 1, sizeof n->names[0]);
    n->heads = calloc(columns->n + 1, sizeof n->heads[0]);
    n->picked = calloc(columns->n + 1, sizeof n->picked[0]);
    if (n->names == NULL || n->heads == NULL || n->picked == NULL) {
        return error_no_memory(err);
    }
    for (size_t i = 0; i < columns->n; i++) {
        n->names[i] = bytes_of_string(columns->names[i]);
        n->heads[i] = head_of(n->names[i]);
    }
    return DF_OK;
}

void ndjson_close(struct ndjson *n)
{
    free(n->names);
    free(n->heads);
    free(n->picked);
    json_fini(&n->json);
    *n = (struct ndjson){ 0 };
}

static enum df_status make_room(struct ndjson *n, size_t room,
                                struct df_error *err)
{
    return record_rows_has_room(n->rows, room)
               ? DF_OK
               : record_rows_make_room(n->rows, room, err);
}

/* ---- lines ---- */

static enum df_status take_line(struct ndjson *n, struct bytes line,
                                struct df_error *err)
{
    size_t width = n->columns->n + (n->columns->whole ? 1 : 0);
    enum df_status status = make_room(n, 0, err);
    struct df_field *fields;

    if (status != DF_OK) {
        return status;
    }
    fields = record_rows_fields(n->rows);
    for (size_t i = 0; i < width; i++) {
        fields[i] = (struct df_field){ DF_TEXT, line.data, line.len };
    }
    record_rows_add(n->rows, line.data, line.len);
    return DF_OK;
}

/* ---- objects ---- */

static enum df_kind kind_of(const struct json_node *node)
{
    switch ((enum json_kind)node->kind) {
    case JSON_NULL:
        return DF_NULL;
    case JSON_FALSE:
        return DF_FALSE;
    case JSON_TRUE:
        return DF_TRUE;
    case JSON_NUMBER:
        return DF_NUMBER;
    case JSON_STRING:
        return DF_TEXT;
    case JSON_ARRAY:
    case JSON_OBJECT:
    default:
        return DF_NESTED;
    }
}

/* The canonical form of a number may be longer than the literal: 1e20 becomes
 * 100000000000000000000. That is the worst: nothing else grows. */
enum { NUMBER_GROWTH = 18, LITERAL_MIN = 5 /* with what parts it */ };

/* Most that the canonical form of a value takes while it is made. */
static size_t canonical_room(const struct json_node *v)
{
    size_t each = (size_t)v->nodes * NUMBER_GROWTH;
    size_t all = (size_t)v->len / LITERAL_MIN * NUMBER_GROWTH;

    return v->len + (each < all ? each : all) + DF_NUMBER_ROOM(NUMBER_GROWTH);
}

static size_t room_of(const struct json_node *v)
{
    if (kind_of(v) == DF_NESTED) {
        return canonical_room(v);
    }
    return v->is_escaped ? v->len : 0;
}

/* A member's name without escapes; false without memory. */
static bool name_of(struct ndjson *n, size_t at, struct bytes *name)
{
    const struct json_node *node = &n->json.nodes[at];
    struct buf *room = &n->json.names;

    *name = json_raw(&n->json, node);
    if (node->is_escaped) {
        buf_reset(room);
        if (!buf_reserve(room, name->len + DF_SLACK)) {
            return false;
        }
        *name = bytes_of(room->data, json_unescape(*name, room->data));
    }
    return true;
}

static void pick(struct ndjson *n, struct bytes name, size_t value)
{
    uint64_t head = json_head(name);

    for (size_t i = 0; i < n->columns->n; i++) {
        if (head == n->heads[i] && json_same_name(name, n->names[i])) {
            n->picked[i] = value;
        }
    }
}

/* Finds the members that are asked for. */
static bool pick_members(struct ndjson *n)
{
    const struct json_node *nodes = n->json.nodes;

    memset(n->picked, 0, n->columns->n * sizeof n->picked[0]);
    for (size_t at = 1; at < nodes[0].nodes; at += 1 + nodes[at + 1].nodes) {
        struct bytes name;

        if (!name_of(n, at, &name)) {
            return false;
        }
        pick(n, name, at + 1);
    }
    return true;
}

static size_t room_for(const struct ndjson *n)
{
    const struct json_node *nodes = n->json.nodes;
    size_t room = n->columns->whole ? canonical_room(&nodes[0]) : 0;

    for (size_t i = 0; i < n->columns->n; i++) {
        room += n->picked[i] != 0 ? room_of(&nodes[n->picked[i]]) : 0;
    }
    return room;
}

static bool set_canonical(struct ndjson *n, size_t node, struct df_field *out)
{
    struct buf *s = &n->rows->scratch;
    size_t begin = s->len;

    if (!json_canonical(&n->json, node, s)) {
        return false;
    }
    out->data = s->data + begin;
    out->len = s->len - begin;
    return true;
}

/* Sets a field to the value of a node; there is room. */
static bool set_value(struct ndjson *n, size_t node, struct df_field *out)
{
    const struct json_node *v = &n->json.nodes[node];
    struct bytes raw = json_raw(&n->json, v);
    struct buf *s = &n->rows->scratch;

    *out = (struct df_field){ kind_of(v), raw.data, raw.len };
    if (out->kind == DF_NESTED) {
        return set_canonical(n, node, out);
    }
    if (v->is_escaped) {
        out->data = s->data + s->len;
        out->len = json_unescape(raw, s->data + s->len);
        s->len += out->len;
    }
    return true;
}

static bool set_fields(struct ndjson *n, struct df_field *fields)
{
    size_t columns = n->columns->n;
    bool ok = true;

    for (size_t i = 0; ok && i < columns; i++) {
        fields[i] = (struct df_field){ DF_ABSENT, n->json.text.data, 0 };
        ok = n->picked[i] == 0 || set_value(n, n->picked[i], &fields[i]);
    }
    if (ok && n->columns->whole) {
        fields[columns].kind = DF_TEXT;
        ok = set_canonical(n, 0, &fields[columns]);
    }
    return ok;
}

static enum df_status add_object(struct ndjson *n, struct df_error *err)
{
    struct bytes text = n->json.text;
    enum df_status status;

    if (!pick_members(n)) {
        return error_no_memory(err);
    }
    status = make_room(n, room_for(n), err);
    if (status != DF_OK) {
        return status;
    }
    if (!set_fields(n, record_rows_fields(n->rows))) {
        return error_no_memory(err);
    }
    record_rows_add(n->rows, text.data, text.len);
    return DF_OK;
}

static bool is_blank(struct bytes line)
{
    for (size_t i = 0; i < line.len; i++) {
        if (line.data[i] != ' ' && line.data[i] != '\t' &&
            line.data[i] != '\r') {
            return false;
        }
    }
    return true;
}

static enum df_status take_object(struct ndjson *n, struct bytes line,
                                  struct df_error *err)
{
    if (is_blank(line)) {
        n->blanks++;
        return DF_OK;
    }
    switch (json_parse(&n->json, line)) {
    case JSON_OK:
        break;
    case JSON_BAD:
        n->is_refused = true;
        return error_set(err, DF_INPUT, "invalid JSON at byte %zu: %s",
                         n->json.why_at + 1, n->json.why);
    case JSON_NO_MEMORY:
    default:
        return error_no_memory(err);
    }
    if (n->json.nodes[0].kind != JSON_OBJECT) {
        n->is_refused = true;
        return error_set(err, DF_INPUT, "not a JSON object");
    }
    return add_object(n, err);
}

/* ---- both ---- */

static enum df_status take(struct ndjson *n, struct bytes line,
                           struct df_error *err)
{
    if (line.len > RECORD_MAX) {
        n->is_refused = true;
        return error_set(err, DF_INPUT, "a record longer than %zu MiB",
                         RECORD_MAX >> 20);
    }
    return n->is_json ? take_object(n, line, err) : take_line(n, line, err);
}

/* The line that begins b, without its end; *next is where it is over. Its
 * length is b's where there is no line end. */
static struct bytes line_of(struct bytes b, size_t *next)
{
    const uint8_t *lf = memchr(b.data, '\n', b.len);
    size_t len = lf == NULL ? b.len : (size_t)(lf - b.data);

    *next = lf == NULL ? b.len : len + 1;
    if (lf != NULL && len > 0 && b.data[len - 1] == '\r') {
        len--;
    }
    return bytes_of(b.data, len);
}

enum df_status ndjson_parse(struct ndjson *n, struct bytes b, bool at_end,
                            size_t *used, struct df_error *err)
{
    enum df_status status = DF_OK;
    size_t at = 0;

    n->is_refused = false;
    while (status == DF_OK && at < b.len) {
        size_t next;
        struct bytes rest = bytes_of(b.data + at, b.len - at);
        struct bytes line = line_of(rest, &next);

        /* Not ended; one byte may be the CR of its end. */
        if (next == rest.len && rest.data[rest.len - 1] != '\n' && !at_end &&
            line.len <= RECORD_MAX + 1) {
            break;
        }
        status = take(n, line, err);
        if (n->is_refused) {
            n->fault_at = at;
        }
        at += next;
    }
    *used = at;
    return status;
}
