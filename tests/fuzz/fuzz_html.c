/*
 * fuzz_html.c: any bytes through the way from a page to its links.
 *
 * Beyond what the sanitizers see: all vector paths find the same links, in
 * the page and in the page moved by some bytes.
 */
#include <stdlib.h>

#include "deltafold/job.h"
#include "jobs/links/encoding.h"
#include "jobs/links/html.h"
#include "jobs/links/html_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    size_t links;
    uint64_t sum; /* of what they say */
};

static void add(struct seen *seen, struct bytes href, unsigned kind)
{
    seen->links++;
    seen->sum = seen->sum * 31 + kind;
    for (size_t i = 0; i < href.len; i++) {
        seen->sum = seen->sum * 31 + href.data[i];
    }
}

static void take_base(void *ctx, struct bytes href)
{
    add(ctx, href, 0);
}

static void take_link(void *ctx, struct bytes href, bool nofollow)
{
    add(ctx, href, nofollow ? 1 : 2);
}

static void must(bool is_right)
{
    if (!is_right) {
        abort();
    }
}

static struct seen scan(struct html_scanner *s, struct bytes page)
{
    struct seen seen = { 0 };
    const struct html_handler handler = { take_base, take_link, &seen };

    must(html_scan(s, page, &handler));
    return seen;
}

/* The page behind some blanks, with its slack and not a byte more. */
static uint8_t *moved(struct bytes page, size_t blanks)
{
    uint8_t *copy = malloc(blanks + page.len + DF_SLACK);

    must(copy != NULL);
    memset(copy, ' ', blanks);
    if (page.len > 0) {
        memcpy(copy + blanks, page.data, page.len);
    }
    memset(copy + blanks + page.len, '>', DF_SLACK);
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *page = moved(bytes_of(data, size), 0);
    struct buf room = { 0 };
    struct html_scanner *s;
    struct bytes utf8;
    struct seen first;

    must(html_scanner_open(&s));
    must(encoding_to_utf8(bytes_of(page, size), &room, &utf8));
    (void)html_looks_like(utf8);
    first = scan(s, utf8);
    for (size_t i = 0; html_index_path(i) != NULL; i++) {
        size_t blanks = HTML_INDEX_STEP * 2 * i + 1;
        uint8_t *copy = moved(utf8, blanks);
        struct seen again;

        html_index_prefer(html_index_path(i));
        again = scan(s, bytes_of(copy, blanks + utf8.len));
        must(again.links == first.links && again.sum == first.sum);
        free(copy);
    }
    html_index_prefer(NULL);
    html_scanner_close(s);
    buf_fini(&room);
    free(page);
    return 0;
}
