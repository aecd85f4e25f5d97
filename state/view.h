/*
 * view.h: a view on disk, opened.
 *
 *     VIEW/current            which generation is the view (one line of text)
 *     VIEW/lock               held by the one writer
 *     VIEW/gen-N/shard-00.mdb LMDB environments, one per shard; shard 0
 *                             carries the ledger as well, and small batches
 *                             for the others (inbox.h)
 *     VIEW/gen-N/pending.run  a batch that is decided but not yet committed
 *                             in every shard (see install.c)
 *     VIEW/tmp/               scratch; emptied by the next writer
 *
 * A process opens a view once. Readers hold no lock and never wait for a
 * writer, but for the moment between two shards' commits (snapshot.h).
 */
#ifndef STATE_VIEW_H
#define STATE_VIEW_H

#include "state/ledger.h"
#include "state/row.h"

enum { VIEW_SHARDS_MAX = 16 };

struct view;

/* What readers are shown: rows whose value number `component` is at least
 * `least`, where it is set. Nothing that is stored depends on it. */
struct view_having {
    bool is_set;
    unsigned component;
    int64_t least;
};

/* What a view is, fixed at init. */
struct view_definition {
    struct bytes text; /* jobspec_definition's line */
    struct row_shape shape;
    unsigned shards; /* 1 to VIEW_SHARDS_MAX */
    struct view_having having;
    uint64_t keep;     /* for init alone, like base: see settings.h */
    struct bytes base; /* empty: none */
};

/* Makes an empty view in a directory that does not exist or is empty. The
 * view exists from the last step on: a crash leaves a directory that the
 * next view_create takes. DF_STATE when there is a view already. */
enum df_status view_create(const char *path,
                           const struct view_definition *definition,
                           struct df_error *err) DF_MUST_CHECK;

/* Removes a view that nobody has open, with its directory; for views made
 * to be thrown away. What cannot be removed stays. */
void view_remove(const char *path);

enum view_access {
    VIEW_READ, /* takes no lock, changes nothing; but see snapshot_open */
    VIEW_WRITE /* takes the lock, finishes what a crash left undone */
};

/*
 * Opens a view. For VIEW_WRITE waits up to `wait_seconds` for another writer
 * and then fails with DF_STATE, naming its process. A batch that was decided
 * before a crash is rolled forward here, without its source.
 */
enum df_status view_open(struct view **out, const char *path,
                         enum view_access access, unsigned wait_seconds,
                         struct df_error *err) DF_MUST_CHECK;
void view_close(struct view *v); /* takes NULL */

const struct view_definition *view_definition(const struct view *v);
const char *view_path(const struct view *v);
const char *view_scratch(const struct view *v); /* VIEW/tmp */

/* Name of the batch that view_open rolled forward; empty when none. */
struct bytes view_recovered(const struct view *v);

/* Bytes of all files of the view on disk. */
uint64_t view_disk_bytes(const struct view *v);

#endif
