/*
 * How fast pairs are counted, sorted and merged, without reading and without
 * looking for words: those are done beforehand.
 *
 *     combine FILE [MEMORY_MIB [PARTS]]
 *
 * Splits the file at bytes that are no letters, digits or underscores, then
 * emits the words in lists of one block of 3 KiB each, as word count does,
 * and reduces. The counts must add up to the number of words. Prints one
 * line of TSV per phase: name, seconds, millions of keys or rows per second.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/reduce.h"

enum { BLOCK = 3072 };

struct words {
    uint8_t *text;
    size_t len;
    struct df_key *keys;
    size_t n;
    size_t *blocks; /* first key of each block; one more than there are */
    size_t block_count;
};

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "combine: %s\n", what);
    exit(1);
}

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void load(struct words *w, const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) != 0) {
        fail(path);
    }
    w->text = malloc((size_t)st.st_size + DF_SLACK);
    if (w->text == NULL) {
        fail("out of memory");
    }
    while (w->len < (size_t)st.st_size &&
           (n = read(fd, w->text + w->len, (size_t)st.st_size - w->len)) > 0) {
        w->len += (size_t)n;
    }
    (void)close(fd);
    memset(w->text + w->len, 0, DF_SLACK);
}

static bool in_word(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

static void split(struct words *w)
{
    size_t at = 0;

    w->keys = malloc((w->len / 2 + 1) * sizeof *w->keys);
    w->blocks = malloc((w->len / BLOCK + 2) * sizeof *w->blocks);
    if (w->keys == NULL || w->blocks == NULL) {
        fail("out of memory");
    }
    while (at < w->len) {
        size_t from = at;

        while (at < w->len && in_word(w->text[at])) {
            at++;
        }
        while (w->block_count * BLOCK <= from) {
            w->blocks[w->block_count++] = w->n;
        }
        if (at > from && at - from <= DF_KEY_MAX) {
            w->keys[w->n++] = (struct df_key){ w->text + from, at - from };
        }
        at++;
    }
    w->blocks[w->block_count] = w->n;
}

static void report(const char *phase, double seconds, uint64_t n)
{
    (void)printf("%s\t%.3f\t%.1f\n", phase, seconds,
                 (double)n / seconds / 1e6);
}

/* The sum of all counts of the partitions; rows are counted. */
static int64_t reduce_all(struct combine *c, unsigned parts, size_t memory,
                          uint64_t *rows)
{
    int64_t sum = 0;
    struct df_error err;

    for (unsigned p = 0; p < parts; p++) {
        struct reduce *r;
        const struct row *row;
        struct run_source *run;

        if (reduce_open(&r, &c, 1, p, memory, &err) != DF_OK) {
            fail(err.text);
        }
        run = reduce_run(r);
        for (;;) {
            if (run->next(run, &row, &err) != DF_OK) {
                fail(err.text);
            }
            if (row == NULL) {
                break;
            }
            sum += row->values[0];
            (*rows)++;
        }
        reduce_close(r);
    }
    return sum;
}

int main(int argc, char **argv)
{
    struct words w = { 0 };
    struct combine_plan plan = { .shape = { .has_element = false,
                                            .components = 1 },
                                 .parts = 2,
                                 .memory = (size_t)1024 << 20,
                                 .spill_directory = "/tmp",
                                 .sample = 1 };
    struct combine *c;
    struct df_error err;
    uint64_t rows = 0;
    double t;

    if (argc < 2) {
        fail("usage: combine FILE [MEMORY_MIB [PARTS]]");
    }
    if (argc > 2) {
        plan.memory = (size_t)strtoul(argv[2], NULL, 10) << 20;
    }
    if (argc > 3) {
        plan.parts = (unsigned)strtoul(argv[3], NULL, 10);
    }
    load(&w, argv[1]);
    split(&w);
    if (combine_open(&c, &plan, &err) != DF_OK) {
        fail(err.text);
    }
    t = now();
    for (size_t b = 0; b < w.block_count; b++) {
        df_emit_keys(combine_emitter(c), w.keys + w.blocks[b],
                     w.blocks[b + 1] - w.blocks[b]);
    }
    if (combine_status(c, &err) != DF_OK) {
        fail(err.text);
    }
    report("emit_keys", now() - t, w.n);
    t = now();
    if (combine_finish(c, &err) != DF_OK) {
        fail(err.text);
    }
    (void)printf("finish\t%.3f\n", now() - t);
    t = now();
    if (reduce_all(c, plan.parts, plan.memory, &rows) != (int64_t)w.n) {
        fail("counts do not add up to the number of words");
    }
    report("reduce", now() - t, rows);
    (void)printf("words %zu, rows %llu, spills %llu, bytes spilled %llu\n",
                 w.n, (unsigned long long)rows,
                 (unsigned long long)combine_stats(c).spills,
                 (unsigned long long)combine_stats(c).spill_bytes);
    combine_close(c);
    free(w.keys);
    free(w.blocks);
    free(w.text);
    return 0;
}
