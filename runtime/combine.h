/*
 * combine.h: one worker's pairs, summed in a hash table.
 *
 * The table lives inside a budget. When the next growth would leave it, the
 * table is sorted and spilled, one segment per partition, into a file that
 * has no name (it is gone when the process is), and filling goes on. So any
 * input fits any budget, and a key comes out once per spill, not once per
 * occurrence.
 *
 *     combine_open(&c, &plan, err);
 *     combine_sign(c, -1 or +1);            before the pieces of a document
 *     job->map(mapper, piece, combine_emitter(c)) ...;
 *     combine_status(c, err)                the emitter's failure, with text
 *     combine_settle(c);                    only needed before giving
 *     combine_give(c, other, share, shares) ...
 *     combine_finish(c, err);               sorts, or spills the rest
 *     ... reduce reads it ...
 *     combine_close(c);                     takes NULL
 *
 * One thread fills a combine; after combine_finish any number may read. To
 * give, all have settled before the first one does, and all have given before
 * the first is finished.
 */
#ifndef RUNTIME_COMBINE_H
#define RUNTIME_COMBINE_H

#include "state/run.h"

struct combine_plan {
    struct row_shape shape;
    unsigned parts; /* partitions: the shards of the view */
    size_t memory;  /* bytes this worker may use, tables and buffers */
    const char *spill_directory; /* where unnamed spill files are made */
    uint64_t sample; /* keep keys with hash % sample == 0; 1 keeps all */
    size_t key_max;  /* the longest key; 0 stands for DF_KEY_MAX */
};

struct combine;

enum df_status combine_open(struct combine **c,
                            const struct combine_plan *plan,
                            struct df_error *err) DF_MUST_CHECK;
void combine_close(struct combine *c);

/* The sign that the values of the following pairs are multiplied with. */
void combine_sign(struct combine *c, int sign);

/* What map writes to; valid as long as c. */
struct df_emitter *combine_emitter(struct combine *c);

/* DF_OK, or the sticky failure and its text. */
enum df_status combine_status(const struct combine *c,
                              struct df_error *err) DF_MUST_CHECK;

/*
 * Rows that are in head order already, no head twice in a partition: they
 * are written as a spill of their own, past the table.
 *     combine_sorted_begin(c, err)
 *       combine_sorted_part(c, part, err) ...     each once, in any order
 *         combine_sorted_add(c, row, err) ...
 *     combine_sorted_end(c, err)
 * Nothing else may be done with c in between. After a failure c can only be
 * closed.
 */
enum df_status combine_sorted_begin(struct combine *c,
                                    struct df_error *err) DF_MUST_CHECK;
enum df_status combine_sorted_part(struct combine *c, unsigned part,
                                   struct df_error *err) DF_MUST_CHECK;
enum df_status combine_sorted_add(struct combine *c, const struct row *row,
                                  struct df_error *err) DF_MUST_CHECK;
enum df_status combine_sorted_end(struct combine *c,
                                  struct df_error *err) DF_MUST_CHECK;

/* All pairs have come: moves what was counted elsewhere to the table. */
void combine_settle(struct combine *c);

/* Moves what a settled combine has of keys that another of the same plan has,
 * too: so fewer rows are sorted, and merged. Of all keys that is one share of
 * `shares`; at the same time other threads may give other shares, also from
 * and to these two. Where one of them has spilled or failed, nothing is
 * given. */
void combine_give(struct combine *from, struct combine *to, unsigned share,
                  unsigned shares);

enum df_status combine_finish(struct combine *c,
                              struct df_error *err) DF_MUST_CHECK;

/* What happened, for the log; valid after combine_finish. */
struct combine_stats {
    uint64_t pairs;  /* emitted, before summing */
    uint64_t spills; /* times the table was written out */
    uint64_t spill_bytes;
};
struct combine_stats combine_stats(const struct combine *c);

#endif
