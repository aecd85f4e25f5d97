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

static enum df_status no_such_value(const char *const *names,
                                    struct bytes name, struct df_error *err)
{
    struct buf known = { 0 };
    struct shown s;
    bool ok = true;

    for (size_t i = 0; ok && names[i] != NULL; i++) {
        ok = buf_printf(&known, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    (void)error_set(err, DF_USAGE,
                    "option having=: no value '%s': the rows have %.*s",
                    shown(&s, name), ok ? (int)known.len : 0,
                    known.data != NULL ? (const char *)known.data : "");
    buf_fini(&known);
    return DF_USAGE;
}

static enum df_status read_having(const struct jobspec *job, const char *value,
                                  struct view_having *h, struct df_error *err)
{
    const char *sign = strstr(value, ">=");
    struct bytes name;
    struct shown s;

    if (sign == NULL || sign == value || !read_least(sign + 2, &h->least)) {
        return error_set(err, DF_USAGE,
                         "option having=%s: is not of the form VALUE>=K, "
                         "like %s>=2",
                         shown(&s, bytes_of_string(value)),
                         job->shape.components[0]);
    }
    name = bytes_of(value, (size_t)(sign - value));
    for (unsigned i = 0; i < job->components; i++) {
        if (bytes_equal(name, bytes_of_string(job->shape.components[i]))) {
            h->is_set = true;
            h->component = i;
            return DF_OK;
        }
    }
    return no_such_value(job->shape.components, name, err);
}

/* Of a job that shows its view in its own way having= asks for a column and
 * a decimal number, and hides lines: readers do it (cli/lines.c). */
static enum df_status check_columns(const struct jobspec *job,
                                    const char *value, struct df_error *err)
{
    const char *const *names = job->job->present->columns(job->config);
    const char *sign = strstr(value, ">=");
    struct decimal least;
    struct bytes name;
    struct shown s;

    if (sign == NULL || sign == value ||
        decimal_split(bytes_of_string(sign + 2), &least) != DECIMAL_OK) {
        return error_set(err, DF_USAGE,
                         "option having=%s: is not of the form COLUMN>=K",
                         shown(&s, bytes_of_string(value)));
    }
    name = bytes_of(value, (size_t)(sign - value));
    for (size_t i = 0; names[i] != NULL; i++) {
        if (bytes_equal(name, bytes_of_string(names[i]))) {
            return DF_OK;
        }
    }
    return no_such_value(names, name, err);
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
