#include "input/pieces.h"

#include <assert.h>
#include <stdlib.h>

void pieces_init(struct pieces *p, const struct reader_cut *cut)
{
    *p = (struct pieces){ .cut = cut };
}

void pieces_fini(struct pieces *p)
{
    free(p->data);
    *p = (struct pieces){ 0 };
}

void pieces_start(struct pieces *p, struct bytes id, bool is_first,
                  reader_sink *sink, void *ctx)
{
    p->begin = 0;
    p->end = 0;
    p->id = id;
    p->is_first = is_first;
    p->continues = false;
    p->sink = sink;
    p->ctx = ctx;
}

/* Room for size more bytes than are pending: double, but no more than the
 * longest whole document needs. */
static bool grow(struct pieces *p, size_t pending, size_t size)
{
    size_t wanted = pending + size;
    size_t capacity = 2 * p->capacity < wanted ? wanted : 2 * p->capacity;
    uint8_t *data;

    if (p->cut->pieces == DF_PIECES_WHOLE &&
        capacity - size > p->cut->whole_max && pending <= p->cut->whole_max) {
        capacity = p->cut->whole_max + size;
    }
    data = realloc(p->data, capacity + DF_SLACK);
    if (data == NULL) {
        return false;
    }
    /* Jobs look at the slack without using what they see; it must still be
     * something. */
    memset(data + p->end, 0, capacity + DF_SLACK - p->end);
    p->data = data;
    p->capacity = capacity;
    return true;
}

enum df_status pieces_room(struct pieces *p, size_t size, struct df_error *err)
{
    size_t pending = p->end - p->begin;

    if (p->begin > 0) {
        memmove(p->data, p->data + p->begin, pending);
        p->begin = 0;
        p->end = pending;
    }
    if (p->data != NULL && p->capacity - pending >= size) {
        return DF_OK;
    }
    if (size > SIZE_MAX / 4 || pending > SIZE_MAX / 4 ||
        !grow(p, pending, size)) {
        return error_no_memory(err);
    }
    return DF_OK;
}

static size_t call_cut(const struct pieces *p, struct bytes b)
{
    size_t c = b.len == 0 ? 0 : p->cut->cut(p->cut->config, b.data, b.len);

    assert(c <= b.len);
    return c;
}

size_t pieces_first_cut(const struct pieces *p, struct bytes b)
{
    if (b.len > DF_UNCUT) {
        b.len = DF_UNCUT;
    }
    return call_cut(p, b);
}

/* Bytes at the end of b that begin a character of UTF-8 without ending it. */
static size_t open_character(struct bytes b)
{
    for (size_t n = 1; n <= 3 && n < b.len; n++) {
        uint8_t byte = b.data[b.len - n];

        if (byte < 0x80) {
            return 0;
        }
        if (byte >= 0xc0) {
            size_t whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;

            return n < whole ? n : 0;
        }
    }
    return 0;
}

size_t pieces_forced_cut(struct bytes b)
{
    assert(b.len >= DF_UNCUT);
    return DF_UNCUT - open_character(bytes_of(b.data, DF_UNCUT));
}

/* The last cut that is found from `from` on; 0 where there is none. */
static size_t last_cut_from(const struct pieces *p, struct bytes b,
                            size_t from)
{
    size_t last = 0;

    while (from < b.len) {
        size_t c = call_cut(p, bytes_of(b.data + from, b.len - from));

        if (c == 0) {
            break;
        }
        from += c;
        last = from;
    }
    return last;
}

/* The last cut in b. It is near the end as a rule, and whether a place is a
 * cut does not depend on what stands before: looks at the last few bytes
 * first, then at eight times as many, and so on. */
static size_t last_cut(const struct pieces *p, struct bytes b)
{
    size_t window = 64;

    while (window < b.len) {
        size_t c = last_cut_from(p, b, b.len - window);

        if (c != 0) {
            return c;
        }
        window *= 8;
    }
    return last_cut_from(p, b, 0);
}

static enum df_status give(struct pieces *p, size_t len, bool is_last,
                           bool is_unfinished, struct df_error *err)
{
    struct df_piece piece = {
        .id = p->id.data,
        .id_len = p->id.len,
        .data = p->data + p->begin,
        .len = len,
        .first = p->is_first,
        .last = is_last,
        .continues = p->continues,
        .unfinished = is_unfinished,
    };

    assert(len <= p->end - p->begin);
    p->begin += len;
    p->is_first = false;
    p->continues = is_unfinished;
    return p->sink(p->ctx, &piece, err);
}

/* Gives one piece of what has come, if it can be cut before the byte that is
 * kept; *given tells. */
static enum df_status give_one(struct pieces *p, bool *given,
                               struct df_error *err)
{
    struct bytes b = pieces_pending(p);
    size_t c;

    *given = b.len > 1;
    if (!*given) {
        return DF_OK;
    }
    if (b.len > DF_UNCUT && pieces_first_cut(p, b) == 0) {
        return give(p, pieces_forced_cut(b), false, true, err);
    }
    c = last_cut(p, bytes_of(b.data, b.len - 1));
    *given = c != 0;
    return c == 0 ? DF_OK : give(p, c, false, false, err);
}

enum df_status pieces_drain(struct pieces *p, struct df_error *err)
{
    enum df_status status;
    bool given;

    if (p->cut->pieces == DF_PIECES_WHOLE) {
        return DF_OK;
    }
    /* What is kept has no cut in it: stretches are measured from its start.
     * As a rule the second call only finds that. */
    do {
        status = give_one(p, &given, err);
    } while (status == DF_OK && given);
    return status;
}

enum df_status pieces_finish(struct pieces *p, bool is_last,
                             bool is_unfinished, struct df_error *err)
{
    /* Where less than a stretch is left nothing is cut by force. */
    while (p->cut->pieces != DF_PIECES_WHOLE && p->end - p->begin > DF_UNCUT) {
        enum df_status status = pieces_drain(p, err);

        if (status != DF_OK) {
            return status;
        }
    }
    return give(p, p->end - p->begin, is_last, is_unfinished, err);
}
