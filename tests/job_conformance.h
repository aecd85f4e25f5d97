/*
 * job_conformance.h: what every job must keep to, checked for any of them.
 *
 *     job_conformance(job, given, n, seed);
 *
 * fails the running cmocka test when, with these options, the job
 *   - emits other pairs for the same document on another mapper, in another
 *     place in memory, or with other bytes behind the piece;
 *   - breaks the contract of cut() (job.h), or emits other pairs for a
 *     document that is cut where cut() allows;
 *   - emits a pair for an empty document, a key or element that is too long
 *     or that may not be read with DF_SLACK behind it;
 *   - counts with counters it does not have.
 * Jobs over records are checked by record_conformance.h instead.
 *
 * The collector is for jobs' own tests as well.
 */
#ifndef TESTS_JOB_CONFORMANCE_H
#define TESTS_JOB_CONFORMANCE_H

#include "base/buf.h"
#include "jobs/registry.h"
#include "state/row.h"

void job_conformance(const struct df_job *job, const char *const *given,
                     size_t n, uint64_t seed);

/* Random numbers that are the same everywhere (splitmix64). */
uint64_t random_next(uint64_t *state);
uint64_t random_below(uint64_t *state, uint64_t end);

/* An emitter that keeps all pairs, in order, and what was refused. */
struct collector {
    struct df_emitter emitter; /* first: the emitter is the collector */
    const struct df_job *job;
    struct row_shape shape; /* the job's; or set by collector_init_spec */
    char refused[1000];     /* why; empty: nothing was */
    struct buf bytes;       /* keys and elements */
    struct collected {
        size_t key; /* offsets in bytes */
        size_t key_len;
        size_t element_len; /* behind the key */
        int64_t values[DF_COMPONENTS_MAX];
        const struct collector *owner;
    } * pairs;
    size_t count;
    size_t capacity;
    size_t lists; /* calls of keys */
};
void collector_init(struct collector *c, const struct df_job *job);
/* The same for a job whose options decide on its shape. */
void collector_init_spec(struct collector *c, const struct jobspec *spec);
void collector_fini(struct collector *c);
void collector_reset(struct collector *c);

struct bytes collector_key(const struct collector *c, size_t i);

/* Sorts by key and element, sums equal ones, drops zeros. */
void collector_sum(struct collector *c);

/* The same pairs in the same order, and the same counters. */
bool collector_equal(const struct collector *a, const struct collector *b);

/* Maps one piece from a copy at an odd place, with noise behind it. */
void map_copy(const struct df_job *job, void *mapper, struct df_piece piece,
              struct df_emitter *emitter, uint64_t *random);

/* Maps a document, cut at random places that cut() allows. */
void map_in_pieces(const struct df_job *job, const void *config,
                   struct bytes document, struct df_emitter *emitter,
                   uint64_t *random);

#endif
