/* deltafold why: which batches made a row. */
#include "cli/command.h"
#include "cli/format.h"
#include "cli/lines.h"
#include "state/history.h"

static const struct option options[] = { { 0 } };

/* A key whose rows are being taken apart. */
struct reason {
    struct opened *o;
    struct format format;
    struct bytes key;
    bool found; /* any line was printed */
};

/* A line: the batch, then the row as get prints it. */
static void put_line(struct reason *r, struct bytes batch,
                     struct bytes element, const int64_t *values)
{
    struct shown name;

    output_text(r->format.out, shown(&name, batch));
    output_byte(r->format.out, '\t');
    format_row(&r->format, r->key, element, values);
    r->found = true;
}

/* All rows of the key, of what the snapshot shows. */
static enum df_status put_rows(struct reason *r, struct bytes batch,
                               struct df_error *err)
{
    struct snapshot_scan *scan = NULL;
    const struct snapshot_row *row = NULL;
    enum df_status status =
        snapshot_scan_open(&scan, r->o->snapshot, SNAPSHOT_KEY, r->key, err);

    while (status == DF_OK && !output_failed(r->format.out) &&
           (status = snapshot_scan_next(scan, &row, err)) == DF_OK &&
           row != NULL) {
        put_line(r, batch, row->element, row->values);
    }
    snapshot_scan_close(scan);
    return status;
}

static enum df_status put_run(struct reason *r, const struct kept_run *run,
                              struct df_error *err)
{
    struct ledger_entry e;
    bool found;
    enum df_status status =
        snapshot_ledger_get(r->o->snapshot, run->seq, &e, &found, err);

    if (status != DF_OK || !found) {
        return status;
    }
    status = snapshot_show_run(r->o->snapshot, run->seq, err);
    return status == DF_OK ? put_rows(r, e.name, err) : status;
}

static enum df_status put_runs(struct reason *r, struct df_error *err)
{
    struct kept_run run = { 0 };
    bool found = true;
    enum df_status status = DF_OK;

    while (status == DF_OK && found) {
        status =
            snapshot_kept_after(r->o->snapshot, run.seq, &run, &found, err);
        if (status == DF_OK && found && run.times != 0) {
            status = put_run(r, &run, err);
        }
    }
    return status;
}

static enum df_status why(struct reason *r, struct df_error *err)
{
    enum df_status status = put_runs(r, err);

    if (status == DF_OK) {
        status = snapshot_show_base(r->o->snapshot, err);
    }
    if (status == DF_OK) {
        status = put_rows(r, bytes_of_string("(before)"), err);
    }
    if (status == DF_OK && !r->found) {
        struct shown s;

        return error_set(err, DF_DIFFERS, "no such key '%s'",
                         shown(&s, r->key));
    }
    return status;
}

/* The bytes of the key that the user means; owned by room. */
static enum df_status find_key(const struct opened *o, const char *text,
                               struct buf *room, struct bytes *key,
                               struct df_error *err)
{
    struct lines *l = NULL;
    enum df_status status;

    *key = bytes_of_string(text);
    if (o->present == NULL) {
        return DF_OK;
    }
    status = lines_open(&l, o, err);
    if (status == DF_OK) {
        status = lines_find(l, text, key, err);
    }
    if (status == DF_OK && key->len > 0 &&
        !buf_append(room, key->data, key->len)) {
        status = error_no_memory(err);
    }
    *key = buf_bytes(room);
    lines_close(l);
    return status;
}

static enum df_status run(struct invocation *in, struct df_error *err)
{
    enum df_status status = command_parse(in, (void *[]){ NULL }, err);
    struct reason r = { 0 };
    struct buf room = { 0 };
    struct opened o;
    enum df_status closed;

    if (status == DF_OK) {
        status = opened_read_all(&o, in->argv[0], err);
    }
    if (status != DF_OK) {
        return status;
    }
    r.o = &o;
    status = find_key(&o, in->argv[1], &room, &r.key, err);
    format_open(&r.format, FORMAT_TSV, view_definition(o.view)->shape, o.names,
                in->out);
    if (status == DF_OK) {
        status = why(&r, err);
    }
    closed = format_close(&r.format, err);
    buf_fini(&room);
    opened_close(&o);
    return status == DF_OK ? closed : status;
}

const struct command command_why = {
    .name = "why",
    .summary = "print which batches made the rows of a key",
    .synopsis = "VIEW KEY",
    .text = "Prints, for every batch whose run the view keeps ('deltafold "
            "keep') and that is in its rows, what it added to the rows of "
            "KEY: batch, key, element (if the job has one), values, "
            "tab-separated, in the order in which batches were applied. What "
            "older batches left is the line '(before)'. The values of a row "
            "add up to what 'deltafold get' prints, with --raw where the job "
            "has columns of its own; KEY is written as 'get' takes it.",
    .examples = "  deltafold why words tree",
    .options = { options },
    .arguments_min = 2,
    .arguments_max = 2,
    .takes_keys = true,
    .operands = OPERANDS_WORDS,
    .run = run,
};
