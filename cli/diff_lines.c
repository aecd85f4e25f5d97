#include "cli/diff_lines.h"

#include "cli/lines.h"

/* The lines of a key on both sides, NULL where there is none. */
struct pair {
    struct lines *before;
    struct lines *after;
    const struct df_cell *old_cells;
    const struct df_cell *new_cells;
    const char *prefix;
    struct buf key;
};

static enum df_status line_of(struct lines *l, struct bytes key,
                              const struct df_cell **cells,
                              struct df_error *err)
{
    enum df_status status = lines_select(l, SNAPSHOT_KEY, key, err);

    *cells = NULL;
    return status == DF_OK ? lines_next(l, cells, err) : status;
}

static bool cells_equal(const struct df_cell *a, const struct df_cell *b)
{
    return a->kind == b->kind &&
           bytes_equal(bytes_of(a->data, a->len), bytes_of(b->data, b->len));
}

static bool is_asked_for(const struct pair *p)
{
    const struct df_cell *cells =
        p->old_cells != NULL ? p->old_cells : p->new_cells;

    return cells != NULL && lines_has_prefix(p->before, cells, p->prefix);
}

static bool is_same(const struct pair *p)
{
    unsigned n = lines_cells(p->before);

    if (p->old_cells == NULL || p->new_cells == NULL) {
        return p->old_cells == p->new_cells;
    }
    for (unsigned i = 0; i < n; i++) {
        if (!cells_equal(&p->old_cells[i], &p->new_cells[i])) {
            return false;
        }
    }
    return true;
}

static enum df_status write_key(struct pair *p, struct format *f,
                                struct df_error *err)
{
    struct bytes key = buf_bytes(&p->key);
    enum df_status status = line_of(p->before, key, &p->old_cells, err);

    if (status == DF_OK) {
        status = line_of(p->after, key, &p->new_cells, err);
    }
    if (status == DF_OK && is_asked_for(p) && !is_same(p)) {
        format_line_change(f, lines_key_cells(p->before), p->old_cells,
                           p->new_cells);
    }
    return status;
}

/* Rows of one key come one after the other: each key is written once. */
static enum df_status write_keys(struct pair *p, struct snapshot_scan *changed,
                                 struct format *f, struct df_error *err)
{
    const struct snapshot_row *row = NULL;
    bool any = false;
    enum df_status status = DF_OK;

    while (status == DF_OK && !output_failed(f->out)) {
        status = snapshot_scan_next(changed, &row, err);
        if (status != DF_OK || row == NULL) {
            break;
        }
        if (any && bytes_equal(buf_bytes(&p->key), row->key)) {
            continue;
        }
        any = true;
        buf_reset(&p->key);
        if (!buf_reserve(&p->key, row->key.len + 1) ||
            (row->key.len > 0 &&
             !buf_append(&p->key, row->key.data, row->key.len))) {
            return error_no_memory(err);
        }
        status = write_key(p, f, err);
    }
    return status;
}

enum df_status diff_lines(const struct opened *before,
                          const struct opened *after,
                          struct snapshot_scan *changed, const char *prefix,
                          bool ndjson, struct output *out,
                          struct df_error *err)
{
    struct pair p = { .prefix = prefix };
    struct format f;
    enum df_status status = lines_open(&p.before, before, err);
    enum df_status closed;

    if (status == DF_OK) {
        status = lines_open(&p.after, after, err);
    }
    if (status == DF_OK) {
        format_open_lines(&f, ndjson ? FORMAT_NDJSON : FORMAT_TSV,
                          lines_names(p.before), lines_cells(p.before), out);
        status = write_keys(&p, changed, &f, err);
        closed = format_close(&f, err);
        status = status == DF_OK ? closed : status;
    }
    lines_close(p.before);
    lines_close(p.after);
    buf_fini(&p.key);
    return status;
}
