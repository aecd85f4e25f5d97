#include "jobs/aggregate/names.h"

#include <stdio.h>
#include <stdlib.h>

#include "jobs/column_list.h"

char *names_copy(struct bytes name)
{
    char *copy = malloc(name.len + 1);

    if (copy != NULL) {
        if (name.len > 0) {
            memcpy(copy, name.data, name.len);
        }
        copy[name.len] = '\0';
    }
    return copy;
}

void names_free(const char **names)
{
    for (; *names != NULL; names++) {
        free((void *)(uintptr_t)*names);
        *names = NULL;
    }
}

static bool is_taken(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* "stem", "stem_column", with a number behind while that is taken. */
static char *make_name(const char *const *names, size_t n, const char *stem,
                       const char *column)
{
    size_t size = strlen(stem) + strlen(column) + 16;
    const char *between = *stem != '\0' && *column != '\0' ? "_" : "";
    char *name = malloc(size);
    int len;

    if (name == NULL) {
        return NULL;
    }
    len = snprintf(name, size, "%s%s%s", stem, between, column);
    for (unsigned k = 2; is_taken(names, n, name); k++) {
        (void)snprintf(name + len, size - (size_t)len, "_%u", k);
    }
    return name;
}

static bool add_name(const char **names, size_t *n, const char *stem,
                     const char *column)
{
    names[*n] = make_name(names, *n, stem, column);
    return names[(*n)++] != NULL;
}

static bool name_components(struct query *p)
{
    size_t n = 0;
    bool ok = add_name(p->components, &n, "count", "");

    for (unsigned i = 0; ok && i < p->measure_count; i++) {
        const struct query_measure *m = &p->measures[i];
        const char *column = p->columns[m->column];

        ok =
            add_name(p->components, &n, "count", column) &&
            (m->sum == 0 || (add_name(p->components, &n, "sum_low", column) &&
                             add_name(p->components, &n, "sum_high", column)));
    }
    return ok;
}

static const char *stem_of(enum query_kind kind)
{
    switch (kind) {
    case QUERY_COUNT:
    case QUERY_COUNT_OF:
        return "count";
    case QUERY_SUM:
        return "sum";
    case QUERY_AVG:
        return "avg";
    case QUERY_MIN:
        return "min";
    case QUERY_MAX:
        return "max";
    case QUERY_DISTINCT:
        return "distinct";
    case QUERY_TOP:
        break;
    }
    return "top";
}

bool names_make(struct query *p)
{
    size_t n = 0;
    bool ok = name_components(p);

    for (unsigned i = 0; ok && i < p->by_count; i++) {
        ok = add_name(p->shown, &n, "", p->columns[p->by[i]]);
    }
    for (unsigned i = 0; ok && i < p->item_count; i++) {
        const struct query_item *item = &p->items[i];

        ok = add_name(p->shown, &n, stem_of(item->kind),
                      item->kind == QUERY_COUNT ? ""
                                                : p->columns[item->column]);
    }
    return ok;
}

/* ---- options ---- */

static bool is_of_option(const struct query_item *item, unsigned option)
{
    return strcmp(stem_of(item->kind), query_options[option].name) == 0;
}

static bool append_item(struct buf *out, const struct query *p,
                        const struct query_item *item)
{
    bool is_summed = item->kind == QUERY_SUM || item->kind == QUERY_AVG;

    if (item->kind == QUERY_COUNT) {
        return buf_append_byte(out, '*');
    }
    if (item->kind == QUERY_TOP && !buf_printf(out, "%u:", item->n)) {
        return false;
    }
    if (!column_list_append_name(out,
                                 bytes_of_string(p->columns[item->column]))) {
        return false;
    }
    if (is_summed && p->measures[item->of].scale != p->scale) {
        return buf_printf(out, ":%u", p->measures[item->of].scale);
    }
    return !item->is_text || buf_append_string(out, ":text");
}

static bool append_items(struct buf *out, const struct query *p,
                         unsigned option)
{
    bool ok = true;

    for (unsigned i = 0; ok && i < p->item_count; i++) {
        if (is_of_option(&p->items[i], option)) {
            ok = (out->len == 0 || buf_append_byte(out, ',')) &&
                 append_item(out, p, &p->items[i]);
        }
    }
    return ok;
}

static bool append_by(struct buf *out, const struct query *p)
{
    bool ok = true;

    for (unsigned i = 0; ok && i < p->by_count; i++) {
        ok = (i == 0 || buf_append_byte(out, ',')) &&
             column_list_append_name(out,
                                     bytes_of_string(p->columns[p->by[i]]));
    }
    return ok;
}

bool names_canonical(struct query *p)
{
    struct buf out = { 0 };
    bool ok = true;

    for (unsigned o = 0; ok && o < QUERY_OPTIONS; o++) {
        buf_reset(&out);
        if (o == QUERY_BY) {
            ok = append_by(&out, p);
        } else if (o == QUERY_SCALE) {
            ok = buf_printf(&out, "%u", p->scale);
        } else {
            ok = append_items(&out, p, o);
        }
        p->canonical[o] = ok ? names_copy(buf_bytes(&out)) : NULL;
        ok = p->canonical[o] != NULL;
    }
    buf_fini(&out);
    return ok;
}
