#include "jobs/aggregate/query.h"

#include <stdlib.h>

#include "jobs/aggregate/decimal.h"
#include "jobs/aggregate/names.h"
#include "jobs/column_list.h"

const struct df_option query_options[] = {
    { .name = "by",
      .initial = "",
      .values = "COLUMN,...",
      .help = "group by these; none: all records are one group",
      .is_list = true },
    { .name = "count",
      .initial = "",
      .values = "*|COLUMN,...",
      .help = "records (count alone), or values that are not null",
      .is_list = true,
      .bare = "*" },
    { .name = "sum",
      .initial = "",
      .values = "COLUMN[:SCALE],...",
      .help = "exact sums; SCALE digits behind the point are kept",
      .is_list = true },
    { .name = "avg",
      .initial = "",
      .values = "COLUMN[:SCALE],...",
      .help = "averages, kept as sum and count",
      .is_list = true },
    { .name = "min",
      .initial = "",
      .values = "COLUMN[:text],...",
      .help = "least number; with :text least in byte order",
      .is_list = true },
    { .name = "max",
      .initial = "",
      .values = "COLUMN[:text],...",
      .help = "greatest number, or text",
      .is_list = true },
    { .name = "distinct",
      .initial = "",
      .values = "COLUMN,...",
      .help = "how many different values",
      .is_list = true },
    { .name = "top",
      .initial = "",
      .values = "N:COLUMN,...",
      .help = "the N most frequent values with their counts, N to 1000",
      .is_list = true },
    { .name = "scale",
      .initial = "6",
      .values = "0..18",
      .help = "digits behind the point that sums keep" },
    { 0 },
};

static const enum query_kind kinds[QUERY_OPTIONS] = {
    [QUERY_OPTION_COUNT] = QUERY_COUNT,
    [QUERY_OPTION_SUM] = QUERY_SUM,
    [QUERY_OPTION_AVG] = QUERY_AVG,
    [QUERY_OPTION_MIN] = QUERY_MIN,
    [QUERY_OPTION_MAX] = QUERY_MAX,
    [QUERY_OPTION_DISTINCT] = QUERY_DISTINCT,
    [QUERY_OPTION_TOP] = QUERY_TOP,
};

void query_close(struct query *p)
{
    if (p == NULL) {
        return;
    }
    names_free(p->columns);
    names_free(p->components);
    names_free(p->shown);
    for (size_t i = 0; i < QUERY_OPTIONS; i++) {
        free(p->canonical[i]);
    }
    free(p);
}

/* ---- reading ---- */

/* Digits that are a number up to `most`, without zeros in front. */
static bool small_number(struct bytes text, unsigned most, unsigned *n)
{
    *n = 0;
    if (text.len == 0 || text.len > 4 ||
        (text.len > 1 && text.data[0] == '0')) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        *n = *n * 10 + (unsigned)(text.data[i] - '0');
    }
    return *n <= most;
}

static enum df_status bad_scale(const char *option, struct bytes text,
                                struct df_error *err)
{
    return error_set(err, DF_USAGE,
                     "option '%s': scale '%s' is not 0 to %d, the digits "
                     "behind the point that are kept",
                     option, shown(&(struct shown){ 0 }, text),
                     (int)DECIMAL_SCALE_MAX);
}

/* The column of that name among those asked for, a new one if need be. */
static enum df_status take_column(struct query *p, struct bytes name,
                                  unsigned *column, struct df_error *err)
{
    for (unsigned i = 0; i < p->column_count; i++) {
        if (bytes_equal(bytes_of_string(p->columns[i]), name)) {
            *column = i;
            return DF_OK;
        }
    }
    if (p->column_count == DF_COLUMNS_MAX) {
        return error_set(err, DF_USAGE,
                         "column '%s' is one too many: a view reads at most "
                         "%d columns",
                         shown(&(struct shown){ 0 }, name),
                         (int)DF_COLUMNS_MAX);
    }
    *column = p->column_count;
    p->columns[p->column_count] = names_copy(name);
    if (p->columns[p->column_count] == NULL) {
        return error_no_memory(err);
    }
    p->column_count++;
    return DF_OK;
}

static enum df_status twice(const char *option,
                            const struct column_list_item *item,
                            struct df_error *err)
{
    return error_set(err, DF_USAGE, "option '%s': '%s' is given twice", option,
                     shown(&(struct shown){ 0 }, item->name));
}

static enum df_status take_by(struct query *p, const char *option,
                              const struct column_list_item *item,
                              struct df_error *err)
{
    unsigned column;
    enum df_status status;

    if (item->behind.data != NULL || item->is_star) {
        return error_set(err, DF_USAGE,
                         "option '%s': '%s' is not a list of columns", option,
                         shown(&(struct shown){ 0 }, item->name));
    }
    status = take_column(p, item->name, &column, err);
    if (status != DF_OK) {
        return status;
    }
    for (unsigned i = 0; i < p->by_count; i++) {
        if (p->by[i] == column) {
            return twice(option, item, err);
        }
    }
    p->by[p->by_count++] = column;
    return DF_OK;
}

/* What stands behind the column: a scale, or "text". */
static enum df_status take_behind(struct query *p, struct query_item *item,
                                  const char *option, struct bytes behind,
                                  struct df_error *err)
{
    unsigned scale;

    if (behind.data == NULL) {
        return DF_OK;
    }
    if (item->kind == QUERY_MIN || item->kind == QUERY_MAX) {
        item->is_text = bytes_equal(behind, bytes_of_string("text"));
        return item->is_text
                   ? DF_OK
                   : error_set(err, DF_USAGE,
                               "option '%s': '%s' behind a column is not "
                               "'text'",
                               option, shown(&(struct shown){ 0 }, behind));
    }
    if (item->kind != QUERY_SUM && item->kind != QUERY_AVG) {
        return error_set(err, DF_USAGE,
                         "option '%s': '%s' behind a column means nothing",
                         option, shown(&(struct shown){ 0 }, behind));
    }
    if (!small_number(behind, DECIMAL_SCALE_MAX, &scale)) {
        return bad_scale(option, behind, err);
    }
    if (p->has_scale[item->column] && p->scales[item->column] != scale) {
        return error_set(err, DF_USAGE,
                         "option '%s': column '%s' has scale %u already: one "
                         "column has one scale",
                         option, p->columns[item->column],
                         p->scales[item->column]);
    }
    p->scales[item->column] = scale;
    p->has_scale[item->column] = true;
    return DF_OK;
}

static enum df_status take_top(struct query_item *item, const char *option,
                               struct bytes before, struct df_error *err)
{
    if (item->kind != QUERY_TOP) {
        return DF_OK;
    }
    if (!small_number(before, QUERY_TOP_MAX, &item->n) || item->n == 0) {
        return error_set(err, DF_USAGE,
                         "option '%s': N:COLUMN is needed, with N 1 to %d",
                         option, (int)QUERY_TOP_MAX);
    }
    return DF_OK;
}

static bool has_item(const struct query *p, const struct query_item *item)
{
    for (unsigned i = 0; i < p->item_count; i++) {
        const struct query_item *other = &p->items[i];

        if (other->kind == item->kind && other->column == item->column) {
            return true;
        }
    }
    return false;
}

static enum df_status take_item(struct query *p, enum query_option o,
                                const struct column_list_item *given,
                                struct df_error *err)
{
    const char *option = query_options[o].name;
    struct query_item item = { .kind = kinds[o] };
    enum df_status status = DF_OK;

    if (given->is_star && o == QUERY_OPTION_COUNT &&
        given->behind.data == NULL) {
        item.column = DF_COLUMNS_MAX; /* none */
    } else if (given->is_star) {
        return error_set(err, DF_USAGE,
                         "option '%s': '*' is no column: one of that name is "
                         "written \"*\"",
                         option);
    } else {
        item.kind = item.kind == QUERY_COUNT ? QUERY_COUNT_OF : item.kind;
        status = take_column(p, given->name, &item.column, err);
    }
    if (status == DF_OK && has_item(p, &item)) {
        return twice(option, given, err);
    }
    if (status == DF_OK) {
        status = take_top(&item, option, given->before, err);
    }
    if (status == DF_OK) {
        status = take_behind(p, &item, option, given->behind, err);
    }
    if (status == DF_OK && p->item_count == QUERY_ITEMS_MAX) {
        return error_set(err, DF_USAGE, "more than %d aggregates",
                         (int)QUERY_ITEMS_MAX);
    }
    if (status == DF_OK) {
        p->items[p->item_count++] = item;
    }
    return status;
}

static enum df_status take_list(struct query *p, enum query_option o,
                                const char *value, struct df_error *err)
{
    enum column_list_kind kind =
        o == QUERY_OPTION_TOP ? COLUMN_LIST_COUNTED : COLUMN_LIST_SCALED;
    struct bytes text = bytes_of_string(value);
    enum df_status status = DF_OK;
    struct buf room = { 0 };

    if (!buf_reserve(&room, text.len)) {
        return error_no_memory(err);
    }
    while (status == DF_OK && text.len > 0) {
        struct column_list_item item;

        status = column_list_take(query_options[o].name, kind, &text, &room,
                                  &item, err);
        if (status == DF_OK) {
            status = o == QUERY_BY
                         ? take_by(p, query_options[o].name, &item, err)
                         : take_item(p, o, &item, err);
        }
    }
    buf_fini(&room);
    return status;
}

static enum df_status take_settings(struct query *p,
                                    const struct df_settings *settings,
                                    struct df_error *err)
{
    struct bytes scale = bytes_of_string(settings->values[QUERY_SCALE]);
    enum df_status status = DF_OK;

    if (!small_number(scale, DECIMAL_SCALE_MAX, &p->scale)) {
        return bad_scale("scale", scale, err);
    }
    for (unsigned o = QUERY_BY; status == DF_OK && o < QUERY_SCALE; o++) {
        status = take_list(p, (enum query_option)o, settings->values[o], err);
    }
    if (p->item_count == 0) {
        p->items[p->item_count++] =
            (struct query_item){ .kind = QUERY_COUNT,
                                 .column = DF_COLUMNS_MAX };
    }
    return status;
}

/* ---- what is added up, and where ---- */

static unsigned measure_of(struct query *p, unsigned column)
{
    unsigned i = 0;

    while (i < p->measure_count && p->measures[i].column != column) {
        i++;
    }
    if (i == p->measure_count) {
        p->measures[p->measure_count++] = (struct query_measure){
            .column = column,
            .scale = p->has_scale[column] ? p->scales[column] : p->scale,
        };
    }
    return i;
}

static unsigned set_of(struct query *p, unsigned column,
                       enum query_order order)
{
    unsigned i = 0;

    while (i < p->set_count &&
           (p->sets[i].column != column || p->sets[i].order != order)) {
        i++;
    }
    if (i == p->set_count) {
        p->sets[p->set_count++] =
            (struct query_set){ .column = column, .order = order };
    }
    return i;
}

static void place_item(struct query *p, struct query_item *item)
{
    switch (item->kind) {
    case QUERY_COUNT:
        break;
    case QUERY_COUNT_OF:
        item->of = measure_of(p, item->column);
        break;
    case QUERY_SUM:
    case QUERY_AVG:
        item->of = measure_of(p, item->column);
        p->measures[item->of].sum = 1; /* a component: see place_measures */
        break;
    case QUERY_MIN:
    case QUERY_MAX:
        item->of = set_of(p, item->column,
                          item->is_text ? QUERY_TEXTS : QUERY_NUMBERS);
        break;
    case QUERY_DISTINCT:
    case QUERY_TOP:
        item->of =
            set_of(p, item->column, p->is_ndjson ? QUERY_VALUES : QUERY_TEXTS);
        break;
    }
}

static enum df_status place_measures(struct query *p, struct df_error *err)
{
    unsigned next = 1;
    unsigned needed = 1;

    for (unsigned i = 0; i < p->measure_count; i++) {
        needed += p->measures[i].sum != 0 ? 3 : 1;
    }
    if (needed > DF_COMPONENTS_MAX) {
        return error_set(err, DF_USAGE,
                         "these aggregates need %u numbers per group, more "
                         "than %d: a sum takes three, a count one",
                         needed, (int)DF_COMPONENTS_MAX);
    }
    for (unsigned i = 0; i < p->measure_count; i++) {
        struct query_measure *m = &p->measures[i];

        m->count = next++;
        if (m->sum != 0) {
            m->sum = next;
            p->wide |= (uint32_t)1 << next;
            next += 2;
        }
    }
    p->component_count = needed;
    return DF_OK;
}

enum df_status query_open(struct query **out,
                          const struct df_settings *settings,
                          struct df_error *err)
{
    struct query *p = calloc(1, sizeof *p);
    enum df_status status;

    *out = NULL;
    if (p == NULL) {
        return error_no_memory(err);
    }
    p->is_ndjson = strcmp(settings->format, "ndjson") == 0;
    status = take_settings(p, settings, err);
    for (unsigned i = 0; status == DF_OK && i < p->item_count; i++) {
        place_item(p, &p->items[i]);
    }
    if (status == DF_OK) {
        status = place_measures(p, err);
    }
    if (status == DF_OK && (!names_make(p) || !names_canonical(p))) {
        status = error_no_memory(err);
    }
    if (status != DF_OK) {
        query_close(p);
        return status;
    }
    p->asked =
        (struct df_columns){ .names = p->columns, .n = p->column_count };
    *out = p;
    return DF_OK;
}
