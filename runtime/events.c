/*
 * events.c: a part is a list of chunks, in memory or in the spill file. An
 * event in a chunk:
 *
 *     4  length of the key
 *     4  unit; the top bit: deleted
 *     4  index
 *     4  tag
 *     8  time
 *        key
 *
 * in the machine's order: nobody else reads it.
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
    HEAD = 24,
    CHUNK_FIRST = 1024, /* of a part; doubled up to the plan's */
    CHUNK_MAX = 256 * 1024,
    CHUNK_SHARE = 4,     /* a part has this many in memory on average */
    PIECE_MAX = 4 << 20, /* below what huge pages are asked for: events are
                            read in order and gain nothing by them */
    PIECE_SHARE = 8 /* at least as many in memory; holds the longest event */
};
#define DELETED UINT32_C(0x80000000)

struct chunk {
    uint8_t *data;   /* in a piece; NULL: in the file */
    size_t len;      /* bytes in use */
    size_t capacity; /* of data, DF_SLACK aside */
    uint64_t offset; /* in the file */
};

struct part {
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
        e->pieces[e->piece] = pages_map(e->piece_size);
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

static void put(uint8_t *to, const struct event *event)
{
    uint32_t numbers[4] = { (uint32_t)event->key.len,
                            event->unit | (event->is_deleted ? DELETED : 0),
                            event->index, event->tag };

    memcpy(to, numbers, sizeof numbers);
    memcpy(to + sizeof numbers, &event->time, sizeof event->time);
    memcpy(to + HEAD, event->key.data, event->key.len);
}

enum df_status events_add(struct events *e, unsigned part,
                          const struct event *event, struct df_error *err)
{
    struct part *p = &e->parts[part];
    struct chunk *last = p->count > 0 ? &p->chunks[p->count - 1] : NULL;
    size_t size = HEAD + event->key.len;

    if (last == NULL || last->data == NULL ||
        last->capacity - last->len < size) {
        enum df_status status = add_chunk(e, p, size, err);

        if (status != DF_OK) {
            return status;
        }
        last = &p->chunks[p->count - 1];
    }
    put(last->data + last->len, event);
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

/* Where the next event of a stream lies; NULL at its end. */
static enum df_status look(struct stream *s, const uint8_t **at,
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

static uint32_t unit_at(const uint8_t *at)
{
    uint32_t unit;

    memcpy(&unit, at + 4, sizeof unit);
    return unit & ~DELETED;
}

static struct event take(struct stream *s, const uint8_t *at)
{
    struct event event;
    uint32_t numbers[4];

    memcpy(numbers, at, sizeof numbers);
    memcpy(&event.time, at + sizeof numbers, sizeof event.time);
    event.key = bytes_of(at + HEAD, numbers[0]);
    event.unit = numbers[1] & ~DELETED;
    event.is_deleted = (numbers[1] & DELETED) != 0;
    event.index = numbers[2];
    event.tag = numbers[3];
    s->at += HEAD + event.key.len;
    return event;
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
        if (at != NULL && (r->current == NULL || unit_at(at) < r->unit)) {
            r->current = &r->streams[i];
            r->unit = unit_at(at);
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
    if (status == DF_OK && (at == NULL || unit_at(at) != r->unit)) {
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
