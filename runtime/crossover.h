/*
 * crossover.h: full recomputation against maintenance, over delta sizes, on a
 * user's own documents.
 *
 *     struct crossover_report r;
 *     crossover_measure(&r, &plan, err);
 *     ... crossover_spread(&r, size, method) ...
 *     crossover_fini(&r);
 *
 * Everything happens in a scratch directory of its own, which is gone
 * afterwards, also after a failure or an interruption; documents and view are
 * only read (documents get hard links for a while). For each size there is
 * one delta (deltas.h) and for each method a view that is copied anew before
 * every measurement. First every method is tried once untimed: the page cache
 * is then warm for all of them. The timed rounds follow, all methods in each,
 * every round beginning with another one, so that what changes on the machine
 * meanwhile is shared out.
 *
 * The views know where the documents of each size lie: the method rebuild, and
 * auto where it likes, computes from them (base.h). Where they cannot know,
 * rebuild is left out, with a notice.
 *
 * A time is from opening the view to closing it: finding the files, reading,
 * mapping, reducing, installing, the durable commit. The rows that it gives
 * must be those of the full recomputation or nothing is reported.
 */
#ifndef RUNTIME_CROSSOVER_H
#define RUNTIME_CROSSOVER_H

#include "runtime/deltas.h"
#include "runtime/engine.h"
#include "runtime/spread.h"

enum {
    CROSSOVER_METHODS_MAX = 8,   /* methods there may be */
    CROSSOVER_REPEATS_MAX = 1000 /* more than anybody would wait for */
};

/* What is measured. The first is full recomputation, always. */
struct crossover_method {
    const char *name;
    const char *label; /* in a sentence */
    enum install_method method;
    bool of_base; /* only where the view can know its base */
};
const struct crossover_method *crossover_method(size_t i); /* NULL: none */

struct crossover_plan {
    const struct jobspec *job;
    const char *documents;  /* directory */
    const char *view;       /* the view of these documents, copied; NULL: one
                               is made of them */
    unsigned wait;          /* seconds, for another writer of view */
    unsigned shards;        /* where one is made */
    const char *scratch;    /* a directory is made in this one */
    const double *percents; /* as for deltas_choose */
    size_t percent_count;
    bool methods[CROSSOVER_METHODS_MAX]; /* by number; the first is taken
                                            whether or not it is set */
    unsigned repeats;
    uint64_t seed;
    const struct engine_options *options; /* progress and stop too */
    bool verbose; /* every name that is left out is a notice */
    /* Something that a reader of the result must know. */
    void (*notice)(void *ctx, const char *text);
    void *notice_ctx;
};

struct crossover_sample {
    double us;
    enum install_method method; /* that was used: an increment that does not
                                   fit its memory becomes an overwrite */
};

struct crossover_size {
    double asked;     /* percent */
    double percent;   /* of the base's bytes, as it came out */
    uint64_t deleted; /* documents */
    uint64_t inserted;
    uint64_t bytes; /* of both */
    uint64_t rows;  /* of the view afterwards */
    struct hash128 digest;
};

struct crossover_report {
    uint64_t documents; /* in the base */
    uint64_t bytes;
    uint64_t rows;
    uint64_t view_bytes;
    size_t methods[CROSSOVER_METHODS_MAX]; /* by column: which method */
    size_t method_count;
    unsigned repeats;
    struct crossover_size *sizes; /* those that could be measured */
    size_t size_count;
    struct crossover_sample *samples; /* see crossover_samples */
};

/* DF_DIFFERS where a method gives other rows than the full recomputation, or
 * the view is not one of these documents. */
enum df_status crossover_measure(struct crossover_report *r,
                                 const struct crossover_plan *plan,
                                 struct df_error *err) DF_MUST_CHECK;
void crossover_fini(struct crossover_report *r); /* safe on zeroed memory */

/* The repeats of one column at one size, in the order they were taken. */
struct crossover_sample *crossover_samples(const struct crossover_report *r,
                                           size_t size, size_t column);
struct spread crossover_spread(const struct crossover_report *r, size_t size,
                               size_t column);

#endif
