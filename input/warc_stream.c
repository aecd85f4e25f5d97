#include "input/warc_stream.h"

#include <assert.h>
#include <stdlib.h>

bool warc_stream_start(struct warc_stream *s, struct decode *file,
                       struct bytes head)
{
    assert(head.len <= DECODE_CHUNK);
    if (s->chunk == NULL) {
        s->chunk = malloc(DECODE_CHUNK);
        if (s->chunk == NULL) {
            return false;
        }
    }
    if (head.len > 0) {
        memcpy(s->chunk, head.data, head.len);
    }
    s->file = file;
    s->begin = 0;
    s->end = head.len;
    s->at = 0;
    s->pulled = 0;
    s->in = (struct decode_member){ 0 };
    return true;
}

void warc_stream_fini(struct warc_stream *s)
{
    free(s->chunk);
    *s = (struct warc_stream){ 0 };
}

/* Pulls once, behind what is left: as a rule nothing. */
static enum df_status pull(struct warc_stream *s, size_t *n,
                           struct df_error *err)
{
    size_t left = s->end - s->begin;
    enum df_status status;

    if (left > 0) {
        memmove(s->chunk, s->chunk + s->begin, left);
    }
    s->begin = 0;
    s->end = left;
    s->pulled = left;
    status =
        decode_pull(s->file, s->chunk + left, DECODE_CHUNK - left, n, err);
    if (status == DF_OK) {
        s->end += *n;
        s->in = decode_member(s->file);
    }
    return status;
}

enum df_status warc_stream_fill(struct warc_stream *s, size_t n,
                                struct df_error *err)
{
    size_t got = 1;

    assert(n <= WARC_STREAM_FILL_MAX);
    while (s->end - s->begin < n && got > 0) {
        enum df_status status;

        /* A little that is packed can be a lot that is passed over. */
        if (s->stop != NULL && *s->stop != 0) {
            return error_set(err, DF_INTERRUPTED, "interrupted");
        }
        status = pull(s, &got, err);

        if (status != DF_OK) {
            return status;
        }
    }
    return DF_OK;
}

struct warc_place warc_stream_place(const struct warc_stream *s)
{
    bool is_member = s->in.begins && s->begin == s->pulled;

    return (struct warc_place){
        .at = is_member ? s->in.at : s->at,
        .is_packed = s->in.is_packed,
        .is_member = is_member,
    };
}

/* Takes up to the end of a line, or what there is of it. */
static enum df_status take_line(struct warc_stream *s, struct buf *head,
                                size_t most, struct df_error *err)
{
    struct bytes b = warc_stream_ready(s);
    const uint8_t *lf;

    if (b.len > most) {
        b.len = most;
    }
    lf = memchr(b.data, '\n', b.len);
    if (lf != NULL) {
        b.len = (size_t)(lf - b.data) + 1;
    }
    if (!buf_append(head, b.data, b.len)) {
        return error_no_memory(err);
    }
    warc_stream_take(s, b.len);
    return DF_OK;
}

static bool ends_line(const struct buf *head)
{
    return head->len > 0 && head->data[head->len - 1] == '\n';
}

/* The line that begins there, which has ended. */
static bool is_empty(const struct buf *head, size_t line)
{
    size_t len = head->len - line;

    return len == 1 || (len == 2 && head->data[line] == '\r');
}

enum df_status warc_stream_head(struct warc_stream *s, struct buf *head,
                                size_t most, bool *is_whole,
                                struct df_error *err)
{
    size_t line = 0;

    buf_reset(head);
    *is_whole = false;
    while (!*is_whole && head->len < most) {
        enum df_status status = warc_stream_fill(s, 1, err);

        if (status == DF_OK && warc_stream_ready(s).len == 0) {
            return DF_OK;
        }
        if (status == DF_OK) {
            status = take_line(s, head, most - head->len, err);
        }
        if (status != DF_OK) {
            return status;
        }
        if (ends_line(head)) {
            *is_whole = is_empty(head, line);
            line = head->len;
        }
    }
    return DF_OK;
}
