#include "cli/chosen.h"

#include <unistd.h>

#include "base/spelling.h"
#include "state/view.h"

unsigned chosen_shards(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned shards = 1;

    while (shards < VIEW_SHARDS_MAX && 2 * (long)shards <= processors) {
        shards *= 2;
    }
    return shards;
}

static enum df_status unknown_job(const char *name, struct df_error *err)
{
    struct spelling near = { 0 };
    struct shown s;

    (void)shown(&s, bytes_of_string(name));
    for (size_t i = 0; registry_job(i) != NULL; i++) {
        spelling_look(&near, name, registry_job(i)->name);
    }
    if (near.name != NULL) {
        return error_set(err, DF_USAGE,
                         "unknown job '%s', did you mean '%s'? See "
                         "'deltafold jobs'",
                         s.text, near.name);
    }
    return error_set(err, DF_USAGE, "unknown job '%s': see 'deltafold jobs'",
                     s.text);
}

enum df_status chosen_job(struct jobspec *spec, char *const *words, size_t n,
                          struct df_error *err)
{
    const struct df_job *job = registry_find(words[0]);

    if (job == NULL) {
        return unknown_job(words[0], err);
    }
    return jobspec_open(spec, job, (const char *const *)words + 1, n - 1, err);
}

/* ---- options of the job and of the command ---- */

static bool is_job_option(struct bytes name)
{
    for (size_t i = 0; registry_job(i) != NULL; i++) {
        const struct df_job *job = registry_job(i);

        for (size_t k = 0; registry_option(job, k) != NULL; k++) {
            if (bytes_equal(name,
                            bytes_of_string(registry_option(job, k)->name))) {
                return true;
            }
        }
    }
    return false;
}

static bool is_command_option(const struct command *c, struct bytes name)
{
    for (const struct option *o = c->options[0]; o->name != NULL; o++) {
        if (bytes_equal(name, bytes_of_string(o->name))) {
            return true;
        }
    }
    return false;
}

/* What stands in front of '=', if there is one. */
static struct bytes name_of(const char *word)
{
    return bytes_of(word, strcspn(word, "="));
}

enum df_status chosen_check(const struct invocation *in, struct df_error *err)
{
    struct shown s;

    for (int i = 0; i < in->argc && strcmp(in->argv[i], "--") != 0; i++) {
        const char *word = in->argv[i];
        bool has_dashes = strncmp(word, "--", 2) == 0;
        struct bytes name = name_of(has_dashes ? word + 2 : word);
        bool of_job = is_job_option(name);
        bool of_command = is_command_option(in->command, name);

        if (has_dashes && of_job && !of_command) {
            return error_set(err, DF_USAGE,
                             "'%s' is an option of the job: it is written "
                             "without dashes, %.*s=VALUE, behind the job",
                             shown(&s, bytes_of_string(word)), (int)name.len,
                             (const char *)name.data);
        }
        if (!has_dashes && word[name.len] == '=' && of_command && !of_job) {
            return error_set(err, DF_USAGE,
                             "'%s' is an option of the command: it is "
                             "written --%.*s=VALUE",
                             shown(&s, bytes_of_string(word)), (int)name.len,
                             (const char *)name.data);
        }
    }
    return DF_OK;
}
