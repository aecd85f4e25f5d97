#include "state/view_copy.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/directory.h"
#include "base/file_copy.h"
#include "state/view_internal.h"

enum { DIRECTORY_MODE = 0777 }; /* less the umask */

/* Scratch and locks belong to those who have the view open, and `current`
 * comes last: it makes the copy a view. */
static bool is_left_behind(const char *name)
{
    static const char lock[] = "-lock";
    size_t len = strlen(name);

    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
           strcmp(name, "lock") == 0 || strcmp(name, "tmp") == 0 ||
           strcmp(name, "current") == 0 || strcmp(name, "current.new") == 0 ||
           (len >= sizeof lock - 1 &&
            strcmp(name + len - (sizeof lock - 1), lock) == 0);
}

static enum df_status copy_directory(const char *from, const char *to,
                                     const volatile sig_atomic_t *stop,
                                     struct df_error *err);

/* A file or a directory of that name; anything else is none of a view's. */
static enum df_status copy_name(const char *from, const char *to,
                                const char *name,
                                const volatile sig_atomic_t *stop,
                                struct df_error *err)
{
    enum df_status status = DF_OK;
    struct buf source = { 0 };
    struct buf target = { 0 };
    struct stat st;

    if (!buf_printf(&source, "%s/%s", from, name) ||
        !buf_append_byte(&source, 0) ||
        !buf_printf(&target, "%s/%s", to, name) ||
        !buf_append_byte(&target, 0)) {
        status = error_no_memory(err);
    } else if (lstat((const char *)source.data, &st) != 0) {
        status = error_errno(err, errno, "%s", (const char *)source.data);
    } else if (S_ISDIR(st.st_mode)) {
        status = copy_directory((const char *)source.data,
                                (const char *)target.data, stop, err);
    } else if (S_ISREG(st.st_mode)) {
        status = file_copy((const char *)source.data,
                           (const char *)target.data, true, stop, err);
    }
    buf_fini(&source);
    buf_fini(&target);
    return status;
}

static enum df_status copy_directory(const char *from, const char *to,
                                     const volatile sig_atomic_t *stop,
                                     struct df_error *err)
{
    enum df_status status = DF_OK;
    DIR *dir = opendir(from);
    struct dirent *entry;

    if (dir == NULL) {
        return error_errno(err, errno, "%s", from);
    }
    if (mkdir(to, DIRECTORY_MODE) != 0) {
        status = error_errno(err, errno, "%s", to);
    }
    while (status == DF_OK) {
        errno = 0;
        entry = readdir(dir);
        if (entry == NULL) {
            status = errno == 0 ? DF_OK : error_errno(err, errno, "%s", from);
            break;
        }
        if (!is_left_behind(entry->d_name)) {
            status = copy_name(from, to, entry->d_name, stop, err);
        }
    }
    (void)closedir(dir);
    return status == DF_OK ? directory_sync(to, err) : status;
}

enum df_status view_copy(const char *from, const char *to,
                         unsigned wait_seconds,
                         const volatile sig_atomic_t *stop,
                         struct df_error *err)
{
    /* As much of a view as its lock needs: a constant path. */
    struct view locked = { .lock = -1, .path = strdup(from) };
    enum df_status status = locked.path == NULL
                                ? error_no_memory(err)
                                : view_lock(&locked, wait_seconds, err);

    if (status == DF_OK) {
        status = copy_directory(from, to, stop, err);
    }
    if (status == DF_OK) {
        status = copy_name(from, to, "current", stop, err);
    }
    if (status == DF_OK) {
        status = directory_sync(to, err);
    }
    view_unlock(&locked);
    free(locked.path);
    return status;
}

uint64_t view_copy_bytes(const char *path)
{
    uint64_t total = 0;
    DIR *dir = opendir(path);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char *below = NULL;
        struct stat st;

        if (is_left_behind(entry->d_name) ||
            asprintf(&below, "%s/%s", path, entry->d_name) < 0) {
            continue;
        }
        if (lstat(below, &st) == 0) {
            total += (uint64_t)st.st_blocks * 512;
            total += S_ISDIR(st.st_mode) ? view_copy_bytes(below) : 0;
        }
        free(below);
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return total;
}
