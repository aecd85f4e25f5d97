#include "jobs/aggregate/frequent.h"

static bool is_worse(const void *one, const void *other)
{
    const struct frequent_entry *a = one;
    const struct frequent_entry *b = other;

    return a->times != b->times ? a->times < b->times : a->order > b->order;
}

void frequent_init(struct frequent *f, size_t limit)
{
    *f = (struct frequent){ .heap = { .size = sizeof(struct frequent_entry),
                                      .limit = limit,
                                      .is_worse = is_worse } };
}

void frequent_fini(struct frequent *f)
{
    for (size_t i = 0; i < f->heap.room; i++) {
        struct frequent_entry *e = heap_at(&f->heap, i);

        buf_fini(&e->code);
    }
    heap_fini(&f->heap);
}

void frequent_reset(struct frequent *f)
{
    heap_reset(&f->heap);
    f->came = 0;
}

bool frequent_offer(struct frequent *f, struct bytes code, int64_t times)
{
    const struct frequent_entry one = { .times = times, .order = f->came++ };
    struct frequent_entry *e;

    if (!heap_takes(&f->heap, &one)) {
        return true;
    }
    e = heap_slot(&f->heap);
    if (e == NULL) {
        return false;
    }
    buf_reset(&e->code);
    if (code.len > 0 && !buf_append(&e->code, code.data, code.len)) {
        return false;
    }
    e->times = one.times;
    e->order = one.order;
    heap_settle(&f->heap);
    return true;
}

void frequent_sort(struct frequent *f)
{
    heap_sort(&f->heap);
}
