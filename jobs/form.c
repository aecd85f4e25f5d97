#include "jobs/form.h"

#include <stdlib.h>

enum { FORMAT, CONTENT, ID };

static const struct df_option of_documents[] = {
    [FORMAT] = { .name = "format",
                 .initial = "document",
                 .values = "document|lines|csv|tsv|ndjson",
                 .help =
                     "what a file holds: a document, or records that each are "
                     "one" },
    [CONTENT] = { .name = "content",
                  .initial = "",
                  .values = "COLUMN",
                  .help = "of csv, tsv (by header), ndjson (top-level "
                          "member): the "
                          "text" },
    [ID] = { .name = "id",
             .initial = "",
             .values = "COLUMN",
             .help = "the same for its id; none: the file's" },
    { 0 }
};

static const struct df_option of_records[] = {
    [FORMAT] = { .name = "format",
                 .initial = "csv",
                 .values = "csv|tsv|ndjson|lines",
                 .help = "what a file holds; a column is one of the header, a "
                         "top-level member, or 'line'" },
    { 0 }
};

const struct df_option *form_options(const struct df_job *job)
{
    return form_is_of_records(job) ? of_records : of_documents;
}

static enum df_status parse_format(const struct df_job *job, const char *value,
                                   enum form_format *format,
                                   struct df_error *err)
{
    static const char *const names[] = {
        [FORM_DOCUMENT] = "document", [FORM_LINES] = "lines",
        [FORM_CSV] = "csv",           [FORM_TSV] = "tsv",
        [FORM_NDJSON] = "ndjson",
    };
    struct shown text;

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(value, names[i]) == 0 &&
            (i != FORM_DOCUMENT || !form_is_of_records(job))) {
            *format = (enum form_format)i;
            return DF_OK;
        }
    }
    return error_set(err, DF_USAGE, "option 'format': '%s' is not one of %s",
                     shown(&text, bytes_of_string(value)),
                     form_options(job)[FORMAT].values);
}

/* Records that are documents. */
static enum df_status choose_columns(struct form *f, char *const *values,
                                     struct df_error *err)
{
    bool has_columns = f->format != FORM_DOCUMENT && f->format != FORM_LINES;

    f->has_id = values[ID][0] != '\0';
    if (!has_columns && values[CONTENT][0] != '\0') {
        return error_set(err, DF_USAGE,
                         "option 'content': format=%s has no columns",
                         values[FORMAT]);
    }
    if (!has_columns && f->has_id) {
        return error_set(err, DF_USAGE,
                         "option 'id': format=%s has no columns",
                         values[FORMAT]);
    }
    if (has_columns && values[CONTENT][0] == '\0') {
        return error_set(err, DF_USAGE,
                         "option 'content': format=%s needs it, to name the "
                         "column with the text",
                         values[FORMAT]);
    }
    if (f->format == FORM_DOCUMENT) {
        return DF_OK;
    }
    f->names[FORM_CONTENT] = has_columns ? values[CONTENT] : "line";
    f->names[FORM_ID] = values[ID];
    f->columns =
        (struct df_columns){ .names = f->names, .n = f->has_id ? 2 : 1 };
    return DF_OK;
}

/* A job's own columns. */
static enum df_status check_columns(const struct form *f, struct df_error *err)
{
    struct shown name;

    if (f->columns.n > DF_COLUMNS_MAX) {
        return error_set(err, DF_USAGE, "more than %d columns are asked for",
                         (int)DF_COLUMNS_MAX);
    }
    for (size_t i = 0; i < f->columns.n; i++) {
        const char *column = f->columns.names[i];

        if (f->format == FORM_LINES && strcmp(column, "line") != 0) {
            return error_set(err, DF_USAGE,
                             "option 'format': lines have one column, 'line': "
                             "there is no '%s'",
                             shown(&name, bytes_of_string(column)));
        }
    }
    return DF_OK;
}

enum df_status form_open(struct form **f, const struct df_job *job,
                         const void *config, char *const *values,
                         struct df_error *err)
{
    struct form *made = calloc(1, sizeof *made);
    enum df_status status;

    *f = NULL;
    if (made == NULL) {
        return error_no_memory(err);
    }
    status = parse_format(job, values[FORMAT], &made->format, err);
    if (status == DF_OK && form_is_of_records(job)) {
        made->columns = *job->columns(config);
        status = check_columns(made, err);
    } else if (status == DF_OK) {
        status = choose_columns(made, values, err);
    }
    if (status != DF_OK) {
        form_close(made);
        return status;
    }
    *f = made;
    return DF_OK;
}

void form_close(struct form *f)
{
    free(f);
}
