/*
 * wordcount.c: the job's table, its options, and the way through a piece.
 *
 * tokenizer=unicode: a word is a maximal run of letters, marks and digits
 * (Unicode L, M, N) that does not begin with a mark. U+0027, U+2019 and
 * U+02BC between two such characters are an inner apostrophe, written `'`;
 * two in a row end the word. U+00AD, U+200C, U+200D, U+2060 and U+FEFF are
 * ignored wherever they stand. Bytes that are not UTF-8 separate words and
 * are counted. normal.h says how keys are lowered and composed.
 * tokenizer=ascii, whitespace: see plain.c.
 *
 * Long words. A stretch between two separators (tokenizer.h) that is longer
 * than DF_KEY_MAX holds a word too long for a key: what it holds is left out
 * and counted once, in the piece where it begins. So is a word, or an
 * n-gram, whose key would be longer. N-grams do not reach across what is
 * left out.
 */
#include "jobs/wordcount/wordcount.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "jobs/wordcount/tokenizer.h"

enum { OPTION_CASE, OPTION_NGRAM, OPTION_TOKENIZER };

static const struct df_option options[] = {
    [OPTION_CASE] = { .name = "case",
                      .initial = "lower",
                      .values = "lower|fold|keep",
                      .help = "letter case of words; whitespace always keeps "
                              "it" },
    [OPTION_NGRAM] = { .name = "ngram",
                       .initial = "1",
                       .values = "1..8",
                       .help = "words per key, joined by a space" },
    [OPTION_TOKENIZER] = { .name = "tokenizer",
                           .initial = "unicode",
                           .values = "unicode|ascii|whitespace",
                           .help = "what a word is" },
    { 0 },
};

static const char *const components[] = { "count", NULL };

static const char *const counters[] = {
    [WORDS_COUNT_LONG] = "long_words",
    [WORDS_COUNT_BAD] = "bad_bytes",
    NULL,
};

static enum df_status refuse(struct df_error *err,
                             const struct df_settings *settings, size_t i)
{
    struct shown value = { { 0 } };

    return error_set(err, DF_USAGE, "option '%s': '%s' is not one of %s",
                     options[i].name,
                     shown(&value, bytes_of_string(settings->values[i])),
                     options[i].values);
}

static bool parse_case(const char *value, enum letter_case *letter_case)
{
    static const char *const names[] = {
        [CASE_LOWER] = "lower",
        [CASE_FOLD] = "fold",
        [CASE_KEEP] = "keep",
    };

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(value, names[i]) == 0) {
            *letter_case = (enum letter_case)i;
            return true;
        }
    }
    return false;
}

static bool parse_tokenizer(const char *value,
                            const struct tokenizer **tokenizer)
{
    static const struct tokenizer *const all[] = {
        &tokenizer_unicode,
        &tokenizer_ascii,
        &tokenizer_whitespace,
        NULL,
    };

    for (size_t i = 0; all[i] != NULL; i++) {
        if (strcmp(value, all[i]->name) == 0) {
            *tokenizer = all[i];
            return true;
        }
    }
    return false;
}

/* One way to write each number: definitions are compared as text. */
static bool parse_ngram(const char *value, unsigned *ngram)
{
    if (value[0] < '1' || value[0] > '0' + WORDS_NGRAM_MAX ||
        value[1] != '\0') {
        return false;
    }
    *ngram = (unsigned)(value[0] - '0');
    return true;
}

static enum df_status parse(const struct df_settings *settings,
                            struct wordcount_config *config,
                            struct df_error *err)
{
    const char *const *values = settings->values;

    if (!parse_case(values[OPTION_CASE], &config->letter_case)) {
        return refuse(err, settings, OPTION_CASE);
    }
    if (!parse_ngram(values[OPTION_NGRAM], &config->ngram)) {
        return refuse(err, settings, OPTION_NGRAM);
    }
    if (!parse_tokenizer(values[OPTION_TOKENIZER], &config->tokenizer)) {
        return refuse(err, settings, OPTION_TOKENIZER);
    }
    return DF_OK;
}

static void release(void *opaque)
{
    struct wordcount_config *config = opaque;

    if (config == NULL) {
        return;
    }
    if (config->characters != NULL) {
        characters_fini(config->characters);
        free(config->characters);
    }
    free(config);
}

static bool load_characters(struct wordcount_config *config)
{
    config->characters = calloc(1, sizeof *config->characters);
    return config->characters != NULL &&
           characters_init(config->characters, config->letter_case);
}

static enum df_status configure(const struct df_settings *settings,
                                void **opaque, struct df_error *err)
{
    struct wordcount_config *config = calloc(1, sizeof *config);
    enum df_status st;

    if (config == NULL) {
        return error_no_memory(err);
    }
    config->vector = vector_best();
    st = parse(settings, config, err);
    if (st == DF_OK && config->tokenizer == &tokenizer_unicode &&
        !load_characters(config)) {
        st = error_no_memory(err);
    }
    if (st != DF_OK) {
        release(config);
        return st;
    }
    *opaque = config;
    return DF_OK;
}

static enum df_pieces pieces(const void *opaque)
{
    const struct wordcount_config *config = opaque;

    return config->ngram == 1 ? DF_PIECES_FREE : DF_PIECES_ORDERED;
}

/* The end of the first separator, 0 where there is none. */
static size_t cut(const void *opaque, const uint8_t *data, size_t len)
{
    const struct wordcount_config *config = opaque;

    for (size_t c = 1; c <= len; c++) {
        if (config->tokenizer->separator(config, data, c) != 0) {
            return c;
        }
    }
    return 0;
}

/* The end of the last separator, 0 where there is none. */
static size_t last_cut(const struct wordcount_config *config,
                       const uint8_t *data, size_t len)
{
    size_t c = len;

    while (c > 0 && config->tokenizer->separator(config, data, c) == 0) {
        c--;
    }
    return c;
}

static enum df_status mapper_open(const void *config, void **opaque,
                                  struct df_error *err)
{
    struct mapper *m = calloc(1, sizeof *m);

    if (m == NULL) {
        return error_no_memory(err);
    }
    m->config = config;
    words_init(&m->words, m->config->ngram, m->config->vector);
    *opaque = m;
    return DF_OK;
}

static void mapper_close(void *opaque)
{
    struct mapper *m = opaque;

    if (m != NULL) {
        normal_fini(&m->normal);
        words_fini(&m->words);
        free(m);
    }
}

static void leave_out(struct mapper *m, const uint8_t *data, size_t len)
{
    words_left_out(&m->words);
    if (m->config->tokenizer->left_out != NULL) {
        m->config->tokenizer->left_out(m, data, len);
    }
}

/* One stretch that is longer than a block: alone, or left out. Returns its
 * length with its separator. */
static size_t map_stretch(struct mapper *m, const uint8_t *data, size_t len,
                          bool unfinished)
{
    const struct wordcount_config *config = m->config;
    size_t end = cut(config, data, len);
    size_t stretch;

    if (end == 0) {
        end = len;
        stretch = len;
    } else {
        stretch = end - config->tokenizer->separator(config, data, end);
        unfinished = false;
    }
    if (stretch > DF_KEY_MAX || unfinished) {
        leave_out(m, data, end);
        df_count(m->words.emitter, WORDS_COUNT_LONG, 1);
    } else {
        config->tokenizer->block(m, data, end);
        words_flush(&m->words);
    }
    return end;
}

/* Whole stretches, as many as fit a block. Returns how many bytes. */
static size_t map_block(struct mapper *m, const uint8_t *data, size_t len,
                        bool unfinished)
{
    size_t end = len;

    if (len > BLOCK_SIZE || unfinished) {
        end = last_cut(m->config, data, len < BLOCK_SIZE ? len : BLOCK_SIZE);
    }
    if (end == 0) {
        return map_stretch(m, data, len, unfinished);
    }
    m->config->tokenizer->block(m, data, end);
    words_flush(&m->words);
    return end;
}

static void map(void *opaque, const struct df_piece *piece,
                struct df_emitter *emitter)
{
    struct mapper *m = opaque;
    size_t at = 0;

    words_begin(&m->words, emitter, piece->first);
    if (piece->continues) {
        /* The rest of what was counted where it began. */
        size_t end = cut(m->config, piece->data, piece->len);

        at = end == 0 ? piece->len : end;
        leave_out(m, piece->data, at);
    }
    while (at < piece->len && emitter->status == DF_OK) {
        at +=
            map_block(m, piece->data + at, piece->len - at, piece->unfinished);
    }
}

const struct df_job wordcount_job = {
    .name = "wordcount",
    .summary = "how often each word, or n-gram of words, occurs",
    .version = 1,
    .options = options,
    .has_element = false,
    .components = components,
    .counters = counters,
    .configure = configure,
    .release = release,
    .pieces = pieces,
    .cut = cut,
    .mapper_open = mapper_open,
    .mapper_close = mapper_close,
    .map = map,
};
