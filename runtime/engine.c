/*
 * The way of the data, on one page: apply() below is
 *
 *     input -> map -> combine -> partition -> reduce -> install
 *
 * for one batch, each step a call. Around it: which batches, in which order
 * (run.c), what the ledger says of each (plan.c), who is to blame when a row
 * would become negative (negative.c), the same steps for a full
 * recomputation: in place of a batch's delta (base.c), one that replaces the
 * view (rebuild.c) or is compared with it (verify.c).
 *
 * The memory budget is dealt out once: a half to the tables that map fills
 * (to the buffers that merge what they spilled, afterwards), a quarter to the
 * pages that install dirties, the rest to what is small.
 */
#include "runtime/application.h"

#include <stdlib.h>

#include "base/clock.h"
#include "runtime/base.h"
#include "runtime/crew.h"
#include "runtime/fold_apply.h"
#include "runtime/negative.h"
#include "runtime/plan.h"

#ifndef DELTAFOLD_VERSION
#error "the build says which version this is"
#endif

static const char program[] = "deltafold " DELTAFOLD_VERSION;

enum df_status application_init(struct application *a, struct df_error *err)
{
    a->skip = calloc(a->batch->file_count + 1, sizeof(bool));
    return a->skip == NULL ? error_no_memory(err) : DF_OK;
}

void application_fini(struct application *a)
{
    crew_close(a->crew);
    keeping_fini(&a->keeping);
    install_negatives_fini(&a->negatives);
    buf_fini(&a->outcomes);
    buf_fini(&a->quarantine);
    free(a->skip);
}

/* ---- input, map, combine ---- */

enum df_status application_open(struct application *a, unsigned parts,
                                struct df_error *err)
{
    struct crew_plan plan = {
        .job = a->job,
        .shape = view_definition(a->v)->shape,
        .parts = parts,
        .threads = crew_threads(a->options),
        .memory = crew_memory(a->options) / 2,
        .scratch = view_scratch(a->v),
        .sample = 1,
        .options = a->options,
    };

    return crew_open(&a->crew, &plan, err);
}

enum df_status application_map(struct application *a, unsigned parts,
                               struct df_error *err)
{
    enum df_status status = application_open(a, parts, err);

    if (status == DF_OK) {
        status = crew_map(a->crew, a->batch, a->skip, err);
    }
    if (status == DF_OK) {
        status = batch_digest(a->batch, &a->entry.digest, err);
    }
    clock_since(&a->started, &a->entry.map_us, &a->entry.map_cpu_us);
    return status;
}

static enum df_status check_ledger(struct application *a, struct snapshot *s,
                                   struct df_error *err)
{
    struct crew_stats stats = crew_stats(a->crew);
    enum df_status status = DF_OK;

    /* Two batches of nothing but a header are not one batch twice. */
    if (stats.inserted + stats.deleted > 0 || a->base != NULL) {
        status =
            plan_check_content(s, a->batch, a->entry.digest, a->options, err);
    }
    if (status == DF_OK) {
        status = keeping_batch(&a->keeping, s, a->job, a->batch->name, err);
    }
    if (status == DF_OK && base_is_possible(a->job)) {
        status = survivors_before(&a->survivors, s, err);
    }
    return status;
}

/* Now that the content is known: is it a repeat under another name? What will
 * it do to the runs that are kept? And which documents are there? */
enum df_status application_check(struct application *a, struct df_error *err)
{
    struct snapshot *s;
    enum df_status status = snapshot_open(&s, a->v, err);

    if (status == DF_OK) {
        status = check_ledger(a, s, err);
        snapshot_close(s);
    }
    return status;
}

/* ---- partition, reduce ---- */

enum df_status application_reduce(struct application *a, struct df_error *err)
{
    struct clock_mark begun = clock_mark();
    enum df_status status;

    crew_phase(a->options, a->batch->name, "reduce");
    status = crew_finish(a->crew, err);
    if (status == DF_OK) {
        status = crew_reduce(a->crew, err);
    }
    clock_since(&begun, &a->entry.reduce_us, &a->entry.reduce_cpu_us);
    return status;
}

/* ---- install ---- */

void application_fill(struct application *a)
{
    struct crew_stats stats = crew_stats(a->crew);
    struct ledger_entry *e = &a->entry;

    e->kind = LEDGER_BATCH;
    e->name = bytes_of_string(a->batch->name);
    e->program = bytes_of_string(program);
    e->threads = crew_threads(a->options);
    e->inserted = stats.inserted;
    e->deleted = stats.deleted;
    e->records = stats.records;
    e->records_skipped = stats.skipped;
    e->pairs = stats.pairs;
    e->spills = stats.spills;
    e->survivors = a->survivors;
    survivors_add(&e->survivors, a->batch, a->skip);
    memcpy(e->counters, stats.counters, sizeof e->counters);
    for (size_t i = 0; i < a->batch->file_count; i++) {
        const struct batch_file *f = &a->batch->files[i];

        e->input_bytes += f->length;
        e->quarantined += a->skip[i] ? 1 : 0;
    }
}

/* The batch's files as the ledger keeps them; NULL without memory. */
static struct ledger_file *ledger_files(const struct batch *batch,
                                        const bool *skip)
{
    struct ledger_file *files = calloc(batch->file_count + 1, sizeof *files);

    for (size_t i = 0; files != NULL && i < batch->file_count; i++) {
        const struct batch_file *f = &batch->files[i];

        files[i] = (struct ledger_file){
            .inserted = f->section == BATCH_INSERTED,
            .quarantined = skip != NULL && skip[i],
            .path = bytes_of_string(f->path),
            .id = f->id,
            .length = f->length,
            .mtime = f->mtime,
            .hash = f->hash,
        };
    }
    return files;
}

void application_deal(struct application *a, unsigned parts,
                      struct install_shard *shards)
{
    application_fill(a);
    for (unsigned i = 0; i < parts; i++) {
        struct reduce_bound bound = crew_bound(a->crew, i);

        shards[i] = (struct install_shard){
            .run = crew_run(a->crew, i),
            .rows_bound = bound.rows,
            .bytes_bound = bound.bytes,
        };
    }
}

enum df_status application_install(struct application *a,
                                   struct install_shard *shards,
                                   struct df_error *err)
{
    struct ledger_file *files = ledger_files(a->batch, a->skip);
    struct install_batch b = {
        .method = a->method,
        .shards = shards,
        .entry = &a->entry,
        .files = files,
        .file_count = a->batch->file_count,
        .memory = crew_memory(a->options) / 4,
        .threads = crew_threads(a->options),
        .keep = a->keeping.keep,
        /* A window holds the net change of its batches: what is deleted in it
         * may have been inserted before it. */
        .allow_negative = a->keeping.is_window ||
                          a->options->on_negative == ENGINE_NEGATIVE_ALLOW,
        .record_high = a->raises_high,
        .started_us = a->started.us,
        .stop = a->options->stop,
    };
    enum df_status status;

    if (files == NULL) {
        return error_no_memory(err);
    }
    crew_phase(a->options, a->batch->name, "install");
    keeping_fill(&a->keeping, &a->entry);
    status = install_batch(a->v, &b, &a->negatives, err);
    a->begun_commit = b.begun_commit;
    free(files);
    return status;
}

/* ---- one batch ---- */

static enum df_status install(struct application *a, struct df_error *err)
{
    struct install_shard shards[VIEW_SHARDS_MAX];

    application_deal(a, view_definition(a->v)->shards, shards);
    return application_install(a, shards, err);
}

static enum df_status apply(struct application *a, struct df_error *err)
{
    unsigned parts = view_definition(a->v)->shards;
    enum df_status status = application_map(a, parts, err);

    if (status == DF_OK) {
        status = application_check(a, err);
    }
    if (status == DF_OK) {
        status = application_reduce(a, err);
    }
    if (status == DF_OK) {
        status = install(a, err);
    }
    crew_close(a->crew);
    a->crew = NULL;
    return status;
}

/* From the base, or, where that is not possible after all, as any other. */
static enum df_status apply_by_base(struct application *a,
                                    struct df_error *err)
{
    bool done;
    enum df_status status = base_apply(a, &done, err);

    if (status != DF_OK || done) {
        return status;
    }
    a->base = NULL;
    return apply(a, err);
}

/* Rows would become negative: says by whom, or leaves the culprits out. */
static enum df_status blame(struct application *a, size_t *left_out,
                            struct df_error *err)
{
    struct negative_case c = { .job = a->job,
                               .batch = a->batch,
                               .skip = a->skip,
                               .shape = view_definition(a->v)->shape,
                               .negatives = &a->negatives,
                               .options = a->options };
    enum df_status status = snapshot_open(&c.snapshot, a->v, err);

    *left_out = 0;
    if (status != DF_OK) {
        return status;
    }
    if (a->options->on_negative == ENGINE_NEGATIVE_QUARANTINE) {
        status = negative_mark(&c, a->skip, left_out, err);
    }
    if (status == DF_OK && *left_out == 0) {
        status = negative_name(&c, err);
    }
    snapshot_close(c.snapshot);
    if (status == DF_OK) {
        status = negative_quarantine(view_path(a->v), a->batch, a->skip,
                                     &a->quarantine, err);
    }
    return status;
}

/* Applies a batch; with quarantine again and again, until what is left makes
 * nothing negative. Each round leaves out at least one more deletion. */
enum df_status application_apply(struct application *a, struct df_error *err)
{
    enum df_status status;
    size_t left_out;

    if (a->job->job->fold != NULL) {
        return fold_apply(a, err);
    }
    do {
        left_out = 0;
        a->entry = (struct ledger_entry){ 0 };
        install_negatives_fini(&a->negatives);
        status = a->base != NULL ? apply_by_base(a, err) : apply(a, err);
        if (status == DF_INPUT && a->negatives.count > 0) {
            status = blame(a, &left_out, err);
        }
    } while (left_out > 0 && status == DF_OK);
    return status;
}
