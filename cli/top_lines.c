#include "cli/top_lines.h"

#include <assert.h>
#include <stdlib.h>

#include "base/heap.h"
#include "cli/format.h"
#include "jobs/aggregate/decimal.h"

/* A line that is kept: what it is ranked by, as bytes in order, and its
 * cells. All memory is used again for the line that takes its place. */
struct kept {
    struct buf rank;
    uint64_t order; /* in which it came */
    struct buf bytes;
    struct df_cell *cells; /* their data lies in bytes */
    size_t *offsets;
};

struct best {
    struct heap heap; /* of struct kept */
    unsigned cells;
    uint64_t came;
    struct kept next; /* the line at hand */
};

enum { RANK_NUMBER = 1, RANK_TEXT = 2 };

static bool is_worse(const void *one, const void *other)
{
    const struct kept *a = one;
    const struct kept *b = other;
    int order = bytes_compare(buf_bytes(&a->rank), buf_bytes(&b->rank));

    return order != 0 ? order < 0 : a->order > b->order;
}

static void kept_fini(struct kept *k)
{
    buf_fini(&k->rank);
    buf_fini(&k->bytes);
    free(k->cells);
    free(k->offsets);
}

static void best_fini(struct best *b)
{
    for (size_t i = 0; i < b->heap.room; i++) {
        kept_fini(heap_at(&b->heap, i));
    }
    heap_fini(&b->heap);
    kept_fini(&b->next);
}

/* ---- a line ---- */

static bool set_rank(struct kept *k, const struct df_cell *cell)
{
    struct decimal d;

    buf_reset(&k->rank);
    if (cell->kind == DF_CELL_NULL) {
        return true;
    }
    if (cell->kind == DF_CELL_NUMBER &&
        decimal_split(bytes_of(cell->data, cell->len), &d) == DECIMAL_OK) {
        if (!buf_append_byte(&k->rank, RANK_NUMBER) ||
            !buf_reserve(&k->rank, decimal_code_room(d.digits))) {
            return false;
        }
        k->rank.len += decimal_encode(&d, k->rank.data + k->rank.len);
        return true;
    }
    return buf_append_byte(&k->rank, RANK_TEXT) &&
           (cell->len == 0 || buf_append(&k->rank, cell->data, cell->len));
}

/* Copies a line. */
static bool set_cells(struct kept *k, const struct df_cell *cells, unsigned n)
{
    buf_reset(&k->bytes);
    if (k->cells == NULL) {
        k->cells = calloc((size_t)n + 1, sizeof *k->cells);
        k->offsets = calloc((size_t)n + 1, sizeof *k->offsets);
    }
    if (k->cells == NULL || k->offsets == NULL) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        k->cells[i] = cells[i];
        k->offsets[i] = k->bytes.len;
        if (cells[i].len > 0 &&
            !buf_append(&k->bytes, cells[i].data, cells[i].len)) {
            return false;
        }
    }
    for (unsigned i = 0; i < n; i++) {
        k->cells[i].data =
            k->bytes.data != NULL ? k->bytes.data + k->offsets[i] : NULL;
    }
    return true;
}

/* Offers a line; false without memory. */
static bool offer(struct best *b, const struct df_cell *cells, unsigned by)
{
    struct kept displaced;
    struct kept *slot;

    b->next.order = b->came++;
    if (!set_rank(&b->next, &cells[by])) {
        return false;
    }
    if (!heap_takes(&b->heap, &b->next)) {
        return true;
    }
    slot = heap_slot(&b->heap);
    if (slot == NULL || !set_cells(&b->next, cells, b->cells)) {
        return false;
    }
    displaced = *slot;
    *slot = b->next;
    b->next = displaced;
    heap_settle(&b->heap);
    return true;
}

/* ---- the scan ---- */

static enum df_status find_column(const struct lines *l, const char *by,
                                  unsigned *column, struct df_error *err)
{
    const char *const *names = lines_names(l);
    struct buf known = { 0 };
    struct shown s;
    bool ok = true;

    *column = lines_key_cells(l) < lines_cells(l) ? lines_key_cells(l) : 0;
    for (unsigned i = 0; by != NULL && names[i] != NULL; i++) {
        if (strcmp(names[i], by) == 0) {
            *column = i;
            by = NULL;
            break;
        }
        ok = ok && buf_printf(&known, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    if (by != NULL && ok) {
        (void)error_set(err, DF_USAGE, "--by: no column '%s': there is %.*s",
                        shown(&s, bytes_of_string(by)),
                        (int)(known.len < 400 ? known.len : 400),
                        known.data != NULL ? (const char *)known.data : "");
    }
    buf_fini(&known);
    return by == NULL ? DF_OK : ok ? DF_USAGE : error_no_memory(err);
}

static enum df_status rank(struct lines *l, struct best *b, unsigned by,
                           struct df_error *err)
{
    const struct df_cell *cells = NULL;
    enum df_status status =
        lines_select(l, SNAPSHOT_ALL, bytes_of(NULL, 0), err);

    while (status == DF_OK && (status = lines_next(l, &cells, err)) == DF_OK &&
           cells != NULL) {
        if (!offer(b, cells, by)) {
            status = error_no_memory(err);
        }
    }
    return status;
}

static enum df_status print(struct lines *l, struct best *b,
                            struct output *out, struct df_error *err)
{
    struct format f;

    heap_sort(&b->heap);
    format_open_lines(&f, FORMAT_TSV, lines_names(l), b->cells, out);
    for (size_t i = 0; i < b->heap.count && !output_failed(out); i++) {
        const struct kept *k = heap_at(&b->heap, i);

        format_line(&f, k->cells);
    }
    return format_close(&f, err);
}

enum df_status top_lines(struct opened *o, size_t n, const char *by,
                         struct output *out, struct df_error *err)
{
    struct best b = { .heap = { .size = sizeof(struct kept),
                                .limit = n,
                                .is_worse = is_worse } };
    struct lines *l;
    unsigned column = 0;
    enum df_status status = lines_open(&l, o, err);

    assert(n > 0);
    if (status == DF_OK) {
        b.cells = lines_cells(l);
        status = find_column(l, by, &column, err);
    }
    if (status == DF_OK) {
        status = rank(l, &b, column, err);
    }
    if (status == DF_OK) {
        status = print(l, &b, out, err);
    }
    best_fini(&b);
    lines_close(l);
    return status;
}
