#include "jobs/dedup/key.h"

enum {
    LENGTH_SHORT_MAX = 254,
    LENGTH_LONG = 255, /* 32 bits follow */
    LENGTH_ROOM = 5
};
_Static_assert(1 + LENGTH_ROOM <=
                   (DF_FOLD_KEY_MAX - DF_KEY_MAX) / DF_COLUMNS_MAX,
               "a column's kind and length have room");

static uint8_t kind_byte(enum df_kind kind)
{
    switch (kind) {
    case DF_NUMBER:
        return 'n';
    case DF_FALSE:
        return 'f';
    case DF_TRUE:
        return 'y';
    case DF_NESTED:
        return 'j';
    case DF_ABSENT:
    case DF_NULL:
    case DF_TEXT:
        break;
    }
    return 't';
}

/* Writes the length of a value; returns how many bytes that takes. */
static size_t put_length(uint8_t *out, size_t len)
{
    if (len <= LENGTH_SHORT_MAX) {
        out[0] = (uint8_t)len;
        return 1;
    }
    out[0] = LENGTH_LONG;
    store_be32(out + 1, (uint32_t)len);
    return LENGTH_ROOM;
}

static bool has_value(enum df_kind kind)
{
    return kind != DF_FALSE && kind != DF_TRUE;
}

/* Bytes of a value as it stands in a key, at to; room for
 * DF_NUMBER_ROOM(len). */
static size_t put_value(uint8_t *to, const struct df_field *f)
{
    if (f->kind == DF_NUMBER) {
        return df_number_canonical(f->data, f->len, to);
    }
    if (!has_value(f->kind)) {
        return 0;
    }
    if (f->len > 0) {
        memcpy(to, f->data, f->len);
    }
    return f->len;
}

/* Returns the length of the value. */
static size_t append_field(struct buf *out, const struct df_field *f,
                           bool alone, bool is_whole)
{
    uint8_t *at = out->data + out->len;
    size_t len;

    *at++ = is_whole ? 'w' : kind_byte(f->kind);
    if (alone) {
        len = put_value(at, f);
        at += len;
    } else {
        /* The value first, for a number's length comes with it. */
        len = put_value(at + LENGTH_ROOM, f);
        memmove(at + put_length(at, len), at + LENGTH_ROOM, len);
        at += (len <= LENGTH_SHORT_MAX ? 1 : LENGTH_ROOM) + len;
    }
    out->len = (size_t)(at - out->data);
    return len;
}

enum key_result key_append_field(struct buf *out, const struct df_field *field,
                                 bool alone, bool is_whole, size_t *len)
{
    if (field->len > DF_KEY_MAX) {
        return KEY_TOO_LONG;
    }
    if (!buf_reserve(out, DF_NUMBER_ROOM(field->len) + 1 + LENGTH_ROOM)) {
        return KEY_NO_MEMORY;
    }
    *len += append_field(out, field, alone, is_whole);
    return *len <= DF_KEY_MAX ? KEY_OK : KEY_TOO_LONG;
}

enum key_result key_append(struct buf *out, const struct df_field *fields,
                           size_t n, bool is_whole)
{
    enum key_result result = KEY_OK;
    size_t len = 0;

    for (size_t i = 0; result == KEY_OK && i < n; i++) {
        result = key_append_field(out, &fields[i], n == 1, is_whole, &len);
    }
    return result;
}

static bool take_length(struct bytes *key, size_t *len)
{
    size_t size = 1;

    if (key->len < 1) {
        return false;
    }
    *len = key->data[0];
    if (*len == LENGTH_LONG) {
        size = LENGTH_ROOM;
        if (key->len < size) {
            return false;
        }
        *len = load_be32(key->data + 1);
    }
    *key = bytes_of(key->data + size, key->len - size);
    return *len <= key->len;
}

bool key_next(struct bytes *key, bool alone, struct key_part *part)
{
    size_t len;

    if (key->len < 1) {
        return false;
    }
    part->kind = (char)key->data[0];
    *key = bytes_of(key->data + 1, key->len - 1);
    len = key->len;
    if (!alone && !take_length(key, &len)) {
        return false;
    }
    part->value = bytes_of(key->data, len);
    *key = bytes_of(key->data + len, key->len - len);
    return true;
}
