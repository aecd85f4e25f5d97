/*
 * run_block.h: a few pages of a stored run that stand alone.
 *
 *     rows       as in block.h, after an empty key; every RESTART-th row
 *                shares nothing with the one before it
 *     restarts   where those rows begin, 16 bits each
 *     filter     of the heads (filter.h)
 *     trailer    number of restarts, lines of the filter, 16 bits each
 *
 * So rows take little more than they do in the table, a head that is not
 * there is as a rule told by one line of the filter, and one that is there by
 * halving the restarts and reading a few rows.
 */
#ifndef STATE_RUN_BLOCK_H
#define STATE_RUN_BLOCK_H

#include "state/block.h"

/* Four pages of LMDB, less their header and the check: blocks lie in pages of
 * their own, and fill them. A row that is longer has a block of its own. */
enum { RUN_BLOCK_SIZE = 4 * 4096 - 16 - STORE_CHECK, RUN_BLOCK_RESTART = 16 };

/* Writing: zeroed; run_block_begin, run_block_add in order while there is
 * room, run_block_end. False without memory. */
struct run_block_writer {
    struct block_writer block; /* value: the whole after run_block_end */
    struct buf restarts;
    struct buf hashes; /* of the heads, 64 bits each */
};
void run_block_begin(struct run_block_writer *w, unsigned components);
bool run_block_has_room(const struct run_block_writer *w,
                        const struct row *row);
bool run_block_add(struct run_block_writer *w, const struct row *row);
bool run_block_end(struct run_block_writer *w);
void run_block_writer_fini(struct run_block_writer *w);

/* Reading. Borrowed from the value; false when that is damaged. */
struct run_block {
    unsigned components;
    struct bytes rows;
    struct bytes restarts;
    struct bytes filter;
};
bool run_block_open(struct run_block *b, unsigned components,
                    struct bytes value);
/* From the first row on. */
bool run_block_read(const struct run_block *b, struct block_reader *r);
/* From a row on that is not after `head`, if there is one; few rows lie
 * between. */
bool run_block_read_near(const struct run_block *b, struct bytes head,
                         struct block_reader *r);

#endif
