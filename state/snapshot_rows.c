/* Rows of one shard as a snapshot shows them, sought in ascending order. */
#include <stdlib.h>

#include "state/snapshot_internal.h"

/* Rows that are read on before a seek from the root is cheaper: a block or
 * two of short ones. */
enum { READ_ON = 64 };

struct snapshot_rows {
    struct run_source *rows;
    const struct row *row; /* the last one given; NULL: past the last */
    bool is_begun;
};

unsigned snapshot_shards(const struct snapshot *s)
{
    return s->shards;
}

enum df_status snapshot_rows_open(struct snapshot_rows **out,
                                  struct snapshot *s, unsigned shard,
                                  struct df_error *err)
{
    struct snapshot_rows *r = calloc(1, sizeof *r);
    enum df_status status;

    *out = NULL;
    if (r == NULL) {
        return error_no_memory(err);
    }
    status = snapshot_shard_open(&r->rows, s, shard, err);
    if (status != DF_OK) {
        free(r);
        return status;
    }
    *out = r;
    return DF_OK;
}

void snapshot_rows_close(struct snapshot_rows *r)
{
    if (r != NULL) {
        snapshot_shard_close(r->rows);
        free(r);
    }
}

enum df_status snapshot_rows_next(struct snapshot_rows *r,
                                  const struct row **row, struct df_error *err)
{
    enum df_status status = DF_OK;

    if (r->row != NULL) {
        status = r->rows->next(r->rows, &r->row, err);
    }
    *row = r->row;
    return status;
}

enum df_status snapshot_rows_seek(struct snapshot_rows *r, struct bytes head,
                                  const struct row **row, struct df_error *err)
{
    enum df_status status = DF_OK;
    bool is_near = r->is_begun;

    r->is_begun = true;
    for (int i = 0; status == DF_OK && is_near && r->row != NULL &&
                    bytes_compare(r->row->head, head) < 0;
         i++) {
        is_near = i < READ_ON;
        if (is_near) {
            status = r->rows->next(r->rows, &r->row, err);
        }
    }
    if (status == DF_OK && !is_near) {
        status = r->rows->seek(r->rows, head, err);
        if (status == DF_OK) {
            status = r->rows->next(r->rows, &r->row, err);
        }
    }
    *row = r->row;
    return status;
}
