#include "jobs/aggregate/frequent.h"

#include <stdlib.h>

void frequent_init(struct frequent *f, size_t limit)
{
    *f = (struct frequent){ .limit = limit };
}

void frequent_fini(struct frequent *f)
{
    for (size_t i = 0; i < f->room; i++) {
        buf_fini(&f->entries[i].code);
    }
    free(f->entries);
    *f = (struct frequent){ 0 };
}

void frequent_reset(struct frequent *f)
{
    f->count = 0;
    f->came = 0;
}

static bool is_worse(const struct frequent_entry *a,
                     const struct frequent_entry *b)
{
    return a->times != b->times ? a->times < b->times : a->order > b->order;
}

static void swap(struct frequent_entry *a, struct frequent_entry *b)
{
    struct frequent_entry t = *a;

    *a = *b;
    *b = t;
}

static void sift_up(struct frequent *f, size_t i)
{
    while (i > 0 && is_worse(&f->entries[i], &f->entries[(i - 1) / 2])) {
        swap(&f->entries[i], &f->entries[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

static void sift_down(struct frequent *f, size_t i)
{
    for (;;) {
        size_t worst = i;

        for (size_t child = 2 * i + 1; child <= 2 * i + 2; child++) {
            if (child < f->count &&
                is_worse(&f->entries[child], &f->entries[worst])) {
                worst = child;
            }
        }
        if (worst == i) {
            return;
        }
        swap(&f->entries[i], &f->entries[worst]);
        i = worst;
    }
}

static bool grow(struct frequent *f)
{
    size_t room = f->room == 0 ? 16 : 2 * f->room;
    struct frequent_entry *entries;

    if (f->count < f->room) {
        return true;
    }
    entries = realloc(f->entries, room * sizeof *entries);
    if (entries == NULL) {
        return false;
    }
    memset(entries + f->room, 0, (room - f->room) * sizeof *entries);
    f->entries = entries;
    f->room = room;
    return true;
}

bool frequent_offer(struct frequent *f, struct bytes code, int64_t times)
{
    bool is_full = f->count == f->limit;
    const struct frequent_entry one = { .times = times, .order = f->came++ };
    struct frequent_entry *e;

    if (is_full && !is_worse(&f->entries[0], &one)) {
        return true;
    }
    if (!is_full && !grow(f)) {
        return false;
    }
    e = &f->entries[is_full ? 0 : f->count];
    buf_reset(&e->code);
    if (code.len > 0 && !buf_append(&e->code, code.data, code.len)) {
        return false;
    }
    e->times = one.times;
    e->order = one.order;
    if (is_full) {
        sift_down(f, 0);
    } else {
        sift_up(f, f->count++);
    }
    return true;
}

static int best_first(const void *a, const void *b)
{
    return is_worse(a, b) ? 1 : -1;
}

void frequent_sort(struct frequent *f)
{
    if (f->count > 1) {
        qsort(f->entries, f->count, sizeof *f->entries, best_first);
    }
}
