#include "input/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/reader.h"
#include "input/refuse.h"
#include "input/walk.h"

/* Files above this length are announced to the kernel. */
#define SOURCE_ADVISE ((uint64_t)1 << 20)

bool source_init(struct source *s)
{
    *s = (struct source){ .fd = -1 };
    return hash_stream_open(&s->block);
}

void source_fini(struct source *s)
{
    if (s->block != NULL) {
        source_abandon(s);
        hash_stream_close(s->block);
    }
    buf_fini(&s->path);
    *s = (struct source){ .fd = -1 };
}

enum df_status source_refuse(const struct source *s, struct df_error *err,
                             const char *format, ...)
{
    char why[DF_ERROR_SIZE];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return refuse(err, s->root, s->file->path, "%s", why);
}

static enum df_status refuse_changed(const struct source *s,
                                     struct df_error *err)
{
    return source_refuse(s, err,
                         "changed while it was read; run again when it is "
                         "complete");
}

/* Compares with what the scan saw, and with what other units saw. */
static enum df_status check(struct source *s, struct df_error *err)
{
    struct stat st;

    if (fstat(s->fd, &st) != 0) {
        return refuse_errno(err, s->root, s->file->path, errno);
    }
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != s->file->length ||
        walk_mtime(&st) != s->file->mtime ||
        (s->range.inode != 0 && s->range.inode != st.st_ino)) {
        return refuse_changed(s, err);
    }
    s->inode = st.st_ino;
    return DF_OK;
}

static bool set_path(struct source *s)
{
    buf_reset(&s->path);
    return buf_append_string(&s->path, s->root) &&
           buf_append_byte(&s->path, '/') &&
           buf_append(&s->path, s->file->path, strlen(s->file->path) + 1);
}

enum df_status source_open(struct source *s, const struct batch *batch,
                           const struct batch_file *file,
                           const struct source_range *range,
                           struct df_error *err)
{
    enum df_status status;

    s->root = batch->path;
    s->file = file;
    s->range = *range;
    s->pos = range->begin;
    if (!set_path(s)) {
        return error_no_memory(err);
    }
    /* O_NONBLOCK: should a FIFO have taken the file's place. */
    s->fd = open((const char *)s->path.data,
                 O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (s->fd < 0) {
        return refuse_errno(err, s->root, file->path, errno);
    }
    status = check(s, err);
    if (status != DF_OK) {
        source_abandon(s);
        return status;
    }
    if (file->length > SOURCE_ADVISE) {
        (void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    }
    if (file->length == 0 && range->hashes != NULL) {
        *range->hashes = hash128(bytes_of(NULL, 0), 0);
    }
    hash_stream_reset(s->block);
    return DF_OK;
}

void source_abandon(struct source *s)
{
    if (s->fd >= 0) {
        (void)close(s->fd);
        s->fd = -1;
    }
}

enum df_status source_close(struct source *s, struct df_error *err)
{
    enum df_status status = check(s, err);

    source_abandon(s);
    return status;
}

/* One read at pos; *n = 0 is the end of the file on disk. */
static enum df_status read_some(struct source *s, uint8_t *room, size_t size,
                                size_t *n, struct df_error *err)
{
    ssize_t got;

    do {
        got = pread(s->fd, room, size, (off_t)s->pos);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return refuse_errno(err, s->root, s->file->path, errno);
    }
    *n = (size_t)got;
    return DF_OK;
}

/* Reads up to `end`. Asks for a byte more where `end` is that of the file:
 * one that has grown shows itself without a further call. */
static enum df_status read_until(struct source *s, uint64_t end, uint8_t *room,
                                 size_t size, size_t *n, struct df_error *err)
{
    uint64_t more = end == s->file->length ? 1 : 0;

    *n = 0;
    while (*n < size && s->pos < end) {
        uint64_t left = end - s->pos + more;
        size_t wanted = size - *n < left ? size - *n : (size_t)left;
        size_t got = 0;
        enum df_status status = read_some(s, room + *n, wanted, &got, err);

        if (status != DF_OK) {
            return status;
        }
        if (got == 0 || got > end - s->pos) {
            return refuse_changed(s, err);
        }
        s->pos += got;
        *n += got;
    }
    return DF_OK;
}

/* Hashes bytes that lie at `pos` of the file, block by block. A block that
 * is there as a whole takes the short way; it gives the same hash. */
static void hash_bytes(struct source *s, uint64_t pos, struct bytes b)
{
    while (b.len > 0) {
        uint64_t within = pos % READER_HASH_BLOCK;
        uint64_t left = READER_HASH_BLOCK - within;
        size_t take = b.len < left ? b.len : (size_t)left;
        bool ends = take == left || pos + take == s->range.end;
        struct hash128 *hash =
            &s->range.hashes[(pos - s->range.begin) / READER_HASH_BLOCK];

        if (ends && within == 0) {
            *hash = hash128(bytes_of(b.data, take), 0);
        } else {
            hash_stream_add(s->block, bytes_of(b.data, take));
            if (ends) {
                *hash = hash_stream_end(s->block);
                hash_stream_reset(s->block);
            }
        }
        pos += take;
        b = bytes_of(b.data + take, b.len - take);
    }
}

enum df_status source_read(struct source *s, uint8_t *room, size_t size,
                           size_t *n, struct df_error *err)
{
    uint64_t pos = s->pos;
    enum df_status status = DF_OK;

    *n = 0;
    if (s->stop != NULL && *s->stop != 0) {
        return error_set(err, DF_INTERRUPTED, "interrupted");
    }
    status = read_until(s, s->range.end, room, size, n, err);

    if (status == DF_OK && s->range.hashes != NULL) {
        hash_bytes(s, pos, bytes_of(room, *n));
    }
    return status;
}

enum df_status source_read_behind(struct source *s, uint8_t *room, size_t size,
                                  size_t *n, struct df_error *err)
{
    return read_until(s, s->file->length, room, size, n, err);
}

static enum df_status read_feed(void *ctx, uint8_t *room, size_t size,
                                size_t *n, struct df_error *err)
{
    return source_read(ctx, room, size, n, err);
}

static enum df_status refuse_feed(void *ctx, const char *why,
                                  struct df_error *err)
{
    return source_refuse(ctx, err, "%s", why);
}

struct feed source_feed(struct source *s)
{
    return (struct feed){ .read = read_feed, .refuse = refuse_feed, .ctx = s };
}
