/*
 * instant.h: points and stretches of time, from text, exactly.
 *
 * An instant is a number of units since 1970-01-01T00:00:00Z. With the unit
 * `iso` it is written in ISO 8601 with its offset from UTC and counted in
 * microseconds; with the others it is an integer. Nothing is guessed: no
 * local time, no date alone, no rounding of what does not fit, no clock.
 */
#ifndef JOBS_DEDUP_INSTANT_H
#define JOBS_DEDUP_INSTANT_H

#include "base/bytes.h"
#include "deltafold/job.h"

enum instant_unit {
    INSTANT_SECONDS,
    INSTANT_MILLISECONDS,
    INSTANT_MICROSECONDS,
    INSTANT_ISO
};

/* Instants lie between -INSTANT_MAX and INSTANT_MAX, so that sums and
 * differences of a few of them fit 64 bits. In microseconds that is
 * some 36,000 years to either side. */
#define INSTANT_MAX ((int64_t)1 << 60)

/* The unit of that name (s, ms, us, iso); false when there is none. */
bool instant_unit_of(const char *name, enum instant_unit *unit);

/*
 * Reads the whole text. Integers: an optional sign and digits. ISO 8601:
 *
 *     2026-11-29T23:59:59Z   2026-11-29 23:59:59.25+01:00   20261129T2359Z is
 *     not read: the extended form alone, with seconds or without
 *
 * A fraction (behind a dot or comma) may have any number of digits; those
 * beyond the microsecond are cut off, towards the past. Second 60 is the
 * first of the next minute. False for anything else, and beyond INSTANT_MAX.
 */
bool instant_read(enum instant_unit unit, struct bytes text, int64_t *instant);

/* Reads a number of JSON, in a unit that is not `iso`, by its value: 100,
 * 100.0 and 1e2 are one instant, 1.5 is none. */
bool instant_read_number(struct bytes literal, int64_t *instant);

/* As instant_read takes it; ISO in UTC. */
enum { INSTANT_TEXT = DF_TIME_TEXT };
const char *instant_text(char out[INSTANT_TEXT], enum instant_unit unit,
                         int64_t instant);

/*
 * A stretch: an integer, in the unit (iso: in microseconds), or with one of
 * the suffixes us ms s m h d w, where it must be whole in the unit. Returns
 * NULL, or what is wrong, static.
 */
const char *instant_read_stretch(enum instant_unit unit, const char *text,
                                 int64_t *stretch);

#endif
