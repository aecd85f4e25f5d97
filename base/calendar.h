/*
 * calendar.h: the Gregorian calendar, also for the days before it was used, as
 * ISO 8601 has it, in days from 1970-01-01.
 */
#ifndef BASE_CALENDAR_H
#define BASE_CALENDAR_H

#include <stdint.h>

/* Days of a month, 1 to 12. */
int64_t calendar_days_in(int64_t year, int64_t month);

/* A date's day, and a day's date. */
int64_t calendar_day(int64_t year, int64_t month, int64_t day);
void calendar_date(int64_t days, int64_t *year, int64_t *month, int64_t *day);

/* a / b, rounded down, not towards 0, as times before 1970 need it; b is above
 * 0. */
static inline int64_t calendar_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}

#endif
