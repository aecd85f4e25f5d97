/*
 * outcome_files.h: the records of a batch, sorted by what became of them.
 *
 * OUT/BATCH/ holds unique, duplicate, expired, rejected and retracted, in the
 * input's format and in arrival order. It appears with the commit of the
 * batch or not at all:
 *
 *     outcome_files_open(&o, &plan, err)        BATCH must not be there
 *       outcome_files_header(o, file, ...) ...  while mapping (csv, tsv)
 *     outcome_files_begin(o, outcomes, err)     a hidden directory in OUT
 *       outcome_files_records(o, ...) ...       all records once more
 *     outcome_files_end(o, err)                 on disk, still hidden
 *     ... install commits, the entry naming path and token ...
 *     outcome_files_publish(o, err)             renamed to OUT/BATCH
 *     outcome_files_close(o)                    takes NULL
 *
 * What fails before the commit is abandoned and leaves nothing, so that a
 * full disk is as full as before (outcome_files_abandon).
 *
 * A crash before the commit leaves a hidden directory that the next run with
 * outcome files removes; one behind it leaves one that the next run of
 * any kind renames (outcome_place_recover), for the ledger says so.
 */
#ifndef RUNTIME_OUTCOME_FILES_H
#define RUNTIME_OUTCOME_FILES_H

#include "runtime/crew.h"
#include "runtime/outcome_place.h"
#include "runtime/outcomes.h"

struct outcome_files_plan {
    const struct jobspec *job;
    const struct view *view;
    const struct batch *batch;
    const char *directory; /* OUT; made if it is not there */
    uint32_t token;        /* differs between applications */
    unsigned threads;
    size_t memory; /* for buffers */
};

struct outcome_files;
enum df_status outcome_files_open(struct outcome_files **out,
                                  const struct outcome_files_plan *plan,
                                  struct df_error *err) DF_MUST_CHECK;
void outcome_files_close(struct outcome_files *o);

/* OUT/BATCH, absolute, and what the hidden name is made of; for the ledger. */
struct bytes outcome_files_path(const struct outcome_files *o);
uint64_t outcome_files_token(const struct outcome_files *o);

/* The header of a file, as it stands there; any thread, any number of times.
 */
enum df_status outcome_files_header(struct outcome_files *o, size_t file,
                                    struct bytes header,
                                    struct df_error *err) DF_MUST_CHECK;

enum df_status outcome_files_begin(struct outcome_files *o,
                                   const struct outcomes *outcomes,
                                   struct df_error *err) DF_MUST_CHECK;
/* On the workers' threads, units in ascending order, each in one go. */
enum df_status outcome_files_records(struct outcome_files *o,
                                     const struct crew *crew, unsigned worker,
                                     const struct reader_place *place,
                                     const struct df_record *records, size_t n,
                                     struct df_error *err) DF_MUST_CHECK;
enum df_status outcome_files_end(struct outcome_files *o,
                                 struct df_error *err) DF_MUST_CHECK;
/* Instead of end, or after one that failed: removes the hidden directory. Not
 * once install has begun, for what it has made durable may name it. */
void outcome_files_abandon(const struct outcome_files *o);
enum df_status outcome_files_publish(const struct outcome_files *o,
                                     struct df_error *err) DF_MUST_CHECK;

#endif
