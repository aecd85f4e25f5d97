/*
 * way.h: ways to the same view: what must make no difference.
 */
#ifndef TESTS_WAY_H
#define TESTS_WAY_H

#include "kept_view.h"

/* All that a worker is given at the least. */
#define WAY_MEMORY_TINY ((size_t)1 << 20)

enum way_method {
    WAY_INCREMENT,
    WAY_OVERWRITE,
    WAY_DEFER,
    WAY_AUTO,
    WAY_ALTERNATE, /* all of them in turns */
    WAY_METHODS
};

struct way {
    unsigned threads;
    unsigned shards;
    size_t memory;      /* 0: default */
    uint64_t unit_size; /* 0: default */
    enum way_method method;
};

/* One thread, one shard, increment. */
extern const struct way way_plain;

struct way way_random(uint64_t *random);
void way_show(const struct way *w);

/* Whether what each batch did to the rows is seen, and recorded. */
bool way_sees_rows(const struct way *w);

/* Sets the view's options; batches alternate by their numbers. */
void way_take(struct kept_view *k, const struct way *w, unsigned batch);

/* A rule of the oracle as options of the job. */
struct words_given {
    char text[3][HISTORY_NAME];
    const char *list[3];
};
const char *const *words_given(struct words_given *g,
                               const struct oracle_rule *rule);

#endif
