#include "state/timings.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/hash.h"
#include "state/view_internal.h"

enum { CPU = 16, CHECKED = 24, MODE = 0666 };

static int open_file(const struct view *v, uint64_t generation, int flags)
{
    struct buf path = { 0 };
    struct df_error ignored;
    int fd = -1;

    if (view_file(v, generation, "timings", &path, &ignored) == DF_OK) {
        fd = open((const char *)path.data, flags | O_CLOEXEC, MODE);
    }
    buf_fini(&path);
    return fd;
}

static size_t slot_of(uint64_t seq)
{
    return (size_t)(seq % TIMINGS) * TIMINGS_SLOT;
}

void timings_note(const struct view *v, const struct ledger_entry *e)
{
    uint8_t slot[TIMINGS_SLOT];
    int fd = open_file(v, v->generation, O_WRONLY | O_CREAT);
    ssize_t n;

    if (fd < 0) {
        return;
    }
    store_be64(slot, e->seq);
    store_be64(slot + 8, e->install_us);
    store_be64(slot + CPU, e->install_cpu_us);
    store_be64(slot + CHECKED, hash64(bytes_of(slot, CHECKED)));
    n = pwrite(fd, slot, sizeof slot, (off_t)slot_of(e->seq));
    (void)n;
    (void)close(fd);
}

void timings_load(struct timings *t, const struct view *v)
{
    int fd = open_file(v, v->generation, O_RDONLY);
    ssize_t n;

    t->loaded = true;
    memset(t->slots, 0, sizeof t->slots);
    if (fd < 0) {
        return;
    }
    n = pread(fd, t->slots, sizeof t->slots, 0);
    (void)n; /* slots that were not read have no check */
    (void)close(fd);
}

void timings_copy(const struct view *v, uint64_t generation)
{
    struct timings t;
    int fd = open_file(v, generation, O_WRONLY | O_CREAT);
    ssize_t n;

    if (fd < 0) {
        return;
    }
    timings_load(&t, v);
    n = pwrite(fd, t.slots, sizeof t.slots, 0);
    (void)n;
    (void)close(fd);
}

void timings_apply(const struct timings *t, struct ledger_entry *e)
{
    const uint8_t *slot = t->slots + slot_of(e->seq);
    uint64_t us = load_be64(slot + 8);

    if (load_be64(slot) != e->seq || us < e->install_us ||
        load_be64(slot + CHECKED) != hash64(bytes_of(slot, CHECKED))) {
        return;
    }
    e->measured_us += us - e->install_us;
    e->install_us = us;
    e->install_cpu_us = load_be64(slot + CPU);
}
