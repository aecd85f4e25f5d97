/*
 * view_internal.h: struct view, shared by the files of state/ that make it
 * (view_create), say which it is (view_current), open it (view), read it
 * (snapshot, scan) and write it (install, recover, rebuild).
 */
#ifndef STATE_VIEW_INTERNAL_H
#define STATE_VIEW_INTERNAL_H

#include "state/meta.h"

/* Raised when an older program could not read what this one writes: shards
 * may have inboxes (inbox.h); values have checks (store.h), in generations
 * that are made since. */
#define VIEW_FORMAT_INBOX '2'
#define VIEW_FORMAT_CHECKS '3'
#define VIEW_FORMAT_NOW VIEW_FORMAT_CHECKS

struct view {
    char *path;
    char *scratch; /* path + "/tmp" */
    enum view_access access;
    int lock;    /* descriptor of VIEW/lock, -1: not held */
    char format; /* of VIEW/current, a digit */
    uint64_t generation;
    struct buf definition_text; /* what definition.text points to */
    struct view_definition definition;
    struct store *stores[VIEW_SHARDS_MAX];
    struct buf recovered; /* name of the batch rolled forward */
};

/* A view of which only the path and where its scratch goes are known; NULL
 * without memory. For view_close. */
struct view *view_new(const char *path, enum view_access access);

void view_close_stores(struct view *v);

/* path/name; the caller's to free; NULL without memory. */
char *view_path_of(const char *path, const char *name);

/* VIEW/gen-N/NAME, appended with a NUL to out (reset before). */
enum df_status view_file(const struct view *v, uint64_t generation,
                         const char *name, struct buf *out,
                         struct df_error *err) DF_MUST_CHECK;
/* VIEW/gen-N/shard-SS.mdb likewise. */
enum df_status view_shard_file(const struct view *v, uint64_t generation,
                               unsigned shard, struct buf *out,
                               struct df_error *err) DF_MUST_CHECK;

/* Makes the files of a generation: a directory with one store per shard,
 * holding the definition and nothing else. Left-overs of a crash are removed
 * first. *stores are open for writing. */
enum df_status view_make_generation(const struct view *v,
                                    const struct view_definition *d,
                                    uint64_t generation, struct store **stores,
                                    struct df_error *err) DF_MUST_CHECK;

/* Reads VIEW/current. *generation is 0 when there is no view there. */
enum df_status view_current(struct view *v, uint64_t *generation,
                            struct df_error *err) DF_MUST_CHECK;

/* Makes `generation` the view, atomically and durably; `format` is what a
 * program must know to read it. */
enum df_status view_switch(const struct view *v, char format,
                           uint64_t generation,
                           struct df_error *err) DF_MUST_CHECK;

/* Before an inbox is filled, which the first format did not have: from then
 * on programs that know only that refuse the view. */
enum df_status view_need_inbox(struct view *v,
                               struct df_error *err) DF_MUST_CHECK;

/* Takes the writer's lock, waiting up to wait_seconds. */
enum df_status view_lock(struct view *v, unsigned wait_seconds,
                         struct df_error *err) DF_MUST_CHECK;
void view_unlock(struct view *v);
/* Whether somebody holds the lock at this moment. */
bool view_is_locked(const struct view *v);

/* Finishes a batch that was decided but is not committed in every shard
 * (recover.c). The caller holds the lock. */
enum df_status view_recover(struct view *v,
                            struct df_error *err) DF_MUST_CHECK;

/* A reader has found a batch half committed and no writer alive: becomes a
 * writer for as long as finishing it takes, and opens v again for reading.
 * No transaction may be open. On failure v can only be closed. */
enum df_status view_finish_for_reader(struct view *v,
                                      struct df_error *err) DF_MUST_CHECK;

/* Shards that are ahead of the ledger by a deferred batch go back to where it
 * stands. */
enum df_status view_take_back(struct view *v,
                              struct df_error *err) DF_MUST_CHECK;

/* Empties what an overwrite that was not decided has filled. The caller holds
 * the lock and has no transaction open. */
enum df_status view_clear_undecided(struct view *v,
                                    struct df_error *err) DF_MUST_CHECK;

#endif
