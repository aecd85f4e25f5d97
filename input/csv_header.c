#include "input/csv_header.h"

#include <stdlib.h>

/* How much of a header a message shows. */
enum { SHOWN_HEADER = 200 };

static struct bytes name_at(const struct csv *c, size_t column)
{
    return bytes_of(c->names.data + c->named[column].at, c->named[column].len);
}

/* The names joined, for a message; error.h cuts what is too long. */
static const char *all_names(const struct csv *c, struct shown *out)
{
    struct buf list = { 0 };
    bool ok = true;

    for (size_t i = 0; ok && i < c->width && list.len < SHOWN_HEADER; i++) {
        struct bytes name = name_at(c, i);

        ok = (i == 0 || buf_append_string(&list, ", ")) &&
             buf_append(&list, name.data, name.len);
    }
    (void)shown(out, ok ? buf_bytes(&list) : bytes_of(NULL, 0));
    buf_fini(&list);
    return out->text;
}

static enum df_status find_column(const struct csv *c, const char *wanted,
                                  size_t *at, struct df_error *err)
{
    struct bytes name = bytes_of_string(wanted);
    struct shown a;
    struct shown b;
    size_t found = 0;

    for (size_t i = 0; i < c->width; i++) {
        if (bytes_equal(name_at(c, i), name)) {
            *at = i;
            found++;
        }
    }
    if (found == 1 && name.len > 0) {
        return DF_OK;
    }
    (void)shown(&a, name);
    return found > 1
               ? error_set(err, DF_INPUT, "two columns named '%s'", a.text)
               : error_set(err, DF_INPUT, "no column '%s'; the header has: %s",
                           a.text, all_names(c, &b));
}

/* Names are copied: the stretch does not stay, and order is by name. */
static bool copy_names(struct csv *c, struct bytes b)
{
    buf_reset(&c->names);
    if (!buf_reserve(&c->names, c->row.next)) {
        return false;
    }
    for (size_t i = 0; i < c->row.count; i++) {
        const struct csv_field *f = &c->row.fields[i];

        c->named[i] = (struct csv_field){
            .at = c->names.len,
            .len = csv_field_text(b, f, c->names.data + c->names.len),
        };
        c->names.len += c->named[i].len;
    }
    return true;
}

static bool grow(struct csv *c)
{
    size_t n = c->row.count;
    struct csv_field *named;
    struct csv_field *cut;
    size_t *order;

    if (n <= c->capacity) {
        return true;
    }
    named = realloc(c->named, n * sizeof *named);
    c->named = named != NULL ? named : c->named;
    cut = realloc(c->cut, n * sizeof *cut);
    c->cut = cut != NULL ? cut : c->cut;
    order = realloc(c->order, n * sizeof *order);
    c->order = order != NULL ? order : c->order;
    if (named == NULL || cut == NULL || order == NULL) {
        return false;
    }
    c->capacity = n;
    return true;
}

struct named_column {
    struct bytes name;
    size_t column;
};

static int compare(const void *a, const void *b)
{
    const struct named_column *x = a;
    const struct named_column *y = b;

    return bytes_compare(x->name, y->name);
}

/* Columns by name; of two with one name the whole is not clear. */
static enum df_status sort_columns(struct csv *c, struct df_error *err)
{
    struct named_column *list = calloc(c->width, sizeof *list);
    enum df_status status = DF_OK;
    struct shown name;

    if (list == NULL) {
        return error_no_memory(err);
    }
    for (size_t i = 0; i < c->width; i++) {
        list[i] = (struct named_column){ name_at(c, i), i };
    }
    qsort(list, c->width, sizeof *list, compare);
    for (size_t i = 0; i < c->width && status == DF_OK; i++) {
        c->order[i] = list[i].column;
        if (i > 0 && bytes_equal(list[i - 1].name, list[i].name)) {
            status = error_set(err, DF_INPUT, "two columns named '%s'",
                               shown(&name, list[i].name));
        }
    }
    free(list);
    return status;
}

static size_t times_picked(const struct csv *c)
{
    size_t most = 1;

    for (size_t i = 0; i < c->columns->n; i++) {
        size_t times = 0;

        for (size_t k = 0; k < c->columns->n; k++) {
            times += c->picked[k] == c->picked[i] ? 1 : 0;
        }
        most = times > most ? times : most;
    }
    return most;
}

/* Where lines end in CR alone the whole file would be a header, and no record
 * of it be seen. Between quotes a CR is part of a name. */
static bool has_lone_cr(const struct csv *c, struct bytes b)
{
    for (size_t i = 0; i < c->row.count; i++) {
        const struct csv_field *f = &c->row.fields[i];
        bool is_quoted = f->at > 0 && b.data[f->at - 1] == '"';

        if (!is_quoted && f->len > 0 &&
            memchr(b.data + f->at, '\r', f->len) != NULL) {
            return true;
        }
    }
    return false;
}

enum df_status csv_header_take(struct csv *c, struct bytes b,
                               struct df_error *err)
{
    enum df_status status = DF_OK;

    if (has_lone_cr(c, b)) {
        return error_set(err, DF_INPUT,
                         "a CR without LF in the header: lines end in LF or "
                         "CRLF; convert the file, or quote the name");
    }
    if (!grow(c) || !copy_names(c, b)) {
        return error_no_memory(err);
    }
    c->width = c->row.count;
    for (size_t i = 0; i < c->columns->n && status == DF_OK; i++) {
        status = find_column(c, c->columns->names[i], &c->picked[i], err);
    }
    if (status == DF_OK) {
        c->times_picked = times_picked(c);
    }
    if (status == DF_OK && c->columns->whole) {
        status = sort_columns(c, err);
    }
    c->has_header = status == DF_OK;
    return status;
}
