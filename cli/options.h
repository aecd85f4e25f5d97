/*
 * options.h: command lines by table.
 *
 *     static const struct option run_options[] = {
 *         { .name = "wait", .kind = OPTION_NUMBER, .max = 86400,
 *           .offset = offsetof(struct run, wait), .value = "SECONDS",
 *           .help = "wait so long ...", .initial = "10" },
 *         { 0 } };
 *     struct run run = { .wait = 10 };
 *     const struct option_group groups[] = { { run_options, &run } };
 *     options_parse(&line, groups, 1, &argc, argv, err)
 *
 * Options may stand anywhere; `--` ends them. `--name=VALUE`, `--name VALUE`,
 * `-nVALUE` and `-n VALUE` are the same. What is not an option is left in
 * argv, in order, and counted in argc. The last of two wins. Values are
 * checked strictly; every failure is DF_USAGE with one line that tells
 * where help is.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "base/buf.h"
#include "base/error.h"

enum option_kind {
    OPTION_FLAG,   /* bool; no value */
    OPTION_TEXT,   /* const char *, points into argv */
    OPTION_PATH,   /* the same, and not empty */
    OPTION_NUMBER, /* uint64_t, min to max */
    OPTION_SIZE,   /* uint64_t bytes, min to max; suffixes K, M, G, T */
    OPTION_CHOICE  /* unsigned: which of `choices` */
};

struct option {
    const char *name; /* without dashes; NULL ends a list */
    char letter;      /* 0: none */
    enum option_kind kind;
    size_t offset;       /* of the field that is set */
    uint64_t min;        /* NUMBER and SIZE */
    uint64_t max;        /* 0: no limit */
    uint64_t step;       /* SIZE: a multiple of this; 0: any */
    const char *choices; /* CHOICE: "increment|overwrite" */
    const char *value;   /* as help names it: "N"; NULL for FLAG, CHOICE */
    const char *help;
    const char *initial; /* shown as the default; NULL: not shown */
};

struct option_group {
    const struct option *options;
    void *into; /* the struct that offsets are in */
};

/* `help` is what a user is told to type: "deltafold run --help". */
enum df_status options_parse(const char *help,
                             const struct option_group *groups, size_t n,
                             int *argc, char **argv,
                             struct df_error *err) DF_MUST_CHECK;

/* Appends the table as help shows it, folded to 79 columns; false without
 * memory. */
bool options_help(const struct option *options, struct buf *out);

/* A number in decimal digits alone; false for anything else, and beyond 64
 * bits. */
bool options_number(const char *text, uint64_t *v);

/* A number with at most one suffix K, M, G or T (times 1024 each). */
bool options_size(const char *text, uint64_t *v);

/* The same, written with the largest suffix that leaves a whole number. */
enum { OPTIONS_SIZE_TEXT = 24 };
const char *options_size_text(char room[OPTIONS_SIZE_TEXT], uint64_t v);

#endif
