#include "jobs/aggregate/find.h"

#include "jobs/aggregate/quoted.h"
#include "jobs/aggregate/value.h"

static bool is_word(struct bytes text, const char *word)
{
    return bytes_equal(text, bytes_of_string(word));
}

static bool begins_a_number(uint8_t byte)
{
    return byte == '-' || (byte >= '0' && byte <= '9');
}

bool find_reads_as_json(struct bytes text)
{
    uint8_t first = text.len > 0 ? text.data[0] : 0;

    return first == '"' || first == '[' || first == '{' ||
           begins_a_number(first) || is_word(text, "true") ||
           is_word(text, "false");
}

static enum df_status bad_key(struct bytes text, const char *why,
                              struct df_error *err)
{
    return error_set(err, DF_USAGE, "KEY '%s': %s",
                     shown(&(struct shown){ 0 }, text), why);
}

/* Appends a field without the escapes of TSV; false where it has others. out
 * has room. */
static bool unescape(struct buf *out, struct bytes field)
{
    static const char letters[] = "tnr\\";
    static const char meanings[] = "\t\n\r\\";

    for (size_t i = 0; i < field.len; i++) {
        uint8_t byte = field.data[i];

        if (byte == '\\') {
            uint8_t letter = ++i < field.len ? field.data[i] : 0;
            const char *at = letter != 0 ? strchr(letters, letter) : NULL;

            if (at == NULL) {
                return false;
            }
            byte = (uint8_t)meanings[at - letters];
        }
        out->data[out->len++] = byte;
    }
    return true;
}

/* A field in the making: where its bytes lie. */
struct typed {
    struct buf text;
    struct buf other; /* of a JSON string; the canonical form of a number */
    struct df_field field;
};

static void take(struct typed *t, enum df_kind kind, const struct buf *b)
{
    t->field =
        (struct df_field){ .kind = kind, .data = b->data, .len = b->len };
}

static enum df_status take_string(struct typed *t, struct df_error *err)
{
    switch (quoted_parse(&t->other, buf_bytes(&t->text))) {
    case QUOTED_OK:
        take(t, DF_TEXT, &t->other);
        return DF_OK;
    case QUOTED_BAD:
        return bad_key(buf_bytes(&t->text), "is no JSON string", err);
    case QUOTED_NO_MEMORY:
        break;
    }
    return error_no_memory(err);
}

/* A text of an ndjson view: as find_reads_as_json tells them apart. */
static enum df_status take_json(struct typed *t, struct df_error *err)
{
    struct bytes text = buf_bytes(&t->text);
    uint8_t first = text.len > 0 ? text.data[0] : 0;
    enum df_kind kind = DF_TEXT;

    if (first == '"') {
        return take_string(t, err);
    }
    if (!buf_reserve(&t->other, DF_NUMBER_ROOM(text.len))) {
        return error_no_memory(err);
    }
    if (first == '[' || first == '{') {
        kind = DF_NESTED;
    } else if (is_word(text, "true")) {
        kind = DF_TRUE;
    } else if (is_word(text, "false")) {
        kind = DF_FALSE;
    } else if (begins_a_number(first) &&
               df_number_canonical(text.data, text.len, t->other.data) > 0) {
        kind = DF_NUMBER;
    }
    take(t, kind, &t->text);
    return DF_OK;
}

static enum df_status take_field(const struct query *p, struct bytes field,
                                 struct typed *t, struct df_error *err)
{
    if (!buf_reserve(&t->text, field.len + DF_SLACK) ||
        !buf_reserve(&t->other, DF_SLACK)) {
        return error_no_memory(err);
    }
    if (is_word(field, "\\N")) {
        take(t, DF_NULL, &t->text);
        return DF_OK;
    }
    if (!unescape(&t->text, field)) {
        return bad_key(field, "a backslash begins \\t, \\n, \\r, \\\\ or \\N",
                       err);
    }
    take(t, DF_TEXT, &t->text);
    return p->is_ndjson ? take_json(t, err) : DF_OK;
}

/* Appends the code of a field, as the last part of key or another. */
static enum df_status append_code(struct buf *key, const struct df_field *f,
                                  bool is_last, struct df_error *err)
{
    struct buf code = { 0 };
    enum value_fault fault = value_append(&code, f);
    bool ok = true;

    if (fault == VALUE_OK && is_last) {
        ok = code.len == 0 || buf_append(key, code.data, code.len);
    } else if (fault == VALUE_OK) {
        ok = value_append_part(key, buf_bytes(&code));
    }
    buf_fini(&code);
    if (fault == VALUE_BAD_NUMBER) {
        return bad_key(bytes_of(f->data, f->len),
                       "has too many digits or too great an exponent", err);
    }
    return ok && fault == VALUE_OK ? DF_OK : error_no_memory(err);
}

static enum df_status append_field(const struct query *p, struct buf *key,
                                   struct bytes field, bool is_last,
                                   struct df_error *err)
{
    struct typed t = { 0 };
    enum df_status status = take_field(p, field, &t, err);

    if (status == DF_OK) {
        status = append_code(key, &t.field, is_last, err);
    }
    buf_fini(&t.text);
    buf_fini(&t.other);
    return status;
}

/* The bytes up to the next TAB; *more tells whether there is one. */
static struct bytes take_column(struct bytes *rest, bool *more)
{
    const uint8_t *tab =
        rest->len > 0 ? memchr(rest->data, '\t', rest->len) : NULL;
    struct bytes column = *rest;

    *more = tab != NULL;
    if (*more) {
        column.len = (size_t)(tab - rest->data);
        *rest = bytes_of(tab + 1, rest->len - column.len - 1);
    }
    return column;
}

static enum df_status wrong_columns(const struct query *p, struct bytes text,
                                    struct df_error *err)
{
    struct shown s;

    if (p->by_count == 0) {
        return error_set(
            err, DF_USAGE,
            "KEY '%s': all records are one group, whose key is ''",
            shown(&s, text));
    }
    return error_set(err, DF_USAGE,
                     "KEY '%s': a key of this view has %u column%s%s",
                     shown(&s, text), p->by_count, p->by_count == 1 ? "" : "s",
                     p->by_count == 1 ? "; a TAB in it is written \\t"
                                      : ", with a TAB between");
}

enum df_status find_key(const struct query *p, struct bytes text,
                        struct buf *key, struct df_error *err)
{
    struct bytes rest = text;
    bool more = p->by_count > 0 || text.len > 0;

    buf_reset(key);
    if (!buf_reserve(key, 1)) {
        return error_no_memory(err);
    }
    for (unsigned i = 0; i < p->by_count; i++) {
        struct bytes column = take_column(&rest, &more);
        bool is_last = i + 1 == p->by_count;
        enum df_status status;

        if (is_last == more) {
            return wrong_columns(p, text, err);
        }
        status = append_field(p, key, column, is_last, err);
        if (status != DF_OK) {
            return status;
        }
    }
    return more ? wrong_columns(p, text, err) : DF_OK;
}
