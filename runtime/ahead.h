/*
 * ahead.h: the events of a part that wait for an outcome, a group at a time,
 * and the memory that the next group will touch sent for while the one at
 * hand is worked on.
 *
 *     ahead_open(&a, &plan, err)
 *       while (ahead_has_more(&a))
 *         ahead_next(&a, &group, err)    group->n may be 0
 *     ahead_close(&a)                    after a failed open, too
 *
 * Events are in arrival order; a group holds until the next call. Keys that
 * are read back from a file do not stay: then there is one event to a group,
 * and nothing ahead.
 */
#ifndef RUNTIME_AHEAD_H
#define RUNTIME_AHEAD_H

#include "runtime/events.h"
#include "runtime/outcomes.h"
#include "runtime/states.h"

/* Of a group: enough to hide a miss, few enough for the first cache. */
enum { AHEAD = 32 };

struct ahead_plan {
    struct events *const *workers; /* that the events are from */
    unsigned n;
    unsigned part;
    const struct outcomes *outcomes; /* NULL: all wait */
    const struct states *states;     /* what is sent for */
    size_t states_part;
    bool has_tags; /* states are found by the tags of events */
};

struct ahead_group {
    struct event events[AHEAD];
    size_t n;
};

struct ahead {
    struct ahead_plan plan;
    struct events_reader *reader;
    struct ahead_group groups[2];
    struct ahead_group *now;
    struct ahead_group *next;
    size_t most; /* of a group; 1: there is no next */
    bool at_end;
};

enum df_status ahead_open(struct ahead *a, const struct ahead_plan *plan,
                          struct df_error *err) DF_MUST_CHECK;
void ahead_close(struct ahead *a);

static inline bool ahead_has_more(const struct ahead *a)
{
    return !a->at_end || a->next->n > 0;
}

enum df_status ahead_next(struct ahead *a, const struct ahead_group **group,
                          struct df_error *err) DF_MUST_CHECK;

#endif
