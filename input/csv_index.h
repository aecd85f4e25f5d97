/*
 * csv_index.h: where fields and rows end, 64 bytes at a time.
 *
 * The one place of csv with instructions of particular processors. Three
 * masks are made of every 64 bytes: delimiters, quotes, line feeds. Whether a
 * place lies between quotes is the parity of the quotes before it, so a
 * prefix XOR of the quotes' mask blots out what is content. What is left ends
 * fields, and is written down as a list of positions:
 *
 *     a,"b,""c",d\n      quotes  ..1...11.1...
 *                        inside  ..11111.11...  (opening ones included)
 *                        ends    .1........1.1  -> 1, 10, 12
 *
 * Parity is right only where quotes stand around whole fields. An opening
 * one must come behind an end (or a closing one: then the two are one quote
 * of the content), and behind a closing one must come an end, CRLF or a
 * quote. The first place where that is not so ends the list: csv_row.h says
 * what it is. Pure functions, callable from any thread; all paths give the
 * same results.
 */
#ifndef INPUT_CSV_INDEX_H
#define INPUT_CSV_INDEX_H

#include "base/bytes.h"

enum { CSV_INDEX_STEP = 64 };

/* The list is written up to this many entries behind its end. */
enum { CSV_INDEX_SLACK = 64 };

struct csv_index_kind {
    uint8_t delimiter; /* '\n': there is none */
    bool has_quotes;
};

/* Where in a stretch, which begins with a row, the index stands. */
struct csv_index {
    size_t at;          /* bytes looked at: whole steps, or all */
    uint64_t inside;    /* all ones: `at` lies between quotes */
    uint64_t was_end;   /* 1: a delimiter, LF or the start is before `at` */
    uint64_t was_close; /* 1: a closing quote is before `at` */
    bool is_broken;     /* a quote is where it must not be, at broken_at or
                           before */
    size_t broken_at;
};

static inline struct csv_index csv_index_start(void)
{
    return (struct csv_index){ .was_end = 1 };
}

struct csv_index_path {
    const char *name;
    /* Goes on for up to `steps` steps and no further than stretch.len;
     * 64 bytes behind it are readable. ends has room for steps * 64 +
     * CSV_INDEX_SLACK entries. Returns how many were written. */
    size_t (*run)(struct csv_index *x, struct csv_index_kind kind,
                  struct bytes stretch, size_t steps, uint32_t *ends);
    /* How many bytes of b are quotes, modulo 2. */
    bool (*parity)(struct bytes b);
};

/* The paths this processor can take, fastest first; NULL past the last. */
const struct csv_index_path *csv_index_path(size_t i);

/* The path to take: the first, or what csv_index_prefer set. */
const struct csv_index_path *csv_index_best(void);

/* For tests: NULL goes back to the first. Not while other threads parse. */
void csv_index_prefer(const struct csv_index_path *path);

#endif
