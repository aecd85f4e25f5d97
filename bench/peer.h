/*
 * peer.h: what the other stores are given: words in order, one per line, as a
 * batch is when it is reduced, and a clock from there to the durable commit.
 *
 *     bench_peer_X DIRECTORY load FILE    every word gets the count 1
 *     bench_peer_X DIRECTORY add FILE     every word's count grows by 1;
 * prints microseconds bench_peer_X DIRECTORY sum          prints the sum of
 * all counts
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct peer_words {
    char *text; /* the file */
    char **at;  /* words, each with its NUL */
    size_t count;
};

static inline _Noreturn void peer_fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "bench_peer: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static inline int64_t peer_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static inline char *peer_read(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t len = 0;
    size_t room = 1 << 20;

    if (f == NULL) {
        peer_fail(path, "cannot open");
    }
    do {
        text = realloc(text, room *= 2);
        if (text == NULL) {
            peer_fail(path, "no memory");
        }
        len += fread(text + len, 1, room - len - 1, f);
    } while (len == room - 1);
    text[len] = '\0';
    (void)fclose(f);
    return text;
}

static inline struct peer_words peer_words(const char *path)
{
    struct peer_words w = { .text = peer_read(path) };
    char *rest = w.text;
    char *word;
    size_t lines = 1;

    for (const char *p = w.text; *p != '\0'; p++) {
        lines += *p == '\n';
    }
    w.at = calloc(lines, sizeof *w.at);
    while (w.at != NULL && (word = strsep(&rest, "\n")) != NULL) {
        if (*word != '\0') {
            w.at[w.count++] = word;
        }
    }
    if (w.at == NULL) {
        peer_fail(path, "no memory");
    }
    return w;
}

static inline void peer_words_fini(struct peer_words *w)
{
    free(w->at);
    free(w->text);
}

#endif
