#include "input/batch.h"

#include <stdlib.h>

#include "input/pool.h"
#include "input/section.h"

uint64_t batch_bytes(const struct batch *b)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < b->file_count; i++) {
        bytes += b->files[i].length;
    }
    return bytes;
}

void batch_fini(struct batch *b)
{
    struct pool *pool = b->owned;

    if (pool != NULL) {
        pool_fini(pool);
    }
    free(pool);
    free(b->files);
    free(b->notices);
    *b = (struct batch){ 0 };
}

/* One document in the digest: section (one byte), length of the id, id,
 * length, hash; integers of eight bytes, big-endian. */
static void digest_document(struct hash_stream *stream,
                            const struct batch_file *file)
{
    uint8_t before[1 + 8];
    uint8_t behind[8 + HASH128_SIZE];

    before[0] = (uint8_t)file->section;
    store_be64(before + 1, file->id.len);
    store_be64(behind, file->length);
    hash128_store(behind + 8, file->hash);
    hash_stream_add(stream, bytes_of(before, sizeof before));
    hash_stream_add(stream, file->id);
    hash_stream_add(stream, bytes_of(behind, sizeof behind));
}

enum df_status batch_digest(const struct batch *b, struct hash128 *digest,
                            struct df_error *err)
{
    size_t *order = section_order_by_id(b);
    struct hash_stream *stream;

    if (order == NULL || !hash_stream_open(&stream)) {
        free(order);
        return error_no_memory(err);
    }
    for (size_t i = 0; i < b->file_count; i++) {
        digest_document(stream, &b->files[order[i]]);
    }
    *digest = hash_stream_end(stream);
    hash_stream_close(stream);
    free(order);
    return DF_OK;
}
