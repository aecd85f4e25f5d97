#include "runtime/outcomes.h"

#include <stdlib.h>

enum df_status outcomes_open(struct outcomes **out, size_t units,
                             struct df_error *err)
{
    struct outcomes *o = calloc(1, sizeof *o);

    *out = NULL;
    if (o == NULL) {
        return error_no_memory(err);
    }
    o->units = calloc(units + 1, sizeof *o->units);
    if (o->units == NULL) {
        free(o);
        return error_no_memory(err);
    }
    o->count = units;
    *out = o;
    return DF_OK;
}

void outcomes_close(struct outcomes *o)
{
    if (o == NULL) {
        return;
    }
    for (size_t i = 0; i < o->count; i++) {
        buf_fini(&o->units[i]);
    }
    free(o->units);
    free(o);
}

enum df_status outcomes_add(struct outcomes *o, size_t unit, size_t n,
                            struct df_error *err)
{
    struct buf *b = &o->units[unit];

    if (!buf_reserve(b, n)) {
        return error_no_memory(err);
    }
    memset(b->data + b->len, DF_OUTCOME_PENDING, n);
    b->len += n;
    return DF_OK;
}
