/* deltafold diff: the rows that changed between two entries. */
#include "cli/command.h"
#include "cli/diff_lines.h"
#include "cli/json.h"
#include "cli/opened.h"
#include "state/history.h"

enum diff_format { DIFF_TSV, DIFF_NDJSON };

struct diff {
    unsigned format;
    const char *prefix;
    bool raw;
};

static const struct option options[] = {
    { .name = "format",
      .letter = 'f',
      .kind = OPTION_CHOICE,
      .offset = offsetof(struct diff, format),
      .choices = "tsv|ndjson",
      .help = "how rows are written, see above",
      .initial = "tsv" },
    { .name = "prefix",
      .letter = 'p',
      .kind = OPTION_TEXT,
      .offset = offsetof(struct diff, prefix),
      .value = "BYTES",
      .help = "only keys that begin with these",
      .initial = "all keys" },
    { .name = "raw",
      .kind = OPTION_FLAG,
      .offset = offsetof(struct diff, raw),
      .help = "key, element and components as they are stored, where the job "
              "has columns of its own" },
    { 0 }
};

/* The change from one entry to another, and the rows as they were before.
 * Two snapshots of one view: each shows one of the two. */
struct change {
    struct snapshot *rows;
    struct snapshot *delta;
    struct row_shape shape;
    const char *const *names;
    enum diff_format format;
    struct output *out;
};

/* A row on both sides; zeros where it is not there. */
struct sides {
    int64_t old_values[DF_COMPONENTS_MAX];
    int64_t new_values[DF_COMPONENTS_MAX];
};

static void put_tsv(struct change *c, const struct snapshot_row *row,
                    const struct sides *s)
{
    struct format f;

    format_open(&f, FORMAT_TSV, c->shape, c->names, c->out);
    format_tsv_change(&f, row->key, row->element, s->old_values,
                      s->new_values);
}

static void put_side(struct change *c, struct json *j, const char *name,
                     const int64_t *values)
{
    struct format f;

    if (row_values_zero(c->shape.components, values)) {
        json_null(j, name);
        return;
    }
    format_open(&f, FORMAT_TSV, c->shape, c->names, c->out);
    json_open(j, name);
    format_json_values(&f, j, values);
    json_close(j);
}

static void put_json(struct change *c, const struct snapshot_row *row,
                     const struct sides *s)
{
    struct json j = { .out = c->out };

    json_open(&j, NULL);
    json_bytes(&j, "key", row->key);
    if (c->shape.has_element) {
        json_bytes(&j, "element", row->element);
    }
    put_side(c, &j, "old", s->old_values);
    put_side(c, &j, "new", s->new_values);
    json_close(&j);
    json_line(&j);
}

static void hide(struct change *c, int64_t *values)
{
    if (!snapshot_is_shown(c->rows, values)) {
        memset(values, 0, c->shape.components * sizeof *values);
    }
}

/* Puts old and new together; what having= hides is not there for readers. */
static enum df_status both_sides(struct change *c,
                                 const struct snapshot_row *row,
                                 struct sides *s, struct df_error *err)
{
    size_t size = c->shape.components * sizeof(int64_t);
    bool found;
    enum df_status status = snapshot_get(c->rows, row->key, row->element,
                                         s->old_values, &found, err);

    if (status != DF_OK) {
        return status;
    }
    if (!found) {
        memset(s->old_values, 0, size);
    }
    memcpy(s->new_values, s->old_values, size);
    if (!row_values_add(c->shape, s->new_values, row->values)) {
        return error_set(err, DF_STATE, "a kept run is damaged");
    }
    hide(c, s->old_values);
    hide(c, s->new_values);
    return DF_OK;
}

static enum df_status print_rows(struct change *c, const char *prefix,
                                 struct df_error *err)
{
    struct bytes start = bytes_of_string(prefix == NULL ? "" : prefix);
    size_t size = c->shape.components * sizeof(int64_t);
    struct snapshot_scan *scan = NULL;
    const struct snapshot_row *row = NULL;
    enum df_status status = snapshot_scan_open(
        &scan, c->delta, prefix == NULL ? SNAPSHOT_ALL : SNAPSHOT_PREFIX,
        start, err);

    while (status == DF_OK && !output_failed(c->out) &&
           (status = snapshot_scan_next(scan, &row, err)) == DF_OK &&
           row != NULL) {
        struct sides s;

        status = both_sides(c, row, &s, err);
        if (status != DF_OK || memcmp(s.old_values, s.new_values, size) == 0) {
            continue;
        }
        if (c->format == DIFF_TSV) {
            put_tsv(c, row, &s);
        } else {
            put_json(c, row, &s);
        }
    }
    snapshot_scan_close(scan);
    return status;
}

/* The same for jobs that show lines of their own: both sides whole. */
static enum df_status print_lines(struct change *c, const struct opened *o,
                                  uint64_t to, const char *prefix,
                                  struct df_error *err)
{
    struct opened after = *o;
    struct snapshot_scan *scan = NULL;
    enum df_status status = snapshot_open(&after.snapshot, o->view, err);

    if (status != DF_OK) {
        return status;
    }
    status = snapshot_show_at(after.snapshot, to, err);
    if (status == DF_OK) {
        status = snapshot_scan_open(&scan, c->delta, SNAPSHOT_ALL,
                                    bytes_of(NULL, 0), err);
    }
    if (status == DF_OK) {
        status = diff_lines(o, &after, scan, prefix, c->format == DIFF_NDJSON,
                            c->out, err);
    }
    snapshot_scan_close(scan);
    snapshot_close(after.snapshot);
    return status;
}

/* Which entries are meant, by the older of the two snapshots. */
static enum df_status show(struct change *c, char *const *which, uint64_t *to,
                           struct df_error *err)
{
    struct ledger_entry e;
    uint64_t from = 0;
    enum df_status status =
        snapshot_find_entry(c->rows, which[0], true, &e, err);

    if (status == DF_OK) {
        from = e.seq;
        status = snapshot_find_entry(c->rows, which[1], true, &e, err);
        *to = e.seq;
    }
    if (status == DF_OK) {
        status = snapshot_show_change(c->delta, from, e.seq, err);
    }
    return status == DF_OK ? snapshot_show_at(c->rows, from, err) : status;
}

static enum df_status diff(struct invocation *in, const struct diff *d,
                           struct opened *o, struct df_error *err)
{
    struct change c = { .shape = view_definition(o->view)->shape,
                        .names = o->names,
                        .format = (enum diff_format)d->format,
                        .out = in->out,
                        .rows = o->snapshot };
    uint64_t to = 0;
    enum df_status status = snapshot_open(&c.delta, o->view, err);

    if (status == DF_OK) {
        status = show(&c, in->argv + 1, &to, err);
    }
    if (status == DF_OK) {
        status = o->present != NULL && !d->raw
                     ? print_lines(&c, o, to, d->prefix, err)
                     : print_rows(&c, d->prefix, err);
    }
    snapshot_close(c.delta);
    return status;
}

static enum df_status run(struct invocation *in, struct df_error *err)
{
    struct diff d = { 0 };
    enum df_status status = command_parse(in, (void *[]){ &d }, err);
    struct opened o;

    if (status == DF_OK) {
        status = opened_read_all(&o, in->argv[0], err);
    }
    if (status != DF_OK) {
        return status;
    }
    status = diff(in, &d, &o, err);
    opened_close(&o);
    return status;
}

const struct command command_diff = {
    .name = "diff",
    .summary = "print the rows that changed between two batches",
    .synopsis = "VIEW B1 B2 [--format=F] [--prefix=BYTES] [--raw]",
    .text =
        "Prints the rows that are not the same after batch B1 and after batch "
        "B2, in byte order of key and element, from the runs that the view "
        "keeps ('deltafold keep'). A batch is given by its name, an entry of "
        "the log as '#SEQ'; '#0' is the empty view. Applied to an export of "
        "B1 this gives the export of B2:\n\n"
        "  tsv      key, element (if the job has one), old values, new\n"
        "           values; zeros where there is no row; no header; tab,\n"
        "           newline, CR and backslash as \\t \\n \\r \\\\\n"
        "  ndjson   an object per row: key, element, old and new, each\n"
        "           an object of the values by name, or null where there\n"
        "           is no row\n\n"
        "Where the job has columns of its own: those of the key, then the "
        "others as they were and as they are, \\N where there is no line.",
    .examples = "  deltafold diff words 2026-11-28 2026-11-29\n"
                "  deltafold diff words '#3' '#7' --format=ndjson",
    .options = { options },
    .arguments_min = 3,
    .arguments_max = 3,
    .operands = OPERANDS_WORDS,
    .run = run,
};
