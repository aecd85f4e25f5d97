/* cli/chart: well-formed whatever the names are, and nothing lies on
 * anything else. */
#include "cli/chart.h"

#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/utf8.h"

enum { DEPTH_MAX = 20, NAME_ROOM = 24, TEXTS_MAX = 200 };

/* A text element, with where it stands. */
struct text {
    double x;
    double y;
    char anchor; /* s, m, e */
    char content[200];
};

/* What a parse of the file found. */
struct parsed {
    const char *p;
    size_t depth;
    char open[DEPTH_MAX][NAME_ROOM];
    struct text texts[TEXTS_MAX];
    size_t text_count;
    size_t circles;
};

/* ---- a parser of the XML that is written here, and of no more ---- */

static void expect(struct parsed *x, const char *wanted)
{
    if (strncmp(x->p, wanted, strlen(wanted)) != 0) {
        fail_msg("'%s' expected at '%.40s'", wanted, x->p);
    }
    x->p += strlen(wanted);
}

/* One of the five references, or a byte that may stand for itself. */
static char parse_character(struct parsed *x)
{
    static const struct {
        const char *name;
        char is;
    } references[] = {
        { "&lt;", '<' }, { "&gt;", '>' }, { "&amp;", '&' }, { "&quot;", '"' }
    };

    for (size_t i = 0; *x->p == '&' && i < 4; i++) {
        if (strncmp(x->p, references[i].name, strlen(references[i].name)) ==
            0) {
            x->p += strlen(references[i].name);
            return references[i].is;
        }
    }
    assert_true(*x->p != '&' && *x->p != '<' && *x->p != '\0');
    assert_true((unsigned char)*x->p >= 0x20 || *x->p == '\n');
    return *x->p++;
}

static void parse_name(struct parsed *x, char name[NAME_ROOM])
{
    size_t n = 0;

    while (isalnum((unsigned char)*x->p) || *x->p == '-') {
        assert_true(n + 1 < NAME_ROOM);
        name[n++] = *x->p++;
    }
    name[n] = '\0';
    assert_true(n > 0);
}

static void parse_attributes(struct parsed *x, struct text *t)
{
    while (*x->p == ' ') {
        char name[NAME_ROOM];
        char value[1000];
        size_t n = 0;

        x->p++;
        parse_name(x, name);
        expect(x, "=\"");
        while (*x->p != '"') {
            assert_true(n + 1 < sizeof value);
            value[n++] = parse_character(x);
        }
        value[n] = '\0';
        x->p++;
        if (strcmp(name, "x") == 0) {
            t->x = atof(value);
        } else if (strcmp(name, "y") == 0) {
            t->y = atof(value);
        } else if (strcmp(name, "text-anchor") == 0) {
            t->anchor = value[0];
        }
    }
}

static void parse_element(struct parsed *x)
{
    struct text t = { .anchor = 's' };
    char name[NAME_ROOM];

    expect(x, "<");
    parse_name(x, name);
    parse_attributes(x, &t);
    x->circles += strcmp(name, "circle") == 0;
    if (strncmp(x->p, "/>", 2) == 0) {
        x->p += 2;
        return;
    }
    expect(x, ">");
    assert_true(x->depth < DEPTH_MAX);
    memcpy(x->open[x->depth++], name, sizeof name);
    for (size_t n = 0; *x->p != '<'; n++) {
        char c = parse_character(x);

        if (n + 1 < sizeof t.content) {
            t.content[n] = c;
        }
    }
    if (strcmp(name, "text") == 0) {
        assert_true(x->text_count < TEXTS_MAX);
        x->texts[x->text_count++] = t;
    }
}

static void parse_end(struct parsed *x)
{
    char name[NAME_ROOM];

    expect(x, "</");
    parse_name(x, name);
    expect(x, ">");
    assert_true(x->depth > 0);
    assert_string_equal(x->open[--x->depth], name);
}

static void parse(struct parsed *x, const char *text)
{
    *x = (struct parsed){ .p = text };
    do {
        if (*x->p == '<' && x->p[1] == '/') {
            parse_end(x);
        } else if (*x->p == '<') {
            parse_element(x);
        } else {
            (void)parse_character(x);
        }
    } while (x->depth > 0);
    assert_string_equal(x->p, "\n");
}

/* ---- charts ---- */

static const struct chart_point low_points[] = {
    { 0.01, 0.006, 0.0055, 0.0062 },
    { 1, 0.02, 0.019, 0.021 },
    { 50, 1.2, 1.1, 1.3 },
};
static const struct chart_point high_points[] = {
    { 0.01, 0.8, 0.79, 0.83 },
    { 1, 0.8, 0.79, 0.83 },
    { 50, 0.81, 0.79, 0.83 },
};

static struct chart plain(const struct chart_line *lines, size_t n)
{
    return (struct chart){ .title = "title",
                           .lines_above = { "one", "two" },
                           .x_title = "size",
                           .y_title = "time",
                           .description = "what it shows",
                           .lines = lines,
                           .line_count = n };
}

/* Draws and parses; everything drawn must be UTF-8. */
static void drawn(struct parsed *x, const struct chart *c, struct buf *out)
{
    buf_reset(out);
    assert_true(chart_svg(c, out));
    assert_true(utf8_is_well_formed(out->data, out->len));
    assert_true(buf_append_byte(out, 0));
    parse(x, (const char *)out->data);
}

static const struct text *find(const struct parsed *x, const char *content)
{
    for (size_t i = 0; i < x->text_count; i++) {
        if (strcmp(x->texts[i].content, content) == 0) {
            return &x->texts[i];
        }
    }
    fail_msg("no text '%s'", content);
    return NULL;
}

static void labels(void **state)
{
    static const char *const wanted[] = { "0.01 %", "0.1 %", "1 %",    "10 %",
                                          "20 %",   "10 ms", "100 ms", "1 s",
                                          "low",    "high" };
    const struct chart_line lines[] = { { "high", 0, high_points, 3 },
                                        { "low", 1, low_points, 3 } };
    struct chart c = plain(lines, 2);
    static struct parsed x;
    struct buf out = { 0 };

    (void)state;
    drawn(&x, &c, &out);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        (void)find(&x, wanted[i]);
    }
    assert_true(find(&x, "0.1 %")->x - find(&x, "0.01 %")->x > 100);
    assert_true(fabs(find(&x, "1 %")->x - find(&x, "0.1 %")->x -
                     (find(&x, "10 %")->x - find(&x, "1 %")->x)) < 0.5);
    assert_true(find(&x, "100 ms")->y > find(&x, "1 s")->y);
    assert_true(find(&x, "low")->y < find(&x, "high")->y);
    assert_int_equal(x.circles, 0);
    buf_fini(&out);
}

/* Names that are no text, and longer than the page. */
static void any_text(void **state)
{
    static const char *const texts[] = {
        "<&\"'>",           "]]>",      "\x01\x02\x1b[31m", "\xff\xfe\xc3",
        "\xef\xbf\xbe",     "\xc2\x85", "\xed\xa0\x80",     "",
        "\xf0\x9f\x8c\xb3",
    };
    char many[1000];
    struct buf out = { 0 };

    (void)state;
    memset(many, '&', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    for (size_t i = 0; i <= sizeof texts / sizeof texts[0]; i++) {
        const char *text =
            i < sizeof texts / sizeof texts[0] ? texts[i] : many;
        const struct chart_line line = { text, 0, low_points, 3 };
        const struct chart_mark mark = { 3, 0.1, text };
        struct chart c = plain(&line, 1);
        static struct parsed x;

        c.title = c.lines_above[0] = c.lines_above[1] = text;
        c.x_title = c.y_title = c.description = text;
        c.marks = &mark;
        c.mark_count = 1;
        drawn(&x, &c, &out);
        assert_int_equal(x.circles, 1);
        if (i == 0) {
            (void)find(&x, text);
        }
        assert_null(strstr((const char *)out.data, "\x01"));
    }
    buf_fini(&out);
}

/* All lines end at one place: their names stand apart and on the page. */
static void names_apart(void **state)
{
    static const double ends[] = { 0.001, 0.9, 1000 };
    struct buf out = { 0 };

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        struct chart_point points[CHART_STYLES][2];
        struct chart_line lines[CHART_STYLES];
        char names[CHART_STYLES][8];
        struct chart c = plain(lines, CHART_STYLES);
        static struct parsed x;

        for (unsigned i = 0; i < CHART_STYLES; i++) {
            (void)snprintf(names[i], sizeof names[i], "line%u", i);
            points[i][0] = (struct chart_point){ 1, 1, 1, 1 };
            points[i][1] =
                (struct chart_point){ 9, ends[k], ends[k], ends[k] };
            lines[i] = (struct chart_line){ names[i], i, points[i], 2 };
        }
        drawn(&x, &c, &out);
        for (unsigned i = 0; i < CHART_STYLES; i++) {
            double y = find(&x, names[i])->y;

            assert_true(y > 80 && y < 460);
            for (unsigned j = 0; j < i; j++) {
                assert_true(fabs(find(&x, names[j])->y - y) >= 16);
            }
        }
    }
    buf_fini(&out);
}

/* Where a mark's text begins and ends, if its letters are as wide as usual. */
static double mark_begin(const struct text *t)
{
    return t->x - (double)strlen(t->content) * 7 / 2;
}

static void marks_apart(void **state)
{
    const struct chart_line lines[] = { { "high", 0, high_points, 3 },
                                        { "low", 1, low_points, 3 } };
    struct chart_mark marks[CHART_MARKS_MAX];
    char texts[CHART_MARKS_MAX][40];
    struct chart c = plain(lines, 2);
    static struct parsed x;
    struct buf out = { 0 };

    (void)state;
    for (size_t i = 0; i < CHART_MARKS_MAX; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "increment = full: %zu %%",
                       i + 1000);
        marks[i] =
            (struct chart_mark){ 0.01 * pow(5000,
                                            (double)(i * 7 % CHART_MARKS_MAX) /
                                                (CHART_MARKS_MAX - 1)),
                                 0.5, texts[i] };
    }
    c.marks = marks;
    c.mark_count = CHART_MARKS_MAX;
    drawn(&x, &c, &out);
    assert_int_equal(x.circles, CHART_MARKS_MAX);
    for (size_t i = 0; i < CHART_MARKS_MAX; i++) {
        const struct text *a = find(&x, texts[i]);

        assert_true(mark_begin(a) >= 0);
        assert_true(a->x + (a->x - mark_begin(a)) <= 860);
        for (size_t k = 0; k < i; k++) {
            const struct text *b = find(&x, texts[k]);

            assert_true(fabs(a->y - b->y) >= 16 ||
                        fabs(a->x - b->x) >= (double)strlen(texts[i]) * 7);
        }
    }
    buf_fini(&out);
}

/* Any span has a label on both axes, and no two labels touch. */
static void short_axes(void **state)
{
    struct buf out = { 0 };

    (void)state;
    for (int start = 0; start < 30; start++) {
        for (int width = 0; width < 7; width++) {
            double from = 0.01 * pow(1.37, start);
            double span = pow(3.1, width);
            const struct chart_point points[] = {
                { from, from, from, from },
                { from * span, from * span, from * span, from * span },
            };
            const struct chart_line line = { "line", 0, points, 2 };
            struct chart c = plain(&line, 1);
            static struct parsed x;
            size_t sizes = 0;
            size_t times = 0;

            drawn(&x, &c, &out);
            for (size_t i = 0; i < x.text_count; i++) {
                const struct text *t = &x.texts[i];

                sizes += strchr(t->content, '%') != NULL;
                times += t->anchor == 'e';
                for (size_t k = 0; k < i; k++) {
                    const struct text *u = &x.texts[k];
                    bool same_row = fabs(t->y - u->y) < 1;

                    assert_true(t->anchor != 'e' || u->anchor != 'e' ||
                                fabs(t->y - u->y) >= 12);
                    assert_true(t->anchor != 'm' || u->anchor != 'm' ||
                                !same_row || fabs(t->x - u->x) >= 40);
                }
            }
            assert_true(sizes >= 1);
            assert_true(times >= 1);
        }
    }
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels),      cmocka_unit_test(any_text),
        cmocka_unit_test(names_apart), cmocka_unit_test(marks_apart),
        cmocka_unit_test(short_axes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
