/*
 * human.h: numbers as people read them. Each writes into room and returns
 * it. No locale has a say.
 */
#ifndef CLI_HUMAN_H
#define CLI_HUMAN_H

#include "base/bytes.h"

enum { HUMAN_MAX = 40 };

const char *human_count(char room[HUMAN_MAX], uint64_t v);     /* 1,234,567 */
const char *human_bytes(char room[HUMAN_MAX], uint64_t v);     /* 1.2 MB */
const char *human_duration(char room[HUMAN_MAX], uint64_t us); /* 14 ms */
/* Seconds since 1970 as 2026-11-29T02:15:00Z. */
const char *human_time(char room[HUMAN_MAX], int64_t seconds);

/* "s" unless n is one. */
static inline const char *human_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* Columns that text takes on a terminal: two for what East Asian fonts draw
 * wide and for most emoji, none for marks, one for a byte that is not UTF-8.
 */
size_t human_width(struct bytes text);

/* How many bytes of text fit into so many columns; never part of a character,
 * and never a letter without its marks. */
size_t human_fit(struct bytes text, size_t columns);

/* Blanks that fill text up to so many columns; none if it is longer. */
int human_pad(struct bytes text, size_t columns);

#endif
