/*
 * record_conformance.h: what every job over records must keep to.
 *
 *     record_conformance(&spec, seed);
 *
 * fails the running cmocka test when, with random records under the columns
 * that the job asks for, it
 *   - emits other pairs for the same records on another mapper, in another
 *     place in memory, with other bytes behind the fields, in lists cut
 *     elsewhere, or in another order;
 *   - refuses a record in one list and takes it in another, or refuses
 *     without a reason of one line;
 *   - emits keys or elements that are too long or without DF_SLACK behind;
 *   - counts with counters it does not have.
 */
#ifndef TESTS_RECORD_CONFORMANCE_H
#define TESTS_RECORD_CONFORMANCE_H

#include "job_conformance.h"

void record_conformance(const struct jobspec *spec, uint64_t seed);

/* ---- records of their own, for jobs' own tests ---- */

/* Records with fields in memory of their own, noise behind each. */
struct made_records {
    struct df_record *records;
    struct df_field *fields; /* of all records, one after the other */
    size_t n;
    size_t columns;
    struct buf bytes;
};

/* What a field is; text is NULL for DF_ABSENT. */
struct made_field {
    enum df_kind kind;
    const char *text;
};

/* n records of `columns` fields each, in order. */
void made_records_init(struct made_records *r, const struct made_field *fields,
                       size_t n, size_t columns, uint64_t *random);
void made_records_fini(struct made_records *r);

#endif
