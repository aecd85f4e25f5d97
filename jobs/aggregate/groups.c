#include "jobs/aggregate/groups.h"

#include <stdio.h>
#include <stdlib.h>

#include "jobs/aggregate/decimal.h"
#include "jobs/aggregate/value.h"

/* Records per list of pairs: what the runtime looks ahead, and the numbers
 * of that many stay in the first cache. */
enum { PIECE = 128 };
/* Bytes of made-up keys from which on a piece is full: enough for PIECE usual
 * ones; with it a mapper holds no more than this and one key of the longest.
 */
enum { KEYS_MAX = 256 * 1024 };

struct mapper {
    const struct query *query;
    struct buf keys;    /* of a piece, those that are made up, with slack */
    struct buf code;    /* of one value */
    struct buf element; /* in the making */
    int64_t *values;    /* of a piece */
    struct df_pair pairs[PIECE];
    /* Where a made-up key begins in keys; a key that is a field's own bytes
     * has none. */
    size_t made_at[PIECE];
};

static const size_t not_made = SIZE_MAX;

enum df_status groups_open(const void *query, void **mapper,
                           struct df_error *err)
{
    struct mapper *m = calloc(1, sizeof *m);

    (void)err;
    *mapper = NULL;
    if (m != NULL) {
        m->query = query;
        m->values = calloc((size_t)PIECE * m->query->component_count,
                           sizeof *m->values);
    }
    if (m == NULL || m->values == NULL) {
        groups_close(m);
        return error_no_memory(err);
    }
    *mapper = m;
    return DF_OK;
}

void groups_close(void *opaque)
{
    struct mapper *m = opaque;

    if (m != NULL) {
        buf_fini(&m->keys);
        buf_fini(&m->code);
        buf_fini(&m->element);
        free(m->values);
        free(m);
    }
}

/* ---- refusals ---- */

static void no_memory(struct df_emitter *e)
{
    e->status = DF_SYSTEM;
}

static const char *name_of(const struct mapper *m, unsigned column,
                           struct shown *s)
{
    return shown(s, bytes_of_string(m->query->columns[column]));
}

static void refuse_field(const struct mapper *m, struct df_emitter *e,
                         const struct df_record *r, unsigned column,
                         const char *why)
{
    const struct df_field *f = &r->fields[column];
    struct shown name;
    struct shown value;
    char text[800];

    (void)snprintf(text, sizeof text, "column '%s': '%s' %s",
                   name_of(m, column, &name),
                   shown(&value, bytes_of(f->data, f->len)), why);
    df_refuse(e, r, text);
}

static void refuse_number(const struct mapper *m, struct df_emitter *e,
                          const struct df_record *r, unsigned column,
                          enum decimal_fault fault, unsigned scale)
{
    char why[160] = "is no decimal number";

    if (fault == DECIMAL_TOO_FINE) {
        (void)snprintf(why, sizeof why,
                       "has more than %u digits behind the point: a view "
                       "with a greater scale= keeps more",
                       scale);
    } else if (fault == DECIMAL_TOO_LARGE) {
        (void)snprintf(why, sizeof why,
                       "is too large for 128 bits with %u digits behind the "
                       "point",
                       scale);
    }
    refuse_field(m, e, r, column, why);
}

static void refuse_key(struct df_emitter *e, const struct df_record *r,
                       size_t len)
{
    char text[160];

    (void)snprintf(text, sizeof text,
                   "the group's key takes %zu bytes, more than %d", len,
                   (int)DF_KEY_MAX);
    df_refuse(e, r, text);
}

/* ---- keys ---- */

/* Appends a field's code to out; after a refusal e->status says so. */
static bool append_code(struct mapper *m, struct df_emitter *e,
                        const struct df_record *r, unsigned column,
                        struct buf *out)
{
    switch (value_append(out, &r->fields[column])) {
    case VALUE_OK:
        return true;
    case VALUE_BAD_NUMBER:
        refuse_field(m, e, r, column,
                     "has too many digits or too great an exponent");
        return false;
    case VALUE_NO_MEMORY:
        break;
    }
    no_memory(e);
    return false;
}

static bool append_part(struct mapper *m, struct df_emitter *e,
                        const struct df_record *r, unsigned column)
{
    const struct df_field *f = &r->fields[column];
    struct bytes code = bytes_of(f->data, f->len);

    if (!value_is_plain(f)) {
        buf_reset(&m->code);
        if (!append_code(m, e, r, column, &m->code)) {
            return false;
        }
        code = buf_bytes(&m->code);
    }
    if (!value_append_part(&m->keys, code)) {
        no_memory(e);
        return false;
    }
    return true;
}

/* Appends the key of several columns, or of one that is not plain. */
static bool make_key(struct mapper *m, struct df_emitter *e,
                     const struct df_record *r)
{
    const struct query *p = m->query;

    for (unsigned i = 0; i + 1 < p->by_count; i++) {
        if (!append_part(m, e, r, p->by[i])) {
            return false;
        }
    }
    return p->by_count == 0 ||
           append_code(m, e, r, p->by[p->by_count - 1], &m->keys);
}

/* Sets the i-th pair's key. */
static bool set_key(struct mapper *m, struct df_emitter *e,
                    const struct df_record *r, size_t i)
{
    struct df_pair *pair = &m->pairs[i];
    size_t begin = m->keys.len;

    m->made_at[i] = not_made;
    if (m->query->by_count == 1) {
        const struct df_field *f = &r->fields[m->query->by[0]];

        if (value_is_plain(f) && f->len <= DF_KEY_MAX) {
            pair->key = f->data;
            pair->key_len = f->len;
            return true;
        }
    }
    if (!make_key(m, e, r)) {
        return false;
    }
    pair->key_len = m->keys.len - begin;
    m->made_at[i] = begin;
    if (pair->key_len > DF_KEY_MAX) {
        refuse_key(e, r, pair->key_len);
        return false;
    }
    if (!buf_reserve(&m->keys, DF_SLACK)) {
        no_memory(e);
        return false;
    }
    memset(m->keys.data + m->keys.len, 0, DF_SLACK);
    m->keys.len += DF_SLACK;
    return true;
}

/* ---- numbers ---- */

static bool add_measure(const struct mapper *m, struct df_emitter *e,
                        const struct df_record *r,
                        const struct query_measure *one, int64_t *values)
{
    const struct df_field *f = &r->fields[one->column];
    enum decimal_fault fault = DECIMAL_NO_NUMBER;
    decimal_wide v = 0;

    if (query_is_null(m->query, f)) {
        return true;
    }
    values[one->count] = 1;
    if (one->sum == 0) {
        return true;
    }
    if (f->kind == DF_TEXT || f->kind == DF_NUMBER) {
        fault = decimal_parse(bytes_of(f->data, f->len), one->scale, &v);
    }
    if (fault != DECIMAL_OK) {
        refuse_number(m, e, r, one->column, fault, one->scale);
        return false;
    }
    values[one->sum] = (int64_t)(uint64_t)v;
    values[one->sum + 1] = (int64_t)(uint64_t)(v >> 64);
    return true;
}

static bool set_values(const struct mapper *m, struct df_emitter *e,
                       const struct df_record *r, int64_t *values)
{
    const struct query *p = m->query;

    memset(values, 0, p->component_count * sizeof *values);
    values[0] = 1;
    for (unsigned i = 0; i < p->measure_count; i++) {
        if (!add_measure(m, e, r, &p->measures[i], values)) {
            return false;
        }
    }
    return true;
}

/* ---- sets ---- */

static bool append_number(struct mapper *m, struct df_emitter *e,
                          const struct df_record *r, unsigned column)
{
    const struct df_field *f = &r->fields[column];
    enum decimal_fault fault = DECIMAL_NO_NUMBER;
    struct decimal d;

    if (f->kind == DF_TEXT || f->kind == DF_NUMBER) {
        fault = decimal_split(bytes_of(f->data, f->len), &d);
    }
    if (fault != DECIMAL_OK) {
        refuse_field(m, e, r, column,
                     fault == DECIMAL_NO_NUMBER
                         ? "is no decimal number"
                         : "has too many digits or too great an exponent");
        return false;
    }
    if (!buf_reserve(&m->element, decimal_code_room(d.digits))) {
        no_memory(e);
        return false;
    }
    m->element.len += decimal_encode(&d, m->element.data + m->element.len);
    return true;
}

static bool append_text(struct mapper *m, struct df_emitter *e,
                        const struct df_record *r, unsigned column)
{
    const struct df_field *f = &r->fields[column];

    if (f->kind != DF_TEXT) {
        refuse_field(m, e, r, column, "is no string");
        return false;
    }
    if (f->len > 0 && !buf_append(&m->element, f->data, f->len)) {
        no_memory(e);
        return false;
    }
    return true;
}

/* Sets the element of a record in set number k. */
static bool make_element(struct mapper *m, struct df_emitter *e,
                         const struct df_record *r, unsigned k)
{
    const struct query_set *set = &m->query->sets[k];
    bool ok = false;

    buf_reset(&m->element);
    if (!buf_append_byte(&m->element, (uint8_t)(k + 1))) {
        no_memory(e);
        return false;
    }
    switch (set->order) {
    case QUERY_NUMBERS:
        ok = append_number(m, e, r, set->column);
        break;
    case QUERY_TEXTS:
        ok = append_text(m, e, r, set->column);
        break;
    case QUERY_VALUES:
        ok = append_code(m, e, r, set->column, &m->element);
        break;
    }
    if (ok && m->element.len > DF_KEY_MAX) {
        refuse_field(m, e, r, set->column, "is longer than 65535 bytes");
        return false;
    }
    return ok;
}

static void emit_elements(struct mapper *m, struct df_emitter *e,
                          const struct df_record *r,
                          const struct df_pair *pair)
{
    static const int64_t one[DF_COMPONENTS_MAX] = { 1 };
    const struct query *p = m->query;

    for (unsigned k = 0; k < p->set_count && e->status == DF_OK; k++) {
        if (!query_is_null(p, &r->fields[p->sets[k].column]) &&
            make_element(m, e, r, k)) {
            df_emit(e, pair->key, pair->key_len, m->element.data,
                    m->element.len, one);
        }
    }
}

/* ---- pieces ---- */

static void keep_silent(struct df_emitter *e, const struct df_record *record,
                        const char *why)
{
    (void)record;
    (void)why;
    e->status = DF_INPUT;
}

/* Keys and numbers of up to PIECE records, of fewer where their keys are
 * long. Returns how many, ended by one that is refused. */
static size_t prepare(struct mapper *m, struct df_emitter *e,
                      const struct df_record *records, size_t n)
{
    size_t some = 0;

    buf_reset(&m->keys);
    for (; some < n && some < PIECE && m->keys.len < KEYS_MAX; some++) {
        int64_t *values = m->values + some * m->query->component_count;

        if (!set_key(m, e, &records[some], some) ||
            !set_values(m, e, &records[some], values)) {
            break;
        }
        m->pairs[some].values = values;
    }
    for (size_t i = 0; i < some; i++) { /* keys has moved while it grew */
        if (m->made_at[i] != not_made) {
            m->pairs[i].key = m->keys.data + m->made_at[i];
        }
    }
    return some;
}

/* A record that is refused ends a piece, and is refused as the first of the
 * next: before it come those whose elements are, so that the first bad record
 * is told, however the records were cut into lists. */
void groups_map(void *opaque, const struct df_record *records, size_t n,
                struct df_emitter *e)
{
    struct mapper *m = opaque;

    while (n > 0 && e->status == DF_OK) {
        struct df_emitter trial = { .refuse = keep_silent };
        size_t some = prepare(m, &trial, records, n);

        if (trial.status == DF_SYSTEM) {
            no_memory(e);
        } else if (some == 0) {
            (void)prepare(m, e, records, 1);
            return;
        }
        df_emit_pairs(e, m->pairs, some);
        for (size_t i = 0; m->query->set_count > 0 && i < some; i++) {
            emit_elements(m, e, &records[i], &m->pairs[i]);
        }
        records += some;
        n -= some;
    }
}
