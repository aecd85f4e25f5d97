/*
 * bench_text.h: what the parts of the report share.
 */
#ifndef CLI_BENCH_TEXT_H
#define CLI_BENCH_TEXT_H

#include "cli/bench_report.h"

enum { BENCH_TEXT = 40 };

/* "0.012 %", "34 %": two digits, or all before the point. */
const char *bench_percent(char room[BENCH_TEXT], double percent);
/* What a size is called: as it was asked for, or as it came out where the
 * documents did not allow that. */
const char *bench_size(char room[BENCH_TEXT], const struct crossover_size *s);
const char *bench_factor(char room[BENCH_TEXT], double factor); /* 2.1, 130 */
/* "790..830", in the unit that human_duration has for `median`. */
const char *bench_range(char room[BENCH_TEXT], const struct spread *s);

/* Where the lines of two columns cross, clearly. */
size_t bench_crossings(const struct crossover_report *r, size_t a, size_t b,
                       struct spread_crossing out[DELTAS_MAX]);

#endif
