/*
 * chosen.h: what a new view is to be, as a command line says it.
 */
#ifndef CLI_CHOSEN_H
#define CLI_CHOSEN_H

#include "cli/command.h"
#include "jobs/registry.h"

/* The job that words[0] names, with the options behind it. On success
 * jobspec_close(spec) is the caller's. */
enum df_status chosen_job(struct jobspec *spec, char *const *words, size_t n,
                          struct df_error *err) DF_MUST_CHECK;

/* Shards where none are given: as many as processors, rounded down to a power
 * of two. */
unsigned chosen_shards(void);

/* Before the line is parsed: options of jobs that are written as those of
 * commands are, and the reverse. */
enum df_status chosen_check(const struct invocation *in,
                            struct df_error *err) DF_MUST_CHECK;

#endif
