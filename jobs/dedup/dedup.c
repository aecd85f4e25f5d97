#include "jobs/dedup/dedup.h"

#include <stdlib.h>

#include "jobs/dedup/key.h"
#include "jobs/dedup/options.h"
#include "jobs/dedup/present.h"

enum reason {
    MISSING_KEY,
    NULL_KEY,
    LONG_KEY,
    MISSING_TIME,
    NULL_TIME,
    UNREADABLE_TIME,
    FUTURE_TIME
};

static const char *const reasons[] = {
    [MISSING_KEY] = "missing_key", [NULL_KEY] = "null_key",
    [LONG_KEY] = "long_key",       [MISSING_TIME] = "missing_time",
    [NULL_TIME] = "null_time",     [UNREADABLE_TIME] = "unreadable_time",
    [FUTURE_TIME] = "future_time", NULL
};

/* Outcomes, then reasons. */
static const char *const counters[] = {
    "unique",          "duplicate",   "expired",  "retracted",    "rejected",
    "missing_key",     "null_key",    "long_key", "missing_time", "null_time",
    "unreadable_time", "future_time", NULL
};

static const char *const components[] = { "copies", "time", NULL };
static const char *const components_for_ever[] = { "copies", NULL };

/* ---- config ---- */

static void release(void *config)
{
    if (config != NULL) {
        dedup_options_fini(config);
        free(config);
    }
}

static enum df_status configure(const struct df_settings *settings,
                                void **config, struct df_error *err)
{
    struct dedup_config *c = calloc(1, sizeof *c);
    enum df_status status;

    *config = NULL;
    if (c == NULL) {
        return error_no_memory(err);
    }
    status = dedup_options_read(c, settings, err);
    if (status != DF_OK) {
        free(c);
        return status;
    }
    *config = c;
    return DF_OK;
}

static const struct df_columns *columns(const void *config)
{
    const struct dedup_config *c = config;

    return &c->asked;
}

static struct df_shape shape(const void *config)
{
    const struct dedup_config *c = config;

    return (struct df_shape){ .components = c->is_timed
                                                ? components
                                                : components_for_ever };
}

static bool is_timed(const void *config)
{
    const struct dedup_config *c = config;

    return c->is_timed;
}

static bool is_by_span(const void *config)
{
    const struct dedup_config *c = config;

    return c->is_by_span;
}

/* ---- reading ---- */

enum { KEYS_ENOUGH = 64 << 10 /* bytes of keys at once */ };

struct mapper {
    const struct dedup_config *config;
    struct buf keys; /* of the records at hand, room before each */
};

static enum df_status mapper_open(const void *config, void **mapper,
                                  struct df_error *err)
{
    struct mapper *m = calloc(1, sizeof *m);

    *mapper = m;
    if (m == NULL || !buf_reserve(&m->keys, DF_FOLD_SPAN_HEAD + DF_SLACK)) {
        free(m);
        *mapper = NULL;
        return error_no_memory(err);
    }
    m->config = config;
    return DF_OK;
}

static void mapper_close(void *mapper)
{
    struct mapper *m = mapper;

    if (m != NULL) {
        buf_fini(&m->keys);
        free(m);
    }
}

static unsigned rejected(enum reason reason)
{
    return DF_OUTCOME_REJECTED + (unsigned)reason;
}

/* Appends the key to the others. DF_OUTCOME_NEGATIVE without memory. */
static unsigned read_key(struct mapper *m, const struct df_field *fields)
{
    const struct dedup_config *c = m->config;
    size_t n = c->key_count > 0 ? c->key_count : 1;

    if (c->key_count == 0) {
        fields += c->asked.n; /* the whole record comes last */
    }
    for (size_t i = 0; i < n; i++) {
        if (fields[i].kind == DF_ABSENT) {
            return rejected(MISSING_KEY);
        }
        if (fields[i].kind == DF_NULL) {
            return rejected(NULL_KEY);
        }
    }
    switch (key_append(&m->keys, fields, n, c->key_count == 0)) {
    case KEY_OK:
        break;
    case KEY_TOO_LONG:
        return rejected(LONG_KEY);
    case KEY_NO_MEMORY:
        return DF_OUTCOME_NEGATIVE;
    }
    return buf_reserve(&m->keys, DF_SLACK) ? DF_OUTCOME_PENDING
                                           : DF_OUTCOME_NEGATIVE;
}

static unsigned read_time(const struct dedup_config *c,
                          const struct df_field *field, int64_t *time)
{
    struct bytes text = bytes_of(field->data, field->len);
    bool ok;

    if (field->kind == DF_ABSENT ||
        (field->kind == DF_TEXT && field->len == 0)) {
        return rejected(MISSING_TIME);
    }
    if (field->kind == DF_NULL) {
        return rejected(NULL_TIME);
    }
    if (field->kind == DF_NUMBER) {
        ok = c->unit != INSTANT_ISO && instant_read_number(text, time);
    } else {
        ok = field->kind == DF_TEXT && instant_read(c->unit, text, time);
    }
    return ok ? DF_OUTCOME_PENDING : rejected(UNREADABLE_TIME);
}

/* All but event->key, for keys move as they become more. */
static bool read_record(struct mapper *m, const struct df_record *record,
                        struct df_event *event)
{
    size_t begin = m->keys.len + DF_FOLD_SPAN_HEAD;

    if (!buf_reserve(&m->keys, DF_FOLD_SPAN_HEAD)) {
        return false;
    }
    m->keys.len = begin;
    event->time = 0;
    event->outcome = read_key(m, record->fields);
    if (event->outcome == DF_OUTCOME_PENDING && m->config->is_timed) {
        event->outcome = read_time(
            m->config, &record->fields[m->config->asked.n - 1], &event->time);
    }
    event->key_len = m->keys.len - begin;
    return event->outcome != DF_OUTCOME_NEGATIVE;
}

static size_t read_records(void *mapper, const struct df_record *records,
                           size_t n, struct df_event *events)
{
    struct mapper *m = mapper;
    uint8_t *at;
    size_t count = 0;

    buf_reset(&m->keys);
    while (count < n && m->keys.len < KEYS_ENOUGH) {
        if (!read_record(m, &records[count], &events[count])) {
            return 0;
        }
        count++;
    }
    at = m->keys.data;
    for (size_t i = 0; i < count; i++) {
        events[i].key = at + DF_FOLD_SPAN_HEAD;
        at = events[i].key + events[i].key_len;
    }
    return count;
}

/* ---- time ---- */

static void begin(const void *config, struct df_clock *clock)
{
    const struct dedup_config *c = config;

    span_grid_begin(&c->grid, clock);
}

static enum df_tick tick(const void *config, struct df_clock *clock,
                         int64_t time)
{
    const struct dedup_config *c = config;

    return span_grid_tick(&c->grid, clock, time);
}

static enum df_tick look(const void *config, const struct df_clock *clock,
                         int64_t time)
{
    const struct dedup_config *c = config;

    return span_grid_look(&c->grid, clock, time);
}

static int64_t span_of(const void *config, const struct df_clock *clock,
                       int64_t time)
{
    const struct dedup_config *c = config;

    return span_grid_span_of(&c->grid, clock, time);
}

static const char *show_time(const void *config, int64_t time,
                             char out[DF_TIME_TEXT])
{
    const struct dedup_config *c = config;

    return instant_text(out, c->unit, time);
}

/* ---- the step ---- */

/*
 * A deletion of a key that is not known. For ever is for ever: the record was
 * never there. With time it may have been a copy of one that was kept and
 * has expired since - if anything has expired - or it was rejected for
 * being too far ahead.
 */
static bool was_perhaps_there(const struct dedup_config *c,
                              const struct df_clock *clock, int64_t time)
{
    if (!c->is_timed || !clock->has_seen || time > clock->latest) {
        return false;
    }
    return c->grid.has_max_ahead ||
           (!c->is_by_span && clock->earliest < clock->start);
}

static enum df_outcome remove_copy(const struct dedup_config *c,
                                   struct df_state *state,
                                   const struct df_clock *clock, int64_t time)
{
    if (state->copies == 0) {
        return was_perhaps_there(c, clock, time) ? DF_OUTCOME_EXPIRED
                                                 : DF_OUTCOME_NEGATIVE;
    }
    state->copies--;
    if (state->copies == 0) {
        state->time = 0;
    }
    return DF_OUTCOME_RETRACTED;
}

enum df_outcome dedup_step(const struct dedup_config *c,
                           struct df_state *state,
                           const struct df_clock *clock, int sign,
                           int64_t time)
{
    if (sign < 0) {
        return remove_copy(c, state, clock, time);
    }
    state->copies++;
    if (state->copies > 1) {
        return DF_OUTCOME_DUPLICATE;
    }
    state->time = time;
    return DF_OUTCOME_UNIQUE;
}

static enum df_outcome step(const void *config, struct df_state *state,
                            const struct df_clock *clock, int sign,
                            int64_t time)
{
    return dedup_step(config, state, clock, sign, time);
}

static const struct df_fold fold = {
    .reasons = reasons,
    .future = FUTURE_TIME,
    .is_timed = is_timed,
    .is_by_span = is_by_span,
    .read = read_records,
    .begin = begin,
    .tick = tick,
    .look = look,
    .span_of = span_of,
    .show_time = show_time,
    .step = step,
};

const struct df_job dedup_job = {
    .name = "dedup",
    .summary = "the first record of each key, for ever or within a time",
    .version = 1,
    .options = dedup_options,
    .components = components,
    .counters = counters,
    .shape = shape,
    .present = &dedup_present,
    .configure = configure,
    .release = release,
    .columns = columns,
    .mapper_open = mapper_open,
    .mapper_close = mapper_close,
    .fold = &fold,
};
