/*
 * bench_lists.h: the lists that `deltafold bench` takes.
 */
#ifndef CLI_BENCH_LISTS_H
#define CLI_BENCH_LISTS_H

#include "runtime/crossover.h"

#define BENCH_SIZES "0.01,0.1,1,5,10,20,50"

struct bench_lists {
    double percents[DELTAS_MAX]; /* rising, each once */
    size_t percent_count;
    bool methods[CROSSOVER_METHODS_MAX];
};

/* methods NULL: all. DF_USAGE names what is wrong. */
enum df_status bench_lists_parse(struct bench_lists *lists, const char *sizes,
                                 const char *methods,
                                 struct df_error *err) DF_MUST_CHECK;

#endif
