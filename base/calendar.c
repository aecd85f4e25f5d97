#include "base/calendar.h"

#include <stdbool.h>

enum {
    ERA_YEARS = 400,    /* after which all repeats */
    ERA_DAYS = 146097,  /* of these */
    EPOCH_DAYS = 719468 /* from 0000-03-01 to 1970-01-01 */
};

int64_t calendar_days_in(int64_t year, int64_t month)
{
    static const uint8_t days[] = { 31, 28, 31, 30, 31, 30,
                                    31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % ERA_YEARS == 0;

    return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

/* Years begin in March here, so that the leap day is the last of a year. */
int64_t calendar_day(int64_t year, int64_t month, int64_t day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = calendar_floor_div(y, ERA_YEARS);
    int64_t of_era = y - era * ERA_YEARS;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 +
           of_year - EPOCH_DAYS;
}

void calendar_date(int64_t days, int64_t *year, int64_t *month, int64_t *day)
{
    int64_t shifted = days + EPOCH_DAYS;
    int64_t era = calendar_floor_div(shifted, ERA_DAYS);
    int64_t of_era = shifted - era * ERA_DAYS;
    int64_t y =
        (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * of_year + 2) / 153;

    *day = of_year - (153 * m + 2) / 5 + 1;
    *month = m < 10 ? m + 3 : m - 9;
    *year = y + era * ERA_YEARS + (*month <= 2 ? 1 : 0);
}
