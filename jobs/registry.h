/*
 * registry.h: the jobs there are, and a job made ready with its options.
 */
#ifndef JOBS_REGISTRY_H
#define JOBS_REGISTRY_H

#include "base/buf.h"
#include "base/error.h"
#include "deltafold/job.h"
#include "jobs/form.h"

/* The i-th job in order of name, NULL past the last. */
const struct df_job *registry_job(size_t i);

/* NULL when there is no such job. */
const struct df_job *registry_find(const char *name);

/*
 * A job with all its options, checked: what a view is a view of.
 *
 *     jobspec_open(&s, job, given, n, err);   given: "name=value" strings
 *     ... s.config, s.components ...
 *     jobspec_close(&s);                      safe on zeroed memory
 */
struct jobspec {
    const struct df_job *job;
    void *config;          /* the job's own, made by configure */
    char **values;         /* by option, in the order of registry_option;
                              owned */
    struct form *form;     /* what files hold; never NULL */
    struct df_shape shape; /* of the rows under this config */
    unsigned components;   /* counted once */
};

/*
 * The options that a job has: its own, those of its kind (form.h), and those
 * of every job, registry_common. All but its own are in the definition only
 * where they are not as they are initially, so that a new one changes no view
 * that is there; keep and base are never, for commands change them.
 */
extern const struct df_option registry_common[];
/* The i-th of them all, NULL past the last. */
const struct df_option *registry_option(const struct df_job *job, size_t i);
/* The value of an option; never NULL for a name that the job has. */
const char *jobspec_common(const struct jobspec *s, const char *name);

/* Unknown option, option given twice, bad value: DF_USAGE, naming it and
 * what is allowed. */
enum df_status jobspec_open(struct jobspec *s, const struct df_job *job,
                            const char *const *given, size_t n,
                            struct df_error *err) DF_MUST_CHECK;
void jobspec_close(struct jobspec *s);

/* The definition as one line, canonical: "wordcount 1 case=lower ngram=1
 * tokenizer=unicode". It guards the view. */
bool jobspec_definition(const struct jobspec *s, struct buf *out);

#endif
