/* deltafold bench: full recomputation against maintenance, on one's own
 * documents. */
#include <stdio.h>

#include "cli/bench_files.h"
#include "cli/bench_lists.h"
#include "cli/bench_report.h"
#include "cli/chosen.h"
#include "cli/command.h"
#include "cli/opened.h"
#include "cli/operands.h"
#include "cli/resources.h"

enum {
    REPEATS_INITIAL = 5,
    SEED_INITIAL = 1, /* the same deltas every time */
    WAIT_INITIAL = 10 /* seconds */
};

struct bench {
    const char *documents;
    const char *sizes;
    const char *methods;
    const char *output;
    const char *scratch;
    uint64_t repeats;
    uint64_t seed;
    uint64_t shards; /* 0: not given */
    uint64_t wait;
    bool force;
};

static const struct option options[] = {
    { .name = "documents",
      .kind = OPTION_PATH,
      .offset = offsetof(struct bench, documents),
      .value = "DIR",
      .help = "the documents that VIEW is of, all of them" },
    { .name = "sizes",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct bench, sizes),
      .value = "LIST",
      .help = "sizes of deltas, in per cent of the bytes of the documents, "
              "above 0 and up to 100",
      .initial = BENCH_SIZES },
    { .name = "repeat",
      .kind = OPTION_NUMBER,
      .offset = offsetof(struct bench, repeats),
      .min = 1,
      .max = CROSSOVER_REPEATS_MAX,
      .value = "N",
      .help = "measurements of each size and method; crossovers need 3",
      .initial = "5" },
    { .name = "methods",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct bench, methods),
      .value = "LIST",
      .help = "what to measure beside full recomputation",
      .initial = "all there are" },
    { .name = "shards",
      .kind = OPTION_NUMBER,
      .offset = offsetof(struct bench, shards),
      .min = 1,
      .max = VIEW_SHARDS_MAX,
      .value = "N",
      .help = "parts of the view that is made for a DIR, 1 to 16",
      .initial = "as init has it" },
    { .name = "seed",
      .kind = OPTION_NUMBER,
      .offset = offsetof(struct bench, seed),
      .value = "N",
      .help = "which documents make the deltas: the same ones for the same "
              "number",
      .initial = "1" },
    { .name = "output",
      .letter = 'o',
      .kind = OPTION_PATH,
      .offset = offsetof(struct bench, output),
      .value = "PREFIX",
      .help = "write PREFIX.csv and PREFIX.svg",
      .initial = "deltafold-bench" },
    { .name = "force",
      .letter = 'f',
      .kind = OPTION_FLAG,
      .offset = offsetof(struct bench, force),
      .help = "replace these files where they exist" },
    { .name = "scratch",
      .kind = OPTION_PATH,
      .offset = offsetof(struct bench, scratch),
      .value = "DIR",
      .help = "where to work, best on the disk that views are kept on",
      .initial = "the directory of PREFIX" },
    { .name = "wait",
      .kind = OPTION_NUMBER,
      .offset = offsetof(struct bench, wait),
      .max = 86400,
      .value = "SECONDS",
      .help = "how long to wait for another writer of VIEW",
      .initial = "10" },
    { 0 }
};

/* DIR and VIEW are told apart by --documents. */
static enum df_status check_arguments(const struct invocation *in,
                                      const struct bench *b,
                                      struct df_error *err)
{
    struct shown s;

    if (b->documents == NULL && operands_is_view(in->argv[0])) {
        return error_set(err, DF_USAGE,
                         "'%s' is a view: name the directory of its documents "
                         "with --documents=DIR",
                         shown(&s, bytes_of_string(in->argv[0])));
    }
    if (b->documents != NULL && in->argc > 1) {
        return error_set(err, DF_USAGE,
                         "'%s': job and options are those of the view, none "
                         "can be given",
                         shown(&s, bytes_of_string(in->argv[1])));
    }
    if (b->documents != NULL && b->shards != 0) {
        return error_set(err, DF_USAGE,
                         "--shards: the view has its own; it is for a "
                         "directory of documents");
    }
    return b->documents != NULL
               ? operands_check_path(OPERANDS_DOCUMENTS, in->argv[0],
                                     b->documents, err)
               : operands_check_path(OPERANDS_DOCUMENTS, NULL, in->argv[0],
                                     err);
}

static void print_notice(void *ctx, const char *text)
{
    progress_notice(ctx, "%s", text);
}

/* What is measured, ready. */
struct work {
    const struct bench *bench;
    struct invocation *in;
    struct jobspec spec;  /* of a directory */
    struct opened opened; /* of a view */
    const struct jobspec *job;
    const char *view; /* NULL: none */
    unsigned shards;
    struct bench_lists lists;
    struct bench_files files;
};

static struct crossover_plan plan_of(const struct work *w,
                                     const struct engine_options *engine,
                                     struct progress *progress, bool verbose)
{
    const struct bench *b = w->bench;
    struct crossover_plan plan = {
        .job = w->job,
        .documents = b->documents != NULL ? b->documents : w->in->argv[0],
        .view = w->view,
        .wait = (unsigned)b->wait,
        .shards = w->shards,
        .scratch = b->scratch != NULL ? b->scratch : w->files.directory,
        .percents = w->lists.percents,
        .percent_count = w->lists.percent_count,
        .repeats = (unsigned)b->repeats,
        .seed = b->seed,
        .options = engine,
        .verbose = verbose,
        .notice = print_notice,
        .notice_ctx = progress,
    };

    memcpy(plan.methods, w->lists.methods, sizeof plan.methods);
    return plan;
}

/* Prints the table, writes the files. */
static enum df_status tell(const struct work *w,
                           const struct crossover_plan *plan,
                           const struct crossover_report *report,
                           struct df_error *err)
{
    struct buf definition = { 0 };
    struct bench_subject subject = { .report = report,
                                     .documents = plan->documents,
                                     .view = plan->view,
                                     .job = w->job->job->name,
                                     .shards = w->shards,
                                     .seed = plan->seed };
    enum df_status status;

    if (!jobspec_definition(w->job, &definition) ||
        !buf_append_byte(&definition, 0)) {
        buf_fini(&definition);
        return error_no_memory(err);
    }
    subject.definition = (const char *)definition.data;
    status = bench_print(&subject, w->in->out, err);
    if (status == DF_OK) {
        output_flush(w->in->out);
        status = bench_files_write(&w->files, &subject, err);
    }
    if (status == DF_OK) {
        output_text(w->in->out, "\nwrote ");
        output_shown(w->in->out, bytes_of_string(w->files.prefix));
        output_text(w->in->out, ".csv and ");
        output_shown(w->in->out, bytes_of_string(w->files.prefix));
        output_text(w->in->out, ".svg\n");
    }
    buf_fini(&definition);
    return status;
}

static enum df_status measure(struct work *w,
                              const struct resources *resources,
                              struct df_error *err)
{
    struct crossover_report report = { 0 };
    struct engine_options engine;
    struct crossover_plan plan;
    struct progress progress;
    enum df_status status;

    resources_prepare(resources, &progress, &engine);
    plan = plan_of(w, &engine, &progress, resources->verbose);
    status = crossover_measure(&report, &plan, err);
    progress_clear(&progress);
    if (status == DF_OK) {
        status = tell(w, &plan, &report, err);
    } else if (status == DF_INTERRUPTED) {
        status = error_set(err, status,
                           "interrupted: nothing was written, the scratch "
                           "directory is removed");
    }
    crossover_fini(&report);
    return status;
}

/* What would be given without an effect. */
static enum df_status check_settings(const struct jobspec *spec,
                                     struct df_error *err)
{
    if (strcmp(jobspec_common(spec, "keep"), "0") != 0) {
        return error_set(err, DF_USAGE,
                         "option 'keep': what is measured keeps no history");
    }
    if (strcmp(jobspec_common(spec, "base"), "none") != 0) {
        return error_set(
            err, DF_USAGE,
            "option 'base': what is measured knows its own documents");
    }
    return DF_OK;
}

/* Of a directory: the job is on the command line, or the one that needs no
 * choice. */
static enum df_status bench_directory(struct work *w,
                                      const struct resources *resources,
                                      struct df_error *err)
{
    static char usual[] = "wordcount";
    char *const words[] = { usual };
    bool is_given = w->in->argc > 1;
    enum df_status status =
        chosen_job(&w->spec, is_given ? w->in->argv + 1 : words,
                   is_given ? (size_t)w->in->argc - 1 : 1, err);

    if (status == DF_OK) {
        status = check_settings(&w->spec, err);
    }
    if (status == DF_OK) {
        w->job = &w->spec;
        w->shards = w->bench->shards == 0 ? chosen_shards()
                                          : (unsigned)w->bench->shards;
        status = measure(w, resources, err);
    }
    jobspec_close(&w->spec);
    return status;
}

/* Of a view: it is closed before it is copied, a process opens a view once. */
static enum df_status bench_view(struct work *w,
                                 const struct resources *resources,
                                 struct df_error *err)
{
    enum df_status status =
        opened_work(&w->opened, w->in->argv[0], VIEW_READ, 0, err);

    if (status != DF_OK) {
        return status;
    }
    w->job = &w->opened.spec;
    w->view = w->in->argv[0];
    w->shards = view_definition(w->opened.view)->shards;
    view_close(w->opened.view);
    w->opened.view = NULL;
    status = measure(w, resources, err);
    opened_close(&w->opened);
    return status;
}

static enum df_status run(struct invocation *in, struct df_error *err)
{
    struct bench bench = { .sizes = BENCH_SIZES,
                           .output = "deltafold-bench",
                           .repeats = REPEATS_INITIAL,
                           .seed = SEED_INITIAL,
                           .wait = WAIT_INITIAL };
    struct work work = { .bench = &bench, .in = in };
    struct resources resources = { 0 };
    enum df_status status = chosen_check(in, err);

    if (status == DF_OK) {
        status = command_parse(in,
                               (void *[]){ &bench, &resources, &resources,
                                           &resources, &resources },
                               err);
    }
    if (status == DF_OK) {
        status = check_arguments(in, &bench, err);
    }
    if (status == DF_OK) {
        status =
            bench_lists_parse(&work.lists, bench.sizes, bench.methods, err);
    }
    if (status == DF_OK) {
        status = bench_files_init(&work.files, bench.output, bench.force, err);
    }
    if (status == DF_OK) {
        status = bench.documents == NULL
                     ? bench_directory(&work, &resources, err)
                     : bench_view(&work, &resources, err);
    }
    bench_files_fini(&work.files);
    return status;
}

const struct command command_bench = {
    .name = "bench",
    .summary = "measure incremental against full, on your documents",
    .synopsis = "DIR [JOB [OPTION=VALUE ...]] [OPTION ...]\n"
                "VIEW --documents=DIR [OPTION ...]",
    .text =
        "Measures on your own documents what keeping a view up to date costs "
        "beside computing it anew, over the size of the delta, and up to "
        "where which is faster. Prints a table, writes a CSV file with every "
        "measurement and an SVG chart.\n"
        "\n"
        "DIR is a directory of documents; the job is wordcount when none is "
        "given. Some documents, chosen at random, are kept out of the base "
        "as a reserve: a delta of P % deletes P/2 % from the base and "
        "inserts P/2 % out of the reserve, by bytes. VIEW is a view of the "
        "documents under --documents; a copy of it is measured.\n"
        "\n"
        "The methods are those of 'deltafold run --install'. What is measured "
        "knows where the documents lie that each delta leaves: rebuild "
        "computes from them, and auto may. Where a view cannot know that (see "
        "'deltafold base') rebuild is left out, with a notice.\n"
        "\n"
        "Every method must give the rows of the full recomputation, or its "
        "time is not printed and the exit code is 1. Documents and view are "
        "only read. The scratch directory, removed at the end, needs room "
        "for the view three times, and for the documents where they cannot "
        "be hard-linked. All is measured with a warm page cache.",
    .examples =
        "  deltafold bench corpus/\n"
        "  deltafold bench mirror/ links --sizes=0.1,1,10 --repeat=9\n"
        "  deltafold bench words --documents=corpus/ --output=words-bench",
    .options = { options, resource_threads, resource_memory, resource_mapping,
                 resource_listing },
    .arguments_min = 1,
    .arguments_max = -1,
    .run = run,
};
