/*
 * vector.h: what the tokenizers do to 64 bytes at a time.
 *
 * The one place with instructions of particular processors. A path is a set
 * of functions; all paths give the same results, the fastest that this
 * processor has is chosen at run time. Pure functions of their arguments,
 * callable from any thread.
 *
 * Bytes come in steps of 64; sources are readable, and destinations
 * writable, to the end of the last step. Bit i of a mask is byte i of its
 * step.
 */
#ifndef JOBS_WORDCOUNT_VECTOR_H
#define JOBS_WORDCOUNT_VECTOR_H

#include "deltafold/job.h"

enum {
    VECTOR_STEP = 64,
    VECTOR_EDGES_SLACK = 64, /* entries written behind the last edge */
    VECTOR_KEYS_SLACK = 4    /* entries written behind the last key */
};

/* One mask per step in each array. */
struct vector_masks {
    uint64_t *word;       /* [A-Za-z0-9] */
    uint64_t *high;       /* bytes from 0x80 on */
    uint64_t *apostrophe; /* U+0027 */
};

struct vector_path {
    const char *name;

    /* Sets the masks of `steps` steps of src; copies src to lowered with
     * A-Z lowered, unless lowered is NULL. */
    void (*classify)(const uint8_t *src, size_t steps, uint8_t *lowered,
                     const struct vector_masks *masks);

    /* Sets bits where there is none of space, \t, \n, \v, \f and \r. */
    void (*nonblank)(const uint8_t *src, size_t steps, uint64_t *word);

    /* Writes where runs of set bits begin and, one past them, end, in turns;
     * a run that reaches the last bit ends there. Returns how many (always
     * even). */
    size_t (*edges)(const uint64_t *masks, size_t steps, uint32_t *edges);

    /* keys[i] = base[edges[2i] .. edges[2i + 1]) for n keys. */
    void (*keys)(const uint8_t *base, const uint32_t *edges, size_t n,
                 struct df_key *keys);
};

/* The paths this processor can take, fastest first; NULL past the last. */
const struct vector_path *vector_path(size_t i);

/* The path to take: the first, or what vector_prefer set. */
const struct vector_path *vector_best(void);

/* For tests: NULL goes back to the first. Not while other threads call. */
void vector_prefer(const struct vector_path *path);

#endif
