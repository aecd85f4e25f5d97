/*
 * frequent.h: the n most frequent of values that come one by one, in a heap
 * whose root is the least of those kept. Of values as frequent as each other
 * the one that came first is kept and shown first.
 *
 *     frequent_init(&f, n);
 *     frequent_reset(&f);
 *       frequent_offer(&f, code, times) ...;    false without memory
 *     frequent_sort(&f);  f.entries[0 .. f.count - 1], the most frequent first
 *     frequent_fini(&f);                        safe on zeroed memory
 */
#ifndef JOBS_AGGREGATE_FREQUENT_H
#define JOBS_AGGREGATE_FREQUENT_H

#include "base/buf.h"

struct frequent_entry {
    struct buf code; /* kept for the next group, as is the list */
    int64_t times;
    uint64_t order; /* in which it came */
};

struct frequent {
    struct frequent_entry *entries;
    size_t count;
    size_t room;
    size_t limit;
    uint64_t came;
};

void frequent_init(struct frequent *f, size_t limit);
void frequent_fini(struct frequent *f);
void frequent_reset(struct frequent *f);
bool frequent_offer(struct frequent *f, struct bytes code, int64_t times);
void frequent_sort(struct frequent *f);

#endif
