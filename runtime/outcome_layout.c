#include "runtime/outcome_layout.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAME_ROOM = 64 /* "reason_" and a number */ };

void outcome_layout_init(struct outcome_layout *l, uint8_t delimiter)
{
    *l = (struct outcome_layout){ .delimiter = delimiter };
}

void outcome_layout_fini(struct outcome_layout *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->columns[i].name);
        free(l->columns[i].shown);
    }
    free(l->columns);
    outcome_layout_init(l, l->delimiter);
}

void outcome_map_fini(struct outcome_map *map)
{
    free(map->to);
    *map = (struct outcome_map){ 0 };
}

/* Field i of a row as it stands, quotes and all. */
static struct bytes raw_field(const struct csv_row *row, struct bytes b,
                              size_t i)
{
    const struct csv_field *f = &row->fields[i];
    bool quoted = f->at > 0 && b.data[f->at - 1] == '"';

    return bytes_of(b.data + f->at - (quoted ? 1 : 0),
                    f->len + (quoted ? 2 : 0));
}

static char *copy(const void *data, size_t len)
{
    char *c = malloc(len + 1);

    if (c != NULL && len > 0) {
        memcpy(c, data, len);
    }
    return c;
}

/* The column of that name and number; count where there is none. */
static size_t find(const struct outcome_layout *l, struct bytes name,
                   size_t number)
{
    size_t i = 0;

    while (i < l->count &&
           (l->columns[i].number != number ||
            !bytes_equal(
                name, bytes_of(l->columns[i].name, l->columns[i].name_len)))) {
        i++;
    }
    return i;
}

static bool add_column(struct outcome_layout *l, struct bytes name,
                       size_t number, struct bytes raw)
{
    struct outcome_column *columns =
        realloc(l->columns, (l->count + 1) * sizeof *columns);
    struct outcome_column *c;

    if (columns == NULL) {
        return false;
    }
    l->columns = columns;
    c = &columns[l->count];
    *c = (struct outcome_column){ .name = copy(name.data, name.len),
                                  .name_len = name.len,
                                  .shown = copy(raw.data, raw.len),
                                  .shown_len = raw.len,
                                  .number = number };
    l->count++; /* whose strings fini frees, if there are any */
    return c->name != NULL && c->shown != NULL;
}

/* How many columns before i of the file have its name. */
static size_t number_of(const struct outcome_layout *l,
                        const struct outcome_map *map, size_t i,
                        struct bytes name)
{
    size_t n = 0;

    for (size_t k = 0; k < i; k++) {
        const struct outcome_column *c = &l->columns[map->to[k]];

        n += bytes_equal(name, bytes_of(c->name, c->name_len)) ? 1 : 0;
    }
    return n;
}

bool outcome_layout_add(struct outcome_layout *l, struct bytes header,
                        struct outcome_map *map)
{
    struct csv_row row = { 0 };
    uint8_t *room = malloc(header.len + 1);
    bool ok = room != NULL &&
              csv_row_parse(&row, header, l->delimiter, true) == CSV_ROW;

    *map = (struct outcome_map){ .count = row.count };
    map->to = ok ? calloc(row.count + 1, sizeof *map->to) : NULL;
    ok = map->to != NULL;
    for (size_t i = 0; ok && i < row.count; i++) {
        size_t len = csv_field_text(header, &row.fields[i], room);
        struct bytes name = bytes_of(room, len);
        size_t number = number_of(l, map, i, name);

        map->to[i] = find(l, name, number);
        if (map->to[i] == l->count) {
            ok = add_column(l, name, number, raw_field(&row, header, i));
        }
    }
    csv_row_fini(&row);
    free(room);
    return ok;
}

void outcome_map_settle(struct outcome_map *map,
                        const struct outcome_layout *l)
{
    map->is_same = map->count == l->count;
    for (size_t i = 0; map->is_same && i < map->count; i++) {
        map->is_same = map->to[i] == i;
    }
}

bool outcome_layout_header(const struct outcome_layout *l, const char *more,
                           struct buf *out)
{
    char name[NAME_ROOM];
    bool ok = true;

    for (size_t i = 0; ok && i < l->count; i++) {
        ok = (i == 0 || buf_append_byte(out, l->delimiter)) &&
             buf_append(out, l->columns[i].shown, l->columns[i].shown_len);
    }
    if (!ok || more == NULL) {
        return ok;
    }
    (void)snprintf(name, sizeof name, "%s", more);
    for (unsigned n = 2; find(l, bytes_of_string(name), 0) < l->count; n++) {
        (void)snprintf(name, sizeof name, "%s_%u", more, n);
    }
    return buf_append_byte(out, l->delimiter) && buf_append_string(out, name);
}

/* The file's column that goes to column `to`; count where none does. */
static size_t column_from(const struct outcome_map *map, size_t to)
{
    size_t i = 0;

    while (i < map->count && map->to[i] != to) {
        i++;
    }
    return i;
}

bool outcome_layout_record(const struct outcome_layout *l,
                           const struct outcome_map *map, struct csv_row *row,
                           struct bytes record, struct buf *out)
{
    bool ok = true;

    if (record.len == 0) { /* one column, and nothing in it */
        row->count = 0;
    } else {
        enum csv_row_result r = csv_row_parse(row, record, l->delimiter, true);

        ok = r == CSV_ROW; /* it has been read before */
    }
    for (size_t i = 0; ok && i < l->count; i++) {
        size_t from = column_from(map, i);

        ok = i == 0 || buf_append_byte(out, l->delimiter);
        if (ok && from < row->count) {
            struct bytes raw = raw_field(row, record, from);

            ok = buf_append(out, raw.data, raw.len);
        }
    }
    return ok;
}
