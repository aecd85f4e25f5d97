#include "jobs/aggregate/show.h"

#include <stdlib.h>

#include "jobs/aggregate/decimal.h"
#include "jobs/aggregate/find.h"
#include "jobs/aggregate/frequent.h"
#include "jobs/aggregate/query.h"
#include "jobs/aggregate/quoted.h"
#include "jobs/aggregate/value.h"
#include "jobs/typed.h"

/* What is known of a set when its rows have gone by. */
struct set_seen {
    struct buf least; /* code of the first value */
    struct buf greatest;
    int64_t distinct;
};

struct presenter {
    const struct query *query;
    struct buf key;
    bool no_memory;                    /* for it */
    int64_t values[DF_COMPONENTS_MAX]; /* of the group's own row */
    struct set_seen *sets;
    struct frequent *tops; /* by item; of QUERY_TOP alone */
    struct df_cell *cells; /* group columns, then items */
    struct buf *texts;     /* what a cell points to, where it must be made */
    struct buf room;       /* parts of a key */
    struct buf found;      /* the key that find made */
};

static unsigned cell_count(const struct query *p)
{
    return p->by_count + p->item_count;
}

static void show_close(void *opaque)
{
    struct presenter *s = opaque;

    if (s == NULL) {
        return;
    }
    for (unsigned i = 0; s->sets != NULL && i < s->query->set_count; i++) {
        buf_fini(&s->sets[i].least);
        buf_fini(&s->sets[i].greatest);
    }
    for (unsigned i = 0; s->tops != NULL && i < s->query->item_count; i++) {
        frequent_fini(&s->tops[i]);
    }
    for (unsigned i = 0; s->texts != NULL && i < cell_count(s->query); i++) {
        buf_fini(&s->texts[i]);
    }
    free(s->sets);
    free(s->tops);
    free(s->cells);
    free(s->texts);
    buf_fini(&s->key);
    buf_fini(&s->room);
    buf_fini(&s->found);
    free(s);
}

static enum df_status show_open(const void *config, void **out,
                                struct df_error *err)
{
    const struct query *p = config;
    struct presenter *s = calloc(1, sizeof *s);

    *out = NULL;
    if (s == NULL) {
        return error_no_memory(err);
    }
    s->query = p;
    s->sets = calloc((size_t)p->set_count + 1, sizeof *s->sets);
    s->tops = calloc((size_t)p->item_count + 1, sizeof *s->tops);
    s->cells = calloc((size_t)cell_count(p) + 1, sizeof *s->cells);
    s->texts = calloc((size_t)cell_count(p) + 1, sizeof *s->texts);
    if (s->sets == NULL || s->tops == NULL || s->cells == NULL ||
        s->texts == NULL) {
        show_close(s);
        return error_no_memory(err);
    }
    for (unsigned i = 0; i < p->item_count; i++) {
        frequent_init(&s->tops[i], p->items[i].n);
    }
    *out = s;
    return DF_OK;
}

static const char *const *show_columns(const void *config)
{
    const struct query *p = config;

    return p->shown;
}

static unsigned show_key_columns(const void *config)
{
    const struct query *p = config;

    return p->by_count;
}

/* Of csv all group columns are text. */
static bool show_has_numbers(const void *config, unsigned i)
{
    const struct query *p = config;
    const struct query_item *item;

    if (i < p->by_count) {
        return p->is_ndjson;
    }
    item = &p->items[i - p->by_count];
    return item->kind != QUERY_TOP &&
           !((item->kind == QUERY_MIN || item->kind == QUERY_MAX) &&
             item->is_text);
}

/* ---- rows ---- */

static bool set_buf(struct buf *b, struct bytes bytes)
{
    buf_reset(b);
    return bytes.len == 0 || buf_append(b, bytes.data, bytes.len);
}

static bool show_key(void *opaque, const uint8_t *key, size_t key_len)
{
    struct presenter *s = opaque;

    memset(s->values, 0, sizeof s->values);
    for (unsigned i = 0; i < s->query->set_count; i++) {
        s->sets[i].distinct = 0;
    }
    for (unsigned i = 0; i < s->query->item_count; i++) {
        frequent_reset(&s->tops[i]);
    }
    s->no_memory = !buf_reserve(&s->key, key_len + 1) ||
                   !set_buf(&s->key, bytes_of(key, key_len));
    return true;
}

static bool offer_to_tops(struct presenter *s, unsigned set, struct bytes code,
                          int64_t times)
{
    const struct query *p = s->query;

    for (unsigned i = 0; i < p->item_count; i++) {
        if (p->items[i].kind == QUERY_TOP && p->items[i].of == set &&
            !frequent_offer(&s->tops[i], code, times)) {
            return false;
        }
    }
    return true;
}

static enum df_status show_row(void *opaque, const uint8_t *element,
                               size_t element_len, const int64_t *values)
{
    struct presenter *s = opaque;
    struct set_seen *seen;
    struct bytes code;
    unsigned set;

    if (element_len == 0) {
        memcpy(s->values, values,
               s->query->component_count * sizeof *s->values);
        return DF_OK;
    }
    set = element[0] - 1u;
    code = bytes_of(element + 1, element_len - 1);
    if (set >= s->query->set_count) {
        return DF_STATE;
    }
    if (values[0] <= 0) {
        return DF_OK; /* kept by --on-negative=allow; it is not there */
    }
    seen = &s->sets[set];
    if (seen->distinct++ == 0 && !set_buf(&seen->least, code)) {
        return DF_SYSTEM;
    }
    if (!set_buf(&seen->greatest, code) ||
        !offer_to_tops(s, set, code, values[0])) {
        return DF_SYSTEM;
    }
    return DF_OK;
}

/* ---- cells ---- */

static void set_cell(struct df_cell *cell, enum df_cell_kind kind,
                     const struct buf *text)
{
    *cell = (struct df_cell){ kind, text->data, text->len };
}

static enum df_status number_cell(struct df_cell *cell, struct buf *text,
                                  int64_t v)
{
    buf_reset(text);
    if (!buf_printf(text, "%lld", (long long)v)) {
        return DF_SYSTEM;
    }
    set_cell(cell, DF_CELL_NUMBER, text);
    return DF_OK;
}

static decimal_wide sum_at(const int64_t *values)
{
    return (decimal_wide)((decimal_wide_bits)(uint64_t)values[1] << 64 |
                          (uint64_t)values[0]);
}

/* A sum or an average; null of no values. */
static enum df_status sum_cell(const struct presenter *s,
                               const struct query_item *item,
                               struct df_cell *cell, struct buf *text)
{
    const struct query_measure *m = &s->query->measures[item->of];
    decimal_wide sum = sum_at(s->values + m->sum);
    int64_t count = s->values[m->count];

    buf_reset(text);
    if (count <= 0) {
        *cell = (struct df_cell){ .kind = DF_CELL_NULL };
        return DF_OK;
    }
    if (!buf_reserve(text, DECIMAL_TEXT_MAX)) {
        return DF_SYSTEM;
    }
    text->len = item->kind == QUERY_SUM
                    ? decimal_text(text->data, sum, m->scale)
                    : decimal_quotient(text->data, sum, m->scale, count);
    set_cell(cell, DF_CELL_NUMBER, text);
    return DF_OK;
}

/* The least or the greatest value of a set of numbers or texts. */
static enum df_status end_cell(const struct presenter *s,
                               const struct query_item *item,
                               struct df_cell *cell, struct buf *text)
{
    const struct set_seen *seen = &s->sets[item->of];
    const struct buf *end =
        item->kind == QUERY_MIN ? &seen->least : &seen->greatest;

    buf_reset(text);
    if (seen->distinct == 0) {
        *cell = (struct df_cell){ .kind = DF_CELL_NULL };
        return DF_OK;
    }
    if (item->is_text) {
        set_cell(cell, DF_CELL_TEXT, end);
        return DF_OK;
    }
    if (!buf_reserve(text, decimal_decode_room(end->len))) {
        return DF_SYSTEM;
    }
    text->len = decimal_decode(buf_bytes(end), text->data);
    set_cell(cell, DF_CELL_NUMBER, text);
    return text->len > 0 ? DF_OK : DF_STATE;
}

/* Appends one value of a list as JSON. */
static enum df_status append_json(struct presenter *s, struct buf *text,
                                  struct bytes code)
{
    struct df_cell cell = { DF_CELL_TEXT, code.data, code.len };
    enum df_status status = DF_OK;
    struct bytes b;
    bool ok;

    buf_reset(&s->room);
    if (s->query->is_ndjson) {
        status = value_cell(code, &s->room, &cell);
    }
    if (status != DF_OK) {
        return status;
    }
    b = bytes_of(cell.data, cell.len);
    ok = cell.kind == DF_CELL_TEXT ? quoted_append(text, b)
                                   : buf_append(text, b.data, b.len);
    return ok ? DF_OK : DF_SYSTEM;
}

/* [["red",3],["blue",2]] */
static enum df_status top_cell(struct presenter *s, unsigned item,
                               struct df_cell *cell, struct buf *text)
{
    struct frequent *f = &s->tops[item];
    enum df_status status = DF_OK;

    frequent_sort(f);
    buf_reset(text);
    if (!buf_append_byte(text, '[')) {
        return DF_SYSTEM;
    }
    for (size_t i = 0; status == DF_OK && i < frequent_count(f); i++) {
        if (!buf_append_string(text, i > 0 ? ",[" : "[")) {
            return DF_SYSTEM;
        }
        status = append_json(s, text, buf_bytes(&frequent_at(f, i)->code));
        if (status == DF_OK &&
            !buf_printf(text, ",%lld]", (long long)frequent_at(f, i)->times)) {
            status = DF_SYSTEM;
        }
    }
    if (status == DF_OK && !buf_append_byte(text, ']')) {
        status = DF_SYSTEM;
    }
    set_cell(cell, DF_CELL_JSON, text);
    return status;
}

static enum df_status item_cell(struct presenter *s, unsigned i)
{
    const struct query_item *item = &s->query->items[i];
    struct df_cell *cell = &s->cells[s->query->by_count + i];
    struct buf *text = &s->texts[s->query->by_count + i];

    switch (item->kind) {
    case QUERY_COUNT:
        return number_cell(cell, text, s->values[0]);
    case QUERY_COUNT_OF:
        return number_cell(cell, text,
                           s->values[s->query->measures[item->of].count]);
    case QUERY_SUM:
    case QUERY_AVG:
        return sum_cell(s, item, cell, text);
    case QUERY_MIN:
    case QUERY_MAX:
        return end_cell(s, item, cell, text);
    case QUERY_DISTINCT:
        return number_cell(cell, text, s->sets[item->of].distinct);
    case QUERY_TOP:
        break;
    }
    return top_cell(s, i, cell, text);
}

/* A group column, from its code. */
static enum df_status key_cell(struct presenter *s, unsigned i,
                               struct bytes code)
{
    struct df_cell *cell = &s->cells[i];
    struct buf *text = &s->texts[i];
    struct bytes shown;
    enum df_status status;

    buf_reset(text);
    status = value_cell(code, text, cell);
    if (status != DF_OK) {
        return status;
    }
    shown = bytes_of(cell->data, cell->len);
    if (cell->kind != DF_CELL_TEXT || !s->query->is_ndjson ||
        !typed_is_ambiguous(shown)) {
        return DF_OK;
    }
    if (!quoted_append(text, shown)) {
        return DF_SYSTEM;
    }
    set_cell(cell, DF_CELL_JSON, text);
    return DF_OK;
}

static enum df_status key_cells(struct presenter *s)
{
    const struct query *p = s->query;
    struct bytes rest = buf_bytes(&s->key);
    enum df_status status = DF_OK;
    struct bytes code;

    buf_reset(&s->room);
    if (!buf_reserve(&s->room, rest.len + 1)) {
        return DF_SYSTEM; /* from here on room does not move */
    }
    for (unsigned i = 0; status == DF_OK && i < p->by_count; i++) {
        code = rest;
        if (i + 1 < p->by_count && !value_take_part(&rest, &s->room, &code)) {
            return DF_STATE;
        }
        status = key_cell(s, i, code);
    }
    return status;
}

static enum df_status show_cells(void *opaque, const struct df_cell **cells)
{
    struct presenter *s = opaque;
    enum df_status status = s->no_memory ? DF_SYSTEM : key_cells(s);

    /* Texts of key cells may lie in room, which lists want for themselves:
     * they are copied first. */
    for (unsigned i = 0; status == DF_OK && i < s->query->by_count; i++) {
        struct df_cell *cell = &s->cells[i];

        if (cell->data != s->texts[i].data) {
            struct bytes b = bytes_of(cell->data, cell->len);

            if (!set_buf(&s->texts[i], b)) {
                status = DF_SYSTEM;
            }
            set_cell(cell, cell->kind, &s->texts[i]);
        }
    }
    for (unsigned i = 0; status == DF_OK && i < s->query->item_count; i++) {
        status = item_cell(s, i);
    }
    *cells = status == DF_OK ? s->cells : NULL;
    return status;
}

static enum df_status show_find(void *opaque, const char *text, size_t len,
                                const uint8_t **key, size_t *key_len,
                                struct df_error *err)
{
    struct presenter *s = opaque;
    enum df_status status =
        find_key(s->query, bytes_of(text, len), &s->found, err);

    *key = s->found.data;
    *key_len = s->found.len;
    return status;
}

const struct df_present show_present = {
    .columns = show_columns,
    .key_columns = show_key_columns,
    .has_numbers = show_has_numbers,
    .open = show_open,
    .close = show_close,
    .key = show_key,
    .row = show_row,
    .cells = show_cells,
    .find = show_find,
};
