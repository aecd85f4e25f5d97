#include "base/codec.h"

#include <msgpack.h>

/* msgpack-c's packer writes through this; it takes non-zero for failure. */
static int write_to_buf(void *out, const char *data, size_t len)
{
    return buf_append(out, data, len) ? 0 : -1;
}

static msgpack_packer packer_to(struct buf *out)
{
    msgpack_packer packer;

    msgpack_packer_init(&packer, out, write_to_buf);
    return packer;
}

bool codec_put_map(struct buf *out, uint32_t pairs)
{
    msgpack_packer packer = packer_to(out);

    return msgpack_pack_map(&packer, pairs) == 0;
}

bool codec_put_array(struct buf *out, uint32_t elements)
{
    msgpack_packer packer = packer_to(out);

    return msgpack_pack_array(&packer, elements) == 0;
}

/* Longest head of a str or bin: its kind and a 32-bit length. */
enum { HEAD_MAX = 5 };

bool codec_put_str(struct buf *out, struct bytes text)
{
    msgpack_packer packer = packer_to(out);

    /* With room for both, head and body are written or neither is. */
    return text.len <= UINT32_MAX && buf_reserve(out, HEAD_MAX + text.len) &&
           msgpack_pack_str(&packer, text.len) == 0 &&
           msgpack_pack_str_body(&packer, text.data, text.len) == 0;
}

bool codec_put_text(struct buf *out, const char *text)
{
    return codec_put_str(out, bytes_of_string(text));
}

bool codec_put_bin(struct buf *out, struct bytes bytes)
{
    msgpack_packer packer = packer_to(out);

    return bytes.len <= UINT32_MAX && buf_reserve(out, HEAD_MAX + bytes.len) &&
           msgpack_pack_bin(&packer, bytes.len) == 0 &&
           msgpack_pack_bin_body(&packer, bytes.data, bytes.len) == 0;
}

bool codec_put_hash(struct buf *out, struct hash128 hash)
{
    uint8_t raw[HASH128_SIZE];

    hash128_store(raw, hash);
    return codec_put_bin(out, bytes_of(raw, sizeof raw));
}

bool codec_put_uint(struct buf *out, uint64_t v)
{
    msgpack_packer packer = packer_to(out);

    return msgpack_pack_uint64(&packer, v) == 0;
}

bool codec_put_int(struct buf *out, int64_t v)
{
    msgpack_packer packer = packer_to(out);

    return msgpack_pack_int64(&packer, v) == 0;
}

bool codec_put_bool(struct buf *out, bool v)
{
    msgpack_packer packer = packer_to(out);

    return (v ? msgpack_pack_true(&packer) : msgpack_pack_false(&packer)) == 0;
}

bool codec_put_nil(struct buf *out)
{
    msgpack_packer packer = packer_to(out);

    return msgpack_pack_nil(&packer) == 0;
}

static bool fail(struct codec_reader *r)
{
    r->failed = true;
    return false;
}

static size_t left(const struct codec_reader *r)
{
    return r->in.len - r->at;
}

/* Kinds of objects, as far as reading them differs. */
enum kind {
    PLAIN, /* nil, bool, integer, float: msgpack-c reads it */
    BYTES, /* str or bin */
    EXT,   /* a type byte and bytes; only ever passed over */
    ARRAY,
    MAP
};

/* What the first bytes of an object say. */
struct head {
    enum kind kind;
    uint32_t count; /* bytes, elements or pairs */
    size_t len;     /* bytes that are no body */
};

/* First bytes C4 to DF: kind and width of the count; a width of 0 is none,
 * and then the count is fixed. */
enum { FORMS_FIRST = 0xc4, FORMS_LAST = 0xdf };
static const struct form {
    uint8_t kind;
    uint8_t width;
    uint8_t count;
} forms[FORMS_LAST - FORMS_FIRST + 1] = {
    { BYTES, 1, 0 }, { BYTES, 2, 0 }, { BYTES, 4, 0 }, { EXT, 1, 0 },
    { EXT, 2, 0 },   { EXT, 4, 0 },   { PLAIN, 0, 0 }, { PLAIN, 0, 0 },
    { PLAIN, 0, 0 }, { PLAIN, 0, 0 }, { PLAIN, 0, 0 }, { PLAIN, 0, 0 },
    { PLAIN, 0, 0 }, { PLAIN, 0, 0 }, { PLAIN, 0, 0 }, { PLAIN, 0, 0 },
    { EXT, 0, 1 },   { EXT, 0, 2 },   { EXT, 0, 4 },   { EXT, 0, 8 },
    { EXT, 0, 16 },  { BYTES, 1, 0 }, { BYTES, 2, 0 }, { BYTES, 4, 0 },
    { ARRAY, 2, 0 }, { ARRAY, 4, 0 }, { MAP, 2, 0 },   { MAP, 4, 0 },
};

static uint32_t big_endian(const uint8_t *p, size_t len)
{
    uint32_t v = 0;

    for (size_t i = 0; i < len; i++) {
        v = v << 8 | p[i];
    }
    return v;
}

static struct head head_of_form(const struct codec_reader *r,
                                const struct form *form)
{
    const uint8_t *p = r->in.data + r->at;
    struct head head = { .kind = (enum kind)form->kind,
                         .count = form->count,
                         .len = 1 + (size_t)form->width };

    if (head.len <= left(r) && form->width > 0) {
        head.count = big_endian(p + 1, form->width);
    }
    if (head.kind == EXT) {
        head.len++; /* the type */
    }
    return head;
}

/* Of an object that is PLAIN the kind alone is meant. */
static struct head head_at(const struct codec_reader *r)
{
    uint8_t first = r->in.data[r->at];

    if (first >= FORMS_FIRST && first <= FORMS_LAST) {
        return head_of_form(r, &forms[first - FORMS_FIRST]);
    }
    if ((first & 0xf0) == 0x80) {
        return (struct head){ MAP, first & 0x0f, 1 };
    }
    if ((first & 0xf0) == 0x90) {
        return (struct head){ ARRAY, first & 0x0f, 1 };
    }
    if ((first & 0xe0) == 0xa0) {
        return (struct head){ BYTES, first & 0x1f, 1 };
    }
    return (struct head){ .kind = PLAIN };
}

/*
 * Steps over the head of an object that is not PLAIN and whose body the
 * bytes left can hold. This is done here and not by msgpack-c, which would
 * allocate: for a string a zone of 8 KiB, and for an array what its head
 * announces, 100 GB for five bytes of a damaged file.
 */
static bool enter(struct codec_reader *r, struct head *head)
{
    uint64_t least;

    if (r->failed || left(r) == 0) {
        return fail(r);
    }
    *head = head_at(r);
    least = head->kind == MAP ? 2 * (uint64_t)head->count : head->count;
    if (head->kind == PLAIN || head->len > left(r) ||
        least > left(r) - head->len) {
        return fail(r);
    }
    r->at += head->len;
    return true;
}

bool codec_get_map(struct codec_reader *r, uint32_t *pairs)
{
    struct head head;

    if (!enter(r, &head) || head.kind != MAP) {
        return fail(r);
    }
    *pairs = head.count;
    return true;
}

bool codec_get_array(struct codec_reader *r, uint32_t *elements)
{
    struct head head;

    if (!enter(r, &head) || head.kind != ARRAY) {
        return fail(r);
    }
    *elements = head.count;
    return true;
}

bool codec_get_bytes(struct codec_reader *r, struct bytes *bytes)
{
    struct head head;

    if (!enter(r, &head) || head.kind != BYTES) {
        return fail(r);
    }
    *bytes = bytes_of(r->in.data + r->at, head.count);
    r->at += head.count;
    return true;
}

bool codec_get_hash(struct codec_reader *r, struct hash128 *hash)
{
    struct bytes raw;

    if (!codec_get_bytes(r, &raw) || raw.len != HASH128_SIZE) {
        return fail(r);
    }
    *hash = hash128_load(raw.data);
    return true;
}

static bool plain(struct codec_reader *r, msgpack_object *object)
{
    msgpack_unpacked unpacked;

    if (r->failed || left(r) == 0 || head_at(r).kind != PLAIN) {
        return fail(r);
    }
    msgpack_unpacked_init(&unpacked);
    if (msgpack_unpack_next(&unpacked, (const char *)r->in.data, r->in.len,
                            &r->at) != MSGPACK_UNPACK_SUCCESS) {
        return fail(r);
    }
    *object = unpacked.data;
    return true;
}

bool codec_get_uint(struct codec_reader *r, uint64_t *v)
{
    msgpack_object o;

    if (!plain(r, &o) || o.type != MSGPACK_OBJECT_POSITIVE_INTEGER) {
        return fail(r);
    }
    *v = o.via.u64;
    return true;
}

bool codec_get_int(struct codec_reader *r, int64_t *v)
{
    msgpack_object o;

    if (!plain(r, &o)) {
        return false;
    }
    if (o.type == MSGPACK_OBJECT_NEGATIVE_INTEGER) {
        *v = o.via.i64;
    } else if (o.type == MSGPACK_OBJECT_POSITIVE_INTEGER &&
               o.via.u64 <= INT64_MAX) {
        *v = (int64_t)o.via.u64;
    } else {
        return fail(r);
    }
    return true;
}

bool codec_get_bool(struct codec_reader *r, bool *v)
{
    msgpack_object o;

    if (!plain(r, &o) || o.type != MSGPACK_OBJECT_BOOLEAN) {
        return fail(r);
    }
    *v = o.via.boolean;
    return true;
}

bool codec_skip(struct codec_reader *r)
{
    uint64_t pending = 1; /* objects still to pass over, at any depth */
    msgpack_object o;
    struct head head;

    while (pending > 0) {
        pending--;
        if (left(r) > 0 && head_at(r).kind == PLAIN) {
            if (!plain(r, &o)) {
                return false;
            }
        } else if (!enter(r, &head)) {
            return false;
        } else if (head.kind == ARRAY) {
            pending += head.count;
        } else if (head.kind == MAP) {
            pending += 2 * (uint64_t)head.count;
        } else {
            r->at += head.count;
        }
    }
    return true;
}
