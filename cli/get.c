/* deltafold get: the rows of keys. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/format.h"
#include "cli/lines.h"

struct get {
    const char *at;
    bool raw;
};

static const struct option options[] = {
    { .name = "at",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct get, at),
      .value = "BATCH",
      .help = "as the view was after this batch, a name or '#SEQ'; 'deltafold "
              "keep' says how far back",
      .initial = "now" },
    { .name = "raw",
      .kind = OPTION_FLAG,
      .offset = offsetof(struct get, raw),
      .help = "rows of key, element and values, whatever the job shows" },
    { 0 }
};

static void missing(const char *what, const char *key)
{
    struct shown s;

    (void)fprintf(stderr, "deltafold: no such %s '%s'\n", what,
                  shown(&s, bytes_of_string(key)));
}

/* One row, where there is one; *found tells. */
static enum df_status get_row(struct opened *o, struct format *f,
                              struct bytes key, struct bytes element,
                              bool *found, struct df_error *err)
{
    int64_t values[DF_COMPONENTS_MAX];
    enum df_status status = DF_OK;

    *found = false;
    if (key.len <= DF_KEY_MAX && element.len <= DF_KEY_MAX) {
        status = snapshot_get(o->snapshot, key, element, values, found, err);
    }
    if (status == DF_OK && *found) {
        format_row(f, key, element, values);
    }
    return status;
}

static enum df_status get_keys(struct invocation *in, struct opened *o,
                               struct format *f, struct df_error *err)
{
    enum df_status result = DF_OK;

    for (int i = 1; i < in->argc; i++) {
        bool found;
        enum df_status status = get_row(o, f, bytes_of_string(in->argv[i]),
                                        bytes_of(NULL, 0), &found, err);

        if (status != DF_OK) {
            return status;
        }
        if (!found) {
            missing("key", in->argv[i]);
            result = DF_DIFFERS;
        }
    }
    return result;
}

/* All rows of one key, for jobs with elements. */
static enum df_status get_elements(struct invocation *in, struct opened *o,
                                   struct format *f, struct df_error *err)
{
    struct snapshot_scan *scan = NULL;
    const struct snapshot_row *row = NULL;
    bool found = false;
    enum df_status status = snapshot_scan_open(
        &scan, o->snapshot, SNAPSHOT_KEY, bytes_of_string(in->argv[1]), err);

    while (status == DF_OK && !output_failed(in->out)) {
        status = snapshot_scan_next(scan, &row, err);
        if (status != DF_OK || row == NULL) {
            break;
        }
        found = true;
        format_row(f, row->key, row->element, row->values);
    }
    snapshot_scan_close(scan);
    if (status == DF_OK && !found) {
        missing("key", in->argv[1]);
        status = DF_DIFFERS;
    }
    return status;
}

static enum df_status get_element(struct invocation *in, struct opened *o,
                                  struct format *f, struct df_error *err)
{
    bool found;
    enum df_status status = get_row(o, f, bytes_of_string(in->argv[1]),
                                    bytes_of_string(in->argv[2]), &found, err);

    if (status == DF_OK && !found) {
        missing("element", in->argv[2]);
        status = DF_DIFFERS;
    }
    return status;
}

/* The line of one key; *found tells whether there is one. */
static enum df_status get_line(struct lines *l, const char *text,
                               struct format *f, bool *found,
                               struct df_error *err)
{
    const struct df_cell *cells = NULL;
    struct bytes key = { 0 };
    enum df_status status = lines_find(l, text, &key, err);

    *found = false;
    if (status == DF_OK && key.len <= ROW_KEY_MAX) {
        status = lines_select(l, SNAPSHOT_KEY, key, err);
    }
    if (status == DF_OK && key.len <= ROW_KEY_MAX) {
        status = lines_next(l, &cells, err);
    }
    if (status == DF_OK && cells != NULL) {
        *found = true;
        format_line(f, cells);
    }
    return status;
}

static enum df_status each_line(struct invocation *in, struct lines *l,
                                struct format *f, struct df_error *err)
{
    enum df_status result = DF_OK;

    for (int i = 1; i < in->argc; i++) {
        bool found;
        enum df_status status = get_line(l, in->argv[i], f, &found, err);

        if (status != DF_OK) {
            return status;
        }
        if (!found) {
            missing("key", in->argv[i]);
            result = DF_DIFFERS;
        }
    }
    return result;
}

/* For jobs that show their views in their own way. */
static enum df_status get_lines(struct invocation *in, struct opened *o,
                                struct df_error *err)
{
    struct lines *l;
    struct format f;
    enum df_status status = lines_open(&l, o, err);
    enum df_status closed;

    if (status != DF_OK) {
        return status;
    }
    format_open_lines(&f, FORMAT_TSV, lines_names(l), lines_cells(l), in->out);
    status = each_line(in, l, &f, err);
    closed = format_close(&f, status == DF_OK ? err : &(struct df_error){ 0 });
    lines_close(l);
    return status == DF_OK ? closed : status;
}

static enum df_status get(struct invocation *in, struct opened *o,
                          struct format *f, struct df_error *err)
{
    if (!view_definition(o->view)->shape.has_element) {
        return get_keys(in, o, f, err);
    }
    if (in->argc == 2) {
        return get_elements(in, o, f, err);
    }
    if (in->argc == 3) {
        return get_element(in, o, f, err);
    }
    return error_set(err, DF_USAGE,
                     "this view's rows have elements: give one KEY and at "
                     "most one ELEMENT");
}

static enum df_status run(struct invocation *in, struct df_error *err)
{
    struct get given = { 0 };
    enum df_status status = command_parse(in, (void *[]){ &given }, err);
    struct format format;
    struct opened o;
    enum df_status closed;

    if (status == DF_OK) {
        status = opened_read(&o, in->argv[0], err);
    }
    if (status != DF_OK) {
        return status;
    }
    status = opened_at(&o, given.at, err);
    if (status != DF_OK || (o.present != NULL && !given.raw)) {
        status = status == DF_OK ? get_lines(in, &o, err) : status;
        opened_close(&o);
        return status;
    }
    format_open(&format, FORMAT_TSV, view_definition(o.view)->shape, o.names,
                in->out);
    status = get(in, &o, &format, err);
    closed = format_close(&format, err);
    opened_close(&o);
    return status == DF_OK ? closed : status;
}

const struct command command_get = {
    .name = "get",
    .summary = "print the rows of keys",
    .synopsis = "VIEW KEY ... [--at=BATCH] [--raw]\n"
                "VIEW KEY [ELEMENT] [--at=BATCH] [--raw]",
    .text =
        "Prints key and value, tab-separated, a line per key. Where the "
        "job's rows have elements: key, element and value of all rows of "
        "KEY, or of the one row of KEY and ELEMENT. Keys are taken as they "
        "are; in what is printed tab, newline, CR and backslash are \\t \\n "
        "\\r \\\\. A key that is not there is named on standard error, "
        "and the exit code is 1.\n\n"
        "Where the job has columns of its own (aggregate): the line of each "
        "KEY as export prints it. A KEY is then written as export writes it: "
        "its columns with a TAB between, with the same escapes, \\N for none; "
        "in views of ndjson 42 is the number and '\"42\"' the text.",
    .examples = "  deltafold get words tree house\n"
                "  deltafold get words tree --at=2026-11-28\n"
                "  deltafold get words -- --help",
    .options = { options },
    .arguments_min = 2,
    .arguments_max = -1,
    .takes_keys = true,
    .operands = OPERANDS_WORDS,
    .run = run,
};
