/*
 * process.h: running a program and keeping what it said.
 *
 *     struct outcome o;
 *     process_run(&o, argv, env);
 *     ... o.exit_code, o.signal, o.out, o.err ...
 *     outcome_fini(&o);
 *
 * argv ends with NULL and its first is a path; env is "NAME=value" on top of
 * our own, ends with NULL and may be NULL itself. Trouble of our own exits
 * with a message: a test that cannot start its subject has failed.
 */
#ifndef FAULTS_PROCESS_H
#define FAULTS_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

struct outcome {
    int exit_code; /* -1 when a signal ended it */
    int signal;    /* 0 when none did */
    char *out;     /* all of stdout, NUL-terminated; owned */
    char *err;     /* all of stderr */
};

void process_run(struct outcome *o, const char *const *argv,
                 const char *const *env);
/* As above, but killed with SIGKILL after so many microseconds. */
void process_run_and_kill(struct outcome *o, const char *const *argv,
                          uint64_t microseconds);
void outcome_fini(struct outcome *o);

_Noreturn void give_up(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* A formatted string, the caller's to free. */
char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
