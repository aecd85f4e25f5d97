#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/spelling.h"

bool options_number(const char *text, uint64_t *v)
{
    uint64_t n = 0;

    if (*text == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(n, 10u, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*text - '0'), &n)) {
            return false;
        }
    }
    *v = n;
    return true;
}

bool options_size(const char *text, uint64_t *v)
{
    static const char suffixes[] = "KMGT";
    char digits[32];
    size_t len = strlen(text);
    unsigned shift = 0;

    if (len == 0 || len >= sizeof digits) {
        return false;
    }
    memcpy(digits, text, len + 1);
    for (unsigned i = 0; i < 4; i++) {
        if ((digits[len - 1] & ~0x20) == suffixes[i]) {
            shift = 10 * (i + 1);
            digits[len - 1] = '\0';
        }
    }
    if (!options_number(digits, v) || *v > UINT64_MAX >> shift) {
        return false;
    }
    *v <<= shift;
    return true;
}

const char *options_size_text(char room[OPTIONS_SIZE_TEXT], uint64_t v)
{
    static const char suffixes[] = "KMGT";
    unsigned i = 0;

    while (i < 4 && v != 0 && v % 1024 == 0) {
        v /= 1024;
        i++;
    }
    (void)snprintf(room, OPTIONS_SIZE_TEXT, "%llu%.*s", (unsigned long long)v,
                   i > 0, i > 0 ? &suffixes[i - 1] : "");
    return room;
}

/* A command line while it is taken apart. */
struct parse {
    const char *help;
    const struct option_group *groups;
    size_t group_count;
    char **argv;
    int argc;
    int next; /* argument to look at */
    int kept; /* operands so far, at the front of argv */
    struct df_error *err;
};

/* An option as it stands on the line. */
struct given {
    const char *shown; /* "--name" or "-n", for messages */
    const struct option *option;
    void *into;
    const char *value; /* NULL: not on the same argument */
};

static enum df_status bad_value(const struct parse *p, const struct given *g,
                                const char *value, const char *wanted)
{
    return error_set(
        p->err, DF_USAGE, "%s: '%s' is not %s: see '%s'", g->shown,
        shown(&(struct shown){ 0 }, bytes_of_string(value)), wanted, p->help);
}

/* As one would type it. */
static void put_limit(const struct option *o, char room[OPTIONS_SIZE_TEXT],
                      uint64_t limit)
{
    if (o->kind == OPTION_SIZE) {
        (void)options_size_text(room, limit);
    } else {
        (void)snprintf(room, OPTIONS_SIZE_TEXT, "%llu",
                       (unsigned long long)limit);
    }
}

static enum df_status out_of_range(const struct parse *p,
                                   const struct given *g, const char *value)
{
    const struct option *o = g->option;
    const char *what = o->kind == OPTION_SIZE ? "a size" : "a number";
    char min[OPTIONS_SIZE_TEXT];
    char max[OPTIONS_SIZE_TEXT];
    char wanted[120];

    put_limit(o, min, o->min);
    put_limit(o, max, o->max);
    if (o->max == 0) {
        (void)snprintf(wanted, sizeof wanted, "%s of at least %s", what, min);
    } else {
        (void)snprintf(wanted, sizeof wanted, "%s from %s to %s", what, min,
                       max);
    }
    return bad_value(p, g, value, wanted);
}

static enum df_status not_in_steps(const struct parse *p,
                                   const struct given *g, const char *value)
{
    char step[OPTIONS_SIZE_TEXT];
    char wanted[60];

    (void)snprintf(wanted, sizeof wanted, "a multiple of %s",
                   options_size_text(step, g->option->step));
    return bad_value(p, g, value, wanted);
}

static enum df_status store_number(const struct parse *p,
                                   const struct given *g, const char *value)
{
    const struct option *o = g->option;
    uint64_t v = 0;

    if (o->kind == OPTION_SIZE && !options_size(value, &v)) {
        return bad_value(p, g, value, "a size, such as 512M");
    }
    if (o->kind == OPTION_NUMBER && !options_number(value, &v)) {
        return bad_value(p, g, value, "a number");
    }
    if (v < o->min || (o->max != 0 && v > o->max)) {
        return out_of_range(p, g, value);
    }
    if (o->step != 0 && v % o->step != 0) {
        return not_in_steps(p, g, value);
    }
    memcpy((char *)g->into + o->offset, &v, sizeof v);
    return DF_OK;
}

static enum df_status store_choice(const struct parse *p,
                                   const struct given *g, const char *value)
{
    const char *at = g->option->choices;
    size_t len = strlen(value);
    char wanted[120];

    for (unsigned i = 0;; i++) {
        size_t choice = strcspn(at, "|");

        if (choice == len && memcmp(at, value, len) == 0) {
            memcpy((char *)g->into + g->option->offset, &i, sizeof i);
            return DF_OK;
        }
        if (at[choice] == '\0') {
            break;
        }
        at += choice + 1;
    }
    (void)snprintf(wanted, sizeof wanted, "one of %s", g->option->choices);
    return bad_value(p, g, value, wanted);
}

static enum df_status store_flag(const struct parse *p, const struct given *g)
{
    bool yes = true;

    if (g->value != NULL) {
        return error_set(p->err, DF_USAGE, "%s takes no value: see '%s'",
                         g->shown, p->help);
    }
    memcpy((char *)g->into + g->option->offset, &yes, sizeof yes);
    return DF_OK;
}

static enum df_status store_text(const struct parse *p, const struct given *g)
{
    if (g->option->kind == OPTION_PATH && g->value[0] == '\0') {
        return error_set(p->err, DF_USAGE, "%s: '' is not a path: see '%s'",
                         g->shown, p->help);
    }
    memcpy((char *)g->into + g->option->offset, &g->value, sizeof g->value);
    return DF_OK;
}

static enum df_status store(struct parse *p, struct given *g)
{
    if (g->option->kind == OPTION_FLAG) {
        return store_flag(p, g);
    }
    if (g->value == NULL) {
        if (p->next == p->argc) {
            return error_set(p->err, DF_USAGE, "%s needs a value: see '%s'",
                             g->shown, p->help);
        }
        g->value = p->argv[p->next++];
    }
    if (g->option->kind == OPTION_CHOICE) {
        return store_choice(p, g, g->value);
    }
    return g->option->kind == OPTION_TEXT || g->option->kind == OPTION_PATH
               ? store_text(p, g)
               : store_number(p, g, g->value);
}

/* Finds by name, or by letter where name is NULL. */
static bool find(const struct parse *p, const char *name, char letter,
                 struct given *g)
{
    for (size_t i = 0; i < p->group_count; i++) {
        const struct option *o = p->groups[i].options;

        for (; o->name != NULL; o++) {
            if (name != NULL ? strcmp(o->name, name) == 0
                             : o->letter == letter) {
                g->option = o;
                g->into = p->groups[i].into;
                return true;
            }
        }
    }
    return false;
}

static const char *nearest(const struct parse *p, const char *name)
{
    struct spelling near = { 0 };

    for (size_t i = 0; i < p->group_count; i++) {
        for (const struct option *o = p->groups[i].options; o->name; o++) {
            spelling_look(&near, name, o->name);
        }
    }
    return near.name;
}

static enum df_status unknown(const struct parse *p, const char *dashes,
                              const char *name)
{
    const char *near = nearest(p, name);
    struct shown s;

    (void)shown(&s, bytes_of_string(name));
    if (near != NULL) {
        return error_set(p->err, DF_USAGE,
                         "unknown option '%s%s', did you mean '--%s'? See "
                         "'%s'",
                         dashes, s.text, near, p->help);
    }
    return error_set(p->err, DF_USAGE, "unknown option '%s%s': see '%s'",
                     dashes, s.text, p->help);
}

/* "--name" or "--name=VALUE"; the '=' is overwritten. */
static enum df_status parse_long(struct parse *p, char *argument)
{
    struct given g = { .shown = argument };
    char *equals = strchr(argument, '=');

    if (equals != NULL) {
        *equals = '\0';
        g.value = equals + 1;
    }
    if (!find(p, argument + 2, 0, &g)) {
        return unknown(p, "--", argument + 2);
    }
    return store(p, &g);
}

/* "-n" or "-nVALUE". */
static enum df_status parse_short(struct parse *p, const char *argument)
{
    char name[3] = { '-', argument[1], '\0' };
    struct given g = { .shown = name,
                       .value = argument[2] == '\0' ? NULL : argument + 2 };

    if (!find(p, NULL, argument[1], &g)) {
        return unknown(p, "-", argument + 1);
    }
    return store(p, &g);
}

enum df_status options_parse(const char *help,
                             const struct option_group *groups, size_t n,
                             int *argc, char **argv, struct df_error *err)
{
    struct parse p = { .help = help,
                       .groups = groups,
                       .group_count = n,
                       .argv = argv,
                       .argc = *argc,
                       .err = err };
    enum df_status status = DF_OK;
    bool ended = false;

    while (status == DF_OK && p.next < p.argc) {
        char *argument = argv[p.next++];

        if (ended || argument[0] != '-' || argument[1] == '\0') {
            argv[p.kept++] = argument;
        } else if (argument[1] != '-') {
            status = parse_short(&p, argument);
        } else if (argument[2] != '\0') {
            status = parse_long(&p, argument);
        } else {
            ended = true;
        }
    }
    *argc = p.kept;
    return status;
}

enum {
    HELP_INDENT = 25, /* column of explanations */
    HELP_WIDTH = 79
};

/* Appends text from column HELP_INDENT on, folded at blanks. `column` is
 * where the line stands. */
static bool put_folded(struct buf *out, size_t column, const char *text)
{
    bool ok = true;

    if (column + 2 > HELP_INDENT) {
        ok = buf_append_byte(out, '\n');
        column = 0;
    }
    ok = ok && buf_printf(out, "%*s", (int)(HELP_INDENT - column), "");
    column = HELP_INDENT;
    while (ok && *text != '\0') {
        size_t word = strcspn(text, " ");

        if (column > HELP_INDENT && column + 1 + word > HELP_WIDTH) {
            ok = buf_printf(out, "\n%*s", HELP_INDENT, "");
            column = HELP_INDENT;
        } else if (column > HELP_INDENT) {
            ok = buf_append_byte(out, ' ');
            column++;
        }
        ok = ok && buf_append(out, text, word);
        column += word;
        text += word + strspn(text + word, " ");
    }
    return ok && buf_append_byte(out, '\n');
}

static bool put_option(struct buf *out, const struct option *o)
{
    const char *value = o->kind == OPTION_CHOICE ? o->choices : o->value;
    char explained[400];
    size_t begin = out->len;
    bool ok;

    if (o->letter != '\0') {
        ok = buf_printf(out, "  -%c, --%s", o->letter, o->name);
    } else {
        ok = buf_printf(out, "  --%s", o->name);
    }
    if (value != NULL) {
        ok = ok && buf_printf(out, "=%s", value);
    }
    if (o->initial != NULL) {
        (void)snprintf(explained, sizeof explained, "%s [default: %s]",
                       o->help, o->initial);
    } else {
        (void)snprintf(explained, sizeof explained, "%s", o->help);
    }
    return ok && put_folded(out, out->len - begin, explained);
}

bool options_help(const struct option *options, struct buf *out)
{
    bool ok = true;

    for (; ok && options->name != NULL; options++) {
        ok = put_option(out, options);
    }
    return ok;
}
