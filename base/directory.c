#include "base/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIRECTORY_MODE = 0777 }; /* less the umask */

enum df_status directory_make(const char *path, struct df_error *err)
{
    if (mkdir(path, DIRECTORY_MODE) == 0 || errno == EEXIST) {
        return DF_OK;
    }
    return error_errno(err, errno, "%s: cannot make the directory", path);
}

enum df_status directory_sync(const char *path, struct df_error *err)
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

void directory_empty(const char *path)
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
}

void directory_remove(const char *path)
{
    directory_empty(path);
    (void)rmdir(path);
}
