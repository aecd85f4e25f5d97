#include "cli/command.h"

#include <stdio.h>

static const struct command *const commands[] = {
    &command_init,   &command_run,   &command_rebuild, &command_compact,
    &command_verify, &command_get,   &command_top,     &command_export,
    &command_log,    &command_info,  &command_diff,    &command_why,
    &command_undo,   &command_redo,  &command_keep,    &command_base,
    &command_jobs,   &command_bench,
};
enum { HELP_WIDTH = 76 };
enum { COMMANDS = sizeof commands / sizeof commands[0] };

const struct command *command_at(size_t i)
{
    return i < COMMANDS ? commands[i] : NULL;
}

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

/* The first line of the synopsis is the usage that a message has room for. */
static enum df_status wrong_arguments(const struct command *c,
                                      const char *what, struct df_error *err)
{
    int len = (int)strcspn(c->synopsis, "\n");

    return error_set(err, DF_USAGE,
                     "%s: usage: deltafold %s %.*s (see 'deltafold %s "
                     "--help')",
                     what, c->name, len, c->synopsis, c->name);
}

enum df_status command_parse(struct invocation *in, void *const *into,
                             struct df_error *err)
{
    const struct command *c = in->command;
    struct option_group groups[COMMAND_GROUPS_MAX];
    enum df_status status;
    char help[64];
    size_t n = 0;

    for (; n < COMMAND_GROUPS_MAX && c->options[n] != NULL; n++) {
        groups[n] = (struct option_group){ c->options[n], into[n] };
    }
    (void)snprintf(help, sizeof help, "deltafold %s --help", c->name);
    status = options_parse(help, groups, n, &in->argc, in->argv, err);
    if (status != DF_OK) {
        return status;
    }
    if (in->argc < c->arguments_min) {
        return wrong_arguments(c, "an argument is missing", err);
    }
    if (c->arguments_max >= 0 && in->argc > c->arguments_max) {
        return wrong_arguments(c, "too many arguments", err);
    }
    for (int i = 0; i < in->argc; i++) {
        /* A shell's variable that is not set, most likely. */
        if (in->argv[i][0] == '\0' && (i == 0 || !c->takes_keys)) {
            return wrong_arguments(c, "an argument is empty", err);
        }
    }
    return operands_check(c->operands, in->argv, in->argc, err);
}

/* Lines of the synopsis, each behind the command's name. */
static void put_synopsis(const struct command *c, struct output *out)
{
    const char *line = c->synopsis;
    const char *before = "Usage:";

    while (*line != '\0') {
        size_t len = strcspn(line, "\n");

        output_printf(out, "%s deltafold %s %.*s\n", before, c->name, (int)len,
                      line);
        before = "      ";
        line += len + (line[len] == '\n');
    }
}

static void put_blanks(struct output *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        output_byte(out, ' ');
    }
}

/* One line of text, folded at blanks unless it begins with one. */
static void put_line(struct output *out, struct bytes line, size_t indent)
{
    const char *p = (const char *)line.data;
    const char *end = p + line.len;
    size_t column = 0;

    put_blanks(out, line.len > 0 ? indent : 0);

    if (line.len == 0 || *p == ' ') {
        output_bytes(out, line);
        p = end;
    }
    while (p < end) {
        const char *blank = memchr(p, ' ', (size_t)(end - p));
        size_t word = (size_t)((blank == NULL ? end : blank) - p);

        if (column > 0) {
            bool fits = indent + column + 1 + word <= HELP_WIDTH;

            output_byte(out, fits ? ' ' : '\n');
            put_blanks(out, fits ? 0 : indent);
            column = fits ? column + 1 : 0;
        }
        output_bytes(out, bytes_of(p, word));
        column += word;
        p += word + (blank != NULL);
    }
    output_byte(out, '\n');
}

void command_put_text(struct output *out, const char *text, size_t indent)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");

        put_line(out, bytes_of(text, len), indent);
        text += len + (text[len] == '\n');
    }
}

enum df_status command_help(const struct command *c, struct output *out,
                            struct df_error *err)
{
    struct buf table = { 0 };
    bool ok = true;

    for (size_t i = 0; i < COMMAND_GROUPS_MAX && c->options[i] != NULL; i++) {
        ok = ok && options_help(c->options[i], &table);
    }
    ok = ok && buf_append_string(&table, "  -h, --help             show this "
                                         "help\n");
    if (ok) {
        put_synopsis(c, out);
        output_byte(out, '\n');
        command_put_text(out, c->text, 0);
        output_text(out, "\nOptions:\n");
        output_bytes(out, buf_bytes(&table));
        if (c->examples != NULL) {
            output_printf(out, "\nExamples:\n%s\n", c->examples);
        }
    }
    buf_fini(&table);
    return ok ? DF_OK : error_no_memory(err);
}

void command_help_program(struct output *out)
{
    output_text(out,
                "Usage: deltafold COMMAND [ARGUMENT ...] [OPTION ...]\n\n");
    command_put_text(
        out,
        "Keeps the result of a MapReduce job up to date from what "
        "changed: folds directories of inserted and deleted "
        "documents into a durable view, each exactly once.\n\n"
        "Commands:",
        0);
    for (size_t i = 0; i < COMMANDS; i++) {
        output_printf(out, "  %-9s %s\n", commands[i]->name,
                      commands[i]->summary);
    }
    output_text(
        out,
        "\n  deltafold help COMMAND   what it does, options, examples; as "
        "COMMAND --help\n"
        "  deltafold --version      the version of this program\n"
        "\nExamples:\n"
        "  deltafold init words wordcount\n"
        "  deltafold run words deltas/\n"
        "  deltafold top words\n"
        "\nExit codes:\n"
        "  0    done\n"
        "  1    verify or bench found a difference, get or why no key\n"
        "  2    wrong usage\n"
        "  3    the input is refused\n"
        "  4    the batch is refused by the ledger\n"
        "  5    the view is unusable, or locked by another writer\n"
        "  6    system error: disk full, no memory, I/O error\n"
        "  130  interrupted; the view is at a whole batch\n");
}
