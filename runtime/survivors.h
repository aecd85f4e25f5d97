/*
 * survivors.h: which documents are in a view, by sums alone.
 *
 * Every ledger entry says how many files of documents were inserted, less
 * those that were deleted, how many bytes they have, and the sum of a hash of
 * each one's id, length and content: one number for the whole, since what a
 * batch adds to it does not depend on what is there. Files are what it counts,
 * not what is in them: the records of a file are in the view when the file
 * is. Example, with hashes of one digit:
 *
 *     1 mon   +a(3) +b(4)     2 files   digest 7
 *     2 tue   -a(3) +a(9)     2 files   digest 13
 *     a directory of a(9) and b(4)      the survivors of tue
 *     a directory of a(3) and b(4)      not
 *
 *     survivors_before(&s, snapshot, err);
 *     survivors_add(&s, &batch, skip);     the files' hashes are set
 */
#ifndef RUNTIME_SURVIVORS_H
#define RUNTIME_SURVIVORS_H

#include "input/batch.h"
#include "state/snapshot.h"

/* After the last entry. */
enum df_status survivors_before(struct ledger_survivors *s,
                                struct snapshot *snapshot,
                                struct df_error *err) DF_MUST_CHECK;

/* Adds a batch, but for the files for which skip[i] is true; skip may be
 * NULL. */
void survivors_add(struct ledger_survivors *s, const struct batch *batch,
                   const bool *skip);

/* Takes the batch that is entry `seq` away, or (redo) adds it again. */
enum df_status survivors_undo(struct ledger_survivors *s,
                              struct snapshot *snapshot, uint64_t seq,
                              bool redo, struct df_error *err) DF_MUST_CHECK;

/* Number and bytes alone, which no file need be read for; and all of it. */
bool survivors_same_size(const struct ledger_survivors *a,
                         const struct ledger_survivors *b);
bool survivors_equal(const struct ledger_survivors *a,
                     const struct ledger_survivors *b);

#endif
