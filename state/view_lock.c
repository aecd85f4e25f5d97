/*
 * The writer's lock: flock on VIEW/lock, so that it ends with its process.
 * The file holds the process's number, for the message to others.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "state/view_internal.h"

enum {
    FILE_MODE = 0666, /* less the umask */
    LOCK_POLL_MS = 20,
    LOCK_POLLS_MIN = 5 /* view_is_locked holds the lock for a moment */
};

/* Leaves our number in the lock file, for others' messages. */
static void sign_lock(int fd)
{
    char text[32];
    int len = snprintf(text, sizeof text, "%ld\n", (long)getpid());

    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)len, 0) != len) {
        return; /* the lock holds all the same */
    }
}

static enum df_status locked_by_other(const struct view *v, int fd,
                                      struct df_error *err)
{
    char holder[32] = { 0 };
    ssize_t len = pread(fd, holder, sizeof holder - 1, 0);

    holder[len > 0 ? strcspn(holder, "\n") : 0] = '\0';
    return error_set(err, DF_STATE,
                     "%s: locked by another writer (process %s): wait for it "
                     "to end, or give it longer with --wait",
                     v->path, holder[0] == '\0' ? "unknown" : holder);
}

static int open_lock(const struct view *v, int flags)
{
    char *path;
    int fd;

    if (asprintf(&path, "%s/lock", v->path) < 0) {
        errno = ENOMEM;
        return -1;
    }
    fd = open(path, flags | O_CLOEXEC, FILE_MODE);
    free(path);
    return fd;
}

static enum df_status refuse_lock(const struct view *v, int errnum,
                                  struct df_error *err)
{
    if (errnum != EACCES && errnum != EROFS) {
        return error_errno(err, errnum, "%s/lock", v->path);
    }
    return error_set(err, DF_SYSTEM,
                     "%s: the view cannot be written to (%s): that takes the "
                     "right to write all that is in it",
                     v->path,
                     errnum == EROFS ? "its file system is read-only"
                                     : "no permission");
}

enum df_status view_lock(struct view *v, unsigned wait_seconds,
                         struct df_error *err)
{
    const struct timespec poll = { .tv_nsec = LOCK_POLL_MS * 1000000L };
    uint64_t polls =
        LOCK_POLLS_MIN + (uint64_t)wait_seconds * 1000 / LOCK_POLL_MS;
    enum df_status status;
    int fd = open_lock(v, O_RDWR | O_CREAT);

    if (fd < 0) {
        return refuse_lock(v, errno, err);
    }
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            status = error_errno(err, errno, "%s: cannot lock", v->path);
            (void)close(fd);
            return status;
        }
        if (polls-- == 0) {
            status = locked_by_other(v, fd, err);
            (void)close(fd);
            return status;
        }
        (void)nanosleep(&poll, NULL);
    }
    sign_lock(fd);
    v->lock = fd;
    return DF_OK;
}

void view_unlock(struct view *v)
{
    if (v->lock >= 0) {
        (void)close(v->lock);
        v->lock = -1;
    }
}

bool view_is_locked(const struct view *v)
{
    int fd = open_lock(v, O_RDONLY);
    bool locked = false;

    if (fd >= 0) {
        locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        (void)close(fd);
    }
    return locked;
}
