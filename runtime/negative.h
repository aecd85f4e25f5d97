/*
 * negative.h: who is to blame when rows would become negative.
 *
 * Only then documents are mapped a second time: the deleted ones of the
 * batch, one after the other, until one emits a row that would be negative.
 */
#ifndef RUNTIME_NEGATIVE_H
#define RUNTIME_NEGATIVE_H

#include "runtime/engine.h"

/* Fills err with document, key and batch, and returns DF_INPUT (or another
 * status, where looking failed). */
enum df_status negative_name(const struct jobspec *job, struct batch *batch,
                             const bool *skip, struct row_shape shape,
                             const struct install_negatives *negatives,
                             const struct engine_options *options,
                             struct df_error *err) DF_MUST_CHECK;

/*
 * Marks the offending deletions in skip (one flag per file of the batch):
 * of the deleted documents that emit a row that would be negative, those
 * that by the ledger are not in the view (no insertion of this id and
 * content is left that was not deleted); where the ledger finds no fault
 * with any of them, all. *marked is how many were added.
 */
enum df_status negative_mark(const struct jobspec *job, struct batch *batch,
                             struct snapshot *s, struct row_shape shape,
                             const struct install_negatives *negatives,
                             const struct engine_options *options, bool *skip,
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
