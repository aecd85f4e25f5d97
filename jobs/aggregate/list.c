#include "jobs/aggregate/list.h"

#include <assert.h>

static bool is_special(uint8_t byte)
{
    return byte == ',' || byte == ':' || byte == '"' || byte <= ' ';
}

static struct bytes skip(struct bytes b, size_t n)
{
    return bytes_of(b.data + n, b.len - n);
}

/* Bytes up to a comma or a colon. */
static struct bytes plain_word(struct bytes text)
{
    size_t n = 0;

    while (n < text.len && !is_special(text.data[n])) {
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

static enum df_status take_name(const char *option, struct bytes *text,
                                struct buf *room, struct list_item *item,
                                struct df_error *err)
{
    enum df_status status = DF_OK;
    size_t begin = room->len;
    struct bytes word;

    if (text->len > 0 && text->data[0] == '"') {
        status = take_quoted(option, text, room, err);
    } else {
        word = plain_word(*text);
        if (word.len == 0) {
            return unclear(option, *text, err);
        }
        item->is_star = word.len == 1 && word.data[0] == '*';
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
static void take_before(struct bytes *text, struct list_item *item)
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

enum df_status list_take(const char *option, bool is_numbered,
                         struct bytes *text, struct buf *room,
                         struct list_item *item, struct df_error *err)
{
    const struct bytes whole = *text;
    enum df_status status;

    assert(room->capacity - room->len >= text->len);
    *item = (struct list_item){ 0 };
    if (is_numbered) {
        take_before(text, item);
    }
    status = take_name(option, text, room, item, err);
    if (status == DF_OK && begins_with(*text, ':')) {
        *text = skip(*text, 1);
        item->behind = plain_word(*text);
        *text = skip(*text, item->behind.len);
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

bool list_append_name(struct buf *out, struct bytes name)
{
    bool quoted = name.len == 0 || plain_word(name).len < name.len ||
                  bytes_equal(name, bytes_of_string("*"));
    bool ok = !quoted || buf_append_byte(out, '"');

    for (size_t i = 0; ok && i < name.len; i++) {
        ok = (name.data[i] != '"' || buf_append_byte(out, '"')) &&
             buf_append_byte(out, name.data[i]);
    }
    return ok && (!quoted || buf_append_byte(out, '"'));
}
