/*
 * deferred.h: views with deferred batches at random, for test_defer and
 * test_inbox.
 *
 *     deferred_open(&s, shards, rows);
 *     deferred_add(&s, changes, &random);      by stored_apply, deferred
 *     stored_check(&s);
 *     deferred_fold_all(&s);
 *     stored_close(&s);
 */
#ifndef TESTS_DEFERRED_H
#define TESTS_DEFERRED_H

#include "state/compact.h"
#include "state/overlay.h"
#include "stored_view.h"

/* Rows by number; every 40th has a key beyond 495 bytes that it shares with
 * the others up to its end. */
void deferred_number(struct rows_source *run, uint64_t n, int64_t value);

/* Applies what is in s->run. */
void deferred_apply(struct stored *s, enum install_method method);

/* Rows 0 to rows - 1 into an empty view, folded; and a view of them. */
void deferred_fill(struct stored *s, unsigned rows);
void deferred_open(struct stored *s, unsigned shards, unsigned rows);

/* Changes n rows at random, takes some away, adds some: in s->run, and as a
 * batch that is deferred. */
void deferred_random(struct stored *s, unsigned n, uint64_t *random);
void deferred_add(struct stored *s, unsigned n, uint64_t *random);

struct view *deferred_view(struct stored *s, enum view_access access);

/* What lies over a shard's rows, with its inbox. */
struct overlay deferred_overlay(struct stored *s, unsigned shard);
uint64_t deferred_entries(struct stored *s, unsigned shard,
                          enum store_table table);

enum df_status deferred_compact(struct stored *s,
                                const struct compact_plan *plan,
                                struct compact_report *report);
/* Folds all, and sees that no run is left. */
struct compact_report deferred_fold_all(struct stored *s);

#endif
