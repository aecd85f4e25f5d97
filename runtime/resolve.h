/*
 * resolve.h: what becomes of the records of a batch, key by key.
 *
 *     resolver_open(&r, &plan, combine, err);         per thread
 *       resolver_parts(r, from, to, err) ...          parts of the events
 *     resolver_close(r);                              takes NULL
 *
 * Of each key in the parts: its state in the view is looked up, moved by its
 * records in arrival order, and what it differs by afterwards goes to the
 * combine as rows, which is all that install wants to know. Outcomes are set
 * and counted on the way. Parts are independent; a thread takes as many
 * together as its memory holds.
 */
#ifndef RUNTIME_RESOLVE_H
#define RUNTIME_RESOLVE_H

#include "runtime/combine.h"
#include "runtime/events.h"
#include "runtime/fold_rows.h"
#include "runtime/states.h"
#include "runtime/timeline.h"
#include "state/snapshot.h"

struct resolve_plan {
    const struct fold_rows *rows; /* what rows look like */
    struct view *view;
    struct events *const *events; /* all workers' */
    unsigned event_workers;
    unsigned parts;                  /* of the events */
    const struct timeline *timeline; /* NULL: keys have no time */
    struct outcomes *outcomes;       /* NULL: counted only */
    struct df_clock before;          /* as the batch began */
    struct df_clock after;
    size_t memory; /* bytes for the keys of one thread */
    const char *spill_directory;
    const volatile sig_atomic_t *stop; /* NULL: none */
};

/* A deletion of what was never there. */
struct resolve_negative {
    bool found;
    uint32_t unit; /* the first in arrival order */
    uint32_t index;
    struct buf key; /* user's, as the job encodes it */
};

struct resolver;
enum df_status resolver_open(struct resolver **out,
                             const struct resolve_plan *plan,
                             struct combine *combine,
                             struct df_error *err) DF_MUST_CHECK;
void resolver_close(struct resolver *r);

/* from < to; parts of keys of one shard. */
enum df_status resolver_parts(struct resolver *r, unsigned from, unsigned to,
                              struct df_error *err) DF_MUST_CHECK;

/* By outcome, UNIQUE to RETRACTED. */
const uint64_t *resolver_counts(const struct resolver *r);
const struct resolve_negative *resolver_negative(const struct resolver *r);

/* For tests: how often a part was divided because its keys did not fit. */
uint64_t resolver_splits(const struct resolver *r);

#endif
