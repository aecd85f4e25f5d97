/*
 * csv.c: the short way through rows.
 *
 * csv_index.h gives the places where fields end; a row of `width` columns is
 * the next `width` of them if the last is a line feed and the others are not.
 * Whatever is not so plain - the header, an empty line, a row of another
 * width, a quote where none belongs, a last row without its line end - is
 * left to csv_row.h, and the short way goes on behind it. Both give the same
 * fields; the tests compare them.
 */
#include "input/csv.h"

#include <stdlib.h>

#include "input/csv_header.h"
#include "input/csv_index.h"

/* Steps of the index at a time: 32 KiB, which is still in the first-level
 * cache when the fields are taken. */
enum { STEPS = 512 };

/* Of a row in the canonical form, before each name and each value. */
enum { LENGTH = 8 };

/* Where the walk through a stretch is. */
struct walk {
    struct csv *c;
    struct bytes b;
    bool at_end;
    size_t at;          /* where the row at hand begins */
    struct csv_index x; /* how far the ends are known */
    size_t k;           /* c->ends[k..n) are those of rows from `at` on */
    size_t n;
    bool is_done; /* the rest is no whole row */
};

enum df_status csv_open(struct csv *c, uint8_t delimiter,
                        const struct df_columns *columns,
                        struct record_rows *rows, struct df_error *err)
{
    *c = (struct csv){ .delimiter = delimiter,
                       .columns = columns,
                       .rows = rows };
    c->picked = calloc(columns->n + 1, sizeof c->picked[0]);
    return c->picked == NULL ? error_no_memory(err) : DF_OK;
}

void csv_close(struct csv *c)
{
    csv_row_fini(&c->row);
    buf_fini(&c->names);
    free(c->ends);
    buf_fini(&c->header);
    free(c->cut);
    free(c->picked);
    free(c->order);
    free(c->named);
    *c = (struct csv){ 0 };
}

void csv_start(struct csv *c)
{
    c->has_header = false;
    buf_reset(&c->header);
    c->width = 0;
}

/* ---- a row whose fields are known ---- */

static inline void set_field(struct csv *c, struct bytes b,
                             const struct csv_field *f, struct df_field *out)
{
    struct buf *scratch = &c->rows->scratch;

    out->kind = DF_TEXT;
    out->data = b.data + f->at;
    out->len = f->len;
    if (f->is_escaped) {
        out->data = scratch->data + scratch->len;
        out->len = csv_field_text(b, f, scratch->data + scratch->len);
        scratch->len += out->len;
    }
}

static void put_length(struct buf *out, size_t len)
{
    store_be64(out->data + out->len, len);
    out->len += LENGTH;
}

/* All columns, by name; there is room. */
static void set_whole(struct csv *c, struct bytes b,
                      const struct csv_field *fields, struct df_field *out)
{
    struct buf *s = &c->rows->scratch;
    size_t begin = s->len;

    for (size_t i = 0; i < c->width; i++) {
        const struct csv_field *name = &c->named[c->order[i]];
        size_t length_at;
        size_t len;

        put_length(s, name->len);
        memcpy(s->data + s->len, c->names.data + name->at, name->len);
        s->len += name->len;
        length_at = s->len;
        s->len += LENGTH;
        len = csv_field_text(b, &fields[c->order[i]], s->data + s->len);
        store_be64(s->data + length_at, len);
        s->len += len;
    }
    *out = (struct df_field){ .kind = DF_TEXT,
                              .data = s->data + begin,
                              .len = s->len - begin };
}

/* Most that a row of so many bytes becomes in the scratch. */
static inline size_t room_for(const struct csv *c, size_t len)
{
    size_t picked = c->times_picked * len;

    return c->columns->whole
               ? picked + len + c->names.len + (size_t)2 * LENGTH * c->width
               : picked;
}

static inline enum df_status make_room(struct csv *c, size_t len,
                                       struct df_error *err)
{
    size_t room = room_for(c, len);

    return record_rows_has_room(c->rows, room)
               ? DF_OK
               : record_rows_make_room(c->rows, room, err);
}

/* ---- the long way ---- */

static enum df_status refuse(struct walk *w, struct df_error *err,
                             const char *why)
{
    w->c->fault_at = w->at;
    return error_set(err, DF_INPUT, "%s", why);
}

static enum df_status refuse_long(struct walk *w, struct df_error *err)
{
    w->c->fault_at = w->at;
    return error_set(err, DF_INPUT,
                     "a record longer than %zu MiB (is a quote not closed?)",
                     RECORD_MAX >> 20);
}

static enum df_status refuse_ragged(struct walk *w, struct df_error *err)
{
    const struct csv *c = w->c;

    w->c->fault_at = w->at;
    return error_set(err, DF_INPUT, "ragged row: %zu field%s, header has %zu",
                     c->row.count, c->row.count == 1 ? "" : "s", c->width);
}

static enum df_status add_parsed(struct walk *w, struct df_error *err)
{
    struct csv *c = w->c;
    struct bytes row = bytes_of(w->b.data + w->at, c->row.len);
    enum df_status status = make_room(c, row.len, err);
    struct df_field *fields;

    if (status != DF_OK) {
        return status;
    }
    fields = record_rows_fields(c->rows);
    for (size_t i = 0; i < c->columns->n; i++) {
        set_field(c, row, &c->row.fields[c->picked[i]], &fields[i]);
    }
    if (c->columns->whole) {
        set_whole(c, row, c->row.fields, &fields[c->columns->n]);
    }
    record_rows_add(c->rows, row.data, row.len);
    return DF_OK;
}

/* A row that has been taken apart: the header, an empty line, a record or
 * a ragged row. */
static enum df_status take_parsed(struct walk *w, struct df_error *err)
{
    struct csv *c = w->c;
    enum df_status status = DF_OK;

    if (c->row.len == 0 && c->width != 1) {
        c->blanks++;
    } else if (!c->has_header) {
        status = csv_header_take(
            c, bytes_of(w->b.data + w->at, w->b.len - w->at), err);
        if (status == DF_INPUT) {
            c->fault_at = w->at;
        }
        if (status == DF_OK &&
            !buf_append(&c->header, w->b.data + w->at, c->row.len)) {
            status = error_no_memory(err);
        }
    } else if (c->row.count != c->width) {
        status = refuse_ragged(w, err);
    } else {
        status = add_parsed(w, err);
    }
    return status;
}

/* The row at hand, byte by byte. */
static enum df_status long_way(struct walk *w, struct df_error *err)
{
    struct csv *c = w->c;
    struct bytes rest = bytes_of(w->b.data + w->at, w->b.len - w->at);
    bool at_end = w->at_end;
    enum df_status status;

    /* One byte more, and a line end: enough to tell a row that is as long as
     * may be from one that is longer. */
    if (rest.len > RECORD_MAX + 2) {
        rest.len = RECORD_MAX + 2;
        at_end = false;
    }
    switch (csv_row_parse(&c->row, rest, c->delimiter, at_end)) {
    case CSV_ROW:
        break;
    case CSV_MORE:
        w->is_done = true;
        return rest.len > RECORD_MAX + 1 ? refuse_long(w, err) : DF_OK;
    case CSV_BROKEN:
        return refuse(w, err, c->row.why);
    case CSV_NO_MEMORY:
    default:
        return error_no_memory(err);
    }
    if (c->row.len > RECORD_MAX) {
        return refuse_long(w, err);
    }
    status = take_parsed(w, err);
    w->at += c->row.next;
    w->x = csv_index_start();
    w->x.at = w->at;
    w->k = 0;
    w->n = 0;
    w->is_done = w->at == w->b.len;
    return status;
}

/* ---- the short way ---- */

/* Field i of the row whose ends begin at k. line_end: behind its last
 * field. */
static inline struct csv_field cut_field(const struct walk *w, size_t i,
                                         size_t line_end)
{
    const struct csv *c = w->c;
    const uint32_t *ends = c->ends + w->k;
    size_t begin = i == 0 ? w->at : (size_t)ends[i - 1] + 1;
    size_t end = i + 1 == c->width ? line_end : ends[i];
    struct csv_field f = { .at = begin, .len = end - begin };

    if (w->b.data[begin] == '"' && begin < end) {
        f.at++;
        f.len -= 2;
        f.is_escaped = memchr(w->b.data + f.at, '"', f.len) != NULL;
    }
    return f;
}

static void cut_whole(struct walk *w, size_t line_end, struct df_field *out)
{
    struct csv *c = w->c;

    for (size_t i = 0; i < c->width; i++) {
        c->cut[i] = cut_field(w, i, line_end);
    }
    set_whole(c, w->b, c->cut, out);
}

/* Whether the next row is one for the short way: as many fields as the
 * header, nothing broken, not too long. */
static inline bool is_plain(const struct walk *w)
{
    const struct csv *c = w->c;
    const uint32_t *ends = c->ends + w->k;
    size_t last = ends[c->width - 1];
    bool has_line_feed = false;

    for (size_t i = 0; i + 1 < c->width; i++) {
        has_line_feed |= w->b.data[ends[i]] == '\n';
    }
    return !has_line_feed && w->b.data[last] == '\n' &&
           last - w->at <= RECORD_MAX &&
           !(w->x.is_broken && last >= w->x.broken_at);
}

static inline enum df_status short_way(struct walk *w, struct df_error *err)
{
    struct csv *c = w->c;
    size_t last = c->ends[w->k + c->width - 1];
    size_t line_end =
        last - (last > w->at && w->b.data[last - 1] == '\r' ? 1 : 0);
    enum df_status status = make_room(c, line_end - w->at, err);
    struct df_field *fields = record_rows_fields(c->rows);

    if (status != DF_OK) {
        return status;
    }
    for (size_t i = 0; i < c->columns->n; i++) {
        struct csv_field f = cut_field(w, c->picked[i], line_end);

        set_field(c, w->b, &f, &fields[i]);
    }
    if (c->columns->whole) {
        cut_whole(w, line_end, &fields[c->columns->n]);
    }
    record_rows_add(c->rows, w->b.data + w->at, line_end - w->at);
    w->at = last + 1;
    w->k += c->width;
    return DF_OK;
}

/* Room for the ends of a row, and of STEPS steps behind it. */
static bool grow_ends(struct csv *c)
{
    size_t wanted =
        c->width + (size_t)STEPS * CSV_INDEX_STEP + CSV_INDEX_SLACK;
    uint32_t *ends;

    if (wanted <= c->ends_capacity) {
        return true;
    }
    ends = realloc(c->ends, wanted * sizeof ends[0]);
    if (ends == NULL) {
        return false;
    }
    c->ends = ends;
    c->ends_capacity = wanted;
    return true;
}

/* Looks at more of the stretch. What is left of the list is less than a
 * row. */
static void look_further(struct walk *w)
{
    struct csv *c = w->c;
    const struct csv_index_kind kind = { .delimiter = c->delimiter,
                                         .has_quotes = true };
    size_t left = w->n - w->k;

    memmove(c->ends, c->ends + w->k, left * sizeof c->ends[0]);
    w->k = 0;
    w->n =
        left + csv_index_best()->run(&w->x, kind, w->b, STEPS, c->ends + left);
}

/* Whether a line ends in what the list has: a row that is too short. */
static bool has_line_end(const struct walk *w)
{
    for (size_t i = w->k; i < w->n; i++) {
        if (w->b.data[w->c->ends[i]] == '\n') {
            return true;
        }
    }
    return false;
}

/* The list has less than a row, and there is no more of it. */
static enum df_status end_of_list(struct walk *w, struct df_error *err)
{
    if (w->at == w->b.len) {
        w->is_done = true;
        return DF_OK;
    }
    if (w->at_end || w->x.is_broken || has_line_end(w) ||
        w->b.len - w->at > RECORD_MAX) {
        return long_way(w, err);
    }
    w->is_done = true;
    return DF_OK;
}

/* Passes over an empty line that is no record, if there is one. */
static bool skip_blank(struct walk *w)
{
    size_t end = w->c->ends[w->k];
    size_t len = end - w->at;

    if (w->c->width == 1 || w->b.data[end] != '\n' || len > 1 ||
        (len == 1 && w->b.data[w->at] != '\r') ||
        (w->x.is_broken && end >= w->x.broken_at)) {
        return false;
    }
    w->c->blanks++;
    w->at = end + 1;
    w->k++;
    return true;
}

static enum df_status step(struct walk *w, struct df_error *err)
{
    if (w->n - w->k >= w->c->width) {
        if (is_plain(w)) {
            return short_way(w, err);
        }
        return skip_blank(w) ? DF_OK : long_way(w, err);
    }
    if (w->x.at < w->b.len && !w->x.is_broken) {
        look_further(w);
        return DF_OK;
    }
    return end_of_list(w, err);
}

enum df_status csv_parse(struct csv *c, struct bytes b, bool at_end,
                         size_t *used, struct df_error *err)
{
    struct walk w = {
        .c = c, .b = b, .at_end = at_end, .is_done = b.len == 0
    };
    enum df_status status = DF_OK;

    w.x = csv_index_start();
    while (status == DF_OK && !w.is_done && !c->has_header) {
        status = long_way(&w, err);
    }
    if (status == DF_OK && c->has_header && !grow_ends(c)) {
        status = error_no_memory(err);
    }
    while (status == DF_OK && !w.is_done) {
        status = step(&w, err);
    }
    *used = w.at;
    return status;
}
