/*
 * timings.h: how long the last installs took, their commits included.
 *
 * A ledger entry is part of the transaction whose commit it cannot time, and
 * the commit is most of what an increment costs. So the whole time is noted
 * afterwards, beside the ledger, in a small file of the generation: for the
 * last TIMINGS entries a slot each, with a check, not synced. It is only
 * advice: what is lost or damaged is as if it had not been noted, and the
 * ledger's own numbers count.
 */
#ifndef STATE_TIMINGS_H
#define STATE_TIMINGS_H

#include "state/ledger.h"
#include "state/view.h"

enum { TIMINGS = 128, TIMINGS_SLOT = 32 };

struct timings {
    bool loaded;
    uint8_t slots[TIMINGS * TIMINGS_SLOT];
};

/* Failures are nobody's concern. */
void timings_note(const struct view *v, const struct ledger_entry *e);
void timings_load(struct timings *t, const struct view *v);
/* To the view's next generation. */
void timings_copy(const struct view *v, uint64_t generation);
/* Puts the whole time in place of what the entry says of itself. */
void timings_apply(const struct timings *t, struct ledger_entry *e);

#endif
