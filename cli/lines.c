#include "cli/lines.h"

#include <stdlib.h>

#include "jobs/aggregate/decimal.h"

struct lines {
    const struct opened *opened;
    const struct df_present *present;
    void *presenter;
    unsigned cells;
    struct snapshot_scan *scan;
    const struct snapshot_row *row; /* the next one; NULL at the end */
    struct buf key;                 /* whose line is being made */
    /* having=: a column and the code of the least number shown; nothing in
     * least: there is none. */
    unsigned column;
    struct buf least;
    struct buf code; /* of the number at hand */
};

static bool set_code(struct buf *code, struct bytes text)
{
    struct decimal d;

    buf_reset(code);
    if (decimal_split(text, &d) != DECIMAL_OK) {
        return true; /* beyond the limits: no number is */
    }
    if (!buf_reserve(code, decimal_code_room(d.digits))) {
        return false;
    }
    code->len = decimal_encode(&d, code->data);
    return true;
}

/* What engine_check_options has checked. False without memory. */
static bool take_having(struct lines *l)
{
    const char *value = jobspec_common(&l->opened->spec, "having");
    const char *sign = strstr(value, ">=");

    for (unsigned i = 0; sign != NULL && i < l->cells; i++) {
        if (bytes_equal(bytes_of(value, (size_t)(sign - value)),
                        bytes_of_string(lines_names(l)[i]))) {
            l->column = i;
            return set_code(&l->least, bytes_of_string(sign + 2));
        }
    }
    return true;
}

/* Only a number can be large enough. False without memory. */
static bool apply_having(struct lines *l, const struct df_cell **cells)
{
    const struct df_cell *cell = *cells != NULL ? &(*cells)[l->column] : NULL;

    if (l->least.len == 0 || cell == NULL) {
        return true;
    }
    buf_reset(&l->code);
    if (cell->kind == DF_CELL_NUMBER &&
        !set_code(&l->code, bytes_of(cell->data, cell->len))) {
        return false;
    }
    if (bytes_compare(buf_bytes(&l->code), buf_bytes(&l->least)) < 0) {
        *cells = NULL;
    }
    return true;
}

enum df_status lines_open(struct lines **out, const struct opened *o,
                          struct df_error *err)
{
    struct lines *l = calloc(1, sizeof *l);
    enum df_status status;

    *out = NULL;
    if (l == NULL) {
        return error_no_memory(err);
    }
    l->opened = o;
    l->present = o->present;
    while (lines_names(l)[l->cells] != NULL) {
        l->cells++;
    }
    status = l->present->open(o->spec.config, &l->presenter, err);
    if (status == DF_OK && !take_having(l)) {
        status = error_no_memory(err);
    }
    if (status != DF_OK) {
        lines_close(l);
        return status;
    }
    *out = l;
    return DF_OK;
}

void lines_close(struct lines *l)
{
    if (l != NULL) {
        snapshot_scan_close(l->scan);
        l->present->close(l->presenter);
        buf_fini(&l->key);
        buf_fini(&l->least);
        buf_fini(&l->code);
        free(l);
    }
}

const char *const *lines_names(const struct lines *l)
{
    return l->present->columns(l->opened->spec.config);
}

unsigned lines_cells(const struct lines *l)
{
    return l->cells;
}

unsigned lines_key_cells(const struct lines *l)
{
    return l->present->key_columns(l->opened->spec.config);
}

enum df_status lines_select(struct lines *l, enum snapshot_select select,
                            struct bytes bytes, struct df_error *err)
{
    enum df_status status;

    snapshot_scan_close(l->scan);
    l->scan = NULL;
    l->row = NULL;
    status =
        snapshot_scan_open(&l->scan, l->opened->snapshot, select, bytes, err);
    return status == DF_OK ? snapshot_scan_next(l->scan, &l->row, err)
                           : status;
}

static enum df_status unreadable(enum df_status status, struct bytes key,
                                 struct df_error *err)
{
    struct shown s;

    if (status == DF_SYSTEM) {
        return error_no_memory(err);
    }
    return error_set(err, DF_STATE,
                     "key '%s': its rows are not what the job writes; "
                     "--raw shows them as they are",
                     shown(&s, key));
}

/* The rows of the key at hand, to the presenter if it shows the key. */
static enum df_status take_rows(struct lines *l, bool is_shown,
                                struct df_error *err)
{
    enum df_status status = DF_OK;

    do {
        const struct snapshot_row *row = l->row;

        if (is_shown) {
            status = l->present->row(l->presenter, row->element.data,
                                     row->element.len, row->values);
        }
        if (status != DF_OK) {
            return unreadable(status, buf_bytes(&l->key), err);
        }
        status = snapshot_scan_next(l->scan, &l->row, err);
    } while (status == DF_OK && l->row != NULL &&
             bytes_equal(l->row->key, buf_bytes(&l->key)));
    return status;
}

/* One key. *cells stays NULL where it has no line. */
static enum df_status take_key(struct lines *l, const struct df_cell **cells,
                               struct df_error *err)
{
    struct bytes key = l->row->key;
    enum df_status status;
    bool is_shown;

    buf_reset(&l->key);
    if (!buf_reserve(&l->key, key.len + 1) ||
        (key.len > 0 && !buf_append(&l->key, key.data, key.len))) {
        return error_no_memory(err);
    }
    is_shown = l->present->key(l->presenter, l->key.data, l->key.len);
    status = take_rows(l, is_shown, err);
    if (status == DF_OK && is_shown) {
        status = l->present->cells(l->presenter, cells);
        if (status != DF_OK) {
            return unreadable(status, buf_bytes(&l->key), err);
        }
        if (!apply_having(l, cells)) {
            return error_no_memory(err);
        }
    }
    return status;
}

enum df_status lines_next(struct lines *l, const struct df_cell **cells,
                          struct df_error *err)
{
    enum df_status status = DF_OK;

    *cells = NULL;
    while (status == DF_OK && *cells == NULL && l->row != NULL) {
        status = take_key(l, cells, err);
    }
    return status;
}

enum df_status lines_find(struct lines *l, const char *text, struct bytes *key,
                          struct df_error *err)
{
    return l->present->find(l->presenter, text, strlen(text), &key->data,
                            &key->len, err);
}

bool lines_has_prefix(const struct lines *l, const struct df_cell *cells,
                      const char *prefix)
{
    size_t len = prefix == NULL ? 0 : strlen(prefix);

    return len == 0 ||
           (lines_key_cells(l) > 0 && cells[0].kind != DF_CELL_NULL &&
            cells[0].len >= len && memcmp(cells[0].data, prefix, len) == 0);
}
