#include "input/reader.h"

#include <stdlib.h>

#include "input/reader_private.h"

enum {
    /* Bytes read behind a unit at first, to find its border. */
    READER_BEHIND = 4096
};
/* A border lies in its own unit, or all of that unit is one stretch. */
_Static_assert(READER_HASH_BLOCK >= DF_UNCUT, "a unit is a stretch or more");

enum df_status reader_open(struct reader **r, const struct reader_cut *cut,
                           struct df_error *err)
{
    enum df_status status;
    struct feed feed;
    struct reader *made = calloc(1, sizeof *made);

    *r = NULL;
    if (made == NULL) {
        return error_no_memory(err);
    }
    made->cut = *cut;
    pieces_init(&made->pieces, &made->cut);
    status = source_init(&made->source) ? DF_OK : error_no_memory(err);
    feed = source_feed(&made->source);
    if (status == DF_OK) {
        status = decode_open(&made->file, &feed, err);
    }
    if (status == DF_OK) {
        made->source.stop = cut->stop;
        status = warc_open(&made->warc, made->file, err);
    }
    if (status == DF_OK) {
        warc_watch(made->warc, cut->stop);
    }
    if (status == DF_OK && cut->format != RECORD_NONE) {
        status = record_parser_open(&made->records.parser, cut->format,
                                    cut->columns, err);
    }
    if (status != DF_OK) {
        reader_close(made);
        return status;
    }
    *r = made;
    return DF_OK;
}

void reader_close(struct reader *r)
{
    if (r == NULL) {
        return;
    }
    record_parser_close(r->records.parser);
    warc_close(r->warc);
    decode_close(r->file);
    pieces_fini(&r->pieces);
    source_fini(&r->source);
    free(r);
}

enum df_status reader_fill(struct reader *r, bool *at_end,
                           struct df_error *err)
{
    struct pieces *p = &r->pieces;
    enum df_status status = pieces_room(p, READER_CHUNK, err);
    size_t left = READER_CHUNK;
    size_t n = 1;

    while (status == DF_OK && n > 0 && left >= UTF16_STEP_MAX) {
        status = decode_pull(r->content, p->data + p->end, left, &n, err);
        if (status == DF_OK) {
            p->end += n;
            left -= n;
        }
    }
    *at_end = n == 0;
    return status;
}

static enum df_status check_length(const struct reader *r,
                                   struct df_error *err)
{
    if (r->cut.pieces == DF_PIECES_WHOLE &&
        pieces_pending(&r->pieces).len > r->cut.whole_max) {
        return decode_refuse(r->content, err,
                             "a document longer than %zu bytes; this job "
                             "takes documents whole and has memory for no "
                             "more (--memory)",
                             r->cut.whole_max);
    }
    return DF_OK;
}

/* Takes what was read for another layer out of the pieces again. */
static struct bytes hand_back(struct pieces *p, size_t skip)
{
    struct bytes b = pieces_pending(p);

    p->begin = 0;
    p->end = 0;
    return bytes_of(b.data + skip, b.len - skip);
}

/* The first chunk of the file tells whether it is compressed; if so it is
 * taken out of the pieces, and content comes next. */
static enum df_status begin_compressed(struct reader *r, bool *is_compressed,
                                       struct df_error *err)
{
    const char *path = r->source.file->path;
    enum decode_kind named = decode_kind_of_name(path);
    enum decode_kind kind = decode_kind_of(pieces_pending(&r->pieces));

    if (named != DECODE_PLAIN && named != kind) {
        return source_refuse(&r->source, err,
                             "is named %s but its content is not %s data",
                             named == DECODE_GZIP ? ".gz" : ".zst",
                             named == DECODE_GZIP ? "gzip" : "zstd");
    }
    *is_compressed = kind != DECODE_PLAIN;
    return *is_compressed ? decode_compressed(r->file, kind,
                                              hand_back(&r->pieces, 0), err)
                          : DF_OK;
}

/* The first chunk of content tells whether it is UTF-16. */
enum df_status reader_begin_text(struct reader *r, bool *at_end,
                                 struct df_error *err)
{
    struct pieces *p = &r->pieces;
    enum utf16_order order = UTF16_LITTLE;
    enum df_status status;
    bool is_wide;
    size_t mark;

    if (r->cut.raw) {
        return DF_OK;
    }
    mark = decode_mark(pieces_pending(p), &is_wide, &order);
    if (!is_wide) {
        p->begin += mark;
        return DF_OK;
    }
    status = decode_wide(r->content, order, hand_back(p, mark), err);
    return status == DF_OK ? reader_fill(r, at_end, err) : status;
}

/* The document whose first chunk has come. */
static enum df_status read_document(struct reader *r, bool at_end,
                                    struct df_error *err)
{
    enum df_status status = reader_begin_text(r, &at_end, err);

    while (status == DF_OK && !at_end) {
        status = check_length(r, err);
        if (status == DF_OK) {
            status = pieces_drain(&r->pieces, err);
        }
        if (status == DF_OK) {
            status = reader_fill(r, &at_end, err);
        }
    }
    if (status == DF_OK) {
        status = check_length(r, err);
    }
    return status == DF_OK ? pieces_finish(&r->pieces, true, false, err)
                           : status;
}

/* The first content of a compressed file. What is compressed again would be
 * taken for text; only a job that reads bytes knows what it is. */
static enum df_status begin_content(struct reader *r, bool *at_end,
                                    struct df_error *err)
{
    enum df_status status = reader_fill(r, at_end, err);

    if (status != DF_OK || r->cut.raw ||
        decode_kind_of(pieces_pending(&r->pieces)) == DECODE_PLAIN) {
        return status;
    }
    return source_refuse(&r->source, err,
                         "is compressed twice; unpack it once");
}

enum df_status reader_begin_file(struct reader *r, bool *at_end,
                                 struct df_error *err)
{
    bool is_compressed = false;
    enum df_status status = reader_fill(r, at_end, err);

    if (status == DF_OK) {
        status = begin_compressed(r, &is_compressed, err);
    }
    return status == DF_OK && is_compressed ? begin_content(r, at_end, err)
                                            : status;
}

enum df_status reader_read_file(struct reader *r, struct df_error *err)
{
    bool at_end = false;
    enum df_status status = reader_begin_file(r, &at_end, err);

    return status == DF_OK ? read_document(r, at_end, err) : status;
}

/* A file of many documents. */
static enum df_status begin_archive(struct reader *r, struct df_error *err)
{
    bool at_end = false;
    bool is_compressed = false;
    enum df_status status = reader_fill(r, &at_end, err);

    if (status == DF_OK) {
        status = begin_compressed(r, &is_compressed, err);
    }
    if (status != DF_OK) {
        return status;
    }
    return warc_start(
        r->warc, is_compressed ? bytes_of(NULL, 0) : hand_back(&r->pieces, 0),
        err);
}

static enum df_status read_archive(struct reader *r, reader_sink *sink,
                                   void *ctx, struct df_error *err)
{
    enum df_status status = begin_archive(r, err);
    bool found = true;

    r->content = warc_content(r->warc);
    while (status == DF_OK && found) {
        bool at_end = false;
        struct bytes uri;

        status = warc_next(r->warc, &uri, &found, err);
        if (status != DF_OK || !found) {
            break;
        }
        pieces_start(&r->pieces, uri, true, sink, ctx);
        status = reader_fill(r, &at_end, err);
        if (status == DF_OK) {
            status = read_document(r, at_end, err);
        }
    }
    return status;
}

/*
 * Units of a split file. Unit i covers the bytes [b(i), b(i+1)) on disk and
 * hashes exactly these. Its content goes from border(b(i)) to
 * border(b(i+1)), where border(b) is the first cut that is found from b on,
 * or a forced one (pieces.h) where DF_UNCUT bytes have none, or the end of the
 * document where that comes first. Both neighbours find the same border
 * because both look at the same bytes from b on.
 */

/* Whether the stretch from a border on, n bytes of which are in reach,
 * must be cut by force. */
static bool is_forced(const struct reader *r, size_t n)
{
    return n > DF_UNCUT || (n == DF_UNCUT && !source_is_at_end(&r->source));
}

/* The unit's own first bytes up to its border belong to the unit before. */
static enum df_status skip_to_border(struct reader *r, bool *at_end,
                                     struct df_error *err)
{
    struct pieces *p = &r->pieces;

    for (;;) {
        enum df_status status = reader_fill(r, at_end, err);
        struct bytes b = pieces_pending(p);
        size_t c;

        if (status != DF_OK) {
            return status;
        }
        c = pieces_first_cut(p, b);
        if (c == 0 && is_forced(r, b.len)) {
            c = pieces_forced_cut(b);
            p->continues = true;
        } else if (c == 0 && source_is_at_end(&r->source)) {
            c = b.len;
        }
        if (c > 0 || b.len == 0) {
            p->begin += c;
            return DF_OK;
        }
    }
}

/* More of what follows the unit; the reads become longer as the search
 * becomes. */
static enum df_status read_behind(struct reader *r, size_t *behind,
                                  struct df_error *err)
{
    struct pieces *p = &r->pieces;
    size_t more = *behind == 0 ? READER_BEHIND : 7 * *behind;
    enum df_status status;
    size_t n;

    if (more > DF_UNCUT - *behind) {
        more = DF_UNCUT - *behind;
    }
    status = pieces_room(p, more, err);
    if (status == DF_OK) {
        status =
            source_read_behind(&r->source, p->data + p->end, more, &n, err);
    }
    if (status == DF_OK) {
        p->end += n;
        *behind += n;
    }
    return status;
}

/* Appends what follows the unit up to its border. */
static enum df_status read_to_border(struct reader *r, bool *is_forced_border,
                                     struct df_error *err)
{
    struct pieces *p = &r->pieces;
    size_t behind = 0;

    for (;;) {
        enum df_status status = read_behind(r, &behind, err);
        struct bytes b = bytes_of(p->data + p->end - behind, behind);
        size_t c;

        if (status != DF_OK) {
            return status;
        }
        c = pieces_first_cut(p, b);
        *is_forced_border = c == 0 && is_forced(r, b.len);
        if (*is_forced_border) {
            c = pieces_forced_cut(b);
        }
        if (c > 0) {
            p->end -= behind - c;
            return DF_OK;
        }
        if (source_is_at_end(&r->source)) {
            return DF_OK;
        }
    }
}

/* Gives the last pieces of a unit that is not the last of its file. */
static enum df_status finish_at_border(struct reader *r, struct df_error *err)
{
    struct pieces *p = &r->pieces;
    uint64_t end = r->source.range.end;
    size_t own = pieces_pending(p).len;
    bool forced = false;
    enum df_status status = read_to_border(r, &forced, err);
    bool is_last;

    if (status != DF_OK) {
        return status;
    }
    is_last = end + (pieces_pending(p).len - own) == r->source.file->length;
    return pieces_finish(p, is_last, forced, err);
}

static enum df_status read_split_file(struct reader *r, struct df_error *err)
{
    struct pieces *p = &r->pieces;
    bool at_end = false;
    enum df_status status;

    if (r->source.range.begin > 0) {
        status = skip_to_border(r, &at_end, err);
    } else {
        status = reader_fill(r, &at_end, err);
        if (status == DF_OK) {
            status = reader_begin_text(r, &at_end, err);
        }
    }
    while (status == DF_OK && !at_end) {
        status = pieces_drain(p, err);
        if (status == DF_OK) {
            status = reader_fill(r, &at_end, err);
        }
    }
    if (status == DF_OK) {
        status = pieces_drain(p, err);
    }
    if (status != DF_OK) {
        return status;
    }
    if (r->source.range.end < r->source.file->length) {
        return finish_at_border(r, err);
    }
    /* The document may end before this unit has a border. */
    return pieces_pending(p).len > 0 ? pieces_finish(p, true, false, err)
                                     : DF_OK;
}

static enum df_status only_hash(struct reader *r, struct df_error *err)
{
    enum df_status status;
    size_t n;

    do {
        struct pieces *p = &r->pieces;

        status = pieces_room(p, READER_CHUNK, err);
        n = 0;
        if (status == DF_OK) {
            status = source_read(&r->source, p->data, READER_CHUNK, &n, err);
        }
    } while (status == DF_OK && n > 0);
    return status;
}

enum df_status reader_read(struct reader *r, struct reader_units *units,
                           size_t unit, reader_sink *sink, void *ctx,
                           struct df_error *err)
{
    const struct batch_file *file = reader_unit_file(units, unit);
    struct source_range range = units_range(units, unit);
    enum df_status status =
        source_open(&r->source, units->batch, file, &range, err);

    if (status != DF_OK) {
        return status;
    }
    decode_start(r->file);
    r->content = r->file;
    pieces_start(&r->pieces, file->id, range.begin == 0, sink, ctx);
    if (sink == NULL) {
        status = only_hash(r, err);
    } else if (units_at(units, unit)->is_split) {
        status = read_split_file(r, err);
    } else if (warc_is_named(bytes_of_string(file->path))) {
        status = read_archive(r, sink, ctx, err);
    } else {
        status = reader_read_file(r, err);
    }
    if (status != DF_OK) {
        source_abandon(&r->source);
        return status;
    }
    return source_close(&r->source, err);
}

uint64_t reader_read_bytes(const struct reader *r)
{
    const struct source *s = &r->source;
    uint64_t pos = s->pos < s->range.end ? s->pos : s->range.end;

    return pos - s->range.begin;
}

struct reader_counts reader_counts(const struct reader *r)
{
    struct reader_counts counts = warc_counts(r->warc);

    if (r->records.parser != NULL) {
        counts.blank_lines = record_parser_blanks(r->records.parser);
    }
    return counts;
}
