#include "cli/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/human.h"

enum {
    REDRAW_US = 100000, /* ten times a second */
    COLUMNS_USUAL = 80, /* of terminals that do not tell */
    TAIL_MAX = 100,     /* bytes of a line behind the batch's name */
    LINE_MAX_BYTES = sizeof(struct shown) + TAIL_MAX
};

static uint64_t microseconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void progress_init(struct progress *p, bool quiet)
{
    const char *term = getenv("TERM");
    bool dumb = term == NULL || strcmp(term, "dumb") == 0;

    *p = (struct progress){ .quiet = quiet };
    p->on = !quiet && !dumb && isatty(STDERR_FILENO) == 1;
}

static size_t terminal_columns(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
        return COLUMNS_USUAL;
    }
    return size.ws_col;
}

/* Cuts text to so many columns. */
static void fit(char *text, size_t columns)
{
    text[human_fit(bytes_of_string(text), columns)] = '\0';
}

/* Where a line is too long the name of the batch gives way: that the rest of
 * it moves is what one looks at. */
static void compose(char line[LINE_MAX_BYTES], const struct progress *p,
                    const struct engine_progress *now, uint64_t time)
{
    size_t columns = terminal_columns() - 1;
    size_t taken;
    char tail[TAIL_MAX];
    char percent[16] = "";
    char speed[HUMAN_MAX + 16] = "";
    char room[HUMAN_MAX];
    struct shown name;

    if (now->total > 0) {
        double share = (double)now->done / (double)now->total;

        (void)snprintf(percent, sizeof percent, "  %3.0f%%",
                       share < 1 ? 100 * share : 100.0);
    }
    if (time > p->start && now->done > 0) {
        double rate = (double)now->done * 1e6 / (double)(time - p->start);

        (void)snprintf(speed, sizeof speed, "  %s/s",
                       human_bytes(room, (uint64_t)rate));
    }
    (void)snprintf(tail, sizeof tail, "  %s%s%s", now->phase, percent, speed);
    (void)shown(&name, bytes_of_string(now->batch));
    taken = human_width(bytes_of_string(tail));
    fit(name.text, taken < columns ? columns - taken : 0);
    (void)snprintf(line, LINE_MAX_BYTES, "%s%s", name.text, tail);
    fit(line, columns);
}

void progress_put(const char *text)
{
    /* What cannot be written to standard error cannot be reported. */
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));

    (void)ignored;
}

void progress_show(void *ctx, const struct engine_progress *now)
{
    struct progress *p = ctx;
    uint64_t time = microseconds();
    bool begins = false; /* a phase, behind one that could be seen */
    char line[LINE_MAX_BYTES];
    char drawn[LINE_MAX_BYTES + 8];

    if (!p->on) {
        return;
    }
    if (strcmp(p->phase, now->phase) != 0 || now->done < p->done) {
        (void)snprintf(p->phase, sizeof p->phase, "%s", now->phase);
        p->start = time;
        begins = p->drawn;
    }
    p->done = now->done;
    if (time - p->last < REDRAW_US && !begins) {
        return;
    }
    compose(line, p, now, time);
    (void)snprintf(drawn, sizeof drawn, "\r%s\033[K", line);
    progress_put(drawn);
    p->last = time;
    p->drawn = true;
}

void progress_clear(struct progress *p)
{
    if (p->drawn) {
        progress_put("\r\033[K");
        p->drawn = false;
    }
}

void progress_notice(struct progress *p, const char *format, ...)
{
    char text[DF_ERROR_SIZE];
    char line[SHOWN_LINE(DF_ERROR_SIZE)];
    va_list args;

    if (p->quiet) {
        return;
    }
    progress_clear(p);
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)fprintf(stderr, "deltafold: notice: %s\n",
                  shown_line(line, sizeof line, text));
}
