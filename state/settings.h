/*
 * settings.h: what is said of a view beside its definition. It makes no
 * difference to the rows, may be changed at any time, and outlives a rebuild.
 *
 *   SETTING_KEEP  how many entries' runs are kept (history.h), 64 bits
 *   SETTING_BASE  the directory of the documents that survive the last batch,
 *                 absolute
 */
#ifndef STATE_SETTINGS_H
#define STATE_SETTINGS_H

#include "state/snapshot.h"
#include "state/store.h"

#define SETTING_KEEP "keep"
#define SETTING_BASE "base"

/* Empty where nothing is said. Borrowed from the snapshot. */
enum df_status snapshot_setting(struct snapshot *s, const char *name,
                                struct bytes *text,
                                struct df_error *err) DF_MUST_CHECK;

/* Empty: nothing is said any more. Takes effect with the next batch. No
 * transaction of this process may be open on the view, which is open for
 * writing. */
enum df_status view_set(struct view *v, const char *name, struct bytes text,
                        struct df_error *err) DF_MUST_CHECK;

/* Copies all of them from one shard 0 to another. */
enum df_status settings_copy(struct store_txn *to, struct store *from,
                             struct df_error *err) DF_MUST_CHECK;

#endif
