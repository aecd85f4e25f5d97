/*
 * opened.h: a view as subcommands need it, opened with what belongs to it.
 *
 *     opened_read(&o, path, err);          view and snapshot
 *     opened_work(&o, path, access, wait, err);   view and its job, ready
 *     opened_close(&o);                    safe on zeroed memory
 */
#ifndef CLI_OPENED_H
#define CLI_OPENED_H

#include "jobs/registry.h"
#include "state/snapshot.h"

struct opened {
    struct view *view;
    struct snapshot *snapshot; /* opened_read only */
    /* Ready after opened_work; after opened_read where this program makes
     * the view's job the same way, else zeroed. */
    struct jobspec spec;
    /* The view's job; NULL when this program has none of that name, which
     * does not keep anybody from reading. */
    const struct df_job *job;
    /* Names of the values: the job's, or value1, value2 ... */
    const char *const *names;
    /* How the job shows the view; NULL: as rows. */
    const struct df_present *present;
};

enum df_status opened_read(struct opened *o, const char *path,
                           struct df_error *err) DF_MUST_CHECK;

/* The same, with the rows that having= hides. */
enum df_status opened_read_all(struct opened *o, const char *path,
                               struct df_error *err) DF_MUST_CHECK;

/* Goes back to the entry that --at names; at NULL stays. */
enum df_status opened_at(struct opened *o, const char *at,
                         struct df_error *err) DF_MUST_CHECK;

/* Reads how many entries' runs are to be kept. */
enum df_status opened_keep(const char *text, uint64_t *keep,
                           struct df_error *err) DF_MUST_CHECK;

/* Makes the directory of base= absolute, appended to out; it must be one, and
 * the job one that can know it. Links on the way stay as they are. */
enum df_status opened_base(const struct jobspec *job, const char *text,
                           struct buf *out,
                           struct df_error *err) DF_MUST_CHECK;

/* The directory of the view's documents where none was named, its base, as a
 * string; DF_USAGE where it knows none, with the ways that there are, and
 * where the view at the path `view` lies in it or batches do. */
enum df_status opened_documents(const struct opened *o, const char *view,
                                const char *ways, struct buf *out,
                                struct df_error *err) DF_MUST_CHECK;

/* Refuses a view whose job, its version or its options this program would
 * not make the same way (DF_STATE). */
enum df_status opened_work(struct opened *o, const char *path,
                           enum view_access access, unsigned wait_seconds,
                           struct df_error *err) DF_MUST_CHECK;

void opened_close(struct opened *o);

/* The last entry of the ledger; *found is false when there is none. */
enum df_status opened_last(struct opened *o, struct ledger_entry *e,
                           bool *found, struct df_error *err) DF_MUST_CHECK;

/* Says at which batch an interrupted writer left the view; returns
 * DF_INTERRUPTED. */
enum df_status opened_interrupted(struct opened *o, struct df_error *err);

/* Words of a definition, "wordcount 1 case=lower ...", one by one: takes the
 * first off *rest; false at the end. */
bool opened_word(struct bytes *rest, struct bytes *word);

/* A word without the \\xHH that jobspec_definition writes for blanks and the
 * like, at out, which has room for word.len bytes; returns the length. */
size_t opened_plain(char *out, struct bytes word);

#endif
