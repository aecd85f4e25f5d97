/*
 * block.h: several rows in one entry of the store.
 *
 * LMDB spends ten bytes on an entry and knows no prefixes: a word count
 * would pay more for that than for its words, and a link graph would store
 * every target once per source. So neighbours share an entry: its key is not
 * after its first row's head and after every head of the entry before, its
 * value is the rows, each without what it shares with the head before it:
 *
 *     shared (varint)  rest (varint)  rest of the head  values
 *     and, when the head is ROW_HEAD_MAX long: tail length (varint)  tail
 *
 * The first row shares with the entry's key. Example, counts all 1, the key
 * "sea":
 *
 *     sea       3 0            1
 *     seal      3 1 'l'        1
 *     seaside   3 4 'side'     1
 *
 * Varints are little-endian base 128. Reading checks every length; false
 * means damaged.
 */
#ifndef STATE_BLOCK_H
#define STATE_BLOCK_H

#include "state/row.h"
#include "state/store.h"

/* What an entry may take of a page so that four fit: (4096 - 16) / 4, less a
 * slot of two bytes, a node header of eight and the check. A row that is
 * longer has an entry of its own. */
enum { BLOCK_SIZE = 1010 - STORE_CHECK };

/* Reading: block_open, then block_next until *end. A row's head lies in the
 * reader, its tail in the entry. */
struct block_reader {
    unsigned components;
    struct bytes rest; /* not yet read */
    size_t head_len;
    uint8_t head[ROW_HEAD_MAX];
    int64_t values[DF_COMPONENTS_MAX];
    struct row row; /* the last one read */
};

bool block_open(struct block_reader *r, unsigned components, struct bytes key,
                struct bytes value);
bool block_next(struct block_reader *r, bool *end);
/* The head of a first row that shares nothing, where it lies. */
bool block_first_head(struct bytes rows, struct bytes *head);

/* Writing: block_begin, block_add in order. False without memory. */
struct block_writer {
    unsigned components;
    struct buf value;
    size_t rows;
    size_t key_len; /* the entry's key */
    uint8_t key[ROW_HEAD_MAX];
    size_t head_len; /* the last row's head */
    uint8_t head[ROW_HEAD_MAX];
};

/* Starts an entry with that key. */
void block_begin(struct block_writer *w, unsigned components,
                 struct bytes key);
bool block_add(struct block_writer *w, const struct row *row);
/* The next row shares nothing with the last. */
void block_restart(struct block_writer *w);
void block_writer_fini(struct block_writer *w);

/* An upper bound of what block_add appends for this row, and one for whatever
 * row comes before. */
size_t block_row_bound(const struct block_writer *w, const struct row *row);
size_t block_row_most(unsigned components, const struct row *row);

#endif
