#include "input/decode.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Bytes on their way through a decoder. */
struct stage {
    uint8_t *data; /* DECODE_CHUNK bytes, NULL until first used */
    size_t begin;  /* data[begin..end) is not yet taken */
    size_t end;
    bool at_end; /* nothing follows them */
};

struct decode {
    struct feed feed;
    enum decode_kind kind;
    struct stage packed; /* compressed bytes */
    uint64_t fed;        /* compressed bytes that have come */
    bool is_between;     /* members: one has ended, none has begun */
    uint64_t number;     /* of the member at hand, from 1 */
    struct decode_member member;
    bool has_given; /* the member at hand: content */
    z_stream zlib;
    bool has_zlib; /* zlib is initialised */
    ZSTD_DCtx *zstd;
    bool is_wide;
    enum utf16_order order;
    struct stage wide; /* UTF-16 */
};

enum decode_kind decode_kind_of(struct bytes head)
{
    uint32_t magic;

    if (head.len >= 2 && head.data[0] == 0x1F && head.data[1] == 0x8B) {
        return DECODE_GZIP;
    }
    if (head.len < 4) {
        return DECODE_PLAIN;
    }
    magic = (uint32_t)head.data[0] | (uint32_t)head.data[1] << 8 |
            (uint32_t)head.data[2] << 16 | (uint32_t)head.data[3] << 24;
    if (magic == ZSTD_MAGICNUMBER ||
        (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START) {
        return DECODE_ZSTD;
    }
    return DECODE_PLAIN;
}

enum decode_kind decode_kind_of_name(const char *path)
{
    struct bytes name = bytes_of_string(path);

    if (bytes_end_in(name, ".gz")) {
        return DECODE_GZIP;
    }
    return bytes_end_in(name, ".zst") ? DECODE_ZSTD : DECODE_PLAIN;
}

size_t decode_mark(struct bytes head, bool *is_wide, enum utf16_order *order)
{
    *is_wide = false;
    if (head.len >= 3 && memcmp(head.data, "\xEF\xBB\xBF", 3) == 0) {
        return 3;
    }
    if (head.len < 2) {
        return 0;
    }
    if (memcmp(head.data, "\xFF\xFE", 2) == 0) {
        *order = UTF16_LITTLE;
    } else if (memcmp(head.data, "\xFE\xFF", 2) == 0) {
        *order = UTF16_BIG;
    } else {
        return 0;
    }
    *is_wide = true;
    return 2;
}

enum df_status decode_open(struct decode **d, const struct feed *feed,
                           struct df_error *err)
{
    *d = calloc(1, sizeof **d);
    if (*d == NULL) {
        return error_no_memory(err);
    }
    (*d)->feed = *feed;
    return DF_OK;
}

void decode_close(struct decode *d)
{
    if (d == NULL) {
        return;
    }
    if (d->has_zlib) {
        (void)inflateEnd(&d->zlib);
    }
    (void)ZSTD_freeDCtx(d->zstd);
    free(d->packed.data);
    free(d->wide.data);
    free(d);
}

void decode_start(struct decode *d)
{
    d->kind = DECODE_PLAIN;
    d->is_wide = false;
    d->member = (struct decode_member){ 0 };
}

struct decode_member decode_member(const struct decode *d)
{
    return d->member;
}

enum df_status decode_refuse(const struct decode *d, struct df_error *err,
                             const char *format, ...)
{
    char why[DF_ERROR_SIZE];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return feed_refuse(&d->feed, why, err);
}

/* Makes a stage ready, with head as its first bytes. */
static bool stage_start(struct stage *s, struct bytes head)
{
    assert(head.len <= DECODE_CHUNK);
    if (s->data == NULL) {
        s->data = malloc(DECODE_CHUNK);
        if (s->data == NULL) {
            return false;
        }
    }
    if (head.len > 0) {
        memcpy(s->data, head.data, head.len);
    }
    s->begin = 0;
    s->end = head.len;
    s->at_end = false;
    return true;
}

/* What zlib calls the kinds. */
static int window_bits(enum decode_kind kind)
{
    switch (kind) {
    case DECODE_ZLIB:
        return MAX_WBITS;
    case DECODE_DEFLATE:
        return -MAX_WBITS;
    case DECODE_PLAIN:
    case DECODE_ZSTD:
    case DECODE_GZIP:
    default:
        return 16 + MAX_WBITS;
    }
}

static bool zlib_start(struct decode *d)
{
    if (!d->has_zlib) {
        d->zlib = (z_stream){ 0 };
        d->has_zlib = inflateInit2(&d->zlib, window_bits(d->kind)) == Z_OK;
        return d->has_zlib;
    }
    return inflateReset2(&d->zlib, window_bits(d->kind)) == Z_OK;
}

static bool zstd_start(struct decode *d)
{
    if (d->zstd == NULL) {
        d->zstd = ZSTD_createDCtx();
    }
    return d->zstd != NULL &&
           !ZSTD_isError(ZSTD_DCtx_reset(d->zstd, ZSTD_reset_session_only)) &&
           !ZSTD_isError(ZSTD_DCtx_setParameter(d->zstd, ZSTD_d_windowLogMax,
                                                DECODE_ZSTD_WINDOW_LOG));
}

/* Begins a member with what is next of the packed bytes. */
static bool member_start(struct decode *d)
{
    d->is_between = false;
    d->number++;
    d->member = (struct decode_member){
        .at = d->fed - (d->packed.end - d->packed.begin),
        .is_packed = true,
    };
    d->has_given = false;
    return d->kind == DECODE_ZSTD ? zstd_start(d) : zlib_start(d);
}

enum df_status decode_compressed(struct decode *d, enum decode_kind kind,
                                 struct bytes head, struct df_error *err)
{
    d->kind = kind;
    d->fed = head.len;
    d->number = 0;
    return stage_start(&d->packed, head) && member_start(d)
               ? DF_OK
               : error_no_memory(err);
}

enum df_status decode_wide(struct decode *d, enum utf16_order order,
                           struct bytes head, struct df_error *err)
{
    d->is_wide = true;
    d->order = order;
    return stage_start(&d->wide, head) ? DF_OK : error_no_memory(err);
}

static const char *kind_name(enum decode_kind kind)
{
    return kind == DECODE_GZIP   ? "gzip"
           : kind == DECODE_ZSTD ? "zstd"
                                 : "deflate";
}

static enum df_status refuse_corrupt(const struct decode *d, const char *why,
                                     struct df_error *err)
{
    return decode_refuse(d, err,
                         "corrupt %s data in member %llu, which begins at "
                         "byte %llu (%s); upload it again",
                         kind_name(d->kind), (unsigned long long)d->number,
                         (unsigned long long)d->member.at, why);
}

/* More compressed bytes where there are none. */
static enum df_status refill_packed(struct decode *d, struct df_error *err)
{
    struct stage *p = &d->packed;
    enum df_status status;
    size_t n;

    if (p->begin < p->end || p->at_end) {
        return DF_OK;
    }
    status = feed_read(&d->feed, p->data, DECODE_CHUNK, &n, err);
    if (status == DF_OK) {
        d->fed += n;
        p->begin = 0;
        p->end = n;
        p->at_end = n == 0;
    }
    return status;
}

/* What stands behind the last member must be zeros to the end. */
static enum df_status skip_zeros(struct decode *d, struct df_error *err)
{
    struct stage *p = &d->packed;

    while (!p->at_end) {
        enum df_status status;

        while (p->begin < p->end) {
            if (p->data[p->begin++] != 0) {
                return decode_refuse(d, err,
                                     "has other bytes behind its %s data; "
                                     "upload it again",
                                     kind_name(d->kind));
            }
        }
        status = refill_packed(d, err);
        if (status != DF_OK) {
            return status;
        }
    }
    return DF_OK;
}

/* Of deflate data there is one stream. */
static bool has_members(enum decode_kind kind)
{
    return kind == DECODE_GZIP || kind == DECODE_ZSTD;
}

/* Between members: begins the next one, or *done is set. */
static enum df_status next_member(struct decode *d, bool *done,
                                  struct df_error *err)
{
    struct stage *p = &d->packed;

    *done = true;
    if (p->at_end) {
        return DF_OK;
    }
    if (p->data[p->begin] == 0 || !has_members(d->kind)) {
        return skip_zeros(d, err);
    }
    *done = false;
    return member_start(d) ? DF_OK : error_no_memory(err);
}

static enum df_status refuse_truncated(const struct decode *d,
                                       struct df_error *err)
{
    return decode_refuse(d, err,
                         "truncated: its %s data ends early, in the member "
                         "that begins at byte %llu; upload it again",
                         kind_name(d->kind), (unsigned long long)d->member.at);
}

/* One step of inflate. */
static enum df_status step_zlib(struct decode *d, uint8_t *room, size_t size,
                                size_t *n, struct df_error *err)
{
    struct stage *p = &d->packed;
    z_stream *z = &d->zlib;
    uInt most = size < UINT_MAX ? (uInt)size : UINT_MAX;
    int result;

    z->next_in = p->data + p->begin;
    z->avail_in = (uInt)(p->end - p->begin);
    z->next_out = room;
    z->avail_out = most;
    result = inflate(z, Z_NO_FLUSH);
    p->begin = p->end - z->avail_in;
    *n = most - z->avail_out;
    if (result == Z_STREAM_END) {
        d->is_between = true;
        return DF_OK;
    }
    if (result == Z_MEM_ERROR) {
        return error_no_memory(err);
    }
    if (result != Z_OK && result != Z_BUF_ERROR) {
        return refuse_corrupt(d, z->msg == NULL ? "bad data" : z->msg, err);
    }
    return *n == 0 && p->at_end ? refuse_truncated(d, err) : DF_OK;
}

static enum df_status refuse_zstd(const struct decode *d, size_t result,
                                  struct df_error *err)
{
    ZSTD_ErrorCode code = ZSTD_getErrorCode(result);

    if (code == ZSTD_error_memory_allocation) {
        return error_no_memory(err);
    }
    if (code == ZSTD_error_frameParameter_windowTooLarge) {
        return decode_refuse(d, err,
                             "its zstd window is larger than %d MiB; "
                             "compress it without --long and --ultra",
                             1 << (DECODE_ZSTD_WINDOW_LOG - 20));
    }
    return refuse_corrupt(d, ZSTD_getErrorName(result), err);
}

/* One step of zstd. */
static enum df_status step_zstd(struct decode *d, uint8_t *room, size_t size,
                                size_t *n, struct df_error *err)
{
    struct stage *p = &d->packed;
    ZSTD_inBuffer in = { p->data + p->begin, p->end - p->begin, 0 };
    ZSTD_outBuffer out = { .size = size };
    size_t result;

    out.dst = room;
    result = ZSTD_decompressStream(d->zstd, &out, &in);

    p->begin += in.pos;
    *n = out.pos;
    if (ZSTD_isError(result)) {
        return refuse_zstd(d, result, err);
    }
    d->is_between = result == 0;
    return *n == 0 && p->at_end && !d->is_between ? refuse_truncated(d, err)
                                                  : DF_OK;
}

static enum df_status pull_compressed(struct decode *d, uint8_t *room,
                                      size_t size, size_t *n,
                                      struct df_error *err)
{
    bool done = false;

    *n = 0;
    while (*n == 0) {
        enum df_status status = refill_packed(d, err);

        if (status == DF_OK && d->is_between) {
            status = next_member(d, &done, err);
        }
        if (status != DF_OK || done) {
            return status;
        }
        status = d->kind == DECODE_ZSTD ? step_zstd(d, room, size, n, err)
                                        : step_zlib(d, room, size, n, err);
        if (status != DF_OK) {
            return status;
        }
    }
    d->member.begins = !d->has_given;
    d->has_given = true;
    return DF_OK;
}

/* The content before UTF-16 is decoded. */
static enum df_status pull_bytes(struct decode *d, uint8_t *room, size_t size,
                                 size_t *n, struct df_error *err)
{
    if (d->kind == DECODE_PLAIN) {
        return feed_read(&d->feed, room, size, n, err);
    }
    return pull_compressed(d, room, size, n, err);
}

/* More UTF-16 behind the few bytes that are left. */
static enum df_status refill_wide(struct decode *d, struct df_error *err)
{
    struct stage *w = &d->wide;
    size_t left = w->end - w->begin;
    enum df_status status;
    size_t n;

    memmove(w->data, w->data + w->begin, left);
    status = pull_bytes(d, w->data + left, DECODE_CHUNK - left, &n, err);
    if (status == DF_OK) {
        w->begin = 0;
        w->end = left + n;
        w->at_end = n == 0;
    }
    return status;
}

static enum df_status pull_wide(struct decode *d, uint8_t *room, size_t size,
                                size_t *n, struct df_error *err)
{
    struct stage *w = &d->wide;

    for (;;) {
        enum df_status status;
        size_t used;

        *n = utf16_decode(d->order,
                          bytes_of(w->data + w->begin, w->end - w->begin),
                          w->at_end, room, size, &used);
        w->begin += used;
        if (*n > 0 || w->at_end) {
            return DF_OK;
        }
        status = refill_wide(d, err);
        if (status != DF_OK) {
            return status;
        }
    }
}

enum df_status decode_pull(struct decode *d, uint8_t *room, size_t size,
                           size_t *n, struct df_error *err)
{
    assert(size >= UTF16_STEP_MAX);
    return d->is_wide ? pull_wide(d, room, size, n, err)
                      : pull_bytes(d, room, size, n, err);
}
