/*
 * codec.h: MessagePack, checked. The one place that knows msgpack-c.
 *
 * Writing appends objects to a buf:
 *
 *     codec_put_map(&out, 2) &&
 *     codec_put_text(&out, "name") && codec_put_bin(&out, name) &&
 *     codec_put_text(&out, "rows") && codec_put_uint(&out, rows)
 *
 * Each returns false when memory runs out; the buf is then as before that
 * call. Reading is a cursor over borrowed bytes:
 *
 *     struct codec_reader in = codec_reader_of(bytes);
 *     uint32_t pairs;
 *     codec_get_map(&in, &pairs);
 *     for (...) { codec_get_bytes(&in, &key); codec_get_uint(&in, &v); ... }
 *     ok = codec_reader_finished(&in);
 *
 * A reader that meets malformed bytes, or another kind of object than it
 * was asked for, fails and stays failed: every later call returns false, so
 * a row of calls needs one look at the end. Reading never allocates,
 * never recurses, and never believes a count that the bytes left could not
 * hold. What is read points into the bytes given.
 */
#ifndef BASE_CODEC_H
#define BASE_CODEC_H

#include "base/buf.h"
#include "base/hash.h"

/* As many pairs or elements must follow as the map or array announces. */
bool codec_put_map(struct buf *out, uint32_t pairs);
bool codec_put_array(struct buf *out, uint32_t elements);
/* Text (MessagePack str) for UTF-8, bin for any bytes; up to 4 GiB - 1. */
bool codec_put_str(struct buf *out, struct bytes text);
bool codec_put_text(struct buf *out, const char *text);
bool codec_put_bin(struct buf *out, struct bytes bytes);
/* As codec_put_bin, HASH128_SIZE bytes. */
bool codec_put_hash(struct buf *out, struct hash128 hash);
/* The shortest form that holds the number. */
bool codec_put_uint(struct buf *out, uint64_t v);
bool codec_put_int(struct buf *out, int64_t v);
bool codec_put_bool(struct buf *out, bool v);
bool codec_put_nil(struct buf *out);

struct codec_reader {
    struct bytes in;
    size_t at; /* of the next object */
    bool failed;
};

static inline struct codec_reader codec_reader_of(struct bytes in)
{
    return (struct codec_reader){ .in = in };
}

/* Of a map or array the head alone is read; its objects come next. Of str
 * and bin either is taken for the other; data is never NULL. */
bool codec_get_map(struct codec_reader *r, uint32_t *pairs);
bool codec_get_array(struct codec_reader *r, uint32_t *elements);
bool codec_get_bytes(struct codec_reader *r, struct bytes *bytes);
bool codec_get_uint(struct codec_reader *r, uint64_t *v);
bool codec_get_int(struct codec_reader *r, int64_t *v);
bool codec_get_bool(struct codec_reader *r, bool *v);

/* Bytes of another number than HASH128_SIZE are malformed. */
bool codec_get_hash(struct codec_reader *r, struct hash128 *hash);

/* Passes over one object with all that is in it. */
bool codec_skip(struct codec_reader *r);

/* Nothing failed and nothing is left over. */
static inline bool codec_reader_finished(const struct codec_reader *r)
{
    return !r->failed && r->at == r->in.len;
}

#endif
