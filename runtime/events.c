/*
 * events.c: a part is a list of chunks, in memory or in the spill file. Events
 * are most of what a batch takes in memory, so what one has in common with the
 * one before it in the part is not written again:
 *
 *     1  length of the key; KEY_IS_LONG: it is in four bytes behind the head
 *     2  index, less that of the event before
 *     4  time, less that of the mark
 *     4  tag
 *        key
 *
 * and where the unit is another, or a number is too far away, a mark comes
 * first, from which the next numbers are counted:
 *
 *     1  MARK
 *     4  unit; the top bit: deleted
 *     4  index
 *     8  time
 *
 * in the machine's order: nobody else reads it. Two units of one worker, keys
 * of one byte:
 *
 *     unit 0   3 t=70 a, 9 t=71 b      mark(0, 3, 70) +0 0 a, +6 1 b
 *     unit 4   2 t=90 a                mark(4, 2, 90) +0 0 a
 */
#include "runtime/events.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "deltafold/job.h"
#include "runtime/pages.h"
#include "runtime/spill.h"

enum {
    HEAD = 1 + 2 + 4 + 4,
    MARK_SIZE = 1 + 4 + 4 + 8,
    KEY_SIZE = 4, /* of a long one */
    KEY_IS_LONG = 254,
    MARK = 255,
    CHUNK_FIRST = 1024, /* of a part; doubled up to the plan's */
    CHUNK_MAX = 256 * 1024,
    CHUNK_SHARE = 4,     /* a part has this many in memory on average */
    PIECE_MAX = 4 << 20, /* mapping it takes no time beside filling it */
    PIECE_SHARE = 8 /* at least as many in memory; holds the longest event */
};
#define DELETED UINT32_C(0x80000000)

struct chunk {
    uint8_t *data;   /* in a piece; NULL: in the file */
    size_t len;      /* bytes in use */
    size_t capacity; /* of data, DF_SLACK aside */
    uint64_t offset; /* in the file */
};

/* What the numbers of the next event are counted from. */
struct mark {
    uint32_t unit; /* as it is written; NO_UNIT before the first */
    uint32_t index;
    int64_t time;
};
#define NO_UNIT UINT32_MAX

struct part {
    struct mark last;
    struct chunk *chunks;
    size_t count;
    size_t room;
    struct events_size size;
};

struct events {
    struct events_plan plan;
    size_t chunk_max;
    size_t longest; /* chunk so far */
    size_t piece_size;
    uint8_t **pieces;
    size_t piece_count; /* that there are */
    size_t piece_most;  /* that may be */
    size_t piece;       /* the one that is cut, piece_count at first */
    size_t piece_used;  /* bytes of it */
    int fd;
    uint64_t file_end;
    struct part *parts;
};

enum df_status events_open(struct events **out, const struct events_plan *plan,
                           struct df_error *err)
{
    struct events *e = calloc(1, sizeof *e);
    size_t share;

    *out = NULL;
    if (e == NULL) {
        return error_no_memory(err);
    }
    e->plan = *plan;
    e->fd = -1;
    if (e->plan.memory < EVENTS_MEMORY_MIN) {
        e->plan.memory = EVENTS_MEMORY_MIN;
    }
    share = e->plan.memory / plan->parts / CHUNK_SHARE;
    e->chunk_max = share < CHUNK_MAX ? share : CHUNK_MAX;
    if (e->chunk_max < CHUNK_FIRST) {
        e->chunk_max = CHUNK_FIRST;
    }
    e->piece_size = pages_round(e->plan.memory / PIECE_SHARE);
    if (e->piece_size > PIECE_MAX) {
        e->piece_size = PIECE_MAX;
    }
    e->piece_most = e->plan.memory / e->piece_size;
    e->pieces = calloc(e->piece_most, sizeof *e->pieces);
    e->parts = calloc(plan->parts, sizeof *e->parts);
    if (e->parts == NULL || e->pieces == NULL) {
        events_close(e);
        return error_no_memory(err);
    }
    for (unsigned p = 0; p < plan->parts; p++) {
        e->parts[p].last.unit = NO_UNIT;
    }
    *out = e;
    return DF_OK;
}

void events_close(struct events *e)
{
    if (e == NULL) {
        return;
    }
    for (unsigned p = 0; e->parts != NULL && p < e->plan.parts; p++) {
        free(e->parts[p].chunks);
    }
    for (size_t i = 0; e->pieces != NULL && i < e->piece_count; i++) {
        pages_unmap(e->pieces[i], e->piece_size);
    }
    if (e->fd >= 0) {
        (void)close(e->fd);
    }
    free(e->pieces);
    free(e->parts);
    free(e);
}

struct events_size events_size(const struct events *e, unsigned part)
{
    return e->parts[part].size;
}

/* ---- spilling ---- */

static enum df_status write_chunk(struct events *e, struct chunk *c,
                                  struct df_error *err)
{
    size_t done = 0;

    while (done < c->len) {
        ssize_t n = pwrite(e->fd, c->data + done, c->len - done,
                           (off_t)(e->file_end + done));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return error_errno(err, n < 0 ? errno : EIO, "%s: writing events",
                               e->plan.spill_directory);
        }
        done += (size_t)n;
    }
    c->offset = e->file_end;
    e->file_end += c->len;
    c->data = NULL;
    return DF_OK;
}

static enum df_status spill(struct events *e, struct df_error *err)
{
    enum df_status status = DF_OK;

    if (e->fd < 0) {
        status = spill_file(&e->fd, e->plan.spill_directory, err);
    }
    for (unsigned p = 0; p < e->plan.parts; p++) {
        struct part *part = &e->parts[p];

        for (size_t i = 0; status == DF_OK && i < part->count; i++) {
            if (part->chunks[i].data != NULL) {
                status = write_chunk(e, &part->chunks[i], err);
            }
        }
    }
    e->piece = 0;
    e->piece_used = 0;
    return status;
}

/* ---- adding ---- */

static bool grow_list(struct part *p)
{
    size_t room = p->room == 0 ? 4 : 2 * p->room;
    struct chunk *chunks;

    if (p->count < p->room) {
        return true;
    }
    chunks = realloc(p->chunks, room * sizeof *chunks);
    if (chunks == NULL) {
        return false;
    }
    p->chunks = chunks;
    p->room = room;
    return true;
}

/* Room for a chunk in the piece at hand or the next; spills where there may
 * not be another. */
static enum df_status cut(struct events *e, size_t size, uint8_t **data,
                          struct df_error *err)
{
    enum df_status status = DF_OK;

    assert(size <= e->piece_size);
    *data = NULL;
    if (e->piece < e->piece_count && e->piece_size - e->piece_used < size) {
        e->piece++;
        e->piece_used = 0;
    }
    if (e->piece == e->piece_most) {
        status = spill(e, err);
    }
    if (status == DF_OK && e->piece == e->piece_count) {
        e->pieces[e->piece] = pages_map_ordinary(e->piece_size);
        if (e->pieces[e->piece] == NULL) {
            return error_no_memory(err);
        }
        e->piece_count++;
    }
    if (status == DF_OK) {
        *data = e->pieces[e->piece] + e->piece_used;
        e->piece_used += size;
    }
    return status;
}

static size_t chunk_size(const struct events *e, const struct part *p)
{
    size_t size = CHUNK_FIRST;

    if (p->count > 0) {
        assert(p->chunks != NULL);
        size = 2 * p->chunks[p->count - 1].capacity;
    }
    return size < e->chunk_max ? size : e->chunk_max;
}

/* A new chunk at the end of a part, with room for `size` bytes. */
static enum df_status add_chunk(struct events *e, struct part *p, size_t size,
                                struct df_error *err)
{
    size_t capacity = chunk_size(e, p);
    uint8_t *data;
    enum df_status status;

    capacity = capacity > size ? capacity : size;
    status = cut(e, capacity + DF_SLACK, &data, err);
    if (status != DF_OK) {
        return status;
    }
    if (!grow_list(p)) {
        return error_no_memory(err);
    }
    p->chunks[p->count++] =
        (struct chunk){ .data = data, .capacity = capacity };
    e->longest = capacity > e->longest ? capacity : e->longest;
    return DF_OK;
}

static uint32_t unit_bits(const struct event *event)
{
    return event->unit | (event->is_deleted ? DELETED : 0);
}

/* Whether the event's numbers can be counted from what is known. */
static bool is_near(const struct mark *last, const struct event *event)
{
    int64_t ahead;

    return unit_bits(event) == last->unit &&
           event->index - last->index <= UINT16_MAX &&
           !__builtin_sub_overflow(event->time, last->time, &ahead) &&
           ahead == (int32_t)ahead;
}

static uint8_t *put_mark(uint8_t *to, struct mark *last,
                         const struct event *event)
{
    *last = (struct mark){ .unit = unit_bits(event),
                           .index = event->index,
                           .time = event->time };
    to[0] = MARK;
    memcpy(to + 1, &last->unit, sizeof last->unit);
    memcpy(to + 5, &last->index, sizeof last->index);
    memcpy(to + 9, &last->time, sizeof last->time);
    return to + MARK_SIZE;
}

static void put(uint8_t *to, struct mark *last, const struct event *event)
{
    uint32_t len = (uint32_t)event->key.len;
    bool is_long = len >= KEY_IS_LONG;
    uint16_t index = (uint16_t)(event->index - last->index);
    int32_t time = (int32_t)(event->time - last->time);

    to[0] = is_long ? KEY_IS_LONG : (uint8_t)len;
    memcpy(to + 1, &index, sizeof index);
    memcpy(to + 3, &time, sizeof time);
    memcpy(to + 7, &event->tag, sizeof event->tag);
    to += HEAD;
    if (is_long) {
        memcpy(to, &len, sizeof len);
        to += KEY_SIZE;
    }
    bytes_copy_slack(to, event->key);
    last->index = event->index;
}

enum df_status events_add(struct events *e, unsigned part,
                          const struct event *event, struct df_error *err)
{
    struct part *p = &e->parts[part];
    struct chunk *last = p->count > 0 ? &p->chunks[p->count - 1] : NULL;
    bool near = is_near(&p->last, event);
    size_t size = HEAD + event->key.len + (near ? 0 : MARK_SIZE) +
                  (event->key.len >= KEY_IS_LONG ? KEY_SIZE : 0);
    uint8_t *to;

    if (last == NULL || last->data == NULL ||
        last->capacity - last->len < size) {
        enum df_status status = add_chunk(e, p, size, err);

        if (status != DF_OK) {
            return status;
        }
        last = &p->chunks[p->count - 1];
    }
    to = last->data + last->len;
    put(near ? to : put_mark(to, &p->last, event), &p->last, event);
    last->len += size;
    p->size.events++;
    p->size.key_bytes += event->key.len;
    return DF_OK;
}

/* ---- reading ---- */

/* One worker's stream of the part. */
struct stream {
    struct events *e;
    struct part *part;
    struct mark last;
    size_t chunk;    /* number of the one at hand */
    size_t at;       /* of the next event in it */
    uint8_t *buffer; /* for chunks that were spilled */
    bool is_loaded;  /* the buffer holds the one at hand */
};

struct events_reader {
    struct stream *streams;
    unsigned n;
    struct stream *current; /* holds the lowest unit; NULL: find it */
    uint32_t unit;          /* of current */
};

static enum df_status load(struct stream *s, const struct chunk *c,
                           struct df_error *err)
{
    size_t done = 0;

    assert(c->len > 0); /* a chunk is made for an event */
    if (s->buffer == NULL) {
        s->buffer = malloc(s->e->longest + DF_SLACK);
        if (s->buffer == NULL) {
            return error_no_memory(err);
        }
    }
    while (done < c->len) {
        ssize_t n = pread(s->e->fd, s->buffer + done, c->len - done,
                          (off_t)(c->offset + done));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return error_errno(err, n < 0 ? errno : EIO, "%s: reading events",
                               s->e->plan.spill_directory);
        }
        done += (size_t)n;
    }
    s->is_loaded = true;
    return DF_OK;
}

/* Where the next bytes of a stream lie; NULL at its end. */
static enum df_status find_next(struct stream *s, const uint8_t **at,
                                struct df_error *err)
{
    const struct chunk *c;

    *at = NULL;
    if (s->chunk < s->part->count && s->at == s->part->chunks[s->chunk].len) {
        s->chunk++;
        s->at = 0;
        s->is_loaded = false;
    }
    if (s->chunk == s->part->count) {
        return DF_OK;
    }
    c = &s->part->chunks[s->chunk];
    if (c->data == NULL && !s->is_loaded) {
        enum df_status status = load(s, c, err);

        if (status != DF_OK) {
            return status;
        }
    }
    *at = (c->data != NULL ? c->data : s->buffer) + s->at;
    return DF_OK;
}

/* Where the next event of a stream lies, with the mark before it taken; NULL
 * at its end. */
static enum df_status look(struct stream *s, const uint8_t **at,
                           struct df_error *err)
{
    enum df_status status = find_next(s, at, err);

    if (status == DF_OK && *at != NULL && **at == MARK) {
        memcpy(&s->last.unit, *at + 1, sizeof s->last.unit);
        memcpy(&s->last.index, *at + 5, sizeof s->last.index);
        memcpy(&s->last.time, *at + 9, sizeof s->last.time);
        s->at += MARK_SIZE;
        *at += MARK_SIZE; /* a mark and its event lie together */
    }
    return status;
}

static uint32_t unit_of(const struct stream *s)
{
    return s->last.unit & ~DELETED;
}

static struct event take(struct stream *s, const uint8_t *at)
{
    uint32_t len = at[0];
    size_t head = HEAD;
    uint16_t index;
    int32_t time;
    uint32_t tag;

    memcpy(&index, at + 1, sizeof index);
    memcpy(&time, at + 3, sizeof time);
    memcpy(&tag, at + 7, sizeof tag);
    if (len == KEY_IS_LONG) {
        memcpy(&len, at + HEAD, sizeof len);
        head += KEY_SIZE;
    }
    s->last.index += index;
    s->at += head + len;
    return (struct event){ .key = bytes_of(at + head, len),
                           .tag = tag,
                           .unit = unit_of(s),
                           .index = s->last.index,
                           .is_deleted = (s->last.unit & DELETED) != 0,
                           .time = s->last.time + time };
}

/* Finds the stream with the lowest unit. */
static enum df_status choose(struct events_reader *r, struct df_error *err)
{
    r->current = NULL;
    for (unsigned i = 0; i < r->n; i++) {
        const uint8_t *at;
        enum df_status status = look(&r->streams[i], &at, err);

        if (status != DF_OK) {
            return status;
        }
        if (at != NULL &&
            (r->current == NULL || unit_of(&r->streams[i]) < r->unit)) {
            r->current = &r->streams[i];
            r->unit = unit_of(r->current);
        }
    }
    return DF_OK;
}

enum df_status events_reader_next(struct events_reader *r, struct event *event,
                                  struct df_error *err)
{
    const uint8_t *at = NULL;
    enum df_status status = DF_OK;

    if (r->current != NULL) {
        status = look(r->current, &at, err);
    }
    if (status == DF_OK && (at == NULL || unit_of(r->current) != r->unit)) {
        status = choose(r, err);
        if (status == DF_OK && r->current != NULL) {
            status = look(r->current, &at, err);
        }
    }
    *event = (struct event){ 0 };
    if (status == DF_OK && r->current != NULL) {
        *event = take(r->current, at);
    }
    return status;
}

bool events_reader_keeps_keys(const struct events_reader *r)
{
    for (unsigned i = 0; i < r->n; i++) {
        if (r->streams[i].e->fd >= 0) {
            return false;
        }
    }
    return true;
}

void events_reader_close(struct events_reader *r)
{
    if (r == NULL) {
        return;
    }
    for (unsigned i = 0; r->streams != NULL && i < r->n; i++) {
        free(r->streams[i].buffer);
    }
    free(r->streams);
    free(r);
}

enum df_status events_reader_open(struct events_reader **out,
                                  struct events *const *workers, unsigned n,
                                  unsigned part, struct df_error *err)
{
    struct events_reader *r = calloc(1, sizeof *r);

    *out = NULL;
    if (r == NULL) {
        return error_no_memory(err);
    }
    r->n = n;
    r->streams = calloc(n, sizeof *r->streams);
    if (r->streams == NULL) {
        events_reader_close(r);
        return error_no_memory(err);
    }
    for (unsigned i = 0; i < n; i++) {
        assert(part < workers[i]->plan.parts);
        r->streams[i].e = workers[i];
        r->streams[i].part = &workers[i]->parts[part];
    }
    *out = r;
    return DF_OK;
}
