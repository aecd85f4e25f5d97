/*
 * frequent.h: the n most frequent of values that come one by one. Of values as
 * frequent as each other the one that came first is kept and shown first.
 *
 *     frequent_init(&f, n);
 *     frequent_reset(&f);
 *       frequent_offer(&f, code, times) ...;    false without memory
 *     frequent_sort(&f);
 *       frequent_at(&f, i) ...                  the most frequent first
 *     frequent_fini(&f);                        safe on zeroed memory
 */
#ifndef JOBS_AGGREGATE_FREQUENT_H
#define JOBS_AGGREGATE_FREQUENT_H

#include "base/buf.h"
#include "base/heap.h"

struct frequent_entry {
    struct buf code; /* kept for the next group, as is the list */
    int64_t times;
    uint64_t order; /* in which it came */
};

struct frequent {
    struct heap heap;
    uint64_t came;
};

void frequent_init(struct frequent *f, size_t limit);
void frequent_fini(struct frequent *f);
void frequent_reset(struct frequent *f);
bool frequent_offer(struct frequent *f, struct bytes code, int64_t times);
void frequent_sort(struct frequent *f);

static inline size_t frequent_count(const struct frequent *f)
{
    return f->heap.count;
}

static inline const struct frequent_entry *frequent_at(
    const struct frequent *f, size_t i)
{
    return heap_at(&f->heap, i);
}

#endif
