/*
 * form.h: what files hold under a view's options, and what of it the job is
 * given: the options format, content and id, which every job has.
 *
 *     form_options(job)         NULL-name-terminated; the job's kind decides
 *     form_open(&f, job, config, values, err)
 *     form_close(f)             takes NULL
 *
 * A job over documents (df_job.map) takes each file as one, or, with another
 * format, each record: then content= names the column with its text and id=,
 * if given, that with its id. A job over records (df_job.columns) says itself
 * which columns it wants.
 */
#ifndef JOBS_FORM_H
#define JOBS_FORM_H

#include "base/error.h"
#include "deltafold/job.h"

enum form_format {
    FORM_DOCUMENT,
    FORM_LINES,
    FORM_CSV,
    FORM_TSV,
    FORM_NDJSON
};

/* Where the fields of a record stand that is a document. */
enum { FORM_CONTENT, FORM_ID };

struct form {
    enum form_format format;
    bool has_id;               /* of records that are documents */
    struct df_columns columns; /* nothing for FORM_DOCUMENT */
    const char *names[2];      /* columns.names, of records that are
                                  documents */
};

/* Whether the job takes records itself. */
static inline bool form_is_of_records(const struct df_job *job)
{
    return job->columns != NULL;
}

const struct df_option *form_options(const struct df_job *job);

/* values[i] belongs to form_options(job)[i]; they and config must stay.
 * DF_USAGE, naming the option. */
enum df_status form_open(struct form **f, const struct df_job *job,
                         const void *config, char *const *values,
                         struct df_error *err) DF_MUST_CHECK;
void form_close(struct form *f);

#endif
