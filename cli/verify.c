/* deltafold verify: the view against a recomputation. */
#include "cli/command.h"
#include "cli/format.h"
#include "cli/human.h"
#include "cli/opened.h"
#include "cli/operands.h"
#include "cli/resources.h"

struct verify {
    const char *deltas;
    const char *sample;
};

static const struct option options[] = {
    { .name = "deltas",
      .kind = OPTION_PATH,
      .offset = offsetof(struct verify, deltas),
      .value = "DIR",
      .help = "recompute from the applied batches under DIR" },
    { .name = "sample",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct verify, sample),
      .value = "1/K",
      .help = "take one key in K, the same ones every time",
      .initial = "1/1" },
    { 0 }
};

static const char ways[] =
    "name them ('deltafold verify VIEW DIR'), or the applied batches "
    "(--deltas=DIR), or tell it once ('deltafold base VIEW DIR')";

/* Where differing rows go; ctx of print_difference. */
struct printer {
    struct output *out;
    struct progress *progress;
    const struct opened *opened;
    size_t rows;
};

static void print_header(const struct printer *p, struct row_shape shape)
{
    output_text(p->out, shape.has_element ? "key\telement" : "key");
    if (shape.components == 1) {
        output_text(p->out, "\texpected\tfound\n");
        return;
    }
    for (unsigned i = 0; i < shape.components; i++) {
        output_printf(p->out, "\texpected_%s", p->opened->names[i]);
    }
    for (unsigned i = 0; i < shape.components; i++) {
        output_printf(p->out, "\tfound_%s", p->opened->names[i]);
    }
    output_byte(p->out, '\n');
}

static void print_values(struct output *out, unsigned n, const int64_t *values)
{
    for (unsigned i = 0; i < n; i++) {
        output_printf(out, "\t%lld", (long long)values[i]);
    }
}

/* A key or element. Those of jobs that show their views in their own way are
 * no text. */
static void print_bytes(const struct printer *p, struct bytes b)
{
    struct shown s;

    if (p->opened->present == NULL) {
        format_tsv_field(p->out, b);
    } else {
        output_text(p->out, shown(&s, b));
    }
}

static void print_difference(void *ctx, const struct engine_difference *d)
{
    struct printer *p = ctx;
    struct row_shape shape = view_definition(p->opened->view)->shape;

    progress_clear(p->progress);
    if (p->rows++ == 0) {
        print_header(p, shape);
    }
    print_bytes(p, d->key);
    if (shape.has_element) {
        output_byte(p->out, '\t');
        print_bytes(p, d->element);
    }
    print_values(p->out, shape.components, d->expected);
    print_values(p->out, shape.components, d->found);
    output_byte(p->out, '\n');
}

static enum df_status parse_sample(const char *text, uint64_t *sample,
                                   struct df_error *err)
{
    struct shown s;

    *sample = 1;
    if (text == NULL) {
        return DF_OK;
    }
    if (strncmp(text, "1/", 2) != 0 || !options_number(text + 2, sample) ||
        *sample == 0) {
        return error_set(err, DF_USAGE,
                         "--sample: '%s' is not 1/K, such as 1/100: see "
                         "'deltafold verify --help'",
                         shown(&s, bytes_of_string(text)));
    }
    return DF_OK;
}

static void print_equal(struct output *out, const struct engine_verdict *v)
{
    char rows[HUMAN_MAX];
    char documents[HUMAN_MAX];
    char digest[HASH128_TEXT];

    output_printf(out, "equal: %s row%s, digest %s, from %s document%s\n",
                  human_count(rows, v->rows_checked),
                  human_plural(v->rows_checked), hash128_text(digest, v->view),
                  human_count(documents, v->documents),
                  human_plural(v->documents));
}

/* What no comparison with the same deltas can find. */
static void notice_hollow(struct progress *progress, struct row_shape shape,
                          const struct hollow *h)
{
    struct buf room = { 0 };
    struct bytes key = buf_bytes(&h->first);
    struct bytes element;
    char rows[HUMAN_MAX];
    struct shown s;

    if (h->count == 0) {
        return;
    }
    (void)row_decode(shape, key, &room, &key, &element);
    progress_notice(
        progress,
        "%s row%s with a count of 0 and other numbers, key '%s'%s: "
        "records were deleted with other values than they had "
        "been inserted with",
        human_count(rows, h->count), human_plural(h->count), shown(&s, key),
        h->count > 1 ? " the first" : "");
    buf_fini(&room);
}

static enum df_status differs(const struct printer *p, const char *path,
                              const struct engine_verdict *v,
                              struct df_error *err)
{
    const char *listed =
        p->rows < v->differences ? ", of which the first are listed" : "";
    char rows[HUMAN_MAX];

    return error_set(err, DF_DIFFERS,
                     "view '%s' differs from the recomputation in %s row%s%s",
                     path, human_count(rows, v->differences),
                     human_plural(v->differences), listed);
}

static enum df_status compare(struct invocation *in, const char *dir,
                              bool deltas, uint64_t sample,
                              const struct resources *resources,
                              struct opened *o, struct df_error *err)
{
    struct engine_options engine;
    struct progress progress;
    struct engine_verdict verdict = { 0 };
    struct printer printer = { .out = in->out,
                               .progress = &progress,
                               .opened = o };
    enum df_status status;

    resources_prepare(resources, &progress, &engine);
    status = engine_verify(o->view, &o->spec, dir, deltas, sample, &engine,
                           print_difference, &printer, &verdict, err);
    progress_clear(&progress);
    notice_hollow(&progress, view_definition(o->view)->shape, &verdict.hollow);
    hollow_fini(&verdict.hollow);
    if (status == DF_OK) {
        print_equal(in->out, &verdict);
    } else if (status == DF_DIFFERS && verdict.differences > 0) {
        return differs(&printer, in->argv[0], &verdict, err);
    } else if (status == DF_INTERRUPTED) {
        return error_set(err, status, "interrupted: nothing was changed");
    }
    return status;
}

/* With what is named, else with the documents that the view knows of. */
static enum df_status compare_named(struct invocation *in,
                                    const struct verify *verify,
                                    uint64_t sample,
                                    const struct resources *resources,
                                    struct opened *o, struct df_error *err)
{
    const char *dir = in->argc == 2 ? in->argv[1] : verify->deltas;
    struct buf base = { 0 };
    enum df_status status = DF_OK;

    if (dir == NULL) {
        status = opened_documents(o, in->argv[0], ways, &base, err);
        dir = (const char *)base.data;
    }
    if (status == DF_OK) {
        status = compare(in, dir, verify->deltas != NULL, sample, resources, o,
                         err);
    }
    buf_fini(&base);
    return status;
}

static enum df_status run(struct invocation *in, struct df_error *err)
{
    struct verify verify = { 0 };
    struct resources resources = { 0 };
    struct opened o;
    uint64_t sample;
    enum df_status status = command_parse(
        in, (void *[]){ &verify, &resources, &resources, &resources }, err);

    if (status == DF_OK && in->argc == 2 && verify.deltas != NULL) {
        status = error_set(err, DF_USAGE,
                           "either DIR or --deltas=DIR, not both: see "
                           "'deltafold verify --help'");
    }
    if (status == DF_OK && verify.deltas != NULL) {
        status = operands_check_path(OPERANDS_BATCHES, in->argv[0],
                                     verify.deltas, err);
    }
    if (status == DF_OK) {
        status = parse_sample(verify.sample, &sample, err);
    }
    if (status == DF_OK) {
        status = opened_work(&o, in->argv[0], VIEW_READ, 0, err);
    }
    if (status != DF_OK) {
        return status;
    }
    status = compare_named(in, &verify, sample, &resources, &o, err);
    opened_close(&o);
    return status;
}

const struct command command_verify = {
    .name = "verify",
    .summary = "compare a view with a full recomputation",
    .synopsis = "VIEW [DIR] [--sample=1/K] [OPTION ...]\n"
                "VIEW --deltas=DIR [--sample=1/K] [OPTION ...]",
    .text =
        "Computes what the view should be, from the surviving documents "
        "under DIR or from the applied batches under --deltas=DIR; without "
        "either the documents are those of the view's base ('deltafold "
        "base'). Compares row by row, prints one line and ends with 0 if all "
        "are equal; otherwise prints the first differing rows (key, element "
        "if the job has one, expected, found; tab-separated, with a header) "
        "and ends with 1. Changes nothing. A notice tells of groups that have "
        "a count of 0 and yet a sum: a deletion gave another value than the "
        "insertion had.",
    .examples = "  deltafold verify words corpus/\n"
                "  deltafold verify words\n"
                "  deltafold verify words --deltas=deltas/ --sample=1/100",
    .options = { options, resource_threads, resource_memory,
                 resource_mapping },
    .arguments_min = 1,
    .arguments_max = 2,
    .operands = OPERANDS_DOCUMENTS,
    .run = run,
};
