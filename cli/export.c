/* deltafold export: all rows, in byte order. */
#include "cli/command.h"
#include "cli/format.h"
#include "cli/lines.h"

struct export
{
    unsigned format;
    const char *prefix;
    bool raw;
    const char *at;
};

static const struct option options[] = {
    { .name = "format",
      .letter = 'f',
      .kind = OPTION_CHOICE,
      .offset = offsetof(struct export, format),
      .choices = FORMAT_CHOICES,
      .help = "how rows are written, see above",
      .initial = "tsv" },
    { .name = "prefix",
      .letter = 'p',
      .kind = OPTION_TEXT,
      .offset = offsetof(struct export, prefix),
      .value = "BYTES",
      .help = "only keys that begin with these",
      .initial = "all keys" },
    { .name = "raw",
      .kind = OPTION_FLAG,
      .offset = offsetof(struct export, raw),
      .help = "rows of key, element and values, whatever the job shows" },
    { .name = "at",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct export, at),
      .value = "BATCH",
      .help = "as the view was after this batch, a name or '#SEQ'; 'deltafold "
              "keep' says how far back",
      .initial = "now" },
    { 0 }
};

static enum df_status scan_rows(struct opened *o, const char *prefix,
                                struct format *f, struct df_error *err)
{
    struct bytes start = bytes_of_string(prefix == NULL ? "" : prefix);
    struct snapshot_scan *scan = NULL;
    const struct snapshot_row *row = NULL;
    enum df_status status = snapshot_scan_open(
        &scan, o->snapshot, prefix == NULL ? SNAPSHOT_ALL : SNAPSHOT_PREFIX,
        start, err);

    while (status == DF_OK && !output_failed(f->out) &&
           (status = snapshot_scan_next(scan, &row, err)) == DF_OK &&
           row != NULL) {
        format_row(f, row->key, row->element, row->values);
    }
    snapshot_scan_close(scan);
    return status;
}

static enum df_status put_lines(struct lines *l, const struct export *e,
                                enum format_kind kind, struct output *out,
                                struct df_error *err)
{
    const struct df_cell *cells = NULL;
    enum df_status status =
        lines_select(l, SNAPSHOT_ALL, bytes_of(NULL, 0), err);
    enum df_status closed;
    struct format f;

    format_open_lines(&f, kind, lines_names(l), lines_cells(l), out);
    while (status == DF_OK && !output_failed(out) &&
           (status = lines_next(l, &cells, err)) == DF_OK && cells != NULL) {
        if (lines_has_prefix(l, cells, e->prefix)) {
            format_line(&f, cells);
        }
    }
    closed = format_close(&f, status == DF_OK ? err : &(struct df_error){ 0 });
    return status == DF_OK ? closed : status;
}

static enum df_status export_lines(struct opened *o, const struct export *e,
                                   enum format_kind kind, struct output *out,
                                   struct df_error *err)
{
    struct lines *l;
    enum df_status status = lines_open(&l, o, err);

    if (status == DF_OK) {
        status = put_lines(l, e, kind, out, err);
    }
    lines_close(l);
    return status;
}

static enum df_status export_rows(struct opened *o, const struct export *e,
                                  enum format_kind kind, struct output *out,
                                  struct df_error *err)
{
    struct format f;
    enum df_status status;
    enum df_status closed;

    format_open(&f, kind, view_definition(o->view)->shape, o->names, out);
    status = scan_rows(o, e->prefix, &f, err);
    closed = format_close(&f, status == DF_OK ? err : &(struct df_error){ 0 });
    return status == DF_OK ? closed : status;
}

static enum df_status run(struct invocation *in, struct df_error *err)
{
    static const enum format_kind kinds[] = { FORMAT_TSV, FORMAT_CSV,
                                              FORMAT_NDJSON, FORMAT_MSGPACK };
    struct export export = { 0 };
    enum df_status status = command_parse(in, (void *[]){ &export }, err);
    enum format_kind kind;
    struct opened o;

    if (status == DF_OK) {
        status = opened_read(&o, in->argv[0], err);
    }
    if (status != DF_OK) {
        return status;
    }
    kind = kinds[export.format];
    status = opened_at(&o, export.at, err);
    if (status == DF_OK) {
        status = o.present != NULL && !export.raw
                     ? export_lines(&o, &export, kind, in->out, err)
                     : export_rows(&o, &export, kind, in->out, err);
    }
    opened_close(&o);
    return status;
}

const struct command command_export = {
    .name = "export",
    .summary = "print all rows, or those whose keys have a prefix",
    .synopsis = "VIEW [--format=F] [--prefix=BYTES] [--at=BATCH] [--raw]",
    .text =
        "Prints the rows in byte order of key and element, all as they are "
        "after one and the same batch:\n\n"
        "  tsv      key, element (if the job has one), values; no\n"
        "           header; tab, newline, CR and backslash in a key as\n"
        "           \\t \\n \\r \\\\\n"
        "  csv      RFC 4180, with a header\n"
        "  ndjson   an object per row: key, element, and the values by\n"
        "           name; a key that is not UTF-8 stands in base64 as\n"
        "           key_base64, an element as element_base64\n"
        "  msgpack  an array per row: key and element as bin, values as\n"
        "           int\n\n"
        "Views of jobs that have columns of their own (aggregate) are printed "
        "as lines of these, a line per key, the key's columns first: in csv "
        "and ndjson under their names; a number with all its digits, in "
        "msgpack as str; no value as \\N in tsv, as nothing in csv, as null. "
        "--prefix then means the first column.",
    .examples = "  deltafold export words | sort -t$'\\t' -k2nr | head\n"
                "  deltafold export words --format=ndjson --prefix=tree",
    .options = { options },
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
