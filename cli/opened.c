#include "cli/opened.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/operands.h"
#include "cli/options.h"
#include "runtime/engine.h"
#include "state/history.h"
#include "state/settings.h"

static const char *const plain_names[DF_COMPONENTS_MAX + 1] = {
    "value1",  "value2",  "value3",  "value4",  "value5",  "value6",
    "value7",  "value8",  "value9",  "value10", "value11", "value12",
    "value13", "value14", "value15", "value16", "value17", "value18",
    "value19", "value20", "value21", "value22", "value23", "value24",
    "value25", "value26", "value27", "value28", "value29", "value30",
    "value31", "value32",
};

bool opened_word(struct bytes *rest, struct bytes *word)
{
    const uint8_t *blank;

    if (rest->len == 0) {
        return false;
    }
    blank = memchr(rest->data, ' ', rest->len);
    word->data = rest->data;
    word->len = blank == NULL ? rest->len : (size_t)(blank - rest->data);
    rest->data += word->len;
    rest->len -= word->len;
    if (rest->len > 0) { /* the blank */
        rest->data++;
        rest->len--;
    }
    return true;
}

static unsigned hex_digit(uint8_t byte)
{
    return byte <= '9' ? byte - 48u : byte - 55u; /* '0', 'A' - 10 */
}

static bool is_escape(const uint8_t *p, size_t left)
{
    static const char digits[] = "0123456789ABCDEF";

    return left >= 4 && p[0] == '\\' && p[1] == 'x' &&
           memchr(digits, p[2], 16) != NULL &&
           memchr(digits, p[3], 16) != NULL;
}

size_t opened_plain(char *out, struct bytes word)
{
    size_t len = 0;

    for (size_t i = 0; i < word.len; i++) {
        const uint8_t *p = word.data + i;

        if (is_escape(p, word.len - i)) {
            out[len++] = (char)(hex_digit(p[2]) << 4 | hex_digit(p[3]));
            i += 3;
        } else {
            out[len++] = (char)*p;
        }
    }
    return len;
}

/* The job that the definition names. */
static const struct df_job *job_of(const struct view *v)
{
    struct bytes rest = view_definition(v)->text;
    struct bytes name;

    if (!opened_word(&rest, &name)) {
        return NULL;
    }
    for (size_t i = 0; registry_job(i) != NULL; i++) {
        if (bytes_equal(name, bytes_of_string(registry_job(i)->name))) {
            return registry_job(i);
        }
    }
    return NULL;
}

static unsigned component_count(const struct df_job *job)
{
    unsigned n = 0;

    while (job->components[n] != NULL) {
        n++;
    }
    return n;
}

static enum df_status open_view(struct opened *o, const char *path,
                                enum view_access access, unsigned wait,
                                struct df_error *err)
{
    enum df_status status = view_open(&o->view, path, access, wait, err);

    if (status != DF_OK) {
        return status;
    }
    o->job = job_of(o->view);
    o->names = plain_names;
    if (o->job != NULL && component_count(o->job) ==
                              view_definition(o->view)->shape.components) {
        o->names = o->job->components;
    }
    return DF_OK;
}

enum df_status opened_at(struct opened *o, const char *at,
                         struct df_error *err)
{
    struct ledger_entry e;
    enum df_status status;

    if (at == NULL) {
        return DF_OK;
    }
    status = snapshot_find_entry(o->snapshot, at, true, &e, err);
    return status == DF_OK ? snapshot_show_at(o->snapshot, e.seq, err)
                           : status;
}

enum df_status opened_base(const struct jobspec *job, const char *text,
                           struct buf *out, struct df_error *err)
{
    enum df_status status = engine_allows_base(job, err);
    char *here = NULL;
    struct stat st;
    struct shown s;

    if (status != DF_OK) {
        return status;
    }
    if (stat(text, &st) != 0 || !S_ISDIR(st.st_mode)) {
        return error_set(err, DF_USAGE, "base '%s': is no directory",
                         shown(&s, bytes_of_string(text)));
    }
    while (text[0] == '.' && text[1] == '/') {
        text += 2;
    }
    if (text[0] != '/' && (here = getcwd(NULL, 0)) == NULL) {
        return error_errno(err, errno, "base '%s'",
                           shown(&s, bytes_of_string(text)));
    }
    if ((here != NULL && !buf_printf(out, "%s/", here)) ||
        !buf_append_string(out, text)) {
        status = error_no_memory(err);
    }
    free(here);
    return status;
}

enum df_status opened_documents(const struct opened *o, const char *view,
                                const char *ways, struct buf *out,
                                struct df_error *err)
{
    struct snapshot *s;
    struct bytes directory;
    enum df_status status = snapshot_open(&s, o->view, err);

    if (status != DF_OK) {
        return status;
    }
    status = snapshot_setting(s, SETTING_BASE, &directory, err);
    if (status == DF_OK && directory.len == 0) {
        status = error_set(err, DF_USAGE,
                           "the view does not know where its documents lie: "
                           "%s",
                           ways);
    } else if (status == DF_OK &&
               (!buf_append(out, directory.data, directory.len) ||
                !buf_append_byte(out, '\0'))) {
        status = error_no_memory(err);
    } else if (status == DF_OK) {
        status = operands_check_path(OPERANDS_DOCUMENTS, view,
                                     (const char *)out->data, err);
    }
    snapshot_close(s);
    return status;
}

enum df_status opened_keep(const char *text, uint64_t *keep,
                           struct df_error *err)
{
    struct shown s;

    if (options_number(text, keep) && *keep <= HISTORY_KEEP_MAX) {
        return DF_OK;
    }
    return error_set(err, DF_USAGE,
                     "keep '%s': is no number of entries from 0 to %d",
                     shown(&s, bytes_of_string(text)), HISTORY_KEEP_MAX);
}

/* "name=value" words of the definition as strings, an array and its text in
 * one allocation. */
static bool split_options(struct bytes definition, char ***given, size_t *n)
{
    struct bytes rest = definition;
    struct bytes word;
    size_t words = 0;
    char *text;

    while (opened_word(&rest, &word)) {
        words++;
    }
    *given = malloc((words + 1) * sizeof **given + definition.len + 1);
    if (*given == NULL) {
        return false;
    }
    text = (char *)(*given + words + 1);
    *n = 0;
    rest = definition;
    for (size_t i = 0; opened_word(&rest, &word); i++) {
        if (i < 2) { /* name and version */
            continue;
        }
        (*given)[(*n)++] = text;
        text += opened_plain(text, word);
        *text++ = '\0';
    }
    return true;
}

/* The spec that this program makes of the definition must be the same. */
static enum df_status compare_definition(const struct opened *o,
                                         const char *path,
                                         struct df_error *err)
{
    struct bytes there = view_definition(o->view)->text;
    enum df_status status = DF_OK;
    struct buf here = { 0 };

    if (!jobspec_definition(&o->spec, &here)) {
        status = error_no_memory(err);
    } else if (!bytes_equal(buf_bytes(&here), there)) {
        struct shown a;
        struct shown b;

        status = error_set(
            err, DF_STATE,
            "view '%s' was made by '%s', this program has '%s': make a new "
            "view with 'deltafold init' and run or rebuild it",
            path, shown(&a, there), shown(&b, buf_bytes(&here)));
    }
    buf_fini(&here);
    return status;
}

static enum df_status ready_job(struct opened *o, const char *path,
                                struct df_error *err)
{
    struct bytes text = view_definition(o->view)->text;
    enum df_status status;
    char **given = NULL;
    struct shown s;
    size_t n = 0;

    if (o->job == NULL) {
        return error_set(err, DF_STATE,
                         "view '%s' was made by '%s', a job that this program "
                         "does not have: see 'deltafold jobs'",
                         path, shown(&s, text));
    }
    if (!split_options(text, &given, &n)) {
        return error_no_memory(err);
    }
    status =
        jobspec_open(&o->spec, o->job, (const char *const *)given, n, err);
    free(given);
    if (status == DF_USAGE) {
        return error_prefix(err, DF_STATE,
                            "view '%s' was made with options that this "
                            "program does not have",
                            path);
    }
    return status == DF_OK ? compare_definition(o, path, err) : status;
}

/* What the job, ready, says of its rows. */
static void use_job(struct opened *o)
{
    if (o->spec.components == view_definition(o->view)->shape.components) {
        o->names = o->spec.shape.components;
    }
    o->present = o->job->present;
}

/* A view that this program would not make the same way can be read all the
 * same, as rows. */
static enum df_status try_job(struct opened *o, const char *path,
                              struct df_error *err)
{
    struct df_error why;
    enum df_status status = ready_job(o, path, &why);

    if (status == DF_OK) {
        use_job(o);
        return DF_OK;
    }
    jobspec_close(&o->spec);
    if (status == DF_SYSTEM) {
        *err = why;
        return status;
    }
    return DF_OK;
}

enum df_status opened_read_all(struct opened *o, const char *path,
                               struct df_error *err)
{
    enum df_status status;

    *o = (struct opened){ 0 };
    status = open_view(o, path, VIEW_READ, 0, err);
    if (status == DF_OK) {
        status = try_job(o, path, err);
    }
    if (status == DF_OK) {
        status = snapshot_open(&o->snapshot, o->view, err);
    }
    if (status != DF_OK) {
        opened_close(o);
    }
    return status;
}

enum df_status opened_read(struct opened *o, const char *path,
                           struct df_error *err)
{
    enum df_status status = opened_read_all(o, path, err);

    if (status == DF_OK) {
        snapshot_apply_having(o->snapshot);
    }
    return status;
}

enum df_status opened_work(struct opened *o, const char *path,
                           enum view_access access, unsigned wait_seconds,
                           struct df_error *err)
{
    enum df_status status;

    *o = (struct opened){ 0 };
    status = open_view(o, path, access, wait_seconds, err);
    if (status == DF_OK) {
        status = ready_job(o, path, err);
    }
    if (status == DF_OK) {
        use_job(o);
    } else {
        opened_close(o);
    }
    return status;
}

void opened_close(struct opened *o)
{
    jobspec_close(&o->spec);
    snapshot_close(o->snapshot);
    view_close(o->view);
    *o = (struct opened){ 0 };
}

enum df_status opened_last(struct opened *o, struct ledger_entry *e,
                           bool *found, struct df_error *err)
{
    uint64_t seq = snapshot_state(o->snapshot).seq;

    *found = false;
    return seq == 0 ? DF_OK
                    : snapshot_ledger_get(o->snapshot, seq, e, found, err);
}

enum df_status opened_interrupted(struct opened *o, struct df_error *err)
{
    struct ledger_entry last = { 0 };
    bool found = false;
    struct shown s;

    if (o->snapshot == NULL &&
        snapshot_open(&o->snapshot, o->view, err) != DF_OK) {
        return error_prefix(err, DF_INTERRUPTED, "interrupted");
    }
    if (opened_last(o, &last, &found, err) != DF_OK) {
        return error_prefix(err, DF_INTERRUPTED, "interrupted");
    }
    if (!found || last.name.len == 0) {
        return error_set(err, DF_INTERRUPTED, "interrupted: the view is %s",
                         found ? "as of its last rebuild" : "empty");
    }
    return error_set(err, DF_INTERRUPTED,
                     "interrupted: the view is at batch '%s'",
                     shown(&s, last.name));
}
