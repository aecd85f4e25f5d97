#include "input/warc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "input/chunked.h"
#include "input/fields.h"
#include "input/http.h"
#include "input/warc_record.h"
#include "input/warc_stream.h"

struct warc {
    struct warc_stream in;
    struct decode *content;  /* of the document; its feed is read_content */
    bool has_record;         /* one has begun */
    struct warc_place place; /* of the record at hand */
    struct buf uri;          /* of its target, if it is a document */
    uint64_t left;           /* bytes of its block that are not taken */
    struct buf head;         /* of the record or of the response */
    bool is_chunked;
    struct chunked chunked;
    /* Content that was looked at to see whether it is coded, and is given
     * first: first[first_begin..first_end). */
    uint8_t first[DECODE_HEAD];
    size_t first_begin;
    size_t first_end;
    struct reader_counts counts;
};

bool warc_is_named(struct bytes path)
{
    return bytes_end_in(path, ".warc") || bytes_end_in(path, ".warc.gz") ||
           bytes_end_in(path, ".warc.zst");
}

/* ---- refusing ---------------------------------------------------------- */

static enum df_status refuse_record(const struct warc *w, const char *why,
                                    struct df_error *err)
{
    const struct warc_place *place = &w->place;
    struct shown uri = { "" };

    return decode_refuse(
        w->in.file, err, "record %s %llu%s%s%s%s: %s",
        place->is_member ? "in the member at byte" : "at byte",
        (unsigned long long)place->at,
        place->is_packed && !place->is_member ? " of the decompressed content"
                                              : "",
        w->uri.len == 0 ? "" : " (", shown(&uri, buf_bytes(&w->uri)),
        w->uri.len == 0 ? "" : ")", why);
}

static enum df_status refuse_end(const struct warc *w, struct df_error *err)
{
    return refuse_record(w,
                         "truncated: the file ends inside it; upload it "
                         "again",
                         err);
}

/* ---- the block of a record --------------------------------------------- */

/* The part of it that is ready; empty at its end. */
static enum df_status fill_block(struct warc *w, struct bytes *ready,
                                 struct df_error *err)
{
    enum df_status status;

    *ready = bytes_of(NULL, 0);
    if (w->left == 0) {
        return DF_OK;
    }
    status = warc_stream_fill(&w->in, 1, err);
    if (status != DF_OK) {
        return status;
    }
    *ready = warc_stream_ready(&w->in);
    if (ready->len == 0) {
        return refuse_end(w, err);
    }
    if (ready->len > w->left) {
        ready->len = (size_t)w->left;
    }
    return DF_OK;
}

static void take_block(struct warc *w, size_t n)
{
    warc_stream_take(&w->in, n);
    w->left -= n;
}

static enum df_status skip_block(struct warc *w, struct df_error *err)
{
    enum df_status status = DF_OK;

    while (w->left > 0 && status == DF_OK) {
        struct bytes ready;

        status = fill_block(w, &ready, err);
        take_block(w, ready.len);
    }
    return status;
}

/* ---- content: the block without the codings of transfer ---------------- */

static enum df_status read_plain(struct warc *w, uint8_t *room, size_t size,
                                 size_t *n, struct df_error *err)
{
    struct bytes ready;
    enum df_status status = fill_block(w, &ready, err);

    *n = 0;
    if (status == DF_OK && ready.len > 0) {
        *n = ready.len < size ? ready.len : size;
        memcpy(room, ready.data, *n);
        take_block(w, *n);
    }
    return status;
}

static enum df_status check_chunks(struct warc *w, struct df_error *err)
{
    if (w->chunked.state == CHUNKED_BAD) {
        return refuse_record(w, "its chunked content is broken", err);
    }
    if (w->chunked.state == CHUNKED_END && w->left > 0) {
        return refuse_record(
            w, "its chunked content has bytes behind its last chunk", err);
    }
    if (w->left == 0 && !chunked_is_whole(&w->chunked)) {
        return refuse_record(w, "its chunked content ends early", err);
    }
    return DF_OK;
}

static enum df_status read_chunked(struct warc *w, uint8_t *room, size_t size,
                                   size_t *n, struct df_error *err)
{
    enum df_status status = DF_OK;

    *n = 0;
    while (*n == 0 && w->left > 0 && status == DF_OK) {
        struct bytes ready;
        struct bytes content;
        size_t before;

        status = fill_block(w, &ready, err);
        if (status != DF_OK) {
            return status;
        }
        ready.len = ready.len < size ? ready.len : size;
        before = ready.len;
        chunked_step(&w->chunked, &ready, &content);
        if (content.len > 0) {
            memcpy(room, content.data, content.len);
        }
        *n = content.len;
        take_block(w, before - ready.len);
        status = check_chunks(w, err);
    }
    return status;
}

static enum df_status read_content(void *ctx, uint8_t *room, size_t size,
                                   size_t *n, struct df_error *err)
{
    struct warc *w = ctx;
    size_t kept = w->first_end - w->first_begin;

    if (kept > 0) {
        *n = kept < size ? kept : size;
        memcpy(room, w->first + w->first_begin, *n);
        w->first_begin += *n;
        return DF_OK;
    }
    return w->is_chunked ? read_chunked(w, room, size, n, err)
                         : read_plain(w, room, size, n, err);
}

static enum df_status refuse_content(void *ctx, const char *why,
                                     struct df_error *err)
{
    return refuse_record(ctx, why, err);
}

/* ---- opening and closing ----------------------------------------------- */

enum df_status warc_open(struct warc **w, struct decode *file,
                         struct df_error *err)
{
    struct warc *made = calloc(1, sizeof *made);
    struct feed feed = { .read = read_content,
                         .refuse = refuse_content,
                         .ctx = made };
    enum df_status status;

    *w = NULL;
    if (made == NULL) {
        return error_no_memory(err);
    }
    made->in.file = file;
    status = decode_open(&made->content, &feed, err);
    if (status != DF_OK) {
        free(made);
        return status;
    }
    *w = made;
    return DF_OK;
}

void warc_close(struct warc *w)
{
    if (w == NULL) {
        return;
    }
    decode_close(w->content);
    warc_stream_fini(&w->in);
    buf_fini(&w->uri);
    buf_fini(&w->head);
    free(w);
}

struct decode *warc_content(struct warc *w)
{
    return w->content;
}

struct reader_counts warc_counts(const struct warc *w)
{
    return w->counts;
}

void warc_watch(struct warc *w, const volatile sig_atomic_t *stop)
{
    w->in.stop = stop;
}

enum df_status warc_start(struct warc *w, struct bytes head,
                          struct df_error *err)
{
    w->has_record = false;
    w->left = 0;
    w->first_begin = 0;
    w->first_end = 0;
    buf_reset(&w->uri);
    return warc_stream_start(&w->in, w->in.file, head) ? DF_OK
                                                       : error_no_memory(err);
}

/* ---- from record to record --------------------------------------------- */

/* Behind a block: line ends, and nothing else. The format has two of them;
 * some writers have one, or more. */
static enum df_status pass_line_ends(struct warc *w, struct df_error *err)
{
    bool has_lf = false;

    for (;;) {
        enum df_status status = warc_stream_fill(&w->in, 1, err);
        struct bytes ready = warc_stream_ready(&w->in);

        if (status != DF_OK) {
            return status;
        }
        if (ready.len == 0 ||
            (ready.data[0] != '\r' && ready.data[0] != '\n')) {
            break;
        }
        has_lf = has_lf || ready.data[0] == '\n';
        warc_stream_take(&w->in, 1);
    }
    if (!has_lf) {
        return refuse_record(w,
                             "no line end follows its block: the file is "
                             "truncated or its Content-Length is wrong",
                             err);
    }
    return DF_OK;
}

static enum df_status leave_record(struct warc *w, struct df_error *err)
{
    enum df_status status = skip_block(w, err);

    w->first_begin = w->first_end;
    return status == DF_OK ? pass_line_ends(w, err) : status;
}

/* What was read as a head, up to its empty line if it has one. */
static enum df_status check_head(const struct warc *w, bool is_first,
                                 bool is_whole, struct df_error *err)
{
    struct bytes head = buf_bytes(&w->head);

    if (is_first && !fields_begins(head, "warc/1.")) {
        return decode_refuse(w->in.file, err,
                             "is named .warc but its content does not begin "
                             "with WARC/1.");
    }
    if (!fields_begins(head, "warc/")) {
        return refuse_record(w, "is none: it does not begin with WARC/", err);
    }
    if (!is_whole && head.len >= WARC_HEAD_MAX) {
        return refuse_record(w, "its head is too long", err);
    }
    return is_whole ? DF_OK : refuse_end(w, err);
}

/* Reads the head of the record that begins with what is ready. */
static enum df_status read_head(struct warc *w, struct warc_record *record,
                                struct df_error *err)
{
    bool is_first = !w->has_record;
    enum df_status status;
    const char *wrong;
    bool is_whole;

    w->place = warc_stream_place(&w->in);
    w->has_record = true;
    buf_reset(&w->uri);
    status = warc_stream_head(&w->in, &w->head, WARC_HEAD_MAX, &is_whole, err);
    if (status == DF_OK) {
        status = check_head(w, is_first, is_whole, err);
    }
    if (status != DF_OK) {
        return status;
    }
    fields_unfold(w->head.data, w->head.len);
    wrong = warc_record_parse(buf_bytes(&w->head), record);
    return wrong == NULL ? DF_OK : refuse_record(w, wrong, err);
}

/* The next record's head; *found is false at the end. */
static enum df_status next_record(struct warc *w, struct warc_record *record,
                                  bool *found, struct df_error *err)
{
    enum df_status status = w->has_record ? leave_record(w, err) : DF_OK;

    *found = false;
    if (status == DF_OK) {
        status = warc_stream_fill(&w->in, 1, err);
    }
    if (status != DF_OK ||
        (w->has_record && warc_stream_ready(&w->in).len == 0)) {
        return status;
    }
    status = read_head(w, record, err);
    if (status != DF_OK) {
        return status;
    }
    w->left = record->length;
    w->counts.records++;
    *found = true;
    if (record->type != WARC_OTHER && record->is_web &&
        !buf_append(&w->uri, record->uri.data, record->uri.len)) {
        return error_no_memory(err);
    }
    return DF_OK;
}

/* ---- from a record to its document ------------------------------------- */

/* Keeps the first bytes of content, to look at them. */
static enum df_status look(struct warc *w, struct df_error *err)
{
    size_t n = 1;

    w->first_begin = 0;
    w->first_end = 0;
    while (w->first_end < sizeof w->first && n > 0) {
        uint8_t *room = w->first + w->first_end;
        size_t size = sizeof w->first - w->first_end;
        enum df_status status = w->is_chunked
                                    ? read_chunked(w, room, size, &n, err)
                                    : read_plain(w, room, size, &n, err);

        if (status != DF_OK) {
            return status;
        }
        w->first_end += n;
    }
    return DF_OK;
}

/* Whether there are chunks where the head says so. */
static enum df_status begin_chunks(struct warc *w, bool *is_decoded,
                                   struct df_error *err)
{
    enum df_status status = warc_stream_fill(&w->in, CHUNKED_SNIFF, err);
    struct bytes ready = warc_stream_ready(&w->in);

    if (ready.len > w->left) {
        ready.len = (size_t)w->left;
    }
    w->chunked = (struct chunked){ .state = CHUNKED_SIZE };
    w->is_chunked = chunked_begins(ready);
    *is_decoded = *is_decoded || (!w->is_chunked && ready.len > 0);
    return status;
}

/* Whether content is compressed where the head says so. */
static enum df_status begin_coding(struct warc *w, enum decode_kind coding,
                                   bool *is_decoded, struct df_error *err)
{
    enum df_status status = look(w, err);
    struct bytes first = bytes_of(w->first, w->first_end);
    bool is_coded = coding == DECODE_ZLIB ? first.len > 0
                                          : decode_kind_of(first) == coding;

    if (status != DF_OK) {
        return status;
    }
    *is_decoded = *is_decoded || (!is_coded && first.len > 0);
    if (!is_coded) {
        return DF_OK;
    }
    return decode_compressed(
        w->content, coding == DECODE_ZLIB ? http_deflate(first) : coding,
        bytes_of(NULL, 0), err);
}

static enum df_status begin_content(struct warc *w,
                                    const struct http_head *http,
                                    struct df_error *err)
{
    enum df_status status = DF_OK;
    bool is_decoded = false;

    if (http->is_chunked) {
        status = begin_chunks(w, &is_decoded, err);
    }
    if (status == DF_OK && http->coding != DECODE_PLAIN) {
        status = begin_coding(w, http->coding, &is_decoded, err);
    }
    w->counts.already_decoded += is_decoded;
    return status;
}

/* Reads the head of the response; *counter is where it is counted. */
static enum df_status open_response(struct warc *w, uint64_t **counter,
                                    struct df_error *err)
{
    size_t most = w->left < WARC_HEAD_MAX ? (size_t)w->left : WARC_HEAD_MAX;
    struct http_head http;
    bool is_whole;
    enum df_status status =
        warc_stream_head(&w->in, &w->head, most, &is_whole, err);

    if (status != DF_OK) {
        return status;
    }
    w->left -= w->head.len;
    fields_unfold(w->head.data, w->head.len);
    if (!is_whole || !http_parse(buf_bytes(&w->head), &http) ||
        http.status != 200) {
        *counter = &w->counts.other_statuses;
        return DF_OK;
    }
    if (!http.is_decodable) {
        *counter = &w->counts.undecodable;
        return DF_OK;
    }
    *counter = &w->counts.documents;
    return begin_content(w, &http, err);
}

/* Finds out what becomes of a record, and counts it. */
static enum df_status open_record(struct warc *w,
                                  const struct warc_record *record,
                                  bool *is_document, struct df_error *err)
{
    uint64_t *counter = &w->counts.documents;
    enum df_status status = DF_OK;

    decode_start(w->content);
    w->is_chunked = false;
    if (record->type == WARC_OTHER) {
        counter = &w->counts.other_types;
    } else if (!record->is_web) {
        counter = &w->counts.other_targets;
    } else if (record->is_partial) {
        counter = &w->counts.truncated;
    } else if (record->type == WARC_RESPONSE) {
        status = open_response(w, &counter, err);
    }
    *counter += status == DF_OK;
    *is_document = counter == &w->counts.documents;
    return status;
}

enum df_status warc_next(struct warc *w, struct bytes *uri, bool *found,
                         struct df_error *err)
{
    struct warc_record record;
    bool is_document = false;
    enum df_status status;

    do {
        status = next_record(w, &record, found, err);
        if (status == DF_OK && *found) {
            status = open_record(w, &record, &is_document, err);
        }
    } while (status == DF_OK && *found && !is_document);
    *uri = buf_bytes(&w->uri);
    return status;
}
