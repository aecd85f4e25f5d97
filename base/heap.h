/*
 * heap.h: the best n of what comes one by one, in an array whose root is the
 * worst of those kept, where it can be replaced.
 *
 *     struct heap h = { .size = sizeof item, .limit = n, .is_worse = ... };
 *       if (heap_takes(&h, &item)) {          for each
 *           item *slot = heap_slot(&h);       NULL without memory
 *           ... what is to be in it ...
 *           heap_settle(&h);
 *       }
 *     heap_sort(&h);                          the best first; ends the above
 *     ... heap_at(&h, i), i < h.count ...
 *     heap_fini(&h)                           after what items own
 *
 * is_worse is a total order. A slot holds what was there before, the root or
 * what heap_reset left, zeros at first: what an item owns can be used again,
 * up to h.room items have something.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap {
    size_t size;  /* of an item, in bytes */
    size_t limit; /* n, at least 1 */
    bool (*is_worse)(const void *a, const void *b);
    uint8_t *items;
    size_t count;
    size_t room;
};

static inline void *heap_at(const struct heap *h, size_t i)
{
    return h->items + i * h->size;
}

static inline bool heap_is_full(const struct heap *h)
{
    return h->count == h->limit;
}

/* Whether an item is one of the best so far. */
static inline bool heap_takes(const struct heap *h, const void *item)
{
    return !heap_is_full(h) || h->is_worse(heap_at(h, 0), item);
}

void *heap_slot(struct heap *h);
void heap_settle(struct heap *h);
void heap_sort(struct heap *h);

static inline void heap_reset(struct heap *h)
{
    h->count = 0;
}

void heap_fini(struct heap *h);

#endif
