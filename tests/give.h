/*
 * give.h: workers give each other what they have alike, all at the same time,
 * as a crew does before it sorts. For tests of combine and reduce.
 */
#ifndef TESTS_GIVE_H
#define TESTS_GIVE_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/combine.h"

enum { GIVE_MAX = 8 };

struct give_share {
    struct combine **workers;
    unsigned n;
    unsigned share;
};

static inline void *give_run(void *arg)
{
    const struct give_share *s = arg;

    for (unsigned k = 1; k < s->n; k++) {
        combine_give(s->workers[(s->share + k) % s->n], s->workers[s->share],
                     s->share, s->n);
    }
    return NULL;
}

static inline void give_between(struct combine **workers, unsigned n)
{
    struct give_share shares[GIVE_MAX];
    pthread_t threads[GIVE_MAX];

    assert_in_range(n, 1, GIVE_MAX);
    for (unsigned i = 0; i < n; i++) {
        combine_settle(workers[i]);
    }
    for (unsigned i = 0; i < n; i++) {
        shares[i] = (struct give_share){ workers, n, i };
        assert_int_equal(
            pthread_create(&threads[i], NULL, give_run, &shares[i]), 0);
    }
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
}

#endif
