#include "runtime/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "runtime/application.h"

struct replay {
    struct snapshot *ledger; /* of the view that is verified */
    const struct jobspec *job;
    struct engine_options options;
    const char *dir; /* where the batches are */
    struct batch_list batches;
    char *path; /* of the view made here */
    struct view *view;
    struct snapshot *snapshot;
    struct run_source *runs[VIEW_SHARDS_MAX];
    uint64_t records;
};

/* ---- a view for it ---- */

static enum df_status make_view(struct replay *r, const struct view *like,
                                struct df_error *err)
{
    enum df_status status;

    if (asprintf(&r->path, "%s/replay.XXXXXX", view_scratch(like)) < 0) {
        r->path = NULL;
        return error_no_memory(err);
    }
    if (mkdtemp(r->path) == NULL) {
        return error_errno(err, errno, "%s: making a directory", r->path);
    }
    status = view_create(r->path, view_definition(like), err);
    return status == DF_OK ? view_open(&r->view, r->path, VIEW_WRITE, 0, err)
                           : status;
}

/* ---- one batch ---- */

enum df_status replay_find(const struct batch_list *list, const char *dir,
                           const struct ledger_entry *e, const char **path,
                           struct df_error *err)
{
    struct shown name;
    struct shown place;

    for (size_t i = 0; i < list->count; i++) {
        if (bytes_equal(bytes_of_string(list->names[i]), e->name)) {
            *path = list->paths[i];
            return DF_OK;
        }
    }
    return error_set(
        err, DF_INPUT, "batch '%s': was applied but is not under '%s'",
        shown(&name, e->name), shown(&place, bytes_of_string(dir)));
}

static enum df_status compare_entries(const struct ledger_entry *e,
                                      const struct ledger_entry *again,
                                      struct df_error *err)
{
    struct shown name;

    (void)shown(&name, e->name);
    if (!hash128_equal(e->digest, again->digest)) {
        return error_set(err, DF_LEDGER,
                         "batch '%s': its content is not what was applied",
                         name.text);
    }
    if (memcmp(e->counters, again->counters, sizeof e->counters) != 0) {
        return error_set(err, DF_DIFFERS,
                         "batch '%s': its records have other outcomes than "
                         "the ledger says",
                         name.text);
    }
    return DF_OK;
}

static enum df_status apply_batch(struct replay *r,
                                  const struct ledger_entry *e,
                                  struct batch *batch, struct df_error *err)
{
    struct application a = {
        .v = r->view,
        .job = r->job,
        .options = &r->options,
        .batch = batch,
        .raises_high = true,
        .started = clock_mark(),
    };
    enum df_status status = application_init(&a, err);

    if (status == DF_OK) {
        status = application_apply(&a, err);
    }
    if (status == DF_OK) {
        r->records += a.entry.inserted + a.entry.deleted;
        status = compare_entries(e, &a.entry, err);
    }
    application_fini(&a);
    return status;
}

static enum df_status apply_entry(struct replay *r,
                                  const struct ledger_entry *e,
                                  struct df_error *err)
{
    const char *path = NULL;
    struct batch batch;
    enum df_status status = replay_find(&r->batches, r->dir, e, &path, err);

    if (status == DF_OK) {
        status = batch_scan(&batch, path, crew_threads(&r->options), err);
    }
    if (status == DF_OK) {
        status = apply_batch(r, e, &batch, err);
        batch_fini(&batch);
    }
    return status;
}

static enum df_status apply_all(struct replay *r, struct df_error *err)
{
    uint64_t last = snapshot_state(r->ledger).seq;
    enum df_status status = DF_OK;

    for (uint64_t seq = 1; status == DF_OK && seq <= last; seq++) {
        struct ledger_entry e;
        bool found;

        status = snapshot_ledger_get(r->ledger, seq, &e, &found, err);
        if (status == DF_OK && found) {
            status = apply_entry(r, &e, err);
        }
    }
    return status;
}

/* ---- opening ---- */

static enum df_status open_runs(struct replay *r, struct df_error *err)
{
    unsigned shards = view_definition(r->view)->shards;
    enum df_status status = snapshot_open(&r->snapshot, r->view, err);

    for (unsigned i = 0; status == DF_OK && i < shards; i++) {
        status = snapshot_shard_open(&r->runs[i], r->snapshot, i, err);
    }
    return status;
}

enum df_status replay_open(struct replay **out, struct view *view,
                           struct snapshot *snapshot,
                           const struct jobspec *job, const char *dir,
                           const struct engine_options *options,
                           struct df_error *err)
{
    struct replay *r = calloc(1, sizeof *r);
    enum df_status status;

    *out = r;
    if (r == NULL) {
        return error_no_memory(err);
    }
    r->ledger = snapshot;
    r->job = job;
    r->options = *options;
    r->dir = dir;
    r->options.outcomes = NULL;
    r->options.allow_repeat = true;
    r->options.method = INSTALL_INCREMENT;
    status = batch_list_open(&r->batches, dir, err);
    if (status == DF_OK) {
        status = make_view(r, view, err);
    }
    if (status == DF_OK) {
        status = apply_all(r, err);
    }
    if (status == DF_OK) {
        status = open_runs(r, err);
    }
    if (status != DF_OK) {
        replay_close(r);
        *out = NULL;
    }
    return status;
}

void replay_close(struct replay *r)
{
    if (r == NULL) {
        return;
    }
    for (unsigned i = 0; i < VIEW_SHARDS_MAX; i++) {
        snapshot_shard_close(r->runs[i]);
    }
    snapshot_close(r->snapshot);
    view_close(r->view);
    if (r->path != NULL) {
        view_remove(r->path);
    }
    batch_list_fini(&r->batches);
    free(r->path);
    free(r);
}

struct run_source *replay_run(const struct replay *r, unsigned shard)
{
    return r->runs[shard];
}

uint64_t replay_records(const struct replay *r)
{
    return r->records;
}
