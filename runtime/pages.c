#include "runtime/pages.h"

#include <sys/mman.h>

/* From here on huge pages are asked for: a table of millions of slots else
 * misses the address cache at every look-up. Below, their size would round a
 * small budget up by too much. */
static const size_t huge_from = (size_t)8 << 20;

/* A hint: where it is not taken, all works as well, but slower. */
static void advise(void *pages, size_t bytes)
{
    if (bytes >= huge_from) {
        (void)madvise(pages, bytes, MADV_HUGEPAGE);
    }
}

void *pages_map(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED) {
        return NULL;
    }
    advise(pages, bytes);
    return pages;
}

void *pages_resize(void *pages, size_t bytes, size_t new_bytes)
{
    void *moved = mremap(pages, bytes, new_bytes, MREMAP_MAYMOVE);

    if (moved == MAP_FAILED) {
        return NULL;
    }
    if (new_bytes > bytes) {
        advise(moved, new_bytes);
    }
    return moved;
}

void pages_unmap(void *pages, size_t bytes)
{
    if (pages != NULL) {
        (void)munmap(pages, bytes);
    }
}
