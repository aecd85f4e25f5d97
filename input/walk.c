#include "input/walk.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "input/grow.h"
#include "input/names.h"
#include "input/refuse.h"

/* The refusal with the lowest path of those met. */
struct refusal {
    const char *path; /* NULL: none */
    struct df_error err;
};

/* A directory that is being read. */
struct open_directory {
    const struct walk *walk;
    struct refusal *refusal;
    struct bytes below; /* its path below root */
    DIR *stream;
    int fd; /* of stream */
};

static enum df_status refuse_link(const struct open_directory *d,
                                  const char *path, int errnum,
                                  struct df_error *err)
{
    if (errnum == ENOENT || errnum == ELOOP || errnum == ENOTDIR) {
        return refuse(err, d->walk->root, path,
                      "dangling symbolic link; remove it or put the file "
                      "in its place");
    }
    return refuse_errno(err, d->walk->root, path, errnum);
}

/* A link that leads somewhere is left out: its target is either a document
 * of its own or none of this batch. */
static enum df_status classify_link(const struct open_directory *d,
                                    struct walk_entry *entry,
                                    struct df_error *err)
{
    struct stat target;

    if (fstatat(d->fd, entry->name, &target, 0) != 0) {
        return refuse_link(d, entry->path, errno, err);
    }
    entry->kind = WALK_LEFT_OUT;
    entry->why = "symbolic link";
    return DF_OK;
}

static const char *kind_of_special(mode_t mode)
{
    if (S_ISFIFO(mode)) {
        return "a FIFO";
    }
    if (S_ISSOCK(mode)) {
        return "a socket";
    }
    return "a device";
}

/* By what lstat says; d_type is only a hint. */
static enum df_status classify_by_stat(const struct open_directory *d,
                                       struct walk_entry *entry,
                                       struct df_error *err)
{
    struct stat st;

    if (fstatat(d->fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) {
            return refuse(err, d->walk->root, entry->path,
                          "vanished while the directory was read");
        }
        return refuse_errno(err, d->walk->root, entry->path, errno);
    }
    if (S_ISREG(st.st_mode)) {
        entry->kind = WALK_FILE;
        entry->length = (uint64_t)st.st_size;
        entry->mtime = walk_mtime(&st);
        return DF_OK;
    }
    if (S_ISDIR(st.st_mode)) {
        entry->kind = WALK_DIRECTORY;
        return DF_OK;
    }
    if (S_ISLNK(st.st_mode)) {
        return classify_link(d, entry, err);
    }
    return refuse(err, d->walk->root, entry->path, "is %s, not a document",
                  kind_of_special(st.st_mode));
}

/* Keeps a refusal and lets the walk go on; any other failure ends it. */
static enum df_status keep_lowest(struct refusal *kept, const char *path,
                                  enum df_status status,
                                  const struct df_error *err)
{
    if (status != DF_INPUT) {
        return status;
    }
    if (kept->path == NULL || strcmp(path, kept->path) < 0) {
        kept->path = path;
        kept->err = *err;
    }
    return DF_OK;
}

static enum df_status refusal_status(const struct refusal *kept,
                                     struct df_error *err)
{
    if (kept->path == NULL) {
        return DF_OK;
    }
    *err = kept->err;
    return DF_INPUT;
}

static enum df_status visit_entry(const struct open_directory *d,
                                  const struct dirent *found,
                                  struct df_error *err)
{
    const struct walk *w = d->walk;
    struct bytes name = bytes_of_string(found->d_name);
    struct walk_entry entry = { 0 };
    enum df_status status = DF_OK;
    char *path = pool_path(w->pool, d->below, name);

    if (path == NULL) {
        return error_no_memory(err);
    }
    entry.path = path;
    entry.name = path + (d->below.len == 0 ? 0 : d->below.len + 1);
    entry.why = names_left_out(entry.name);
    if (entry.why != NULL) {
        entry.kind = WALK_LEFT_OUT;
    } else if (strlen(w->root) + strlen(path) + 2 > PATH_MAX) {
        status = refuse(err, w->root, path,
                        "path longer than the %d bytes the system takes",
                        PATH_MAX - 1);
    } else if (found->d_type == DT_DIR) {
        entry.kind = WALK_DIRECTORY;
    } else {
        status = classify_by_stat(d, &entry, err);
    }
    if (status == DF_OK) {
        status = w->visit(w->ctx, &entry, err);
    }
    return keep_lowest(d->refusal, path, status, err);
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static enum df_status visit_entries(const struct open_directory *d,
                                    struct df_error *err)
{
    for (;;) {
        const struct dirent *found;
        enum df_status status;

        errno = 0;
        found = readdir(d->stream);
        if (found == NULL) {
            return errno == 0
                       ? DF_OK
                       : refuse_errno(err, d->walk->root,
                                      (const char *)d->below.data, errno);
        }
        if (is_dot(found->d_name)) {
            continue;
        }
        status = visit_entry(d, found, err);
        if (status != DF_OK) {
            return status;
        }
    }
}

/* Only root may be a link: it is what the user named. */
static int open_below(const struct walk *w, const char *below)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    char full[PATH_MAX];
    int len;

    if (below[0] == '\0') {
        return open(w->root, flags);
    }
    len = snprintf(full, sizeof full, "%s/%s", w->root, below);
    if (len < 0 || (size_t)len >= sizeof full) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(full, flags | O_NOFOLLOW);
}

/* What is refused goes to *refusal. */
static enum df_status walk_one(const struct walk *w, const char *below,
                               struct refusal *refusal, struct df_error *err)
{
    struct open_directory d = { .walk = w,
                                .refusal = refusal,
                                .below = bytes_of_string(below),
                                .fd = open_below(w, below) };
    enum df_status status;

    if (d.fd < 0) {
        status = refuse_errno(err, w->root, below, errno);
        return keep_lowest(refusal, below, status, err);
    }
    d.stream = fdopendir(d.fd);
    if (d.stream == NULL) {
        status = refuse_errno(err, w->root, below, errno);
        (void)close(d.fd);
        return status;
    }
    status = visit_entries(&d, err);
    (void)closedir(d.stream);
    return keep_lowest(refusal, below, status, err);
}

enum df_status walk_directory(const struct walk *w, const char *below,
                              struct df_error *err)
{
    struct refusal refusal = { .path = NULL };
    enum df_status status = walk_one(w, below, &refusal, err);

    return status == DF_OK ? refusal_status(&refusal, err) : status;
}

/* ---- a tree, by several threads ---- */

/* Directories found and not yet read, in place of the C stack. */
struct to_read {
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t changed;
    const char **paths;
    size_t count;
    size_t capacity;
    unsigned readers; /* threads that are reading one, and may find more */
    bool has_failed;
};

/* Entries that the first thread visits before others are called: to wake one
 * may take longer than a small batch. */
enum { ALONE = 1000 };

/* One thread's share of it. */
struct lane {
    const struct walk *outer; /* whose visit files go to */
    struct to_read *directories;
    size_t visited;
    struct refusal refusal;
    enum df_status status;
    struct df_error err;
};

static bool push(struct to_read *t, const char *path)
{
    const char **paths;

    (void)pthread_mutex_lock(&t->lock);
    paths = grow_array(t->paths, &t->capacity, t->count, sizeof t->paths[0]);
    if (paths != NULL) {
        t->paths = paths;
        t->paths[t->count++] = path;
        (void)pthread_cond_signal(&t->changed);
    }
    (void)pthread_mutex_unlock(&t->lock);
    return paths != NULL;
}

/* Waits for a directory; NULL when there will be none. */
static const char *pop(struct to_read *t)
{
    const char *path = NULL;

    (void)pthread_mutex_lock(&t->lock);
    while (!t->has_failed && t->count == 0 && t->readers > 0) {
        (void)pthread_cond_wait(&t->changed, &t->lock);
    }
    if (!t->has_failed && t->count > 0) {
        path = t->paths[--t->count];
        t->readers++;
    }
    (void)pthread_mutex_unlock(&t->lock);
    return path;
}

/* The directory that was popped has been read. */
static void settle(struct to_read *t, enum df_status status)
{
    (void)pthread_mutex_lock(&t->lock);
    t->readers--;
    t->has_failed = t->has_failed || status != DF_OK;
    if (t->readers == 0 || t->has_failed) {
        (void)pthread_cond_broadcast(&t->changed);
    }
    (void)pthread_mutex_unlock(&t->lock);
}

static enum df_status visit_in_tree(void *ctx, const struct walk_entry *entry,
                                    struct df_error *err)
{
    struct lane *lane = ctx;

    lane->visited++;
    if (entry->kind == WALK_DIRECTORY) {
        return push(lane->directories, entry->path) ? DF_OK
                                                    : error_no_memory(err);
    }
    return lane->outer->visit(lane->outer->ctx, entry, err);
}

/* Reads directories until there are none left, or so many entries have been
 * visited. */
static void run_lane(struct lane *lane, size_t most)
{
    const struct walk inner = { .root = lane->outer->root,
                                .pool = lane->outer->pool,
                                .visit = visit_in_tree,
                                .ctx = lane };
    const char *below;

    while (lane->visited < most && (below = pop(lane->directories)) != NULL) {
        lane->status = walk_one(&inner, below, &lane->refusal, &lane->err);
        settle(lane->directories, lane->status);
    }
}

/* Of what several lanes met, as if it had been one: a failure before any
 * refusal, and of those the lowest. */
static enum df_status settle_lanes(const struct lane *lanes, unsigned count,
                                   struct df_error *err)
{
    struct refusal lowest = { .path = NULL };

    for (unsigned i = 0; i < count; i++) {
        const struct refusal *refusal = &lanes[i].refusal;

        if (lanes[i].status != DF_OK) {
            *err = lanes[i].err;
            return lanes[i].status;
        }
        if (refusal->path != NULL) {
            (void)keep_lowest(&lowest, refusal->path, DF_INPUT, &refusal->err);
        }
    }
    return refusal_status(&lowest, err);
}

static void run_lanes(struct lane *lanes, unsigned count)
{
#pragma omp parallel for num_threads(count) schedule(static, 1)
    for (unsigned i = 0; i < count; i++) {
        run_lane(&lanes[i], SIZE_MAX);
    }
}

enum df_status walk_tree(const struct walk *lanes, unsigned count,
                         const char *below, struct df_error *err)
{
    struct to_read t = { .count = 0 };
    struct lane at[WALK_LANES_MAX] = { 0 };
    enum df_status status;

    assert(count > 0 && count <= WALK_LANES_MAX);
    (void)pthread_mutex_init(&t.lock, NULL);
    (void)pthread_cond_init(&t.changed, NULL);
    for (unsigned i = 0; i < count; i++) {
        at[i].outer = &lanes[i];
        at[i].directories = &t;
    }
    if (push(&t, below)) {
        run_lane(&at[0], ALONE);
        if (t.count > 0) {
            run_lanes(at, count);
        }
        status = settle_lanes(at, count, err);
    } else {
        status = error_no_memory(err);
    }
    free(t.paths);
    (void)pthread_cond_destroy(&t.changed);
    (void)pthread_mutex_destroy(&t.lock);
    return status;
}
