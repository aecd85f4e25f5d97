/*
 * clock.h: time that only goes forward, for measuring. Nothing that is
 * stored in a view depends on a clock, but for what the ledger notes.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Microseconds since some moment before the process began. */
static inline int64_t clock_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Microseconds of processor time that the process has used, all its threads
 * together: of a library's caller, also what that does at the same time. */
static inline int64_t clock_cpu_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* When something began, and what it took since: n threads were all at work
 * where cpu_us is n times us. */
struct clock_mark {
    int64_t us;
    int64_t cpu_us;
};

static inline struct clock_mark clock_mark(void)
{
    return (struct clock_mark){ clock_us(), clock_cpu_us() };
}

static inline void clock_since(const struct clock_mark *begun, uint64_t *us,
                               uint64_t *cpu_us)
{
    *us = (uint64_t)(clock_us() - begun->us);
    *cpu_us = (uint64_t)(clock_cpu_us() - begun->cpu_us);
}

#endif
