/*
 * The system calls that the shim stands before. Each asks the plan, tells
 * durable.h what it does, and goes on with the raw system call: no look-up
 * of the real function, so it works before any constructor has run.
 *
 * Only files below FAULT_ROOT count. Nothing is really synced there: a
 * process that is killed loses nothing that it gave to the kernel, and the
 * power cut is a model. That makes hundreds of runs cheap.
 *
 * For 64-bit Linux: off_t is 64 bits, and pwrite64 is pwrite.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/faults/durable.h"
#include "tests/faults/plan.h"
#include "tests/faults/power.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool dying; /* under lock: this call ends in a random power cut */

/* A program that says it is done must have synced all it did: when it ends by
 * itself the power goes, too. */
__attribute__((destructor)) static void power_goes(void)
{
    if (plan_root() != NULL && plan_cuts_power()) {
        durable_cut(false);
    }
}

/* ---- which files count ----------------------------------------------------
 */

static bool below_root(const char *path)
{
    const char *root = plan_root();
    size_t len = root == NULL ? 0 : strlen(root);

    return len > 0 && strncmp(path, root, len) == 0 &&
           (path[len] == '/' || path[len] == '\0');
}

/* The path of an open file; false for what has none. */
static bool path_of(int fd, char path[PATH_MAX])
{
    char link[64];
    ssize_t len;

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    len = readlink(link, path, PATH_MAX - 1);
    if (len < 0) {
        return false;
    }
    path[len] = '\0';
    return true;
}

static bool counts(int fd)
{
    char path[PATH_MAX];

    return plan_root() != NULL && path_of(fd, path) && below_root(path);
}

/* Makes path absolute; says whether it counts. */
static bool resolve(int dir, const char *path, char absolute[PATH_MAX])
{
    char start[PATH_MAX] = "";
    size_t len;

    if (plan_root() == NULL) {
        return false;
    }
    if (path[0] == '/') {
        (void)snprintf(absolute, PATH_MAX, "%s", path);
        return below_root(absolute);
    }
    if (dir == AT_FDCWD ? getcwd(start, sizeof start) == NULL
                        : !path_of(dir, start)) {
        return false;
    }
    len = strlen(start);
    if (len + 1 + strlen(path) >= PATH_MAX) {
        return false;
    }
    memcpy(absolute, start, len);
    absolute[len] = '/';
    memcpy(absolute + len + 1, path, strlen(path) + 1);
    return below_root(absolute);
}

/* ---- before and after every call ------------------------------------------
 */

/* Takes the lock. False: the call fails with errno set. Does not return
 * where the process dies first. */
static bool begin(enum plan_kind kind)
{
    (void)pthread_mutex_lock(&lock);
    switch (plan_call(kind)) {
    case PLAN_FAIL:
        errno = plan_errno();
        return false;
    case PLAN_KILL:
    case PLAN_PARTIAL:
        plan_die();
    case PLAN_CUT:
        power_off(false);
    case PLAN_CUT_RANDOM:
        dying = true;
        return true;
    case PLAN_PASS:
    case PLAN_SHORT:
        return true;
    }
    return true;
}

static void end(void)
{
    if (dying) {
        power_off(true);
    }
    (void)pthread_mutex_unlock(&lock);
}

/* ---- writing --------------------------------------------------------------
 */

/* A write of any kind: parts, and where they go. */
struct writing {
    int fd;
    const struct iovec *parts;
    int n;
    bool positioned; /* at offset, else where the descriptor stands */
    off_t offset;
};

static size_t writing_length(const struct writing *w)
{
    size_t len = 0;

    for (int i = 0; i < w->n; i++) {
        len += w->parts[i].iov_len;
    }
    return len;
}

/* The first len bytes of it, by the raw call. */
static ssize_t writing_raw(const struct writing *w, size_t len)
{
    struct iovec parts[IOV_MAX];
    int n = 0;

    for (int i = 0; i < w->n && i < IOV_MAX; i++) {
        size_t part = w->parts[i].iov_len < len ? w->parts[i].iov_len : len;

        parts[n++] = (struct iovec){ w->parts[i].iov_base, part };
        len -= part;
    }
    if (w->positioned) {
        return syscall(SYS_pwritev, w->fd, parts, n, w->offset, 0L);
    }
    return syscall(SYS_writev, w->fd, parts, n);
}

static off_t writing_offset(const struct writing *w, int flags)
{
    if ((flags & O_APPEND) != 0) {
        return lseek(w->fd, 0, SEEK_END);
    }
    return w->positioned ? w->offset : lseek(w->fd, 0, SEEK_CUR);
}

/* The first len bytes of it, remembered. */
static ssize_t writing_do(const struct writing *w, size_t len)
{
    int flags = fcntl(w->fd, F_GETFL);
    bool synced = (flags & O_DSYNC) != 0 && !dying;
    off_t offset = writing_offset(w, flags);
    ssize_t wrote;

    if (!synced) {
        durable_writing(w->fd, offset, len);
    }
    wrote = writing_raw(w, len);
    if (synced && wrote > 0) {
        durable_wrote_synced(w->fd, offset, w->parts, w->n, (size_t)wrote);
    }
    return wrote;
}

static ssize_t writing_judged(const struct writing *w)
{
    size_t len = writing_length(w);

    switch (plan_call(PLAN_WRITE)) {
    case PLAN_PASS:
        return writing_do(w, len);
    case PLAN_FAIL:
        errno = plan_errno();
        return -1;
    case PLAN_SHORT:
        return writing_do(w, len > 1 ? len / 2 : len);
    case PLAN_KILL:
        plan_die();
    case PLAN_PARTIAL:
        (void)writing_do(w, (size_t)plan_random(len + 1));
        plan_die();
    case PLAN_CUT:
        power_off(false);
    case PLAN_CUT_RANDOM:
        dying = true;
        return writing_do(w, len);
    }
    return -1;
}

static ssize_t writing_call(const struct writing *w)
{
    ssize_t wrote;

    if (!counts(w->fd)) {
        return writing_raw(w, writing_length(w));
    }
    (void)pthread_mutex_lock(&lock);
    wrote = writing_judged(w);
    end();
    return wrote;
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    struct iovec part = { (void *)(uintptr_t)bytes, len };

    return writing_call(&(struct writing){ .fd = fd, .parts = &part, .n = 1 });
}

ssize_t writev(int fd, const struct iovec *parts, int n)
{
    return writing_call(&(struct writing){ .fd = fd, .parts = parts, .n = n });
}

ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t offset)
{
    return writing_call(&(struct writing){ fd, parts, n, true, offset });
}

ssize_t pwritev64(int fd, const struct iovec *parts, int n, off_t offset)
{
    return pwritev(fd, parts, n, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
    struct iovec part = { (void *)(uintptr_t)bytes, len };

    return pwritev(fd, &part, 1, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off_t offset)
{
    return pwrite(fd, bytes, len, offset);
}

/* ---- syncing --------------------------------------------------------------
 */

static int sync_call(int fd, long number)
{
    int result = -1;

    if (!counts(fd)) {
        result = (int)syscall(number, fd);
        if (result == 0) {
            (void)pthread_mutex_lock(&lock);
            durable_synced(fd); /* it may be the directory of FAULT_ROOT */
            (void)pthread_mutex_unlock(&lock);
        }
        return result;
    }
    if (begin(PLAN_SYNC)) {
        if (!dying) {
            durable_synced(fd);
        }
        result = 0;
    }
    end();
    return result;
}

int fsync(int fd)
{
    return sync_call(fd, SYS_fsync);
}

int fdatasync(int fd)
{
    return sync_call(fd, SYS_fdatasync);
}

/* Which file is mapped there is not looked up: every msync counts. */
int msync(void *address, size_t len, int flags)
{
    int result = -1;

    if (begin(PLAN_SYNC)) {
        result = (int)syscall(SYS_msync, address, len, flags);
    }
    end();
    return result;
}

/* ---- lengths --------------------------------------------------------------
 */

int ftruncate(int fd, off_t length)
{
    int result = -1;

    if (!counts(fd)) {
        return (int)syscall(SYS_ftruncate, fd, length);
    }
    if (begin(PLAN_GROW)) {
        durable_truncating(fd, length);
        result = (int)syscall(SYS_ftruncate, fd, length);
    }
    end();
    return result;
}

int ftruncate64(int fd, off_t length)
{
    return ftruncate(fd, length);
}

int fallocate(int fd, int mode, off_t offset, off_t len)
{
    int result = -1;

    if (!counts(fd)) {
        return (int)syscall(SYS_fallocate, fd, mode, offset, len);
    }
    if (begin(PLAN_GROW)) {
        /* Only where it punches holes are there bytes to lose. */
        durable_writing(fd, offset,
                        (mode & FALLOC_FL_PUNCH_HOLE) != 0 ? (size_t)len : 0);
        result = (int)syscall(SYS_fallocate, fd, mode, offset, len);
    }
    end();
    return result;
}

int posix_fallocate(int fd, off_t offset, off_t len)
{
    return fallocate(fd, 0, offset, len) == 0 ? 0 : errno;
}

/* ---- opening --------------------------------------------------------------
 */

/* Truncation on opening, remembered as ftruncate is. */
static void open_truncates(const char *path)
{
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);

    if (fd >= 0) {
        durable_truncating((int)fd, 0);
        (void)syscall(SYS_close, fd);
    }
}

static int open_counted(const char *path, int flags, mode_t mode)
{
    struct stat st;
    bool exists = lstat(path, &st) == 0;
    bool makes = !exists && (flags & O_CREAT) != 0;
    bool counted =
        makes || (flags & O_TRUNC) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    struct durable_change *change = NULL;
    int fd = -1;

    if (!counted) {
        return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    }
    if (begin(PLAN_GROW)) {
        if (makes) {
            change = durable_change_begin(DURABLE_ADDED, path, NULL);
        } else if (exists && (flags & O_TRUNC) != 0) {
            open_truncates(path);
        }
        fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
        durable_change_end(change, fd >= 0);
    }
    end();
    return fd;
}

static int open_call(int dir, const char *path, int flags, mode_t mode)
{
    char absolute[PATH_MAX];

    if (!resolve(dir, path, absolute)) {
        return (int)syscall(SYS_openat, dir, path, flags, mode);
    }
    return open_counted(absolute, flags, mode);
}

/* The optional last argument of open and openat. */
#define OPEN_MODE(last, mode)                                                 \
    va_list args;                                                             \
    va_start(args, last);                                                     \
    mode_t mode =                                                             \
        (flags & (O_CREAT | O_TMPFILE)) != 0 ? (mode_t)va_arg(args, int) : 0; \
    va_end(args)

int open(const char *path, int flags, ...)
{
    OPEN_MODE(flags, mode);
    return open_call(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    OPEN_MODE(flags, mode);
    return open_call(AT_FDCWD, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    OPEN_MODE(flags, mode);
    return open_call(dir, path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...)
{
    OPEN_MODE(flags, mode);
    return open_call(dir, path, flags, mode);
}

int creat(const char *path, mode_t mode)
{
    return open_call(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

/* ---- directories ----------------------------------------------------------
 */

int mkdirat(int dir, const char *path, mode_t mode)
{
    char absolute[PATH_MAX];
    struct durable_change *change;
    int result = -1;

    if (!resolve(dir, path, absolute)) {
        return (int)syscall(SYS_mkdirat, dir, path, mode);
    }
    if (begin(PLAN_CHANGE)) {
        change = durable_change_begin(DURABLE_ADDED, absolute, NULL);
        result = (int)syscall(SYS_mkdirat, dir, path, mode);
        durable_change_end(change, result == 0);
    }
    end();
    return result;
}

int mkdir(const char *path, mode_t mode)
{
    return mkdirat(AT_FDCWD, path, mode);
}

int linkat(int from_dir, const char *from, int dir, const char *path,
           int flags)
{
    char absolute[PATH_MAX];
    struct durable_change *change;
    int result = -1;

    if (!resolve(dir, path, absolute)) {
        return (int)syscall(SYS_linkat, from_dir, from, dir, path, flags);
    }
    if (begin(PLAN_CHANGE)) {
        change = durable_change_begin(DURABLE_ADDED, absolute, NULL);
        result = (int)syscall(SYS_linkat, from_dir, from, dir, path, flags);
        durable_change_end(change, result == 0);
    }
    end();
    return result;
}

int link(const char *from, const char *path)
{
    return linkat(AT_FDCWD, from, AT_FDCWD, path, 0);
}

int unlinkat(int dir, const char *path, int flags)
{
    char absolute[PATH_MAX];
    struct durable_change *change;
    int result = -1;

    if (!resolve(dir, path, absolute)) {
        return (int)syscall(SYS_unlinkat, dir, path, flags);
    }
    if (begin(PLAN_REMOVE)) {
        change = durable_change_begin(DURABLE_GONE, absolute, NULL);
        result = (int)syscall(SYS_unlinkat, dir, path, flags);
        durable_change_end(change, result == 0);
    }
    end();
    return result;
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

int rmdir(const char *path)
{
    return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int remove(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) ? rmdir(path)
                                                        : unlink(path);
}

int renameat2(int from_dir, const char *from, int dir, const char *to,
              unsigned flags)
{
    char old[PATH_MAX];
    char new[PATH_MAX];
    struct durable_change *change;
    int result = -1;

    if (!resolve(from_dir, from, old) || !resolve(dir, to, new)) {
        return (int)syscall(SYS_renameat2, from_dir, from, dir, to, flags);
    }
    if ((flags & RENAME_EXCHANGE) != 0) {
        abort(); /* the power cut cannot take this back */
    }
    if (begin(PLAN_CHANGE)) {
        change = durable_change_begin(DURABLE_RENAMED, old, new);
        result = (int)syscall(SYS_renameat2, from_dir, from, dir, to, flags);
        durable_change_end(change, result == 0);
    }
    end();
    return result;
}

int renameat(int from_dir, const char *from, int dir, const char *to)
{
    return renameat2(from_dir, from, dir, to, 0);
}

int rename(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}
