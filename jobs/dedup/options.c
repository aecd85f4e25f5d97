#include "jobs/dedup/options.h"

#include <stdlib.h>

#include "jobs/column_list.h"

enum option {
    KEY,
    TIME,
    UNIT,
    EXPIRE,
    SPAN,
    REFERENCE,
    IDENTITY,
    MAX_AHEAD,
    BUCKETS
};

enum { BUCKETS_MAX = 1000000 }; /* digits enough for what has no effect */

const struct df_option dedup_options[] = {
    [KEY] = { .name = "key",
              .initial = "",
              .values = "COLUMN,COLUMN,...",
              .is_list = true,
              .help = "what makes two records the same; initially the whole "
                      "record" },
    [TIME] = { .name = "time",
               .initial = "",
               .values = "COLUMN",
               .help = "when a record was, for keys that expire" },
    [UNIT] = { .name = "unit",
               .initial = "",
               .values = "s|ms|us|iso",
               .help = "integers since 1970 in that unit, digits in csv, of "
                       "any spelling (1e2, 100.0) as numbers of ndjson; or "
                       "ISO 8601 with offset; initially s" },
    [EXPIRE] = { .name = "expire",
                 .initial = "",
                 .values = "DURATION",
                 .help = "how long a key is known: digits in the unit, or "
                         "with us, "
                         "ms, "
                         "s, m, h, d, w" },
    [SPAN] = { .name = "span",
               .initial = "",
               .values = "DURATION",
               .help = "keys expire a span at a time; initially 1 of the unit "
                       "(iso: "
                       "1s)" },
    [REFERENCE] = { .name = "reference",
                    .initial = "",
                    .values = "INSTANT",
                    .help =
                        "where the grid of spans lies; initially the first "
                        "record's time" },
    [IDENTITY] = { .name = "identity",
                   .initial = "",
                   .values = "period|bucket",
                   .help = "a key is known while its record is live, or only "
                           "within "
                           "its own span; initially period" },
    [MAX_AHEAD] = { .name = "max_ahead",
                    .initial = "",
                    .values = "DURATION",
                    .help = "a time further than that beyond the latest is "
                            "rejected" },
    [BUCKETS] = { .name = "buckets",
                  .initial = "",
                  .values = "N",
                  .help = "taken, and without any effect on what comes out" },
    { 0 }
};

static const char *value(const struct df_settings *s, enum option o)
{
    return s->values[o];
}

static bool is_given(const struct df_settings *s, enum option o)
{
    return *value(s, o) != '\0';
}

static enum df_status bad(const struct df_settings *s, enum option o,
                          const char *why, struct df_error *err)
{
    struct shown text;

    return error_set(err, DF_USAGE, "%s='%s': %s", dedup_options[o].name,
                     shown(&text, bytes_of_string(value(s, o))), why);
}

/* ---- columns ---- */

static bool is_repeated(const struct dedup_config *c)
{
    for (size_t i = 0; i + 1 < c->key_count; i++) {
        if (strcmp(c->columns[i], c->columns[c->key_count - 1]) == 0) {
            return true;
        }
    }
    return false;
}

/* The next column of the key; its name goes to names, with a NUL. */
static enum df_status take_column(struct dedup_config *c,
                                  const struct df_settings *s,
                                  struct bytes *text, struct buf *names,
                                  struct df_error *err)
{
    struct column_list_item item;
    enum df_status status = column_list_take(
        dedup_options[KEY].name, COLUMN_LIST_NAMES, text, names, &item, err);

    if (status != DF_OK) {
        return status;
    }
    if (c->key_count == DF_COLUMNS_MAX - 1) {
        return bad(s, KEY, "has more than 63 columns", err);
    }
    names->data[names->len++] = '\0';
    c->columns[c->key_count++] = (const char *)item.name.data;
    return is_repeated(c) ? bad(s, KEY, "names a column twice", err) : DF_OK;
}

static enum df_status read_key(struct dedup_config *c,
                               const struct df_settings *s,
                               struct df_error *err)
{
    struct bytes text = bytes_of_string(value(s, KEY));
    struct buf names = { 0 };
    enum df_status status = DF_OK;

    c->key = malloc(text.len + 1);
    c->time = strdup(value(s, TIME));
    c->columns = calloc(DF_COLUMNS_MAX, sizeof(const char *));
    if (c->key == NULL || c->time == NULL || c->columns == NULL) {
        return error_no_memory(err);
    }
    /* No longer than the text: a NUL for each comma, and one more. */
    names.data = (uint8_t *)c->key;
    names.capacity = text.len + 1;
    while (status == DF_OK && text.len > 0) {
        status = take_column(c, s, &text, &names, err);
    }
    return status;
}

/* ---- time ---- */

/* Options that say something about times alone. */
static enum df_status check_untimed(const struct df_settings *s,
                                    struct df_error *err)
{
    static const enum option timed[] = { UNIT,      EXPIRE,   SPAN,
                                         REFERENCE, IDENTITY, MAX_AHEAD };

    for (size_t i = 0; i < sizeof timed / sizeof timed[0]; i++) {
        if (is_given(s, timed[i])) {
            return bad(s, timed[i],
                       "means nothing without time=: name the column that "
                       "says when a record was",
                       err);
        }
    }
    return DF_OK;
}

static enum df_status read_stretch(const struct dedup_config *c,
                                   const struct df_settings *s, enum option o,
                                   int64_t *stretch, struct df_error *err)
{
    const char *why = instant_read_stretch(c->unit, value(s, o), stretch);

    return why == NULL ? DF_OK : bad(s, o, why, err);
}

static enum df_status read_period(struct dedup_config *c,
                                  const struct df_settings *s,
                                  struct df_error *err)
{
    enum df_status status;

    if (!is_given(s, EXPIRE)) {
        return error_set(err, DF_USAGE,
                         "time='%s' is given without expire=: say how long a "
                         "key is known, or leave time= away to keep keys for "
                         "ever",
                         value(s, TIME));
    }
    status = read_stretch(c, s, EXPIRE, &c->grid.period, err);
    if (status == DF_OK && c->grid.period == 0) {
        return bad(s, EXPIRE, "must be longer than nothing", err);
    }
    return status;
}

static enum df_status read_span(struct dedup_config *c,
                                const struct df_settings *s,
                                struct df_error *err)
{
    enum df_status status = DF_OK;

    c->grid.span = 1;
    if (c->unit == INSTANT_ISO) {
        c->grid.span = c->grid.period < 1000000 ? 1 : 1000000;
    }
    if (is_given(s, SPAN)) {
        status = read_stretch(c, s, SPAN, &c->grid.span, err);
    }
    if (status == DF_OK && c->grid.span == 0) {
        return bad(s, SPAN, "must be longer than nothing", err);
    }
    if (status == DF_OK && c->grid.span > c->grid.period) {
        return bad(s, SPAN, "is longer than expire=", err);
    }
    return status;
}

static enum df_status read_reference(struct dedup_config *c,
                                     const struct df_settings *s,
                                     struct df_error *err)
{
    c->grid.has_reference = is_given(s, REFERENCE);
    if (!c->grid.has_reference ||
        instant_read(c->unit, bytes_of_string(value(s, REFERENCE)),
                     &c->grid.reference)) {
        return DF_OK;
    }
    return bad(s, REFERENCE,
               c->unit == INSTANT_ISO
                   ? "is no instant: write it as 2026-11-29T00:00:00Z"
                   : "is no instant: write it as an integer, in the unit",
               err);
}

static enum df_status read_identity(struct dedup_config *c,
                                    const struct df_settings *s,
                                    struct df_error *err)
{
    c->is_by_span = strcmp(value(s, IDENTITY), "bucket") == 0;
    if (is_given(s, IDENTITY) && !c->is_by_span &&
        strcmp(value(s, IDENTITY), "period") != 0) {
        return bad(s, IDENTITY, "must be period or bucket", err);
    }
    return DF_OK;
}

static enum df_status read_timed(struct dedup_config *c,
                                 const struct df_settings *s,
                                 struct df_error *err)
{
    enum df_status status;

    c->is_timed = true;
    if (is_given(s, UNIT) && !instant_unit_of(value(s, UNIT), &c->unit)) {
        return bad(s, UNIT, "must be s, ms, us or iso", err);
    }
    status = read_period(c, s, err);
    if (status == DF_OK) {
        status = read_span(c, s, err);
    }
    if (status == DF_OK) {
        status = read_reference(c, s, err);
    }
    if (status == DF_OK) {
        status = read_identity(c, s, err);
    }
    c->grid.has_max_ahead = is_given(s, MAX_AHEAD);
    if (status == DF_OK && c->grid.has_max_ahead) {
        status = read_stretch(c, s, MAX_AHEAD, &c->grid.max_ahead, err);
    }
    return status;
}

static enum df_status check_buckets(const struct df_settings *s,
                                    struct df_error *err)
{
    const char *text = value(s, BUCKETS);
    size_t digits = strspn(text, "0123456789");
    unsigned long n = strtoul(text, NULL, 10);

    if (is_given(s, BUCKETS) &&
        (text[digits] != '\0' || digits > 7 || n == 0 || n > BUCKETS_MAX)) {
        return bad(s, BUCKETS, "must be a number from 1 to 1000000", err);
    }
    return DF_OK;
}

void dedup_options_fini(struct dedup_config *c)
{
    free(c->shown);
    free(c->columns);
    free(c->time);
    free(c->key);
    *c = (struct dedup_config){ 0 };
}

/* What a line of the view shows: key, span, copies, time. */
static enum df_status name_shown(struct dedup_config *c, struct df_error *err)
{
    size_t n = 0;

    c->shown = calloc(DF_COLUMNS_MAX + 4, sizeof(const char *));
    if (c->shown == NULL) {
        return error_no_memory(err);
    }
    for (; n < c->key_count; n++) {
        c->shown[n] = c->columns[n];
    }
    if (n == 0) {
        c->shown[n++] = "record";
    }
    if (c->is_by_span) {
        c->shown[n++] = "span";
    }
    c->shown[n++] = "copies";
    if (c->is_timed) {
        c->shown[n] = "time";
    }
    return DF_OK;
}

static void ask_for(struct dedup_config *c)
{
    c->asked.n = c->key_count;
    c->asked.whole = c->key_count == 0;
    if (c->is_timed) {
        c->columns[c->asked.n++] = c->time;
    }
    c->asked.names = c->columns;
}

enum df_status dedup_options_read(struct dedup_config *c,
                                  const struct df_settings *settings,
                                  struct df_error *err)
{
    enum df_status status = read_key(c, settings, err);

    c->is_ndjson = strcmp(settings->format, "ndjson") == 0;
    c->is_table = strcmp(settings->format, "csv") == 0 ||
                  strcmp(settings->format, "tsv") == 0;
    if (status == DF_OK) {
        status = is_given(settings, TIME) ? read_timed(c, settings, err)
                                          : check_untimed(settings, err);
    }
    if (status == DF_OK) {
        status = check_buckets(settings, err);
    }
    if (status == DF_OK) {
        ask_for(c);
        status = name_shown(c, err);
    }
    if (status != DF_OK) {
        dedup_options_fini(c);
    }
    return status;
}
