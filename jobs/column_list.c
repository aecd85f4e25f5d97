#include "jobs/column_list.h"

#include <assert.h>

static bool is_special(uint8_t byte, enum column_list_kind kind)
{
    return byte == ',' || byte == '"' ||
           (kind != COLUMN_LIST_NAMES && (byte == ':' || byte <= ' '));
}

static struct bytes skip(struct bytes b, size_t n)
{
    return bytes_of(b.data + n, b.len - n);
}

/* Bytes up to what ends a name without quotes. */
static struct bytes plain_word(struct bytes text, enum column_list_kind kind)
{
    size_t n = 0;

    while (n < text.len && !is_special(text.data[n], kind)) {
        n++;
    }
    return bytes_of(text.data, n);
}

static enum df_status unclear(const char *option, struct bytes text,
                              struct df_error *err)
{
    return error_set(err, DF_USAGE,
                     "option '%s': '%s' does not begin with a column: a name "
                     "with a comma, colon, blank or quote in it is written "
                     "in double quotes",
                     option, shown(&(struct shown){ 0 }, text));
}

/* A name in quotes; *text begins with one. */
static enum df_status take_quoted(const char *option, struct bytes *text,
                                  struct buf *room, struct df_error *err)
{
    for (size_t i = 1; i < text->len; i++) {
        if (text->data[i] == '"' &&
            (i + 1 == text->len || text->data[i + 1] != '"')) {
            *text = skip(*text, i + 1);
            return DF_OK;
        }
        i += text->data[i] == '"' ? 1 : 0;
        room->data[room->len++] = text->data[i];
    }
    return error_set(err, DF_USAGE, "option '%s': '%s' has no closing quote",
                     option, shown(&(struct shown){ 0 }, *text));
}

static enum df_status take_name(const char *option, enum column_list_kind kind,
                                struct bytes *text, struct buf *room,
                                struct column_list_item *item,
                                struct df_error *err)
{
    enum df_status status = DF_OK;
    size_t begin = room->len;
    struct bytes word;

    if (text->len > 0 && text->data[0] == '"') {
        status = take_quoted(option, text, room, err);
    } else {
        word = plain_word(*text, kind);
        if (word.len == 0) {
            return unclear(option, *text, err);
        }
        item->is_star =
            kind != COLUMN_LIST_NAMES && word.len == 1 && word.data[0] == '*';
        memcpy(room->data + room->len, word.data, word.len);
        room->len += word.len;
        *text = skip(*text, word.len);
    }
    item->name = bytes_of(room->data + begin, room->len - begin);
    return status;
}

static bool begins_with(struct bytes b, char c)
{
    return b.len > 0 && b.data[0] == (uint8_t)c;
}

/* Digits and a colon in front of a name. */
static void take_before(struct bytes *text, struct column_list_item *item)
{
    size_t n = 0;

    while (n < text->len && text->data[n] >= '0' && text->data[n] <= '9') {
        n++;
    }
    if (n > 0 && n < text->len && text->data[n] == ':') {
        item->before = bytes_of(text->data, n);
        *text = skip(*text, n + 1);
    }
}

/* A colon and what stands behind it. */
static void take_behind(struct bytes *text, struct column_list_item *item)
{
    if (begins_with(*text, ':')) {
        *text = skip(*text, 1);
        item->behind = plain_word(*text, COLUMN_LIST_SCALED);
        *text = skip(*text, item->behind.len);
    }
}

enum df_status column_list_take(const char *option, enum column_list_kind kind,
                                struct bytes *text, struct buf *room,
                                struct column_list_item *item,
                                struct df_error *err)
{
    const struct bytes whole = *text;
    enum df_status status;

    assert(room->capacity - room->len >= text->len);
    *item = (struct column_list_item){ 0 };
    if (kind == COLUMN_LIST_COUNTED) {
        take_before(text, item);
    }
    status = take_name(option, kind, text, room, item, err);
    if (status == DF_OK && kind != COLUMN_LIST_NAMES) {
        take_behind(text, item);
    }
    if (status != DF_OK || text->len == 0) {
        return status;
    }
    if (!begins_with(*text, ',') || text->len == 1) {
        return unclear(option, begins_with(*text, ',') ? *text : whole, err);
    }
    *text = skip(*text, 1);
    return DF_OK;
}

bool column_list_append_name(struct buf *out, struct bytes name)
{
    bool quoted = name.len == 0 ||
                  plain_word(name, COLUMN_LIST_SCALED).len < name.len ||
                  bytes_equal(name, bytes_of_string("*"));
    bool ok = !quoted || buf_append_byte(out, '"');

    for (size_t i = 0; ok && i < name.len; i++) {
        ok = (name.data[i] != '"' || buf_append_byte(out, '"')) &&
             buf_append_byte(out, name.data[i]);
    }
    return ok && (!quoted || buf_append_byte(out, '"'));
}
