/* deltafold export: all rows, in byte order. */
#include "cli/command.h"
#include "cli/format.h"
#include "cli/opened.h"

struct export
{
    unsigned format;
    const char *prefix;
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

static enum df_status run(struct invocation *in, struct df_error *err)
{
    static const enum format_kind kinds[] = { FORMAT_TSV, FORMAT_CSV,
                                              FORMAT_NDJSON, FORMAT_MSGPACK };
    struct export export = { 0 };
    enum df_status status = command_parse(in, (void *[]){ &export }, err);
    struct format f;
    struct opened o;
    enum df_status closed;

    if (status == DF_OK) {
        status = opened_read(&o, in->argv[0], err);
    }
    if (status != DF_OK) {
        return status;
    }
    status = opened_at(&o, export.at, err);
    if (status != DF_OK) {
        opened_close(&o);
        return status;
    }
    format_open(&f, kinds[export.format], view_definition(o.view)->shape,
                o.names, in->out);
    status = scan_rows(&o, export.prefix, &f, err);
    closed = format_close(&f, err);
    opened_close(&o);
    return status == DF_OK ? closed : status;
}

const struct command command_export = {
    .name = "export",
    .summary = "print all rows, or those whose keys have a prefix",
    .synopsis = "VIEW [--format=F] [--prefix=BYTES] [--at=BATCH]",
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
        "           int",
    .examples = "  deltafold export words | sort -t$'\\t' -k2nr | head\n"
                "  deltafold export words --format=ndjson --prefix=tree",
    .options = { options },
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
