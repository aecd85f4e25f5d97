#include "cli/chart.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

/* The canvas, in pixels at its natural size. */
enum {
    WIDTH = 860,
    LEFT = 76,    /* of the plot: labels of times */
    RIGHT = 736,  /* end of the plot: names of lines behind it */
    TOP = 92,     /* title above */
    BOTTOM = 452, /* end of the plot: labels of sizes below it */
    X_LABEL = 46, /* room for "0.01 %" */
    Y_LABEL = 22,
    AXIS_TEXT = 20,  /* labels' base line below the plot */
    MARKS = 42,      /* the first row of marks below the plot */
    AXIS_TITLE = 44, /* below the plot and the rows of marks */
    FOOT = 60,       /* of the page below these */
    ROW = 18,        /* height of a row of marks and of a line's name */
    GLYPH = 7,       /* wider than the mean letter at 12 pixels */
    GAP = 14,        /* between two marks of a row */
    TITLE_MAX = 88,  /* letters that fit the canvas: large ... */
    ABOVE_MAX = 122, /* ... and small */
    FORM_MAX = 1024  /* bytes of markup put at once */
};

/* A little room around the data, as a factor, and an axis that always has a
 * 1, 2 or 5 times a power of ten on it: these are at most 2.5 apart. */
static const double margin = 1.3;
static const double least_span = 4;

static const char style_sheet[] =
    "<style>\n"
    "svg{font-family:system-ui,'Segoe UI','DejaVu Sans',Helvetica,Arial,"
    "sans-serif;font-size:12px}\n"
    ".page{fill:#fff}.text{fill:#24292f}.dim{fill:#57606a}\n"
    ".grid{stroke:#d8dee4}.fine{stroke:#eef1f4}.axis{stroke:#57606a}\n"
    ".ring{stroke:#24292f;fill:none}\n"
    ".s0{color:#24292f}.s1{color:#0069a8}.s2{color:#b84a00}.s3{color:#00785a}"
    "\n"
    ".s4{color:#9c3a7d}.s5{color:#6b6000}.s6{color:#5a4fcf}.s7{color:#a01830}"
    "\n"
    "@media (prefers-color-scheme:dark){\n"
    ".page{fill:#0d1117}.text{fill:#e6edf3}.dim{fill:#9198a1}\n"
    ".grid{stroke:#30363d}.fine{stroke:#1b2028}.axis{stroke:#9198a1}\n"
    ".ring{stroke:#e6edf3}\n"
    ".s0{color:#e6edf3}.s1{color:#58b4f0}.s2{color:#ff9a5c}.s3{color:#35cfa2}"
    "\n"
    ".s4{color:#ec9bd0}.s5{color:#d8cc4a}.s6{color:#a9a2ff}.s7{color:#ff8a98}}"
    "\n"
    "</style>\n";

/* A drawing under way: the axes, and whether memory lasted. */
struct drawing {
    struct buf *out;
    bool ok;
    double x_min;
    double x_max;
    double y_min;
    double y_max;
};

static void put(struct drawing *d, const char *text)
{
    d->ok = d->ok && buf_append_string(d->out, text);
}

/* Markup of ours: no name or title, so its length is known. */
static void put_form(struct drawing *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put_form(struct drawing *d, const char *format, ...)
{
    char text[FORM_MAX];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert(len >= 0 && (size_t)len < sizeof text);
    put(d, text);
}

/* ---- text ---- */

/* What XML 1.0 allows, and we do not need a line end for. */
static bool is_xml(uint32_t point)
{
    return point != UTF8_BAD && point >= 0x20 && point != 0x7f &&
           !(point >= 0x80 && point < 0xa0) && point != 0xfffe &&
           point != 0xffff;
}

static void put_point(struct drawing *d, const uint8_t *bytes, size_t len,
                      uint32_t point)
{
    switch (point) {
    case '<':
        put(d, "&lt;");
        break;
    case '>':
        put(d, "&gt;");
        break;
    case '&':
        put(d, "&amp;");
        break;
    case '"':
        put(d, "&quot;");
        break;
    default:
        d->ok = d->ok && (is_xml(point) ? buf_append(d->out, bytes, len)
                                        : buf_append_string(d->out, "\uFFFD"));
        break;
    }
}

/* At most `most` letters; what was cut shows as an ellipsis. */
static void put_text(struct drawing *d, const char *text, size_t most)
{
    const uint8_t *p = (const uint8_t *)text;
    size_t left = strlen(text);

    for (size_t n = 0; left > 0; n++) {
        uint32_t point;
        size_t len = utf8_decode(p, left, &point);

        if (n + 1 == most && len < left) {
            put(d, "\u2026");
            return;
        }
        put_point(d, p, len, point);
        p += len;
        left -= len;
    }
}

static size_t letters(const char *text)
{
    size_t n = 0;

    for (; *text != '\0'; text++) {
        n += !utf8_is_continuation((uint8_t)*text);
    }
    return n;
}

/* ---- axes ---- */

static double x_of(const struct drawing *d, double x)
{
    return LEFT +
           (RIGHT - LEFT) * log(x / d->x_min) / log(d->x_max / d->x_min);
}

static double y_of(const struct drawing *d, double y)
{
    return BOTTOM -
           (BOTTOM - TOP) * log(y / d->y_min) / log(d->y_max / d->y_min);
}

static void widen(double *from, double *to)
{
    double missing;

    *from /= margin;
    *to *= margin;
    missing = fmax(1, least_span / (*to / *from));
    *from /= sqrt(missing);
    *to *= sqrt(missing);
}

static void measure(struct drawing *d, const struct chart *c)
{
    d->x_min = d->y_min = HUGE_VAL;
    d->x_max = d->y_max = 0;
    for (size_t i = 0; i < c->line_count; i++) {
        for (size_t k = 0; k < c->lines[i].count; k++) {
            const struct chart_point *p = &c->lines[i].points[k];

            d->x_min = fmin(d->x_min, p->x);
            d->x_max = fmax(d->x_max, p->x);
            d->y_min = fmin(d->y_min, p->low);
            d->y_max = fmax(d->y_max, p->high);
        }
    }
    widen(&d->x_min, &d->x_max);
    widen(&d->y_min, &d->y_max);
}

static const char *time_label(char room[32], double seconds)
{
    if (seconds < 0.99e-3) {
        (void)snprintf(room, 32, "%.3g \u00b5s", seconds * 1e6);
    } else if (seconds < 0.99) {
        (void)snprintf(room, 32, "%.3g ms", seconds * 1e3);
    } else {
        (void)snprintf(room, 32, "%.0f s", seconds);
    }
    return room;
}

static const char *size_label(char room[32], double percent)
{
    (void)snprintf(room, 32, "%.6g %%", percent);
    return room;
}

/* Whether digit times a power of ten has a label, with so many pixels to a
 * power: 2 and 5 where there is room for them. */
static bool has_label(int digit, double power_pixels, double label_pixels)
{
    return digit == 1 || ((digit == 2 || digit == 5) &&
                          power_pixels * log10(2) >= label_pixels);
}

static void put_x_line(struct drawing *d, double x, bool labelled, int digit)
{
    char room[32];
    double at = x_of(d, x);

    put_form(d, "<path class=\"%s\" d=\"M%.1f %dV%d\"/>\n",
             digit == 1 ? "grid" : "fine", at, TOP, BOTTOM);
    if (labelled) {
        put_form(d,
                 "<text class=\"dim\" text-anchor=\"middle\" x=\"%.1f\" "
                 "y=\"%d\">%s</text>\n",
                 at, BOTTOM + AXIS_TEXT, size_label(room, x));
    }
}

static void put_y_line(struct drawing *d, double y, bool labelled, int digit)
{
    char room[32];
    double at = y_of(d, y);

    put_form(d, "<path class=\"%s\" d=\"M%d %.1fH%d\"/>\n",
             digit == 1 ? "grid" : "fine", LEFT, at, RIGHT);
    if (labelled) {
        put_form(d,
                 "<text class=\"dim\" text-anchor=\"end\" x=\"%d\" "
                 "y=\"%.1f\">%s</text>\n",
                 LEFT - 8, at + 4, time_label(room, y));
    }
}

/* An axis: its ends, its length and the least distance of two labels. */
struct axis {
    double from;
    double to;
    double pixels;
    double label_pixels;
    void (*line)(struct drawing *d, double at, bool labelled, int digit);
};

/* All lines of one axis at 1 to 9 times the powers of ten. */
static void put_grid(struct drawing *d, const struct axis *a)
{
    double power_pixels = a->pixels / log10(a->to / a->from);
    int power = (int)floor(log10(a->from));

    for (; pow(10, power) < a->to; power++) {
        for (int digit = 1; digit <= 9; digit++) {
            double at = digit * pow(10, power);

            if (at >= a->from && at <= a->to) {
                a->line(d, at, has_label(digit, power_pixels, a->label_pixels),
                        digit);
            }
        }
    }
}

static void put_axes(struct drawing *d, const struct chart *c, int rows)
{
    put_grid(d, &(struct axis){ d->x_min, d->x_max, RIGHT - LEFT, X_LABEL,
                                put_x_line });
    put_grid(d, &(struct axis){ d->y_min, d->y_max, BOTTOM - TOP, Y_LABEL,
                                put_y_line });
    put_form(d, "<path class=\"axis\" fill=\"none\" d=\"M%d %dV%dH%d\"/>\n",
             LEFT, TOP, BOTTOM, RIGHT);
    put_form(d,
             "<text class=\"text\" text-anchor=\"middle\" x=\"%d\" y=\"%d\">",
             (LEFT + RIGHT) / 2, BOTTOM + AXIS_TITLE + rows * ROW);
    put_text(d, c->x_title, ABOVE_MAX);
    put_form(d,
             "</text>\n<text class=\"text\" text-anchor=\"middle\" "
             "transform=\"translate(18 %d) rotate(-90)\">",
             (TOP + BOTTOM) / 2);
    put_text(d, c->y_title, ABOVE_MAX);
    put(d, "</text>\n");
}

/* ---- lines ---- */

/* Told apart by dashes and points as well: by whoever sees no colours, and
 * on paper. */
static const struct {
    const char *dashes;
    const char *point; /* a path around 0 0 */
} looks[CHART_STYLES] = {
    { "none", "M-4-4h8v8h-8z" },
    { "none", "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z" },
    { "8 4", "M0-5.5L5.2 4H-5.2z" },
    { "2 3", "M0-6L5 0L0 6L-5 0z" },
    { "10 3 2 3", "M0 5.5L5.2-4H-5.2z" },
    { "5 2", "M-5-1.5h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5z" },
    { "1 2", "M-5 5V0L0-5L5 0V5z" },
    { "12 2", "M-5 0L-2-5H2L5 0L2 5H-2z" },
};

static void put_bar(struct drawing *d, const struct chart_point *p)
{
    double x = x_of(d, p->x);
    double low = y_of(d, p->low);
    double high = y_of(d, p->high);

    if (low - high >= 2) { /* else the point hides it */
        put_form(
            d,
            "<path d=\"M%.1f %.1fh8m-4 0V%.1fm-4 0h8\" stroke-width=\"1\"/>"
            "\n",
            x - 4, low, high);
    }
}

static void put_line(struct drawing *d, const struct chart_line *line)
{
    put_form(d,
             "<g class=\"s%u\" stroke=\"currentColor\" fill=\"none\">\n"
             "<path stroke-width=\"%s\" stroke-dasharray=\"%s\" "
             "stroke-linejoin=\"round\" d=\"",
             line->style, line->style == 0 ? "3" : "2",
             looks[line->style].dashes);
    for (size_t i = 0; i < line->count; i++) {
        put_form(d, "%c%.1f %.1f", i == 0 ? 'M' : 'L',
                 x_of(d, line->points[i].x), y_of(d, line->points[i].y));
    }
    put(d, "\"/>\n");
    for (size_t i = 0; i < line->count; i++) {
        put_bar(d, &line->points[i]);
        put_form(d,
                 "<path fill=\"currentColor\" stroke=\"none\" "
                 "transform=\"translate(%.1f %.1f)\" d=\"%s\"/>\n",
                 x_of(d, line->points[i].x), y_of(d, line->points[i].y),
                 looks[line->style].point);
    }
    put(d, "</g>\n");
}

/* A line's name behind its last point, where it is free. */
struct name {
    const struct chart_line *line;
    double end; /* of the line, y */
    double y;
};

static void sort_names(struct name *names, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct name moving = names[i];
        size_t k = i;

        for (; k > 0 && names[k - 1].end > moving.end; k--) {
            names[k] = names[k - 1];
        }
        names[k] = moving;
    }
}

/* Pushes names apart: down from the top, then up from the bottom, where
 * there is always room for CHART_STYLES of them. */
static void spread_names(struct name *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double least = i == 0 ? TOP + ROW / 2.0 : names[i - 1].y + ROW;

        names[i].y = fmax(names[i].end, least);
    }
    for (size_t i = n; i > 0; i--) {
        double most = i == n ? BOTTOM - ROW / 2.0 : names[i].y - ROW;

        names[i - 1].y = fmin(names[i - 1].y, most);
    }
}

static void put_names(struct drawing *d, const struct chart *c)
{
    struct name names[CHART_STYLES];

    for (size_t i = 0; i < c->line_count; i++) {
        const struct chart_line *line = &c->lines[i];

        names[i].line = line;
        names[i].end = y_of(d, line->points[line->count - 1].y);
    }
    sort_names(names, c->line_count);
    spread_names(names, c->line_count);
    for (size_t i = 0; i < c->line_count; i++) {
        const struct chart_line *line = names[i].line;

        put_form(
            d,
            "<g class=\"s%u\"><path fill=\"none\" stroke=\"currentColor\" "
            "opacity=\"0.5\" d=\"M%.1f %.1fL%d %.1f\"/>"
            "<path fill=\"currentColor\" transform=\"translate(%d %.1f)\" "
            "d=\"%s\"/><text fill=\"currentColor\" font-weight=\"600\" "
            "x=\"%d\" y=\"%.1f\">",
            line->style, x_of(d, line->points[line->count - 1].x) + 7,
            names[i].end, RIGHT + 8, names[i].y, RIGHT + 16, names[i].y,
            looks[line->style].point, RIGHT + 27, names[i].y + 4);
        put_text(d, line->name, 16);
        put(d, "</text></g>\n");
    }
}

/* ---- marks ---- */

/* Where a mark's text stands. */
struct place {
    double from; /* x */
    double to;
    size_t row;
};

/* Whether none of the first n places is in the way. */
static bool is_free(const struct place *places, size_t n,
                    const struct place *wanted)
{
    for (size_t i = 0; i < n; i++) {
        if (places[i].row == wanted->row &&
            places[i].from < wanted->to + GAP &&
            wanted->from < places[i].to + GAP) {
            return false;
        }
    }
    return true;
}

/* Below its ring if nothing is in the way, else in the first row where there
 * is room; never beyond the canvas. */
static size_t place_marks(const struct drawing *d, const struct chart *c,
                          struct place *places)
{
    size_t rows = 0;

    for (size_t i = 0; i < c->mark_count; i++) {
        double width = (double)letters(c->marks[i].text) * GLYPH;
        double from = x_of(d, c->marks[i].x) - width / 2;
        struct place *p = &places[i];

        from = fmax(8, fmin(from, WIDTH - 8 - width));
        *p = (struct place){ .from = from, .to = from + width };
        while (!is_free(places, i, p)) {
            p->row++;
        }
        rows = p->row + 1 > rows ? p->row + 1 : rows;
    }
    return rows;
}

static void put_marks(struct drawing *d, const struct chart *c,
                      const struct place *places)
{
    for (size_t i = 0; i < c->mark_count; i++) {
        double x = x_of(d, c->marks[i].x);
        double y = y_of(d, c->marks[i].y);

        put_form(d,
                 "<circle class=\"ring\" stroke-width=\"2\" cx=\"%.1f\" "
                 "cy=\"%.1f\" r=\"8\"/>\n<path class=\"ring\" "
                 "stroke-dasharray=\"1 3\" d=\"M%.1f %.1fV%d\"/>\n",
                 x, y, x, y + 8, BOTTOM);
        put_form(
            d,
            "<path class=\"ring\" d=\"M%.1f %dv6\"/>\n"
            "<text class=\"text\" font-weight=\"600\" text-anchor=\"middle\" "
            "x=\"%.1f\" y=\"%d\">",
            x, BOTTOM, (places[i].from + places[i].to) / 2,
            BOTTOM + MARKS + (int)places[i].row * ROW);
        put_text(d, c->marks[i].text, ABOVE_MAX);
        put(d, "</text>\n");
    }
}

/* ---- the file ---- */

static void put_head(struct drawing *d, const struct chart *c, int height)
{
    put_form(d,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
             "height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" "
             "aria-labelledby=\"title desc\">\n<title id=\"title\">",
             WIDTH, height, WIDTH, height);
    put_text(d, c->title, SIZE_MAX);
    put(d, "</title>\n<desc id=\"desc\">");
    put_text(d, c->description, SIZE_MAX);
    put(d, "</desc>\n");
    put(d, style_sheet);
    put_form(d, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", WIDTH,
             height);
    put(d, "<text class=\"text\" font-size=\"17\" font-weight=\"600\" "
           "x=\"18\" y=\"30\">");
    put_text(d, c->title, TITLE_MAX);
    put(d, "</text>\n");
    for (int i = 0; i < 2; i++) {
        put_form(d, "<text class=\"dim\" x=\"18\" y=\"%d\">", 52 + 18 * i);
        put_text(d, c->lines_above[i], ABOVE_MAX);
        put(d, "</text>\n");
    }
}

bool chart_svg(const struct chart *c, struct buf *out)
{
    struct drawing d = { .out = out, .ok = true };
    struct place places[CHART_MARKS_MAX];
    int rows;

    measure(&d, c);
    rows = (int)place_marks(&d, c, places);
    put_head(&d, c, BOTTOM + FOOT + rows * ROW);
    put_axes(&d, c, rows);
    for (size_t i = 0; i < c->line_count; i++) {
        put_line(&d, &c->lines[i]);
    }
    put_names(&d, c);
    put_marks(&d, c, places);
    put(&d, "</svg>\n");
    return d.ok;
}
