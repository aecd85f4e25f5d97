/*
 * bench_report.h: what `deltafold bench` has measured, as a table, in words,
 * as CSV and as a chart.
 */
#ifndef CLI_BENCH_REPORT_H
#define CLI_BENCH_REPORT_H

#include "cli/output.h"
#include "runtime/crossover.h"

/* What was measured, for titles. */
struct bench_subject {
    const struct crossover_report *report;
    const char *documents;  /* as the user wrote it */
    const char *view;       /* NULL: none was given */
    const char *job;        /* name */
    const char *definition; /* job, version, options */
    unsigned shards;
    uint64_t seed;
};

/*
 * For people, 80 columns with up to six methods: what was measured, a row
 * per size with the medians, the fastest marked, the quartiles below them;
 * then who is faster up to where.
 */
enum df_status bench_print(const struct bench_subject *s, struct output *out,
                           struct df_error *err) DF_MUST_CHECK;

/* One line per size, method and repeat; false without memory, and so below. */
bool bench_csv(const struct bench_subject *s, struct buf *out);
bool bench_svg(const struct bench_subject *s, struct buf *out);

/* One sentence on column a beside column b, without a full stop. */
bool bench_sentence(const struct crossover_report *r, size_t a, size_t b,
                    struct buf *out);

#endif
