/*
 * query.h: the options of a view of aggregate, worked out: which columns are
 * read, what is added up and where, what is kept as a multiset, what a line
 * shows.
 *
 * One row per group holds what can be added:
 *
 *     (key, "")   count, and per column that is summed or counted:
 *                 its values that are not null, and their sum (128 bits)
 *
 * min, max, distinct and top cannot be added, but what they are of can: the
 * multiset of values. Each value is a row, its multiplicity in the first
 * component, so that a deletion takes off exactly what it must:
 *
 *     (key, set's number and the value's code)   multiplicity, 0, 0 ...
 *
 * A column has at most one set of each kind, and aggregates share them: min
 * and max that compare numbers have one set, of numbers; min and max that
 * compare text have one of texts; distinct and top have one of values, which
 * for csv are texts, and then that set too. Elements are in the order of the
 * values, so that of a set's rows the first is the min, the last the max.
 */
#ifndef JOBS_AGGREGATE_QUERY_H
#define JOBS_AGGREGATE_QUERY_H

#include "base/buf.h"
#include "base/error.h"
#include "deltafold/job.h"

enum {
    /* Values of one top: a presenter holds them for the group at hand. */
    QUERY_TOP_MAX = 1000,
    QUERY_ITEMS_MAX = 256, /* aggregates of a view; columns have a limit of
                             their own, DF_COLUMNS_MAX, and eight each */
    /* Sets are numbered in one byte, from 1: 0 is no element's first byte. */
    QUERY_SETS_MAX = 2 * DF_COLUMNS_MAX
};

/* A column whose values are counted, and summed where sum is not 0. */
struct query_measure {
    unsigned column; /* of the columns asked for */
    unsigned scale;
    unsigned count; /* component: values that are not null */
    unsigned sum;   /* component: low half of the sum; 0: none */
};

enum query_order {
    QUERY_NUMBERS, /* by value as exact decimals */
    QUERY_TEXTS,   /* by bytes */
    QUERY_VALUES   /* ndjson: by kind and value */
};

struct query_set {
    unsigned column;
    enum query_order order;
};

enum query_kind {
    QUERY_COUNT,    /* records */
    QUERY_COUNT_OF, /* values that are not null */
    QUERY_SUM,
    QUERY_AVG,
    QUERY_MIN,
    QUERY_MAX,
    QUERY_DISTINCT,
    QUERY_TOP
};

struct query_item {
    enum query_kind kind;
    unsigned column; /* not for QUERY_COUNT */
    unsigned of;     /* the measure or the set */
    unsigned n;      /* QUERY_TOP */
    bool is_text;    /* min, max: was told to compare text */
};

/* The options, in this order. */
enum query_option {
    QUERY_BY,
    QUERY_OPTION_COUNT,
    QUERY_OPTION_SUM,
    QUERY_OPTION_AVG,
    QUERY_OPTION_MIN,
    QUERY_OPTION_MAX,
    QUERY_OPTION_DISTINCT,
    QUERY_OPTION_TOP,
    QUERY_SCALE,
    QUERY_OPTIONS
};

struct query {
    bool is_ndjson;
    unsigned scale; /* of columns that have none of their own */

    const char *columns[DF_COLUMNS_MAX + 1]; /* names, owned */
    unsigned scales[DF_COLUMNS_MAX];
    bool has_scale[DF_COLUMNS_MAX];
    unsigned column_count;
    unsigned by[DF_COLUMNS_MAX];
    unsigned by_count;

    struct query_item items[QUERY_ITEMS_MAX]; /* in the order shown */
    unsigned item_count;
    struct query_measure measures[DF_COLUMNS_MAX];
    unsigned measure_count;
    struct query_set sets[QUERY_SETS_MAX];
    unsigned set_count;

    const char *components[DF_COMPONENTS_MAX + 1]; /* names, owned */
    unsigned component_count;
    uint32_t wide;
    /* Of a line: group columns, then items; owned. */
    const char *shown[DF_COLUMNS_MAX + QUERY_ITEMS_MAX + 1];
    struct df_columns asked;
    /* The options as the definition has them, owned. */
    char *canonical[QUERY_OPTIONS];
};

extern const struct df_option query_options[];

enum df_status query_open(struct query **out,
                          const struct df_settings *settings,
                          struct df_error *err) DF_MUST_CHECK;
void query_close(struct query *p); /* takes NULL */

/* Whether a field has no value: null or absent; in csv and tsv, nothing. */
static inline bool query_is_null(const struct query *p,
                                 const struct df_field *f)
{
    return f->kind == DF_ABSENT || f->kind == DF_NULL ||
           (f->len == 0 && !p->is_ndjson);
}

#endif
