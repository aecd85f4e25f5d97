/*
 * outcomes.h: what became of each record of a batch, a byte each.
 *
 * A fold job needs them while a batch is under way: the pass over the times
 * says which records are live, resolving says what became of those, and the
 * outcome files are written by them. This and, where there are outcome files,
 * the bounds of records (input/bounds.h) are all that grows with the number of
 * records in memory: 20 MB each for twenty million.
 *
 *     outcomes_open(&o, units, err)
 *       outcomes_add(o, unit, n, err) ...         by the worker of the unit
 *       outcomes_at(o, unit, index)               any thread
 *       outcomes_set(o, unit, index, outcome)     by the one of the key
 *     outcomes_close(o)                           takes NULL
 */
#ifndef RUNTIME_OUTCOMES_H
#define RUNTIME_OUTCOMES_H

#include <signal.h>

#include "base/buf.h"
#include "base/error.h"
#include "deltafold/job.h"

struct outcomes {
    struct buf *units;
    size_t count;
};

enum df_status outcomes_open(struct outcomes **out, size_t units,
                             struct df_error *err) DF_MUST_CHECK;
void outcomes_close(struct outcomes *o);

/* n more records of the unit, DF_OUTCOME_PENDING. */
enum df_status outcomes_add(struct outcomes *o, size_t unit, size_t n,
                            struct df_error *err) DF_MUST_CHECK;

static inline unsigned outcomes_at(const struct outcomes *o, size_t unit,
                                   size_t index)
{
    return o->units[unit].data[index];
}

/* Sends for one that will be asked for. */
static inline void outcomes_prefetch(const struct outcomes *o, size_t unit,
                                     size_t index)
{
    __builtin_prefetch(&o->units[unit].data[index], 1);
}

static inline void outcomes_set(struct outcomes *o, size_t unit, size_t index,
                                unsigned outcome)
{
    o->units[unit].data[index] = (uint8_t)outcome;
}

#endif
