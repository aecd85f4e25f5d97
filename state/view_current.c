/*
 * VIEW/current: which format and which generation the view has, one line
 * each. It is replaced by a rename, which is what makes a view of a
 * generation.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/directory.h"
#include "state/view_internal.h"

#define FORMAT "deltafold view format "
#define GENERATION "\ngeneration "

enum {
    FILE_MODE = 0666, /* less the umask */
    CURRENT_MAX = 128 /* longest text of it */
};

static enum df_status parse_current(struct view *v, const char *text,
                                    uint64_t *generation, struct df_error *err)
{
    const size_t head = sizeof FORMAT - 1;
    const size_t middle = head + 1 + sizeof GENERATION - 1;
    char *end;

    if (strncmp(text, FORMAT, head) != 0 || text[head] < '1' ||
        text[head] > VIEW_FORMAT_NOW ||
        strncmp(text + head + 1, GENERATION, sizeof GENERATION - 1) != 0) {
        return error_set(err, DF_STATE, "%s: not a view this version can read",
                         v->path);
    }
    v->format = text[head];
    *generation = strtoull(text + middle, &end, 10);
    if (end == text + middle || strcmp(end, "\n") != 0 || *generation == 0) {
        return error_set(err, DF_STATE, "%s/current is damaged", v->path);
    }
    return DF_OK;
}

enum df_status view_current(struct view *v, uint64_t *generation,
                            struct df_error *err)
{
    char text[CURRENT_MAX] = { 0 };
    char *path = view_path_of(v->path, "current");
    enum df_status status;
    ssize_t len;
    int fd;

    *generation = 0;
    if (path == NULL) {
        return error_no_memory(err);
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR
                   ? DF_OK
                   : error_errno(err, errno, "%s/current", v->path);
    }
    len = read(fd, text, sizeof text - 1);
    status = len < 0 ? error_errno(err, errno, "%s/current", v->path)
                     : parse_current(v, text, generation, err);
    (void)close(fd);
    return status;
}

/* Writes the text of `current` into a file beside it and syncs that. */
static enum df_status write_current(const char *path, char format,
                                    uint64_t generation, struct df_error *err)
{
    enum df_status status = DF_OK;
    char text[CURRENT_MAX];
    int len = snprintf(text, sizeof text, FORMAT "%c" GENERATION "%llu\n",
                       format, (unsigned long long)generation);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
    ssize_t written;

    if (fd < 0) {
        return error_errno(err, errno, "%s", path);
    }
    written = write(fd, text, (size_t)len);
    if (written != len) {
        /* So few bytes are cut short by nothing but a full disk. */
        status = error_errno(err, written < 0 ? errno : ENOSPC, "%s", path);
    } else if (fsync(fd) != 0) {
        status = error_errno(err, errno, "%s: cannot sync", path);
    }
    (void)close(fd);
    return status;
}

enum df_status view_switch(const struct view *v, char format,
                           uint64_t generation, struct df_error *err)
{
    char *fresh = view_path_of(v->path, "current.new");
    char *current = view_path_of(v->path, "current");
    enum df_status status;

    if (fresh == NULL || current == NULL) {
        status = error_no_memory(err);
        goto out;
    }
    /* The generation's own name must last before it is pointed to. */
    status = directory_sync(v->path, err);
    if (status == DF_OK) {
        status = write_current(fresh, format, generation, err);
    }
    if (status == DF_OK && rename(fresh, current) != 0) {
        status = error_errno(err, errno, "%s", current);
    }
    if (status == DF_OK) {
        status = directory_sync(v->path, err);
    }
out:
    free(fresh);
    free(current);
    return status;
}

enum df_status view_need_inbox(struct view *v, struct df_error *err)
{
    enum df_status status = DF_OK;

    if (v->format < VIEW_FORMAT_INBOX) {
        status = view_switch(v, VIEW_FORMAT_INBOX, v->generation, err);
        if (status == DF_OK) {
            v->format = VIEW_FORMAT_INBOX;
        }
    }
    return status;
}
