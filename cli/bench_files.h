/*
 * bench_files.h: PREFIX.csv and PREFIX.svg.
 *
 *     bench_files_init(&f, prefix, force, err);    before the work
 *     bench_files_write(&f, &subject, err);        after it
 *     bench_files_fini(&f);                        safe on zeroed memory
 *
 * Minutes of measurements are not to be lost by a repeated command: files
 * that exist are refused unless `force` is set, and at once, not after the
 * work. They are written beside and renamed, so that one never stands half.
 */
#ifndef CLI_BENCH_FILES_H
#define CLI_BENCH_FILES_H

#include "cli/bench_report.h"

struct bench_files {
    const char *prefix;
    char *directory; /* that they are in */
};

enum df_status bench_files_init(struct bench_files *f, const char *prefix,
                                bool force,
                                struct df_error *err) DF_MUST_CHECK;
enum df_status bench_files_write(const struct bench_files *f,
                                 const struct bench_subject *s,
                                 struct df_error *err) DF_MUST_CHECK;
void bench_files_fini(struct bench_files *f);

#endif
