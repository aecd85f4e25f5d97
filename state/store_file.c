#include "state/store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/*
 * LMDB's two roots, the first pages of its file: it takes the newer one and
 * believes every number in it, divides by some and maps as much as others say.
 * So they are looked at before; as LMDB 0.9 has them, on 64-bit machines. What
 * cannot be read, or has another version, is left to LMDB to refuse.
 */
enum {
    ROOT_MAGIC_AT = 16, /* 32 bits, as the next one and the page size */
    ROOT_VERSION_AT = 20,
    ROOT_MAP_SIZE_AT = 32,
    ROOT_PAGE_SIZE_AT = 40,
    ROOT_LAST_PAGE_AT = 136,
    ROOT_TXN_AT = 144,
    ROOT_END = 152,
    ROOT_VERSION = 1,
    PAGE_SIZE_MIN = 256,
    PAGE_SIZE_MAX = 65536,
    ROOT_TRIES = 20 /* a writer may be about to change them */
};
#define ROOT_MAGIC 0xBEEFC0DEu
#define MAP_SIZE_MAX ((uint64_t)1 << 47)

static uint32_t number32(const uint8_t *root, size_t at)
{
    uint32_t v;

    memcpy(&v, root + at, sizeof v);
    return v;
}

static uint64_t number64(const uint8_t *root, size_t at)
{
    uint64_t v;

    memcpy(&v, root + at, sizeof v);
    return v;
}

static bool has_page_size(const uint8_t *root)
{
    uint32_t size = number32(root, ROOT_PAGE_SIZE_AT);

    return size >= PAGE_SIZE_MIN && size <= PAGE_SIZE_MAX &&
           (size & (size - 1)) == 0;
}

static bool is_known(const uint8_t *root)
{
    return number32(root, ROOT_MAGIC_AT) == ROOT_MAGIC &&
           number32(root, ROOT_VERSION_AT) == ROOT_VERSION &&
           sizeof(size_t) == sizeof(uint64_t);
}

/* Whether the pages in use lie within the map. */
static bool has_sizes(const uint8_t *root)
{
    uint64_t map = number64(root, ROOT_MAP_SIZE_AT);

    return map < MAP_SIZE_MAX && number64(root, ROOT_LAST_PAGE_AT) <
                                     map / number32(root, ROOT_PAGE_SIZE_AT);
}

/* Transactions write to one and to the other in turn, the even ones to the
 * first. A new file has 0 in both. */
static bool are_in_turn(uint64_t even, uint64_t odd)
{
    return (even == 0 && odd == 0) ||
           (even % 2 == 0 && (odd == even + 1 || odd + 1 == even));
}

static bool are_roots(const uint8_t *first, const uint8_t *second)
{
    return number32(second, ROOT_PAGE_SIZE_AT) ==
               number32(first, ROOT_PAGE_SIZE_AT) &&
           has_sizes(first) && has_sizes(second) &&
           are_in_turn(number64(first, ROOT_TXN_AT),
                       number64(second, ROOT_TXN_AT));
}

static bool look_at_roots(int fd)
{
    uint8_t first[ROOT_END];
    uint8_t second[ROOT_END];
    off_t size;

    if (pread(fd, first, sizeof first, 0) != sizeof first) {
        return true;
    }
    if (!has_page_size(first)) {
        return false;
    }
    size = (off_t)number32(first, ROOT_PAGE_SIZE_AT);
    return pread(fd, second, sizeof second, size) != sizeof second ||
           !is_known(first) || !is_known(second) || are_roots(first, second);
}

static bool has_roots(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd < 0;

    for (int i = 0; !ok && i < ROOT_TRIES; i++) {
        ok = look_at_roots(fd);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return ok;
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
    if (!S_ISREG(st.st_mode) || st.st_size == 0 || !has_roots(path)) {
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
