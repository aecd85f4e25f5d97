#include "base/file_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    STEP = 16 << 20, /* bytes between two looks at stop */
    CHUNK = 1 << 18, /* of read and write, where the kernel cannot copy */
    FILE_MODE = 0666 /* less the umask */
};

/* A file on its way. */
struct passage {
    const char *from; /* path */
    const char *to;
    int in;
    int out;
    bool is_durable;
    const volatile sig_atomic_t *stop;
    struct df_error *err;
};

static bool kernel_cannot_copy(int errnum)
{
    return errnum == EXDEV || errnum == EINVAL || errnum == ENOSYS ||
           errnum == EOPNOTSUPP;
}

static enum df_status write_at(const struct passage *p, const char *data,
                               size_t len, off_t at)
{
    while (len > 0) {
        ssize_t n = pwrite(p->out, data, len, at);

        if (n < 0 && errno != EINTR) {
            return error_errno(p->err, errno, "%s", p->to);
        }
        if (n > 0) {
            data += n;
            at += n;
            len -= (size_t)n;
        }
    }
    return DF_OK;
}

/* By read and write; *n is how far, at most one chunk. */
static enum df_status step_by_hand(const struct passage *p, off_t at,
                                   size_t len, ssize_t *n)
{
    char *room = malloc(CHUNK);
    enum df_status status;

    if (room == NULL) {
        return error_no_memory(p->err);
    }
    *n = pread(p->in, room, len < CHUNK ? len : CHUNK, at);
    status = *n < 0 ? error_errno(p->err, errno, "%s", p->from)
                    : write_at(p, room, (size_t)*n, at);
    free(room);
    return status;
}

static enum df_status step(const struct passage *p, off_t at, size_t len,
                           ssize_t *n)
{
    off_t in_at = at;
    off_t out_at = at;

    *n = copy_file_range(p->in, &in_at, p->out, &out_at,
                         len < STEP ? len : STEP, 0);
    if (*n < 0 && kernel_cannot_copy(errno)) {
        return step_by_hand(p, at, len, n);
    }
    if (*n < 0) {
        return error_errno(p->err, errno, "%s", p->to);
    }
    return DF_OK;
}

static enum df_status copy_stretch(const struct passage *p, off_t begin,
                                   off_t end)
{
    while (begin < end) {
        ssize_t n = 0;
        enum df_status status;

        if (p->stop != NULL && *p->stop != 0) {
            return error_set(p->err, DF_INTERRUPTED, "interrupted");
        }
        status = step(p, begin, (size_t)(end - begin), &n);
        if (status != DF_OK) {
            return status;
        }
        if (n == 0) {
            return error_set(p->err, DF_INPUT, "%s: cut while it was copied",
                             p->from);
        }
        begin += n;
    }
    return DF_OK;
}

/* What holds data; a file system that does not tell holds nothing else. */
static enum df_status copy_data(const struct passage *p, off_t length)
{
    off_t begin = 0;

    while (begin < length) {
        off_t data = lseek(p->in, begin, SEEK_DATA);
        off_t end = data < 0 ? length : lseek(p->in, data, SEEK_HOLE);
        enum df_status status;

        if (data < 0 && errno == ENXIO) {
            break; /* a hole up to the end */
        }
        status =
            copy_stretch(p, data < 0 ? begin : data, end < 0 ? length : end);
        if (status != DF_OK) {
            return status;
        }
        begin = end < 0 ? length : end;
    }
    return DF_OK;
}

static enum df_status copy_opened(const struct passage *p)
{
    struct stat st;
    enum df_status status;

    if (fstat(p->in, &st) != 0) {
        return error_errno(p->err, errno, "%s", p->from);
    }
    status = copy_data(p, st.st_size);
    if (status == DF_OK && (ftruncate(p->out, st.st_size) != 0 ||
                            (p->is_durable && fsync(p->out) != 0))) {
        status = error_errno(p->err, errno, "%s", p->to);
    }
    return status;
}

enum df_status file_copy(const char *from, const char *to, bool is_durable,
                         const volatile sig_atomic_t *stop,
                         struct df_error *err)
{
    struct passage p = { .from = from,
                         .to = to,
                         .out = -1,
                         .is_durable = is_durable,
                         .stop = stop,
                         .err = err };
    enum df_status status;

    p.in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (p.in < 0) {
        return error_errno(err, errno, "%s", from);
    }
    p.out = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    status = p.out < 0 ? error_errno(err, errno, "%s", to) : copy_opened(&p);
    (void)close(p.in);
    if (p.out >= 0 && close(p.out) != 0 && status == DF_OK) {
        status = error_errno(err, errno, "%s", to);
    }
    return status;
}
