/*
 * stored_view.h: a view made by the functions of state/ alone, and beside it
 * the model of what it should hold.
 *
 *     stored_open(&s, shape, shards);
 *     rows_source_add(&s.run, ...) ...;
 *     assert_int_equal(stored_apply(&s, "batch"), DF_OK);
 *     stored_check(&s);
 *     stored_close(&s);
 *
 * Calls open the view and close it again. What cannot be done fails the
 * running cmocka test, but for the statuses that are returned; their text is
 * in s.err.
 */
#ifndef TESTS_STORED_VIEW_H
#define TESTS_STORED_VIEW_H

#include <sys/types.h>

#include "input_tree.h"
#include "rows_source.h"
#include "state/install.h"
#include "state/snapshot.h"

struct stored {
    char root[INPUT_TREE_PATH];
    char path[INPUT_TREE_PATH]; /* root/view */
    struct row_shape shape;
    unsigned shards;
    struct rows_source model;
    uint64_t seq; /* batches that were applied */

    /* The next batch. run is used up when it is applied; the rest stays. */
    struct rows_source run;
    enum install_method method;
    size_t memory;
    unsigned threads; /* 1 where a child of the process installs, too: the
                         threads of OpenMP do not survive a fork */
    bool allow_negative;
    bool keep; /* the runs */
    bool record_high;
    uint64_t more_rows; /* added to the bounds of every shard */
    const struct ledger_file *files;
    size_t file_count;
    const volatile sig_atomic_t *stop;

    /* Of the last call. */
    struct ledger_entry entry; /* without its strings */
    struct install_negatives negatives;
    struct df_error err;
};

void stored_open(struct stored *s, struct row_shape shape, unsigned shards);
void stored_close(struct stored *s); /* removes the files */

/* Applies s->run; on DF_OK it is added to the model and its entry was
 * checked. */
enum df_status stored_apply(struct stored *s, const char *name);

/* The view is the model, as readers see it in every way. */
void stored_check(struct stored *s);

/* The same for a snapshot that is open. */
void stored_check_snapshot(struct stored *s, struct snapshot *snapshot);

/*
 * A reader in a process of its own: it has a snapshot of the view as it is
 * when begin returns, and at end sees whether that still is what it was. The
 * caller has no view open at begin.
 */
struct stored_reader {
    pid_t process;
    int go; /* its cue */
};
struct stored_reader stored_reader_begin(struct stored *s);
void stored_reader_end(struct stored_reader reader);

/* A file of the view's generation 1, or of the view: "gen-1/pending.run". */
const char *stored_file(const struct stored *s, const char *name);

#endif
