/*
 * writer.h: what commands that write to a view have in common. There is one
 * writer at a time, and all of them take the option --wait; those that install
 * batches choose among the same methods.
 */
#ifndef CLI_WRITER_H
#define CLI_WRITER_H

#include "cli/command.h"
#include "cli/opened.h"
#include "cli/resources.h"
#include "runtime/engine.h"

struct writer {
    uint64_t wait; /* seconds, for another writer */
};

enum { WRITER_WAIT_INITIAL = 10 };
extern const struct option writer_options[];

/* --install: how rows change. The choices and, by their number, the methods;
 * run alone has one more behind them, rebuild. */
#define WRITER_METHODS "auto|increment|overwrite|defer"
enum install_method writer_method(unsigned choice);

/* A view that is open for its work. */
struct writing {
    struct opened opened;
    struct resources resources;
    struct progress progress; /* to be cleared before anything is printed */
    struct engine_options engine;
};
typedef enum df_status writer_work(struct invocation *in, const void *given,
                                   struct writing *w, struct df_error *err);

/*
 * A command whose options are its own, which fill given, writer_options and
 * any tables of resources.h: parses them, opens the view, works, closes. Where
 * the work is interrupted it says at which batch the view is. *reads_only,
 * which may be one of the options, tells whether nothing is to be written
 * after all; NULL: something is.
 */
enum df_status writer_run(struct invocation *in, void *given,
                          const bool *reads_only, writer_work *work,
                          struct df_error *err) DF_MUST_CHECK;

#endif
