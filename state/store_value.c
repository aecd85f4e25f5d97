/*
 * What lies behind a key: the value, and a check of key and value.
 *
 * LMDB's pages carry no checksums: a disk, a cable or a copy that changes a
 * byte would change a count, and nobody would know. So 32 bits of hash stand
 * behind each value and are looked at whenever it is read. A store whose file
 * was made before there were checks has none; it gets them when its view is
 * rebuilt.
 */
#include "base/hash.h"
#include "state/store_internal.h"

static uint32_t check_of(struct bytes key, struct bytes value)
{
    /* Both are to count, and which is which. */
    return (uint32_t)(hash64(value) + 3 * hash64(key));
}

size_t store_value_size(const struct store *s, struct bytes value)
{
    return value.len + (s->has_checks ? STORE_CHECK : 0);
}

void store_value_put(const struct store *s, struct bytes key,
                     struct bytes value, MDB_val room)
{
    uint8_t *at = room.mv_data;

    bytes_copy(at, value.data, value.len);
    if (s->has_checks) {
        store_be32(at + value.len, check_of(key, value));
    }
}

enum df_status store_value_get(struct store *s, struct bytes key,
                               MDB_val stored, struct bytes *value,
                               struct df_error *err)
{
    *value = store_bytes(stored);
    if (!s->has_checks) {
        return DF_OK;
    }
    if (value->len >= STORE_CHECK) {
        value->len -= STORE_CHECK;
        if (load_be32(value->data + value->len) == check_of(key, *value)) {
            return DF_OK;
        }
    }
    return error_set(err, DF_STATE,
                     "%s: is damaged: restore the view from a copy, or make "
                     "it anew",
                     s->path);
}
