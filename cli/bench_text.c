#include "cli/bench_text.h"

#include <math.h>
#include <stdio.h>

/* Within this a delta is called by the size that was asked for. */
static const double close_enough = 0.05;

const char *bench_percent(char room[BENCH_TEXT], double percent)
{
    (void)snprintf(room, BENCH_TEXT, percent < 9.95 ? "%.2g %%" : "%.0f %%",
                   percent);
    return room;
}

const char *bench_size(char room[BENCH_TEXT], const struct crossover_size *s)
{
    if (fabs(s->percent - s->asked) > s->asked * close_enough) {
        return bench_percent(room, s->percent);
    }
    (void)snprintf(room, BENCH_TEXT, "%g %%", s->asked);
    return room;
}

const char *bench_factor(char room[BENCH_TEXT], double factor)
{
    (void)snprintf(room, BENCH_TEXT, factor < 9.95 ? "%.1f" : "%.0f", factor);
    return room;
}

/* The limits are human_duration's. */
const char *bench_range(char room[BENCH_TEXT], const struct spread *s)
{
    double ms = s->median / 1000;
    double unit = ms < 999.5 ? 1000 : 1000000;
    int digits = ms < 9.95    ? 1
                 : ms < 999.5 ? 0
                 : ms < 9950  ? 2
                 : ms < 99950 ? 1
                              : 0;

    (void)snprintf(room, BENCH_TEXT, "%.*f..%.*f%s", digits, s->low / unit,
                   digits, s->high / unit, ms < 99950 ? "" : " s");
    return room;
}
