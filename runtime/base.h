/*
 * base.h: a batch by full recomputation from the documents that survive it,
 * where the view knows the directory that they lie in: its base.
 *
 *     input     the delta, hashed and not mapped; then the base, hashed and
 *               mapped in one reading
 *     check     the survivors of the ledger and the delta = those of the base
 *     reduce    all rows there are to be
 *     install   what they differ by from those there are (state/difference.h)
 *
 * That is worth it where the delta has more bytes than what it leaves. The
 * base is the one after the last batch at hand, so that no other is rebuilt.
 * What the base cannot be used for, with auto, is mapped from the delta as
 * ever, and a remark says why; where --install=rebuild asks for it, it refuses
 * the batch.
 *
 *     base_directory(&ask, &directory, err);
 *     if (directory.len > 0 and no other batch comes behind this one)
 *         base_plan(&b, &ask, directory, err);   b zeroed before
 *     if (b.is_used) ... base_apply(&application, &done, err);
 *     base_fini(&b);                 safe on zeroed memory
 */
#ifndef RUNTIME_BASE_H
#define RUNTIME_BASE_H

#include "runtime/application.h"
#include "runtime/survivors.h"

struct base {
    bool is_used;
    bool is_asked;                 /* by name */
    struct batch documents;        /* scanned, where is_used */
    struct ledger_survivors after; /* the batch; without its digest, before
                                      it is read */
    struct buf remark; /* why it is not used after all, with a NUL; empty:
                          nothing to be said */
};

struct base_ask {
    struct view *v;
    struct snapshot *snapshot;
    const struct jobspec *job;
    const struct batch *batch; /* scanned, and to be applied */
    const struct engine_options *options;
};

/* Where the documents lie, if batches can be rebuilt at all as far as options
 * and view say; empty: they cannot. Borrowed from the snapshot. */
enum df_status base_directory(const struct base_ask *ask,
                              struct bytes *directory,
                              struct df_error *err) DF_MUST_CHECK;

/* Whether the batch, the last that is to be applied, is to be rebuilt. Nothing
 * but names and lengths of files is read. */
enum df_status base_plan(struct base *b, const struct base_ask *ask,
                         struct bytes directory,
                         struct df_error *err) DF_MUST_CHECK;

/* Applies the batch by a->base. *done is false where that could not be, with
 * DF_OK and a remark: it is to be applied from its delta. */
enum df_status base_apply(struct application *a, bool *done,
                          struct df_error *err) DF_MUST_CHECK;

void base_fini(struct base *b);

/* A file that keeps a batch from being rebuilt; NULL: none does. */
const struct batch_file *base_find_archive(const struct batch *batch);

/* Whether views of this job note which documents are in them. */
bool base_is_possible(const struct jobspec *job);

#endif
