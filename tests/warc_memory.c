#include "tests/warc_memory.h"

#include <stdlib.h>

#include "base/buf.h"
#include "input/decode.h"
#include "input/warc.h"

struct warc_memory {
    struct bytes rest; /* of the archive */
    size_t step;
    struct decode *file;
    struct warc *warc;
    struct buf content; /* of a document */
    size_t leave;       /* so many documents */
};

static enum df_status read_memory(void *ctx, uint8_t *room, size_t size,
                                  size_t *n, struct df_error *err)
{
    struct warc_memory *m = ctx;

    (void)err;
    *n = m->step < size ? m->step : size;
    if (*n > m->rest.len) {
        *n = m->rest.len;
    }
    if (*n > 0) {
        memcpy(room, m->rest.data, *n);
    }
    m->rest = bytes_of(m->rest.data + *n, m->rest.len - *n);
    return DF_OK;
}

static enum df_status refuse_memory(void *ctx, const char *why,
                                    struct df_error *err)
{
    (void)ctx;
    return error_set(err, DF_INPUT, "%s", why);
}

struct warc_memory *warc_memory_open(void)
{
    struct warc_memory *m = calloc(1, sizeof *m);
    struct feed feed = { .read = read_memory, .refuse = refuse_memory };
    struct df_error err;

    feed.ctx = m;
    if (m == NULL || decode_open(&m->file, &feed, &err) != DF_OK ||
        warc_open(&m->warc, m->file, &err) != DF_OK) {
        abort();
    }
    return m;
}

void warc_memory_close(struct warc_memory *m)
{
    warc_close(m->warc);
    decode_close(m->file);
    buf_fini(&m->content);
    free(m);
}

void warc_memory_leave(struct warc_memory *m, size_t n)
{
    m->leave = n;
}

struct reader_counts warc_memory_counts(const struct warc_memory *m)
{
    return warc_counts(m->warc);
}

static enum df_status read_content(struct warc_memory *m, struct df_error *err)
{
    struct buf *b = &m->content;
    size_t n = 1;

    buf_reset(b);
    while (n > 0 && b->len + UTF16_STEP_MAX < WARC_MEMORY_CONTENT_MAX) {
        size_t size = WARC_MEMORY_CONTENT_MAX - b->len;
        enum df_status status;

        size = size < 4096 ? size : 4096;
        if (!buf_reserve(b, size)) {
            return error_no_memory(err);
        }
        status = decode_pull(warc_content(m->warc), b->data + b->len, size, &n,
                             err);
        if (status != DF_OK) {
            return status;
        }
        b->len += n;
    }
    return DF_OK;
}

/* As the reader begins a file: the first bytes tell whether it is
 * compressed. */
static enum df_status begin(struct warc_memory *m, struct df_error *err)
{
    enum decode_kind kind = decode_kind_of(m->rest);
    enum df_status status = DF_OK;

    decode_start(m->file);
    if (kind != DECODE_PLAIN) {
        status = decode_compressed(m->file, kind, bytes_of(NULL, 0), err);
    }
    return status == DF_OK ? warc_start(m->warc, bytes_of(NULL, 0), err)
                           : status;
}

enum df_status warc_memory_read(struct warc_memory *m, struct bytes archive,
                                size_t step, warc_memory_visit *visit,
                                void *ctx, struct df_error *err)
{
    enum df_status status;
    bool found = true;

    m->rest = archive;
    m->step = step;
    status = begin(m, err);
    while (status == DF_OK && found) {
        struct bytes uri;

        status = warc_next(m->warc, &uri, &found, err);
        if (m->leave > 0) {
            m->leave--;
            continue;
        }
        if (status == DF_OK && found) {
            status = read_content(m, err);
        }
        if (status == DF_OK && found) {
            visit(ctx, uri, buf_bytes(&m->content));
        }
    }
    return status;
}
