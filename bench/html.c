/*
 * html.c: how fast links are read from pages.
 *
 *     bench_html FILE ...
 *
 * Reads the files, then measures over all of them, one thread, in MB/s
 * of processor time (median of several runs, and the spread): a plain scan for
 * `href=`, which finds no links but bounds what any reader can do;
 * encoding_to_utf8 alone; the scanner on every vector path that this processor
 * has, with encoding; and gumbo, where it was there at build time. Before a
 * time is printed, every path's links are compared with the first one's, by a
 * hash.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/hash.h"
#include "deltafold/job.h"
#include "jobs/links/encoding.h"
#include "jobs/links/html.h"
#include "jobs/links/html_index.h"

#ifdef DELTAFOLD_GUMBO
#include <gumbo.h>
#endif

enum { RUNS = 7, READ_SIZE = 1 << 16 };

struct pages {
    struct buf text; /* one behind the other, DF_SLACK bytes between */
    struct page {
        size_t begin;
        size_t len;
    } * items;
    size_t n;
    size_t bytes;
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench_html: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void read_page(struct pages *pages, const char *path)
{
    static const uint8_t slack[DF_SLACK];
    FILE *file = fopen(path, "rb");
    size_t begin = pages->text.len;
    size_t got = 0;

    if (file == NULL) {
        fail(path, "cannot be opened");
    }
    do {
        pages->text.len += got;
        if (!buf_reserve(&pages->text, READ_SIZE)) {
            fail(path, "out of memory");
        }
        got = fread(pages->text.data + pages->text.len, 1, READ_SIZE, file);
    } while (got > 0);
    if (ferror(file)) {
        fail(path, "cannot be read");
    }
    fclose(file);
    pages->items[pages->n++] = (struct page){ begin, pages->text.len - begin };
    pages->bytes += pages->text.len - begin;
    if (!buf_append(&pages->text, slack, sizeof slack)) {
        fail(path, "out of memory");
    }
}

static struct bytes page_at(const struct pages *pages, size_t i)
{
    return bytes_of(pages->text.data + pages->items[i].begin,
                    pages->items[i].len);
}

/* ---- what is measured: each returns a number that depends on its work ----
 */

struct work {
    const struct pages *pages;
    struct html_scanner *scanner;
    struct buf room;
    struct hash_stream *hash; /* NULL: count only */
    uint64_t links;
};

static void take_base(void *ctx, struct bytes href)
{
    (void)ctx;
    (void)href;
}

static void take_link(void *ctx, struct bytes href, bool nofollow)
{
    struct work *work = ctx;

    (void)nofollow;
    work->links++;
    if (work->hash != NULL) {
        hash_stream_add(work->hash, href);
        hash_stream_add(work->hash, bytes_of("\n", 1));
    }
}

static void scan_page(struct work *work, struct bytes page)
{
    const struct html_handler handler = { take_base, take_link, work };
    struct bytes utf8;

    if (!encoding_to_utf8(page, &work->room, &utf8) ||
        !html_scan(work->scanner, utf8, &handler)) {
        fail("scanner", "out of memory");
    }
}

static void encode_page(struct work *work, struct bytes page)
{
    struct bytes utf8;

    if (!encoding_to_utf8(page, &work->room, &utf8)) {
        fail("encoding", "out of memory");
    }
    work->links += utf8.len > 0;
}

static void find_href(struct work *work, struct bytes page)
{
    const uint8_t *at = page.data;
    const uint8_t *end = page.data + page.len;

    while ((at = memmem(at, (size_t)(end - at), "href=", 5)) != NULL) {
        work->links++;
        at += 5;
    }
}

#ifdef DELTAFOLD_GUMBO
static void parse_gumbo(struct work *work, struct bytes page)
{
    GumboOutput *output = gumbo_parse_with_options(
        &kGumboDefaultOptions, (const char *)page.data, page.len);

    work->links += output->root != NULL;
    gumbo_destroy_output(&kGumboDefaultOptions, output);
}
#endif

/* Of this thread's work, so that a busy machine matters less. */
static double cpu_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

static void measure(struct work *work, const char *label, unsigned runs,
                    void (*one)(struct work *, struct bytes))
{
    double speeds[RUNS];

    for (unsigned run = 0; run < runs; run++) {
        double begin = cpu_us();

        work->links = 0;
        for (size_t i = 0; i < work->pages->n; i++) {
            one(work, page_at(work->pages, i));
        }
        speeds[run] = (double)work->pages->bytes / (cpu_us() - begin);
    }
    qsort(speeds, runs, sizeof *speeds, ascending);
    printf("%-18s %7.0f MB/s  (%.0f to %.0f)  %llu found\n", label,
           speeds[runs / 2], speeds[0], speeds[runs - 1],
           (unsigned long long)work->links);
}

static struct hash128 hash_links(struct work *work)
{
    struct hash128 hash;

    if (!hash_stream_open(&work->hash)) {
        fail("hash", "out of memory");
    }
    hash_stream_reset(work->hash);
    for (size_t i = 0; i < work->pages->n; i++) {
        scan_page(work, page_at(work->pages, i));
    }
    hash = hash_stream_end(work->hash);
    hash_stream_close(work->hash);
    work->hash = NULL;
    return hash;
}

static void measure_scanner(struct work *work)
{
    struct hash128 first = { 0, 0 };

    for (size_t i = 0; html_index_path(i) != NULL; i++) {
        struct hash128 hash;
        char label[64];

        html_index_prefer(html_index_path(i));
        hash = hash_links(work);
        if (i > 0 && !hash128_equal(hash, first)) {
            fail(html_index_path(i)->name, "other links than the first path");
        }
        first = hash;
        (void)snprintf(label, sizeof label, "scanner %s",
                       html_index_path(i)->name);
        measure(work, label, RUNS, scan_page);
    }
    html_index_prefer(NULL);
}

int main(int argc, char **argv)
{
    struct pages pages = { .items =
                               calloc((size_t)argc, sizeof *pages.items) };
    struct work work = { .pages = &pages };

    if (argc < 2) {
        fail("usage", "bench_html FILE ...");
    }
    if (pages.items == NULL || !html_scanner_open(&work.scanner)) {
        fail("pages", "out of memory");
    }
    for (int i = 1; i < argc; i++) {
        read_page(&pages, argv[i]);
    }
    printf("%zu pages, %.1f MB\n", pages.n, (double)pages.bytes / 1e6);
    measure(&work, "plain href=", RUNS, find_href);
    measure(&work, "encoding alone", RUNS, encode_page);
    measure_scanner(&work);
#ifdef DELTAFOLD_GUMBO
    measure(&work, "gumbo", 1, parse_gumbo);
#endif
    html_scanner_close(work.scanner);
    buf_fini(&work.room);
    buf_fini(&pages.text);
    free(pages.items);
    return EXIT_SUCCESS;
}
