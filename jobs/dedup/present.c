#include "jobs/dedup/present.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/utf8.h"
#include "jobs/dedup/dedup.h"
#include "jobs/dedup/key.h"

enum { NUMBER_TEXT = 24 /* a 64-bit integer */ };

struct presenter {
    const struct dedup_config *config;
    struct buf key;  /* of the line at hand */
    struct buf text; /* what cells are made of */
    struct buf found;
    char copies[NUMBER_TEXT];
    char time[INSTANT_TEXT];
    char span[INSTANT_TEXT];
    struct df_cell *cells;
};

/* ---- columns ---- */

static const char *const *columns(const void *config)
{
    const struct dedup_config *c = config;

    return c->shown;
}

static unsigned key_columns(const void *config)
{
    const struct dedup_config *c = config;
    size_t n = c->key_count > 0 ? c->key_count : 1;

    return (unsigned)n + (c->is_by_span ? 1 : 0);
}

static void close_presenter(void *presenter)
{
    struct presenter *p = presenter;

    if (p != NULL) {
        buf_fini(&p->key);
        buf_fini(&p->text);
        buf_fini(&p->found);
        free(p->cells);
        free(p);
    }
}

static enum df_status open_presenter(const void *config, void **presenter,
                                     struct df_error *err)
{
    struct presenter *p = calloc(1, sizeof *p);

    *presenter = p;
    if (p == NULL) {
        return error_no_memory(err);
    }
    p->config = config;
    p->cells = calloc(DF_COLUMNS_MAX + 3, sizeof *p->cells);
    if (p->cells == NULL) {
        close_presenter(p);
        *presenter = NULL;
        return error_no_memory(err);
    }
    return DF_OK;
}

/* ---- rows ---- */

static bool begin_key(void *presenter, const uint8_t *key, size_t len)
{
    struct presenter *p = presenter;
    uint8_t kind = p->config->is_by_span ? DF_FOLD_SPAN : DF_FOLD_KEY;

    buf_reset(&p->key);
    /* Without memory the key is short, and cells says so. */
    return len > 0 && key[0] == kind &&
           (buf_append(&p->key, key, len) || true);
}

static enum df_status take_row(void *presenter, const uint8_t *element,
                               size_t element_len, const int64_t *values)
{
    struct presenter *p = presenter;
    const struct dedup_config *c = p->config;

    (void)element;
    (void)element_len;
    (void)snprintf(p->copies, sizeof p->copies, "%" PRId64, values[0]);
    if (c->is_timed) {
        (void)instant_text(p->time, c->unit, values[1]);
    }
    return DF_OK;
}

/* ---- JSON ---- */

static bool is_json_number(struct bytes text)
{
    uint8_t room[DF_NUMBER_ROOM(64)];

    /* Longer ones are not mistaken for numbers by people either. */
    return text.len <= 64 &&
           df_number_canonical(text.data, text.len, room) > 0;
}

/* Whether find would take the text for something else. */
static bool is_ambiguous(const struct dedup_config *c, struct bytes text)
{
    return c->is_ndjson &&
           (is_json_number(text) ||
            (text.len > 0 && strchr("\"[{", text.data[0]) != NULL) ||
            bytes_equal(text, bytes_of_string("true")) ||
            bytes_equal(text, bytes_of_string("false")));
}

static bool append_quoted(struct buf *out, struct bytes text)
{
    bool ok = buf_append_byte(out, '"');

    for (size_t i = 0; ok && i < text.len;) {
        uint8_t byte = text.data[i];
        uint32_t point;
        size_t n = utf8_decode(text.data + i, text.len - i, &point);

        if (byte == '"' || byte == '\\') {
            ok = buf_append_byte(out, '\\') && buf_append_byte(out, byte);
        } else if (byte < 0x20) {
            ok = buf_printf(out, "\\u%04x", byte);
        } else if (point == UTF8_BAD) {
            ok = buf_append_string(out, "\xEF\xBF\xBD");
        } else {
            ok = buf_append(out, text.data + i, n);
        }
        i += n;
    }
    return ok && buf_append_byte(out, '"');
}

/* A whole record of csv or tsv, as an object of texts: names and values,
 * each after its length in eight bytes. */
static bool append_record(struct buf *out, struct bytes whole)
{
    bool ok = buf_append_byte(out, '{');

    for (unsigned i = 0; ok && whole.len >= 8; i++) {
        uint64_t len = load_be64(whole.data);

        if (len > whole.len - 8) {
            return false;
        }
        ok = (i == 0 || buf_append_byte(out, i % 2 == 0 ? ',' : ':')) &&
             append_quoted(out, bytes_of(whole.data + 8, (size_t)len));
        whole = bytes_of(whole.data + 8 + len, whole.len - 8 - (size_t)len);
    }
    return ok && buf_append_byte(out, '}');
}

/* ---- cells ---- */

/* Where a cell's text lies in p->text, until that does not move any more. */
struct stretch {
    enum df_cell_kind kind;
    size_t begin;
    size_t end;
};

static bool put_part(struct presenter *p, const struct key_part *part,
                     enum df_cell_kind *kind)
{
    const struct dedup_config *c = p->config;

    *kind = DF_CELL_JSON;
    switch (part->kind) {
    case 'n':
        *kind = DF_CELL_NUMBER;
        break;
    case 'f':
        return buf_append_string(&p->text, "false");
    case 'y':
        return buf_append_string(&p->text, "true");
    case 'w':
        if (c->is_table) {
            return append_record(&p->text, part->value);
        }
        *kind = c->is_ndjson ? DF_CELL_JSON : DF_CELL_TEXT;
        break;
    case 't':
        if (is_ambiguous(c, part->value)) {
            return append_quoted(&p->text, part->value);
        }
        *kind = DF_CELL_TEXT;
        break;
    default:
        break;
    }
    return buf_append(&p->text, part->value.data, part->value.len);
}

static void set_cell(struct df_cell *cell, enum df_cell_kind kind,
                     const void *data, size_t len)
{
    *cell = (struct df_cell){ .kind = kind, .data = data, .len = len };
}

static void set_text(struct df_cell *cell, enum df_cell_kind kind,
                     const char *text)
{
    set_cell(cell, kind, text, strlen(text));
}

static enum df_cell_kind instant_kind(const struct dedup_config *c)
{
    return c->unit == INSTANT_ISO ? DF_CELL_TEXT : DF_CELL_NUMBER;
}

/* The key's own columns; false where the key is none that the job writes. */
static bool put_key(struct presenter *p, struct bytes key, size_t n)
{
    struct stretch parts[DF_COLUMNS_MAX];

    buf_reset(&p->text);
    for (size_t i = 0; i < n; i++) {
        struct key_part part;

        parts[i].begin = p->text.len;
        if (!key_next(&key, n == 1, &part) ||
            !put_part(p, &part, &parts[i].kind)) {
            return false;
        }
        parts[i].end = p->text.len;
    }
    for (size_t i = 0; i < n; i++) {
        set_cell(&p->cells[i], parts[i].kind, p->text.data + parts[i].begin,
                 parts[i].end - parts[i].begin);
    }
    return key.len == 0;
}

static int64_t span_of(const uint8_t *key)
{
    return (int64_t)(load_be64(key + 1) ^ (uint64_t)1 << 63);
}

static enum df_status make_cells(void *presenter, const struct df_cell **cells)
{
    struct presenter *p = presenter;
    const struct dedup_config *c = p->config;
    size_t head = c->is_by_span ? DF_FOLD_SPAN_HEAD : 1;
    size_t n = c->key_count > 0 ? c->key_count : 1;

    *cells = p->cells;
    if (p->key.len < head ||
        !put_key(p, bytes_of(p->key.data + head, p->key.len - head), n)) {
        return DF_STATE;
    }
    if (c->is_by_span) {
        (void)instant_text(p->span, c->unit, span_of(p->key.data));
        set_text(&p->cells[n++], instant_kind(c), p->span);
    }
    set_text(&p->cells[n++], DF_CELL_NUMBER, p->copies);
    if (c->is_timed) {
        set_text(&p->cells[n], instant_kind(c), p->time);
    }
    return DF_OK;
}

/* ---- finding ---- */

/* Takes a cell off a text, up to a TAB, without its escapes. */
static bool take_cell(struct bytes *text, struct buf *out, bool *more)
{
    size_t i = 0;
    bool ok = true;

    buf_reset(out);
    for (; ok && i < text->len && text->data[i] != '\t'; i++) {
        uint8_t byte = text->data[i];

        if (byte == '\\' && i + 1 < text->len) {
            static const char from[] = "tnr\\";
            static const char to[] = "\t\n\r\\";
            const char *at = strchr(from, text->data[i + 1]);

            if (at != NULL && *at != '\0') {
                byte = (uint8_t)to[at - from];
                i++;
            }
        }
        ok = buf_append_byte(out, byte);
    }
    *more = i < text->len;
    i += *more ? 1 : 0;
    *text = bytes_of(text->data + i, text->len - i);
    return ok;
}

static bool hex4(struct bytes b, uint32_t *v)
{
    *v = 0;
    for (size_t i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *at = i < b.len && b.data[i] != 0
                             ? strchr(digits, b.data[i] | 0x20)
                             : NULL;

        if (at == NULL) {
            return false;
        }
        *v = *v << 4 | (uint32_t)(at - digits);
    }
    return true;
}

/* The text between the quotes of a JSON string, unescaped in place; false
 * where it is none. Pairs of surrogates are not needed: nothing here
 * writes them. */
static bool unquote(struct buf *b)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    size_t len = 0;
    size_t i = 1;

    for (; i < b->len && b->data[i] != '"'; i++) {
        const char *at;
        uint32_t point;

        if (b->data[i] != '\\') {
            b->data[len++] = b->data[i];
            continue;
        }
        i++;
        at = i < b->len && b->data[i] != 0 ? strchr(from, b->data[i]) : NULL;
        if (at != NULL) {
            b->data[len++] = (uint8_t)to[at - from];
        } else if (i < b->len && b->data[i] == 'u' &&
                   hex4(bytes_of(b->data + i + 1, b->len - i - 1), &point)) {
            len += utf8_put(b->data + len, point);
            i += 4;
        } else {
            return false;
        }
    }
    if (i + 1 != b->len) {
        return false;
    }
    b->len = len;
    return true;
}

/* What a cell means: in ndjson a number, true, false, an array or object, or
 * a text in quotes; everything else is the text that it is. */
static bool field_of(const struct dedup_config *c, struct buf *cell,
                     struct df_field *f)
{
    struct bytes b = buf_bytes(cell);

    f->kind = DF_TEXT;
    if (c->is_ndjson && is_json_number(b)) {
        f->kind = DF_NUMBER;
    } else if (c->is_ndjson && bytes_equal(b, bytes_of_string("true"))) {
        f->kind = DF_TRUE;
    } else if (c->is_ndjson && bytes_equal(b, bytes_of_string("false"))) {
        f->kind = DF_FALSE;
    } else if (c->is_ndjson && b.len > 0 && strchr("[{", b.data[0]) != NULL) {
        f->kind = DF_NESTED;
    } else if (c->is_ndjson && b.len > 0 && b.data[0] == '"' &&
               !unquote(cell)) {
        return false;
    }
    f->data = cell->data;
    f->len = cell->len;
    return true;
}

static enum df_status find_span(struct presenter *p, struct bytes text,
                                struct df_error *err)
{
    struct shown s;
    int64_t span;

    if (!instant_read(p->config->unit, text, &span)) {
        return error_set(err, DF_USAGE, "'%s' is no span: see export",
                         shown(&s, text));
    }
    store_be64(p->found.data + 1, (uint64_t)span ^ (uint64_t)1 << 63);
    return DF_OK;
}

static enum df_status wrong_columns(const struct presenter *p,
                                    const char *text, size_t len,
                                    struct df_error *err)
{
    struct shown s;

    return error_set(err, DF_USAGE,
                     "'%s' is no key of this view: give %u columns, a TAB "
                     "between them, as export shows them",
                     shown(&s, bytes_of(text, len)), key_columns(p->config));
}

/* Appends one field of n to the key that is sought. */
static bool append_part(struct presenter *p, size_t n, bool is_whole)
{
    struct df_field f;
    size_t len = 0;

    return field_of(p->config, &p->text, &f) &&
           key_append_field(&p->found, &f, n == 1, is_whole, &len) == KEY_OK;
}

static enum df_status find_key(void *presenter, const char *text, size_t len,
                               const uint8_t **key, size_t *key_len,
                               struct df_error *err)
{
    static const uint8_t head[DF_FOLD_SPAN_HEAD] = { 0 };
    struct presenter *p = presenter;
    const struct dedup_config *c = p->config;
    size_t n = c->key_count > 0 ? c->key_count : 1;
    struct bytes rest = bytes_of(text, len);
    enum df_status status = DF_OK;
    bool more = true;

    if (c->is_table && c->key_count == 0) {
        return error_set(err, DF_USAGE,
                         "the key of this view is the whole record, which "
                         "cannot be given: search what export prints");
    }
    buf_reset(&p->found);
    if (!buf_append(&p->found, head, c->is_by_span ? sizeof head : 1)) {
        return error_no_memory(err);
    }
    p->found.data[0] = c->is_by_span ? DF_FOLD_SPAN : DF_FOLD_KEY;
    for (size_t i = 0; i < n; i++) {
        if (!more || !take_cell(&rest, &p->text, &more) ||
            !append_part(p, n, c->key_count == 0)) {
            return wrong_columns(p, text, len, err);
        }
    }
    if (c->is_by_span) {
        status =
            more ? find_span(p, rest, err) : wrong_columns(p, text, len, err);
        more = false;
    }
    if (status == DF_OK && more) {
        status = wrong_columns(p, text, len, err);
    }
    *key = p->found.data;
    *key_len = p->found.len;
    return status;
}

const struct df_present dedup_present = {
    .columns = columns,
    .key_columns = key_columns,
    .open = open_presenter,
    .close = close_presenter,
    .key = begin_key,
    .row = take_row,
    .cells = make_cells,
    .find = find_key,
};
