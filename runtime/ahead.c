#include "runtime/ahead.h"

/* Whether an event still waits for its outcome. */
static bool is_pending(const struct ahead *a, const struct event *event)
{
    return a->plan.outcomes == NULL || event->unit == EVENTS_UNIT_TOUCH ||
           outcomes_at(a->plan.outcomes, event->unit, event->index) ==
               DF_OUTCOME_PENDING;
}

static void prefetch_outcome(const struct ahead *a, const struct event *event)
{
    if (a->plan.outcomes != NULL && event->unit != EVENTS_UNIT_TOUCH) {
        outcomes_prefetch(a->plan.outcomes, event->unit, event->index);
    }
}

static enum df_status read_some(struct ahead *a, struct ahead_group *g,
                                struct df_error *err)
{
    enum df_status status = DF_OK;

    g->n = 0;
    while (status == DF_OK && !a->at_end && g->n < a->most) {
        struct event *event = &g->events[g->n];

        status = events_reader_next(a->reader, event, err);
        a->at_end = event->key.data == NULL;
        if (status == DF_OK && !a->at_end) {
            prefetch_outcome(a, event);
            g->n++;
        }
    }
    return status;
}

/* Leaves those that wait: of some, that may be none. */
static void choose_pending(const struct ahead *a, struct ahead_group *g)
{
    size_t pending = 0;

    for (size_t i = 0; i < g->n; i++) {
        if (is_pending(a, &g->events[i])) {
            g->events[pending++] = g->events[i];
        }
    }
    g->n = pending;
}

/* Slots first, which say where the records are. */
static void prefetch_states(const struct ahead *a, const struct ahead_group *g)
{
    const struct states *s = a->plan.states;

    for (size_t i = 0; i < g->n; i++) {
        states_prefetch_slot(s, a->plan.states_part, g->events[i].tag);
    }
    for (size_t i = 0; i < g->n; i++) {
        states_prefetch_record(s, a->plan.states_part, g->events[i].tag);
    }
}

static enum df_status fill(struct ahead *a, struct ahead_group *g,
                           struct df_error *err)
{
    enum df_status status = read_some(a, g, err);

    if (status == DF_OK) {
        choose_pending(a, g);
    }
    if (status == DF_OK && a->plan.has_tags) {
        prefetch_states(a, g);
    }
    return status;
}

enum df_status ahead_open(struct ahead *a, const struct ahead_plan *plan,
                          struct df_error *err)
{
    enum df_status status;

    a->plan = *plan;
    a->at_end = false;
    a->now = &a->groups[0];
    a->next = &a->groups[1];
    a->next->n = 0;
    status = events_reader_open(&a->reader, plan->workers, plan->n, plan->part,
                                err);
    if (status != DF_OK) {
        return status;
    }
    a->most = events_reader_keeps_keys(a->reader) ? AHEAD : 1;
    return a->most > 1 ? fill(a, a->next, err) : DF_OK;
}

void ahead_close(struct ahead *a)
{
    events_reader_close(a->reader);
}

enum df_status ahead_next(struct ahead *a, const struct ahead_group **group,
                          struct df_error *err)
{
    struct ahead_group *last = a->now;

    *group = a->now;
    if (a->most == 1) {
        return fill(a, a->now, err);
    }
    a->now = a->next;
    a->next = last;
    *group = a->now;
    return fill(a, a->next, err);
}
