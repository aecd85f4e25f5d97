/*
 * command.h: what main knows of a subcommand, and what a subcommand gets.
 *
 * A subcommand is a constant table in a file of its own:
 *
 *     static enum df_status run(struct invocation *in, struct df_error *err)
 *     {
 *         struct get get = { 0 };
 *         ... = command_parse(in, (void *[]){ &get }, err);
 *         ... in->argc, in->argv: what is left, its number checked ...
 *     }
 *     const struct command command_get = { .name = "get", ..., .run = run };
 *
 * Its run prints results to in->out and notices to standard error, and
 * returns a status with a message; main prints the message, finishes the
 * output and makes the status the exit code.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/operands.h"
#include "cli/options.h"
#include "cli/output.h"

enum { COMMAND_GROUPS_MAX = 6 };

struct invocation {
    const struct command *command;
    int argc; /* arguments behind the command's name */
    char **argv;
    struct output *out;
};

struct command {
    const char *name;
    const char *summary;  /* half a line, for the list of commands */
    const char *synopsis; /* what stands behind the name; lines */
    const char *text;     /* folded when shown, but for lines that begin
                             with a blank */
    const char *examples; /* lines; NULL: none */
    /* Tables of options; the first are the command's own. */
    const struct option *options[COMMAND_GROUPS_MAX];
    int arguments_min;
    int arguments_max;      /* -1: no limit */
    bool takes_keys;        /* arguments behind the first may be empty */
    enum operands operands; /* what these are */
    enum df_status (*run)(struct invocation *in, struct df_error *err);
};

extern const struct command command_init;
extern const struct command command_run;
extern const struct command command_rebuild;
extern const struct command command_compact;
extern const struct command command_verify;
extern const struct command command_get;
extern const struct command command_top;
extern const struct command command_export;
extern const struct command command_log;
extern const struct command command_info;
extern const struct command command_jobs;
extern const struct command command_diff;
extern const struct command command_why;
extern const struct command command_undo;
extern const struct command command_redo;
extern const struct command command_keep;
extern const struct command command_base;
extern const struct command command_bench;

/* Lines of text, folded at blanks where they are long, behind `indent`
 * blanks; a line that begins with a blank stays as it is. */
void command_put_text(struct output *out, const char *text, size_t indent);

/* Takes options out of in->argv; into[i] is the struct that the command's
 * i-th table fills. */
enum df_status command_parse(struct invocation *in, void *const *into,
                             struct df_error *err) DF_MUST_CHECK;

/* The i-th command, NULL past the last; and by name, NULL if unknown. */
const struct command *command_at(size_t i);
const struct command *command_find(const char *name);

/* Help for the program and for one command; DF_SYSTEM without memory. */
enum df_status command_help(const struct command *c, struct output *out,
                            struct df_error *err) DF_MUST_CHECK;
void command_help_program(struct output *out);

#endif
