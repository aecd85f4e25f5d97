/*
 * links.c: the scanner's links, for compare.mjs.
 *
 *     html_parse5_links FILE ...            what the scanner finds
 *     html_parse5_links --random SEED N     N pages to compare, one a line
 *
 * Of each file a line "page FILE" or, where the scanner guessed, "guessed
 * FILE", then its links as html_links.h writes them. Random pages are
 * printed as hexadecimal digits.
 */
#include <stdio.h>
#include <stdlib.h>

#include "jobs/links/encoding.h"
#include "tests/html_links.h"
#include "tests/html_pages.h"

static const unsigned all_kinds = HTML_PAGES_PLAIN | HTML_PAGES_FOREIGN |
                                  HTML_PAGES_FRAMES | HTML_PAGES_TABLES;

static void fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static void print_random(uint64_t seed, unsigned long n)
{
    struct buf page = { 0 };

    while (n-- > 0) {
        /* Few kinds at once: each has its own ways to meet the others. */
        unsigned kinds = 1U + (unsigned)(html_pages_random(&seed) % all_kinds);

        buf_reset(&page);
        html_pages_make(&seed, kinds, 14, &page);
        for (size_t i = 0; i < page.len; i++) {
            printf("%02x", (unsigned)page.data[i]);
        }
        printf("\n");
    }
    buf_fini(&page);
}

static void read_file(const char *path, struct buf *content)
{
    FILE *file = fopen(path, "rb");
    size_t got = 0;

    if (file == NULL) {
        fail(path);
    }
    buf_reset(content);
    do {
        content->len += got;
        if (!buf_reserve(content, 1 << 16)) {
            fail(path);
        }
        got = fread(content->data + content->len, 1, 1 << 16, file);
    } while (got > 0);
    fclose(file);
}

static void print_links(struct html_scanner *scanner, const char *path)
{
    struct buf content = { 0 };
    struct buf room = { 0 };
    struct buf decoded = { 0 };
    struct buf links = { 0 };
    struct bytes utf8;
    bool is_exact;

    read_file(path, &content);
    if (!encoding_to_utf8(html_links_page(&room, buf_bytes(&content)),
                          &decoded, &utf8)) {
        fail(path);
    }
    is_exact = html_links_scan(scanner, utf8, &links);
    printf("%s %s\n", is_exact ? "page" : "guessed", path);
    if (links.len > 0) {
        fwrite(links.data, 1, links.len, stdout);
    }
    buf_fini(&content);
    buf_fini(&room);
    buf_fini(&decoded);
    buf_fini(&links);
}

int main(int argc, char **argv)
{
    struct html_scanner *scanner;

    if (argc == 4 && strcmp(argv[1], "--random") == 0) {
        print_random(strtoull(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
        return EXIT_SUCCESS;
    }
    if (!html_scanner_open(&scanner)) {
        fail("scanner");
    }
    for (int i = 1; i < argc; i++) {
        print_links(scanner, argv[i]);
    }
    html_scanner_close(scanner);
    return EXIT_SUCCESS;
}
