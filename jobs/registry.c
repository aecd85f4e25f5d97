#include "jobs/registry.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/spelling.h"
#include "jobs/aggregate/aggregate.h"
#include "jobs/dedup/dedup.h"
#include "jobs/links/links.h"
#include "jobs/wordcount/wordcount.h"

/* In order of name. */
static const struct df_job *const jobs[] = { &aggregate_job, &dedup_job,
                                             &links_job, &wordcount_job };
enum { JOBS = sizeof jobs / sizeof jobs[0] };

const struct df_job *registry_job(size_t i)
{
    return i < JOBS ? jobs[i] : NULL;
}

const struct df_job *registry_find(const char *name)
{
    const struct df_job *job = NULL;

    for (size_t i = 0; (job = registry_job(i)) != NULL; i++) {
        if (strcmp(job->name, name) == 0) {
            break;
        }
    }
    return job;
}

const struct df_option registry_common[] = {
    { .name = "window",
      .initial = "none",
      .values = "N|DURATION",
      .help = "holds the last N batches, or those of the last DURATION by "
              "interval=" },
    { .name = "slide",
      .initial = "1",
      .values = "M|DURATION",
      .help = "shows a result every M batches" },
    { .name = "interval",
      .initial = "none",
      .values = "NUMBER|DURATION",
      .help = "batches are placed by the number at the end of their names, or "
              "by the date in them (1d, 6h)" },
    { .name = "having",
      .initial = "none",
      .values = "VALUE>=K",
      .help = "readers see only rows with a value of at least K: "
              "'having=count>=2'" },
    { .name = "keep",
      .initial = "0",
      .values = "N",
      .help = "how many batches of history are kept; 'deltafold keep' changes "
              "it" },
    { .name = "base",
      .initial = "none",
      .values = "DIR",
      .help = "where the documents lie that batches leave; 'deltafold base' "
              "changes it" },
    { 0 }
};

static size_t count(const struct df_option *options)
{
    size_t n = 0;

    while (options[n].name != NULL) {
        n++;
    }
    return n;
}

enum { LISTS = 3 };

const struct df_option *registry_option(const struct df_job *job, size_t i)
{
    const struct df_option *const lists[LISTS] = { job->options,
                                                   form_options(job),
                                                   registry_common };

    for (size_t k = 0; k < LISTS; k++) {
        size_t n = count(lists[k]);

        if (i < n) {
            return &lists[k][i];
        }
        i -= n;
    }
    return NULL;
}

static size_t option_count(const struct df_job *job)
{
    return count(job->options) + count(form_options(job)) +
           count(registry_common);
}

static bool is_common(const struct df_job *job, size_t i)
{
    return i >= count(job->options);
}

/* The option that bytes name; option_count when there is none. */
static size_t option_find(const struct df_job *job, struct bytes name)
{
    size_t n = option_count(job);
    size_t i = 0;

    while (
        i < n &&
        !bytes_equal(bytes_of_string(registry_option(job, i)->name), name)) {
        i++;
    }
    return i;
}

const char *jobspec_common(const struct jobspec *s, const char *name)
{
    size_t i = option_find(s->job, bytes_of_string(name));

    assert(i < option_count(s->job));
    return s->values[i];
}

static enum df_status unknown_option(const struct df_job *job,
                                     struct bytes name, struct df_error *err)
{
    struct spelling near = { 0 };
    struct buf known = { 0 };
    struct shown text;
    bool ok = true;

    (void)shown(&text, name);
    for (size_t i = 0; ok && i < option_count(job); i++) {
        const char *other = registry_option(job, i)->name;

        ok = buf_printf(&known, "%s%s", i > 0 ? ", " : "", other);
        spelling_look(&near, text.text, other);
    }
    if (!ok) {
        buf_fini(&known);
        return error_no_memory(err);
    }
    (void)error_set(err, DF_USAGE, "unknown option '%s'%s%s%s: %s has %.*s",
                    text.text, near.name != NULL ? " (did you mean '" : "",
                    near.name != NULL ? near.name : "",
                    near.name != NULL ? "'?)" : "", job->name, (int)known.len,
                    (const char *)known.data);
    buf_fini(&known);
    return DF_USAGE;
}

/* The value in a given "name=value" or "name"; NULL when there must be one
 * and there is none. */
static const char *value_of(const struct df_option *option, const char *equals)
{
    return equals != NULL ? equals + 1 : option->bare;
}

/* Another value for an option that has one. */
static enum df_status append_to_list(char **list, const char *value,
                                     struct df_error *err)
{
    size_t size = strlen(*list) + strlen(value) + 2;
    char *both = malloc(size);

    if (both == NULL) {
        return error_no_memory(err);
    }
    (void)snprintf(both, size, "%s%s%s", *list,
                   **list != '\0' && *value != '\0' ? "," : "", value);
    free(*list);
    *list = both;
    return DF_OK;
}

/* Takes one "name=value". */
static enum df_status set_option(struct jobspec *s, const char *given,
                                 struct df_error *err)
{
    const char *equals = strchr(given, '=');
    size_t len = equals != NULL ? (size_t)(equals - given) : strlen(given);
    size_t i = option_find(s->job, bytes_of(given, len));
    bool is_known = i < option_count(s->job);
    struct shown text = { { 0 } };
    const char *value;

    if (!is_known && equals != NULL) {
        return unknown_option(s->job, bytes_of(given, len), err);
    }
    value = is_known ? value_of(registry_option(s->job, i), equals) : NULL;
    if (value == NULL) {
        return error_set(err, DF_USAGE, "'%s' is not of the form NAME=VALUE",
                         shown(&text, bytes_of_string(given)));
    }
    if (s->values[i] != NULL && registry_option(s->job, i)->is_list) {
        return append_to_list(&s->values[i], value, err);
    }
    if (s->values[i] != NULL) {
        return error_set(err, DF_USAGE, "option '%s' is given twice",
                         registry_option(s->job, i)->name);
    }
    s->values[i] = strdup(value);
    return s->values[i] != NULL ? DF_OK : error_no_memory(err);
}

static enum df_status set_initial(struct jobspec *s, struct df_error *err)
{
    for (size_t i = 0; i < option_count(s->job); i++) {
        if (s->values[i] == NULL) {
            s->values[i] = strdup(registry_option(s->job, i)->initial);
        }
        if (s->values[i] == NULL) {
            return error_no_memory(err);
        }
    }
    return DF_OK;
}

/* format= is a common option; without one a file is a document. */
static const char *format_of(const struct jobspec *s)
{
    size_t i = option_find(s->job, bytes_of_string("format"));

    return i < option_count(s->job) ? s->values[i] : "document";
}

/* Values as the job spells them, for the definition. */
static enum df_status make_canonical(struct jobspec *s, struct df_error *err)
{
    for (size_t i = 0; i < count(s->job->options); i++) {
        const char *one = s->job->canonical(s->config, i);
        char *copy = one != NULL ? strdup(one) : NULL;

        if (one != NULL && copy == NULL) {
            return error_no_memory(err);
        }
        if (copy != NULL) {
            free(s->values[i]);
            s->values[i] = copy;
        }
    }
    return DF_OK;
}

static enum df_status configure(struct jobspec *s, struct df_error *err)
{
    const struct df_settings settings = {
        .options = s->job->options,
        .values = (const char *const *)s->values,
        .format = format_of(s),
    };

    enum df_status status = s->job->configure(&settings, &s->config, err);

    return status == DF_OK ? form_open(&s->form, s->job, s->config,
                                       s->values + count(s->job->options), err)
                           : status;
}

static void set_shape(struct jobspec *s)
{
    s->shape = s->job->shape != NULL
                   ? s->job->shape(s->config)
                   : (struct df_shape){ .has_element = s->job->has_element,
                                        .components = s->job->components };
    s->components = 0;
    while (s->shape.components[s->components] != NULL) {
        s->components++;
    }
}

enum df_status jobspec_open(struct jobspec *s, const struct df_job *job,
                            const char *const *given, size_t n,
                            struct df_error *err)
{
    enum df_status st = DF_OK;

    *s = (struct jobspec){ .job = job };
    s->values = calloc(option_count(job) + 1, sizeof *s->values);
    if (s->values == NULL) {
        jobspec_close(s);
        return error_no_memory(err);
    }
    for (size_t i = 0; st == DF_OK && i < n; i++) {
        st = set_option(s, given[i], err);
    }
    if (st == DF_OK) {
        st = set_initial(s, err);
    }
    if (st == DF_OK) {
        st = configure(s, err);
    }
    if (st == DF_OK && job->canonical != NULL) {
        st = make_canonical(s, err);
    }
    if (st == DF_OK) {
        set_shape(s);
    } else {
        jobspec_close(s);
    }
    return st;
}

void jobspec_close(struct jobspec *s)
{
    form_close(s->form);
    if (s->config != NULL) {
        s->job->release(s->config);
    }
    for (size_t i = 0; s->values != NULL && i < option_count(s->job); i++) {
        free(s->values[i]);
    }
    free(s->values);
    *s = (struct jobspec){ 0 };
}

/* A value such that blanks, and nothing else, part the options: control
 * bytes, blank and backslash become \xHH. */
static bool append_value(struct buf *out, const char *value)
{
    bool ok = true;

    for (const char *p = value; ok && *p != '\0'; p++) {
        uint8_t byte = (uint8_t)*p;

        if (byte <= ' ' || byte == '\\' || byte == 0x7f) {
            ok = buf_printf(out, "\\x%02X", byte);
        } else {
            ok = buf_append_byte(out, byte);
        }
    }
    return ok;
}

/* The option whose name comes next after `name`; NULL begins. */
static size_t next_by_name(const struct df_job *job, const char *name)
{
    size_t n = option_count(job);
    size_t best = n;

    for (size_t i = 0; i < n; i++) {
        const char *candidate = registry_option(job, i)->name;

        if ((name == NULL || strcmp(candidate, name) > 0) &&
            (best == n ||
             strcmp(candidate, registry_option(job, best)->name) < 0)) {
            best = i;
        }
    }
    return best;
}

/* Common options that are as they are initially, what is not set, and what may
 * change. */
static bool is_left_out(const struct jobspec *s, size_t i)
{
    const struct df_option *option = registry_option(s->job, i);

    if (is_common(s->job, i) && (strcmp(option->name, "keep") == 0 ||
                                 strcmp(option->name, "base") == 0)) {
        return true;
    }
    return strcmp(s->values[i], option->initial) == 0 &&
           (is_common(s->job, i) || option->initial[0] == '\0');
}

bool jobspec_definition(const struct jobspec *s, struct buf *out)
{
    const char *name = NULL;
    size_t n = option_count(s->job);
    size_t before = out->len;
    bool ok = buf_printf(out, "%s %u", s->job->name, s->job->version);

    for (size_t k = 0; ok && k < n; k++) {
        size_t i = next_by_name(s->job, name);

        name = registry_option(s->job, i)->name;
        if (is_left_out(s, i)) {
            continue;
        }
        ok = buf_printf(out, " %s=", name) && append_value(out, s->values[i]);
    }
    if (!ok) {
        out->len = before;
    }
    return ok;
}
