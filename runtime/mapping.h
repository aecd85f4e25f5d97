/*
 * mapping.h: from a unit of a batch to calls of the job: the map step, for
 * the crew and for those who look for blame.
 *
 *     mapping_open(&m, job, emitter, err)
 *       mapping_piece(&m, piece)                       documents
 *       mapping_records(&m, place, records, n, err)    records
 *       ... emitter->status ...                        whether they got in
 *     mapping_close(&m)                                safe on zeroed memory
 *
 * With a record format and a job over documents each record is a document:
 * first and last piece in one, whose id is that of the record, or of its
 * file. Content that is null or absent is an empty document.
 */
#ifndef RUNTIME_MAPPING_H
#define RUNTIME_MAPPING_H

#include "input/reader.h"
#include "jobs/registry.h"

enum { MAPPING_WHY = 512 };

struct mapping {
    const struct jobspec *job;
    struct df_emitter *emitter; /* not owned */
    size_t whole_max;           /* longest document for DF_PIECES_WHOLE */
    void *mapper;
    const struct df_record *refused; /* by the job, and why */
    char why[MAPPING_WHY];
};

enum df_status mapping_open(struct mapping *m, const struct jobspec *job,
                            struct df_emitter *emitter, size_t whole_max,
                            struct df_error *err) DF_MUST_CHECK;
void mapping_close(struct mapping *m);

void mapping_piece(struct mapping *m, const struct df_piece *piece);

/* DF_INPUT, with file and line, where the job or a document's length refuse a
 * record. Else the emitter's status is to be looked at. */
enum df_status mapping_records(struct mapping *m,
                               const struct reader_place *place,
                               const struct df_record *records, size_t n,
                               struct df_error *err) DF_MUST_CHECK;

/* How the view's files are read. */
enum record_format mapping_format(const struct jobspec *job);

#endif
