/*
 * A past batch taken out of the rows, or put back: an entry whose only effect
 * is a kept run. The rows follow from the run alone, the documents are not
 * read.
 */
#include "base/clock.h"
#include "runtime/application.h"
#include "runtime/survivors.h"

static const char program[] = "deltafold " DELTAFOLD_VERSION;

enum df_status engine_allows_undo(const struct jobspec *job,
                                  struct df_error *err)
{
    struct window w;
    enum df_status status = window_of(&w, job, err);

    if (status == DF_OK && job->job->fold != NULL) {
        return error_set(err, DF_LEDGER,
                         "the outcomes of later batches depend on every "
                         "batch before: none of this view can be undone");
    }
    if (status == DF_OK && w.size > 0) {
        status = error_set(err, DF_LEDGER,
                           "the view has a window: a batch that was taken "
                           "out would change which others are in it");
    }
    return status;
}

static enum df_status refuse(struct df_error *err,
                             const struct ledger_entry *e, const char *why)
{
    struct shown name;

    return error_set(err, DF_LEDGER, "batch '%s' (#%llu): %s",
                     shown(&name, e->name), (unsigned long long)e->seq, why);
}

/* What is kept of it. */
static enum df_status check_kept(struct snapshot *s,
                                 const struct ledger_entry *e,
                                 struct df_error *err)
{
    struct kept_run kept;
    bool found;
    enum df_status status =
        snapshot_kept_after(s, e->seq - 1, &kept, &found, err);

    if (status == DF_OK && (!found || kept.seq != e->seq)) {
        status = refuse(err, e,
                        "its run is not kept (any more): 'deltafold keep' "
                        "says how many are");
    }
    return status;
}

static enum df_status check_undo(struct snapshot *s,
                                 const struct ledger_entry *e,
                                 struct df_error *err)
{
    if (e->kind == LEDGER_UNDO) {
        return refuse(err, e,
                      "is an undo itself: 'deltafold redo' takes it "
                      "back");
    }
    if (e->kind != LEDGER_BATCH) {
        return refuse(err, e, "is no batch");
    }
    return e->undone ? refuse(err, e, "is undone already")
                     : check_kept(s, e, err);
}

/* A name that was used again stands for the later batch, and both would be
 * in the rows; so would the same content under another name. */
static enum df_status check_redo(struct snapshot *s,
                                 const struct ledger_entry *e,
                                 struct df_error *err)
{
    struct ledger_entry other;
    bool found;
    enum df_status status;

    if (e->kind != LEDGER_BATCH || !e->undone) {
        return refuse(err, e, "is not undone");
    }
    status = snapshot_ledger_by_name(s, e->name, &other, &found, err);
    if (status == DF_OK && found && other.seq != e->seq) {
        return refuse(err, e, "its name was used again since");
    }
    if (status == DF_OK && e->inserted + e->deleted > 0) {
        status = snapshot_ledger_by_digest(s, e->digest, &other, &found, err);
    }
    if (status == DF_OK && found && other.seq != e->seq && !other.undone) {
        return refuse(err, e,
                      "its content is applied under another name "
                      "since: undo that first");
    }
    return status == DF_OK ? check_kept(s, e, err) : status;
}

/* An undo may be named too: what it undid is meant. */
static enum df_status find_batch(struct snapshot *s, const char *batch,
                                 bool redo, struct ledger_entry *e,
                                 struct df_error *err)
{
    bool found;
    enum df_status status = snapshot_find_entry(s, batch, false, e, err);

    if (status == DF_OK && redo && e->kind == LEDGER_UNDO &&
        ledger_effects(e) == 1) {
        status =
            snapshot_ledger_get(s, ledger_effect(e, 0).seq, e, &found, err);
    }
    if (status != DF_OK) {
        return status;
    }
    return redo ? check_redo(s, e, err) : check_undo(s, e, err);
}

static enum df_status plan(struct keeping *k,
                           struct ledger_survivors *survivors, struct view *v,
                           const char *batch, bool redo, struct buf *name,
                           struct df_error *err)
{
    struct ledger_entry e;
    struct snapshot *s;
    enum df_status status = snapshot_open(&s, v, err);

    if (status != DF_OK) {
        return status;
    }
    status = find_batch(s, batch, redo, &e, err);
    if (status == DF_OK && !buf_append(name, e.name.data, e.name.len)) {
        status = error_no_memory(err);
    }
    if (status == DF_OK) {
        status = keeping_undo(k, s, e.seq, redo, err);
    }
    if (status == DF_OK) {
        status = survivors_before(survivors, s, err);
    }
    if (status == DF_OK) {
        status = survivors_undo(survivors, s, e.seq, redo, err);
    }
    snapshot_close(s);
    return status;
}

static enum df_status install(struct view *v, struct ledger_entry *entry,
                              const struct engine_options *options,
                              int64_t started_us, struct df_error *err)
{
    struct install_shard shards[VIEW_SHARDS_MAX] = { 0 };
    struct install_negatives negatives = { 0 };
    struct install_batch b = {
        .method = options->method,
        .shards = shards,
        .entry = entry,
        .memory = crew_memory(options) / 4,
        .threads = crew_threads(options),
        .allow_negative = options->on_negative == ENGINE_NEGATIVE_ALLOW,
        .started_us = started_us,
        .stop = options->stop,
    };
    struct shown name;
    enum df_status status = install_batch(v, &b, &negatives, err);

    if (status == DF_INPUT && negatives.count > 0) {
        (void)error_prefix(err, status,
                           "batch '%s': other batches delete what it inserted",
                           shown(&name, entry->name));
    }
    install_negatives_fini(&negatives);
    return status;
}

/* Whether opening the view has completed just that: it was decided before a
 * crash, and whoever asks again is to hear that it is done. */
static enum df_status find_completed(struct view *v, const char *batch,
                                     enum ledger_kind kind,
                                     struct ledger_entry *entry,
                                     struct buf *name, bool *completed,
                                     struct df_error *err)
{
    struct ledger_entry asked;
    struct snapshot *s;
    bool found = false;
    enum df_status status = snapshot_open(&s, v, err);

    *completed = false;
    if (status != DF_OK) {
        return status;
    }
    status = snapshot_find_entry(s, batch, false, &asked, err);
    if (status == DF_OK &&
        !buf_append(name, asked.name.data, asked.name.len)) {
        status = error_no_memory(err);
    }
    if (status == DF_OK) {
        status =
            snapshot_ledger_get(s, snapshot_state(s).seq, entry, &found, err);
    }
    *completed = status == DF_OK && found && entry->kind == kind &&
                 bytes_equal(entry->name, buf_bytes(name));
    snapshot_close(s);
    entry->name = buf_bytes(name);
    entry->program = bytes_of_string(program);
    return status;
}

static enum df_status undo(struct view *v, const char *batch, bool redo,
                           const struct engine_options *options,
                           struct ledger_entry *entry, struct buf *name,
                           struct df_error *err)
{
    int64_t started_us = clock_us();
    struct keeping k = { 0 };
    enum df_status status;

    buf_reset(name);
    *entry = (struct ledger_entry){ .kind = redo ? LEDGER_REDO : LEDGER_UNDO,
                                    .program = bytes_of_string(program) };
    status = plan(&k, &entry->survivors, v, batch, redo, name, err);
    if (status == DF_OK) {
        keeping_fill(&k, entry);
        entry->name = buf_bytes(name);
        status = install(v, entry, options, started_us, err);
    }
    keeping_fini(&k);
    return status;
}

enum df_status engine_undo(struct view *v, const struct jobspec *job,
                           const char *batch, bool redo,
                           const struct engine_options *options,
                           struct ledger_entry *entry, struct buf *name,
                           struct df_error *err)
{
    bool completed = false;
    enum df_status status = engine_allows_undo(job, err);

    if (status == DF_OK && view_recovered(v).len > 0) {
        status = find_completed(v, batch, redo ? LEDGER_REDO : LEDGER_UNDO,
                                entry, name, &completed, err);
    }
    if (status == DF_OK && !completed) {
        status = undo(v, batch, redo, options, entry, name, err);
    }
    entry->effects = bytes_of(NULL, 0);
    entry->drops = bytes_of(NULL, 0);
    entry->note = bytes_of(NULL, 0);
    entry->has_effects = false;
    return status;
}
