/*
 * whole_batches.h: batches after each of which it can be seen, from the rows
 * alone, that the view is at a whole batch, and at which.
 *
 * Batch i inserts one document with every *steady* word once, inserts one
 * with CHAFF words of its own, and deletes the one with those of batch
 * i - 1. So at batch i each steady word counts i, the chaff is all of
 * generation i and nothing else is there. Some steady words are longer than
 * a key of the store and share their first 500 bytes.
 */
#ifndef TESTS_WHOLE_BATCHES_H
#define TESTS_WHOLE_BATCHES_H

#include "input_tree.h"
#include "state/snapshot.h"

enum {
    WHOLE_STEADY = 60,
    WHOLE_LONG = 6, /* of the steady words */
    WHOLE_CHAFF = 40,
    WHOLE_WORD = 560 /* room for a word */
};

/* Writes ROOT/deltas/batch_N and brings ROOT/survivors up to it. */
void whole_write(const char *root, unsigned batch);

/* The i-th steady word. */
const char *whole_steady(char word[WHOLE_WORD], unsigned i);

/* A row as it comes, in any order. */
struct whole_rows {
    int64_t count;       /* of the first steady word seen; 0: none yet */
    unsigned generation; /* of the first chaff seen; 0: none yet */
    unsigned steady;     /* words seen */
    unsigned chaff;
};
/* The three fail the running cmocka test where a batch is not whole. */
void whole_add_row(struct whole_rows *w, struct bytes key, int64_t count);
/* All rows were added. Returns the batch they are at. */
uint64_t whole_end(const struct whole_rows *w);
/* All of a snapshot: rows, single rows, ledger. Returns the batch. */
uint64_t whole_check(struct snapshot *s);

#endif
