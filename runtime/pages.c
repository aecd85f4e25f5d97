#include "runtime/pages.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PAGES_ARE_COPIED 1
#endif
#endif

/* A hint: where it is not taken, all works as well, but slower. */
static void advise(void *pages, size_t bytes)
{
    if (bytes >= PAGES_HUGE) {
        (void)madvise(pages, bytes, MADV_HUGEPAGE);
    }
}

void *pages_map_ordinary(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return pages == MAP_FAILED ? NULL : pages;
}

/* From a multiple of PAGES_HUGE on; what is beside it is given back. */
static void *map_aligned(size_t bytes)
{
    uint8_t *pages = pages_map_ordinary(bytes + PAGES_HUGE);
    size_t before;

    if (pages == NULL) {
        return NULL;
    }
    before = -(uintptr_t)pages % PAGES_HUGE;
    if (before > 0) {
        (void)munmap(pages, before);
    }
    (void)munmap(pages + before + bytes, PAGES_HUGE - before);
    return pages + before;
}

void *pages_map(size_t bytes)
{
    void *pages =
        bytes < PAGES_HUGE ? pages_map_ordinary(bytes) : map_aligned(bytes);

    if (pages != NULL) {
        advise(pages, bytes);
    }
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

/* In place if it can be, else to where huge pages can lie. */
static void *grow_aligned(void *pages, size_t bytes, size_t new_bytes)
{
    bool is_aligned = (uintptr_t)pages % PAGES_HUGE == 0;
    void *to;

    if (is_aligned && mremap(pages, bytes, new_bytes, 0) == pages) {
        return pages;
    }
    to = map_aligned(new_bytes);
    return to == NULL ? MAP_FAILED
                      : mremap(pages, bytes, new_bytes,
                               MREMAP_MAYMOVE | MREMAP_FIXED, to);
}

void *pages_resize(void *pages, size_t bytes, size_t new_bytes)
{
    void *moved = new_bytes < PAGES_HUGE || new_bytes < bytes
                      ? mremap(pages, bytes, new_bytes, MREMAP_MAYMOVE)
                      : grow_aligned(pages, bytes, new_bytes);

    if (moved == MAP_FAILED) {
        return NULL;
    }
    advise(moved, new_bytes);
    return moved;
}

#endif

void pages_unmap(void *pages, size_t bytes)
{
    if (pages != NULL) {
        (void)munmap(pages, bytes);
    }
}
