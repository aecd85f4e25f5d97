#include "cli/bench_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FILE_MODE = 0666 }; /* less the umask */

static const char *const endings[] = { ".csv", ".svg" };

static char *with_ending(const char *prefix, const char *ending)
{
    char *path = NULL;

    return asprintf(&path, "%s%s", prefix, ending) < 0 ? NULL : path;
}

static char *directory_of(const char *prefix)
{
    const char *slash = strrchr(prefix, '/');

    if (slash == NULL) {
        return strdup(".");
    }
    return slash == prefix ? strdup("/")
                           : strndup(prefix, (size_t)(slash - prefix));
}

static enum df_status check_absent(const char *prefix, struct df_error *err)
{
    enum df_status status = DF_OK;

    for (size_t i = 0; status == DF_OK && i < 2; i++) {
        char *path = with_ending(prefix, endings[i]);

        if (path == NULL) {
            status = error_no_memory(err);
        } else if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
            status = error_set(err, DF_USAGE,
                               "%s exists: name another with --output, or "
                               "replace it with --force",
                               path);
        }
        free(path);
    }
    return status;
}

enum df_status bench_files_init(struct bench_files *f, const char *prefix,
                                bool force, struct df_error *err)
{
    const char *slash = strrchr(prefix, '/');

    *f = (struct bench_files){ .prefix = prefix };
    if (*(slash == NULL ? prefix : slash + 1) == '\0') {
        return error_set(err, DF_USAGE,
                         "--output: '%s' names no file, only a directory",
                         prefix);
    }
    f->directory = directory_of(prefix);
    if (f->directory == NULL) {
        return error_no_memory(err);
    }
    if (faccessat(AT_FDCWD, f->directory, W_OK | X_OK, AT_EACCESS) != 0) {
        return error_errno(err, errno,
                           "%s: cannot write there (name another place with "
                           "--output)",
                           f->directory);
    }
    return force ? DF_OK : check_absent(prefix, err);
}

void bench_files_fini(struct bench_files *f)
{
    free(f->directory);
    *f = (struct bench_files){ 0 };
}

static enum df_status write_all(const char *path, struct bytes text,
                                struct df_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
    size_t done = 0;
    bool ok = fd >= 0;

    while (ok && done < text.len) {
        ssize_t n = write(fd, text.data + done, text.len - done);

        ok = n >= 0 || errno == EINTR;
        done += n > 0 ? (size_t)n : 0;
    }
    ok = ok && fsync(fd) == 0;
    if (!ok) {
        int errnum = errno;

        if (fd >= 0) {
            (void)close(fd);
        }
        return error_errno(err, errnum, "%s", path);
    }
    return close(fd) == 0 ? DF_OK : error_errno(err, errno, "%s", path);
}

/* Written under another name first. */
static enum df_status replace(const char *prefix, const char *ending,
                              struct bytes text, struct df_error *err)
{
    char *path = with_ending(prefix, ending);
    char *fresh = path == NULL ? NULL : with_ending(path, ".tmp");
    enum df_status status =
        fresh == NULL ? error_no_memory(err) : write_all(fresh, text, err);

    if (status == DF_OK && rename(fresh, path) != 0) {
        status = error_errno(err, errno, "%s", path);
    }
    if (status != DF_OK && fresh != NULL) {
        (void)unlink(fresh);
    }
    free(path);
    free(fresh);
    return status;
}

enum df_status bench_files_write(const struct bench_files *f,
                                 const struct bench_subject *s,
                                 struct df_error *err)
{
    struct buf csv = { 0 };
    struct buf svg = { 0 };
    enum df_status status = bench_csv(s, &csv) && bench_svg(s, &svg)
                                ? DF_OK
                                : error_no_memory(err);

    if (status == DF_OK) {
        status = replace(f->prefix, endings[0], buf_bytes(&csv), err);
    }
    if (status == DF_OK) {
        status = replace(f->prefix, endings[1], buf_bytes(&svg), err);
    }
    buf_fini(&csv);
    buf_fini(&svg);
    return status;
}
