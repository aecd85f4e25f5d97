#include "state/store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
    PAGE_SIZE_AT = 40, /* where LMDB's first header has it, 32 bits */
    PAGE_SIZE_MIN = 256,
    PAGE_SIZE_MAX = 65536
};

/* Whether the header's page size can be one: LMDB divides by it before it
 * looks any closer. What cannot be read is left to LMDB to refuse. */
static bool has_page_size(const char *path)
{
    uint32_t size;
    ssize_t n = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        n = pread(fd, &size, sizeof size, PAGE_SIZE_AT);
        (void)close(fd);
    }
    return n != sizeof size ||
           (size >= PAGE_SIZE_MIN && size <= PAGE_SIZE_MAX &&
            (size & (size - 1)) == 0);
}

bool store_file_is_missing(const char *path)
{
    struct stat st;

    return stat(path, &st) != 0 && errno == ENOENT;
}

enum df_status store_file_check(const char *path, bool *missing,
                                struct df_error *err)
{
    struct stat st;

    *missing = false;
    if (stat(path, &st) != 0) {
        *missing = errno == ENOENT;
        (void)error_errno(err, errno, "%s", path);
        return *missing ? DF_STATE : DF_SYSTEM;
    }
    /* LMDB would make a store of an empty file, even for a reader. */
    if (!S_ISREG(st.st_mode) || st.st_size == 0 || !has_page_size(path)) {
        return error_set(err, DF_STATE,
                         "%s: not a store: restore the view from a copy, or "
                         "make it anew",
                         path);
    }
    return DF_OK;
}

enum df_status store_file_allocate(const char *path, uint64_t bytes,
                                   mode_t mode, struct df_error *err)
{
    enum df_status status = DF_OK;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, mode);

    if (fd < 0) {
        return errno == ENOSPC || errno == EDQUOT
                   ? error_errno(err, errno, "%s", path)
                   : DF_OK;
    }
    /* File systems that cannot do this (EOPNOTSUPP) do not matter: only one
     * that is full does. */
    if (fallocate(fd, 0, 0, (off_t)bytes) != 0 &&
        (errno == ENOSPC || errno == EDQUOT)) {
        status = error_errno(err, errno, "%s", path);
    }
    (void)close(fd);
    return status;
}

/* Whether a line of /proc/self/maps is of the file, shared. */
static bool is_of(const char *line, const struct stat *file,
                  struct store_mapping *m)
{
    uint64_t begin;
    uint64_t end;
    char rights[8];
    unsigned major_no;
    unsigned minor_no;
    uint64_t inode;

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %x:%x %" SCNu64, &begin,
               &end, rights, &major_no, &minor_no, &inode) != 6) {
        return false;
    }
    m->begin = (uint8_t *)(uintptr_t)begin;
    m->length = (size_t)(end - begin);
    return rights[3] == 's' && inode == file->st_ino &&
           major_no == major(file->st_dev) && minor_no == minor(file->st_dev);
}

struct store_mapping store_file_mapping(int fd)
{
    struct store_mapping m = { 0 };
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512]; /* the rest of a longer path is no line of numbers */
    struct stat st;
    bool found = false;

    if (maps == NULL) {
        return m;
    }
    if (fstat(fd, &st) == 0) {
        while (!found && fgets(line, sizeof line, maps) != NULL) {
            found = is_of(line, &st, &m);
        }
    }
    (void)fclose(maps);
    return found ? m : (struct store_mapping){ 0 };
}

void store_file_relax(struct store_mapping m)
{
    if (m.begin != NULL) {
        (void)madvise(m.begin, m.length, MADV_DONTNEED);
    }
}
