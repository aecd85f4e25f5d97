/* Copies of the documents that --on-negative=quarantine leaves out. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tsv.h"
#include "runtime/negative.h"

enum { COPY_BUFFER = 64 << 10, DIRECTORY_MODE = 0777, FILE_MODE = 0666 };

/* Makes the directories above a file; `path` is changed and restored. */
static enum df_status make_parents(char *path, struct df_error *err)
{
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at != '/') {
            continue;
        }
        *at = '\0';
        if (mkdir(path, DIRECTORY_MODE) != 0 && errno != EEXIST) {
            enum df_status status = error_errno(err, errno, "%s", path);

            *at = '/';
            return status;
        }
        *at = '/';
    }
    return DF_OK;
}

static bool write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);

        if (n < 0 && errno != EINTR) {
            return false;
        }
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
    return true;
}

static enum df_status copy_bytes(int from, int to, const char *name,
                                 struct df_error *err)
{
    char *buffer = malloc(COPY_BUFFER);
    enum df_status status = DF_OK;
    ssize_t n = 1;

    if (buffer == NULL) {
        return error_no_memory(err);
    }
    while (status == DF_OK && n != 0) {
        n = read(from, buffer, COPY_BUFFER);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 || !write_all(to, buffer, (size_t)n)) {
            status = error_errno(err, errno, "%s", name);
        }
    }
    if (status == DF_OK && fsync(to) != 0) {
        status = error_errno(err, errno, "%s", name);
    }
    free(buffer);
    return status;
}

static enum df_status copy_file(const char *from, char *to,
                                struct df_error *err)
{
    enum df_status status = make_parents(to, err);
    int in;
    int out;

    if (status != DF_OK) {
        return status;
    }
    in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (in < 0) {
        return error_errno(err, errno, "%s", from);
    }
    out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
    if (out < 0) {
        status = error_errno(err, errno, "%s", to);
    } else {
        status = copy_bytes(in, out, to, err);
        (void)close(out);
    }
    (void)close(in);
    return status;
}

/* A manifest line, where the id is not the path below the section. */
static bool append_manifest(struct buf *manifest, const struct batch_file *f)
{
    struct bytes path = bytes_of_string(strchr(f->path, '/') + 1);

    return bytes_equal(path, f->id) ||
           (tsv_append(manifest, bytes_of_string(f->path)) &&
            buf_append_byte(manifest, '\t') && tsv_append(manifest, f->id) &&
            buf_append_byte(manifest, '\n'));
}

static enum df_status copy_one(const struct batch *batch, size_t file,
                               const char *directory, struct df_error *err)
{
    char *from = NULL;
    char *to = NULL;
    enum df_status status;

    if (asprintf(&from, "%s/%s", batch->path, batch->files[file].path) < 0) {
        return error_no_memory(err);
    }
    if (asprintf(&to, "%s/%s", directory, batch->files[file].path) < 0) {
        free(from);
        return error_no_memory(err);
    }
    status = copy_file(from, to, err);
    free(from);
    free(to);
    return status;
}

static enum df_status write_manifest(const char *directory,
                                     struct bytes manifest,
                                     struct df_error *err)
{
    enum df_status status = DF_OK;
    char *path = NULL;
    int fd;

    if (manifest.len == 0) {
        return DF_OK;
    }
    if (asprintf(&path, "%s/manifest.tsv", directory) < 0) {
        return error_no_memory(err);
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
    if (fd < 0 || !write_all(fd, (const char *)manifest.data, manifest.len) ||
        fsync(fd) != 0) {
        status = error_errno(err, errno, "%s", path);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    free(path);
    return status;
}

/* The names of all directories that were made must last, too, before the
 * batch goes on without these documents. */
static enum df_status sync_all(const char *directory, struct df_error *err)
{
    enum df_status status = DF_OK;
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0) {
        return error_errno(err, errno, "%s", directory);
    }
    if (syncfs(fd) != 0) {
        status = error_errno(err, errno, "%s: cannot sync", directory);
    }
    (void)close(fd);
    return status;
}

/* VIEW.quarantine/BATCH, with a NUL. A view that is called "." or ".." has
 * its name looked up: the directory is to be beside it. */
static enum df_status name_directory(const char *view_path, const char *batch,
                                     struct buf *directory,
                                     struct df_error *err)
{
    size_t len = strlen(view_path);
    char *real = NULL;
    bool ok;

    while (len > 1 && view_path[len - 1] == '/') {
        len--;
    }
    if (view_path[len - 1] == '.') {
        real = realpath(view_path, NULL);
        if (real == NULL) {
            return error_errno(err, errno, "%s", view_path);
        }
        view_path = real;
        len = strlen(real);
    }
    buf_reset(directory);
    ok = buf_append(directory, view_path, len) &&
         buf_printf(directory, ".quarantine/%s", batch) &&
         buf_append_byte(directory, 0);
    free(real);
    return ok ? DF_OK : error_no_memory(err);
}

static int remove_one(const char *path, const struct stat *st, int kind,
                      struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

/* What is there is from an earlier try that did not come to its commit: a
 * batch that was applied is not tried again. */
static enum df_status remove_left_over(const char *directory,
                                       struct df_error *err)
{
    enum { DESCRIPTORS = 8 };

    if (nftw(directory, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS) != 0 &&
        errno != ENOENT) {
        return error_errno(err, errno, "%s: cannot remove", directory);
    }
    return DF_OK;
}

enum df_status negative_quarantine(const char *view_path,
                                   const struct batch *batch, const bool *skip,
                                   struct buf *directory, struct df_error *err)
{
    struct buf manifest = { 0 };
    enum df_status status =
        name_directory(view_path, batch->name, directory, err);

    if (status == DF_OK) {
        status = remove_left_over((const char *)directory->data, err);
    }
    for (size_t i = 0; status == DF_OK && i < batch->file_count; i++) {
        if (!skip[i]) {
            continue;
        }
        status = copy_one(batch, i, (const char *)directory->data, err);
        if (status == DF_OK && !append_manifest(&manifest, &batch->files[i])) {
            status = error_no_memory(err);
        }
    }
    if (status == DF_OK) {
        status = write_manifest((const char *)directory->data,
                                buf_bytes(&manifest), err);
    }
    if (status == DF_OK) {
        status = sync_all((const char *)directory->data, err);
    }
    buf_fini(&manifest);
    return status;
}
