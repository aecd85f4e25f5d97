#include "runtime/spread.h"

#include <math.h>
#include <stdlib.h>

static int compare_times(const void *a, const void *b)
{
    const double *left = a;
    const double *right = b;

    return (*left > *right) - (*left < *right);
}

/* The value at a share of the way from the least to the greatest. */
static double quantile(const double *sorted, size_t n, double share)
{
    double place = share * (double)(n - 1);
    size_t below = (size_t)place;
    double rest = place - (double)below;

    return below + 1 < n
               ? sorted[below] + rest * (sorted[below + 1] - sorted[below])
               : sorted[below];
}

struct spread spread_of(double *times, size_t n)
{
    if (n == 0) {
        return (struct spread){ 0 };
    }
    qsort(times, n, sizeof *times, compare_times);
    return (struct spread){ .low = quantile(times, n, 0.25),
                            .median = quantile(times, n, 0.5),
                            .high = quantile(times, n, 0.75),
                            .count = n };
}

int spread_compare(const struct spread *a, const struct spread *b)
{
    if (a->count < SPREAD_REPEATS_MIN || b->count < SPREAD_REPEATS_MIN) {
        return 0;
    }
    return (a->low > b->high) - (a->high < b->low);
}

/* How far a lies above b at point i, in logarithms. */
static double gap(const struct spread *a, const struct spread *b, size_t i)
{
    return log(a[i].median) - log(b[i].median);
}

/* Where the gap, which is on one side at `from` and on the other at `to`,
 * is first zero. */
static void meet(const double *x, const struct spread *a,
                 const struct spread *b, struct spread_crossing *c)
{
    bool begins_below = gap(a, b, c->from) < 0;
    size_t i = c->from + 1;
    double left;
    double share;

    while (i < c->to && (gap(a, b, i) < 0) == begins_below) {
        i++;
    }
    left = gap(a, b, i - 1);
    share = left / (left - gap(a, b, i));
    c->at = exp(log(x[i - 1]) + share * log(x[i] / x[i - 1]));
    c->time =
        exp(log(a[i - 1].median) + share * log(a[i].median / a[i - 1].median));
}

size_t spread_cross(const double *x, const struct spread *a,
                    const struct spread *b, size_t n,
                    struct spread_crossing *out)
{
    size_t count = 0;
    size_t last = 0;
    int before = 0;

    for (size_t i = 0; i < n; i++) {
        int now = spread_compare(&a[i], &b[i]);

        if (now == 0) {
            continue;
        }
        if (before != 0 && now != before) {
            out[count] = (struct spread_crossing){ .from = last,
                                                   .to = i,
                                                   .before = before };
            meet(x, a, b, &out[count++]);
        }
        before = now;
        last = i;
    }
    return count;
}
