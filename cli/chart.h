/*
 * chart.h: lines over logarithmic axes, as one SVG file.
 *
 * Written by hand: the libraries that plot from C are either programs of
 * their own (gnuplot) or draw for screens and printers (plotutils, cairo);
 * none knows of dark pages, of lines that can be told apart without colours
 * and of labels that make way for one another, and that is all there is to
 * it.
 *
 * The file stands alone: no script, no font, no style from elsewhere. It is
 * light or dark as the reader's page is. Any text is safe: what XML cannot
 * hold becomes U+FFFD.
 */
#ifndef CLI_CHART_H
#define CLI_CHART_H

#include "base/buf.h"

enum {
    CHART_STYLES = 8, /* lines that can be told apart */
    CHART_MARKS_MAX = 64
};

/* x in percent, times in seconds; all above 0. */
struct chart_point {
    double x;
    double y;
    double low; /* bar from here to high */
    double high;
};

struct chart_line {
    const char *name;
    unsigned style;                   /* below CHART_STYLES */
    const struct chart_point *points; /* x rises */
    size_t count;                     /* at least 1 */
};

/* A ring where lines cross, with its text below the axis. */
struct chart_mark {
    double x;
    double y;
    const char *text;
};

struct chart {
    const char *title;
    const char *lines_above[2]; /* smaller, below the title */
    const char *x_title;
    const char *y_title;
    const char *description; /* for those who do not see it */
    const struct chart_line *lines;
    size_t line_count; /* 1 to CHART_STYLES */
    const struct chart_mark *marks;
    size_t mark_count; /* at most CHART_MARKS_MAX */
};

/* Appends the file; false without memory. */
bool chart_svg(const struct chart *c, struct buf *out);

#endif
