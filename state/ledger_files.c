/*
 * A block of files is an array with an array per file:
 *
 *     [flags, length, mtime, hash, path shared, path rest, id from]
 *     [flags, length, mtime, hash, path shared, path rest, id shared,
 *      id rest]                                    with FILE_OWN_ID
 *
 * A path is the first `shared` bytes of the path before it and the rest. An
 * id is nearly always the path without its section, and then is the byte of
 * the path where it starts. Example, with the parts that matter:
 *
 *     inserted/a/one.txt   id a/one.txt     0 "inserted/a/one.txt"  9
 *     inserted/a/two.txt   id a/two.txt    11 "two.txt"             9
 *     inserted/b.txt       id http://b/     9 "b.txt"    0 "http://b/"
 *
 * Decoding puts names together in two rooms on the stack and allocates
 * nothing, so that it can only fail for what is in the block. Names longer
 * than a room share nothing and are used where they lie.
 */
#include "state/ledger.h"

#include "base/codec.h"

/* What is said of a file in one number. */
enum {
    FILE_INSERTED = 1,
    FILE_QUARANTINED = 2,
    FILE_OWN_ID = 4 /* the id is no ending of the path */
};
enum {
    FILE_FIELDS = 7, /* with an id from the path; one more with its own */
    NAME_ROOM = 4096 /* longest name that shares its start */
};

static size_t shared_start(struct bytes a, struct bytes b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    size_t n = 0;

    while (n < shorter && a.data[n] == b.data[n]) {
        n++;
    }
    return n;
}

static bool put_name(struct buf *out, struct bytes before, struct bytes name)
{
    size_t shared = name.len > NAME_ROOM ? 0 : shared_start(before, name);

    return codec_put_uint(out, shared) &&
           codec_put_bin(out, bytes_of(name.data + shared, name.len - shared));
}

static bool ends_path(const struct ledger_file *f)
{
    return f->id.len <= f->path.len &&
           bytes_equal(f->id, bytes_of(f->path.data + f->path.len - f->id.len,
                                       f->id.len));
}

/* `before` is the file before; empty for the first of a block. */
static bool put_file(struct buf *out, const struct ledger_file *before,
                     const struct ledger_file *f)
{
    bool own = !ends_path(f);
    unsigned flags = (f->inserted ? FILE_INSERTED : 0u) |
                     (f->quarantined ? FILE_QUARANTINED : 0u) |
                     (own ? FILE_OWN_ID : 0u);

    return codec_put_array(out, own ? FILE_FIELDS + 1 : FILE_FIELDS) &&
           codec_put_uint(out, flags) && codec_put_uint(out, f->length) &&
           codec_put_int(out, f->mtime) && codec_put_hash(out, f->hash) &&
           put_name(out, before->path, f->path) &&
           (own ? put_name(out, before->id, f->id)
                : codec_put_uint(out, f->path.len - f->id.len));
}

bool ledger_files_encode(const struct ledger_file *files, size_t n,
                         struct buf *out)
{
    const struct ledger_file none = { 0 };
    bool ok = n <= UINT32_MAX && codec_put_array(out, (uint32_t)n);

    for (size_t i = 0; ok && i < n; i++) {
        ok = put_file(out, i == 0 ? &none : &files[i - 1], &files[i]);
    }
    return ok;
}

/* Reads a name into *name, which holds the one before. */
static bool get_name(struct codec_reader *in, uint8_t room[NAME_ROOM],
                     struct bytes *name)
{
    uint64_t shared;
    struct bytes rest;

    if (!codec_get_uint(in, &shared) || !codec_get_bytes(in, &rest) ||
        shared > name->len) {
        return false;
    }
    if (shared == 0) {
        *name = rest;
        return true;
    }
    if (shared > NAME_ROOM || rest.len > NAME_ROOM - shared) {
        return false;
    }
    memmove(room, name->data, shared); /* it may lie there already */
    if (rest.len > 0) {
        memcpy(room + shared, rest.data, rest.len);
    }
    *name = bytes_of(room, shared + rest.len);
    return true;
}

struct rooms {
    uint8_t path[NAME_ROOM];
    uint8_t id[NAME_ROOM];
};

/*
 * An id's neighbour may end its path, which is then put together anew while
 * the id still shares from it: the id of the file before is taken down
 * first when it is short enough to be shared from.
 */
static void keep_id(struct ledger_file *f, struct rooms *rooms)
{
    if (f->id.len > 0 && f->id.len <= NAME_ROOM) {
        memmove(rooms->id, f->id.data, f->id.len);
        f->id.data = rooms->id;
    }
}

static bool get_id(struct codec_reader *in, struct ledger_file *f,
                   struct rooms *rooms, bool own)
{
    uint64_t from;

    if (own) {
        return get_name(in, rooms->id, &f->id);
    }
    if (!codec_get_uint(in, &from) || from > f->path.len) {
        return false;
    }
    f->id = bytes_of(f->path.data + from, f->path.len - from);
    return true;
}

/* *f holds the file before, and then the next. */
static bool get_file(struct codec_reader *in, struct ledger_file *f,
                     struct rooms *rooms)
{
    uint32_t fields;
    uint32_t known;
    uint64_t flags;

    if (!codec_get_array(in, &fields) || !codec_get_uint(in, &flags) ||
        !codec_get_uint(in, &f->length) || !codec_get_int(in, &f->mtime) ||
        !codec_get_hash(in, &f->hash)) {
        return false;
    }
    f->inserted = (flags & FILE_INSERTED) != 0;
    f->quarantined = (flags & FILE_QUARANTINED) != 0;
    known = (flags & FILE_OWN_ID) != 0 ? FILE_FIELDS + 1 : FILE_FIELDS;
    if (fields < known) {
        return false;
    }
    if ((flags & FILE_OWN_ID) != 0) {
        keep_id(f, rooms);
    }
    if (!get_name(in, rooms->path, &f->path) ||
        !get_id(in, f, rooms, (flags & FILE_OWN_ID) != 0)) {
        return false;
    }
    for (; fields > known; fields--) {
        (void)codec_skip(in);
    }
    return !in->failed;
}

bool ledger_files_decode(struct bytes in,
                         bool (*each)(void *ctx, const struct ledger_file *),
                         void *ctx)
{
    struct codec_reader reader = codec_reader_of(in);
    struct ledger_file f = { 0 };
    struct rooms rooms;
    uint32_t n;

    if (!codec_get_array(&reader, &n)) {
        return false;
    }
    for (; n > 0; n--) {
        if (!get_file(&reader, &f, &rooms)) {
            return false;
        }
        if (!each(ctx, &f)) {
            return true;
        }
    }
    return codec_reader_finished(&reader);
}
