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

#endif
