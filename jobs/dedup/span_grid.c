#include "jobs/dedup/span_grid.h"

#include <assert.h>

/* N * S. */
static int64_t length_of(const struct span_grid *g)
{
    int64_t spans = g->period / g->span + (g->period % g->span != 0 ? 1 : 0);

    return spans * g->span;
}

static void set_reference(const struct span_grid *g, struct df_clock *clock,
                          int64_t reference)
{
    clock->is_set = true;
    clock->origin = reference - g->period;
    clock->start = clock->origin;
    clock->end = clock->start + length_of(g);
}

void span_grid_begin(const struct span_grid *g, struct df_clock *clock)
{
    if (!clock->is_set && g->has_reference) {
        set_reference(g, clock, g->reference);
    }
}

int64_t span_grid_span_of(const struct span_grid *g,
                          const struct df_clock *clock, int64_t time)
{
    int64_t above = (time - clock->origin) % g->span;

    return time - (above < 0 ? above + g->span : above);
}

enum df_tick span_grid_look(const struct span_grid *g,
                            const struct df_clock *clock, int64_t time)
{
    if (clock->is_set && time < clock->start) {
        return DF_TICK_EXPIRED;
    }
    if (g->has_max_ahead && clock->has_seen &&
        time - clock->latest > g->max_ahead) {
        return DF_TICK_FUTURE;
    }
    return DF_TICK_LIVE;
}

enum df_tick span_grid_tick(const struct span_grid *g, struct df_clock *clock,
                            int64_t time)
{
    enum df_tick tick = span_grid_look(g, clock, time);

    if (tick != DF_TICK_LIVE) {
        return tick;
    }
    if (!clock->is_set) {
        set_reference(g, clock, time);
    }
    if (time >= clock->end) {
        clock->end = span_grid_span_of(g, clock, time) + g->span;
        clock->start = clock->end - length_of(g);
    }
    if (!clock->has_seen || time > clock->latest) {
        clock->latest = time;
    }
    if (!clock->has_seen || time < clock->earliest) {
        clock->earliest = time;
    }
    clock->has_seen = true;
    return DF_TICK_LIVE;
}
