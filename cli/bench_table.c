/* The report for people, and the one for programs. */
#include <stdio.h>

#include "cli/bench_text.h"
#include "cli/human.h"

enum {
    HEAD = 14,  /* columns of sizes */
    COLUMN = 11 /* columns of a method: six fit 80 */
};

static void put_subject(const struct bench_subject *s, struct output *out)
{
    const struct crossover_report *r = s->report;
    char a[HUMAN_MAX];
    char b[HUMAN_MAX];
    struct shown name;

    output_printf(out, "documents  %s: %s in the base, %s\n",
                  shown(&name, bytes_of_string(s->documents)),
                  human_count(a, r->documents), human_bytes(b, r->bytes));
    output_printf(out, "view       %s%s",
                  s->view == NULL ? ""
                                  : shown(&name, bytes_of_string(s->view)),
                  s->view == NULL ? "" : ", a copy: ");
    output_shown(out, bytes_of_string(s->definition));
    output_byte(out, '\n');
    output_printf(out, "           %s row%s, %s, %u shard%s\n",
                  human_count(a, r->rows), human_plural(r->rows),
                  human_bytes(b, r->view_bytes), s->shards,
                  human_plural(s->shards));
    output_printf(out,
                  "measured   %u time%s each, in turns, after a warm-up; "
                  "seed %llu\n\n",
                  r->repeats, human_plural(r->repeats),
                  (unsigned long long)s->seed);
}

static void put_heading(const struct crossover_report *r, struct output *out)
{
    output_printf(out, "%-*s", HEAD, "DELTA");
    for (size_t i = 0; i < r->method_count; i++) {
        char upper[COLUMN] = "";
        const char *name = crossover_method(r->methods[i])->name;

        for (size_t k = 0; name[k] != '\0' && k + 1 < sizeof upper; k++) {
            upper[k] = (char)(name[k] & ~0x20); /* names are a to z */
        }
        output_printf(out, "%*s", COLUMN, upper);
    }
    output_byte(out, '\n');
}

/* The column with the least median. */
static size_t fastest(const struct crossover_report *r, size_t size)
{
    size_t best = 0;

    for (size_t i = 1; i < r->method_count; i++) {
        if (crossover_spread(r, size, i).median <
            crossover_spread(r, size, best).median) {
            best = i;
        }
    }
    return best;
}

/* Columns of method i, one of them a blank, where the size took `taken`: what
 * is too long for HEAD takes from the first. */
static int width_of(size_t i, size_t taken)
{
    if (i > 0) {
        return COLUMN;
    }
    return taken < HEAD + COLUMN ? HEAD + COLUMN - (int)taken : 1;
}

static void put_medians(const struct crossover_report *r, size_t size,
                        size_t taken, struct output *out)
{
    struct spread best = crossover_spread(r, size, fastest(r, size));

    for (size_t i = 0; i < r->method_count; i++) {
        struct spread s = crossover_spread(r, size, i);
        bool is_best =
            s.median <= best.median ||
            (s.count >= SPREAD_REPEATS_MIN && spread_compare(&s, &best) == 0);
        char time[HUMAN_MAX];
        char cell[HUMAN_MAX + 1];

        (void)snprintf(cell, sizeof cell, "%s%s", is_best ? "*" : "",
                       human_duration(time, (uint64_t)(s.median + 0.5)));
        output_printf(out, " %*s", width_of(i, taken) - 1, cell);
    }
    output_byte(out, '\n');
}

static void put_ranges(const struct crossover_report *r, size_t size,
                       size_t taken, struct output *out)
{
    for (size_t i = 0; i < r->method_count; i++) {
        struct spread s = crossover_spread(r, size, i);
        char range[BENCH_TEXT];

        output_printf(out, " %*s", width_of(i, taken) - 1,
                      bench_range(range, &s));
    }
    output_byte(out, '\n');
}

static void put_size(const struct crossover_report *r, size_t size,
                     struct output *out)
{
    const struct crossover_size *s = &r->sizes[size];
    char a[HUMAN_MAX];
    char b[HUMAN_MAX];
    char cell[2 * HUMAN_MAX + 8];

    (void)snprintf(cell, sizeof cell, "%s %s", bench_size(a, s),
                   human_bytes(b, s->bytes));
    output_text(out, cell);
    put_medians(r, size, strlen(cell), out);
    (void)snprintf(cell, sizeof cell, "-%s +%s", human_count(a, s->deleted),
                   human_count(b, s->inserted));
    output_text(out, cell);
    put_ranges(r, size, strlen(cell), out);
}

/* Samples whose method was not the one that was asked for. */
static unsigned others(const struct crossover_report *r, size_t size,
                       size_t column, enum install_method *other)
{
    const struct crossover_sample *s = crossover_samples(r, size, column);
    enum install_method wanted = crossover_method(r->methods[column])->method;
    unsigned n = 0;

    for (unsigned i = 0; i < r->repeats; i++) {
        if (s[i].method != wanted) {
            *other = s[i].method;
            n++;
        }
    }
    return n;
}

/* An increment that did not fit its memory was none. auto is meant to be
 * another. */
static void put_others(const struct crossover_report *r, struct output *out)
{
    for (size_t column = 0; column < r->method_count; column++) {
        const struct crossover_method *m =
            crossover_method(r->methods[column]);

        for (size_t i = 0; i < r->size_count; i++) {
            enum install_method other = m->method;
            unsigned n = others(r, i, column, &other);
            char size[BENCH_TEXT];

            if (n > 0) {
                output_printf(out, "%s was installed by %s at %s (%u of %u)\n",
                              m->name, install_method_name(other),
                              bench_size(size, &r->sizes[i]), n, r->repeats);
            }
        }
    }
}

static bool put_sentence(const struct crossover_report *r, size_t a, size_t b,
                         struct output *out)
{
    struct buf text = { 0 };
    bool ok = bench_sentence(r, a, b, &text);

    if (ok) {
        output_bytes(out, buf_bytes(&text));
        output_byte(out, '\n');
    }
    buf_fini(&text);
    return ok;
}

/* All methods beside the full recomputation; the others beside each other
 * where they cross. */
static bool put_words(const struct crossover_report *r, struct output *out)
{
    struct spread_crossing crossings[DELTAS_MAX];
    bool ok = true;

    if (r->repeats < SPREAD_REPEATS_MIN) {
        output_printf(out,
                      "which is faster is not said: that needs at least %d "
                      "repeats\n",
                      SPREAD_REPEATS_MIN);
        return true;
    }
    for (size_t i = 1; ok && i < r->method_count; i++) {
        ok = put_sentence(r, i, 0, out);
    }
    for (size_t i = 1; ok && i < r->method_count; i++) {
        for (size_t k = i + 1; ok && k < r->method_count; k++) {
            if (bench_crossings(r, i, k, crossings) > 0) {
                ok = put_sentence(r, i, k, out);
            }
        }
    }
    return ok;
}

enum df_status bench_print(const struct bench_subject *s, struct output *out,
                           struct df_error *err)
{
    const struct crossover_report *r = s->report;

    put_subject(s, out);
    put_heading(r, out);
    for (size_t i = 0; i < r->size_count; i++) {
        put_size(r, i, out);
    }
    output_text(out, "* the fastest, and what cannot be told apart from it; "
                     "second lines: quartiles\n\n");
    put_others(r, out);
    return put_words(r, out) ? DF_OK : error_no_memory(err);
}

bool bench_csv(const struct bench_subject *s, struct buf *out)
{
    const struct crossover_report *r = s->report;
    char digest[HASH128_TEXT];
    bool ok =
        buf_append_string(out, "asked_percent,percent,deleted,inserted,bytes,"
                               "method,installed_by,repeat,seconds,rows,"
                               "digest\n");

    for (size_t i = 0; i < r->size_count; i++) {
        const struct crossover_size *z = &r->sizes[i];

        for (size_t k = 0; k < r->method_count; k++) {
            const struct crossover_sample *samples =
                crossover_samples(r, i, k);

            for (unsigned n = 0; ok && n < r->repeats; n++) {
                ok = buf_printf(
                    out, "%g,%.4g,%llu,%llu,%llu,%s,%s,%u,%.6f,%llu,%s\n",
                    z->asked, z->percent, (unsigned long long)z->deleted,
                    (unsigned long long)z->inserted,
                    (unsigned long long)z->bytes,
                    crossover_method(r->methods[k])->name,
                    install_method_name(samples[n].method), n + 1,
                    samples[n].us / 1e6, (unsigned long long)z->rows,
                    hash128_text(digest, z->digest));
            }
        }
    }
    return ok;
}
