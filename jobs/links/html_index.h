/*
 * html_index.h: where the bytes of a page are that a tokenizer stops at.
 *
 *     html_index_open(&x, page)
 *     at = html_index_next(&x, HTML_LESS, at)     from any place, any kind
 *
 * The index holds bit masks of a stretch of the page and moves along with
 * the questions; going forward costs one look at every byte, whatever the
 * kinds asked for. Going back is right too, but looks again.
 *
 * The one place in this job with instructions of particular processors. A
 * path fills the masks; all paths give the same ones, the fastest that this
 * processor has is chosen at run time.
 */
#ifndef JOBS_LINKS_HTML_INDEX_H
#define JOBS_LINKS_HTML_INDEX_H

#include "base/bytes.h"

enum html_mark {
    HTML_LESS,  /* < */
    HTML_STOP,  /* blank / > = : where names and unquoted values may end */
    HTML_CLOSE, /* > " ' : where tags and quoted values may end */
    HTML_MARKS
};

enum {
    HTML_INDEX_STEP = 64,  /* bytes that one mask tells of */
    HTML_INDEX_STEPS = 64, /* a stretch of 4 KiB: its masks stay in L1 */
    HTML_INDEX_SPAN = HTML_INDEX_STEP * HTML_INDEX_STEPS
};

struct html_index {
    struct bytes page;
    size_t begin; /* the masks tell of page[begin .. begin + SPAN) */
    uint64_t masks[HTML_MARKS][HTML_INDEX_STEPS + 1]; /* the last is 0 */
};

struct html_index_path {
    const char *name;
    /* Bit i of mask j is byte 64 j + i of src; `steps` masks of each kind.
     * src is readable to the end of the last step. */
    void (*fill)(const uint8_t *src, size_t steps, struct html_index *x);
};

/* The paths this processor can take, fastest first; NULL past the last. */
const struct html_index_path *html_index_path(size_t i);

/* For tests: NULL goes back to the first. Not while other threads scan. */
void html_index_prefer(const struct html_index_path *path);

/* 64 bytes behind the page are readable. */
void html_index_open(struct html_index *x, struct bytes page);

/* Moves the masks to begin at `at`. */
void html_index_move(struct html_index *x, size_t at);

/* The first mark of that kind at or after `at`; the page's length where
 * there is none. */
static inline size_t html_index_next(struct html_index *x, enum html_mark mark,
                                     size_t at)
{
    for (;;) {
        size_t i = at - x->begin; /* huge before begin */
        const uint64_t *masks;
        uint64_t next;

        if (i >= HTML_INDEX_SPAN) {
            if (at >= x->page.len) {
                return x->page.len;
            }
            html_index_move(x, at);
            i = 0;
        }
        /* The 64 bits from i on: looking to the end of one mask only, the
         * branch below would go either way as often as not. */
        masks = x->masks[mark] + i / HTML_INDEX_STEP;
        i %= HTML_INDEX_STEP;
        next = masks[0] >> i | masks[1] << 1 << (HTML_INDEX_STEP - 1 - i);
        if (next != 0) {
            return at + (size_t)__builtin_ctzll(next);
        }
        at += HTML_INDEX_STEP - i;
    }
}

#endif
