/*
 * progress.h: what goes to standard error while work is under way: one line
 * that is redrawn, on a terminal only, and notices between.
 *
 *     progress_init(&p, quiet);
 *     options.progress = progress_show; options.progress_ctx = &p;
 *     progress_notice(&p, "...");         lines of their own
 *     progress_clear(&p);                 before anything else is printed
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "runtime/engine.h"

struct progress {
    bool on;        /* standard error is a terminal, and not quiet */
    bool quiet;     /* no notices either */
    bool drawn;     /* a line stands there */
    uint64_t last;  /* when it was drawn; microseconds */
    uint64_t start; /* when the phase began */
    uint64_t done;  /* at the last call; falls when a new batch begins */
    char phase[32];
};

void progress_init(struct progress *p, bool quiet);

/* An engine_options.progress function; ctx is the struct progress. Draws at
 * most ten times a second, and where a phase begins. */
void progress_show(void *ctx, const struct engine_progress *now);

void progress_clear(struct progress *p);

/* To standard error as it is; may be called in a signal handler. */
void progress_put(const char *text);

/* "deltafold: notice: ..." */
void progress_notice(struct progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
