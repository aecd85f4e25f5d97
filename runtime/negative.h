/*
 * negative.h: who is to blame when rows would become negative.
 *
 * Only then documents are mapped a second time: the deleted ones of the
 * batch, one after the other. Those that emit a row that would be negative
 * are suspects, and the ledger is asked about each: is a document of that id
 * in the view, and is it with these bytes? The worst kind there is among the
 * suspects is to blame: documents that are not there; else documents that
 * are there with other bytes; else all suspects.
 */
#ifndef RUNTIME_NEGATIVE_H
#define RUNTIME_NEGATIVE_H

#include "runtime/engine.h"

/* A batch that was mapped, so that its files' hashes are known, and that
 * install has refused. */
struct negative_case {
    const struct jobspec *job;
    struct batch *batch;
    const bool *skip; /* files left out already */
    struct row_shape shape;
    const struct install_negatives *negatives;
    struct snapshot *snapshot;
    const struct engine_options *options;
};

/* Fills err with document, key and batch, and returns DF_INPUT (or another
 * status, where looking failed). */
enum df_status negative_name(const struct negative_case *c,
                             struct df_error *err) DF_MUST_CHECK;

/* Sets skip for the files that are to blame; *marked is how many. */
enum df_status negative_mark(const struct negative_case *c, bool *skip,
                             size_t *marked,
                             struct df_error *err) DF_MUST_CHECK;

/* Copies the marked documents to VIEW.quarantine/BATCH, a batch of its own
 * (with a manifest where ids are not paths). *directory is appended with a
 * NUL. The batch itself is left as it is. */
enum df_status negative_quarantine(const char *view_path,
                                   const struct batch *batch, const bool *skip,
                                   struct buf *directory,
                                   struct df_error *err) DF_MUST_CHECK;

#endif
