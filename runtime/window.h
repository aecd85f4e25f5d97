/*
 * window.h: which batches a view with a window holds.
 *
 * window=N slide=M         the last N batches, in natural order of their
 *                          names; a result every M batches
 * window=7d slide=1d interval=1d
 *                          batches are dated by their names
 * window=3 interval=1      batches are numbered by the ends of their names
 *
 * With an interval a batch has a position - the number or the time that its
 * name tells, divided by the interval - and the window is so many positions,
 * whether there are batches for them or not.
 */
#ifndef RUNTIME_WINDOW_H
#define RUNTIME_WINDOW_H

#include "jobs/registry.h"

/* Most batches or intervals of a window: a slide may merge twice as many runs
 * at once, about 1.4 KB each. */
enum { WINDOW_MAX = 4096 };

enum window_by { WINDOW_BATCHES, WINDOW_NUMBERS, WINDOW_TIMES };

struct window {
    uint64_t size; /* batches or intervals; 0: there is no window */
    uint64_t slide;
    enum window_by by;
    int64_t interval; /* numbers or seconds */
};

/* The window that a job's options ask for. DF_USAGE, naming the option. */
enum df_status window_of(struct window *w, const struct jobspec *job,
                         struct df_error *err) DF_MUST_CHECK;

/* The position of a batch, for windows by interval; false where its name
 * tells none. */
bool window_position(const struct window *w, struct bytes name,
                     int64_t *position);

/* How many batches seem to be missing between two names, the second after the
 * first: by their numbers, or, where `daily`, their days. 0 where their names
 * do not tell. */
uint64_t window_gap(struct bytes before, struct bytes name, bool daily);
/* Whether two names are of one day and the next. */
bool window_is_next_day(struct bytes before, struct bytes name);

#endif
