/*
 * run.c: the format of a segment.
 *
 * A segment is a sequence of blocks with nothing between them:
 *
 *     8  checksum: hash64 of the rest of the block
 *     4  length of the payload
 *     4  rows in the payload, at least 1
 *        payload: the rows, one behind the other
 *
 * and a row, its head written as what differs from the head before it:
 *
 *     v  shared: bytes it has in common with the head before; 0 for the
 *                first row of a block, so that every block stands alone
 *     v  rest:   bytes of the head that follow
 *        the rest of the head
 *     v  length of the tail and the tail: only when shared + rest is
 *                ROW_HEAD_MAX, for no other head has a tail
 *        values: MessagePack integers, one per component
 *
 * Fixed integers are big-endian; v is a varint: seven bits per byte, lowest
 * first, all bytes but the last with the top bit set. Five rows of a job
 * with one component,
 *
 *     tree 3    treehouse 1    trees -1    trend 300    "y" x 700 1
 *
 * (the last is too long for a head: 495 times y and a hash, tail 205
 * times y) are this payload of 748 bytes:
 *
 *     00 04 t r e e                   03
 *     04 05 h o u s e                 01
 *     04 01 s                         ff
 *     03 02 n d                       cd 01 2c
 *     00 ff 03 y..y ## cd 01 y..y     01      511 = 03 ff, 205 = 01 cd
 *
 * A block takes at most RUN_BUFFER_MIN bytes, for then the smallest buffer
 * a reader may have holds one, and a checksum is looked at before the first
 * row behind it is handed out. Larger blocks would compress no better: each
 * costs 16 bytes and one head. A row that is longer by itself makes a block
 * as long as it must be. Blocks are written and read several at a time.
 *
 * A reader trusts nothing: these files are read again after a crash. Beyond
 * the checksum it checks every length against the block, the order of heads
 * over the whole segment, and the number of rows at the end, so that lost,
 * repeated and foreign blocks are found as well.
 */
#include "state/run.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    CHECKSUM_SIZE = 8,
    HEADER_SIZE = 16,
    BLOCK_SIZE = RUN_BUFFER_MIN, /* where a row allows it */
    WRITE_SIZE = 64 * 1024,      /* bytes worth a system call */
    TAIL_MAX = ROW_KEY_MAX - ROW_HEAD_EXACT,
    VARINT_MAX = 3, /* bytes; enough for TAIL_MAX */
    ROW_MAX = 3 * VARINT_MAX + ROW_HEAD_MAX + TAIL_MAX + ROW_VALUES_MAX
};

static size_t varint_encode(uint8_t *out, size_t v)
{
    size_t n = 0;

    while (v >= 0x80) {
        out[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    out[n++] = (uint8_t)v;
    return n;
}

/* Returns the bytes read, 0 when malformed. */
static size_t varint_decode(struct bytes in, size_t *v)
{
    *v = 0;
    for (size_t n = 0; n < in.len && n < VARINT_MAX; n++) {
        *v |= (size_t)(in.data[n] & 0x7f) << 7 * n;
        if (in.data[n] < 0x80) {
            return n + 1;
        }
    }
    return 0;
}

/* The last head that went by; what the next is compressed against. */
struct last_head {
    size_t len; /* 0 before the first row */
    uint8_t data[ROW_HEAD_MAX];
};

static struct bytes bytes_from(struct bytes b, size_t skip)
{
    return bytes_of(b.data + skip, b.len - skip);
}

static void remember(struct last_head *last, size_t shared, struct bytes rest)
{
    memcpy(last->data + shared, rest.data, rest.len);
    last->len = shared + rest.len;
}

/* Whether a head that begins with `shared` bytes of the last one and goes on
 * with `rest` comes after it. */
static bool is_after(const struct last_head *last, size_t shared,
                     struct bytes rest)
{
    if (shared < last->len && rest.len > 0 &&
        last->data[shared] != rest.data[0]) {
        return last->data[shared] < rest.data[0]; /* as a rule */
    }
    return bytes_compare(bytes_of(last->data + shared, last->len - shared),
                         rest) < 0;
}

/* ---- Writing ---- */

static unsigned value_bound(int64_t v)
{
    if (v >= INT16_MIN && v <= UINT16_MAX) {
        return 3;
    }
    return v >= INT32_MIN && v <= UINT32_MAX ? 6 : 9;
}

uint64_t run_row_bound(const struct row *row, unsigned components)
{
    uint64_t bytes = row->head.len + row->tail.len;

    for (unsigned i = 0; i < components; i++) {
        bytes += value_bound(row->values[i]);
    }
    return bytes;
}

struct run_writer {
    struct row_shape shape;
    int fd;
    uint64_t begin;
    uint64_t written;    /* bytes of whole blocks that are in the file */
    uint64_t rows;       /* of the segment */
    struct buf out;      /* blocks to write; the last may be unfinished */
    size_t block;        /* where that one begins in out */
    uint32_t block_rows; /* 0: no block is begun */
    struct last_head last;
};

enum df_status run_writer_open(struct run_writer **w, struct row_shape shape,
                               int fd, uint64_t begin, struct df_error *err)
{
    struct run_writer *writer = calloc(1, sizeof *writer);

    *w = NULL;
    if (writer == NULL || !buf_reserve(&writer->out, WRITE_SIZE)) {
        free(writer);
        return error_no_memory(err);
    }
    writer->shape = shape;
    writer->fd = fd;
    writer->begin = begin;
    *w = writer;
    return DF_OK;
}

void run_writer_close(struct run_writer *w)
{
    if (w != NULL) {
        buf_fini(&w->out);
        free(w);
    }
}

static enum df_status write_out(struct run_writer *w, struct df_error *err)
{
    size_t done = 0;

    while (done < w->out.len) {
        ssize_t n = pwrite(w->fd, w->out.data + done, w->out.len - done,
                           (off_t)(w->begin + w->written));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return error_errno(err, n < 0 ? errno : EIO, "writing a run");
        }
        done += (size_t)n;
        w->written += (uint64_t)n;
    }
    buf_reset(&w->out);
    w->block = 0;
    return DF_OK;
}

/* Fills in the header of the block in work and ends it. */
static void end_block(struct run_writer *w)
{
    uint8_t *header = w->out.data + w->block;
    size_t size = w->out.len - w->block;

    store_be32(header + CHECKSUM_SIZE, (uint32_t)(size - HEADER_SIZE));
    store_be32(header + CHECKSUM_SIZE + 4, w->block_rows);
    store_be64(header,
               hash64(bytes_of(header + CHECKSUM_SIZE, size - CHECKSUM_SIZE)));
    w->block = w->out.len;
    w->block_rows = 0;
}

static enum df_status begin_block(struct run_writer *w, struct df_error *err)
{
    static const uint8_t header[HEADER_SIZE];

    if (w->out.len > WRITE_SIZE - BLOCK_SIZE) {
        enum df_status status = write_out(w, err);

        if (status != DF_OK) {
            return status;
        }
    }
    return buf_append(&w->out, header, sizeof header) ? DF_OK
                                                      : error_no_memory(err);
}

/* Bytes that a row takes at most, of whose head `shared` are left out. */
static size_t row_size(const struct row *row, size_t shared)
{
    return (size_t)3 * VARINT_MAX + row->head.len - shared + row->tail.len +
           ROW_VALUES_MAX;
}

static void append_row(struct run_writer *w, const struct row *row,
                       size_t shared)
{
    uint8_t *start = w->out.data + w->out.len;
    uint8_t *to = start;
    size_t rest = row->head.len - shared;

    to += varint_encode(to, shared);
    to += varint_encode(to, rest);
    memcpy(to, row->head.data + shared, rest);
    to += rest;
    if (row->head.len == ROW_HEAD_MAX) {
        to += varint_encode(to, row->tail.len);
        memcpy(to, row->tail.data, row->tail.len);
        to += row->tail.len;
    }
    to += row_values_encode(to, w->shape.components, row->values);
    w->out.len += (size_t)(to - start);
}

enum df_status run_writer_add(struct run_writer *w, const struct row *row,
                              struct df_error *err)
{
    size_t shared =
        bytes_shared(bytes_of(w->last.data, w->last.len), row->head);
    size_t size = row_size(row, shared);
    enum df_status status;

    assert(is_after(&w->last, shared, bytes_from(row->head, shared)));
    assert((row->tail.len != 0) == (row->head.len == ROW_HEAD_MAX));
    if (w->block_rows != 0 && w->out.len - w->block + size > BLOCK_SIZE) {
        end_block(w);
    }
    if (w->block_rows == 0) {
        status = begin_block(w, err);
        if (status != DF_OK) {
            return status;
        }
        shared = 0;
        size = row_size(row, 0);
    }
    if (!buf_reserve(&w->out, size)) {
        return error_no_memory(err);
    }
    append_row(w, row, shared);
    remember(&w->last, shared, bytes_from(row->head, shared));
    w->block_rows++;
    w->rows++;
    return DF_OK;
}

enum df_status run_writer_end(struct run_writer *w,
                              struct run_segment *segment,
                              struct df_error *err)
{
    enum df_status status;

    if (w->block_rows != 0) {
        end_block(w);
    }
    status = write_out(w, err);
    if (status == DF_OK) {
        *segment = (struct run_segment){ .fd = w->fd,
                                         .begin = w->begin,
                                         .end = w->begin + w->written,
                                         .rows = w->rows };
    }
    return status;
}

/* ---- Reading ---- */

struct run_reader {
    struct run_source source; /* first: what callers hold */
    struct row_shape shape;
    struct run_segment segment;
    uint64_t offset; /* of the next byte to read from the file */
    uint64_t rows;   /* handed out */
    uint8_t *buffer;
    size_t capacity;     /* of buffer; grows for long rows */
    size_t usual;        /* capacity that was asked for */
    size_t from;         /* buffer[from] to buffer[to - 1] are read and not */
    size_t to;           /* yet in a block */
    struct bytes block;  /* what is left of the block in work */
    uint32_t block_rows; /* rows in it */
    bool is_fresh;       /* no row of it has been taken */
    struct last_head last; /* of the row handed out */
    struct row row;
    int64_t values[DF_COMPONENTS_MAX];
};

static enum df_status damaged(struct df_error *err, const char *why)
{
    return error_set(err, DF_STATE, "a run on disk is damaged: %s", why);
}

static enum df_status resize(struct run_reader *r, size_t capacity,
                             struct df_error *err)
{
    uint8_t *buffer = realloc(r->buffer, capacity);

    if (buffer == NULL) {
        return error_no_memory(err);
    }
    r->buffer = buffer;
    r->capacity = capacity;
    return DF_OK;
}

/* Reads on until `need` bytes lie at buffer[from], more where they fit. The
 * block before is gone by now: unread bytes move to the front. */
static enum df_status fill(struct run_reader *r, size_t need,
                           struct df_error *err)
{
    size_t have = r->to - r->from;
    size_t capacity = need > r->usual ? need : r->usual;

    if (have >= need) {
        return DF_OK;
    }
    memmove(r->buffer, r->buffer + r->from, have);
    r->from = 0;
    r->to = have;
    if (r->capacity != capacity && have <= capacity) {
        enum df_status status = resize(r, capacity, err);

        if (status != DF_OK) {
            return status;
        }
    }
    while (r->to < need) {
        uint64_t left = r->segment.end - r->offset;
        size_t room = r->capacity - r->to;
        ssize_t n = pread(r->segment.fd, r->buffer + r->to,
                          left < room ? (size_t)left : room, (off_t)r->offset);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return error_errno(err, errno, "reading a run");
        }
        if (n == 0) {
            return damaged(err, "it ends early");
        }
        r->to += (size_t)n;
        r->offset += (uint64_t)n;
    }
    return DF_OK;
}

/* Bytes of the segment that are in no block yet. */
static uint64_t bytes_left(const struct run_reader *r)
{
    return r->segment.end - r->offset + (r->to - r->from);
}

static enum df_status load_block(struct run_reader *r, struct df_error *err)
{
    const uint8_t *header;
    uint32_t length;
    enum df_status status;

    if (bytes_left(r) < HEADER_SIZE) {
        return damaged(err, "it ends early");
    }
    status = fill(r, HEADER_SIZE, err);
    if (status != DF_OK) {
        return status;
    }
    length = load_be32(r->buffer + r->from + CHECKSUM_SIZE);
    if (length > ROW_MAX || HEADER_SIZE + length > bytes_left(r)) {
        return damaged(err, "wrong block length");
    }
    status = fill(r, HEADER_SIZE + length, err);
    if (status != DF_OK) {
        return status;
    }
    header = r->buffer + r->from;
    if (load_be64(header) !=
        hash64(bytes_of(header + CHECKSUM_SIZE,
                        HEADER_SIZE - CHECKSUM_SIZE + length))) {
        return damaged(err, "wrong checksum");
    }
    r->block = bytes_of(header + HEADER_SIZE, length);
    r->block_rows = load_be32(header + CHECKSUM_SIZE + 4);
    r->is_fresh = true;
    r->from += HEADER_SIZE + length;
    return r->block_rows != 0 ? DF_OK : damaged(err, "empty block");
}

static bool take_varint(struct bytes *in, size_t *v)
{
    size_t n = varint_decode(*in, v);

    *in = bytes_from(*in, n);
    return n != 0;
}

static bool take_bytes(struct bytes *in, size_t len, struct bytes *out)
{
    if (len > in->len) {
        return false;
    }
    *out = bytes_of(in->data, len);
    *in = bytes_from(*in, len);
    return true;
}

/* Takes a head off the block, the tail too where there is one. */
static bool take_key(struct run_reader *r, struct bytes *in)
{
    size_t most = r->is_fresh ? 0 : r->last.len;
    size_t shared;
    size_t len;
    struct bytes rest;

    if (!take_varint(in, &shared) || !take_varint(in, &len) ||
        !take_bytes(in, len, &rest) || shared > most ||
        shared + len > ROW_HEAD_MAX || !is_after(&r->last, shared, rest)) {
        return false;
    }
    r->is_fresh = false;
    remember(&r->last, shared, rest);
    r->row.head.len = r->last.len;
    r->row.tail.len = 0;
    if (r->last.len <= ROW_HEAD_EXACT) {
        return true;
    }
    return r->last.len == ROW_HEAD_MAX && take_varint(in, &len) && len != 0 &&
           take_bytes(in, len, &r->row.tail);
}

static bool take_values(struct run_reader *r, struct bytes *in)
{
    size_t n = row_values_decode(*in, r->shape.components, r->values);

    *in = bytes_from(*in, n);
    return n != 0 && !row_values_zero(r->shape.components, r->values);
}

/* At the end of the last block. */
static enum df_status end_of_run(struct run_reader *r, const struct row **row,
                                 struct df_error *err)
{
    *row = NULL;
    return r->rows == r->segment.rows ? DF_OK
                                      : damaged(err, "rows are missing");
}

static enum df_status reader_next(struct run_source *source,
                                  const struct row **row, struct df_error *err)
{
    struct run_reader *r = (struct run_reader *)source;

    if (r->block_rows == 0) {
        enum df_status status;

        if (r->block.len != 0) {
            return damaged(err, "bytes behind the rows of a block");
        }
        if (bytes_left(r) == 0) {
            return end_of_run(r, row, err);
        }
        status = load_block(r, err);
        if (status != DF_OK) {
            return status;
        }
    }
    if (!take_key(r, &r->block) || !take_values(r, &r->block)) {
        return damaged(err, "malformed row");
    }
    r->block_rows--;
    r->rows++;
    *row = &r->row;
    return DF_OK;
}

static enum df_status reader_rewind(struct run_source *source,
                                    struct df_error *err)
{
    struct run_reader *r = (struct run_reader *)source;

    (void)err;
    r->offset = r->segment.begin;
    r->rows = 0;
    r->from = 0;
    r->to = 0;
    r->block = bytes_of(r->buffer, 0);
    r->block_rows = 0;
    r->last.len = 0;
    return DF_OK;
}

enum df_status run_reader_open(struct run_source **source,
                               struct row_shape shape,
                               const struct run_segment *segment,
                               size_t buffer, struct df_error *err)
{
    struct run_reader *r;

    *source = NULL;
    if (segment->end < segment->begin) {
        return damaged(err, "it ends before it begins");
    }
    r = calloc(1, sizeof *r);
    if (r == NULL) {
        return error_no_memory(err);
    }
    r->source.next = reader_next;
    r->source.rewind = reader_rewind;
    r->shape = shape;
    r->segment = *segment;
    r->usual = buffer < RUN_BUFFER_MIN ? RUN_BUFFER_MIN : buffer;
    r->row.head.data = r->last.data;
    r->row.values = r->values;
    if (resize(r, r->usual, err) != DF_OK) {
        free(r);
        return DF_SYSTEM;
    }
    *source = &r->source;
    return reader_rewind(*source, err);
}

void run_reader_close(struct run_source *source)
{
    struct run_reader *r = (struct run_reader *)source;

    if (r != NULL) {
        free(r->buffer);
        free(r);
    }
}
