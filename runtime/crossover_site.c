#include "runtime/crossover_site.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "runtime/base.h"
#include "runtime/crew.h"
#include "runtime/mirror.h"
#include "state/settings.h"
#include "state/view_copy.h"

/* Names of batches are compared in natural order: this one comes after all
 * that begin with a letter or a digit. */
static const char batch_name[] = "~deltafold-bench";

enum {
    /* base/, and work/ with the rows that an overwrite or a rebuild writes
     * beside the old ones. */
    SITE_VIEWS = 3
};

/* ---- the directory ---- */

static char *join(const char *directory, const char *name)
{
    char *joined = NULL;

    return asprintf(&joined, "%s/%s", directory, name) < 0 ? NULL : joined;
}

static enum df_status make_directory(const char *path, struct df_error *err)
{
    return mkdir(path, 0777) == 0
               ? DF_OK
               : error_errno(err, errno, "%s: cannot make the directory",
                             path);
}

static enum df_status make_root(struct site *s, struct df_error *err)
{
    char *root = join(s->plan->scratch, "deltafold-bench.XXXXXX");

    if (root == NULL) {
        return error_no_memory(err);
    }
    if (mkdtemp(root) == NULL) {
        free(root);
        return error_errno(err, errno,
                           "%s: cannot make a scratch directory there (name "
                           "another with --scratch)",
                           s->plan->scratch);
    }
    s->root = root;
    s->base = join(root, "base");
    s->work = join(root, "work");
    s->survivors = join(root, "documents");
    s->batch = join(root, batch_name);
    if (s->base == NULL || s->work == NULL || s->survivors == NULL ||
        s->batch == NULL) {
        return error_no_memory(err);
    }
    return make_directory(s->survivors, err);
}

void site_close(struct site *s)
{
    if (s->root != NULL) {
        mirror_remove(s->root);
    }
    deltas_fini(&s->deltas);
    batch_fini(&s->documents);
    free(s->root);
    free(s->base);
    free(s->work);
    free(s->survivors);
    free(s->batch);
    *s = (struct site){ 0 };
}

/* Rounded up, for messages. */
static unsigned long long megabytes(uint64_t bytes)
{
    return bytes / 1000000 + (bytes % 1000000 != 0);
}

/* Measuring for minutes to end at a full disk would be no kindness. */
static enum df_status check_space(const struct site *s, uint64_t wanted,
                                  const char *what, struct df_error *err)
{
    struct statvfs fs;
    uint64_t free_bytes;

    if (statvfs(s->root, &fs) != 0) {
        return error_errno(err, errno, "%s", s->root);
    }
    free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (free_bytes < wanted) {
        return error_set(err, DF_SYSTEM,
                         "%s: %llu MB are needed for %s, %llu MB are free: "
                         "name another directory with --scratch",
                         s->plan->scratch, megabytes(wanted), what,
                         megabytes(free_bytes));
    }
    return DF_OK;
}

void site_notice(const struct site *s, const char *text)
{
    if (s->plan->notice != NULL) {
        s->plan->notice(s->plan->notice_ctx, text);
    }
}

/* Where there are no links, room for the copies. */
static enum df_status check_links(struct site *s, struct df_error *err)
{
    /* The survivors; and of the largest delta, as much as the reserve each,
     * deletions in the batch, insertions there and among the survivors. */
    uint64_t bytes = s->deltas.base.bytes + 3 * s->deltas.reserve.bytes;
    enum df_status status;
    char text[200];

    if (mirror_can_link(&s->documents, s->root)) {
        return DF_OK;
    }
    status = check_space(s, bytes, "copies of the documents", err);
    if (status == DF_OK) {
        (void)snprintf(text, sizeof text,
                       "the documents are copied, %llu MB: they cannot be "
                       "linked to from the scratch directory",
                       megabytes(bytes));
        site_notice(s, text);
    }
    return status;
}

static void notice_one_left_out(const struct site *s, size_t i,
                                const char *before)
{
    const struct batch_notice *n = &s->documents.notices[i];
    struct shown path;
    char text[512];

    (void)snprintf(text, sizeof text, "%s'%s' (%s)", before,
                   shown(&path, bytes_of_string(n->path)), n->why);
    site_notice(s, text);
}

/* All of them for who asked, else their number and one of them. */
static void notice_left_out(const struct site *s)
{
    size_t n = s->documents.notice_count;
    char before[80];

    for (size_t i = 0; s->plan->verbose && i < n; i++) {
        notice_one_left_out(s, i, "left out: ");
    }
    if (!s->plan->verbose && n > 0) {
        (void)snprintf(before, sizeof before, "%zu name%s left out, such as ",
                       n, n == 1 ? "" : "s");
        notice_one_left_out(s, 0, before);
    }
}

/* Sizes that cannot be measured are said, not dropped. */
static void notice_deltas(const struct site *s)
{
    for (size_t i = 0; i < s->deltas.count; i++) {
        const struct delta *d = &s->deltas.list[i];
        char text[200];

        if (d->kind == DELTA_TOO_SMALL) {
            (void)snprintf(text, sizeof text,
                           "%g %% is left out: the documents are too large "
                           "for so small a delta",
                           d->asked);
            site_notice(s, text);
        } else if (d->kind == DELTA_SAME) {
            (void)snprintf(text, sizeof text,
                           "%g %% is left out: it is the same documents as "
                           "the size before",
                           d->asked);
            site_notice(s, text);
        }
    }
}

/* The engine's own name for what it does is the scratch directory's. */
static void relay_progress(void *ctx, const struct engine_progress *now)
{
    struct site *s = ctx;
    struct engine_progress named = *now;

    named.batch = s->label;
    s->plan->options->progress(s->plan->options->progress_ctx, &named);
}

enum df_status site_open(struct site *s, const struct crossover_plan *plan,
                         struct df_error *err)
{
    enum df_status status;

    *s = (struct site){ .plan = plan, .options = *plan->options };
    s->options.progress =
        plan->options->progress == NULL ? NULL : relay_progress;
    s->options.progress_ctx = s;
    s->options.allow_late = true;
    s->options.allow_repeat = true; /* a night may be like one before */
    status = batch_scan_tree(&s->documents, plan->documents,
                             crew_threads(plan->options), err);
    if (status == DF_OK) {
        status = deltas_choose(&s->deltas, &s->documents, plan->percents,
                               plan->percent_count, plan->seed, err);
    }
    if (status == DF_OK) {
        notice_left_out(s);
        notice_deltas(s);
        status = make_root(s, err);
    }
    if (status == DF_OK) {
        status = check_links(s, err);
    }
    if (status != DF_OK) {
        site_close(s);
    }
    return status;
}

/* ---- the engine on it ---- */

enum df_status site_rebuild(struct site *s, const char *path,
                            struct ledger_entry *entry, struct df_error *err)
{
    struct view *v;
    enum df_status status = view_open(&v, path, VIEW_WRITE, 0, err);

    if (status == DF_OK) {
        status = engine_rebuild(v, s->plan->job, s->survivors, NULL, 0,
                                &s->options, entry, err);
        view_close(v);
    }
    return status;
}

/* What the engine says of the batch. */
struct folded {
    bool is_applied;
    enum install_method method;
};

static void note_fold(void *ctx, const struct engine_report *r)
{
    struct folded *f = ctx;

    if (r->outcome == ENGINE_APPLIED) {
        f->is_applied = true;
        f->method = r->entry->method;
    }
}

/* Folds the batch in a directory into the view at `path`. */
static enum df_status fold(struct site *s, const char *path, const char *batch,
                           enum install_method method,
                           enum install_method *used, struct df_error *err)
{
    struct engine_options options = s->options;
    struct folded folded = { 0 };
    struct view *v;
    enum df_status status = view_open(&v, path, VIEW_WRITE, 0, err);

    if (status != DF_OK) {
        return status;
    }
    options.method = method;
    status = engine_run(v, s->plan->job, &batch, 1, &options, note_fold,
                        &folded, err);
    view_close(v);
    if (status == DF_OK && !folded.is_applied) {
        return error_set(err, DF_LEDGER,
                         "batch '%s' was not applied to the copy: the view "
                         "was rebuilt as of a batch whose name comes after "
                         "it; measure without the view",
                         batch_name);
    }
    *used = folded.method;
    return status;
}

enum df_status site_fold(struct site *s, const char *path,
                         enum install_method method, enum install_method *used,
                         struct df_error *err)
{
    return fold(s, path, s->batch, method, used, err);
}

/* What can be said of the view at `path`; survivors may be NULL. */
static enum df_status look_at(const char *path, struct snapshot_state *state,
                              struct ledger_survivors *survivors,
                              struct df_error *err)
{
    struct snapshot *snapshot;
    struct view *v;
    enum df_status status = view_open(&v, path, VIEW_READ, 0, err);

    if (status != DF_OK) {
        return status;
    }
    status = snapshot_open(&snapshot, v, err);
    if (status == DF_OK) {
        *state = snapshot_state(snapshot);
        if (survivors != NULL) {
            status = survivors_before(survivors, snapshot, err);
        }
        snapshot_close(snapshot);
    }
    view_close(v);
    return status;
}

enum df_status site_state(const char *path, struct snapshot_state *state,
                          struct df_error *err)
{
    return look_at(path, state, NULL, err);
}

/* ---- the base ---- */

static enum df_status create_base(struct site *s, struct df_error *err)
{
    const struct jobspec *job = s->plan->job;
    struct view_definition definition = {
        .shape = { .has_element = job->shape.has_element,
                   .components = job->components,
                   .wide = job->shape.wide },
        .shards = s->plan->shards,
    };
    struct ledger_entry entry;
    struct buf text = { 0 };
    enum df_status status = engine_check_options(job, &definition.having, err);

    if (status != DF_OK) {
        return status;
    }
    if (!jobspec_definition(job, &text)) {
        return error_no_memory(err);
    }
    definition.text = buf_bytes(&text);
    status = view_create(s->base, &definition, err);
    buf_fini(&text);
    return status == DF_OK ? site_rebuild(s, s->base, &entry, err) : status;
}

static enum df_status not_of_these(const struct site *s, enum df_status status,
                                   struct df_error *err)
{
    return error_set(err, status,
                     "view '%s' is not what the documents under '%s' give: "
                     "see 'deltafold verify'",
                     s->plan->view, s->plan->documents);
}

/* Takes the reserve, which the view holds, out of its copy. */
static enum df_status remove_reserve(struct site *s, struct df_error *err)
{
    const struct mirror_part part = { "deleted/", &s->deltas.reserve, NULL };
    enum install_method used;
    char *batch = join(s->root, "~deltafold-bench-reserve");
    char *deleted = batch == NULL ? NULL : join(batch, "deleted");
    enum df_status status = DF_OK;

    if (deleted == NULL) {
        status = error_no_memory(err);
        goto out;
    }
    status = make_directory(batch, err);
    if (status == DF_OK) {
        status = mirror_add(&s->documents, &s->deltas.reserve, deleted,
                            s->options.stop, err);
    }
    if (status == DF_OK) {
        status = mirror_manifest(&s->documents, &part, 1, batch, err);
    }
    if (status == DF_OK) {
        status = fold(s, s->base, batch, INSTALL_INCREMENT, &used, err);
        if (status == DF_INPUT) {
            status = not_of_these(s, DF_DIFFERS, err);
        }
    }
    mirror_remove(batch);
out:
    free(deleted);
    free(batch);
    return status;
}

/* Its log may not tell which documents are in it, or know them by other
 * ids. */
static void compare_documents(struct site *s,
                              const struct ledger_survivors *copied,
                              const struct ledger_survivors *computed)
{
    if (!copied->known || !survivors_equal(copied, computed)) {
        (void)error_set(&s->no_base, DF_LEDGER,
                        "by the view's log it is not of documents with these "
                        "names ('deltafold rebuild' makes it so)");
    }
}

/* What is left in the copy must be what documents/ gives. */
static enum df_status compare_base(struct site *s, struct df_error *err)
{
    struct snapshot_state copied;
    struct snapshot_state computed;
    struct ledger_survivors of_copied;
    struct ledger_survivors of_computed;
    struct ledger_entry entry;
    enum df_status status = site_renew(s, err);

    if (status == DF_OK) {
        status = site_rebuild(s, s->work, &entry, err);
    }
    if (status == DF_OK) {
        status = look_at(s->base, &copied, &of_copied, err);
    }
    if (status == DF_OK) {
        status = look_at(s->work, &computed, &of_computed, err);
    }
    if (status == DF_OK && !hash128_equal(copied.digest, computed.digest)) {
        status = error_set(err, DF_DIFFERS, "their digests differ");
        status = not_of_these(s, status, err);
    }
    if (status == DF_OK) {
        compare_documents(s, &of_copied, &of_computed);
    }
    return status;
}

static enum df_status copy_base(struct site *s, struct df_error *err)
{
    uint64_t bytes = view_copy_bytes(s->plan->view);
    enum df_status status =
        check_space(s, SITE_VIEWS * bytes, "copies of the view", err);

    if (status == DF_OK) {
        status = view_copy(s->plan->view, s->base, s->plan->wait,
                           s->options.stop, err);
    }
    if (status == DF_OK) {
        status = remove_reserve(s, err);
    }
    return status == DF_OK ? compare_base(s, err) : status;
}

/* The reasons that documents alone give. */
static void check_documents(struct site *s)
{
    const struct batch_file *archive = base_find_archive(&s->documents);
    struct shown path;

    if (engine_allows_base(s->plan->job, &s->no_base) == DF_OK &&
        archive != NULL) {
        (void)error_set(&s->no_base, DF_USAGE,
                        "'%s' is an archive, whose documents are counted as "
                        "they are mapped",
                        shown(&path, bytes_of_string(archive->path)));
    }
}

/* base/ is told where its documents are; a copied view may have been told of
 * others, which are not those of any delta. */
static enum df_status tell_base(struct site *s, struct df_error *err)
{
    char *documents = realpath(s->survivors, NULL);
    struct view *v;
    enum df_status status;

    if (documents == NULL) {
        return error_errno(err, errno, "%s", s->survivors);
    }
    check_documents(s);
    s->knows_base = s->no_base.text[0] == '\0';
    status = view_open(&v, s->base, VIEW_WRITE, 0, err);
    if (status == DF_OK) {
        status =
            view_set(v, SETTING_BASE,
                     bytes_of_string(s->knows_base ? documents : ""), err);
        view_close(v);
    }
    free(documents);
    return status;
}

enum df_status site_make_base(struct site *s, struct df_error *err)
{
    const struct mirror_part part = { "", &s->deltas.base, NULL };
    enum df_status status = mirror_add(&s->documents, &s->deltas.base,
                                       s->survivors, s->options.stop, err);

    (void)snprintf(s->label, sizeof s->label, "base");
    if (status == DF_OK) {
        status = mirror_manifest(&s->documents, &part, 1, s->survivors, err);
    }
    if (status == DF_OK) {
        status =
            s->plan->view == NULL ? create_base(s, err) : copy_base(s, err);
    }
    if (status == DF_OK) {
        status = tell_base(s, err);
    }
    if (status == DF_OK) {
        s->base_bytes = view_copy_bytes(s->base);
        status = check_space(s, (SITE_VIEWS - 1) * s->base_bytes,
                             "copies of the view", err);
    }
    return status;
}

/* ---- deltas ---- */

/* Adds a share of the delta to one section of the batch. */
static enum df_status add_section(struct site *s, const char *section,
                                  const struct delta_share *share,
                                  struct df_error *err)
{
    char *to = join(s->batch, section);
    enum df_status status = to == NULL ? error_no_memory(err)
                                       : mirror_add(&s->documents, share, to,
                                                    s->options.stop, err);

    free(to);
    return status;
}

static enum df_status make_batch(struct site *s, const struct delta *d,
                                 struct df_error *err)
{
    const struct mirror_part parts[] = {
        { "deleted/", &d->deleted, NULL },
        { "inserted/", &d->inserted, NULL },
    };
    enum df_status status = make_directory(s->batch, err);

    if (status == DF_OK) {
        status = add_section(s, "deleted", &d->deleted, err);
    }
    if (status == DF_OK) {
        status = add_section(s, "inserted", &d->inserted, err);
    }
    return status == DF_OK
               ? mirror_manifest(&s->documents, parts, 2, s->batch, err)
               : status;
}

enum df_status site_enter(struct site *s, const struct delta *d,
                          struct df_error *err)
{
    const struct mirror_part parts[] = {
        { "", &s->deltas.base, &d->deleted },
        { "", &d->inserted, NULL },
    };
    enum df_status status = make_batch(s, d, err);

    if (status == DF_OK) {
        status = mirror_drop(&s->documents, &d->deleted, s->survivors, err);
    }
    if (status == DF_OK) {
        status = mirror_add(&s->documents, &d->inserted, s->survivors,
                            s->options.stop, err);
    }
    return status == DF_OK
               ? mirror_manifest(&s->documents, parts, 2, s->survivors, err)
               : status;
}

enum df_status site_leave(struct site *s, const struct delta *d,
                          struct df_error *err)
{
    enum df_status status =
        mirror_drop(&s->documents, &d->inserted, s->survivors, err);

    mirror_remove(s->batch);
    return status == DF_OK ? mirror_add(&s->documents, &d->deleted,
                                        s->survivors, s->options.stop, err)
                           : status;
}

enum df_status site_renew(struct site *s, struct df_error *err)
{
    mirror_remove(s->work);
    return view_copy(s->base, s->work, 0, s->options.stop, err);
}
