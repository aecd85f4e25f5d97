/*
 * span_grid.h: which instants are live. Pure arithmetic.
 *
 * Time is cut into spans of length S by a grid through G = R - P, R being
 * the reference and P the period. N = ceil(P / S) spans are live: the window
 * [start, end), end = start + N * S, start = G at first. It moves only
 * forwards, and only because of a time at or behind its end: then end
 * becomes the first grid line above that time. Worked through, with P = 10,
 * S = 4 (so N = 3) and R = 10, that is G = 0:
 *
 *     time    start  end
 *             0      12
 *     10      0      12      live: in the window
 *     12      4      16      live: it moved the window
 *     3       4      16      expired
 *     40      32     44      live: it moved the window over several spans
 *
 * Where that places the expiry point is part of the state of a view
 * (struct df_clock): a restart never moves it back, and no clock is asked.
 */
#ifndef JOBS_DEDUP_SPAN_GRID_H
#define JOBS_DEDUP_SPAN_GRID_H

#include "deltafold/job.h"

struct span_grid {
    int64_t period;     /* P, 1 to INSTANT_MAX / 8 */
    int64_t span;       /* S, 1 to P */
    bool has_reference; /* R is given; else it is the first time */
    int64_t reference;  /* R */
    bool has_max_ahead; /* what is further ahead of the latest time than
                           max_ahead is not believed */
    int64_t max_ahead;
};

/* The clock as it is before the first time, where the reference is known. */
void span_grid_begin(const struct span_grid *g, struct df_clock *clock);

/* Moves the clock by a time and says what became of it. */
enum df_tick span_grid_tick(const struct span_grid *g, struct df_clock *clock,
                            int64_t time);

/* The same question without moving anything. */
enum df_tick span_grid_look(const struct span_grid *g,
                            const struct df_clock *clock, int64_t time);

/* The grid line at or below a time. */
int64_t span_grid_span_of(const struct span_grid *g,
                          const struct df_clock *clock, int64_t time);

#endif
