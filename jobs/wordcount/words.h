/*
 * words.h: from words to pairs. Collects the words of a document in order,
 * joins n of them where n-grams are counted, and hands keys to the emitter
 * in lists.
 *
 *     words_init(&w, ngram, path);
 *     words_begin(&w, emitter, first);         per piece
 *       words_add / words_add_edges ...
 *       words_left_out(&w);                    where a word is missing
 *       words_flush(&w);                       before words' bytes move
 *     words_fini(&w);                          safe on zeroed memory
 *
 * Words are borrowed until the next words_flush; DF_SLACK bytes behind each
 * are readable. Belongs to one thread.
 */
#ifndef JOBS_WORDCOUNT_WORDS_H
#define JOBS_WORDCOUNT_WORDS_H

#include "base/buf.h"
#include "jobs/wordcount/vector.h"

enum {
    WORDS_LIST = 512,    /* keys in a list: long enough to overlap the cache
                            misses of look-ups, short enough to stay in the
                            first-level cache beside what they are made of */
    WORDS_NGRAM_MAX = 8, /* most words of an n-gram */
};

/* Numbers of the job's counters. */
enum { WORDS_COUNT_LONG, WORDS_COUNT_BAD };

struct words {
    struct df_emitter *emitter; /* of the current piece */
    const struct vector_path *vector;
    unsigned ngram; /* words per key */
    size_t count;   /* words in list */
    struct df_key list[WORDS_LIST + VECTOR_KEYS_SLACK];

    /* For n-grams: words with a space behind each, so that every n-gram is
     * a stretch of it. Between flushes it holds the last ngram - 1 words. */
    struct buf joined;
    size_t joined_count;
    size_t begins[WORDS_LIST + WORDS_NGRAM_MAX];
    size_t ends[WORDS_LIST + WORDS_NGRAM_MAX];
};

void words_init(struct words *w, unsigned ngram,
                const struct vector_path *vector);
void words_fini(struct words *w);

/* first: a document begins; n-grams do not reach back beyond it. */
void words_begin(struct words *w, struct df_emitter *emitter, bool first);

/* n words: base[edges[2i] .. edges[2i + 1]). */
void words_add_edges(struct words *w, const uint8_t *base,
                     const uint32_t *edges, size_t n);

void words_flush(struct words *w);

/* Here a word is left out: no n-gram reaches across. */
void words_left_out(struct words *w);

static inline void words_add(struct words *w, const uint8_t *data, size_t len)
{
    w->list[w->count++] = (struct df_key){ data, len };
    if (w->count == WORDS_LIST) {
        words_flush(w);
    }
}

#endif
