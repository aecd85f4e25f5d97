/*
 * deltas.h: deltas of given sizes out of a directory's documents, chosen at
 * random, the same ones for the same seed.
 *
 *     deltas_choose(&d, &documents, percents, n, seed, err);
 *     ... d.base, d.reserve, d.list[i].deleted, d.list[i].inserted ...
 *     deltas_fini(&d);
 *
 * The documents are left as they are; they are only dealt out. Some make the
 * reserve, which is not in the base. A delta of P percent of the base's bytes
 * deletes P/2 percent from the base and inserts P/2 percent out of the
 * reserve. Each delta is drawn by itself and stands for a night of its own;
 * within one no document comes twice. A document that alone is larger than
 * what is wanted is passed over, so that a small delta of large documents is
 * made of the smaller ones - or of none, and is then said to be too small.
 */
#ifndef RUNTIME_DELTAS_H
#define RUNTIME_DELTAS_H

#include "input/batch.h"

enum {
    DELTAS_MAX = 32,         /* sizes: more than a chart can show */
    DELTAS_PERCENT_MAX = 100 /* half of the base deleted, as much inserted */
};

enum delta_kind {
    DELTA_MADE,
    DELTA_TOO_SMALL, /* no documents are that small */
    DELTA_SAME       /* the same documents as the size before */
};

/* Documents by their places in documents->files, rising. */
struct delta_share {
    size_t *files;
    size_t count;
    uint64_t bytes;
};

struct delta {
    enum delta_kind kind;
    double asked;   /* percent */
    double percent; /* of the base's bytes, as it came out */
    struct delta_share deleted;
    struct delta_share inserted;
};

struct deltas {
    struct delta_share base;
    struct delta_share reserve;
    struct delta *list; /* as many as there are percents, in their order */
    size_t count;
};

/* percents rise, above 0 and up to DELTAS_PERCENT_MAX. Fails with DF_INPUT
 * where the documents cannot make any delta at all. */
enum df_status deltas_choose(struct deltas *d, const struct batch *documents,
                             const double *percents, size_t n, uint64_t seed,
                             struct df_error *err) DF_MUST_CHECK;
void deltas_fini(struct deltas *d); /* safe on zeroed memory */

#endif
