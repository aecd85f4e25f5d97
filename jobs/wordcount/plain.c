/*
 * plain.c: the tokenizers that look at single bytes.
 *
 *   ascii       runs of [A-Za-z0-9], lowered unless case=keep
 *   whitespace  runs of anything but space, \t, \n, \v, \f, \r, as they are
 */
#include "jobs/wordcount/tokenizer.h"

static size_t ascii_separator(const struct wordcount_config *config,
                              const uint8_t *data, size_t len)
{
    (void)config;
    return is_ascii_alnum(data[len - 1]) ? 0 : 1;
}

static void ascii_block(struct mapper *m, const uint8_t *data, size_t len)
{
    const struct vector_path *vector = m->config->vector;
    const struct vector_masks masks = { m->word, m->high, m->apostrophe };
    bool keep = m->config->letter_case == CASE_KEEP;
    size_t steps = block_steps(len);
    size_t n;

    vector->classify(data, steps, keep ? NULL : m->lowered, &masks);
    block_trim(m->word, len);
    n = vector->edges(m->word, steps, m->edges);
    words_add_edges(&m->words, keep ? data : m->lowered, m->edges, n / 2);
}

const struct tokenizer tokenizer_ascii = {
    .name = "ascii",
    .separator = ascii_separator,
    .block = ascii_block,
};

static size_t blank_separator(const struct wordcount_config *config,
                              const uint8_t *data, size_t len)
{
    uint8_t last = data[len - 1];

    (void)config;
    return last == ' ' || (last >= '\t' && last <= '\r') ? 1 : 0;
}

static void whitespace_block(struct mapper *m, const uint8_t *data, size_t len)
{
    const struct vector_path *vector = m->config->vector;
    size_t steps = block_steps(len);
    size_t n;

    vector->nonblank(data, steps, m->word);
    block_trim(m->word, len);
    n = vector->edges(m->word, steps, m->edges);
    words_add_edges(&m->words, data, m->edges, n / 2);
}

const struct tokenizer tokenizer_whitespace = {
    .name = "whitespace",
    .separator = blank_separator,
    .block = whitespace_block,
};
