#include "runtime/crossover.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "runtime/crossover_site.h"
#include "runtime/window.h"

/* One line each; nothing else knows which there are. */
static const struct crossover_method methods[] = {
    { "full", "full recomputation", INSTALL_REBUILD, false },
    { "increment", "increment", INSTALL_INCREMENT, false },
    { "overwrite", "overwrite", INSTALL_OVERWRITE, false },
    { "defer", "defer", INSTALL_DEFER, false },
    { "auto", "auto", INSTALL_AUTO, false },
    { "rebuild", "rebuild from the base", INSTALL_REBUILD, true },
};
enum { METHODS = sizeof methods / sizeof methods[0] };

const struct crossover_method *crossover_method(size_t i)
{
    return i < METHODS ? &methods[i] : NULL;
}

/* A measurement under way. */
struct bench {
    struct site site;
    struct crossover_report *report;
    struct df_error *err;
};

struct crossover_sample *crossover_samples(const struct crossover_report *r,
                                           size_t size, size_t column)
{
    return r->samples + (size * r->method_count + column) * r->repeats;
}

struct spread crossover_spread(const struct crossover_report *r, size_t size,
                               size_t column)
{
    const struct crossover_sample *samples =
        crossover_samples(r, size, column);
    double times[CROSSOVER_REPEATS_MAX];

    for (unsigned i = 0; i < r->repeats; i++) {
        times[i] = samples[i].us;
    }
    return spread_of(times, r->repeats);
}

static void set_label(struct bench *b, const struct crossover_size *size,
                      const struct crossover_method *m, unsigned round)
{
    if (round == 0) {
        (void)snprintf(b->site.label, sizeof b->site.label,
                       "%g %%, %s, warming up", size->asked, m->name);
    } else {
        (void)snprintf(b->site.label, sizeof b->site.label,
                       "%g %%, %s, %u of %u", size->asked, m->name, round,
                       b->report->repeats);
    }
}

/* Times one method on a fresh copy. */
static enum df_status take_time(struct bench *b,
                                const struct crossover_method *m,
                                struct crossover_sample *sample)
{
    struct site *s = &b->site;
    struct ledger_entry entry;
    int64_t begun;
    enum df_status status = site_renew(s, b->err);

    if (status != DF_OK) {
        return status;
    }
    sample->method = m->method;
    begun = clock_us();
    status = m->method == INSTALL_REBUILD && !m->of_base
                 ? site_rebuild(s, s->work, &entry, b->err)
                 : site_fold(s, s->work, m->method, &sample->method, b->err);
    sample->us = (double)(clock_us() - begun);
    return status;
}

/* The oracle: what the full recomputation gave is what all must give. */
static enum df_status check_rows(struct bench *b, struct crossover_size *size,
                                 const struct crossover_method *m,
                                 bool is_first)
{
    struct snapshot_state state;
    enum df_status status = site_state(b->site.work, &state, b->err);

    if (status != DF_OK) {
        return status;
    }
    if (is_first) {
        size->rows = state.rows;
        size->digest = state.digest;
    }
    /* Where rows are deferred their number is not known, the digest is. */
    if ((state.unfolded == 0 && state.rows != size->rows) ||
        !hash128_equal(state.digest, size->digest)) {
        return error_set(b->err, DF_DIFFERS,
                         "%s gives other rows than the full recomputation "
                         "for a delta of %g %%: did a document change "
                         "meanwhile? If not, please report this",
                         m->label, size->asked);
    }
    return DF_OK;
}

static enum df_status measure_one(struct bench *b, size_t at, size_t column,
                                  unsigned round)
{
    struct crossover_report *r = b->report;
    struct crossover_size *size = &r->sizes[at];
    const struct crossover_method *m = &methods[r->methods[column]];
    struct crossover_sample sample = { 0 };
    enum df_status status;

    set_label(b, size, m, round);
    status = take_time(b, m, &sample);
    if (status == DF_OK) {
        status = check_rows(b, size, m, round == 0 && column == 0);
    }
    if (status == DF_OK && round > 0) {
        crossover_samples(r, at, column)[round - 1] = sample;
    }
    return status;
}

/* Round 0 warms up and has the full recomputation first. */
static enum df_status measure_size(struct bench *b, size_t at)
{
    size_t n = b->report->method_count;
    enum df_status status = DF_OK;

    for (unsigned round = 0; round <= b->report->repeats; round++) {
        for (size_t i = 0; status == DF_OK && i < n; i++) {
            status = measure_one(b, at, (i + round) % n, round);
        }
    }
    return status;
}

static enum df_status measure_delta(struct bench *b, const struct delta *d,
                                    size_t at)
{
    enum df_status status = site_enter(&b->site, d, b->err);

    b->report->sizes[at] = (struct crossover_size){
        .asked = d->asked,
        .percent = d->percent,
        .deleted = d->deleted.count,
        .inserted = d->inserted.count,
        .bytes = d->deleted.bytes + d->inserted.bytes,
    };
    if (status == DF_OK) {
        status = measure_size(b, at);
    }
    return status == DF_OK ? site_leave(&b->site, d, b->err) : status;
}

static enum df_status measure_deltas(struct bench *b)
{
    const struct deltas *deltas = &b->site.deltas;
    enum df_status status = DF_OK;

    for (size_t i = 0; status == DF_OK && i < deltas->count; i++) {
        if (deltas->list[i].kind == DELTA_MADE) {
            status = measure_delta(b, &deltas->list[i], b->report->size_count);
            b->report->size_count++;
        }
    }
    return status;
}

/* Leaves out what cannot be measured here. */
static void drop_methods(struct bench *b)
{
    struct crossover_report *r = b->report;
    char text[DF_ERROR_SIZE];
    size_t kept = 0;

    for (size_t i = 0; i < r->method_count; i++) {
        const struct crossover_method *m = &methods[r->methods[i]];

        if (!m->of_base || b->site.knows_base) {
            r->methods[kept++] = r->methods[i];
            continue;
        }
        (void)snprintf(text, sizeof text, "%s is left out: %.4000s", m->name,
                       b->site.no_base.text);
        site_notice(&b->site, text);
    }
    r->method_count = kept;
}

static enum df_status describe_base(struct bench *b)
{
    struct crossover_report *r = b->report;
    struct snapshot_state state;
    enum df_status status = site_state(b->site.base, &state, b->err);

    if (status == DF_OK) {
        r->documents = b->site.deltas.base.count;
        r->bytes = b->site.deltas.base.bytes;
        r->rows = state.rows;
        r->view_bytes = b->site.base_bytes;
    }
    return status;
}

static enum df_status report_init(struct crossover_report *r,
                                  const struct crossover_plan *plan,
                                  struct df_error *err)
{
    *r = (struct crossover_report){ .repeats = plan->repeats };
    for (size_t i = 0; i < METHODS; i++) {
        if (i == 0 || plan->methods[i]) {
            r->methods[r->method_count++] = i;
        }
    }
    r->sizes = calloc(plan->percent_count, sizeof *r->sizes);
    r->samples = calloc(plan->percent_count * r->method_count * plan->repeats,
                        sizeof *r->samples);
    return r->sizes == NULL || r->samples == NULL ? error_no_memory(err)
                                                  : DF_OK;
}

/* What can be computed from documents at all. */
static enum df_status check_job(const struct jobspec *job,
                                struct df_error *err)
{
    struct view_having having;
    struct window w;
    enum df_status status = engine_check_options(job, &having, err);

    if (status == DF_OK) {
        status = window_of(&w, job, err);
    }
    if (status == DF_OK && w.size > 0) {
        return error_set(err, DF_USAGE,
                         "a view with a window has no full recomputation to "
                         "be compared with: which documents are in it is "
                         "told by its batches alone; measure without window=");
    }
    if (status == DF_OK && job->job->fold != NULL) {
        return error_set(err, DF_USAGE,
                         "%s has no full recomputation to be compared with: "
                         "what it holds depends on the order of its records",
                         job->job->name);
    }
    return status;
}

enum df_status crossover_measure(struct crossover_report *r,
                                 const struct crossover_plan *plan,
                                 struct df_error *err)
{
    struct bench b = { .report = r, .err = err };
    enum df_status status = report_init(r, plan, err);

    if (status == DF_OK) {
        status = check_job(plan->job, err);
    }
    if (status == DF_OK) {
        status = site_open(&b.site, plan, err);
    }
    if (status == DF_OK) {
        status = site_make_base(&b.site, err);
    }
    if (status == DF_OK) {
        drop_methods(&b);
        status = describe_base(&b);
    }
    if (status == DF_OK) {
        status = measure_deltas(&b);
    }
    site_close(&b.site);
    if (status != DF_OK) {
        crossover_fini(r);
    }
    return status;
}

void crossover_fini(struct crossover_report *r)
{
    free(r->sizes);
    free(r->samples);
    *r = (struct crossover_report){ 0 };
}
