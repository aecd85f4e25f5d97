#include "jobs/wordcount/words.h"

#include <assert.h>

void words_init(struct words *w, unsigned ngram,
                const struct vector_path *vector)
{
    assert(ngram >= 1 && ngram <= WORDS_NGRAM_MAX);
    w->ngram = ngram;
    w->vector = vector;
    w->count = 0;
    w->joined = (struct buf){ 0 };
    w->joined_count = 0;
}

void words_fini(struct words *w)
{
    buf_fini(&w->joined);
}

/* Forgets the words that the next n-gram would begin with. */
static void forget(struct words *w)
{
    buf_reset(&w->joined);
    w->joined_count = 0;
}

void words_begin(struct words *w, struct df_emitter *emitter, bool first)
{
    assert(w->count == 0);
    w->emitter = emitter;
    if (first) {
        forget(w);
    }
}

void words_add_edges(struct words *w, const uint8_t *base,
                     const uint32_t *edges, size_t n)
{
    while (n > 0) {
        size_t room = WORDS_LIST - w->count;
        size_t take = n < room ? n : room;

        w->vector->keys(base, edges, take, w->list + w->count);
        w->count += take;
        edges += 2 * take;
        n -= take;
        if (w->count == WORDS_LIST) {
            words_flush(w);
        }
    }
}

/* Moves the listed words behind the joined ones. */
static bool join(struct words *w)
{
    size_t bytes = DF_SLACK;

    for (size_t i = 0; i < w->count; i++) {
        bytes += w->list[i].len + 1;
    }
    if (!buf_reserve(&w->joined, bytes)) {
        return false;
    }
    for (size_t i = 0; i < w->count; i++) {
        const struct df_key *word = &w->list[i];
        uint8_t *to = w->joined.data + w->joined.len;

        memcpy(to, word->data, word->len);
        to[word->len] = ' ';
        w->begins[w->joined_count] = w->joined.len;
        w->ends[w->joined_count] = w->joined.len + word->len;
        w->joined_count++;
        w->joined.len += word->len + 1;
    }
    return true;
}

/* Lists the n-grams of the joined words. */
static void list_ngrams(struct words *w)
{
    size_t listed = 0;

    for (size_t i = 0; i + w->ngram <= w->joined_count; i++) {
        size_t begin = w->begins[i];
        size_t len = w->ends[i + w->ngram - 1] - begin;

        if (len > DF_KEY_MAX) {
            df_count(w->emitter, WORDS_COUNT_LONG, 1);
            continue;
        }
        w->list[listed++] = (struct df_key){ w->joined.data + begin, len };
    }
    w->count = listed;
}

/* Keeps the last ngram - 1 of the joined words, moved to the front. */
static void keep_last(struct words *w)
{
    size_t keep = w->ngram - 1U;
    size_t drop = w->joined_count > keep ? w->joined_count - keep : 0;
    size_t offset;

    if (drop == 0) {
        return;
    }
    offset = w->begins[drop];
    w->joined_count = keep;
    w->joined.len -= offset;
    memmove(w->joined.data, w->joined.data + offset, w->joined.len);
    for (size_t i = 0; i < keep; i++) {
        w->begins[i] = w->begins[i + drop] - offset;
        w->ends[i] = w->ends[i + drop] - offset;
    }
}

void words_flush(struct words *w)
{
    if (w->count == 0) {
        return;
    }
    if (w->ngram == 1) {
        df_emit_keys(w->emitter, w->list, w->count);
    } else if (join(w)) {
        list_ngrams(w);
        df_emit_keys(w->emitter, w->list, w->count);
        keep_last(w);
    } else {
        w->emitter->status = DF_SYSTEM;
    }
    w->count = 0;
}

void words_left_out(struct words *w)
{
    words_flush(w);
    forget(w);
}
