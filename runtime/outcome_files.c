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

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/outcome_layout.h"

enum { FILES = 5, REJECTED = 3, RETRACTED = 4 };

static const char *const names[FILES] = { "unique", "duplicate", "expired",
                                          "rejected", "retracted" };

enum {
    DIRECTORY_MODE = 0777, /* less the umask */
    FILE_MODE = 0666,
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
    struct buf parent; /* OUT, absolute; all paths end with NUL */
    struct buf path;   /* OUT/BATCH */
    struct buf hidden;
    uint64_t token;
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

/* ---- paths ---- */

static bool set_path(struct buf *out, const char *parent, const char *name)
{
    buf_reset(out);
    return buf_printf(out, "%s/%s", parent, name) && buf_append_byte(out, 0);
}

static bool set_hidden(struct buf *out, const char *parent, uint64_t token)
{
    char name[64];

    (void)snprintf(name, sizeof name, ".deltafold-%016llx.partial",
                   (unsigned long long)token);
    return set_path(out, parent, name);
}

static const char *text(const struct buf *b)
{
    return (const char *)b->data;
}

static enum df_status sync_path(const char *path, struct df_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum df_status status = DF_OK;

    if (fd < 0) {
        return error_errno(err, errno, "%s", path);
    }
    if (fsync(fd) != 0) {
        status = error_errno(err, errno, "%s: cannot sync", path);
    }
    (void)close(fd);
    return status;
}

/* Removes a directory of outcome files; what cannot be removed stays. */
static void remove_files(const char *path)
{
    struct buf file = { 0 };

    for (int i = 0; i < FILES; i++) {
        if (set_path(&file, path, names[i])) {
            (void)unlink(text(&file));
        }
    }
    (void)rmdir(path);
    buf_fini(&file);
}

/* What marks the leftovers of one view among those of others. */
static uint32_t view_mark(const struct view *v)
{
    char *real = realpath(view_path(v), NULL);
    uint64_t hash =
        hash64(bytes_of_string(real != NULL ? real : view_path(v)));

    free(real);
    return (uint32_t)(hash >> 32);
}

/* Removes what crashes of this view have left in OUT. */
static void remove_leftovers(const struct outcome_files *o)
{
    DIR *dir = opendir(text(&o->parent));
    struct dirent *entry;
    struct buf path = { 0 };
    char head[32];

    (void)snprintf(head, sizeof head, ".deltafold-%08x",
                   (unsigned)(o->token >> 32));
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, head, strlen(head)) == 0 &&
            set_path(&path, text(&o->parent), entry->d_name)) {
            remove_files(text(&path));
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    buf_fini(&path);
}

static enum df_status make_parent(struct outcome_files *o,
                                  struct df_error *err)
{
    const char *out = o->plan.directory;
    char *real;

    if (mkdir(out, DIRECTORY_MODE) != 0 && errno != EEXIST) {
        return error_errno(err, errno, "%s: cannot make the directory", out);
    }
    real = realpath(out, NULL);
    if (real == NULL) {
        return error_errno(err, errno, "%s", out);
    }
    if (!buf_append(&o->parent, real, strlen(real) + 1)) {
        free(real);
        return error_no_memory(err);
    }
    free(real);
    return DF_OK;
}

/* OUT/BATCH must not be there. */
static enum df_status check_free(const struct outcome_files *o,
                                 struct df_error *err)
{
    struct stat st;

    if (lstat(text(&o->path), &st) != 0) {
        return errno == ENOENT ? DF_OK
                               : error_errno(err, errno, "%s", text(&o->path));
    }
    return error_set(err, DF_INPUT,
                     "%s: is there already, so the batch's outcome files "
                     "cannot be: move it away, or name another directory "
                     "with --outcomes",
                     text(&o->path));
}

/* ---- opening ---- */

static enum df_status open_paths(struct outcome_files *o, struct df_error *err)
{
    enum df_status status = make_parent(o, err);

    if (status != DF_OK) {
        return status;
    }
    o->token = (uint64_t)view_mark(o->plan.view) << 32 | o->plan.token;
    if (!set_path(&o->path, text(&o->parent), o->plan.batch->name) ||
        !set_hidden(&o->hidden, text(&o->parent), o->token)) {
        return error_no_memory(err);
    }
    status = check_free(o, err);
    if (status == DF_OK) {
        remove_leftovers(o);
    }
    return status;
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
                 : open_paths(o, err);
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
    buf_fini(&o->hidden);
    buf_fini(&o->path);
    buf_fini(&o->parent);
    free(o->maps);
    free(o->headers);
    free(o->lanes);
    free(o);
}

struct bytes outcome_files_path(const struct outcome_files *o)
{
    return bytes_of(o->path.data, o->path.len - 1);
}

uint64_t outcome_files_token(const struct outcome_files *o)
{
    return o->token;
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
                               text(&o->hidden), names[file]);
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
        if (!outcome_layout_header(&o->layout, i == REJECTED ? "reason" : NULL,
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
    struct buf path = { 0 };
    enum df_status status = DF_OK;

    if (mkdir(text(&o->hidden), DIRECTORY_MODE) != 0) {
        return error_errno(err, errno, "%s: cannot make the directory",
                           text(&o->hidden));
    }
    for (int i = 0; status == DF_OK && i < FILES; i++) {
        if (!set_path(&path, text(&o->hidden), names[i])) {
            status = error_no_memory(err);
            break;
        }
        o->fds[i] = open(text(&path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                         FILE_MODE);
        if (o->fds[i] < 0) {
            status = error_errno(err, errno, "%s", text(&path));
        }
    }
    buf_fini(&path);
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
        return RETRACTED;
    default:
        return REJECTED;
    }
}

static bool gather(const struct outcome_files *o, struct lane *l, size_t file,
                   const struct df_record *record, unsigned outcome)
{
    struct bytes b = bytes_of(record->data, record->len);
    int to = file_of(outcome);
    struct buf *out = &l->files[to];
    size_t before = out->len;
    bool ok = to == REJECTED
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
            status = error_errno(err, errno, "%s/%s: cannot sync",
                                 text(&o->hidden), names[i]);
        }
        if (close(fd) != 0 && status == DF_OK) {
            status =
                error_errno(err, errno, "%s/%s", text(&o->hidden), names[i]);
        }
    }
    if (status == DF_OK) {
        status = sync_path(text(&o->hidden), err);
    }
    /* The hidden name must last before the ledger speaks of it. */
    return status == DF_OK ? sync_path(text(&o->parent), err) : status;
}

void outcome_files_abandon(const struct outcome_files *o)
{
    remove_files(text(&o->hidden));
}

static enum df_status name_files(const char *hidden, const char *path,
                                 const char *parent, struct df_error *err)
{
    if (rename(hidden, path) != 0) {
        enum df_status status = error_errno(err, errno, "%s", path);

        return error_prefix(err, status,
                            "the batch is applied, but its outcome files, in "
                            "%s, could not be given their name; the next run "
                            "tries again",
                            hidden);
    }
    return sync_path(parent, err);
}

enum df_status outcome_files_publish(struct outcome_files *o,
                                     struct df_error *err)
{
    return name_files(text(&o->hidden), text(&o->path), text(&o->parent), err);
}

/* ---- after a crash ---- */

/* Splits the path in the entry into OUT and the hidden directory in it. */
static enum df_status recover(const struct ledger_entry *e,
                              struct df_error *err)
{
    struct buf path = { 0 };
    struct buf parent = { 0 };
    struct buf hidden = { 0 };
    const uint8_t *slash = memrchr(e->outcomes.data, '/', e->outcomes.len);
    size_t parent_len = slash == NULL ? 0 : (size_t)(slash - e->outcomes.data);
    enum df_status status = DF_OK;
    struct stat st;

    if (!buf_append(&path, e->outcomes.data, e->outcomes.len) ||
        !buf_append_byte(&path, 0) ||
        !buf_append(&parent, e->outcomes.data, parent_len) ||
        !buf_append_byte(&parent, 0) ||
        !set_hidden(&hidden, text(&parent), e->outcomes_token)) {
        status = error_no_memory(err);
    } else if (lstat(text(&hidden), &st) == 0) {
        status = name_files(text(&hidden), text(&path),
                            parent_len > 0 ? text(&parent) : "/", err);
    } else if (errno != ENOENT && errno != ENOTDIR) {
        status = error_errno(err, errno, "%s", text(&hidden));
    }
    buf_fini(&path);
    buf_fini(&parent);
    buf_fini(&hidden);
    return status;
}

enum df_status outcome_files_recover(struct view *v, struct df_error *err)
{
    struct ledger_entry last;
    struct snapshot *s;
    bool found = false;
    enum df_status status = snapshot_open(&s, v, err);

    if (status == DF_OK) {
        status =
            snapshot_ledger_get(s, snapshot_state(s).seq, &last, &found, err);
    }
    if (status == DF_OK && found && last.outcomes.len > 0) {
        status = recover(&last, err);
    }
    snapshot_close(s);
    return status;
}
