/*
 * combine_internal.h: a combine, for the four files that are one:
 *
 *     combine.c         its memory: opening, spilling, finishing
 *     combine_add.c     its work: pairs into the table
 *     combine_keys.c    the same for keys that count one each, at speed
 *     combine_give.c    rows of one into the table of another
 */
#ifndef RUNTIME_COMBINE_INTERNAL_H
#define RUNTIME_COMBINE_INTERNAL_H

#include "runtime/combine_parts.h"
#include "runtime/hot.h"

enum {
    /* Pairs hashed ahead of their look-up: enough to hide a miss in memory,
     * few enough to stay in the first cache. */
    COMBINE_BATCH = 128,
    COMBINE_COLD = 256 /* the same for cold keys */
};

/* One way to count keys, by what the processor can. */
struct combine_path {
    const char *name;
    void (*count)(struct combine *c, const struct df_key *keys, size_t n);
};

struct combine {
    struct df_emitter emitter; /* first: what map writes to */
    struct combine_plan plan;
    char *spill_directory; /* the plan's, copied */
    int64_t sign;
    const struct combine_path *path;
    struct hot hot; /* opened by the first list of keys */
    struct table table;
    struct buf stored; /* a stored key in the making, with slack behind */
    size_t longest;    /* stored key so far */
    int fd;            /* of the spill file; -1 before the first spill */
    uint64_t file_end;
    struct combine_segment *segments; /* by spill, then part */
    size_t segment_room;              /* segments allocated */
    struct combine_stats stats;
    size_t *begin;             /* per part and one more: its sorted entries */
    uint64_t *part_bytes;      /* per part: bytes of those */
    struct run_writer *sorted; /* between combine_sorted_part and _end */
    struct combine_segment *sorted_segments; /* of all parts, meanwhile */
    unsigned sorted_part;
    bool is_sorted;        /* begin and part_bytes say something */
    struct df_error error; /* goes with emitter.status */
    struct table_key batch[COMBINE_BATCH];
    struct hot_count cold[COMBINE_COLD]; /* on their way to the table */
    size_t cold_count;
    bool cold_borrows; /* some lie in the list of keys that is at work */
    int64_t negated[DF_COMPONENTS_MAX]; /* a pair's values, deleted */
};

/* combine_add.c */

void combine_add_init(struct combine *c);
/* Any pair, at its own pace. What fails, here and below, the emitter's status
 * says. */
void combine_add_pair(struct combine *c, struct bytes key,
                      struct bytes element, const int64_t *values);
/* Adds to the row of a stored key, whose row key is `key`. */
void combine_add_stored(struct combine *c, const struct table_key *k,
                        struct bytes key, const int64_t *values);
/* Adds values to those of a slot; false, and nothing is added, when a sum
 * would leave its width. */
bool combine_add_values(struct combine *c, struct table_slot *slot,
                        const int64_t *values);
/* Whether a key is its own stored key. Not &&: no branch in loops. The slack
 * allows a look at the first byte of an empty key. */
static inline bool combine_is_plain_key(const uint8_t *data, size_t len)
{
    return (data[0] != 0) & (len != 0) & (len <= ROW_HEAD_EXACT);
}

/* combine_keys.c */

void combine_keys_init(struct combine *c);
/* The i-th path this processor can take, the best first; NULL past the last.
 */
const struct combine_path *combine_path(size_t i);
/* For tests: what combines opened from now on take; NULL: the best. */
void combine_prefer(const struct combine_path *path);

/* combine.c */

/* Makes room for a record of `size` bytes; slots are others after it. */
enum df_status combine_make_room(struct combine *c, size_t size,
                                 struct df_error *err) DF_MUST_CHECK;
/* Writes the table out and empties it. */
enum df_status combine_spill(struct combine *c,
                             struct df_error *err) DF_MUST_CHECK;

#endif
