#include "input/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

/* Directories found and not yet read, in place of the C stack. */
struct to_read {
    const struct walk *outer; /* whose visit files go to */
    const char **paths;
    size_t count;
    size_t capacity;
};

static bool push(struct to_read *t, const char *path)
{
    const char **paths =
        grow_array(t->paths, &t->capacity, t->count, sizeof t->paths[0]);

    if (paths == NULL) {
        return false;
    }
    t->paths = paths;
    t->paths[t->count++] = path;
    return true;
}

static enum df_status visit_in_tree(void *ctx, const struct walk_entry *entry,
                                    struct df_error *err)
{
    struct to_read *t = ctx;

    if (entry->kind == WALK_DIRECTORY) {
        return push(t, entry->path) ? DF_OK : error_no_memory(err);
    }
    return t->outer->visit(t->outer->ctx, entry, err);
}

enum df_status walk_tree(const struct walk *w, const char *below,
                         struct df_error *err)
{
    struct to_read t = { .outer = w };
    struct walk inner = {
        .root = w->root, .pool = w->pool, .visit = visit_in_tree, .ctx = &t
    };
    struct refusal refusal = { .path = NULL };
    enum df_status status = push(&t, below) ? DF_OK : error_no_memory(err);

    while (status == DF_OK && t.count > 0) {
        status = walk_one(&inner, t.paths[--t.count], &refusal, err);
    }
    free(t.paths);
    return status == DF_OK ? refusal_status(&refusal, err) : status;
}
