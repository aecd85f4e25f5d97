/*
 * probe: does what its arguments say, one file operation each, so that the
 * shim can be watched at work. Says "N: why" for the N-th that fails, and
 * goes on.
 *
 *     write PATH OFFSET TEXT      open without O_CREAT, pwrite, close
 *     dsync PATH OFFSET TEXT      the same through O_DSYNC
 *     append PATH TEXT            write with O_APPEND, creates
 *     truncate PATH LENGTH
 *     sync PATH                   fsync, of a file or a directory
 *     rename FROM TO
 *     unlink PATH
 *     mkdir PATH
 *     allocate SIZE
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An open descriptor is closed; the operation's own errno stays. */
static int done(int fd, long result, size_t wanted)
{
    int errnum = errno;

    if (fd >= 0) {
        (void)close(fd);
    }
    errno = errnum;
    if (result >= 0 && (size_t)result != wanted) {
        errno = EAGAIN; /* our sign of a short write */
        return -1;
    }
    return result < 0 ? -1 : 0;
}

static int put(const char *path, const char *offset, const char *text,
               int flags)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | flags);

    return done(fd, pwrite(fd, text, strlen(text), atol(offset)),
                strlen(text));
}

static int append(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);

    return fd < 0 ? -1 : done(fd, write(fd, text, strlen(text)), strlen(text));
}

static int cut(const char *path, const char *length)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);

    return done(fd, ftruncate(fd, atol(length)), 0);
}

static int sync_path(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    return done(fd, fsync(fd), 0);
}

static int allocate(const char *size)
{
    void *volatile memory = malloc((size_t)atol(size));
    int result = memory == NULL ? -1 : 0;

    free(memory);
    return result;
}

/* Does args[0]; returns how many arguments it took, 0 for an unknown one. */
static int operate(char **args, int *result)
{
    if (strcmp(args[0], "write") == 0) {
        *result = put(args[1], args[2], args[3], 0);
        return 4;
    }
    if (strcmp(args[0], "dsync") == 0) {
        *result = put(args[1], args[2], args[3], O_DSYNC);
        return 4;
    }
    if (strcmp(args[0], "append") == 0) {
        *result = append(args[1], args[2]);
        return 3;
    }
    if (strcmp(args[0], "truncate") == 0) {
        *result = cut(args[1], args[2]);
        return 3;
    }
    if (strcmp(args[0], "rename") == 0) {
        *result = rename(args[1], args[2]);
        return 3;
    }
    if (strcmp(args[0], "sync") == 0) {
        *result = sync_path(args[1]);
        return 2;
    }
    if (strcmp(args[0], "unlink") == 0) {
        *result = unlink(args[1]);
        return 2;
    }
    if (strcmp(args[0], "mkdir") == 0) {
        *result = mkdir(args[1], 0777);
        return 2;
    }
    if (strcmp(args[0], "allocate") == 0) {
        *result = allocate(args[1]);
        return 2;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int number = 1;

    for (int i = 1; i < argc; number++) {
        int result = 0;
        int took = operate(argv + i, &result);

        if (took == 0) {
            return 2;
        }
        if (result != 0) {
            printf("%d: %s\n", number, strerrorname_np(errno));
        }
        i += took;
    }
    return 0;
}
