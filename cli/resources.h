/*
 * resources.h: the options of commands with real work. Each takes the tables
 * that it has a use for; all of them fill a struct resources.
 */
#ifndef CLI_RESOURCES_H
#define CLI_RESOURCES_H

#include "cli/options.h"
#include "cli/progress.h"

struct resources {
    uint64_t threads; /* 0: not given, and so below */
    uint64_t memory;
    uint64_t split;
    bool quiet;
    bool verbose;
};

extern const struct option resource_threads[];
extern const struct option resource_memory[];
extern const struct option resource_mapping[]; /* of documents: they are cut,
                                                  and progress is shown */
extern const struct option resource_listing[]; /* of what is left out */

/* Prepares p and fills the fields of *options that these decide; the others
 * are zeroed. Signals are caught from here on (interrupt.h). */
void resources_prepare(const struct resources *r, struct progress *p,
                       struct engine_options *options);

#endif
