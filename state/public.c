/* The public reader API (include/deltafold/view.h) over snapshots. */
#include "deltafold/view.h"

#include <stdlib.h>

#include "state/history.h"

struct df_view {
    struct view *view;
    struct snapshot *snapshot;
    struct buf definition; /* with a NUL */
};

enum df_status df_view_open(struct df_view **out, const char *path,
                            struct df_error *err)
{
    struct df_view *v = calloc(1, sizeof *v);
    enum df_status status;

    *out = NULL;
    if (v == NULL) {
        return error_no_memory(err);
    }
    status = view_open(&v->view, path, VIEW_READ, 0, err);
    if (status == DF_OK) {
        struct bytes text = view_definition(v->view)->text;

        if (!buf_append(&v->definition, text.data, text.len) ||
            !buf_append_byte(&v->definition, 0)) {
            status = error_no_memory(err);
        }
    }
    if (status == DF_OK) {
        status = snapshot_open(&v->snapshot, v->view, err);
    }
    if (status == DF_OK) {
        snapshot_apply_having(v->snapshot);
    }
    if (status != DF_OK) {
        df_view_close(v);
        return status;
    }
    *out = v;
    return DF_OK;
}

void df_view_close(struct df_view *v)
{
    if (v != NULL) {
        snapshot_close(v->snapshot);
        view_close(v->view);
        buf_fini(&v->definition);
        free(v);
    }
}

enum df_status df_view_refresh(struct df_view *v, struct df_error *err)
{
    struct buf path = { 0 };
    enum df_status status = DF_OK;

    /* Opened anew: a rebuild may have put other files in place. */
    if (!buf_append_string(&path, view_path(v->view)) ||
        !buf_append_byte(&path, 0)) {
        buf_fini(&path);
        return error_no_memory(err);
    }
    snapshot_close(v->snapshot);
    v->snapshot = NULL;
    view_close(v->view);
    v->view = NULL;
    status = view_open(&v->view, (const char *)path.data, VIEW_READ, 0, err);
    if (status == DF_OK) {
        status = snapshot_open(&v->snapshot, v->view, err);
    }
    if (status == DF_OK) {
        snapshot_apply_having(v->snapshot);
    }
    buf_fini(&path);
    return status;
}

enum df_status df_view_at(struct df_view *v, const char *batch,
                          struct df_error *err)
{
    struct ledger_entry e;
    enum df_status status;

    if (batch == NULL) {
        snapshot_show_now(v->snapshot);
        return DF_OK;
    }
    status = snapshot_find_entry(v->snapshot, batch, true, &e, err);
    return status == DF_OK ? snapshot_show_at(v->snapshot, e.seq, err)
                           : status;
}

void df_view_info(const struct df_view *v, struct df_view_info *info)
{
    const struct view_definition *d = view_definition(v->view);
    struct snapshot_state state = snapshot_state(v->snapshot);

    *info = (struct df_view_info){
        .definition = (const char *)v->definition.data,
        .components = d->shape.components,
        .has_element = d->shape.has_element ? 1 : 0,
        .batches = state.seq,
        .rows = state.rows,
        .unfolded = state.unfolded,
    };
    hash128_store(info->digest, state.digest);
}

enum df_status df_view_get(struct df_view *v, const void *key, size_t key_len,
                           const void *element, size_t element_len,
                           int64_t *values, struct df_error *err)
{
    unsigned components = view_definition(v->view)->shape.components;
    bool found;
    enum df_status status =
        snapshot_get(v->snapshot, bytes_of(key, key_len),
                     bytes_of(element, element_len), values, &found, err);

    if (status == DF_OK && !found) {
        struct shown name;

        memset(values, 0, components * sizeof *values);
        return error_set(err, DF_DIFFERS, "no such key '%s'",
                         shown(&name, bytes_of(key, key_len)));
    }
    return status;
}

enum df_status df_view_each(struct df_view *v, const void *prefix,
                            size_t prefix_len,
                            int (*each)(void *ctx,
                                        const struct df_view_row *row),
                            void *ctx, struct df_error *err)
{
    struct snapshot_scan *scan;
    const struct snapshot_row *row = NULL;
    bool more = true;
    enum df_status status =
        snapshot_scan_open(&scan, v->snapshot, SNAPSHOT_PREFIX,
                           bytes_of(prefix, prefix_len), err);

    while (status == DF_OK && more) {
        status = snapshot_scan_next(scan, &row, err);
        if (status != DF_OK || row == NULL) {
            break;
        }
        more =
            each(ctx, &(struct df_view_row){ .key = row->key.data,
                                             .key_len = row->key.len,
                                             .element = row->element.data,
                                             .element_len = row->element.len,
                                             .values = row->values }) == 0;
    }
    snapshot_scan_close(scan);
    return status;
}
