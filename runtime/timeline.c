#include "runtime/timeline.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "runtime/spill.h"

enum {
    BUFFER = 512 * 1024,      /* bytes of times that a worker holds */
    WORTH_A_FILE = 64 * 1024, /* at the end of a unit */
    CACHE_LINE = 64
};

/* Some times of a unit, one behind the other in its lane. */
struct step {
    uint64_t at;   /* bytes of the lane before it */
    int64_t base;  /* the smallest */
    unsigned size; /* bytes of each: 2 or 4 above base, or 8 as they are */
    struct df_clock before;
};

struct unit_times {
    const struct lane *lane; /* NULL: no records, or not ended */
    bool is_deleted;
    bool is_in_file; /* all of it */
    uint64_t count;
    struct step *steps;
    size_t step_count;
    size_t step_room;
    struct df_clock after;
};

/* The times of all units of one worker, one after the other. In cache lines of
 * its own: neighbours write to theirs with every record, too. */
struct lane {
    _Alignas(CACHE_LINE) int64_t times[TIMELINE_STEP]; /* of the next step */
    size_t count;                                      /* of those */
    uint64_t in_steps; /* times of the unit that are packed */
    struct buf packed; /* what is not in the file */
    uint64_t written;  /* bytes in the file */
    int fd;
};

struct timeline {
    struct timeline_plan plan;
    struct lane *lanes;
    struct unit_times *units;

    pthread_mutex_t lock;
    bool is_settling; /* somebody is; the next three are theirs */
    size_t next;      /* unit to settle */
    struct df_clock clock;
    uint64_t counts[DF_COUNTERS_MAX + DF_OUTCOME_REJECTED];
};

static enum df_status allocate(struct timeline *t, struct df_error *err)
{
    const struct timeline_plan *plan = &t->plan;

    t->units = calloc(plan->units + 1, sizeof *t->units);
    t->lanes = aligned_alloc(CACHE_LINE, plan->workers * sizeof(struct lane));
    for (unsigned i = 0; t->lanes != NULL && i < plan->workers; i++) {
        t->lanes[i] = (struct lane){ .fd = -1 };
    }
    return t->lanes == NULL || t->units == NULL ? error_no_memory(err) : DF_OK;
}

enum df_status timeline_open(struct timeline **out,
                             const struct timeline_plan *plan,
                             struct df_error *err)
{
    struct timeline *t = calloc(1, sizeof *t);

    *out = NULL;
    if (t == NULL) {
        return error_no_memory(err);
    }
    t->plan = *plan;
    t->clock = plan->clock;
    plan->fold->begin(plan->config, &t->clock);
    (void)pthread_mutex_init(&t->lock, NULL);
    if (allocate(t, err) != DF_OK) {
        timeline_close(t);
        return DF_SYSTEM;
    }
    *out = t;
    return DF_OK;
}

void timeline_close(struct timeline *t)
{
    if (t == NULL) {
        return;
    }
    for (unsigned i = 0; t->lanes != NULL && i < t->plan.workers; i++) {
        buf_fini(&t->lanes[i].packed);
        if (t->lanes[i].fd >= 0) {
            (void)close(t->lanes[i].fd);
        }
    }
    for (size_t i = 0; t->units != NULL && i < t->plan.units; i++) {
        free(t->units[i].steps);
    }
    (void)pthread_mutex_destroy(&t->lock);
    free(t->units);
    free(t->lanes);
    free(t);
}

/* ---- packing ---- */

static void pack_16(const int64_t *times, size_t n, int64_t base, void *out)
{
    uint16_t *to = out;

    for (size_t i = 0; i < n; i++) {
        to[i] = times[i] == TIMELINE_NONE
                    ? UINT16_MAX
                    : (uint16_t)((uint64_t)times[i] - (uint64_t)base);
    }
}

static void pack_32(const int64_t *times, size_t n, int64_t base, void *out)
{
    uint32_t *to = out;

    for (size_t i = 0; i < n; i++) {
        to[i] = times[i] == TIMELINE_NONE
                    ? UINT32_MAX
                    : (uint32_t)((uint64_t)times[i] - (uint64_t)base);
    }
}

static void unpack_16(const uint16_t *from, size_t n, int64_t base,
                      int64_t *times)
{
    for (size_t i = 0; i < n; i++) {
        times[i] = from[i] == UINT16_MAX ? TIMELINE_NONE : base + from[i];
    }
}

static void unpack_32(const uint32_t *from, size_t n, int64_t base,
                      int64_t *times)
{
    for (size_t i = 0; i < n; i++) {
        times[i] =
            from[i] == UINT32_MAX ? TIMELINE_NONE : base + (int64_t)from[i];
    }
}

/* How the times of a step are packed. */
static void measure(const int64_t *times, size_t n, struct step *step)
{
    int64_t low = INT64_MAX;
    int64_t high = INT64_MIN;
    uint64_t range;

    for (size_t i = 0; i < n; i++) {
        high = times[i] > high ? times[i] : high;
        if (times[i] != TIMELINE_NONE && times[i] < low) {
            low = times[i];
        }
    }
    range = high < low ? 0 : (uint64_t)high - (uint64_t)low;
    step->base = low;
    step->size = range < UINT16_MAX ? 2 : range < UINT32_MAX ? 4 : 8;
}

/* ---- adding ---- */

static enum df_status write_times(struct timeline *t, struct lane *l,
                                  struct df_error *err)
{
    size_t done = 0;
    enum df_status status = DF_OK;

    if (l->fd < 0) {
        status = spill_file(&l->fd, t->plan.spill_directory, err);
    }
    while (status == DF_OK && done < l->packed.len) {
        ssize_t n = pwrite(l->fd, l->packed.data + done, l->packed.len - done,
                           (off_t)(l->written + done));

        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            status = error_errno(err, n < 0 ? errno : EIO, "%s: writing times",
                                 t->plan.spill_directory);
        }
    }
    l->written += l->packed.len;
    buf_reset(&l->packed);
    return status;
}

static struct step *add_step(struct unit_times *u)
{
    size_t room = u->step_room == 0 ? 4 : 2 * u->step_room;
    struct step *steps;

    if (u->step_count == u->step_room) {
        steps = realloc(u->steps, room * sizeof *steps);
        if (steps == NULL) {
            return NULL;
        }
        u->steps = steps;
        u->step_room = room;
    }
    return &u->steps[u->step_count++];
}

static enum df_status end_step(struct timeline *t, struct lane *l,
                               struct unit_times *u, struct df_error *err)
{
    struct step *step = l->count > 0 ? add_step(u) : NULL;
    size_t n = l->count;
    uint8_t *to;

    if (n == 0) {
        return DF_OK;
    }
    if (step == NULL || !buf_reserve(&l->packed, n * sizeof *l->times)) {
        return error_no_memory(err);
    }
    step->at = l->written + l->packed.len;
    measure(l->times, n, step);
    to = l->packed.data + l->packed.len;
    if (step->size == 2) {
        pack_16(l->times, n, step->base, to);
    } else if (step->size == 4) {
        pack_32(l->times, n, step->base, to);
    } else {
        memcpy(to, l->times, n * sizeof *l->times);
    }
    /* In whole words, so that the next lies as it must. */
    l->packed.len += (n * step->size + 7) & ~(size_t)7;
    l->in_steps += n;
    l->count = 0;
    return l->packed.len >= BUFFER ? write_times(t, l, err) : DF_OK;
}

enum df_status timeline_add(struct timeline *t, unsigned worker, size_t unit,
                            int64_t time, struct df_error *err)
{
    struct lane *l = &t->lanes[worker];

    l->times[l->count++] = time;
    return l->count < TIMELINE_STEP ? DF_OK
                                    : end_step(t, l, &t->units[unit], err);
}

/* ---- reading ---- */

static enum df_status read_file(const struct timeline *t, const struct lane *l,
                                uint64_t at, size_t size, uint8_t *to,
                                struct df_error *err)
{
    size_t done = 0;

    while (done < size) {
        ssize_t got = pread(l->fd, to + done, size - done, (off_t)(at + done));

        if (got > 0) {
            done += (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            return error_errno(err, got < 0 ? errno : EIO, "%s: reading times",
                               t->plan.spill_directory);
        }
    }
    return DF_OK;
}

static size_t times_in(const struct unit_times *u, size_t step)
{
    uint64_t left = u->count - (uint64_t)step * TIMELINE_STEP;

    return left < TIMELINE_STEP ? (size_t)left : TIMELINE_STEP;
}

/* The times of a step; it is in the file or in memory. */
static enum df_status read_step(const struct timeline *t,
                                const struct unit_times *u, size_t number,
                                int64_t *times, struct df_error *err)
{
    const struct lane *l = u->lane;
    const struct step *step = &u->steps[number];
    size_t n = times_in(u, number);
    uint64_t room[TIMELINE_STEP] = { 0 };
    const void *packed = room;
    enum df_status status = DF_OK;

    if (u->is_in_file || step->at < l->written) {
        status =
            read_file(t, l, step->at, n * step->size, (uint8_t *)room, err);
    } else {
        packed = l->packed.data + (step->at - l->written);
    }
    if (status != DF_OK) {
        return status;
    }
    if (step->size == 2) {
        unpack_16(packed, n, step->base, times);
    } else if (step->size == 4) {
        unpack_32(packed, n, step->base, times);
    } else {
        memcpy(times, packed, n * sizeof *times);
    }
    return DF_OK;
}

/* ---- settling ---- */

/* What becomes of a record by its time alone. */
static unsigned judge(const struct timeline *t, struct df_clock *clock,
                      bool is_deleted, int64_t time)
{
    const struct df_fold *f = t->plan.fold;
    enum df_tick tick = is_deleted ? f->look(t->plan.config, clock, time)
                                   : f->tick(t->plan.config, clock, time);

    switch (tick) {
    case DF_TICK_EXPIRED:
        return DF_OUTCOME_EXPIRED;
    case DF_TICK_FUTURE:
        return DF_OUTCOME_REJECTED + f->future;
    case DF_TICK_LIVE:
        break;
    }
    return DF_OUTCOME_PENDING;
}

static void settle_step(struct timeline *t, size_t unit, size_t number,
                        const int64_t *times)
{
    struct unit_times *u = &t->units[unit];
    size_t n = times_in(u, number);

    u->steps[number].before = t->clock;
    for (size_t i = 0; i < n; i++) {
        unsigned outcome = DF_OUTCOME_PENDING;

        if (times[i] != TIMELINE_NONE) {
            outcome = judge(t, &t->clock, u->is_deleted, times[i]);
        }
        if (outcome != DF_OUTCOME_PENDING) {
            outcomes_set(t->plan.outcomes, unit, number * TIMELINE_STEP + i,
                         outcome);
            t->counts[outcome]++;
        }
    }
}

static enum df_status settle_unit(struct timeline *t, size_t unit,
                                  struct df_error *err)
{
    struct unit_times *u = &t->units[unit];
    int64_t times[TIMELINE_STEP];
    enum df_status status = DF_OK;

    for (size_t i = 0; status == DF_OK && i < u->step_count; i++) {
        status = read_step(t, u, i, times, err);
        if (status == DF_OK && t->plan.stop != NULL && *t->plan.stop != 0) {
            status = error_set(err, DF_INTERRUPTED, "interrupted");
        }
        if (status == DF_OK) {
            settle_step(t, unit, i, times);
        }
    }
    u->after = t->clock;
    return status;
}

/* Goes on from where the last one stopped, unless somebody is at it. */
static enum df_status settle_some(struct timeline *t, struct df_error *err)
{
    enum df_status status = DF_OK;

    (void)pthread_mutex_lock(&t->lock);
    while (status == DF_OK && !t->is_settling && t->next < t->plan.units &&
           t->units[t->next].is_in_file) {
        t->is_settling = true;
        (void)pthread_mutex_unlock(&t->lock);
        status = settle_unit(t, t->next, err);
        (void)pthread_mutex_lock(&t->lock);
        /* After a failure nobody goes on. */
        t->is_settling = status != DF_OK;
        t->next++;
    }
    (void)pthread_mutex_unlock(&t->lock);
    return status;
}

enum df_status timeline_end_unit(struct timeline *t, unsigned worker,
                                 size_t unit, bool is_deleted,
                                 struct df_error *err)
{
    struct unit_times *u = &t->units[unit];
    struct lane *l = &t->lanes[worker];
    enum df_status status = end_step(t, l, u, err);

    if (status == DF_OK && (l->fd >= 0 || l->packed.len >= WORTH_A_FILE)) {
        status = write_times(t, l, err);
    }
    if (status != DF_OK) {
        return status;
    }
    (void)pthread_mutex_lock(&t->lock);
    u->lane = l;
    u->is_deleted = is_deleted;
    u->count = l->in_steps;
    u->is_in_file = l->fd >= 0;
    (void)pthread_mutex_unlock(&t->lock);
    l->in_steps = 0;
    return settle_some(t, err);
}

enum df_status timeline_settle(struct timeline *t, struct df_clock *clock,
                               uint64_t *counts, struct df_error *err)
{
    enum df_status status = DF_OK;

    assert(!t->is_settling);
    for (; status == DF_OK && t->next < t->plan.units; t->next++) {
        status = settle_unit(t, t->next, err);
    }
    *clock = t->clock;
    for (size_t i = 0; i < sizeof t->counts / sizeof t->counts[0]; i++) {
        counts[i] += t->counts[i];
    }
    return status;
}

/* ---- asking ---- */

/* Goes through a step again. */
static enum df_status replay(const struct timeline *t,
                             struct timeline_look *look,
                             const struct unit_times *u, size_t number,
                             struct df_error *err)
{
    size_t n = times_in(u, number);
    struct df_clock clock = u->steps[number].before;
    int64_t times[TIMELINE_STEP] = { 0 };
    enum df_status status = read_step(t, u, number, times, err);

    for (size_t i = 0; status == DF_OK && i < n; i++) {
        if (times[i] != TIMELINE_NONE) {
            (void)judge(t, &clock, u->is_deleted, times[i]);
        }
        look->starts[i] = clock.start;
    }
    look->step = &u->steps[number];
    return status;
}

enum df_status timeline_start(const struct timeline *t,
                              struct timeline_look *look, uint32_t unit,
                              uint32_t index, int64_t *start,
                              struct df_error *err)
{
    const struct unit_times *u = &t->units[unit];
    size_t number = index / TIMELINE_STEP;
    const struct step *step = &u->steps[number];
    const struct df_clock *after =
        number + 1 < u->step_count ? &step[1].before : &u->after;
    enum df_status status = DF_OK;

    *start = step->before.start;
    if (step->before.is_set && *start == after->start) {
        return DF_OK;
    }
    if (look->step != step) {
        status = replay(t, look, u, number, err);
    }
    *start = look->starts[index % TIMELINE_STEP];
    return status;
}
