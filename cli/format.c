#include "cli/format.h"

#include "base/codec.h"
#include "base/tsv.h"
#include "base/utf8.h"
#include "cli/json.h"

enum {
    PIECE = 16384,            /* bytes escaped at a time */
    PIECE_ESCAPED = 2 * PIECE /* the most they become */
};

static void put_tsv_piece(struct output *out, struct bytes b)
{
    char *p = output_room(out, PIECE_ESCAPED);

    for (size_t i = 0; i < b.len; i++) {
        uint8_t byte = b.data[i];
        char letter = 0;

        if (byte <= '\r' || byte == '\\') {
            letter = tsv_letter(byte);
        }
        if (letter != 0) {
            *p++ = '\\';
            *p++ = letter;
        } else {
            *p++ = (char)byte;
        }
    }
    output_filled(out, p);
}

void format_tsv_field(struct output *out, struct bytes b)
{
    for (size_t i = 0; i < b.len; i += PIECE) {
        size_t left = b.len - i;

        put_tsv_piece(out, bytes_of(b.data + i, left < PIECE ? left : PIECE));
    }
}

enum { VALUES_ROOM = (1 + OUTPUT_DIGITS_MAX) * DF_COMPONENTS_MAX };

/* Values, each with `before` in front. */
static void put_values(const struct format *f, char before,
                       const int64_t *values)
{
    char *p = output_room(f->out, VALUES_ROOM);

    for (unsigned i = 0; i < f->shape.components; i++) {
        *p++ = before;
        p = output_digits(p, values[i]);
    }
    output_filled(f->out, p);
}

static void put_tsv_key(struct format *f, struct bytes key,
                        struct bytes element)
{
    format_tsv_field(f->out, key);
    if (f->shape.has_element) {
        output_byte(f->out, '\t');
        format_tsv_field(f->out, element);
    }
}

static void put_tsv_row(struct format *f, struct bytes key,
                        struct bytes element, const int64_t *values)
{
    put_tsv_key(f, key, element);
    put_values(f, '\t', values);
    output_byte(f->out, '\n');
}

void format_tsv_change(struct format *f, struct bytes key,
                       struct bytes element, const int64_t *old_values,
                       const int64_t *new_values)
{
    put_tsv_key(f, key, element);
    put_values(f, '\t', old_values);
    put_values(f, '\t', new_values);
    output_byte(f->out, '\n');
}

static bool needs_quotes(struct bytes b)
{
    for (size_t i = 0; i < b.len; i++) {
        uint8_t byte = b.data[i];

        if (byte == ',' || byte == '"' || byte == '\r' || byte == '\n') {
            return true;
        }
    }
    return b.len == 0; /* tells an empty key from a missing one */
}

static void put_csv_field(struct output *out, struct bytes b)
{
    if (!needs_quotes(b)) {
        output_bytes(out, b);
        return;
    }
    output_byte(out, '"');
    for (size_t i = 0; i < b.len; i++) {
        if (b.data[i] == '"') {
            output_byte(out, '"');
        }
        output_byte(out, (char)b.data[i]);
    }
    output_byte(out, '"');
}

static void put_csv_row(struct format *f, struct bytes key,
                        struct bytes element, const int64_t *values)
{
    put_csv_field(f->out, key);
    if (f->shape.has_element) {
        output_byte(f->out, ',');
        put_csv_field(f->out, element);
    }
    put_values(f, ',', values);
    output_text(f->out, "\r\n");
}

static void put_csv_header(struct format *f)
{
    output_text(f->out, f->shape.has_element ? "key,element" : "key");
    for (unsigned i = 0; i < f->shape.components; i++) {
        output_byte(f->out, ',');
        output_text(f->out, f->names[i]);
    }
    output_text(f->out, "\r\n");
}

void format_json_values(const struct format *f, struct json *j,
                        const int64_t *values)
{
    for (unsigned i = 0; i < f->shape.components; i++) {
        json_int(j, f->names[i], values[i]);
    }
}

static void put_ndjson_row(struct format *f, struct bytes key,
                           struct bytes element, const int64_t *values)
{
    struct json j = { .out = f->out };

    json_open(&j, NULL);
    json_bytes(&j, "key", key);
    if (f->shape.has_element) {
        json_bytes(&j, "element", element);
    }
    format_json_values(f, &j, values);
    json_close(&j);
    json_line(&j);
}

static void put_msgpack_row(struct format *f, struct bytes key,
                            struct bytes element, const int64_t *values)
{
    struct buf *b = &f->packed;
    bool element_too = f->shape.has_element;
    bool ok;

    buf_reset(b);
    ok = codec_put_array(b, 1 + element_too + f->shape.components) &&
         codec_put_bin(b, key) && (!element_too || codec_put_bin(b, element));
    for (unsigned i = 0; ok && i < f->shape.components; i++) {
        ok = codec_put_int(b, values[i]);
    }
    f->no_memory = f->no_memory || !ok;
    output_bytes(f->out, buf_bytes(b));
}

/* ---- lines ---- */

static struct bytes cell_bytes(const struct df_cell *cell)
{
    return bytes_of(cell->data, cell->len);
}

static void put_tsv_cell(struct format *f, const struct df_cell *cell)
{
    if (cell->kind == DF_CELL_NULL) {
        output_text(f->out, "\\N");
    } else {
        format_tsv_field(f->out, cell_bytes(cell));
    }
}

static void put_csv_cell(struct format *f, const struct df_cell *cell)
{
    if (cell->kind != DF_CELL_NULL) {
        put_csv_field(f->out, cell_bytes(cell));
    }
}

/* name, with "_base64" behind where the value is in base64. */
static void put_json_name(struct format *f, const char *name, bool is_base64)
{
    struct buf *b = &f->packed;

    buf_reset(b);
    if (!buf_append_string(b, name) ||
        (is_base64 && !buf_append_string(b, "_base64"))) {
        f->no_memory = true;
        return;
    }
    if (utf8_is_well_formed(b->data, b->len)) {
        json_put_string(f->out, buf_bytes(b));
    } else {
        json_put_base64(f->out, buf_bytes(b));
    }
    output_byte(f->out, ':');
}

static void put_ndjson_cell(struct format *f, const struct df_cell *cell,
                            const char *name)
{
    struct bytes b = cell_bytes(cell);
    bool is_text = cell->kind == DF_CELL_TEXT;
    bool is_base64 = is_text && !utf8_is_well_formed(b.data, b.len);

    put_json_name(f, name, is_base64);
    if (cell->kind == DF_CELL_NULL) {
        output_text(f->out, "null");
    } else if (is_base64) {
        json_put_base64(f->out, b);
    } else if (is_text) {
        json_put_string(f->out, b);
    } else {
        output_bytes(f->out, b);
    }
}

static bool pack_cell(struct buf *b, const struct df_cell *cell)
{
    switch (cell->kind) {
    case DF_CELL_NULL:
        return codec_put_nil(b);
    case DF_CELL_TEXT:
        return codec_put_bin(b, cell_bytes(cell));
    case DF_CELL_NUMBER:
    case DF_CELL_JSON:
        break;
    }
    return codec_put_str(b, cell_bytes(cell));
}

static void put_msgpack_line(struct format *f, const struct df_cell *cells)
{
    struct buf *b = &f->packed;
    bool ok;

    buf_reset(b);
    ok = codec_put_array(b, f->cells);
    for (unsigned i = 0; ok && i < f->cells; i++) {
        ok = pack_cell(b, &cells[i]);
    }
    f->no_memory = f->no_memory || !ok;
    output_bytes(f->out, buf_bytes(b));
}

static void put_ndjson_line(struct format *f, const struct df_cell *cells)
{
    output_byte(f->out, '{');
    for (unsigned i = 0; i < f->cells; i++) {
        if (i > 0) {
            output_byte(f->out, ',');
        }
        put_ndjson_cell(f, &cells[i], f->names[i]);
    }
    output_text(f->out, "}\n");
}

static void put_names(struct format *f)
{
    for (unsigned i = 0; i < f->cells; i++) {
        if (i > 0) {
            output_byte(f->out, ',');
        }
        put_csv_field(f->out, bytes_of_string(f->names[i]));
    }
    output_text(f->out, "\r\n");
}

void format_open_lines(struct format *f, enum format_kind kind,
                       const char *const *names, unsigned n,
                       struct output *out)
{
    *f = (struct format){
        .kind = kind, .names = names, .cells = n, .out = out
    };
    if (kind == FORMAT_CSV) {
        put_names(f);
    }
}

/* tsv and csv: cells with a byte between. */
static void put_separated(struct format *f, const struct df_cell *cells,
                          char separator,
                          void (*put)(struct format *, const struct df_cell *))
{
    for (unsigned i = 0; i < f->cells; i++) {
        if (i > 0) {
            output_byte(f->out, separator);
        }
        put(f, &cells[i]);
    }
}

void format_line(struct format *f, const struct df_cell *cells)
{
    switch (f->kind) {
    case FORMAT_TSV:
        put_separated(f, cells, '\t', put_tsv_cell);
        output_byte(f->out, '\n');
        break;
    case FORMAT_CSV:
        put_separated(f, cells, ',', put_csv_cell);
        output_text(f->out, "\r\n");
        break;
    case FORMAT_NDJSON:
        put_ndjson_line(f, cells);
        break;
    case FORMAT_MSGPACK:
        put_msgpack_line(f, cells);
        break;
    }
}

/* ---- rows ---- */

void format_open(struct format *f, enum format_kind kind,
                 struct row_shape shape, const char *const *names,
                 struct output *out)
{
    *f = (struct format){
        .kind = kind, .shape = shape, .names = names, .out = out
    };
    if (kind == FORMAT_CSV) {
        put_csv_header(f);
    }
}

void format_row(struct format *f, struct bytes key, struct bytes element,
                const int64_t *values)
{
    switch (f->kind) {
    case FORMAT_TSV:
        put_tsv_row(f, key, element, values);
        break;
    case FORMAT_CSV:
        put_csv_row(f, key, element, values);
        break;
    case FORMAT_NDJSON:
        put_ndjson_row(f, key, element, values);
        break;
    case FORMAT_MSGPACK:
        put_msgpack_row(f, key, element, values);
        break;
    }
}

enum df_status format_close(struct format *f, struct df_error *err)
{
    buf_fini(&f->packed);
    return f->no_memory ? error_no_memory(err) : DF_OK;
}

/* Cells `from` to the last; what is not there is null. */
static void put_tsv_side(struct format *f, unsigned from,
                         const struct df_cell *cells)
{
    static const struct df_cell nothing = { .kind = DF_CELL_NULL };

    for (unsigned i = from; i < f->cells; i++) {
        output_byte(f->out, '\t');
        put_tsv_cell(f, cells == NULL ? &nothing : &cells[i]);
    }
}

static void put_ndjson_side(struct format *f, const char *name, unsigned from,
                            const struct df_cell *cells)
{
    output_printf(f->out, ",\"%s\":", name);
    if (cells == NULL) {
        output_text(f->out, "null");
        return;
    }
    output_byte(f->out, '{');
    for (unsigned i = from; i < f->cells; i++) {
        if (i > from) {
            output_byte(f->out, ',');
        }
        put_ndjson_cell(f, &cells[i], f->names[i]);
    }
    output_byte(f->out, '}');
}

void format_line_change(struct format *f, unsigned keys,
                        const struct df_cell *old_cells,
                        const struct df_cell *new_cells)
{
    const struct df_cell *key = old_cells != NULL ? old_cells : new_cells;
    bool ndjson = f->kind == FORMAT_NDJSON;

    if (ndjson) {
        output_byte(f->out, '{');
    }
    for (unsigned i = 0; i < keys; i++) {
        if (i > 0) {
            output_byte(f->out, ndjson ? ',' : '\t');
        }
        if (ndjson) {
            put_ndjson_cell(f, &key[i], f->names[i]);
        } else {
            put_tsv_cell(f, &key[i]);
        }
    }
    if (ndjson) {
        put_ndjson_side(f, "old", keys, old_cells);
        put_ndjson_side(f, "new", keys, new_cells);
        output_byte(f->out, '}');
    } else {
        put_tsv_side(f, keys, old_cells);
        put_tsv_side(f, keys, new_cells);
    }
    output_byte(f->out, '\n');
}
