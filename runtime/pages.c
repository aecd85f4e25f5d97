#include "runtime/pages.h"

#include <string.h>
#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PAGES_ARE_COPIED 1
#endif
#endif

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

#ifdef PAGES_ARE_COPIED

/* The thread sanitizer does not see mremap: it takes pages that have moved
 * to where another thread's were for pages that two threads share. */
void *pages_resize(void *pages, size_t bytes, size_t new_bytes)
{
    void *moved = pages_map(new_bytes);

    if (moved != NULL) {
        memcpy(moved, pages, bytes < new_bytes ? bytes : new_bytes);
        pages_unmap(pages, bytes);
    }
    return moved;
}

#else

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

#endif

void pages_unmap(void *pages, size_t bytes)
{
    if (pages != NULL) {
        (void)munmap(pages, bytes);
    }
}
