/*
 * The allocation countdown: malloc and its relatives, and mmap, fail when
 * the plan says so.
 *
 * Allocations by the dynamic loader and by the OpenMP runtime are let
 * through: both end the process when they find no memory, and no program
 * can do anything about that.
 */
#include "tests/faults/plan.h"

#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc's own names for its allocator, made for those who stand before it. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

/* Code ranges whose allocations never fail; set before main, then read. */
enum { SPARED_MAX = 16 };
static struct range {
    uintptr_t begin;
    uintptr_t end;
} spared[SPARED_MAX];
static size_t spared_count;

static bool must_not_fail(const char *library)
{
    return strstr(library, "/ld-linux") != NULL ||
           strstr(library, "/libgomp.so") != NULL ||
           strstr(library, "/libomp.so") != NULL;
}

static int spare(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    (void)ctx;
    if (!must_not_fail(info->dlpi_name)) {
        return 0;
    }
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0 &&
            spared_count < SPARED_MAX) {
            uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

            spared[spared_count++] =
                (struct range){ begin, begin + segment->p_memsz };
        }
    }
    return 0;
}

__attribute__((constructor)) static void memory_init(void)
{
    (void)dl_iterate_phdr(spare, NULL);
}

static bool fails(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;

    for (size_t i = 0; i < spared_count; i++) {
        if (at >= spared[i].begin && at < spared[i].end) {
            return false;
        }
    }
    if (plan_allocation_fails()) {
        errno = ENOMEM;
        return true;
    }
    return false;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t size)
{
    return fails(CALLER) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails(CALLER) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    return fails(CALLER) ? NULL : __libc_realloc(p, size);
}

void *memalign(size_t alignment, size_t size)
{
    return fails(CALLER) ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(CALLER) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size)
{
    void *memory;

    if (fails(CALLER)) {
        return ENOMEM;
    }
    memory = __libc_memalign(alignment, size);
    if (memory == NULL) {
        return ENOMEM;
    }
    *p = memory;
    return 0;
}

static void *map(const void *caller, void *address, size_t len, int protection,
                 int flags, int fd, off_t offset)
{
    if (fails(caller)) {
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, address, len, protection, flags, fd,
                           offset);
}

void *mmap(void *address, size_t len, int protection, int flags, int fd,
           off_t offset)
{
    return map(CALLER, address, len, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t len, int protection, int flags, int fd,
             off_t offset)
{
    return map(CALLER, address, len, protection, flags, fd, offset);
}
