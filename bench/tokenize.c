/*
 * tokenize.c: how fast the word count job maps, without what comes behind.
 *
 *     bench_tokenize FILE
 *
 * Maps FILE in pieces of some MB with every tokenizer on every vector path
 * this processor has, into an emitter that only counts; prints the median
 * and the spread of several runs in MB/s. Before a time is printed, the
 * number of words is compared with that of a loop over code points, and the
 * hash of all keys with that of the other paths.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <utf8proc.h>

#include "base/hash.h"
#include "jobs/registry.h"
#include "jobs/wordcount/vector.h"

enum { RUNS = 7, PIECE = 1 << 22 };

struct null_emitter {
    struct df_emitter emitter; /* first */
    uint64_t words;
    struct hash_stream *hash; /* NULL: count only */
};

static void take_keys(struct df_emitter *e, const struct df_key *keys,
                      size_t n)
{
    struct null_emitter *out = (struct null_emitter *)(void *)e;

    out->words += n;
    for (size_t i = 0; out->hash != NULL && i < n; i++) {
        hash_stream_add(out->hash, bytes_of(keys[i].data, keys[i].len));
        hash_stream_add(out->hash, bytes_of("\n", 1));
    }
}

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench_tokenize: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static struct buf read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct buf text = { 0 };
    size_t got = 0;

    if (file == NULL) {
        fail(path, "cannot be opened");
    }
    do {
        text.len += got;
        if (!buf_reserve(&text, PIECE + DF_SLACK)) {
            fail(path, "out of memory");
        }
        got = fread(text.data + text.len, 1, PIECE, file);
    } while (got > 0);
    if (ferror(file) || text.len == 0) {
        fail(path, "cannot be read, or is empty");
    }
    fclose(file);
    memset(text.data + text.len, 0, DF_SLACK);
    return text;
}

/* ---- the oracle: words counted one code point at a time ---- */

static bool is_alnum(uint8_t b)
{
    return (b >= '0' && b <= '9') || (b >= 'A' && b <= 'Z') ||
           (b >= 'a' && b <= 'z');
}

static bool is_blank(uint8_t b)
{
    return b == ' ' || b == '\t' || b == '\n' || b == '\v' || b == '\f' ||
           b == '\r';
}

static uint64_t count_bytes(struct bytes text, bool ascii)
{
    uint64_t words = 0;
    bool inside = false;

    for (size_t i = 0; i < text.len; i++) {
        bool of_word =
            ascii ? is_alnum(text.data[i]) : !is_blank(text.data[i]);

        words += of_word && !inside;
        inside = of_word;
    }
    return words;
}

static bool is_ignored(utf8proc_int32_t c)
{
    return c == 0xad || c == 0x200c || c == 0x200d || c == 0x2060 ||
           c == 0xfeff;
}

static bool is_apostrophe(utf8proc_int32_t c)
{
    return c == 0x27 || c == 0x2019 || c == 0x2bc;
}

static uint64_t count_unicode(struct bytes text)
{
    uint64_t words = 0;
    unsigned quotes = 2; /* since the last letter; 2: no word is open */

    for (size_t i = 0; i < text.len;) {
        utf8proc_int32_t c = -1;
        utf8proc_ssize_t len = utf8proc_iterate(
            text.data + i, (utf8proc_ssize_t)(text.len - i), &c);
        char kind = *utf8proc_category_string(c < 0 ? 0 : c);

        i += len > 0 ? (size_t)len : 1;
        if (c >= 0 && is_ignored(c)) {
            continue;
        }
        if (c >= 0 && is_apostrophe(c)) {
            quotes += quotes < 2;
        } else if (kind == 'L' || kind == 'N' || (kind == 'M' && quotes < 2)) {
            words += quotes == 2;
            quotes = 0;
        } else {
            quotes = 2;
        }
    }
    return words;
}

static uint64_t count_words(struct bytes text, const char *tokenizer)
{
    return strcmp(tokenizer, "unicode") == 0
               ? count_unicode(text)
               : count_bytes(text, strcmp(tokenizer, "ascii") == 0);
}

/* ---- measuring ---- */

static void map_text(const struct jobspec *spec, struct bytes text,
                     struct df_emitter *emitter)
{
    struct df_error err;
    void *mapper;

    if (spec->job->mapper_open(spec->config, &mapper, &err) != DF_OK) {
        fail("mapper", err.text);
    }
    for (size_t at = 0; at < text.len;) {
        struct df_piece piece = { .data = text.data + at,
                                  .len = text.len - at,
                                  .first = at == 0 };

        if (piece.len > PIECE) {
            size_t c = spec->job->cut(spec->config, piece.data + PIECE,
                                      piece.len - PIECE);

            piece.len = c > 0 ? PIECE + c : piece.len;
        }
        piece.last = at + piece.len == text.len;
        spec->job->map(mapper, &piece, emitter);
        at += piece.len;
    }
    spec->job->mapper_close(mapper);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Checks, then measures one tokenizer on the preferred path. */
static struct hash128 measure(const struct jobspec *spec, struct bytes text,
                              uint64_t words, const char *label)
{
    struct null_emitter out = { .emitter = { .keys = take_keys } };
    double speeds[RUNS];
    struct hash128 hash;

    if (!hash_stream_open(&out.hash)) {
        fail("hash", "out of memory");
    }
    hash_stream_reset(out.hash);
    map_text(spec, text, &out.emitter);
    hash = hash_stream_end(out.hash);
    hash_stream_close(out.hash);
    out.hash = NULL;
    if (out.words != words) {
        fail(label, "another number of words than counted one by one");
    }
    for (unsigned i = 0; i < RUNS; i++) {
        double begin = seconds();

        map_text(spec, text, &out.emitter);
        speeds[i] = (double)text.len / 1e6 / (seconds() - begin);
    }
    qsort(speeds, RUNS, sizeof *speeds, ascending);
    printf("%-20s %7.0f MB/s  (%.0f to %.0f)  %llu words\n", label,
           speeds[RUNS / 2], speeds[0], speeds[RUNS - 1],
           (unsigned long long)words);
    return hash;
}

static void measure_tokenizer(struct bytes text, const char *tokenizer)
{
    uint64_t words = count_words(text, tokenizer);
    char option[64];
    const char *const given[] = { option };
    struct hash128 first = { 0, 0 };

    (void)snprintf(option, sizeof option, "tokenizer=%s", tokenizer);
    for (size_t i = 0; vector_path(i) != NULL; i++) {
        struct jobspec spec;
        struct df_error err;
        struct hash128 hash;
        char label[64];

        vector_prefer(vector_path(i));
        if (jobspec_open(&spec, registry_find("wordcount"), given, 1, &err) !=
            DF_OK) {
            fail(option, err.text);
        }
        (void)snprintf(label, sizeof label, "%s %s", tokenizer,
                       vector_path(i)->name);
        hash = measure(&spec, text, words, label);
        if (i > 0 && !hash128_equal(hash, first)) {
            fail(label, "other words than on the first path");
        }
        first = hash;
        jobspec_close(&spec);
    }
    vector_prefer(NULL);
}

int main(int argc, char **argv)
{
    struct buf text;

    if (argc != 2) {
        fail("usage", "bench_tokenize FILE");
    }
    text = read_file(argv[1]);
    measure_tokenizer(buf_bytes(&text), "ascii");
    measure_tokenizer(buf_bytes(&text), "unicode");
    measure_tokenizer(buf_bytes(&text), "whitespace");
    buf_fini(&text);
    return EXIT_SUCCESS;
}
