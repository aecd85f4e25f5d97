/*
 * A view compared with a recomputation: the steps of engine.c up to reduce,
 * over the surviving documents or over all applied batches, and then each
 * partition's run beside the rows of the shard (comparison.h).
 */
#include <stdlib.h>

#include "runtime/comparison.h"
#include "runtime/crew.h"
#include "runtime/replay.h"
#include "runtime/window.h"
#include "state/history.h"

struct verification {
    struct view *v;
    const struct jobspec *job;
    const struct engine_options *options;
    struct snapshot *snapshot;
    struct crew *crew;     /* of group jobs */
    struct replay *replay; /* of fold jobs */
    struct comparison_rules rules;
    unsigned shards;
    struct compared *shard; /* one per shard */
    struct engine_verdict *verdict;
};

/* One shard's comparison, and how it went. */
struct compared {
    struct comparison comparison;
    enum df_status status;
    struct df_error err;
};

/* ---- the recomputation ---- */

static enum df_status map_documents(struct verification *v, const char *dir,
                                    struct df_error *err)
{
    struct batch documents;
    enum df_status status =
        batch_scan_tree(&documents, dir, crew_threads(v->options), err);

    if (status == DF_OK) {
        status = crew_map(v->crew, &documents, NULL, err);
        batch_fini(&documents);
    }
    return status;
}

/* Quarantined files of an entry, by their place in the batch. */
struct quarantined {
    bool *skip;
    size_t count;
    size_t next;
};

static bool note_quarantined(void *ctx, const struct ledger_file *file)
{
    struct quarantined *q = ctx;

    if (q->next == q->count) {
        return false;
    }
    q->skip[q->next++] = file->quarantined;
    return true;
}

static enum df_status map_applied(struct verification *v,
                                  const struct ledger_entry *e,
                                  struct batch *batch, struct df_error *err)
{
    struct quarantined q = { .skip =
                                 calloc(batch->file_count + 1, sizeof(bool)),
                             .count = batch->file_count };
    struct hash128 digest;
    enum df_status status;

    if (q.skip == NULL) {
        return error_no_memory(err);
    }
    status =
        snapshot_ledger_files(v->snapshot, e->seq, note_quarantined, &q, err);
    if (status == DF_OK) {
        status = crew_map(v->crew, batch, q.skip, err);
    }
    free(q.skip);
    if (status == DF_OK) {
        status = batch_digest(batch, &digest, err);
    }
    if (status == DF_OK && !hash128_equal(digest, e->digest)) {
        struct shown name;

        status = error_set(err, DF_LEDGER,
                           "batch '%s': its content is not what was applied",
                           shown(&name, e->name));
    }
    return status;
}

static enum df_status map_entry(struct verification *v,
                                const struct batch_list *list, const char *dir,
                                const struct ledger_entry *e,
                                struct df_error *err)
{
    const char *path;
    struct batch batch;
    enum df_status status;

    if (e->kind == LEDGER_REBUILD) {
        return error_set(err, DF_USAGE,
                         "the view was rebuilt from documents, its batches "
                         "alone do not give it: verify it against a "
                         "directory of documents");
    }
    status = replay_find(list, dir, e, &path, err);
    if (status == DF_OK) {
        status = batch_scan(&batch, path, crew_threads(v->options), err);
    }
    if (status == DF_OK) {
        status = map_applied(v, e, &batch, err);
        batch_fini(&batch);
    }
    return status;
}

/* Whether an entry is of a batch that the rows do not hold, or of none. */
static enum df_status is_out(struct verification *v,
                             const struct ledger_entry *e, bool *out,
                             struct df_error *err)
{
    struct kept_run kept;
    bool found;
    enum df_status status;

    *out = e->undone || e->kind == LEDGER_UNDO || e->kind == LEDGER_REDO;
    if (*out || !v->rules.has_window) {
        return DF_OK;
    }
    status = snapshot_kept_after(v->snapshot, e->seq - 1, &kept, &found, err);
    *out = !found || kept.seq != e->seq || kept.times == 0;
    return status;
}

static enum df_status map_batches(struct verification *v, const char *dir,
                                  struct df_error *err)
{
    uint64_t last = snapshot_state(v->snapshot).seq;
    struct batch_list list;
    enum df_status status = batch_list_open(&list, dir, err);

    if (status != DF_OK) {
        return status;
    }
    for (uint64_t seq = 1; status == DF_OK && seq <= last; seq++) {
        struct ledger_entry e;
        bool found;
        bool out = false;

        status = snapshot_ledger_get(v->snapshot, seq, &e, &found, err);
        if (status == DF_OK && found) {
            status = is_out(v, &e, &out, err);
        }
        if (status == DF_OK && !found) {
            status = error_set(err, DF_STATE, "the ledger has no entry %llu",
                               (unsigned long long)seq);
        }
        if (status == DF_OK && !out) {
            status = map_entry(v, &list, dir, &e, err);
        }
    }
    batch_list_fini(&list);
    return status;
}

static struct run_source *expected_run(const struct verification *v,
                                       unsigned shard)
{
    return v->replay != NULL ? replay_run(v->replay, shard)
                             : crew_run(v->crew, shard);
}

static void verify_shard(struct verification *v, unsigned i)
{
    struct compared *s = &v->shard[i];
    struct run_source *rows;

    s->status = snapshot_shard_open(&rows, v->snapshot, i, &s->err);
    if (s->status == DF_OK) {
        s->comparison.rules = &v->rules;
        s->status =
            comparison_run(&s->comparison, expected_run(v, i), rows, &s->err);
        snapshot_shard_close(rows);
    }
}

/* ---- the verdict ---- */

struct ordered {
    const struct comparison_difference *difference;
};

static int compare_differences(const void *a, const void *b)
{
    const struct ordered *x = a;
    const struct ordered *y = b;

    return bytes_compare(buf_bytes(&x->difference->row_key),
                         buf_bytes(&y->difference->row_key));
}

static enum df_status show(struct verification *v,
                           const struct comparison_difference *d,
                           void (*different)(void *ctx,
                                             const struct engine_difference *),
                           void *ctx, struct df_error *err)
{
    struct buf room = { 0 };
    struct engine_difference shown = { .expected = d->expected,
                                       .found = d->found };
    bool ok = row_decode(v->rules.shape, buf_bytes(&d->row_key), &room,
                         &shown.key, &shown.element);

    if (ok) {
        different(ctx, &shown);
    }
    buf_fini(&room);
    return ok ? DF_OK : error_set(err, DF_STATE, "a stored row is damaged");
}

/* The first differences of all shards, in byte order. */
static enum df_status show_first(
    struct verification *v,
    void (*different)(void *ctx, const struct engine_difference *), void *ctx,
    struct df_error *err)
{
    struct ordered all[VIEW_SHARDS_MAX * COMPARISON_SHOWN];
    enum df_status status = DF_OK;
    size_t n = 0;

    for (unsigned i = 0; i < v->shards; i++) {
        const struct comparison *c = &v->shard[i].comparison;

        for (unsigned k = 0; k < COMPARISON_SHOWN && k < c->differences; k++) {
            all[n++].difference = &c->first[k];
        }
    }
    qsort(all, n, sizeof *all, compare_differences);
    for (size_t i = 0; status == DF_OK && i < n && i < COMPARISON_SHOWN; i++) {
        status = show(v, all[i].difference, different, ctx, err);
    }
    return status;
}

static enum df_status sum_up(struct verification *v, struct df_error *err)
{
    struct engine_verdict *sum = v->verdict;

    for (unsigned i = 0; i < v->shards; i++) {
        const struct compared *s = &v->shard[i];
        const struct comparison *c = &s->comparison;

        if (s->status != DF_OK) {
            *err = s->err;
            return s->status;
        }
        sum->rows_checked += c->rows;
        sum->differences += c->differences;
        sum->view = digest_add(sum->view, c->view);
        sum->recomputed = digest_add(sum->recomputed, c->recomputed);
        if (!hollow_add(&sum->hollow, &c->hollow)) {
            return error_no_memory(err);
        }
    }
    return DF_OK;
}

static enum df_status open_verification(struct verification *v,
                                        struct df_error *err)
{
    struct crew_plan plan = {
        .job = v->job,
        .shape = view_definition(v->v)->shape,
        .parts = view_definition(v->v)->shards,
        .threads = crew_threads(v->options),
        .memory = crew_memory(v->options) / 2,
        .scratch = view_scratch(v->v),
        .sample = v->rules.sample,
        .options = v->options,
    };

    v->rules.shape = plan.shape;
    v->shards = plan.parts;
    v->shard = calloc(plan.parts, sizeof *v->shard);
    if (v->shard == NULL) {
        return error_no_memory(err);
    }
    return v->job->job->fold != NULL ? DF_OK : crew_open(&v->crew, &plan, err);
}

static void close_verification(struct verification *v)
{
    for (unsigned i = 0; v->shard != NULL && i < v->shards; i++) {
        comparison_fini(&v->shard[i].comparison);
    }
    free(v->shard);
    replay_close(v->replay);
    crew_close(v->crew);
    snapshot_close(v->snapshot);
}

/* The steps up to reduce. */
static enum df_status recompute(struct verification *v, const char *dir,
                                bool deltas, struct df_error *err)
{
    enum df_status status =
        deltas ? map_batches(v, dir, err) : map_documents(v, dir, err);

    if (status == DF_OK) {
        status = crew_finish(v->crew, err);
    }
    if (status == DF_OK) {
        struct crew_stats stats = crew_stats(v->crew);

        v->verdict->documents = stats.inserted + stats.deleted;
        status = crew_reduce(v->crew, err);
    }
    return status;
}

/* The same for fold jobs, which know no other way than in order. */
static enum df_status replay_all(struct verification *v, const char *dir,
                                 bool deltas, struct df_error *err)
{
    enum df_status status;

    if (!deltas) {
        return error_set(err, DF_USAGE,
                         "what this view holds depends on the order of its "
                         "records: verify it with --deltas=DIR, from the "
                         "batches that were applied");
    }
    if (v->rules.sample > 1) {
        return error_set(err, DF_USAGE,
                         "--sample: the window depends on all records, so "
                         "none of this view can be left out");
    }
    status = replay_open(&v->replay, v->v, v->snapshot, v->job, dir,
                         v->options, err);
    if (status == DF_OK) {
        v->verdict->documents = replay_records(v->replay);
    }
    return status;
}

/* Documents do not tell which of them a window holds. */
static enum df_status check_window(struct verification *v, bool deltas,
                                   struct df_error *err)
{
    struct window w;
    enum df_status status = window_of(&w, v->job, err);

    v->rules.has_window = status == DF_OK && w.size > 0;
    if (v->rules.has_window && !deltas) {
        status = error_set(err, DF_USAGE,
                           "the view has a window: which documents are in it "
                           "is told by its batches alone: verify it with "
                           "--deltas DIR");
    }
    return status;
}

enum df_status engine_verify(
    struct view *view, const struct jobspec *job, const char *dir, bool deltas,
    uint64_t sample, const struct engine_options *options,
    void (*different)(void *ctx, const struct engine_difference *), void *ctx,
    struct engine_verdict *verdict, struct df_error *err)
{
    struct verification v = { .v = view,
                              .job = job,
                              .options = options,
                              .rules = { .sample = sample,
                                         .stop = options->stop },
                              .verdict = verdict };
    enum df_status status;

    *verdict = (struct engine_verdict){ 0 };
    status = check_window(&v, deltas, err);
    if (status != DF_OK) {
        return status;
    }
    status = snapshot_open(&v.snapshot, view, err);
    if (status == DF_OK) {
        status = open_verification(&v, err);
    }
    if (status == DF_OK) {
        status = job->job->fold != NULL ? replay_all(&v, dir, deltas, err)
                                        : recompute(&v, dir, deltas, err);
    }
    if (status == DF_OK) {
#pragma omp parallel for num_threads(                                         \
    install_team(crew_threads(options), v.shards)) schedule(dynamic, 1)
        for (unsigned i = 0; i < v.shards; i++) {
            verify_shard(&v, i);
        }
        status = sum_up(&v, err);
    }
    if (status == DF_OK && verdict->differences > 0) {
        status = show_first(&v, different, ctx, err);
        status = status == DF_OK
                     ? error_set(err, DF_DIFFERS, "%llu rows differ",
                                 (unsigned long long)verdict->differences)
                     : status;
    }
    close_verification(&v);
    return status;
}
