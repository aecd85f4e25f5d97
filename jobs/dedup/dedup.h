/*
 * dedup.h: the first record of each key (README.md, "Dedup").
 *
 * A fold job: key.h says what a key is, instant.h what a time is, span_grid.h
 * which times are live, and the step in dedup.c what becomes of a record
 * whose key has a state. Order, threads and disk are the runtime's.
 */
#ifndef JOBS_DEDUP_DEDUP_H
#define JOBS_DEDUP_DEDUP_H

#include "deltafold/job.h"
#include "jobs/dedup/instant.h"
#include "jobs/dedup/span_grid.h"

extern const struct df_job dedup_job;

/* Its config, for those who test or show it. */
struct dedup_config {
    char *key;               /* names of its columns, each with a NUL */
    char *time;              /* the column */
    const char **columns;    /* pointing into those: key, then time */
    struct df_columns asked; /* what the runtime is told */
    size_t key_count;        /* 0: the whole record is the key */
    const char **shown;      /* what readers show; ends with NULL */
    bool is_ndjson;          /* what records are written in ... */
    bool is_table;           /* ... csv or tsv */
    bool is_timed;
    bool is_by_span;
    enum instant_unit unit;
    struct span_grid grid;
};

/* The step by itself: pure. */
enum df_outcome dedup_step(const struct dedup_config *c,
                           struct df_state *state,
                           const struct df_clock *clock, int sign,
                           int64_t time);

#endif
