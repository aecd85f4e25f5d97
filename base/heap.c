#include "base/heap.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 16 };

static void swap(const struct heap *h, size_t i, size_t k)
{
    uint8_t *a = heap_at(h, i);
    uint8_t *b = heap_at(h, k);
    uint8_t t[64];
    size_t n;

    for (size_t at = 0; at < h->size; at += n) {
        n = h->size - at < sizeof t ? h->size - at : sizeof t;
        memcpy(t, a + at, n);
        memcpy(a + at, b + at, n);
        memcpy(b + at, t, n);
    }
}

static bool is_worse(const struct heap *h, size_t i, size_t k)
{
    return h->is_worse(heap_at(h, i), heap_at(h, k));
}

static void sift_up(const struct heap *h, size_t i)
{
    while (i > 0 && is_worse(h, i, (i - 1) / 2)) {
        swap(h, i, (i - 1) / 2);
        i = (i - 1) / 2;
    }
}

/* Among the first `count`. */
static void sift_down(const struct heap *h, size_t i, size_t count)
{
    for (;;) {
        size_t worst = i;

        for (size_t child = 2 * i + 1; child <= 2 * i + 2; child++) {
            if (child < count && is_worse(h, child, worst)) {
                worst = child;
            }
        }
        if (worst == i) {
            return;
        }
        swap(h, i, worst);
        i = worst;
    }
}

static bool grow(struct heap *h)
{
    size_t room = h->room == 0 ? ROOM_FIRST : 2 * h->room;
    uint8_t *items;

    if (room > SIZE_MAX / h->size) {
        return false;
    }
    items = realloc(h->items, room * h->size);
    if (items == NULL) {
        return false;
    }
    memset(items + h->room * h->size, 0, (room - h->room) * h->size);
    h->items = items;
    h->room = room;
    return true;
}

void *heap_slot(struct heap *h)
{
    if (heap_is_full(h)) {
        return heap_at(h, 0);
    }
    return h->count < h->room || grow(h) ? heap_at(h, h->count) : NULL;
}

void heap_settle(struct heap *h)
{
    if (heap_is_full(h)) {
        sift_down(h, 0, h->count);
    } else {
        sift_up(h, h->count++);
    }
}

/* The worst goes to the end, again and again. */
void heap_sort(struct heap *h)
{
    for (size_t n = h->count; n > 1; n--) {
        swap(h, 0, n - 1);
        sift_down(h, 0, n - 1);
    }
}

void heap_fini(struct heap *h)
{
    free(h->items);
    h->items = NULL;
    h->count = 0;
    h->room = 0;
}
