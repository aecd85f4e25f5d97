/*
 * A run over many batches: which there are, in which order, and what becomes
 * of each.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "runtime/base.h"
#include "runtime/fold_apply.h"
#include "runtime/forecast.h"
#include "runtime/outcome_files.h"
#include "runtime/plan.h"
#include "state/compact.h"

/* All batches under all paths, in natural order of their names. */
struct queue {
    struct batch_list *lists; /* one per path given */
    size_t list_count;
    struct queued {
        const char *name;
        const char *path;
    } * batches;
    size_t count;
};

struct run {
    const struct queue *queue;
    struct view *v;
    const struct jobspec *job;
    const struct engine_options *options;
    engine_report_fn *report;
    void *ctx;
    struct df_error *err;
};

static void tell(const struct run *r, struct engine_report report)
{
    report.batches = r->queue->count;
    r->report(r->ctx, &report);
}

/* What became of a batch; the caller adds what else there is to say. */
static struct engine_report report_of(enum engine_outcome outcome,
                                      const struct batch *batch)
{
    return (struct engine_report){ .outcome = outcome,
                                   .name = batch->name,
                                   .batch = batch,
                                   .notices = batch->notices,
                                   .notice_count = batch->notice_count };
}

static void report_batch(const struct run *r, enum engine_outcome outcome,
                         const struct batch *batch,
                         const struct ledger_entry *entry,
                         const char *quarantine)
{
    struct engine_report report = report_of(outcome, batch);

    report.entry = entry;
    report.quarantine = quarantine;
    tell(r, report);
}

/* The batch is safe; now runs that are deferred are put in order. Without
 * the memory or the disk for that they wait for the next run. */
static enum df_status compact(const struct run *r, const struct batch *batch,
                              const struct ledger_entry *e)
{
    const struct compact_plan plan = {
        .budget_us = ENGINE_COMPACT_US + (int64_t)e->measured_us,
        .threads = crew_threads(r->options),
        .stop = r->options->stop,
    };
    struct compact_report report;
    struct df_error trouble = { "" };
    enum df_status status = view_compact(r->v, &plan, &report, &trouble);

    if (status == DF_OK) {
        return status;
    }
    if (status != DF_SYSTEM) {
        *r->err = trouble;
        return status;
    }
    tell(r, (struct engine_report){ .outcome = ENGINE_LISTED,
                                    .name = batch->name,
                                    .trouble = trouble.text });
    return DF_OK;
}

/* Why it was not rebuilt from the base, after all. */
static void report_remark(const struct run *r, const struct batch *batch,
                          const struct base *base)
{
    if (base->remark.len > 0) {
        tell(r, (struct engine_report){
                    .outcome = ENGINE_LISTED,
                    .name = batch->name,
                    .remark = (const char *)base->remark.data,
                });
    }
}

static enum df_status apply_and_report(const struct run *r,
                                       struct batch *batch,
                                       const struct plan *plan,
                                       struct base *base,
                                       struct clock_mark started)
{
    enum install_method method = r->options->method;
    struct application a = {
        .v = r->v,
        .job = r->job,
        .options = r->options,
        .batch = batch,
        .base = base->is_used ? base : NULL,
        .method = method == INSTALL_REBUILD ? INSTALL_AUTO : method,
        .raises_high = plan->raises_high,
        .started = started,
    };
    enum df_status status = application_init(&a, r->err);

    if (status == DF_OK) {
        status = application_apply(&a, r->err);
    }
    if (status == DF_OK) {
        report_remark(r, batch, base);
        report_batch(r, ENGINE_APPLIED, batch, &a.entry,
                     a.quarantine.len > 0 ? (char *)a.quarantine.data : NULL);
        status = compact(r, batch, &a.entry);
    }
    application_fini(&a);
    return status;
}

/* Says what would become of a new batch: its content may be a repeat. */
static enum df_status try_dry(const struct run *r, struct snapshot *s,
                              struct batch *batch, struct base *base)
{
    struct engine_forecast forecast;
    struct hash128 digest;
    bool known;
    enum df_status status = crew_hash(r->job, batch, r->options, r->err);

    if (status == DF_OK) {
        status = batch_digest(batch, &digest, r->err);
    }
    if (status == DF_OK) {
        status = plan_check_content(s, batch, digest, r->options, r->err);
    }
    if (status == DF_OK) {
        status = forecast_batch(r->v, s, batch, r->options,
                                base->is_used ? &base->after : NULL, &forecast,
                                &known, r->err);
    }
    if (status == DF_OK) {
        struct engine_report report = report_of(ENGINE_WOULD_APPLY, batch);

        report_remark(r, batch, base);
        report.forecast = known ? &forecast : NULL;
        tell(r, report);
    }
    return status;
}

/* Whether all that come behind it are in the ledger. */
static enum df_status is_last(const struct run *r, struct snapshot *s,
                              size_t at, bool *last)
{
    enum df_status status = DF_OK;

    *last = true;
    for (size_t i = r->queue->count; status == DF_OK && *last && i > at + 1;
         i--) {
        const char *name = r->queue->batches[i - 1].name;
        struct ledger_entry e;

        status = snapshot_ledger_by_name(s, bytes_of_string(name), &e, last,
                                         r->err);
    }
    return status;
}

/* Which batches come behind it is looked up only where there is a base: a
 * ledger entry each, or more. */
static enum df_status plan_base(const struct run *r, struct snapshot *s,
                                const struct batch *batch, size_t at,
                                struct base *base)
{
    struct base_ask ask = { .v = r->v,
                            .snapshot = s,
                            .job = r->job,
                            .batch = batch,
                            .options = r->options };
    struct bytes directory;
    bool last = false;
    enum df_status status = base_directory(&ask, &directory, r->err);

    if (status == DF_OK && directory.len > 0) {
        status = is_last(r, s, at, &last);
    }
    return status == DF_OK && last ? base_plan(base, &ask, directory, r->err)
                                   : status;
}

static bool are_namesakes(const struct queued *a, const struct queued *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->path, b->path) != 0;
}

/* Whether another directory at hand has the same name. The ledger does not
 * say which of them was applied, and lengths and times of files that were
 * made alike are no sign: their content is. */
static bool has_namesake(const struct queue *q, size_t at)
{
    const struct queued *b = q->batches;

    return (at > 0 && are_namesakes(&b[at], &b[at - 1])) ||
           (at + 1 < q->count && are_namesakes(&b[at], &b[at + 1]));
}

static enum df_status plan_queued(struct plan *p, const struct run *r,
                                  struct snapshot *s, struct batch *batch,
                                  size_t at)
{
    struct engine_options options = *r->options;

    options.paranoid = options.paranoid || has_namesake(r->queue, at);
    return plan_batch(p, s, r->job, batch, &options, r->err);
}

static enum df_status run_scanned(const struct run *r, struct batch *batch,
                                  size_t at, struct clock_mark started)
{
    struct base base = { 0 };
    struct snapshot *s;
    struct plan plan;
    bool apply_it;
    enum df_status status = snapshot_open(&s, r->v, r->err);

    if (status != DF_OK) {
        return status;
    }
    status = plan_queued(&plan, r, s, batch, at);
    apply_it = status == DF_OK && plan.outcome == ENGINE_APPLIED;
    if (status == DF_OK && !apply_it) {
        report_batch(r, plan.outcome, batch,
                     plan.outcome == ENGINE_COVERED ||
                             plan.outcome == ENGINE_NOT_READY
                         ? NULL
                         : &plan.entry,
                     NULL);
    }
    if (apply_it) {
        status = plan_base(r, s, batch, at, &base);
    }
    if (status == DF_OK && apply_it && r->options->dry_run) {
        status = try_dry(r, s, batch, &base);
    }
    snapshot_close(s);
    if (status == DF_OK && apply_it && !r->options->dry_run) {
        status = apply_and_report(r, batch, &plan, &base, started);
    }
    base_fini(&base);
    return status;
}

static enum df_status run_at(const struct run *r, size_t at)
{
    struct clock_mark started = clock_mark();
    struct batch batch;
    enum df_status status;

    if (r->options->stop != NULL && *r->options->stop != 0) {
        return error_set(r->err, DF_INTERRUPTED, "interrupted");
    }
    status = batch_scan(&batch, r->queue->batches[at].path,
                        crew_threads(r->options), r->err);
    if (status == DF_OK) {
        status = run_scanned(r, &batch, at, started);
        batch_fini(&batch);
    }
    return status;
}

static int compare_queued(const void *a, const void *b)
{
    const struct queued *x = a;
    const struct queued *y = b;
    int order = batch_name_compare(x->name, y->name);

    return order != 0 ? order : strcmp(x->path, y->path);
}

static void queue_fini(struct queue *q)
{
    for (size_t i = 0; i < q->list_count; i++) {
        batch_list_fini(&q->lists[i]);
    }
    free(q->lists);
    free(q->batches);
}

static enum df_status queue_sort(struct queue *q, struct df_error *err)
{
    size_t total = 0;

    for (size_t i = 0; i < q->list_count; i++) {
        total += q->lists[i].count;
    }
    q->batches = calloc(total + 1, sizeof *q->batches);
    if (q->batches == NULL) {
        return error_no_memory(err);
    }
    for (size_t i = 0; i < q->list_count; i++) {
        for (size_t k = 0; k < q->lists[i].count; k++) {
            q->batches[q->count++] =
                (struct queued){ .name = q->lists[i].names[k],
                                 .path = q->lists[i].paths[k] };
        }
    }
    qsort(q->batches, q->count, sizeof *q->batches, compare_queued);
    return DF_OK;
}

static enum df_status queue_init(struct queue *q, const struct run *r,
                                 const char *const *paths, size_t n)
{
    *q = (struct queue){ .lists = calloc(n + 1, sizeof *q->lists) };
    if (q->lists == NULL) {
        return error_no_memory(r->err);
    }
    for (size_t i = 0; i < n; i++) {
        struct batch_list *list = &q->lists[i];
        enum df_status status = batch_list_open(list, paths[i], r->err);

        if (status != DF_OK) {
            return status;
        }
        q->list_count++;
        if (list->notice_count > 0) {
            tell(r, (struct engine_report){
                        .outcome = ENGINE_LISTED,
                        .name = paths[i],
                        .notices = list->notices,
                        .notice_count = list->notice_count,
                    });
        }
    }
    return queue_sort(q, r->err);
}

/* What fold jobs want before the first batch. */
static enum df_status begin(const struct run *r)
{
    enum df_status status;

    if (r->job->job->fold == NULL) {
        return r->options->outcomes == NULL
                   ? DF_OK
                   : error_set(r->err, DF_USAGE,
                               "--outcomes: the records of this view have no "
                               "outcomes; those of dedup have");
    }
    status = fold_check_options(r->options, r->err);
    return status == DF_OK && !r->options->dry_run
               ? outcome_place_recover(r->v, r->err)
               : status;
}

enum df_status engine_run(struct view *v, const struct jobspec *job,
                          const char *const *paths, size_t n,
                          const struct engine_options *options,
                          engine_report_fn *report, void *ctx,
                          struct df_error *err)
{
    struct queue q;
    struct run r = { .queue = &q,
                     .v = v,
                     .job = job,
                     .options = options,
                     .report = report,
                     .ctx = ctx,
                     .err = err };
    enum df_status status = begin(&r);

    if (status != DF_OK) {
        return status;
    }
    status = queue_init(&q, &r, paths, n);

    for (size_t i = 0; status == DF_OK && i < q.count; i++) {
        status = run_at(&r, i);
    }
    queue_fini(&q);
    return status;
}
