/* deltafold top: the greatest rows, from one scan with a bounded heap. */
#include <stdlib.h>

#include "base/heap.h"
#include "cli/command.h"
#include "cli/format.h"
#include "cli/top_lines.h"

enum { TOP_INITIAL = 10 };

struct top {
    uint64_t n;
    const char *by;
    const char *at;
    bool raw;
};

static const struct option options[] = {
    { .name = "number",
      .letter = 'n',
      .kind = OPTION_NUMBER,
      .offset = offsetof(struct top, n),
      .min = 1,
      .max = 100000000,
      .value = "N",
      .help = "how many keys",
      .initial = "10" },
    { .name = "by",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct top, by),
      .value = "WHAT",
      .help = "rank by the sum of a key's `values` or by the number of its "
              "`elements`, where these are shown; else by a column",
      .initial = "values, or the first column behind the key" },
    { .name = "at",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct top, at),
      .value = "BATCH",
      .help = "as the view was after this batch, a name or '#SEQ'; 'deltafold "
              "keep' says how far back",
      .initial = "now" },
    { .name = "raw",
      .kind = OPTION_FLAG,
      .offset = offsetof(struct top, raw),
      .help = "rows of key, element and values, whatever the job shows" },
    { 0 }
};

/* A key and what it is ranked by. Keys come in byte order, so that `order`
 * decides between equals. */
struct entry {
    int64_t rank;
    uint64_t order;
    uint8_t *key; /* owned */
    size_t key_len;
    /* Jobs with elements: sum and number of elements; else the values. */
    int64_t values[DF_COMPONENTS_MAX];
};

static bool is_worse(const void *one, const void *other)
{
    const struct entry *a = one;
    const struct entry *b = other;

    return a->rank != b->rank ? a->rank < b->rank : a->order > b->order;
}

/* Full of entries that later ones of this rank do not displace. */
static bool is_above(const struct heap *h, int64_t rank)
{
    return heap_is_full(h) &&
           rank <= ((const struct entry *)heap_at(h, 0))->rank;
}

/* Offers an entry whose key is borrowed; false without memory. */
static bool offer(struct heap *h, const struct entry *e)
{
    struct entry *slot;
    uint8_t *key;

    if (!heap_takes(h, e)) {
        return true;
    }
    key = malloc(e->key_len + 1);
    slot = key != NULL ? heap_slot(h) : NULL;
    if (slot == NULL) {
        free(key);
        return false;
    }
    memcpy(key, e->key, e->key_len);
    free(slot->key);
    *slot = *e;
    slot->key = key;
    heap_settle(h);
    return true;
}

static void fini(struct heap *h)
{
    for (size_t i = 0; i < h->count; i++) {
        free(((struct entry *)heap_at(h, i))->key);
    }
    heap_fini(h);
}

/* A scan in progress. `current` is the key whose rows are being added up;
 * its bytes are in `key`. */
struct ranking {
    struct heap heap;
    struct row_shape shape;
    bool by_elements;
    bool has_current;
    struct entry current;
    struct buf key;
};

static int64_t saturating_add(int64_t a, int64_t b)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum)) {
        return a < 0 ? INT64_MIN : INT64_MAX;
    }
    return sum;
}

static bool end_key(struct ranking *r)
{
    if (!r->has_current) {
        return true;
    }
    r->current.key = r->key.data;
    r->current.key_len = r->key.len;
    r->current.rank = r->current.values[r->by_elements ? 1 : 0];
    r->has_current = false;
    return offer(&r->heap, &r->current);
}

/* A row of a job with elements: rows of one key come one after the other. */
static bool add_element(struct ranking *r, const struct snapshot_row *row)
{
    int64_t *values = r->current.values;

    if (!r->has_current || !bytes_equal(buf_bytes(&r->key), row->key)) {
        if (!end_key(r)) {
            return false;
        }
        buf_reset(&r->key);
        if (!buf_append(&r->key, row->key.data, row->key.len)) {
            return false;
        }
        r->has_current = true;
        r->current.order++;
        values[0] = 0;
        values[1] = 0;
    }
    values[0] = saturating_add(values[0], row->values[0]);
    values[1]++;
    return true;
}

static bool add_row(struct ranking *r, const struct snapshot_row *row)
{
    struct entry *e = &r->current;

    e->order++;
    e->rank = r->by_elements ? 1 : row->values[0];
    if (is_above(&r->heap, e->rank)) {
        return true; /* most rows of a large view end here */
    }
    memcpy(e->values, row->values, r->shape.components * sizeof *e->values);
    buf_reset(&r->key);
    if (!buf_append(&r->key, row->key.data, row->key.len)) {
        return false;
    }
    e->key = r->key.data;
    e->key_len = r->key.len;
    return offer(&r->heap, e);
}

static enum df_status rank(struct ranking *r, struct opened *o,
                           struct df_error *err)
{
    struct snapshot_scan *scan = NULL;
    const struct snapshot_row *row = NULL;
    enum df_status status = snapshot_scan_open(
        &scan, o->snapshot, SNAPSHOT_ALL, bytes_of(NULL, 0), err);

    while (status == DF_OK &&
           (status = snapshot_scan_next(scan, &row, err)) == DF_OK &&
           row != NULL) {
        if (!(r->shape.has_element ? add_element(r, row) : add_row(r, row))) {
            status = error_no_memory(err);
        }
    }
    snapshot_scan_close(scan);
    if (status == DF_OK && !end_key(r)) {
        return error_no_memory(err);
    }
    return status;
}

static enum df_status print(struct ranking *r, struct opened *o,
                            struct output *out, struct df_error *err)
{
    static const struct row_shape sums = { .components = 2 };
    struct heap *h = &r->heap;
    struct format f;

    heap_sort(h);
    format_open(&f, FORMAT_TSV, r->shape.has_element ? sums : r->shape,
                o->names, out);
    for (size_t i = 0; i < h->count && !output_failed(out); i++) {
        const struct entry *e = heap_at(h, i);

        format_row(&f, bytes_of(e->key, e->key_len), bytes_of(NULL, 0),
                   e->values);
    }
    return format_close(&f, err);
}

static enum df_status parse_by(const char *by, bool *by_elements,
                               struct df_error *err)
{
    struct shown s;

    *by_elements = by != NULL && strcmp(by, "elements") == 0;
    if (by == NULL || *by_elements || strcmp(by, "values") == 0) {
        return DF_OK;
    }
    return error_set(err, DF_USAGE,
                     "--by: '%s' is not one of values|elements: see "
                     "'deltafold top --help'",
                     shown(&s, bytes_of_string(by)));
}

static enum df_status top_rows(const struct top *top, struct opened *o,
                               struct output *out, struct df_error *err)
{
    struct ranking r = { .shape = view_definition(o->view)->shape,
                         .heap = { .size = sizeof(struct entry),
                                   .limit = (size_t)top->n,
                                   .is_worse = is_worse } };
    enum df_status status = parse_by(top->by, &r.by_elements, err);

    if (status == DF_OK) {
        status = rank(&r, o, err);
    }
    if (status == DF_OK) {
        status = print(&r, o, out, err);
    }
    fini(&r.heap);
    buf_fini(&r.key);
    return status;
}

static enum df_status run(struct invocation *in, struct df_error *err)
{
    struct top top = { .n = TOP_INITIAL };
    enum df_status status = command_parse(in, (void *[]){ &top }, err);
    struct opened o;

    if (status == DF_OK) {
        status = opened_read(&o, in->argv[0], err);
    }
    if (status != DF_OK) {
        return status;
    }
    status = opened_at(&o, top.at, err);
    if (status == DF_OK) {
        status = o.present != NULL && !top.raw
                     ? top_lines(&o, (size_t)top.n, top.by, in->out, err)
                     : top_rows(&top, &o, in->out, err);
    }
    opened_close(&o);
    return status;
}

const struct command command_top = {
    .name = "top",
    .summary = "print the keys with the greatest values",
    .synopsis = "VIEW [-n N] [--by=WHAT] [--at=BATCH] [--raw]",
    .text =
        "Prints key and value of the N rows with the greatest values, "
        "greatest first, tab-separated; rows of one value in byte order of "
        "their keys. Where the job has several values the first decides. "
        "Where its rows have elements: key, sum of its values and number of "
        "its elements.\n\n"
        "Where the job has columns of its own (aggregate): the lines with "
        "the greatest number, or text, in the column that --by names; lines "
        "without a value there come last.",
    .examples = "  deltafold top words -n 20\n"
                "  deltafold top sales -n 10 --by=sum_price",
    .options = { options },
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
