/* The few things views do with directories. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "state/view_internal.h"

enum df_status sync_directory(const char *path, struct df_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum df_status status = DF_OK;

    if (fd < 0) {
        return error_errno(err, errno, "%s", path);
    }
    if (fsync(fd) != 0) {
        status = error_errno(err, errno, "%s: cannot sync", path);
    }
    (void)close(fd);
    return status;
}

void remove_directory(const char *path, bool itself)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    if (dir == NULL) {
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0) {
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
        }
    }
    (void)closedir(dir);
    if (itself) {
        (void)rmdir(path);
    }
}

/* One path, printed into out with its NUL. */
static enum df_status path_in(struct buf *out, struct df_error *err,
                              bool printed)
{
    return printed && buf_append_byte(out, 0) ? DF_OK : error_no_memory(err);
}

enum df_status view_file(const struct view *v, uint64_t generation,
                         const char *name, struct buf *out,
                         struct df_error *err)
{
    buf_reset(out);
    return path_in(out, err,
                   buf_printf(out, "%s/gen-%llu%s%s", v->path,
                              (unsigned long long)generation,
                              *name == '\0' ? "" : "/", name));
}

enum df_status view_shard_file(const struct view *v, uint64_t generation,
                               unsigned shard, struct buf *out,
                               struct df_error *err)
{
    buf_reset(out);
    return path_in(out, err,
                   buf_printf(out, "%s/gen-%llu/shard-%02u.mdb", v->path,
                              (unsigned long long)generation, shard));
}
