/*
 * spread.h: repeated measurements as three numbers, and where one line of
 * them crosses another.
 *
 *     spread_of(times, n)                median and quartiles
 *     spread_compare(&a, &b)             which is less, if that can be said
 *     spread_cross(x, a, b, n, out)      where the less becomes the more
 *
 * Two measurements differ where the upper quartile of one is below the lower
 * quartile of the other; else nothing is said of them. A crossing needs both:
 * a size at which the one is less, and a size at which the other is.
 */
#ifndef RUNTIME_SPREAD_H
#define RUNTIME_SPREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fewer repeats have no quartiles worth the name: they are equal to nothing
 * and differ from nothing. */
enum { SPREAD_REPEATS_MIN = 3 };

struct spread {
    double low; /* quartiles, between neighbours where they fall there */
    double median;
    double high;
    size_t count; /* measurements; 0: there are none */
};

/* Sorts times, which are positive. */
struct spread spread_of(double *times, size_t n);

/* -1: a is less; 1: b is less; 0: the spreads overlap or are none. */
int spread_compare(const struct spread *a, const struct spread *b);

struct spread_crossing {
    double at;   /* x */
    double time; /* where the two lines of medians meet */
    size_t from; /* the last x before and the first behind at which the two */
    size_t to;   /* differ */
    int before;  /* spread_compare before; behind it is the other */
};

/*
 * Finds the crossings of two lines of n points over rising, positive x, at
 * most n - 1 of them, and returns how many. Between points lines are straight
 * on logarithmic axes. Where the lines of the medians meet several times
 * between two clear points, the first time counts.
 */
size_t spread_cross(const double *x, const struct spread *a,
                    const struct spread *b, size_t n,
                    struct spread_crossing *out);

#endif
