/*
 * tokenizer.h: how documents fall into words; between wordcount.c and the
 * tokenizers.
 *
 * A document is a row of *stretches*: what lies between two neighbouring
 * separators. A separator is known by its own bytes, whatever stands around
 * it, so stretches are the same however a document is split. A word never
 * reaches beyond its stretch. Tokenizers are given blocks of whole
 * stretches; what is longer than a key may be they never see.
 */
#ifndef JOBS_WORDCOUNT_TOKENIZER_H
#define JOBS_WORDCOUNT_TOKENIZER_H

#include "base/buf.h"
#include "jobs/wordcount/characters.h"
#include "jobs/wordcount/words.h"

enum {
    SEPARATOR_MAX = 4, /* bytes */
    /* Bytes that are tokenized at once, where a separator allows: text,
     * lowered text, edges and keys of one block fit the first-level cache
     * and leave most of it to the keys that come all the time. */
    BLOCK_SIZE = 3072,
    /* The longest block: one stretch as long as a key may be. */
    BLOCK_MAX = DF_KEY_MAX + SEPARATOR_MAX,
    BLOCK_STEPS = (BLOCK_MAX + VECTOR_STEP - 1) / VECTOR_STEP,
    /* Where words are spelled code point by code point. None grows to more
     * than half again its bytes, so there must be room for that where one
     * begins. */
    SPELLED_ROOM = DF_KEY_MAX / 2 * 3,
    SPELLED_SIZE = SPELLED_ROOM + BLOCK_SIZE,
};

/* What configure makes: read by all threads, changed by none. */
struct wordcount_config {
    const struct tokenizer *tokenizer;
    enum letter_case letter_case;
    unsigned ngram;
    const struct vector_path *vector;
    struct characters *characters; /* for unicode, else NULL */
};

/* The scratch space of one worker. */
struct mapper {
    const struct wordcount_config *config;
    struct words words;

    /* Of the current block. */
    uint8_t lowered[BLOCK_STEPS * VECTOR_STEP + DF_SLACK];
    uint64_t word[BLOCK_STEPS];
    uint64_t high[BLOCK_STEPS];
    uint64_t apostrophe[BLOCK_STEPS];
    uint32_t edges[BLOCK_MAX + 1 + VECTOR_EDGES_SLACK];

    /* For unicode: words of the current list that hold other than ASCII. */
    uint8_t spelled[SPELLED_SIZE + DF_SLACK];
    size_t spelled_len;
    struct normal normal; /* for words that need composing */
};

struct tokenizer {
    const char *name;

    /* The length of the separator that data[0 .. len) ends with, 0 when it
     * does not end with one. Looks back at most SEPARATOR_MAX bytes. */
    size_t (*separator)(const struct wordcount_config *config,
                        const uint8_t *data, size_t len);

    /* Adds the words of a block of at most BLOCK_MAX bytes, DF_SLACK
     * readable behind it; words live until the next block. */
    void (*block)(struct mapper *m, const uint8_t *data, size_t len);

    /* Counts what must be counted in bytes that are left out; may be NULL. */
    void (*left_out)(struct mapper *m, const uint8_t *data, size_t len);
};

extern const struct tokenizer tokenizer_ascii;
extern const struct tokenizer tokenizer_unicode;
extern const struct tokenizer tokenizer_whitespace;

static inline bool is_ascii_alnum(uint8_t byte)
{
    return (uint8_t)((byte | 0x20) - 'a') < 26 || (uint8_t)(byte - '0') < 10;
}

static inline size_t block_steps(size_t len)
{
    return (len + VECTOR_STEP - 1) / VECTOR_STEP;
}

/* Clears the bits of the last step that are not of the block. */
static inline void block_trim(uint64_t *masks, size_t len)
{
    if (len % VECTOR_STEP != 0) {
        masks[len / VECTOR_STEP] &= (UINT64_C(1) << (len % VECTOR_STEP)) - 1;
    }
}

#endif
