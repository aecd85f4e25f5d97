/*
 * Who is faster, up to where, in one sentence. Two columns are told apart at
 * a size where their quartiles do not overlap (runtime/spread.h); what lies
 * between two such sizes is read off the lines, what lies outside of them is
 * left open.
 */
#include <stdio.h>

#include "cli/bench_report.h"
#include "cli/bench_text.h"

/* Two columns side by side. */
struct pair {
    const struct crossover_report *report;
    const char *a; /* labels */
    const char *b;
    struct spread of_a[DELTAS_MAX];
    struct spread of_b[DELTAS_MAX];
    size_t first; /* sizes at which the two differ: the first ... */
    size_t last;  /* ... and the last */
    bool differ;  /* there are any */
};

static void pair_init(struct pair *p, const struct crossover_report *r,
                      size_t a, size_t b)
{
    *p = (struct pair){ .report = r,
                        .a = crossover_method(r->methods[a])->label,
                        .b = crossover_method(r->methods[b])->label };
    for (size_t i = 0; i < r->size_count; i++) {
        p->of_a[i] = crossover_spread(r, i, a);
        p->of_b[i] = crossover_spread(r, i, b);
        if (spread_compare(&p->of_a[i], &p->of_b[i]) != 0) {
            p->first = p->differ ? p->first : i;
            p->last = i;
            p->differ = true;
        }
    }
}

size_t bench_crossings(const struct crossover_report *r, size_t a, size_t b,
                       struct spread_crossing out[DELTAS_MAX])
{
    double x[DELTAS_MAX];
    struct pair p;

    pair_init(&p, r, a, b);
    for (size_t i = 0; i < r->size_count; i++) {
        x[i] = r->sizes[i].percent;
    }
    return spread_cross(x, p.of_a, p.of_b, r->size_count, out);
}

static const char *size_at(char room[BENCH_TEXT], const struct pair *p,
                           size_t size)
{
    return bench_size(room, &p->report->sizes[size]);
}

static const char *faster(int order)
{
    return order < 0 ? "faster" : "slower";
}

/* " (12 to 2.1 times)", between the least and the greatest factor. */
static bool put_factors(const struct pair *p, struct buf *out)
{
    double least = 0;
    double most = 0;
    char a[BENCH_TEXT];
    char b[BENCH_TEXT];

    for (size_t i = p->first; i <= p->last; i++) {
        double factor = p->of_b[i].median / p->of_a[i].median;

        factor = factor < 1 ? 1 / factor : factor;
        least = i == p->first || factor < least ? factor : least;
        most = factor > most ? factor : most;
    }
    bench_factor(a, least);
    bench_factor(b, most);
    return strcmp(a, b) == 0 ? buf_printf(out, " (%s times)", a)
                             : buf_printf(out, " (%s to %s times)", a, b);
}

/* No crossing: one is ahead wherever the two differ. */
static bool put_one_ahead(const struct pair *p, struct buf *out)
{
    int order = spread_compare(&p->of_a[p->first], &p->of_b[p->first]);
    size_t end = p->report->size_count - 1;
    char from[BENCH_TEXT];
    char to[BENCH_TEXT];
    bool ok = buf_printf(out, "%s is %s than %s ", p->a, faster(order), p->b);

    size_at(from, p, p->first);
    size_at(to, p, p->last);
    if (p->first == 0 && p->last == end) {
        ok = ok && buf_append_string(out, "at every size measured");
    } else if (p->first == 0) {
        ok = ok && buf_printf(out, "up to %s", to);
    } else if (p->last == end) {
        ok = ok && buf_printf(out, "from %s on", from);
    } else {
        ok = ok && buf_printf(out, "from %s to %s", from, to);
    }
    ok = ok && put_factors(p, out);
    if (p->first != 0 || p->last != end) {
        ok = ok && buf_append_string(out, "; elsewhere the two cannot be told "
                                          "apart");
    }
    return ok;
}

static bool put_crossings(const struct pair *p,
                          const struct spread_crossing *c, size_t n,
                          struct buf *out)
{
    bool ok = buf_printf(out, "%s is ", p->a);
    char from[BENCH_TEXT];
    char to[BENCH_TEXT];

    for (size_t i = 0; ok && i < n; i++) {
        ok = buf_printf(out, "%s%s%s up to %s", faster(c[i].before),
                        i == 0 ? " than " : "", i == 0 ? p->b : "",
                        bench_percent(from, c[i].at)) &&
             buf_printf(out, " (measured: %s and %s), ",
                        size_at(from, p, c[i].from), size_at(to, p, c[i].to));
    }
    return ok && buf_printf(out, "%s beyond", faster(-c[n - 1].before));
}

bool bench_sentence(const struct crossover_report *r, size_t a, size_t b,
                    struct buf *out)
{
    struct spread_crossing crossings[DELTAS_MAX];
    size_t n = bench_crossings(r, a, b, crossings);
    struct pair p;

    pair_init(&p, r, a, b);
    if (!p.differ) {
        return buf_printf(out,
                          "%s and %s cannot be told apart at any size "
                          "measured",
                          p.a, p.b);
    }
    return n == 0 ? put_one_ahead(&p, out)
                  : put_crossings(&p, crossings, n, out);
}
