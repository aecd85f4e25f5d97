/*
 * replay.h: the applied batches of a view once more, from nothing, into a
 * view of their own: how a fold job is verified, whose rows are no sums.
 *
 *     replay_open(&r, view, snapshot, job, dir, options, err);
 *     replay_run(r, shard) ...     rows of a shard as they should be
 *     replay_close(r);             takes NULL; removes the view
 *
 * Batches are taken from dir in the order of the ledger. DF_LEDGER where one
 * is not what was applied, DF_DIFFERS where its outcomes are not those in the
 * ledger.
 */
#ifndef RUNTIME_REPLAY_H
#define RUNTIME_REPLAY_H

#include "runtime/engine.h"

/* Where the batch of an entry lies among those under dir; DF_INPUT, naming
 * both, if nowhere. */
enum df_status replay_find(const struct batch_list *list, const char *dir,
                           const struct ledger_entry *e, const char **path,
                           struct df_error *err) DF_MUST_CHECK;

struct replay;
enum df_status replay_open(struct replay **out, struct view *view,
                           struct snapshot *snapshot,
                           const struct jobspec *job, const char *dir,
                           const struct engine_options *options,
                           struct df_error *err) DF_MUST_CHECK;
void replay_close(struct replay *r);

struct run_source *replay_run(const struct replay *r, unsigned shard);
uint64_t replay_records(const struct replay *r);

#endif
