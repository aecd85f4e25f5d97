/*
 * fold_emit.h: what the keys of a group differ by, as sorted rows.
 *
 * A key that has changed is a row, and where keys expire a second row finds
 * it by its span (fold_rows.h). Keys are sorted already, so rows by span need
 * no comparison of keys: dealt out by span, stably, they are in order. Keys
 * of one shard, three spans:
 *
 *     keys       a:20  b:10  c:20  d:30
 *     by span    10 b | 20 a | 20 c | 30 d
 *
 * Both kinds go to the combine as one sorted spill per shard of the keys: all
 * rows of the first kind come before those of the second.
 */
#ifndef RUNTIME_FOLD_EMIT_H
#define RUNTIME_FOLD_EMIT_H

#include "runtime/combine.h"
#include "runtime/fold_rows.h"
#include "runtime/states.h"

struct fold_emit_plan {
    const struct fold_rows *rows;
    const struct df_clock *clock; /* as it is after the batch */
    struct states *states;
    unsigned shards;
    struct combine *combine;
};

/* entries and begin are states_sort's, and the room behind entries. Keys that
 * have expired by the clock are forgotten first. */
enum df_status fold_emit(const struct fold_emit_plan *plan,
                         struct sort_entry *entries, const size_t *begin,
                         struct df_error *err) DF_MUST_CHECK;

#endif
