/*
 * events.h: what the records of a fold job amount to, dealt out by key.
 *
 * An event is a key, a time and the place of its record. Workers write events
 * into parts, by the hash of the key; each part is then read by one thread,
 * in arrival order. So records are grouped by key without
 * being sorted.
 *
 *     events_open(&e, &plan, err);                  per worker
 *       events_add(e, part, &event, err) ...        units in ascending order
 *     events_reader_open(&r, workers, n, part, err);
 *       events_reader_next(r, &event, err) ...      key NULL: the end
 *     events_reader_close(r);                       takes NULL
 *     events_close(e);                              takes NULL
 *
 * Arrival order comes for free: a worker takes units in ascending order and
 * a unit is one worker's, so merging the workers' streams of a part by unit
 * is all there is to do. Example, two workers, one part:
 *
 *     worker 0   unit 0: a b    unit 3: a          read: a b | c | b | a
 *     worker 1   unit 1: c      unit 2: b
 *
 * Memory is bounded: chunks are cut from large pieces, and where a worker's
 * pieces would take more than its share, all chunks are written to a file
 * without a name and the pieces are cut anew.
 */
#ifndef RUNTIME_EVENTS_H
#define RUNTIME_EVENTS_H

#include "base/buf.h"
#include "base/error.h"

/* Records of one unit. A unit that is no part of a plain file, but a whole
 * compressed one, can be of any length; this is 4 GiB of outcomes. */
#define EVENTS_INDEX_MAX UINT32_MAX
/* What is not a record: a key that is to be looked at. After all units. */
#define EVENTS_UNIT_TOUCH UINT32_C(0x7fffffff)

struct event {
    struct bytes key; /* DF_SLACK bytes behind it are readable */
    uint32_t tag;     /* low half of the hash of the key (fold_rows_hash) */
    uint32_t unit;
    uint32_t index; /* of the record in the unit */
    bool is_deleted;
    int64_t time;
};

struct events_plan {
    unsigned parts;
    size_t memory; /* bytes for chunks; at least EVENTS_MEMORY_MIN are taken */
    const char *spill_directory;
};
enum { EVENTS_MEMORY_MIN = 1 << 20 };

struct events;
enum df_status events_open(struct events **out, const struct events_plan *plan,
                           struct df_error *err) DF_MUST_CHECK;
void events_close(struct events *e);

enum df_status events_add(struct events *e, unsigned part,
                          const struct event *event,
                          struct df_error *err) DF_MUST_CHECK;

/* Events of a part, and bytes of their keys. */
struct events_size {
    uint64_t events;
    uint64_t key_bytes;
};
struct events_size events_size(const struct events *e, unsigned part);

/* No events may be added while there is a reader. */
struct events_reader;
enum df_status events_reader_open(struct events_reader **out,
                                  struct events *const *workers, unsigned n,
                                  unsigned part,
                                  struct df_error *err) DF_MUST_CHECK;
enum df_status events_reader_next(struct events_reader *r, struct event *event,
                                  struct df_error *err) DF_MUST_CHECK;
/* Whether the keys that are given out stay until the reader is closed: nothing
 * of the part was spilled. Else each stays until the next call. */
bool events_reader_keeps_keys(const struct events_reader *r);
void events_reader_close(struct events_reader *r);

#endif
