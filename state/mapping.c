#include "state/mapping.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Whether a line of /proc/self/maps is of the file, shared. */
static bool is_of(const char *line, const struct stat *file,
                  struct mapping *m)
{
    uint64_t begin;
    uint64_t end;
    char rights[8];
    unsigned major_no;
    unsigned minor_no;
    uint64_t inode;

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %x:%x %" SCNu64,
               &begin, &end, rights, &major_no, &minor_no, &inode) != 6) {
        return false;
    }
    m->begin = (uint8_t *)(uintptr_t)begin;
    m->length = (size_t)(end - begin);
    return rights[3] == 's' && inode == file->st_ino &&
           major_no == major(file->st_dev) && minor_no == minor(file->st_dev);
}

struct mapping mapping_find(const char *path)
{
    struct mapping m = { 0 };
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512]; /* the rest of a longer path is no line of numbers */
    struct stat st;
    bool found = false;

    if (maps == NULL) {
        return m;
    }
    if (stat(path, &st) == 0) {
        while (!found && fgets(line, sizeof line, maps) != NULL) {
            found = is_of(line, &st, &m);
        }
    }
    (void)fclose(maps);
    return found ? m : (struct mapping){ 0 };
}

void mapping_relax(struct mapping m)
{
    if (m.begin != NULL) {
        (void)madvise(m.begin, m.length, MADV_DONTNEED);
    }
}
