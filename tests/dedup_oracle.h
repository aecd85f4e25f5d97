/*
 * dedup_oracle.h: deduplication the slow and obvious way: one record after
 * the other, all keys ever seen in one array, the window moved span by span.
 * Shares no code with the job. Its words are those of span_grid.h.
 *
 *     dedup_oracle_open(&o, &rule);
 *       outcome = dedup_oracle_insert(&o, key, time);
 *       outcome = dedup_oracle_delete(&o, key, time);   may be refused
 *     dedup_oracle_end_batch(&o);
 *     dedup_oracle_close(&o);
 */
#ifndef TESTS_DEDUP_ORACLE_H
#define TESTS_DEDUP_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct dedup_rule {
    bool is_timed;
    bool by_bucket;
    int64_t period;
    int64_t span;
    bool has_reference;
    int64_t reference;
    bool has_max_ahead;
    int64_t max_ahead;
};

enum dedup_oracle_outcome {
    ORACLE_UNIQUE,
    ORACLE_DUPLICATE,
    ORACLE_EXPIRED,
    ORACLE_RETRACTED,
    ORACLE_FUTURE,
    ORACLE_REFUSED /* a deletion of what was never there; nothing changed */
};

/* A key that is known, or was. */
struct dedup_known {
    char *key;
    int64_t bucket; /* first instant of its span */
    int64_t time;
    int64_t copies; /* 0: not known any more */
};

struct dedup_oracle {
    struct dedup_rule rule;
    bool has_grid;
    int64_t grid; /* a line of it */
    int64_t start;
    int64_t end;
    bool has_seen;
    int64_t latest;
    int64_t earliest;
    struct dedup_known *known;
    size_t count;
    size_t *index; /* 1 + number of a known key, by its hash; 0: free */
    size_t index_size;
};

void dedup_oracle_open(struct dedup_oracle *o, const struct dedup_rule *rule);
void dedup_oracle_close(struct dedup_oracle *o);
enum dedup_oracle_outcome dedup_oracle_insert(struct dedup_oracle *o,
                                              const char *key, int64_t time);
enum dedup_oracle_outcome dedup_oracle_delete(struct dedup_oracle *o,
                                              const char *key, int64_t time);
size_t dedup_oracle_live(const struct dedup_oracle *o);

/* Digest and number of the rows that a view of one csv key column has. */
struct hash128 dedup_oracle_digest(const struct dedup_oracle *o,
                                   uint64_t *rows);

#endif
