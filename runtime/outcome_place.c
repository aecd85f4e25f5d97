#include "runtime/outcome_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/hash.h"

const char *const outcome_names[OUTCOME_FILES] = { "unique", "duplicate",
                                                   "expired", "rejected",
                                                   "retracted" };

enum {
    DIRECTORY_MODE = 0777, /* less the umask */
    FILE_MODE = 0666
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

/* Removes a directory of outcome files; what cannot be removed stays. */
static void remove_files(const char *path)
{
    struct buf file = { 0 };

    for (int i = 0; i < OUTCOME_FILES; i++) {
        if (set_path(&file, path, outcome_names[i])) {
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
static void remove_leftovers(const struct outcome_place *p)
{
    DIR *dir = opendir(text(&p->parent));
    struct dirent *entry;
    struct buf path = { 0 };
    char head[32];

    (void)snprintf(head, sizeof head, ".deltafold-%08x",
                   (unsigned)(p->token >> 32));
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, head, strlen(head)) == 0 &&
            set_path(&path, text(&p->parent), entry->d_name)) {
            remove_files(text(&path));
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    buf_fini(&path);
}

static enum df_status make_parent(struct outcome_place *p, const char *out,
                                  struct df_error *err)
{
    char *real;

    if (mkdir(out, DIRECTORY_MODE) != 0 && errno != EEXIST) {
        return error_errno(err, errno, "%s: cannot make the directory", out);
    }
    real = realpath(out, NULL);
    if (real == NULL) {
        return error_errno(err, errno, "%s", out);
    }
    if (!buf_append(&p->parent, real, strlen(real) + 1)) {
        free(real);
        return error_no_memory(err);
    }
    free(real);
    return DF_OK;
}

/* OUT/BATCH must not be there. */
static enum df_status check_free(const struct outcome_place *p,
                                 struct df_error *err)
{
    struct stat st;

    if (lstat(text(&p->path), &st) != 0) {
        return errno == ENOENT ? DF_OK
                               : error_errno(err, errno, "%s", text(&p->path));
    }
    return error_set(err, DF_INPUT,
                     "%s: is there already, so the batch's outcome files "
                     "cannot be: move it away, or name another directory "
                     "with --outcomes",
                     text(&p->path));
}

enum df_status outcome_place_open(struct outcome_place *p,
                                  const struct outcome_place_plan *plan,
                                  struct df_error *err)
{
    enum df_status status = make_parent(p, plan->directory, err);

    if (status != DF_OK) {
        return status;
    }
    p->token = (uint64_t)view_mark(plan->view) << 32 | plan->token;
    if (!set_path(&p->path, text(&p->parent), plan->batch) ||
        !set_hidden(&p->hidden, text(&p->parent), p->token)) {
        return error_no_memory(err);
    }
    status = check_free(p, err);
    if (status == DF_OK) {
        remove_leftovers(p);
    }
    return status;
}

void outcome_place_fini(struct outcome_place *p)
{
    buf_fini(&p->hidden);
    buf_fini(&p->path);
    buf_fini(&p->parent);
}

/* ---- the hidden directory ---- */

enum df_status outcome_place_make(const struct outcome_place *p,
                                  struct df_error *err)
{
    return mkdir(text(&p->hidden), DIRECTORY_MODE) == 0
               ? DF_OK
               : error_errno(err, errno, "%s: cannot make the directory",
                             text(&p->hidden));
}

enum df_status outcome_place_create(const struct outcome_place *p, int file,
                                    int *fd, struct df_error *err)
{
    struct buf path = { 0 };
    enum df_status status = DF_OK;

    if (!set_path(&path, text(&p->hidden), outcome_names[file])) {
        return error_no_memory(err);
    }
    *fd =
        open(text(&path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    if (*fd < 0) {
        status = error_errno(err, errno, "%s", text(&path));
    }
    buf_fini(&path);
    return status;
}

enum df_status outcome_place_sync(const struct outcome_place *p,
                                  struct df_error *err)
{
    enum df_status status = directory_sync(text(&p->hidden), err);

    return status == DF_OK ? directory_sync(text(&p->parent), err) : status;
}

const char *outcome_place_hidden(const struct outcome_place *p)
{
    return text(&p->hidden);
}

void outcome_place_abandon(const struct outcome_place *p)
{
    remove_files(text(&p->hidden));
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
    return directory_sync(parent, err);
}

enum df_status outcome_place_publish(const struct outcome_place *p,
                                     struct df_error *err)
{
    return name_files(text(&p->hidden), text(&p->path), text(&p->parent), err);
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

enum df_status outcome_place_recover(struct view *v, struct df_error *err)
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
