#include "runtime/plan.h"

#include "runtime/crew.h"

/* ---- an applied name: is it the same batch? ---- */

struct comparison {
    const struct batch *batch;
    size_t next;
    bool same;
};

/* The ledger keeps files in the order in which a batch is scanned. */
static bool compare_file(void *ctx, const struct ledger_file *l)
{
    struct comparison *c = ctx;
    const struct batch_file *f;

    if (c->next == c->batch->file_count) {
        c->same = false;
        return false;
    }
    f = &c->batch->files[c->next++];
    c->same = l->inserted == (f->section == BATCH_INSERTED) &&
              l->length == f->length && l->mtime == f->mtime &&
              bytes_equal(l->id, f->id) &&
              bytes_equal(l->path, bytes_of_string(f->path));
    return c->same;
}

/* Whether names, lengths and times are those in the ledger. */
static enum df_status looks_same(struct snapshot *s, uint64_t seq,
                                 const struct batch *batch, bool *same,
                                 struct df_error *err)
{
    struct comparison c = { .batch = batch, .same = true };
    enum df_status status =
        snapshot_ledger_files(s, seq, compare_file, &c, err);

    *same = c.same && c.next == batch->file_count;
    return status;
}

/* The name of an undone batch, with other content: the batch as it should
 * have been, which comes late. */
static enum df_status place_corrected(struct plan *p,
                                      const struct batch *batch,
                                      const struct engine_options *options,
                                      struct df_error *err)
{
    struct shown name;

    p->outcome = ENGINE_APPLIED;
    p->raises_high = false;
    if (options->allow_late) {
        return DF_OK;
    }
    return error_set(err, DF_LEDGER,
                     "batch '%s': was undone and its content has changed "
                     "since: apply it as it is now with --allow-late",
                     shown(&name, bytes_of_string(batch->name)));
}

static enum df_status check_applied(struct plan *p, struct snapshot *s,
                                    const struct jobspec *job,
                                    struct batch *batch,
                                    const struct engine_options *options,
                                    struct df_error *err)
{
    struct shown name;
    struct hash128 digest;
    bool same;
    enum df_status status = looks_same(s, p->entry.seq, batch, &same, err);

    p->outcome = p->entry.undone ? ENGINE_UNDONE : ENGINE_ALREADY_APPLIED;
    if (status != DF_OK || (same && !options->paranoid)) {
        return status;
    }
    status = crew_hash(job, batch, options, err);
    if (status == DF_OK) {
        status = batch_digest(batch, &digest, err);
    }
    if (status == DF_OK && p->entry.undone &&
        !hash128_equal(digest, p->entry.digest)) {
        return place_corrected(p, batch, options, err);
    }
    if (status == DF_OK && !hash128_equal(digest, p->entry.digest)) {
        status = error_set(
            err, DF_LEDGER,
            "batch '%s': was applied with other content: give a changed "
            "batch a name of its own",
            shown(&name, bytes_of_string(batch->name)));
    }
    return status;
}

/* ---- a new name ---- */

int plan_compare(const char *name, struct bytes kept)
{
    char copy[PLAN_NAME_MAX + 1];
    size_t len = kept.len < sizeof copy - 1 ? kept.len : sizeof copy - 1;

    memcpy(copy, kept.data, len);
    copy[len] = '\0';
    return batch_name_compare(name, copy);
}

static enum df_status check_late(struct snapshot *s, const struct batch *batch,
                                 bool is_fold, int order,
                                 const struct engine_options *options,
                                 struct df_error *err)
{
    struct shown name;
    struct shown last;

    if (order > 0 || options->allow_late) {
        return DF_OK;
    }
    (void)shown(&name, bytes_of_string(batch->name));
    (void)shown(&last, snapshot_ledger_high(s));
    return is_fold
               ? error_set(err, DF_LEDGER,
                           "batch '%s': comes before the last applied one, "
                           "'%s', and the outcomes of this view depend on the "
                           "order: give it a name behind that one",
                           name.text, last.text)
               : error_set(err, DF_LEDGER,
                           "batch '%s': comes before the last applied one, "
                           "'%s': apply it all the same with --allow-late",
                           name.text, last.text);
}

static enum df_status place_new(struct plan *p, struct snapshot *s,
                                const struct batch *batch, bool is_fold,
                                const struct engine_options *options,
                                struct df_error *err)
{
    struct bytes high = snapshot_ledger_high(s);
    struct bytes covered = snapshot_ledger_covered(s);
    int order;

    if (covered.len > 0 && plan_compare(batch->name, covered) <= 0 &&
        !options->allow_late) {
        p->outcome = ENGINE_COVERED;
        return DF_OK;
    }
    order = high.len > 0 ? plan_compare(batch->name, high) : 1;
    p->raises_high = order > 0;
    return check_late(s, batch, is_fold, order, options, err);
}

enum df_status plan_batch(struct plan *p, struct snapshot *s,
                          const struct jobspec *job, struct batch *batch,
                          const struct engine_options *options,
                          struct df_error *err)
{
    bool found;
    enum df_status status;

    *p = (struct plan){ .outcome = ENGINE_APPLIED };
    status = snapshot_ledger_by_name(s, bytes_of_string(batch->name),
                                     &p->entry, &found, err);
    if (status != DF_OK) {
        return status;
    }
    if (found) {
        return check_applied(p, s, job, batch, options, err);
    }
    if (options->require_marker && !batch->has_marker) {
        p->outcome = ENGINE_NOT_READY;
        return DF_OK;
    }
    return place_new(p, s, batch, job->job->fold != NULL, options, err);
}

enum df_status plan_check_content(struct snapshot *s,
                                  const struct batch *batch,
                                  struct hash128 digest,
                                  const struct engine_options *options,
                                  struct df_error *err)
{
    struct ledger_entry e;
    struct shown name;
    struct shown other;
    bool found;
    enum df_status status;

    if (options->allow_repeat || batch->file_count == 0) {
        return DF_OK;
    }
    status = snapshot_ledger_by_digest(s, digest, &e, &found, err);
    if (status != DF_OK || !found || e.undone) {
        return status;
    }
    return error_set(err, DF_LEDGER,
                     "batch '%s': has the content of '%s', which is "
                     "applied: apply it once more with --allow-repeat",
                     shown(&name, bytes_of_string(batch->name)),
                     shown(&other, e.name));
}
