/* deltafold run: batches into the view, each exactly once. */
#include "cli/entry.h"
#include "cli/human.h"
#include "cli/operands.h"
#include "cli/writer.h"

enum {
    NOTICES_MAX = 20 /* lines about files left out, without --verbose */
};

struct run {
    unsigned install;
    unsigned on_negative;
    bool dry_run;
    bool allow_late;
    bool allow_repeat;
    bool require_marker;
    bool paranoid;
    bool json;
    const char *outcomes;
};

static const struct option options[] = {
    { .name = "install",
      .kind = OPTION_CHOICE,
      .offset = offsetof(struct run, install),
      .choices = WRITER_METHODS "|rebuild",
      .help = "add to rows in place, merge and write all rows anew, store "
              "the batch and fold it in later, or compute the rows from the "
              "documents that are left (see base; the last batch is, others "
              "as by auto); auto takes what is likely to cost least; the view "
              "is the same",
      .initial = "auto" },
    { .name = "on-negative",
      .kind = OPTION_CHOICE,
      .offset = offsetof(struct run, on_negative),
      .choices = "abort|quarantine|allow",
      .help =
          "when documents are deleted that were never inserted: refuse "
          "the batch, leave those documents (of records: their files) out, "
          "or keep negative rows",
      .initial = "abort" },
    { .name = "dry-run",
      .letter = 'n',
      .kind = OPTION_FLAG,
      .offset = offsetof(struct run, dry_run),
      .help = "say what would be done, change nothing; whether deletions are "
              "of what is there, and repeats among new batches, is not seen" },
    { .name = "allow-late",
      .kind = OPTION_FLAG,
      .offset = offsetof(struct run, allow_late),
      .help = "take batches whose names come before the last applied one" },
    { .name = "allow-repeat",
      .kind = OPTION_FLAG,
      .offset = offsetof(struct run, allow_repeat),
      .help = "take batches with the content of an applied one under another "
              "name" },
    { .name = "require-marker",
      .kind = OPTION_FLAG,
      .offset = offsetof(struct run, require_marker),
      .help = "pass over batches without a file _SUCCESS" },
    { .name = "paranoid",
      .kind = OPTION_FLAG,
      .offset = offsetof(struct run, paranoid),
      .help = "read applied batches again even where lengths and times are "
              "those in the ledger" },
    { .name = "outcomes",
      .kind = OPTION_PATH,
      .offset = offsetof(struct run, outcomes),
      .value = "OUT",
      .help = "of a dedup view: write the records of each batch to OUT/BATCH, "
              "by what became of them: unique, duplicate, expired, rejected, "
              "retracted" },
    { .name = "json",
      .kind = OPTION_FLAG,
      .offset = offsetof(struct run, json),
      .help = "one JSON object per batch on standard output" },
    { 0 }
};

/* What a run has done so far; ctx of report. */
struct tally {
    struct output *out;
    struct progress *progress;
    const struct df_job *job;
    const struct form *form;
    bool json;
    bool verbose;
    bool quiet;
    size_t given;                           /* batches; 0: none seen yet */
    size_t notices;                         /* printed so far */
    size_t left_out;                        /* not printed any more */
    uint64_t batches[ENGINE_NOT_READY + 1]; /* by outcome */
    uint64_t inserted;
    uint64_t deleted;
    uint64_t pairs;
    uint64_t us;
};

static const char *outcome_text(enum engine_outcome outcome)
{
    switch (outcome) {
    case ENGINE_LISTED:
        break; /* no batch, and never printed as one */
    case ENGINE_APPLIED:
        return "applied";
    case ENGINE_WOULD_APPLY:
        return "would be applied";
    case ENGINE_ALREADY_APPLIED:
        return "already applied";
    case ENGINE_UNDONE:
        return "undone, not applied again ('deltafold redo' puts it back)";
    case ENGINE_COVERED:
        return "covered by the last rebuild";
    case ENGINE_NOT_READY:
        return "not ready, it has no _SUCCESS";
    }
    return "";
}

static const char *outcome_json(enum engine_outcome outcome)
{
    switch (outcome) {
    case ENGINE_LISTED:
        break;
    case ENGINE_APPLIED:
        return "applied";
    case ENGINE_WOULD_APPLY:
        return "would_apply";
    case ENGINE_ALREADY_APPLIED:
        return "already_applied";
    case ENGINE_UNDONE:
        return "undone";
    case ENGINE_COVERED:
        return "covered";
    case ENGINE_NOT_READY:
        return "not_ready";
    }
    return "";
}

static void count_files(const struct batch *b, uint64_t *inserted,
                        uint64_t *deleted)
{
    *inserted = 0;
    for (size_t i = 0; i < b->file_count; i++) {
        *inserted += b->files[i].section == BATCH_INSERTED;
    }
    *deleted = b->file_count - *inserted;
}

static void notice_files(struct tally *t, const struct engine_report *r)
{
    struct shown name;
    struct shown path;

    for (size_t i = 0; i < r->notice_count; i++) {
        const struct batch_notice *n = &r->notices[i];

        if (t->notices == NOTICES_MAX && !t->verbose) {
            t->left_out++;
            continue;
        }
        t->notices++;
        progress_notice(t->progress, "%s/%s: left out (%s)",
                        shown(&name, bytes_of_string(r->name)),
                        shown(&path, bytes_of_string(n->path)), n->why);
    }
}

static void notice_counters(struct tally *t, const struct engine_report *r)
{
    const struct ledger_entry *e = r->entry;
    struct shown name;
    char room[HUMAN_MAX];

    for (size_t i = 0; t->job->counters[i] != NULL; i++) {
        if (e->counters[i] > 0) {
            progress_notice(t->progress, "%s: %s %s",
                            shown(&name, bytes_of_string(r->name)),
                            t->job->counters[i],
                            human_count(room, e->counters[i]));
        }
    }
    if (e->records_skipped > 0) {
        char of[HUMAN_MAX];

        progress_notice(t->progress,
                        t->form->format == FORM_DOCUMENT
                            ? "%s: %s of %s archive records are no documents"
                            : "%s: %s of %s records are empty lines",
                        shown(&name, bytes_of_string(r->name)),
                        human_count(room, e->records_skipped),
                        human_count(of, e->records));
    }
}

static void notice_gap(struct tally *t, const struct engine_report *r)
{
    struct shown name;

    if (r->entry->gap > 0) {
        progress_notice(
            t->progress, "%s: gap: %llu before it seem%s to be missing",
            shown(&name, bytes_of_string(r->name)),
            (unsigned long long)r->entry->gap, r->entry->gap == 1 ? "s" : "");
    }
}

static void notice_remark(struct tally *t, const struct engine_report *r)
{
    if (r->remark != NULL && t->verbose) {
        progress_notice(t->progress, "%s: its delta is mapped", r->remark);
    }
}

static void notice_trouble(struct tally *t, const struct engine_report *r)
{
    struct shown name;

    if (r->trouble != NULL) {
        progress_notice(t->progress,
                        "%s: is applied; deferred runs are left to be folded "
                        "by the next run: %s",
                        shown(&name, bytes_of_string(r->name)), r->trouble);
    }
}

static void notice_quarantine(struct tally *t, const struct engine_report *r)
{
    struct shown name;
    struct shown directory;

    if (r->quarantine != NULL) {
        progress_notice(t->progress,
                        "%s: %llu document%s quarantined, kept in %s",
                        shown(&name, bytes_of_string(r->name)),
                        (unsigned long long)r->entry->quarantined,
                        human_plural(r->entry->quarantined),
                        shown(&directory, bytes_of_string(r->quarantine)));
    }
}

/* "  about 1.2 s, of these 12 ms to defer" */
static void print_forecast(struct output *out, const struct engine_forecast *f)
{
    char a[HUMAN_MAX];
    char b[HUMAN_MAX];

    if (f != NULL) {
        output_printf(out, "  about %s, of these %s to %s",
                      human_duration(a, f->total_us),
                      human_duration(b, f->install_us),
                      install_method_name(f->method));
    }
}

static void json_forecast(struct json *j, const struct engine_forecast *f)
{
    if (f != NULL) {
        json_text(j, "method", install_method_name(f->method));
        json_uint(j, "predicted_us", f->install_us);
        json_uint(j, "predicted_total_us", f->total_us);
    }
}

static void print_line(struct tally *t, const struct engine_report *r)
{
    char a[HUMAN_MAX];
    char b[HUMAN_MAX];
    uint64_t inserted;
    uint64_t deleted;

    entry_print_name(t->out, bytes_of_string(r->name));
    if (r->outcome == ENGINE_APPLIED) {
        output_printf(t->out, "%-15s  ", outcome_text(r->outcome));
        entry_print(t->out, r->entry);
    } else if (r->outcome == ENGINE_WOULD_APPLY) {
        count_files(r->batch, &inserted, &deleted);
        output_printf(t->out, "%s  +%s -%s documents",
                      outcome_text(r->outcome), human_count(a, inserted),
                      human_count(b, deleted));
        print_forecast(t->out, r->forecast);
    } else {
        output_text(t->out, outcome_text(r->outcome));
    }
    output_byte(t->out, '\n');
}

static void json_notices(struct json *j, const struct engine_report *r)
{
    json_open_array(j, "left_out");
    for (size_t i = 0; i < r->notice_count; i++) {
        json_open(j, NULL);
        json_text(j, "path", r->notices[i].path);
        json_text(j, "why", r->notices[i].why);
        json_close(j);
    }
    json_close_array(j);
}

static void print_json(struct tally *t, const struct engine_report *r)
{
    struct json j = { .out = t->out };
    uint64_t inserted;
    uint64_t deleted;

    json_open(&j, NULL);
    json_text(&j, "outcome", outcome_json(r->outcome));
    if (r->entry != NULL) {
        entry_json(&j, r->entry, t->job);
    } else {
        json_text(&j, "name", r->name);
    }
    if (r->outcome == ENGINE_WOULD_APPLY) {
        count_files(r->batch, &inserted, &deleted);
        json_uint(&j, "inserted", inserted);
        json_uint(&j, "deleted", deleted);
        json_forecast(&j, r->forecast);
    }
    if (r->quarantine != NULL) {
        json_text(&j, "quarantine", r->quarantine);
    }
    json_notices(&j, r);
    json_close(&j);
    json_line(&j);
}

/* The longer a view lives, the more of these there are every night. */
static bool is_passed_over(enum engine_outcome outcome)
{
    return outcome == ENGINE_ALREADY_APPLIED || outcome == ENGINE_UNDONE ||
           outcome == ENGINE_COVERED;
}

static void report(void *ctx, const struct engine_report *r)
{
    struct tally *t = ctx;

    progress_clear(t->progress);
    t->given = r->batches;
    if (r->outcome == ENGINE_LISTED) {
        notice_trouble(t, r);
        notice_remark(t, r);
        notice_files(t, r);
        return;
    }
    t->batches[r->outcome]++;
    if (r->outcome == ENGINE_APPLIED) {
        t->inserted += r->entry->inserted;
        t->deleted += r->entry->deleted;
        t->pairs += r->entry->pairs;
        t->us += r->entry->measured_us;
        notice_counters(t, r);
        notice_quarantine(t, r);
        notice_gap(t, r);
    }
    if (r->outcome == ENGINE_APPLIED || r->outcome == ENGINE_WOULD_APPLY) {
        notice_files(t, r);
    }
    if (t->json) {
        print_json(t, r);
    } else if (!t->quiet || !is_passed_over(r->outcome)) {
        print_line(t, r);
    }
    output_flush(t->out);
}

/* "2 batches applied, 1 already applied  +24 -8 documents ..." */
static void print_totals(const struct tally *t, bool done)
{
    char a[HUMAN_MAX];
    char b[HUMAN_MAX];
    char c[HUMAN_MAX];
    char d[HUMAN_MAX];
    uint64_t applied = t->batches[ENGINE_APPLIED];

    /* One batch's line, or the refusal of the first, has said it all. That
     * there was none is said: it may be the wrong directory. */
    if (t->given == 1 || (t->given == 0 && !done)) {
        return;
    }
    output_printf(t->out, "%s of %s batches applied", human_count(a, applied),
                  human_count(b, t->given));
    if (t->given == 0) {
        output_text(t->out, ": a batch is a directory with inserted/ or "
                            "deleted/ in it");
    }
    if (t->batches[ENGINE_WOULD_APPLY] > 0) {
        output_printf(t->out, ", %s would be",
                      human_count(a, t->batches[ENGINE_WOULD_APPLY]));
    }
    if (applied > 0) {
        output_printf(t->out, "  +%s -%s documents  %s pair%s  %s",
                      human_count(a, t->inserted), human_count(b, t->deleted),
                      human_count(c, t->pairs), human_plural(t->pairs),
                      human_duration(d, t->us));
    }
    output_byte(t->out, '\n');
}

static void finish_tally(struct tally *t, bool done)
{
    progress_clear(t->progress);
    if (t->left_out > 0) {
        progress_notice(t->progress,
                        "and %zu more left out, --verbose lists them",
                        t->left_out);
    }
    if (!t->json) {
        print_totals(t, done);
    }
}

static void notice_recovered(const struct opened *o, struct progress *p)
{
    struct bytes name = view_recovered(o->view);
    struct shown s;

    if (name.len > 0) {
        progress_notice(p, "%s: completed; it was decided before a crash",
                        shown(&s, name));
    }
}

static void set_engine(const struct run *run, struct engine_options *e)
{
    static const enum engine_on_negative negatives[] = {
        ENGINE_NEGATIVE_ABORT, ENGINE_NEGATIVE_QUARANTINE,
        ENGINE_NEGATIVE_ALLOW
    };

    e->method = writer_method(run->install);
    e->on_negative = negatives[run->on_negative];
    e->allow_late = run->allow_late;
    e->allow_repeat = run->allow_repeat;
    e->require_marker = run->require_marker;
    e->paranoid = run->paranoid;
    e->dry_run = run->dry_run;
    e->outcomes = run->outcomes;
}

static enum df_status apply(struct invocation *in, const void *given,
                            struct writing *w, struct df_error *err)
{
    const struct run *run = given;
    struct opened *o = &w->opened;
    struct tally tally = { .out = in->out,
                           .progress = &w->progress,
                           .job = o->job,
                           .form = o->spec.form,
                           .json = run->json,
                           .verbose = w->resources.verbose,
                           .quiet = w->resources.quiet };
    enum df_status status = DF_OK;

    if (run->outcomes != NULL) {
        status = operands_check_output(run->outcomes, in->argv + 1,
                                       in->argc - 1, err);
    }
    if (status != DF_OK) {
        return status;
    }
    set_engine(run, &w->engine);
    notice_recovered(o, &w->progress);
    status = engine_run(o->view, &o->spec, (const char *const *)in->argv + 1,
                        (size_t)in->argc - 1, &w->engine, report, &tally, err);
    finish_tally(&tally, status == DF_OK);
    return status;
}

static enum df_status run_batches(struct invocation *in, struct df_error *err)
{
    struct run run = { 0 };

    return writer_run(in, &run, &run.dry_run, apply, err);
}

const struct command command_run = {
    .name = "run",
    .summary = "fold batches into a view, each exactly once",
    .synopsis = "VIEW DELTAS ... [OPTION ...]",
    .text =
        "DELTAS is a batch - a directory with inserted/ and deleted/ in it "
        "- or a directory of batches. Batches that the view does not have "
        "yet are applied in natural order of their names, each in a "
        "transaction of its own; the others are passed over (and with "
        "--quiet not listed). Stops at the "
        "first batch that is refused: those before it stay applied. After a "
        "crash or an interruption run the same command again.",
    .examples = "  deltafold run words deltas/\n"
                "  deltafold run words deltas/2026-11-29 --dry-run\n"
                "  deltafold run words deltas/ --memory=512M --threads=4 "
                "--json",
    .options = { options, writer_options, resource_threads, resource_memory,
                 resource_mapping, resource_listing },
    .arguments_min = 2,
    .arguments_max = -1,
    .operands = OPERANDS_BATCHES,
    .run = run_batches,
};
