/*
 * What dedup is made of, piece by piece: instants and durations, the window
 * (by a table and by tests/dedup-vectors), keys,
 * and what options are refused for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/error.h"
#include "jobs/dedup/dedup.h"
#include "jobs/dedup/key.h"
#include "jobs/registry.h"

#ifndef DEDUP_VECTORS
#error "the build says where the vectors are"
#endif

/* ---- instants ---- */

static void iso_instants_are_exact(void **state)
{
    static const struct {
        const char *text;
        int64_t us;
    } good[] = {
        { "1970-01-01T00:00:00Z", 0 },
        { "1970-01-01T01:00:00+01:00", 0 },
        { "1969-12-31T23:59:59.999999Z", -1 },
        { "1970-01-01t00:00:01.5z", 1500000 },
        { "1970-01-01 00:00:01,25-0000", 1250000 },
        { "1970-01-01T00:01Z", 60000000 },
        { "2016-12-31T23:59:60Z", 1483228800000000 },
        { "2000-02-29T12:00:00+05:30", 951805800000000 },
        { "2026-11-29T23:59:59.123456789Z", 1795996799123456 },
        { "1970-01-01T00:00:00.0000019Z", 1 },
        { "1970-01-02T00:00:00+23", 3600000000 },
        { "0001-01-01T00:00:00Z", -62135596800000000 },
        { "9999-12-31T23:59:59Z", 253402300799000000 },
    };
    int64_t us;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (!instant_read(INSTANT_ISO, bytes_of_string(good[i].text), &us) ||
            us != good[i].us) {
            fail_msg("%s: %lld", good[i].text, (long long)us);
        }
    }
}

static void what_is_no_instant_is_not_guessed(void **state)
{
    static const char *const bad[] = {
        "",
        "2026-11-29",
        "2026-11-29T23:59:59", /* whose time? */
        "2026-11-29T23:59:59 Z",
        "2026-11-29T23:59:59+1",
        "2026-11-29T23:59:59+01:",
        "2026-11-29T23:59:59+24:00",
        "2026-11-29T24:00:00Z",
        "2026-11-29T23:60:00Z",
        "2026-11-29T23:59:61Z",
        "2026-11-29T23:59:59.Z",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-1-01T00:00:00Z",
        "20261129T235959Z",
        "0000-01-01T00:00:00Z",
        "2026-11-29T23:59:59Zx",
        " 2026-11-29T23:59:59Z",
        "1764460799",
    };
    static const char *const bad_integers[] = {
        "",
        "-",
        "+",
        "1.0",
        "1e3",
        " 1",
        "1 ",
        "0x1",
        "1_000",
        "1152921504606846977",
        "99999999999999999999999999",
    };
    int64_t t;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (instant_read(INSTANT_ISO, bytes_of_string(bad[i]), &t)) {
            fail_msg("'%s' was read", bad[i]);
        }
    }
    for (size_t i = 0; i < sizeof bad_integers / sizeof bad_integers[0]; i++) {
        if (instant_read(INSTANT_SECONDS, bytes_of_string(bad_integers[i]),
                         &t)) {
            fail_msg("'%s' was read", bad_integers[i]);
        }
    }
    assert_true(instant_read(INSTANT_SECONDS,
                             bytes_of_string("-1152921504606846976"), &t));
    assert_int_equal(t, -INSTANT_MAX);
}

static void numbers_are_instants_by_their_value(void **state)
{
    static const struct {
        const char *literal;
        int64_t instant;
    } good[] = {
        { "100", 100 },
        { "100.0", 100 },
        { "1e2", 100 },
        { "1.5e1", 15 },
        { "-1.50E+1", -15 },
        { "1000e-1", 100 },
        { "0.1e1", 1 },
        { "0.001e3", 1 },
        { "-0", 0 },
        { "0.00", 0 },
        { "0e999999999999999999", 0 },
        { "1152921504606846976", INSTANT_MAX },
        { "1152921504606846976.000", INSTANT_MAX },
        { "11529215046068469760e-1", INSTANT_MAX },
        { "-1.152921504606846976e18", -INSTANT_MAX },
    };
    static const char *const bad[] = {
        "1.5",
        "15e-1",
        "1e-1",
        "1e19",
        "9e18",
        "1152921504606846977",
        "1.152921504606846977e18",
        "1e999999999999999999",
        "9999999999999999999.0",
        "x",
    };
    int64_t t;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (!instant_read_number(bytes_of_string(good[i].literal), &t) ||
            t != good[i].instant) {
            fail_msg("%s: %lld", good[i].literal, (long long)t);
        }
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (instant_read_number(bytes_of_string(bad[i]), &t)) {
            fail_msg("'%s' was read", bad[i]);
        }
    }
}

static void instants_come_back_from_text(void **state)
{
    uint64_t random = 7;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        char room[INSTANT_TEXT];
        int64_t t;
        int64_t back;

        random = random * 6364136223846793005u + 1442695040888963407u;
        /* The years 1 to 9999. */
        t = (int64_t)((random >> 8) % 315537897599000000u) - 62135596800000000;
        assert_true(instant_read(
            INSTANT_ISO, bytes_of_string(instant_text(room, INSTANT_ISO, t)),
            &back));
        assert_int_equal(back, t);
        assert_true(instant_read(
            INSTANT_SECONDS,
            bytes_of_string(instant_text(room, INSTANT_SECONDS, t)), &back));
        assert_int_equal(back, t);
    }
}

static void durations_are_whole_or_refused(void **state)
{
    static const struct {
        enum instant_unit unit;
        const char *text;
        int64_t stretch; /* -1: refused */
    } cases[] = {
        { INSTANT_SECONDS, "10", 10 },
        { INSTANT_SECONDS, "1m", 60 },
        { INSTANT_SECONDS, "2h", 7200 },
        { INSTANT_SECONDS, "1d", 86400 },
        { INSTANT_SECONDS, "1w", 604800 },
        { INSTANT_SECONDS, "2000ms", 2 },
        { INSTANT_SECONDS, "1500ms", -1 },
        { INSTANT_MILLISECONDS, "1500us", -1 },
        { INSTANT_MILLISECONDS, "1s", 1000 },
        { INSTANT_MICROSECONDS, "7us", 7 },
        { INSTANT_ISO, "1s", 1000000 },
        { INSTANT_ISO, "5", 5 },
        { INSTANT_SECONDS, "0", 0 },
        { INSTANT_SECONDS, "", -1 },
        { INSTANT_SECONDS, "s", -1 },
        { INSTANT_SECONDS, "-1", -1 },
        { INSTANT_SECONDS, "1 d", -1 },
        { INSTANT_SECONDS, "1y", -1 },
        { INSTANT_SECONDS, "1D", -1 },
        { INSTANT_SECONDS, "1152921504606846976w", -1 },
        { INSTANT_SECONDS, "1152921504606846977", -1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t stretch = -2;
        const char *why =
            instant_read_stretch(cases[i].unit, cases[i].text, &stretch);

        if ((why == NULL) != (cases[i].stretch >= 0) ||
            (why == NULL && stretch != cases[i].stretch)) {
            fail_msg("'%s': %s", cases[i].text, why == NULL ? "taken" : why);
        }
    }
}

/* ---- the window ---- */

static void the_table_of_the_design_holds(void **state)
{
    static const int64_t times[] = { 10, 20, 25, 40, 21, 35, 45, 57 };
    static const int64_t points[] = { 1, 11, 16, 31, 31, 31, 36, 48 };
    const struct span_grid g = { .period = 10, .span = 1 };
    struct df_clock clock = { 0 };

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        enum df_tick tick = span_grid_tick(&g, &clock, times[i]);

        assert_int_equal(tick, i == 4 ? DF_TICK_EXPIRED : DF_TICK_LIVE);
        assert_int_equal(clock.start, points[i]);
    }
}

static void a_span_that_does_not_divide_the_period(void **state)
{
    static const struct {
        int64_t time;
        int64_t start;
        int64_t end;
        enum df_tick tick;
    } steps[] = {
        { 10, 0, 12, DF_TICK_LIVE },   { 12, 4, 16, DF_TICK_LIVE },
        { 3, 4, 16, DF_TICK_EXPIRED }, { 4, 4, 16, DF_TICK_LIVE },
        { 40, 32, 44, DF_TICK_LIVE },
    };
    const struct span_grid g = { .period = 10, .span = 4 };
    struct df_clock clock = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        assert_int_equal(span_grid_tick(&g, &clock, steps[i].time),
                         steps[i].tick);
        assert_int_equal(clock.start, steps[i].start);
        assert_int_equal(clock.end, steps[i].end);
    }
}

static void the_far_ends_of_time_do_not_overflow(void **state)
{
    const struct span_grid g = { .period = INSTANT_MAX, .span = 7 };
    struct df_clock clock = { 0 };

    (void)state;
    assert_int_equal(span_grid_tick(&g, &clock, -INSTANT_MAX), DF_TICK_LIVE);
    assert_int_equal(span_grid_tick(&g, &clock, INSTANT_MAX), DF_TICK_LIVE);
    assert_true(clock.start < INSTANT_MAX && clock.end > INSTANT_MAX);
    assert_int_equal(span_grid_tick(&g, &clock, -INSTANT_MAX),
                     DF_TICK_EXPIRED);
}

static void what_is_too_far_ahead_moves_nothing(void **state)
{
    const struct span_grid g = {
        .period = 10, .span = 1, .has_max_ahead = true, .max_ahead = 5
    };
    struct df_clock clock = { 0 };
    struct df_clock before;

    (void)state;
    assert_int_equal(span_grid_tick(&g, &clock, 1000), DF_TICK_LIVE);
    before = clock;
    assert_int_equal(span_grid_tick(&g, &clock, 1006), DF_TICK_FUTURE);
    assert_memory_equal(&before, &clock, sizeof clock);
    assert_int_equal(span_grid_tick(&g, &clock, 1005), DF_TICK_LIVE);
    assert_int_equal(span_grid_tick(&g, &clock, 1010), DF_TICK_LIVE);
}

/* ---- vectors ---- */

/* A column of a tab-separated line. */
static void cell(const char *line, unsigned column, char out[64])
{
    for (; column > 0; column--) {
        line = strchr(line, '\t');
        assert_non_null(line);
        line++;
    }
    (void)snprintf(out, 64, "%.*s", (int)strcspn(line, "\t\n"), line);
}

static int64_t number(const char *line, unsigned column)
{
    char text[64];

    cell(line, column, text);
    return strtoll(text, NULL, 10);
}

/* Keys that are known, of one span each. */
struct known {
    char key[64];
    int64_t span;
    struct df_state state;
};

static struct df_state *find(struct known *known, size_t *n, const char *key,
                             int64_t span)
{
    for (size_t i = 0; i < *n; i++) {
        if (strcmp(known[i].key, key) == 0 && known[i].span == span) {
            return &known[i].state;
        }
    }
    memset(&known[*n], 0, sizeof known[*n]);
    (void)snprintf(known[*n].key, sizeof known[*n].key, "%s", key);
    known[*n].span = span;
    return &known[(*n)++].state;
}

/* Columns: id, window, key, time_ms, immediate, pending, expiry_point. */
static void follow(FILE *f, const struct span_grid *g)
{
    static struct known known[2000];
    const struct dedup_config config = { .is_timed = true,
                                         .is_by_span = true };
    struct df_clock clock = { 0 };
    char line[256];
    size_t n = 0;
    unsigned rows = 0;

    span_grid_begin(g, &clock);
    while (fgets(line, sizeof line, f) != NULL) {
        char key[64];
        char expected[64];
        int64_t time = number(line, 3);
        const char *found = "E";

        cell(line, 2, key);
        cell(line, 4, expected);
        if (span_grid_tick(g, &clock, time) == DF_TICK_LIVE) {
            struct df_state *s =
                find(known, &n, key, span_grid_span_of(g, &clock, time));

            found =
                dedup_step(&config, s, &clock, 1, time) == DF_OUTCOME_UNIQUE
                    ? "U"
                    : "D";
        }
        if (strcmp(found, expected) != 0 || clock.start != number(line, 6)) {
            fail_msg("%s: found %s, point %lld", line, found,
                     (long long)clock.start);
        }
        rows++;
    }
    assert_true(rows > 0);
}

static void vectors_hold(void **state)
{
    static const char *const names[] = {
        "d3_boundary_edges",
        "d4_before_any_tuple",
        "d8_span_does_not_divide_period",
        "t1_timebased_basic",
        "t2_timebased_same_key_later_bucket",
        "t4_ordering",
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct span_grid g = { .has_reference = true };
        char path[512];
        char line[256];
        FILE *f;

        (void)snprintf(path, sizeof path, "%s/%s.tsv", DEDUP_VECTORS,
                       names[i]);
        f = fopen(path, "r");
        assert_non_null(f);
        while (fgets(line, sizeof line, f) != NULL && line[0] == '#') {
            long long v;

            if (sscanf(line, "# expire_before_s: %lld", &v) == 1) {
                g.period = v * 1000;
            } else if (sscanf(line, "# bucket_span_s: %lld", &v) == 1) {
                g.span = v * 1000;
            } else if (sscanf(line, "# reference_instant_s: %lld", &v) == 1) {
                g.reference = v * 1000;
            }
        }
        assert_true(g.period > 0 && g.span > 0);
        follow(f, &g);
        (void)fclose(f);
    }
}

/* Columns: span, buckets, row, time, latest, doc point, code point, doc,
 * code; a fresh start with row 1. */
static void points_for_every_span_hold(void **state)
{
    FILE *f = fopen(DEDUP_VECTORS "/d1_doc_table_by_span.tsv", "r");
    struct span_grid g = { .period = 10, .has_reference = true };
    struct df_clock clock = { 0 };
    char line[256];
    unsigned rows = 0;

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL) {
        char expected[64];
        enum df_tick tick;

        if (line[0] < '0' || line[0] > '9') {
            continue;
        }
        if (number(line, 2) == 1) {
            clock = (struct df_clock){ 0 };
            g.span = number(line, 0);
            span_grid_begin(&g, &clock);
        }
        cell(line, 8, expected);
        tick = span_grid_tick(&g, &clock, number(line, 3));
        assert_int_equal(tick == DF_TICK_EXPIRED, strcmp(expected, "E") == 0);
        assert_int_equal(clock.start, number(line, 6));
        rows++;
    }
    (void)fclose(f);
    assert_true(rows > 40);
}

/* Columns: set, expire, span, buckets, step, time, bucket, start, end. */
static void the_assigner_holds(void **state)
{
    FILE *f = fopen(DEDUP_VECTORS "/t6_assigner.tsv", "r");
    struct span_grid g = { .has_reference = true };
    struct df_clock clock = { 0 };
    char line[256];
    unsigned rows = 0;

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL) {
        enum df_tick tick;

        if (line[0] == '#' || strncmp(line, "set\t", 4) == 0) {
            continue;
        }
        if (number(line, 4) == 0) {
            clock = (struct df_clock){ 0 };
            g.period = number(line, 1);
            g.span = number(line, 2);
            span_grid_begin(&g, &clock);
        }
        tick = span_grid_tick(&g, &clock, number(line, 5));
        assert_int_equal(tick == DF_TICK_EXPIRED, number(line, 6) == -1);
        assert_int_equal(clock.start, number(line, 7));
        assert_int_equal(clock.end, number(line, 8));
        if (tick == DF_TICK_LIVE) {
            assert_int_equal((span_grid_span_of(&g, &clock, number(line, 5)) -
                              clock.origin) /
                                 g.span,
                             number(line, 6));
        }
        rows++;
    }
    (void)fclose(f);
    assert_true(rows > 10);
}

/* ---- keys ---- */

static struct df_field field(enum df_kind kind, const char *text)
{
    return (struct df_field){ .kind = kind,
                              .data = (const uint8_t *)text,
                              .len = strlen(text) };
}

/* Whether two keys of n fields are one. */
static bool same(const struct df_field *a, const struct df_field *b, size_t n)
{
    struct buf x = { 0 };
    struct buf y = { 0 };
    bool equal;

    assert_int_equal(key_append(&x, a, n, false), KEY_OK);
    assert_int_equal(key_append(&y, b, n, false), KEY_OK);
    equal = bytes_equal(buf_bytes(&x), buf_bytes(&y));
    buf_fini(&x);
    buf_fini(&y);
    return equal;
}

static void keys_are_the_same_when_they_mean_the_same(void **state)
{
    static const char *const ones[] = { "1", "1.0", "1e0", "10e-1", "0.1E1" };
    struct df_field one = field(DF_NUMBER, "1");
    struct df_field big = field(DF_NUMBER, "9007199254740992");
    struct df_field bigger = field(DF_NUMBER, "9007199254740993");
    struct df_field zero = field(DF_NUMBER, "0");
    struct df_field minus = field(DF_NUMBER, "-0");
    struct df_field text = field(DF_TEXT, "1");
    struct df_field yes = field(DF_TRUE, "true");
    struct df_field yes_text = field(DF_TEXT, "true");

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct df_field other = field(DF_NUMBER, ones[i]);

        assert_true(same(&one, &other, 1));
    }
    assert_false(same(&big, &bigger, 1));
    assert_true(same(&zero, &minus, 1));
    assert_false(same(&one, &text, 1));
    assert_false(same(&yes, &yes_text, 1));
}

static void compound_keys_are_not_joined(void **state)
{
    struct df_field a[2] = { field(DF_TEXT, "a"), field(DF_TEXT, "bc") };
    struct df_field b[2] = { field(DF_TEXT, "ab"), field(DF_TEXT, "c") };
    struct df_field c[2] = { field(DF_TEXT, ""), field(DF_TEXT, "abc") };
    struct df_field d[2] = { field(DF_TEXT, "abc"), field(DF_TEXT, "") };

    (void)state;
    assert_false(same(a, b, 2));
    assert_false(same(c, d, 2));
    assert_true(same(a, a, 2));
}

static void keys_come_apart_again(void **state)
{
    char *long_text = malloc(1001);
    struct df_field fields[3];
    struct buf key = { 0 };
    struct bytes rest;
    struct key_part part;

    (void)state;
    assert_non_null(long_text);
    memset(long_text, 'x', 1000);
    long_text[1000] = '\0';
    fields[0] = field(DF_TEXT, long_text);
    fields[1] = field(DF_NUMBER, "150e-1");
    fields[2] = field(DF_NESTED, "[1]");
    assert_int_equal(key_append(&key, fields, 3, false), KEY_OK);
    rest = buf_bytes(&key);
    assert_true(key_next(&rest, false, &part));
    assert_int_equal(part.kind, 't');
    assert_int_equal(part.value.len, 1000);
    assert_true(key_next(&rest, false, &part));
    assert_int_equal(part.kind, 'n');
    assert_true(bytes_equal(part.value, bytes_of_string("15")));
    assert_true(key_next(&rest, false, &part));
    assert_int_equal(part.kind, 'j');
    assert_int_equal(rest.len, 0);
    assert_false(key_next(&rest, false, &part));
    for (size_t cut = 1; cut < key.len; cut += 97) {
        bool ok = true;

        rest = bytes_of(key.data, cut);
        while (ok && rest.len > 0) {
            ok = key_next(&rest, false, &part);
        }
        (void)ok; /* it must not read beyond; the sanitizer looks */
    }
    buf_fini(&key);
    free(long_text);
}

/* A text of len bytes, and behind it n - 1 more of one each. */
static enum key_result append_long(const char *text, size_t len, size_t n)
{
    struct df_field fields[DF_COLUMNS_MAX];
    struct buf key = { 0 };
    enum key_result result;

    for (size_t i = 0; i < n; i++) {
        fields[i] = field(DF_TEXT, "x");
    }
    fields[0] = (struct df_field){ .kind = DF_TEXT,
                                   .data = (const uint8_t *)text,
                                   .len = len };
    result = key_append(&key, fields, n, false);
    assert_true(result != KEY_OK || key.len <= DF_FOLD_KEY_MAX);
    buf_fini(&key);
    return result;
}

/* The limit is on what the user wrote, not on how it is kept. */
static void the_longest_key_has_a_limit(void **state)
{
    static const size_t columns[] = { 1, 2, DF_COLUMNS_MAX };
    char *text = malloc(DF_KEY_MAX + 1);

    (void)state;
    assert_non_null(text);
    memset(text, 'k', DF_KEY_MAX + 1);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        size_t most = DF_KEY_MAX - (columns[i] - 1);

        assert_int_equal(append_long(text, most, columns[i]), KEY_OK);
        assert_int_equal(append_long(text, most + 1, columns[i]),
                         KEY_TOO_LONG);
    }
    free(text);
}

/* ---- options ---- */

static void bad_options_are_refused_with_their_reason(void **state)
{
    static const struct {
        const char *given[6];
        const char *part; /* of the message; NULL: taken */
    } cases[] = {
        { { "key=id" }, NULL },
        { { NULL }, NULL },
        { { "key=id", "buckets=64" }, NULL },
        { { "key=a,b", "time=ts", "expire=1d", "span=1h" }, NULL },
        { { "key=\"a,b\",c" }, NULL },
        { { "key=a b,c:d,*" }, NULL }, /* mean nothing but themselves */
        { { "key=a", "key=b" }, NULL },
        { { "key=id", "time=ts" }, "without expire=" },
        { { "key=id", "unit=s" }, "means nothing without time=" },
        { { "key=id", "expire=1d" }, "means nothing without time=" },
        { { "key=id", "span=1d" }, "means nothing without time=" },
        { { "key=id", "reference=0" }, "means nothing without time=" },
        { { "key=id", "identity=bucket" }, "means nothing without time=" },
        { { "key=id", "max_ahead=1d" }, "means nothing without time=" },
        { { "time=ts", "expire=0" }, "expire='0': must be longer" },
        { { "time=ts", "expire=10", "span=0" }, "span='0': must be longer" },
        { { "time=ts", "expire=10", "span=11" }, "longer than expire=" },
        { { "time=ts", "expire=10", "span=10" }, NULL },
        { { "time=ts", "expire=1500ms" }, "not whole in the unit" },
        { { "time=ts", "expire=ten" }, "is no duration" },
        { { "time=ts", "expire=10", "unit=min" }, "must be s, ms, us or iso" },
        { { "time=ts", "expire=10", "identity=x" }, "period or bucket" },
        { { "time=ts", "expire=10", "reference=now" }, "is no instant" },
        { { "time=ts", "expire=10", "unit=iso", "reference=2026-11-29" },
          "is no instant" },
        { { "time=ts", "expire=10", "max_ahead=x" }, "max_ahead='x'" },
        { { "key=id", "buckets=0" }, "must be a number from 1" },
        { { "key=id", "buckets=x" }, "must be a number from 1" },
        { { "key=a,,b" }, "does not begin with a column" },
        { { "key=a," }, "does not begin with a column" },
        { { "key=\"a" }, "has no closing quote" },
        { { "key=a,a" }, "names a column twice" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct jobspec spec;
        struct df_error err = { { 0 } };
        size_t n = 0;
        enum df_status status;

        while (n < 6 && cases[i].given[n] != NULL) {
            n++;
        }
        status = jobspec_open(&spec, &dedup_job, cases[i].given, n, &err);
        if (cases[i].part == NULL) {
            if (status != DF_OK) {
                fail_msg("case %zu: %s", i, err.text);
            }
            jobspec_close(&spec);
        } else if (status != DF_USAGE ||
                   strstr(err.text, cases[i].part) == NULL) {
            fail_msg("case %zu: '%s' instead of '%s'", i, err.text,
                     cases[i].part);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iso_instants_are_exact),
        cmocka_unit_test(what_is_no_instant_is_not_guessed),
        cmocka_unit_test(numbers_are_instants_by_their_value),
        cmocka_unit_test(instants_come_back_from_text),
        cmocka_unit_test(durations_are_whole_or_refused),
        cmocka_unit_test(the_table_of_the_design_holds),
        cmocka_unit_test(a_span_that_does_not_divide_the_period),
        cmocka_unit_test(the_far_ends_of_time_do_not_overflow),
        cmocka_unit_test(what_is_too_far_ahead_moves_nothing),
        cmocka_unit_test(vectors_hold),
        cmocka_unit_test(points_for_every_span_hold),
        cmocka_unit_test(the_assigner_holds),
        cmocka_unit_test(keys_are_the_same_when_they_mean_the_same),
        cmocka_unit_test(compound_keys_are_not_joined),
        cmocka_unit_test(keys_come_apart_again),
        cmocka_unit_test(the_longest_key_has_a_limit),
        cmocka_unit_test(bad_options_are_refused_with_their_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
