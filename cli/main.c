/*
 * deltafold: the command. Finds the subcommand, runs it, prints its error and
 * makes its status the exit code.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/spelling.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "state/store.h"

static struct output standard_output;

/*
 * A descriptor 0, 1 or 2 that is not open would be the next file's, and
 * messages would land in the view. Standard output is opened for reading, so
 * that writing results to it fails instead of vanishing.
 */
static bool open_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY) != fd) {
            return false;
        }
    }
    return true;
}

static bool is_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

/* Help is wanted wherever it stands; nothing else is looked at then. */
static bool wants_help(const struct invocation *in)
{
    for (int i = 0; i < in->argc && strcmp(in->argv[i], "--") != 0; i++) {
        if (is_help(in->argv[i])) {
            return true;
        }
    }
    return false;
}

static enum df_status unknown(const char *name, struct df_error *err)
{
    static const char *const others[] = { "help", "--help", "--version" };
    const char *what = name[0] == '-' ? "option" : "command";
    struct spelling near = { 0 };
    struct shown s;

    for (size_t i = 0; command_at(i) != NULL; i++) {
        spelling_look(&near, name, command_at(i)->name);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        spelling_look(&near, name, others[i]);
    }
    (void)shown(&s, bytes_of_string(name));
    if (near.name != NULL) {
        return error_set(err, DF_USAGE,
                         "unknown %s '%s', did you mean '%s'? See "
                         "'deltafold --help'",
                         what, s.text, near.name);
    }
    return error_set(err, DF_USAGE, "unknown %s '%s': see 'deltafold --help'",
                     what, s.text);
}

static enum df_status surplus(const char *argument, struct df_error *err)
{
    struct shown s;

    return error_set(err, DF_USAGE,
                     "'%s' is one argument too many: see 'deltafold --help'",
                     shown(&s, bytes_of_string(argument)));
}

static enum df_status help(int argc, char **argv, struct df_error *err)
{
    const struct command *c;

    if (argc == 0 || is_help(argv[0]) || strcmp(argv[0], "help") == 0) {
        command_help_program(&standard_output);
        return DF_OK;
    }
    c = command_find(argv[0]);
    if (c == NULL) {
        return unknown(argv[0], err);
    }
    return argc > 1 ? surplus(argv[1], err)
                    : command_help(c, &standard_output, err);
}

static enum df_status dispatch(int argc, char **argv, struct df_error *err)
{
    struct invocation in = { .argc = argc - 2,
                             .argv = argv + 2,
                             .out = &standard_output };

    if (argc < 2) {
        return error_set(err, DF_USAGE,
                         "a command is missing: see 'deltafold --help'");
    }
    if (is_help(argv[1]) || strcmp(argv[1], "help") == 0) {
        return help(in.argc, in.argv, err);
    }
    if (strcmp(argv[1], "--version") == 0) {
        if (argc > 2) {
            return surplus(argv[2], err);
        }
        output_text(&standard_output, "deltafold " DELTAFOLD_VERSION "\n");
        return DF_OK;
    }
    in.command = command_find(argv[1]);
    if (in.command == NULL) {
        return unknown(argv[1], err);
    }
    if (wants_help(&in)) {
        return command_help(in.command, in.out, err);
    }
    return in.command->run(&in, err);
}

/* One line, whatever a path in it holds. */
static void complain(const struct df_error *err)
{
    char line[SHOWN_LINE(DF_ERROR_SIZE)];

    if (err->text[0] != '\0') {
        (void)fprintf(stderr, "deltafold: %s\n",
                      shown_line(line, sizeof line, err->text));
    }
}

/* Maybe in a signal handler, and the end in any case: what was not committed
 * will not have been. */
static void end_on_damage(const char *path)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    struct shown s;

    while (atomic_flag_test_and_set(&told)) {
        (void)pause(); /* another thread is saying it */
    }
    if (isatty(STDERR_FILENO) == 1) {
        progress_put("\r\033[K"); /* the progress line */
    }
    progress_put("deltafold: ");
    progress_put(shown(&s, bytes_of_string(path)));
    progress_put(": " STORE_DAMAGED "\n");
    _exit(DF_STATE);
}

int main(int argc, char **argv)
{
    struct df_error err = { 0 };
    struct df_error lost = { 0 };
    enum df_status status;
    enum df_status written;

    if (!open_standard_descriptors()) {
        return DF_SYSTEM;
    }
    /* A file that may not grow (ulimit -f) is an error like a full disk. */
    (void)signal(SIGXFSZ, SIG_IGN);
    store_on_damage(end_on_damage);
    output_init(&standard_output, STDOUT_FILENO);
    status = dispatch(argc, argv, &err);
    written = output_finish(&standard_output, &lost);
    if (status != DF_OK) {
        complain(&err);
    }
    if (written != DF_OK) {
        complain(&lost);
        return status == DF_OK || status == DF_DIFFERS ? (int)written
                                                       : (int)status;
    }
    return (int)status;
}
