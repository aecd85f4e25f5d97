/* The report as a chart. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/bench_text.h"
#include "cli/chart.h"
#include "cli/human.h"

enum {
    PATH_SHOWN = 40, /* letters of a path in the title; its end is kept */
    MARK_TEXT = 80
};

/* Everything a struct chart points to. */
struct figure {
    const struct bench_subject *subject;
    struct chart_point points[CROSSOVER_METHODS_MAX][DELTAS_MAX];
    struct chart_line lines[CROSSOVER_METHODS_MAX];
    struct chart_mark marks[CHART_MARKS_MAX];
    char mark_texts[CHART_MARKS_MAX][MARK_TEXT];
    size_t mark_count;
    struct buf title;
    struct buf above[2];
    struct buf description;
};

static void add_line(struct figure *f, size_t column)
{
    const struct crossover_report *r = f->subject->report;

    for (size_t i = 0; i < r->size_count; i++) {
        struct spread s = crossover_spread(r, i, column);

        f->points[column][i] = (struct chart_point){ .x = r->sizes[i].percent,
                                                     .y = s.median / 1e6,
                                                     .low = s.low / 1e6,
                                                     .high = s.high / 1e6 };
    }
    f->lines[column] = (struct chart_line){
        .name = crossover_method(r->methods[column])->name,
        .style = (unsigned)r->methods[column],
        .points = f->points[column],
        .count = r->size_count,
    };
}

/* "increment = full: 34 %" at each crossing of two columns. */
static void add_marks(struct figure *f, size_t a, size_t b)
{
    const struct crossover_report *r = f->subject->report;
    struct spread_crossing crossings[DELTAS_MAX];
    size_t n = bench_crossings(r, a, b, crossings);

    for (size_t i = 0; i < n && f->mark_count < CHART_MARKS_MAX; i++) {
        char *text = f->mark_texts[f->mark_count];
        char percent[BENCH_TEXT];

        (void)snprintf(text, MARK_TEXT, "%s = %s: %s",
                       crossover_method(r->methods[a])->name,
                       crossover_method(r->methods[b])->name,
                       bench_percent(percent, crossings[i].at));
        f->marks[f->mark_count++] = (struct chart_mark){
            .x = crossings[i].at, .y = crossings[i].time / 1e6, .text = text
        };
    }
}

/* The end of a path says more than its beginning. */
static bool put_path(struct buf *out, const char *path)
{
    const char *p = path + strlen(path);
    size_t letters = 0;

    while (p > path && letters < PATH_SHOWN) {
        p--;
        letters += ((unsigned char)*p & 0xc0) != 0x80;
    }
    return (p == path || buf_append_string(out, "\u2026")) &&
           buf_append_string(out, p);
}

static bool put_title(struct figure *f)
{
    const struct bench_subject *s = f->subject;

    return buf_printf(&f->title, "Keeping %s of ", s->job) &&
           put_path(&f->title, s->documents) &&
           buf_append_string(&f->title, " up to date, or computing it anew") &&
           buf_append_byte(&f->title, 0);
}

static bool put_above(struct figure *f)
{
    const struct bench_subject *s = f->subject;
    const struct crossover_report *r = s->report;
    char a[HUMAN_MAX];
    char b[HUMAN_MAX];
    char c[HUMAN_MAX];

    return buf_printf(&f->above[0],
                      "%s documents, %s; %s rows, %s in %u shard%s; %s%c",
                      human_count(a, r->documents), human_bytes(b, r->bytes),
                      human_count(c, r->rows),
                      human_bytes((char[HUMAN_MAX]){ 0 }, r->view_bytes),
                      s->shards, human_plural(s->shards), s->definition, 0) &&
           buf_printf(&f->above[1],
                      "Deltas: half deletions, half insertions. Median%s of "
                      "%u repeat%s; same rows by every method.%c",
                      r->repeats > 1 ? " and quartiles" : "", r->repeats,
                      human_plural(r->repeats), 0);
}

static bool put_description(struct figure *f)
{
    const struct crossover_report *r = f->subject->report;
    bool ok = true;

    for (size_t i = 1; ok && i < r->method_count; i++) {
        ok = bench_sentence(r, i, 0, &f->description) &&
             buf_append_string(&f->description, ". ");
    }
    return ok && buf_append_byte(&f->description, 0);
}

static bool draw(struct figure *f, struct buf *out)
{
    const struct crossover_report *r = f->subject->report;
    struct chart c = {
        .title = (const char *)f->title.data,
        .lines_above = { (const char *)f->above[0].data,
                         (const char *)f->above[1].data },
        .x_title = "Size of the delta, per cent of the documents' bytes",
        .y_title = "Time, from opening the view to a durable commit",
        .description = (const char *)f->description.data,
        .lines = f->lines,
        .line_count = r->method_count,
        .marks = f->marks,
    };

    for (size_t a = 0; a < r->method_count; a++) {
        add_line(f, a);
    }
    for (size_t a = 1; a < r->method_count; a++) {
        add_marks(f, a, 0);
    }
    for (size_t a = 1; a < r->method_count; a++) {
        for (size_t b = a + 1; b < r->method_count; b++) {
            add_marks(f, a, b);
        }
    }
    c.mark_count = f->mark_count;
    return chart_svg(&c, out);
}

bool bench_svg(const struct bench_subject *s, struct buf *out)
{
    struct figure *f = calloc(1, sizeof *f);
    bool ok = false;

    if (f == NULL) {
        return false;
    }
    f->subject = s;
    ok = put_title(f) && put_above(f) && put_description(f) && draw(f, out);
    buf_fini(&f->title);
    buf_fini(&f->above[0]);
    buf_fini(&f->above[1]);
    buf_fini(&f->description);
    free(f);
    return ok;
}
