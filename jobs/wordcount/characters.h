/*
 * characters.h: what the unicode tokenizer must know of each code point, in
 * a table: its class, and its share of the key where that is simple.
 *
 * The key of a word is its code points' shares, one after the other, when
 * none of them is marked CHARACTER_SLOW and combining classes do not fall
 * within a run of combining marks. Otherwise normal.h makes the key. This is
 * the quick check of Unicode Standard Annex 15, done for the word and for
 * its key at once.
 */
#ifndef JOBS_WORDCOUNT_CHARACTERS_H
#define JOBS_WORDCOUNT_CHARACTERS_H

#include "jobs/wordcount/normal.h"

enum {
    /* Bits 0-2: the class. */
    CHARACTER_SEPARATOR = 0,
    CHARACTER_WORD = 1, /* letters and digits: Unicode L, N */
    CHARACTER_MARK = 2, /* Unicode M: of a word, but not its first */
    CHARACTER_APOSTROPHE = 3,
    CHARACTER_IGNORED = 4,
    CHARACTER_CLASS = 7,

    CHARACTER_SLOW = 8,       /* its word needs normal.h */
    CHARACTER_COMBINING = 16, /* combining class is not 0 */
    /* The share is not the character itself, but has the length in bits 6-7
     * (plus one) and the bytes in bits 8-31, the first one lowest. A share
     * of four bytes begins like its character; its other three are here. */
    CHARACTER_MAPPED = 32,
    CHARACTER_LENGTH_SHIFT = 6,
    CHARACTER_BYTES_SHIFT = 8,
};

enum {
    CHARACTERS_BLOCK_BITS = 7,
    CHARACTERS_BLOCK = 1 << CHARACTERS_BLOCK_BITS,
    CHARACTERS_END = 0x110000,
};

enum {
    CHARACTERS_ONE = 0x80,  /* code points of one byte are below */
    CHARACTERS_TWO = 0x800, /* of two bytes */
};

/* Equal blocks of the table are stored once. */
struct characters {
    uint16_t block[CHARACTERS_END / CHARACTERS_BLOCK];
    struct buf entries; /* of uint32_t */
    /* The shares of plain letters and digits, for most text is of them: those
     * that need no look at their neighbours and whose share has their own
     * length. 0 for all others. In two the first byte is the lower one. */
    uint8_t one[CHARACTERS_ONE];
    uint16_t two[CHARACTERS_TWO];
};

/* False when memory runs out; c is then empty. */
bool characters_init(struct characters *c, enum letter_case letter_case);
void characters_fini(struct characters *c); /* safe on zeroed memory */

static inline uint32_t characters_entry(const struct characters *c,
                                        uint32_t point)
{
    const uint32_t *entries = (const uint32_t *)(const void *)c->entries.data;
    size_t block = c->block[point >> CHARACTERS_BLOCK_BITS];

    return entries[block << CHARACTERS_BLOCK_BITS |
                   (point & (CHARACTERS_BLOCK - 1))];
}

#endif
