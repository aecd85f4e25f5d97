#include "jobs/aggregate/value.h"

enum {
    CODE_NULL = 0x00,
    CODE_FALSE = 0x01,
    CODE_TRUE = 0x02,
    CODE_NUMBER = 0x03,
    CODE_NESTED = 0x04,
    ESCAPE = 0x00,
    ESCAPED_ZERO = 0xff,
    PART_END = 0x01
};

static enum value_fault append_number(struct buf *out, struct bytes literal)
{
    struct decimal d;

    if (decimal_split(literal, &d) != DECIMAL_OK) {
        return VALUE_BAD_NUMBER;
    }
    if (!buf_reserve(out, 1 + decimal_code_room(d.digits))) {
        return VALUE_NO_MEMORY;
    }
    out->data[out->len++] = CODE_NUMBER;
    out->len += decimal_encode(&d, out->data + out->len);
    return VALUE_OK;
}

static enum value_fault append_tagged(struct buf *out, uint8_t tag,
                                      struct bytes b)
{
    bool ok = buf_append_byte(out, tag) &&
              (b.len == 0 || buf_append(out, b.data, b.len));

    return ok ? VALUE_OK : VALUE_NO_MEMORY;
}

static enum value_fault append_text(struct buf *out, const struct df_field *f)
{
    if (!value_is_plain(f)) {
        return append_tagged(out, VALUE_GUARD, bytes_of(f->data, f->len));
    }
    return f->len == 0 || buf_append(out, f->data, f->len) ? VALUE_OK
                                                           : VALUE_NO_MEMORY;
}

enum value_fault value_append(struct buf *out, const struct df_field *f)
{
    const struct bytes nothing = { 0 };

    switch (f->kind) {
    case DF_ABSENT:
    case DF_NULL:
        return append_tagged(out, CODE_NULL, nothing);
    case DF_FALSE:
        return append_tagged(out, CODE_FALSE, nothing);
    case DF_TRUE:
        return append_tagged(out, CODE_TRUE, nothing);
    case DF_NUMBER:
        return append_number(out, bytes_of(f->data, f->len));
    case DF_NESTED:
        return append_tagged(out, CODE_NESTED, bytes_of(f->data, f->len));
    case DF_TEXT:
        break;
    }
    return append_text(out, f);
}

bool value_append_part(struct buf *out, struct bytes code)
{
    uint8_t *to;

    if (!buf_reserve(out, 2 * code.len + 2)) {
        return false;
    }
    to = out->data + out->len;
    for (size_t i = 0; i < code.len; i++) {
        *to++ = code.data[i];
        if (code.data[i] == ESCAPE) {
            *to++ = ESCAPED_ZERO;
        }
    }
    *to++ = ESCAPE;
    *to++ = PART_END;
    out->len = (size_t)(to - out->data);
    return true;
}

bool value_take_part(struct bytes *key, struct buf *room, struct bytes *code)
{
    size_t begin = room->len;

    if (!buf_reserve(room, key->len)) {
        return false;
    }
    for (size_t i = 0; i + 1 < key->len; i++) {
        uint8_t byte = key->data[i];

        if (byte == ESCAPE && key->data[++i] == PART_END) {
            *code = bytes_of(room->data + begin, room->len - begin);
            *key = bytes_of(key->data + i + 1, key->len - i - 1);
            return true;
        }
        if (byte == ESCAPE && key->data[i] != ESCAPED_ZERO) {
            return false;
        }
        room->data[room->len++] = byte;
    }
    return false;
}

static enum df_status number_cell(struct bytes code, struct buf *room,
                                  struct df_cell *cell)
{
    if (!buf_reserve(room, decimal_decode_room(code.len))) {
        return DF_SYSTEM;
    }
    cell->kind = DF_CELL_NUMBER;
    cell->data = room->data + room->len;
    cell->len = decimal_decode(code, room->data + room->len);
    room->len += cell->len;
    return cell->len > 0 ? DF_OK : DF_STATE;
}

static struct df_cell cell_of(enum df_cell_kind kind, struct bytes b)
{
    return (struct df_cell){ .kind = kind, .data = b.data, .len = b.len };
}

/* A code that is one byte, without the rest that there may not be. */
static enum df_status lone_cell(struct df_cell *cell, enum df_cell_kind kind,
                                const char *text, struct bytes rest)
{
    *cell = cell_of(kind, bytes_of_string(text));
    return rest.len == 0 ? DF_OK : DF_STATE;
}

enum df_status value_cell(struct bytes code, struct buf *room,
                          struct df_cell *cell)
{
    struct bytes rest = code;

    if (code.len == 0 || code.data[0] > VALUE_GUARD) {
        *cell = cell_of(DF_CELL_TEXT, code);
        return DF_OK;
    }
    rest.data++;
    rest.len--;
    switch (code.data[0]) {
    case CODE_NULL:
        return lone_cell(cell, DF_CELL_NULL, "", rest);
    case CODE_FALSE:
        return lone_cell(cell, DF_CELL_JSON, "false", rest);
    case CODE_TRUE:
        return lone_cell(cell, DF_CELL_JSON, "true", rest);
    case CODE_NUMBER:
        return number_cell(rest, room, cell);
    case CODE_NESTED:
        *cell = cell_of(DF_CELL_JSON, rest);
        return DF_OK;
    case VALUE_GUARD:
        *cell = cell_of(DF_CELL_TEXT, rest);
        return DF_OK;
    default:
        return DF_STATE;
    }
}
