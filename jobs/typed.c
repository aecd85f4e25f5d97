#include "jobs/typed.h"

#include "base/json_text.h"
#include "base/number.h"
#include "base/tsv.h"

static bool is_word(struct bytes text, const char *word)
{
    return bytes_equal(text, bytes_of_string(word));
}

static bool begins(struct bytes text, char byte)
{
    return text.len > 0 && text.data[0] == (uint8_t)byte;
}

/* What a text would be taken for; strings aside. */
static enum df_kind kind_of(struct bytes text)
{
    struct number n;

    if (begins(text, '[') || begins(text, '{')) {
        return DF_NESTED;
    }
    if (is_word(text, "true")) {
        return DF_TRUE;
    }
    if (is_word(text, "false")) {
        return DF_FALSE;
    }
    return number_parse(text, &n) == NUMBER_OK ? DF_NUMBER : DF_TEXT;
}

bool typed_is_ambiguous(struct bytes text)
{
    return begins(text, '"') || kind_of(text) != DF_TEXT;
}

enum df_status typed_refuse(struct bytes text, const char *why,
                            struct df_error *err)
{
    return error_set(err, DF_USAGE, "KEY '%s': %s",
                     shown(&(struct shown){ 0 }, text), why);
}

/* A JSON string becomes the text that it stands for. */
static bool unquote(struct buf *b)
{
    size_t last = b->len - 1;

    return last > 0 && b->data[last] == '"' &&
           json_text_unescape(bytes_of(b->data + 1, last - 1), b->data,
                              &b->len);
}

/* The column without TSV's escapes; false where it has others, and is no
 * JSON string, which may. */
static bool unescape(struct buf *out, struct bytes column, bool is_ndjson)
{
    if (tsv_unescape(column, out->data, &out->len)) {
        return true;
    }
    buf_reset(out);
    return is_ndjson && begins(column, '"') &&
           buf_append(out, column.data, column.len);
}

enum df_status typed_read(struct buf *out, struct bytes column, bool is_ndjson,
                          struct df_field *field, struct df_error *err)
{
    enum df_kind kind = DF_TEXT;

    buf_reset(out);
    if (!buf_reserve(out, column.len + DF_SLACK)) {
        return error_no_memory(err);
    }
    if (is_word(column, "\\N")) {
        kind = DF_NULL;
    } else if (!unescape(out, column, is_ndjson)) {
        return typed_refuse(
            column, "a backslash begins \\t, \\n, \\r, \\\\ or \\N", err);
    } else if (is_ndjson && begins(buf_bytes(out), '"')) {
        if (!unquote(out)) {
            return typed_refuse(column, "is no JSON string", err);
        }
    } else if (is_ndjson) {
        kind = kind_of(buf_bytes(out));
    }
    *field =
        (struct df_field){ .kind = kind, .data = out->data, .len = out->len };
    return DF_OK;
}
