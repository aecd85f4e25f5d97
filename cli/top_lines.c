#include "cli/top_lines.h"

#include <assert.h>
#include <stdlib.h>

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

struct top_heap {
    struct kept *kept; /* the worst of the best is at the root */
    size_t count;
    size_t room;
    size_t limit;
    unsigned cells;
    uint64_t came;
    struct kept next; /* the line at hand */
};

enum { RANK_NUMBER = 1, RANK_TEXT = 2 };

static bool is_worse(const struct kept *a, const struct kept *b)
{
    int order = bytes_compare(buf_bytes(&a->rank), buf_bytes(&b->rank));

    return order != 0 ? order < 0 : a->order > b->order;
}

static void swap(struct kept *a, struct kept *b)
{
    struct kept t = *a;

    *a = *b;
    *b = t;
}

static void sift_up(struct top_heap *h, size_t i)
{
    while (i > 0 && is_worse(&h->kept[i], &h->kept[(i - 1) / 2])) {
        swap(&h->kept[i], &h->kept[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

static void sift_down(struct top_heap *h, size_t i)
{
    for (;;) {
        size_t worst = i;

        for (size_t child = 2 * i + 1; child <= 2 * i + 2; child++) {
            if (child < h->count &&
                is_worse(&h->kept[child], &h->kept[worst])) {
                worst = child;
            }
        }
        if (worst == i) {
            return;
        }
        swap(&h->kept[i], &h->kept[worst]);
        i = worst;
    }
}

static void kept_fini(struct kept *k)
{
    buf_fini(&k->rank);
    buf_fini(&k->bytes);
    free(k->cells);
    free(k->offsets);
}

static void heap_fini(struct top_heap *h)
{
    for (size_t i = 0; i < h->room; i++) {
        kept_fini(&h->kept[i]);
    }
    free(h->kept);
    kept_fini(&h->next);
}

static bool heap_grow(struct top_heap *h)
{
    size_t room = h->room == 0 ? 64 : 2 * h->room;
    struct kept *kept;

    if (h->count < h->room) {
        return true;
    }
    kept = realloc(h->kept, room * sizeof *kept);
    if (kept == NULL) {
        return false;
    }
    memset(kept + h->room, 0, (room - h->room) * sizeof *kept);
    h->kept = kept;
    h->room = room;
    return true;
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
static bool offer(struct top_heap *h, const struct df_cell *cells, unsigned by)
{
    bool is_full = h->count == h->limit;
    size_t at = is_full ? 0 : h->count;

    h->next.order = h->came++;
    if (!set_rank(&h->next, &cells[by])) {
        return false;
    }
    if (is_full && !is_worse(&h->kept[0], &h->next)) {
        return true;
    }
    if (!set_cells(&h->next, cells, h->cells) || (!is_full && !heap_grow(h))) {
        return false;
    }
    swap(&h->kept[at], &h->next);
    if (is_full) {
        sift_down(h, 0);
    } else {
        sift_up(h, h->count++);
    }
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

static enum df_status rank(struct lines *l, struct top_heap *h, unsigned by,
                           struct df_error *err)
{
    const struct df_cell *cells = NULL;
    enum df_status status =
        lines_select(l, SNAPSHOT_ALL, bytes_of(NULL, 0), err);

    while (status == DF_OK && (status = lines_next(l, &cells, err)) == DF_OK &&
           cells != NULL) {
        if (!offer(h, cells, by)) {
            status = error_no_memory(err);
        }
    }
    return status;
}

static int best_first(const void *a, const void *b)
{
    return is_worse(a, b) ? 1 : -1;
}

static enum df_status print(struct lines *l, struct top_heap *h,
                            struct output *out, struct df_error *err)
{
    struct format f;

    if (h->count > 1) {
        qsort(h->kept, h->count, sizeof *h->kept, best_first);
    }
    format_open_lines(&f, FORMAT_TSV, lines_names(l), h->cells, out);
    for (size_t i = 0; i < h->count && !output_failed(out); i++) {
        format_line(&f, h->kept[i].cells);
    }
    return format_close(&f, err);
}

enum df_status top_lines(struct opened *o, size_t n, const char *by,
                         struct output *out, struct df_error *err)
{
    struct top_heap h = { .limit = n };
    struct lines *l;
    unsigned column = 0;
    enum df_status status = lines_open(&l, o, err);

    assert(n > 0);
    if (status == DF_OK) {
        h.cells = lines_cells(l);
        status = find_column(l, by, &column, err);
    }
    if (status == DF_OK) {
        status = rank(l, &h, column, err);
    }
    if (status == DF_OK) {
        status = print(l, &h, out, err);
    }
    heap_fini(&h);
    lines_close(l);
    return status;
}
