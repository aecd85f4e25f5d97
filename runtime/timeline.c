#include "runtime/timeline.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/spill.h"

enum {
    BUFFER = 64 * 1024, /* times that a worker holds: 512 KiB */
    BUFFER_FIRST = 256  /* at first */
};

/* The times of all units of one worker, one after the other. */
struct lane {
    int64_t *times; /* those that are not in the file */
    size_t count;
    size_t room;
    uint64_t written; /* times in the file */
    uint64_t unit_begin;
    int fd;
};

/* Where a unit's times lie. */
struct unit_times {
    unsigned lane;
    bool is_deleted;
    uint64_t begin;
    uint64_t count;
    size_t mark; /* the first of its steps */
};

struct timeline {
    struct timeline_plan plan;
    struct lane *lanes;
    struct unit_times *units;
    struct df_clock *marks; /* before each step, and at the end */
    size_t mark_count;
};

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
    t->lanes = calloc(plan->workers, sizeof *t->lanes);
    t->units = calloc(plan->units + 1, sizeof *t->units);
    for (unsigned i = 0; t->lanes != NULL && i < plan->workers; i++) {
        t->lanes[i].fd = -1;
    }
    if (t->lanes == NULL || t->units == NULL) {
        timeline_close(t);
        return error_no_memory(err);
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
        free(t->lanes[i].times);
        if (t->lanes[i].fd >= 0) {
            (void)close(t->lanes[i].fd);
        }
    }
    free(t->marks);
    free(t->units);
    free(t->lanes);
    free(t);
}

/* ---- adding ---- */

static enum df_status write_times(struct timeline *t, struct lane *l,
                                  struct df_error *err)
{
    const char *from = (const char *)l->times;
    size_t size = l->count * sizeof *l->times;
    size_t done = 0;
    enum df_status status = DF_OK;

    if (l->fd < 0) {
        status = spill_file(&l->fd, t->plan.spill_directory, err);
    }
    while (status == DF_OK && done < size) {
        ssize_t n = pwrite(l->fd, from + done, size - done,
                           (off_t)(l->written * sizeof *l->times + done));

        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            status = error_errno(err, n < 0 ? errno : EIO, "%s: writing times",
                                 t->plan.spill_directory);
        }
    }
    l->written += l->count;
    l->count = 0;
    return status;
}

static enum df_status make_room(struct timeline *t, struct lane *l,
                                struct df_error *err)
{
    size_t room = l->room == 0 ? BUFFER_FIRST : 2 * l->room;
    int64_t *times;

    if (l->room == BUFFER) {
        return write_times(t, l, err);
    }
    times = realloc(l->times, room * sizeof *times);
    if (times == NULL) {
        return error_no_memory(err);
    }
    l->times = times;
    l->room = room;
    return DF_OK;
}

enum df_status timeline_add(struct timeline *t, unsigned worker, int64_t time,
                            struct df_error *err)
{
    struct lane *l = &t->lanes[worker];

    if (l->count == l->room) {
        enum df_status status = make_room(t, l, err);

        if (status != DF_OK) {
            return status;
        }
    }
    l->times[l->count++] = time;
    return DF_OK;
}

void timeline_end_unit(struct timeline *t, unsigned worker, size_t unit,
                       bool is_deleted)
{
    struct lane *l = &t->lanes[worker];
    uint64_t end = l->written + l->count;

    t->units[unit] = (struct unit_times){
        .lane = worker,
        .is_deleted = is_deleted,
        .begin = l->unit_begin,
        .count = end - l->unit_begin,
    };
    l->unit_begin = end;
}

/* ---- reading ---- */

/* Up to TIMELINE_STEP times of a unit, from number `from` on. */
static enum df_status read_step(const struct timeline *t,
                                const struct unit_times *u, uint64_t from,
                                size_t n, int64_t *times, struct df_error *err)
{
    const struct lane *l = &t->lanes[u->lane];
    uint64_t at = u->begin + from;
    uint64_t in_file = at < l->written ? l->written - at : 0;
    size_t size = (size_t)(in_file < n ? in_file : n) * sizeof *times;
    size_t done = 0;

    while (done < size) {
        ssize_t got = pread(l->fd, (char *)times + done, size - done,
                            (off_t)(at * sizeof *times + done));

        if (got > 0) {
            done += (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            return error_errno(err, got < 0 ? errno : EIO, "%s: reading times",
                               t->plan.spill_directory);
        }
    }
    done /= sizeof *times;
    if (done < n) {
        memcpy(times + done, l->times + (at + done - l->written),
               (n - done) * sizeof *times);
    }
    return DF_OK;
}

/* ---- settling ---- */

static size_t steps_of(uint64_t count)
{
    return (size_t)((count + TIMELINE_STEP - 1) / TIMELINE_STEP);
}

static enum df_status make_marks(struct timeline *t, struct df_error *err)
{
    t->mark_count = 0;
    for (size_t i = 0; i < t->plan.units; i++) {
        t->units[i].mark = t->mark_count;
        t->mark_count += steps_of(t->units[i].count);
    }
    t->marks = calloc(t->mark_count + 1, sizeof *t->marks);
    return t->marks != NULL ? DF_OK : error_no_memory(err);
}

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

static enum df_status settle_unit(struct timeline *t, size_t unit,
                                  struct df_clock *clock,
                                  struct outcomes *outcomes, uint64_t *counts,
                                  struct df_error *err)
{
    const struct unit_times *u = &t->units[unit];
    int64_t times[TIMELINE_STEP];

    for (uint64_t from = 0; from < u->count; from += TIMELINE_STEP) {
        uint64_t left = u->count - from;
        size_t n = left < TIMELINE_STEP ? (size_t)left : TIMELINE_STEP;
        enum df_status status = read_step(t, u, from, n, times, err);

        if (status == DF_OK && t->plan.stop != NULL && *t->plan.stop != 0) {
            status = error_set(err, DF_INTERRUPTED, "interrupted");
        }
        if (status != DF_OK) {
            return status;
        }
        t->marks[u->mark + from / TIMELINE_STEP] = *clock;
        for (size_t i = 0; i < n; i++) {
            unsigned outcome = DF_OUTCOME_PENDING;

            if (times[i] != TIMELINE_NONE) {
                outcome = judge(t, clock, u->is_deleted, times[i]);
            }
            if (outcome != DF_OUTCOME_PENDING) {
                outcomes_set(outcomes, unit, (size_t)from + i, outcome);
                counts[outcome]++;
            }
        }
    }
    return DF_OK;
}

enum df_status timeline_settle(struct timeline *t, struct df_clock *clock,
                               struct outcomes *outcomes, uint64_t *counts,
                               struct df_error *err)
{
    enum df_status status = make_marks(t, err);

    if (status == DF_OK) {
        t->plan.fold->begin(t->plan.config, clock);
    }
    for (size_t i = 0; status == DF_OK && i < t->plan.units; i++) {
        status = settle_unit(t, i, clock, outcomes, counts, err);
    }
    if (status == DF_OK) {
        t->marks[t->mark_count] = *clock;
    }
    return status;
}

/* ---- asking ---- */

/* Goes through a step again. */
static enum df_status replay(const struct timeline *t,
                             struct timeline_look *look,
                             const struct unit_times *u, uint64_t from,
                             size_t mark, struct df_error *err)
{
    uint64_t left = u->count - from;
    size_t n = left < TIMELINE_STEP ? (size_t)left : TIMELINE_STEP;
    struct df_clock clock = t->marks[mark];
    int64_t times[TIMELINE_STEP] = { 0 };
    enum df_status status = read_step(t, u, from, n, times, err);

    for (size_t i = 0; status == DF_OK && i < n; i++) {
        if (times[i] != TIMELINE_NONE) {
            (void)judge(t, &clock, u->is_deleted, times[i]);
        }
        look->starts[i] = clock.start;
    }
    look->mark = mark + 1;
    return status;
}

enum df_status timeline_start(const struct timeline *t,
                              struct timeline_look *look, uint32_t unit,
                              uint32_t index, int64_t *start,
                              struct df_error *err)
{
    const struct unit_times *u = &t->units[unit];
    size_t step = index / TIMELINE_STEP;
    size_t mark = u->mark + step;
    enum df_status status = DF_OK;

    *start = t->marks[mark].start;
    if (t->marks[mark].is_set && *start == t->marks[mark + 1].start) {
        return DF_OK;
    }
    if (look->mark != mark + 1) {
        status = replay(t, look, u, (uint64_t)step * TIMELINE_STEP, mark, err);
    }
    *start = look->starts[index % TIMELINE_STEP];
    return status;
}
