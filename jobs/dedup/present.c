#include "jobs/dedup/present.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/tsv.h"
#include "jobs/dedup/dedup.h"
#include "jobs/dedup/key.h"
#include "jobs/typed.h"

enum { NUMBER_TEXT = 24 /* a 64-bit integer */ };

struct presenter {
    const struct dedup_config *config;
    struct buf key;  /* of the line at hand */
    bool no_memory;  /* for it */
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

/* The key's columns, the span, copies, the time. */
static bool has_numbers(const void *config, unsigned i)
{
    const struct dedup_config *c = config;
    size_t n = c->key_count > 0 ? c->key_count : 1;

    if (i < n) {
        return c->key_count > 0 && c->is_ndjson;
    }
    return i == n + (c->is_by_span ? 1 : 0) || c->unit != INSTANT_ISO;
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
    p->no_memory = !buf_append(&p->key, key, len);
    return len > 0 && key[0] == kind;
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

static enum df_status has_memory(bool ok)
{
    return ok ? DF_OK : DF_SYSTEM;
}

/* A whole record of csv or tsv, as an object of texts: names and values,
 * each after its length in eight bytes. */
static enum df_status append_record(struct buf *out, struct bytes whole)
{
    bool ok = buf_append_byte(out, '{');

    for (unsigned i = 0; ok && whole.len >= 8; i++) {
        uint64_t len = load_be64(whole.data);

        if (len > whole.len - 8) {
            return DF_STATE;
        }
        ok = (i == 0 || buf_append_byte(out, i % 2 == 0 ? ',' : ':')) &&
             json_text_append(out, bytes_of(whole.data + 8, (size_t)len));
        whole = bytes_of(whole.data + 8 + len, whole.len - 8 - (size_t)len);
    }
    return has_memory(ok && buf_append_byte(out, '}'));
}

/* ---- cells ---- */

/* Where a cell's text lies in p->text, until that does not move any more. */
struct stretch {
    enum df_cell_kind kind;
    size_t begin;
    size_t end;
};

static enum df_status put_part(struct presenter *p,
                               const struct key_part *part,
                               enum df_cell_kind *kind)
{
    const struct dedup_config *c = p->config;

    *kind = DF_CELL_JSON;
    switch (part->kind) {
    case 'n':
        *kind = DF_CELL_NUMBER;
        break;
    case 'f':
        return has_memory(buf_append_string(&p->text, "false"));
    case 'y':
        return has_memory(buf_append_string(&p->text, "true"));
    case 'w':
        if (c->is_table) {
            return append_record(&p->text, part->value);
        }
        *kind = c->is_ndjson ? DF_CELL_JSON : DF_CELL_TEXT;
        break;
    case 't':
        if (c->is_ndjson && typed_is_ambiguous(part->value)) {
            return has_memory(json_text_append(&p->text, part->value));
        }
        *kind = DF_CELL_TEXT;
        break;
    default:
        break;
    }
    return has_memory(buf_append(&p->text, part->value.data, part->value.len));
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

/* The key's own columns. */
static enum df_status put_key(struct presenter *p, struct bytes key, size_t n)
{
    struct stretch parts[DF_COLUMNS_MAX];
    enum df_status status = DF_OK;

    buf_reset(&p->text);
    for (size_t i = 0; status == DF_OK && i < n; i++) {
        struct key_part part;

        parts[i].begin = p->text.len;
        status = key_next(&key, n == 1, &part)
                     ? put_part(p, &part, &parts[i].kind)
                     : DF_STATE;
        parts[i].end = p->text.len;
    }
    for (size_t i = 0; status == DF_OK && i < n; i++) {
        set_cell(&p->cells[i], parts[i].kind, p->text.data + parts[i].begin,
                 parts[i].end - parts[i].begin);
    }
    return status == DF_OK && key.len > 0 ? DF_STATE : status;
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

    enum df_status status;

    *cells = p->cells;
    if (p->no_memory || p->key.len < head) {
        return p->no_memory ? DF_SYSTEM : DF_STATE;
    }
    status = put_key(p, bytes_of(p->key.data + head, p->key.len - head), n);
    if (status != DF_OK) {
        return status;
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
    unsigned n = key_columns(p->config);
    struct shown s;

    return error_set(err, DF_USAGE,
                     "KEY '%s': a key of this view has %u column%s%s",
                     shown(&s, bytes_of(text, len)), n, n == 1 ? "" : "s",
                     n == 1 ? "; a TAB in it is written \\t"
                            : ", with a TAB between, as export shows them");
}

/* Appends one column of n to the key that is sought. */
static enum df_status append_column(struct presenter *p, struct bytes column,
                                    size_t n, struct df_error *err)
{
    const struct dedup_config *c = p->config;
    struct df_field f;
    size_t len = 0;
    enum df_status status =
        typed_read(&p->text, column, c->is_ndjson, &f, err);

    if (status != DF_OK) {
        return status;
    }
    if (f.kind == DF_NULL) {
        return typed_refuse(column, "is null, which no key is", err);
    }
    switch (key_append_field(&p->found, &f, n == 1, c->key_count == 0, &len)) {
    case KEY_TOO_LONG:
        return typed_refuse(column, "is longer than a key can be", err);
    case KEY_NO_MEMORY:
        return error_no_memory(err);
    case KEY_OK:
        break;
    }
    return DF_OK;
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
    for (size_t i = 0; status == DF_OK && i < n; i++) {
        status = more ? append_column(p, tsv_take(&rest, &more), n, err)
                      : wrong_columns(p, text, len, err);
    }
    if (status == DF_OK && more != c->is_by_span) {
        status = wrong_columns(p, text, len, err);
    }
    if (status == DF_OK && c->is_by_span) {
        status = find_span(p, rest, err);
    }
    *key = p->found.data;
    *key_len = p->found.len;
    return status;
}

const struct df_present dedup_present = {
    .columns = columns,
    .key_columns = key_columns,
    .has_numbers = has_numbers,
    .open = open_presenter,
    .close = close_presenter,
    .key = begin_key,
    .row = take_row,
    .cells = make_cells,
    .find = find_key,
};
