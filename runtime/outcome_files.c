/*
 * Workers write in parallel and the files are in order: a worker gathers what
 * its unit adds to each file, waits until all units before have said how much
 * they add, takes its place behind them, and writes there while the next one
 * takes its own. Only a unit that does not fit in memory (a compressed file
 * is one unit) is written while it is being read, in its turn. With two
 * workers:
 *
 *     worker 0   unit 0: gather | place 0-8 | write     unit 2: gather ...
 *     worker 1   unit 1: gather | wait       | place 8-15 | write
 *
 * Units are taken in ascending order, so the lowest that is not placed is
 * always being worked on: somebody's turn comes. What has been written is
 * on its way to the disk at once (sync_file_range), so that the fsync at the
 * end has little left to wait for.
 */
#include "runtime/outcome_files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "runtime/outcome_layout.h"

enum {
    FILES = OUTCOME_FILES,
    GATHER_MIN = 1 << 20, /* bytes of a unit, whatever the budget */
    GATHER_MAX = 32 << 20,
    LOOK_EVERY_MS = 50 /* whether another worker has failed */
};

/* What one worker has gathered. */
struct lane {
    struct buf files[FILES];
    size_t gathered;
    struct csv_row row;
};

struct outcome_files {
    struct outcome_files_plan plan;
    enum form_format format;
    struct outcome_place place;
    const struct outcomes *outcomes;
    size_t gather_max;
    struct lane *lanes;
    int fds[FILES];

    struct buf *headers; /* by file of the batch; behind the lock */
    struct outcome_layout layout;
    struct outcome_map *maps;

    pthread_mutex_t lock;
    pthread_cond_t placed; /* turn has changed */
    size_t turn;           /* the unit that may be placed */
    uint64_t ends[FILES];
};

/* ---- opening ---- */

static enum df_status open_place(struct outcome_files *o, struct df_error *err)
{
    const struct outcome_place_plan plan = { .view = o->plan.view,
                                             .directory = o->plan.directory,
                                             .batch = o->plan.batch->name,
                                             .token = o->plan.token };

    return outcome_place_open(&o->place, &plan, err);
}

enum df_status outcome_files_open(struct outcome_files **out,
                                  const struct outcome_files_plan *plan,
                                  struct df_error *err)
{
    struct outcome_files *o = calloc(1, sizeof *o);
    enum df_status status;

    *out = NULL;
    if (o == NULL) {
        return error_no_memory(err);
    }
    o->plan = *plan;
    o->format = plan->job->form->format;
    o->gather_max = plan->memory / plan->threads;
    o->gather_max =
        o->gather_max < GATHER_MAX ? o->gather_max : (size_t)GATHER_MAX;
    o->gather_max =
        o->gather_max > GATHER_MIN ? o->gather_max : (size_t)GATHER_MIN;
    for (int i = 0; i < FILES; i++) {
        o->fds[i] = -1;
    }
    (void)pthread_mutex_init(&o->lock, NULL);
    (void)pthread_cond_init(&o->placed, NULL);
    outcome_layout_init(&o->layout, o->format == FORM_TSV ? '\t' : ',');
    o->lanes = calloc(plan->threads, sizeof *o->lanes);
    o->headers = calloc(plan->batch->file_count + 1, sizeof *o->headers);
    o->maps = calloc(plan->batch->file_count + 1, sizeof *o->maps);
    status = o->lanes == NULL || o->headers == NULL || o->maps == NULL
                 ? error_no_memory(err)
                 : open_place(o, err);
    if (status != DF_OK) {
        outcome_files_close(o);
        return status;
    }
    *out = o;
    return DF_OK;
}

static void close_lane(struct lane *l)
{
    for (int i = 0; i < FILES; i++) {
        buf_fini(&l->files[i]);
    }
    csv_row_fini(&l->row);
}

void outcome_files_close(struct outcome_files *o)
{
    if (o == NULL) {
        return;
    }
    for (int i = 0; i < FILES; i++) {
        if (o->fds[i] >= 0) {
            (void)close(o->fds[i]);
        }
    }
    for (unsigned i = 0; o->lanes != NULL && i < o->plan.threads; i++) {
        close_lane(&o->lanes[i]);
    }
    for (size_t i = 0; i < o->plan.batch->file_count; i++) {
        if (o->headers != NULL) {
            buf_fini(&o->headers[i]);
        }
        if (o->maps != NULL) {
            outcome_map_fini(&o->maps[i]);
        }
    }
    outcome_layout_fini(&o->layout);
    (void)pthread_cond_destroy(&o->placed);
    (void)pthread_mutex_destroy(&o->lock);
    outcome_place_fini(&o->place);
    free(o->maps);
    free(o->headers);
    free(o->lanes);
    free(o);
}

struct bytes outcome_files_path(const struct outcome_files *o)
{
    return bytes_of(o->place.path.data, o->place.path.len - 1);
}

uint64_t outcome_files_token(const struct outcome_files *o)
{
    return o->place.token;
}

/* ---- headers ---- */

static bool is_table(const struct outcome_files *o)
{
    return o->format == FORM_CSV || o->format == FORM_TSV;
}

enum df_status outcome_files_header(struct outcome_files *o, size_t file,
                                    struct bytes header, struct df_error *err)
{
    bool ok = true;

    if (!is_table(o)) {
        return DF_OK;
    }
    (void)pthread_mutex_lock(&o->lock);
    if (o->headers[file].len == 0) {
        ok = buf_append(&o->headers[file], header.data, header.len);
    }
    (void)pthread_mutex_unlock(&o->lock);
    return ok ? DF_OK : error_no_memory(err);
}

static enum df_status lay_out(struct outcome_files *o, struct df_error *err)
{
    size_t n = o->plan.batch->file_count;

    for (size_t i = 0; i < n; i++) {
        /* Of files without a record nothing is known, nor wanted. */
        if (o->headers[i].len > 0 &&
            !outcome_layout_add(&o->layout, buf_bytes(&o->headers[i]),
                                &o->maps[i])) {
            return error_no_memory(err);
        }
    }
    for (size_t i = 0; i < n; i++) {
        outcome_map_settle(&o->maps[i], &o->layout);
    }
    return DF_OK;
}

/* ---- writing ---- */

static enum df_status write_at(const struct outcome_files *o, int file,
                               struct bytes b, uint64_t at,
                               struct df_error *err)
{
    uint64_t begin = at;

    while (b.len > 0) {
        ssize_t n = pwrite(o->fds[file], b.data, b.len, (off_t)at);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return error_errno(err, n < 0 ? errno : EIO, "%s/%s",
                               outcome_place_hidden(&o->place),
                               outcome_names[file]);
        }
        b = bytes_of(b.data + n, b.len - (size_t)n);
        at += (uint64_t)n;
    }
    if (at > begin) {
        /* A hint: what it cannot do the fsync will. */
        (void)sync_file_range(o->fds[file], (off_t)begin, (off_t)(at - begin),
                              SYNC_FILE_RANGE_WRITE);
    }
    return DF_OK;
}

static enum df_status write_headers(struct outcome_files *o,
                                    struct df_error *err)
{
    struct buf line = { 0 };
    enum df_status status = DF_OK;

    for (int i = 0; status == DF_OK && i < FILES; i++) {
        buf_reset(&line);
        if (!outcome_layout_header(
                &o->layout, i == OUTCOME_REJECTED_FILE ? "reason" : NULL,
                &line) ||
            !buf_append_byte(&line, '\n')) {
            status = error_no_memory(err);
            break;
        }
        status = write_at(o, i, buf_bytes(&line), 0, err);
        o->ends[i] = line.len;
    }
    buf_fini(&line);
    return status;
}

static enum df_status make_files(struct outcome_files *o, struct df_error *err)
{
    enum df_status status = outcome_place_make(&o->place, err);

    for (int i = 0; status == DF_OK && i < FILES; i++) {
        status = outcome_place_create(&o->place, i, &o->fds[i], err);
    }
    return status;
}

/* The first unit from `from` on that has records. */
static size_t next_turn(const struct outcome_files *o, size_t from)
{
    while (from < o->outcomes->count && o->outcomes->units[from].len == 0) {
        from++;
    }
    return from;
}

enum df_status outcome_files_begin(struct outcome_files *o,
                                   const struct outcomes *outcomes,
                                   struct df_error *err)
{
    enum df_status status = make_files(o, err);

    o->outcomes = outcomes;
    o->turn = next_turn(o, 0);
    if (status == DF_OK && is_table(o)) {
        status = lay_out(o, err);
    }
    if (status == DF_OK && o->layout.count > 0) {
        status = write_headers(o, err);
    }
    return status;
}

/* ---- one record ---- */

static const char *reason_of(const struct outcome_files *o, unsigned outcome)
{
    return o->plan.job->job->fold->reasons[outcome - DF_OUTCOME_REJECTED];
}

/* Appends the record as it stands, or laid out anew. */
static bool append_record(const struct outcome_files *o, struct lane *l,
                          size_t file, struct bytes record, struct buf *out)
{
    const struct outcome_map *map = &o->maps[file];

    if (!is_table(o) || map->is_same) {
        return buf_append(out, record.data, record.len);
    }
    return outcome_layout_record(&o->layout, map, &l->row, record, out);
}

static bool append_rejected(const struct outcome_files *o, struct lane *l,
                            size_t file, struct bytes record,
                            const char *reason, struct buf *out)
{
    switch (o->format) {
    case FORM_NDJSON:
        return buf_printf(out, "{\"reason\":\"%s\",\"record\":", reason) &&
               buf_append(out, record.data, record.len) &&
               buf_append_byte(out, '}');
    case FORM_CSV:
    case FORM_TSV:
        return append_record(o, l, file, record, out) &&
               buf_append_byte(out, o->layout.delimiter) &&
               buf_append_string(out, reason);
    case FORM_LINES:
    case FORM_DOCUMENT:
        break;
    }
    return buf_append_string(out, reason) && buf_append_byte(out, '\t') &&
           buf_append(out, record.data, record.len);
}

/* Which of the files an outcome goes to. */
static int file_of(unsigned outcome)
{
    switch (outcome) {
    case DF_OUTCOME_UNIQUE:
        return 0;
    case DF_OUTCOME_DUPLICATE:
        return 1;
    case DF_OUTCOME_EXPIRED:
        return 2;
    case DF_OUTCOME_RETRACTED:
        return OUTCOME_RETRACTED_FILE;
    default:
        return OUTCOME_REJECTED_FILE;
    }
}

static bool gather(const struct outcome_files *o, struct lane *l, size_t file,
                   const struct df_record *record, unsigned outcome)
{
    struct bytes b = bytes_of(record->data, record->len);
    int to = file_of(outcome);
    struct buf *out = &l->files[to];
    size_t before = out->len;
    bool ok = to == OUTCOME_REJECTED_FILE
                  ? append_rejected(o, l, file, b, reason_of(o, outcome), out)
                  : append_record(o, l, file, b, out);

    ok = ok && buf_append_byte(out, '\n');
    l->gathered += out->len - before;
    return ok;
}

/* ---- turns ---- */

/* Waits until all units before have their place. False: another worker has
 * failed, and nothing will come of this batch. */
static bool wait_for_turn(struct outcome_files *o, const struct crew *crew,
                          size_t unit)
{
    bool ok = true;

    (void)pthread_mutex_lock(&o->lock);
    while (ok && o->turn != unit) {
        struct timespec until;

        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_EVERY_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        (void)pthread_cond_timedwait(&o->placed, &o->lock, &until);
        ok = o->turn == unit || !crew_has_failed(crew);
    }
    (void)pthread_mutex_unlock(&o->lock);
    return ok;
}

/* Takes the place for what is gathered; with the unit's end the turn passes
 * on. */
static void place(struct outcome_files *o, const struct lane *l, size_t unit,
                  bool is_end, uint64_t *at)
{
    (void)pthread_mutex_lock(&o->lock);
    for (int i = 0; i < FILES; i++) {
        at[i] = o->ends[i];
        o->ends[i] += l->files[i].len;
    }
    if (is_end) {
        o->turn = next_turn(o, unit + 1);
        (void)pthread_cond_broadcast(&o->placed);
    }
    (void)pthread_mutex_unlock(&o->lock);
}

static enum df_status flush(struct outcome_files *o, const struct crew *crew,
                            struct lane *l, size_t unit, bool is_end,
                            struct df_error *err)
{
    uint64_t at[FILES];
    enum df_status status = DF_OK;
    bool has_turn = wait_for_turn(o, crew, unit);

    if (has_turn) {
        place(o, l, unit, is_end, at);
    }
    /* Each begins with another file: who writes to the same one waits. */
    for (size_t i = 0; i < FILES; i++) {
        int file = (int)((i + (size_t)(l - o->lanes)) % FILES);

        if (has_turn && status == DF_OK) {
            status =
                write_at(o, file, buf_bytes(&l->files[file]), at[file], err);
        }
        buf_reset(&l->files[file]);
    }
    l->gathered = 0;
    return status;
}

enum df_status outcome_files_records(struct outcome_files *o,
                                     const struct crew *crew, unsigned worker,
                                     const struct reader_place *place,
                                     const struct df_record *records, size_t n,
                                     struct df_error *err)
{
    const struct buf *outcomes = &o->outcomes->units[place->unit];
    size_t file = (size_t)(place->file - o->plan.batch->files);
    struct lane *l = &o->lanes[worker];
    uint64_t end = place->index + n;
    enum df_status status = DF_OK;

    if (end > outcomes->len) { /* the hash will say it, but not yet */
        return reader_refuse(place, &records[0], "changed while it was read",
                             err);
    }
    for (size_t i = 0; status == DF_OK && i < n; i++) {
        if (!gather(o, l, file, &records[i],
                    outcomes->data[place->index + i])) {
            status = error_no_memory(err);
        } else if (l->gathered > o->gather_max) {
            status = flush(o, crew, l, place->unit, false, err);
        }
    }
    return status == DF_OK && end == outcomes->len
               ? flush(o, crew, l, place->unit, true, err)
               : status;
}

/* ---- the end ---- */

enum df_status outcome_files_end(struct outcome_files *o, struct df_error *err)
{
    enum df_status status = DF_OK;

    for (int i = 0; status == DF_OK && i < FILES; i++) {
        int fd = o->fds[i];

        o->fds[i] = -1;
        if (fsync(fd) != 0) {
            status =
                error_errno(err, errno, "%s/%s: cannot sync",
                            outcome_place_hidden(&o->place), outcome_names[i]);
        }
        if (close(fd) != 0 && status == DF_OK) {
            status =
                error_errno(err, errno, "%s/%s",
                            outcome_place_hidden(&o->place), outcome_names[i]);
        }
    }
    /* The hidden name must last before the ledger speaks of it. */
    return status == DF_OK ? outcome_place_sync(&o->place, err) : status;
}

void outcome_files_abandon(const struct outcome_files *o)
{
    outcome_place_abandon(&o->place);
}

enum df_status outcome_files_publish(const struct outcome_files *o,
                                     struct df_error *err)
{
    return outcome_place_publish(&o->place, err);
}
