#include "runtime/hollow.h"

/* Rows come in order of their heads, which is that of their keys but among
 * long ones: the first is good enough to be shown. */
bool hollow_look(struct hollow *h, const struct row *row)
{
    return row->values[0] != 0 || h->count++ > 0 ||
           row_join(&h->first, row->head, row->tail);
}

bool hollow_add(struct hollow *into, const struct hollow *h)
{
    struct bytes first = buf_bytes(&h->first);

    if (h->count > 0 && (into->count == 0 ||
                         bytes_compare(first, buf_bytes(&into->first)) < 0)) {
        buf_reset(&into->first);
        if (!buf_append(&into->first, first.data, first.len)) {
            return false;
        }
    }
    into->count += h->count;
    return true;
}

void hollow_fini(struct hollow *h)
{
    buf_fini(&h->first);
}
