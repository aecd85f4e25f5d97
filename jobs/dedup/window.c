#include "jobs/dedup/window.h"

#include <assert.h>

int64_t window_length(const struct window *w)
{
    int64_t spans = w->period / w->span + (w->period % w->span != 0 ? 1 : 0);

    return spans * w->span;
}

static void set_reference(const struct window *w, struct df_clock *clock,
                          int64_t reference)
{
    clock->is_set = true;
    clock->origin = reference - w->period;
    clock->start = clock->origin;
    clock->end = clock->start + window_length(w);
}

void window_begin(const struct window *w, struct df_clock *clock)
{
    if (!clock->is_set && w->has_reference) {
        set_reference(w, clock, w->reference);
    }
}

int64_t window_span_of(const struct window *w, const struct df_clock *clock,
                       int64_t time)
{
    int64_t above = (time - clock->origin) % w->span;

    return time - (above < 0 ? above + w->span : above);
}

enum df_tick window_look(const struct window *w, const struct df_clock *clock,
                         int64_t time)
{
    if (clock->is_set && time < clock->start) {
        return DF_TICK_EXPIRED;
    }
    if (w->has_max_ahead && clock->has_seen &&
        time - clock->latest > w->max_ahead) {
        return DF_TICK_FUTURE;
    }
    return DF_TICK_LIVE;
}

enum df_tick window_tick(const struct window *w, struct df_clock *clock,
                         int64_t time)
{
    enum df_tick tick = window_look(w, clock, time);

    if (tick != DF_TICK_LIVE) {
        return tick;
    }
    if (!clock->is_set) {
        set_reference(w, clock, time);
    }
    if (time >= clock->end) {
        clock->end = window_span_of(w, clock, time) + w->span;
        clock->start = clock->end - window_length(w);
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
