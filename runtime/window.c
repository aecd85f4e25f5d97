#include "runtime/window.h"

#include "base/calendar.h"

enum { DAY = 24 * 60 * 60, DIGITS_MAX = 18 /* of a number in a name */ };

/* ---- numbers and durations ---- */

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Takes decimal digits off the front. */
static bool take_number(struct bytes *text, int64_t *v)
{
    size_t n = 0;

    *v = 0;
    while (n < text->len && is_digit(text->data[n])) {
        if (n == DIGITS_MAX) {
            return false;
        }
        *v = *v * 10 + (text->data[n++] - '0');
    }
    *text = bytes_of(text->data + n, text->len - n);
    return n > 0;
}

static int64_t unit_seconds(struct bytes unit)
{
    static const struct {
        uint8_t letter;
        int64_t seconds;
    } units[] = { { 's', 1 },
                  { 'm', 60 },
                  { 'h', (int64_t)60 * 60 },
                  { 'd', DAY },
                  { 'w', (int64_t)7 * DAY } };

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (unit.len == 1 && unit.data[0] == units[i].letter) {
            return units[i].seconds;
        }
    }
    return 0;
}

/* A number, or a number and a unit: then *timed, and in seconds. */
static bool read_amount(const char *text, int64_t *v, bool *timed)
{
    struct bytes rest = bytes_of_string(text);
    int64_t unit;

    if (!take_number(&rest, v)) {
        return false;
    }
    *timed = rest.len > 0;
    if (!*timed) {
        return true;
    }
    unit = unit_seconds(rest);
    return unit != 0 && !__builtin_mul_overflow(*v, unit, v);
}

/* ---- options ---- */

static bool is_given(const struct jobspec *job, const char *name,
                     const char *initial)
{
    return strcmp(jobspec_common(job, name), initial) != 0;
}

static enum df_status bad(struct df_error *err, const char *name,
                          const char *value, const char *why)
{
    struct shown s;

    return error_set(err, DF_USAGE, "option %s=%s: %s", name,
                     shown(&s, bytes_of_string(value)), why);
}

static enum df_status read_interval(struct window *w,
                                    const struct jobspec *job,
                                    struct df_error *err)
{
    const char *value = jobspec_common(job, "interval");
    bool timed = false;

    if (!is_given(job, "interval", "none")) {
        w->by = WINDOW_BATCHES;
        w->interval = 1;
        return DF_OK;
    }
    if (!read_amount(value, &w->interval, &timed) || w->interval < 1) {
        return bad(err, "interval", value,
                   "is no duration like 1d or 6h, and no number above 0");
    }
    w->by = timed ? WINDOW_TIMES : WINDOW_NUMBERS;
    return DF_OK;
}

/* Window or slide in steps: batches, or whole intervals. */
static enum df_status read_steps(const struct window *w, const char *name,
                                 const char *value, uint64_t *steps,
                                 struct df_error *err)
{
    int64_t amount;
    bool timed = false;

    if (!read_amount(value, &amount, &timed) || amount < 1) {
        return bad(err, name, value,
                   w->by == WINDOW_TIMES ? "is no duration above 0, like 7d"
                                         : "is no number above 0");
    }
    if (timed && w->by != WINDOW_TIMES) {
        return bad(err, name, value,
                   "a duration needs interval=, like interval=1d");
    }
    if (!timed && w->by == WINDOW_TIMES) {
        return bad(err, name, value,
                   "the interval is a duration, so this must be one, like 7d");
    }
    if (amount % w->interval != 0) {
        return bad(err, name, value, "is no whole multiple of interval=");
    }
    *steps = (uint64_t)(amount / w->interval);
    return DF_OK;
}

static enum df_status check_steps(const struct window *w,
                                  const struct jobspec *job,
                                  struct df_error *err)
{
    if (w->size > WINDOW_MAX) {
        return error_set(err, DF_USAGE, "option window=%s: longer than %d %s",
                         jobspec_common(job, "window"), WINDOW_MAX,
                         w->by == WINDOW_BATCHES ? "batches" : "intervals");
    }
    if (w->slide > w->size) {
        return bad(err, "slide", jobspec_common(job, "slide"),
                   "is more than window=: batches would never be seen");
    }
    return DF_OK;
}

static enum df_status no_window(const struct jobspec *job,
                                struct df_error *err)
{
    if (is_given(job, "slide", "1")) {
        return bad(err, "slide", jobspec_common(job, "slide"),
                   "needs window=");
    }
    if (is_given(job, "interval", "none")) {
        return bad(err, "interval", jobspec_common(job, "interval"),
                   "needs window=");
    }
    return DF_OK;
}

enum df_status window_of(struct window *w, const struct jobspec *job,
                         struct df_error *err)
{
    enum df_status status;

    *w = (struct window){ .slide = 1 };
    if (!is_given(job, "window", "none")) {
        return no_window(job, err);
    }
    if (job->job->fold != NULL) {
        return error_set(err, DF_USAGE,
                         "option 'window': what %s holds are no sums that "
                         "batches could be taken out of: use time= and "
                         "expire=",
                         job->job->name);
    }
    status = read_interval(w, job, err);
    if (status == DF_OK) {
        status = read_steps(w, "window", jobspec_common(job, "window"),
                            &w->size, err);
    }
    /* slide=1 is one step of whatever kind. */
    if (status == DF_OK && is_given(job, "slide", "1")) {
        status = read_steps(w, "slide", jobspec_common(job, "slide"),
                            &w->slide, err);
    }
    return status == DF_OK ? check_steps(w, job, err) : status;
}

/* ---- what names tell ---- */

/* The number at the end of a name; *begin is where its digits begin. */
static bool last_number(struct bytes name, size_t *begin, int64_t *v)
{
    struct bytes digits;

    *begin = name.len;
    while (*begin > 0 && is_digit(name.data[*begin - 1])) {
        (*begin)--;
    }
    digits = bytes_of(name.data + *begin, name.len - *begin);
    return take_number(&digits, v);
}

/* `n` digits exactly, off the front. */
static bool take_digits(struct bytes *text, size_t n, int64_t *v)
{
    struct bytes digits = bytes_of(text->data, n);

    if (text->len < n || !take_number(&digits, v) || digits.len > 0) {
        return false;
    }
    *text = bytes_of(text->data + n, text->len - n);
    return true;
}

static bool take_one_of(struct bytes *text, const char *set)
{
    if (text->len == 0 || text->data[0] == 0 ||
        strchr(set, text->data[0]) == NULL) {
        return false;
    }
    *text = bytes_of(text->data + 1, text->len - 1);
    return true;
}

static bool is_date(int64_t year, int64_t month, int64_t day)
{
    return year >= 1 && month >= 1 && month <= 12 && day >= 1 &&
           day <= calendar_days_in(year, month);
}

/* 2026-11-12 or 20261112 at the front. */
static bool take_date(struct bytes *text, int64_t *days)
{
    struct bytes rest = *text;
    int64_t year;
    int64_t month;
    int64_t day;
    bool dashes;

    if (!take_digits(&rest, 4, &year)) {
        return false;
    }
    dashes = take_one_of(&rest, "-");
    if (!take_digits(&rest, 2, &month) || take_one_of(&rest, "-") != dashes ||
        !take_digits(&rest, 2, &day) || !is_date(year, month, day) ||
        (rest.len > 0 && is_digit(rest.data[0]))) {
        return false;
    }
    *days = calendar_day(year, month, day);
    *text = rest;
    return true;
}

/* T05, T0530, T05:30:10 and the like; what is missing is 0. */
static int64_t seconds_of(struct bytes text)
{
    int64_t parts[3] = { 0 };
    static const int64_t limits[3] = { 24, 60, 60 };

    if (!take_one_of(&text, "T_ -.")) {
        return 0;
    }
    for (unsigned i = 0; i < 3; i++) {
        if (i > 0) {
            (void)take_one_of(&text, ":-.h");
        }
        if (!take_digits(&text, 2, &parts[i]) || parts[i] >= limits[i]) {
            parts[i] = 0;
            break;
        }
    }
    return parts[0] * 3600 + parts[1] * 60 + parts[2];
}

/* The first date in a name, and what stands behind it. */
static bool find_date(struct bytes name, int64_t *days, struct bytes *rest)
{
    for (size_t i = 0; i < name.len; i++) {
        *rest = bytes_of(name.data + i, name.len - i);
        if ((i == 0 || !is_digit(name.data[i - 1])) && take_date(rest, days)) {
            return true;
        }
    }
    return false;
}

bool window_position(const struct window *w, struct bytes name,
                     int64_t *position)
{
    struct bytes rest;
    size_t begin;
    int64_t v;

    if (w->by == WINDOW_NUMBERS) {
        if (!last_number(name, &begin, &v)) {
            return false;
        }
    } else {
        if (!find_date(name, &v, &rest)) {
            return false;
        }
        v = v * DAY + (w->interval % DAY != 0 ? seconds_of(rest) : 0);
    }
    *position = calendar_floor_div(v, w->interval);
    return true;
}

/* ---- gaps ---- */

static bool both_dates(struct bytes a, struct bytes b, int64_t *days)
{
    struct bytes rest;
    int64_t first;
    int64_t second;

    if (!find_date(a, &first, &rest) || !find_date(b, &second, &rest)) {
        return false;
    }
    *days = second - first;
    return true;
}

bool window_is_next_day(struct bytes before, struct bytes name)
{
    int64_t days;

    return both_dates(before, name, &days) && days == 1;
}

uint64_t window_gap(struct bytes before, struct bytes name, bool daily)
{
    int64_t first;
    int64_t second;
    int64_t days;
    size_t begin;
    size_t other;

    if (both_dates(before, name, &days)) {
        return daily && days > 1 ? (uint64_t)days - 1 : 0;
    }
    if (!last_number(before, &begin, &first) ||
        !last_number(name, &other, &second) || second <= first + 1 ||
        !bytes_equal(bytes_of(before.data, begin),
                     bytes_of(name.data, other))) {
        return 0;
    }
    return (uint64_t)(second - first - 1);
}
