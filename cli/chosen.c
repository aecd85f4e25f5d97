#include "cli/chosen.h"

#include <unistd.h>

#include "base/spelling.h"
#include "cli/options.h"
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
