/*
 * url.c: how fast references are resolved, by what they are like.
 *
 *     bench_url [FILE]
 *
 * FILE holds a reference per line, the first of them the base; without it,
 * built-in ones are taken. Prints the median and the spread of several runs
 * in million references per second and MB/s of references, one thread, into
 * one buf. Before a time is printed, each result is resolved again and must
 * be itself.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "jobs/links/url.h"

enum { RUNS = 7, RUN_US = 200000, SET_MAX = 8 };

struct set {
    const char *name;
    const char *hrefs[SET_MAX];
};

static const char base_url[] =
    "https://docs.example.org/3/library/os.path.html";

static const struct set sets[] = {
    { "relative",
      { "index.html", "os.html", "a/b/c.html", "faq.html#x", "search.html?q=1",
        "genindex.html", "classes.html#scopes", "3.html" } },
    { "relative, up",
      { "../index.html", "../library/os.html#os.path", "../../a.html",
        "./x.html", "../", "../reference/datamodel.html", "..",
        "../c-api/intro.html" } },
    { "fragment, root, query",
      { "#x", "#os.path.join", "/", "/a/b", "?q", "//cdn.example/x", "",
        "/x/y/z.html#q" } },
    { "absolute",
      { "https://www.example.org/", "https://docs.example.org/3/license.html",
        "http://example.com/a/b", "https://code.example/a/b/blob/main/x.rst",
        "https://www.example.com", "https://en.wiki.example/wiki/Foo",
        "https://peps.example.org/pep-0008/", "http://a.example/c?d=e" } },
    { "to be normalised",
      { "a%20b.html", "x y", "/%7Euser/", "https://EXAMPLE.com/",
        "http://x.example:80/", "a|b{c}", "\xc3\xa4.html",
        "https://u:p@h.example/" } },
    { "other schemes",
      { "mailto:a@b.example", "javascript:void(0)", "tel:1",
        "data:text/html,x", "ftp://x/", "news:x", "MAILTO:x",
        "about:blank" } },
    { "international",
      { "http://\xc3\xa4.example/", "http://xn--4ca.example/",
        "https://\xe4\xbe\x8b\xe3\x81\x88.example/",
        "http://fa\xc3\x9f.example", "http://xn--fa-hia.example",
        "http://b%C3%BCcher.example/", "//\xe2\x98\x83.example/",
        "http://xn--p1ai/" } },
};

struct hrefs {
    struct bytes *list;
    size_t n;
    size_t bytes;
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench_url: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void check(const struct url_base *base, const struct hrefs *hrefs)
{
    struct buf once = { 0 };
    struct buf twice = { 0 };

    for (size_t i = 0; i < hrefs->n; i++) {
        buf_reset(&once);
        buf_reset(&twice);
        if (url_resolve(base, hrefs->list[i], &once) == URL_OK &&
            (url_resolve(base, buf_bytes(&once), &twice) != URL_OK ||
             !bytes_equal(buf_bytes(&once), buf_bytes(&twice)))) {
            fail("a result", "is not in normal form");
        }
    }
    buf_fini(&once);
    buf_fini(&twice);
}

static size_t resolve_all(const struct url_base *base,
                          const struct hrefs *hrefs, struct buf *out)
{
    size_t resolved = 0;

    buf_reset(out);
    for (size_t i = 0; i < hrefs->n; i++) {
        if (out->len > 65536) {
            buf_reset(out);
        }
        resolved += url_resolve(base, hrefs->list[i], out) == URL_OK;
    }
    return resolved;
}

/* References per microsecond. */
static double measure_once(const struct url_base *base,
                           const struct hrefs *hrefs, struct buf *out)
{
    int64_t begin = clock_us();
    int64_t taken;
    size_t rounds = 0;

    do {
        for (unsigned i = 0; i < 16; i++) {
            (void)resolve_all(base, hrefs, out);
        }
        rounds += 16;
        taken = clock_us() - begin;
    } while (taken < RUN_US);
    return (double)(rounds * hrefs->n) / (double)taken;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

static void measure(const char *name, const struct url_base *base,
                    const struct hrefs *hrefs)
{
    struct buf out = { 0 };
    double speeds[RUNS];

    check(base, hrefs);
    for (unsigned i = 0; i < RUNS; i++) {
        speeds[i] = measure_once(base, hrefs, &out);
    }
    qsort(speeds, RUNS, sizeof *speeds, ascending);
    printf("%-22s %6.1f M/s  (%.1f to %.1f)  %6.0f MB/s  %zu of %zu\n", name,
           speeds[RUNS / 2], speeds[0], speeds[RUNS - 1],
           speeds[RUNS / 2] * (double)hrefs->bytes / (double)hrefs->n,
           resolve_all(base, hrefs, &out), hrefs->n);
    buf_fini(&out);
}

static void measure_sets(void)
{
    struct url_base base = { 0 };

    if (url_base_set(&base, bytes_of_string(base_url)) != URL_OK) {
        fail(base_url, "is no URL");
    }
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        struct bytes list[SET_MAX];
        struct hrefs hrefs = { .list = list, .n = SET_MAX };

        for (size_t i = 0; i < SET_MAX; i++) {
            list[i] = bytes_of_string(sets[s].hrefs[i]);
            hrefs.bytes += list[i].len;
        }
        measure(sets[s].name, &base, &hrefs);
    }
    url_base_fini(&base);
}

static void add_line(struct hrefs *hrefs, const char *line, size_t len)
{
    if ((hrefs->n & (hrefs->n - 1)) == 0) {
        size_t room = hrefs->n == 0 ? 1 : 2 * hrefs->n;

        hrefs->list = realloc(hrefs->list, room * sizeof *hrefs->list);
        if (hrefs->list == NULL) {
            fail("lines", "out of memory");
        }
    }
    hrefs->list[hrefs->n++] = bytes_of(line, len);
    hrefs->bytes += len;
}

/* The lines stay as they are until the program ends. */
static void measure_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct url_base base = { 0 };
    struct hrefs hrefs = { 0 };
    char *line = NULL;
    size_t room = 0;
    ssize_t len;

    if (file == NULL) {
        fail(path, "cannot be opened");
    }
    while ((len = getline(&line, &room, file)) > 0) {
        len -= line[len - 1] == '\n';
        add_line(&hrefs, line, (size_t)len);
        line = NULL;
        room = 0;
    }
    free(line);
    fclose(file);
    if (hrefs.n < 2 || url_base_set(&base, hrefs.list[0]) != URL_OK) {
        fail(path, "must have a base URL and a reference");
    }
    measure(path, &base, &hrefs);
    url_base_fini(&base);
    free(hrefs.list);
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        fail("usage", "bench_url [FILE]");
    }
    if (argc == 2) {
        measure_file(argv[1]);
    } else {
        measure_sets();
    }
    return EXIT_SUCCESS;
}
