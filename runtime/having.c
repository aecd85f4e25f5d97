/* What having= asks of a row, by the job's names of values. */
#include <errno.h>
#include <stdlib.h>

#include "jobs/aggregate/decimal.h"
#include "runtime/engine.h"
#include "runtime/window.h"

static bool read_least(const char *text, int64_t *v)
{
    char *end;

    errno = 0;
    *v = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' &&
           (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
}

/* What rows have, or lines where the job shows its view in its own way. */
static const char *const *names_of(const struct jobspec *job)
{
    return job->job->present != NULL ? job->job->present->columns(job->config)
                                     : job->shape.components;
}

static bool has_numbers(const struct jobspec *job, unsigned i)
{
    return job->job->present == NULL ||
           job->job->present->has_numbers(job->config, i);
}

static enum df_status refuse_name(const struct jobspec *job, struct bytes name,
                                  const char *why, struct df_error *err)
{
    const char *const *names = names_of(job);
    struct buf known = { 0 };
    struct shown s;
    bool ok = true;

    for (unsigned i = 0; ok && names[i] != NULL; i++) {
        if (has_numbers(job, i)) {
            ok = buf_printf(&known, "%s%s", known.len > 0 ? ", " : "",
                            names[i]);
        }
    }
    (void)error_set(err, DF_USAGE,
                    "option having=: %s '%s': numbers are in %.*s", why,
                    shown(&s, name), ok && known.len > 0 ? (int)known.len : 4,
                    ok && known.len > 0 ? (const char *)known.data : "none");
    buf_fini(&known);
    return DF_USAGE;
}

/* Which of the names it is. */
static enum df_status find_name(const struct jobspec *job, struct bytes name,
                                unsigned *i, struct df_error *err)
{
    const char *const *names = names_of(job);

    for (*i = 0; names[*i] != NULL; (*i)++) {
        if (bytes_equal(name, bytes_of_string(names[*i]))) {
            return has_numbers(job, *i)
                       ? DF_OK
                       : refuse_name(job, name, "there are no numbers in",
                                     err);
        }
    }
    return refuse_name(job, name, "no value", err);
}

static enum df_status read_having(const struct jobspec *job, const char *value,
                                  struct view_having *h, struct df_error *err)
{
    const char *sign = strstr(value, ">=");
    struct shown s;

    if (sign == NULL || sign == value || !read_least(sign + 2, &h->least)) {
        return error_set(err, DF_USAGE,
                         "option having=%s: is not of the form VALUE>=K, "
                         "like %s>=2",
                         shown(&s, bytes_of_string(value)),
                         job->shape.components[0]);
    }
    h->is_set = true;
    return find_name(job, bytes_of(value, (size_t)(sign - value)),
                     &h->component, err);
}

/* Of a job that shows its view in its own way having= asks for a column and
 * a decimal number, and hides lines: readers do it (cli/lines.c). */
static enum df_status check_columns(const struct jobspec *job,
                                    const char *value, struct df_error *err)
{
    const char *sign = strstr(value, ">=");
    struct decimal least;
    struct shown s;
    unsigned i;

    if (sign == NULL || sign == value ||
        decimal_split(bytes_of_string(sign + 2), &least) != DECIMAL_OK) {
        return error_set(err, DF_USAGE,
                         "option having=%s: is not of the form COLUMN>=K",
                         shown(&s, bytes_of_string(value)));
    }
    return find_name(job, bytes_of(value, (size_t)(sign - value)), &i, err);
}

enum df_status engine_check_options(const struct jobspec *job,
                                    struct view_having *having,
                                    struct df_error *err)
{
    const char *value = jobspec_common(job, "having");
    struct window w;
    enum df_status status = window_of(&w, job, err);

    *having = (struct view_having){ 0 };
    if (status != DF_OK || strcmp(value, "none") == 0) {
        return status;
    }
    return job->job->present != NULL ? check_columns(job, value, err)
                                     : read_having(job, value, having, err);
}
