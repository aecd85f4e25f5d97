/*
 * unicode.c: words as Unicode sees them.
 *
 * Two passes over a block. The first sees bytes, 64 at a time: it lowers
 * ASCII letters and finds *runs*, in which bytes from 0x80 on stand for
 * whatever they may turn out to be. A run without such bytes is a word. The
 * second pass spells the others code point by code point.
 *
 * Runs end at ASCII separators and at apostrophes that have a separator, or
 * another apostrophe, on either side. At such places no word is open and no
 * apostrophe waits for its second letter, so each run can be spelled alone:
 *
 *     don't 'caf<C3 A9>' rock''n  ->  don't | caf<C3 A9> | rock | n
 *
 * An apostrophe between letters, or beside bytes from 0x80 on, is of the
 * run; for the latter the second pass decides.
 */
#include <utf8proc.h>

#include "base/utf8.h"
#include "jobs/wordcount/tokenizer.h"

/*
 * A separator is what its own bytes show to be one, seen from either side:
 * an ASCII separator (the apostrophe is none), a well-formed separator of
 * several bytes, a byte that UTF-8 never has, or a fourth continuation byte
 * in a row. Other ill-formed bytes separate words too, but whether they are
 * ill-formed depends on what follows.
 */
static size_t unicode_separator(const struct wordcount_config *config,
                                const uint8_t *data, size_t len)
{
    uint8_t last = data[len - 1];
    size_t back = 1;
    uint32_t point;

    if (last < 0x80) {
        return is_ascii_alnum(last) || last == '\'' ? 0 : 1;
    }
    if (!utf8_is_continuation(last)) {
        return utf8_is_never(last) ? 1 : 0;
    }
    while (back < len && back < SEPARATOR_MAX &&
           utf8_is_continuation(data[len - back])) {
        back++;
    }
    if (utf8_is_continuation(data[len - back])) {
        return back == SEPARATOR_MAX ? 1 : 0;
    }
    if (utf8_decode(data + len - back, back, &point) != back ||
        point == UTF8_BAD) {
        return 0;
    }
    return (characters_entry(config->characters, point) & CHARACTER_CLASS) ==
                   CHARACTER_SEPARATOR
               ? back
               : 0;
}

/* A word while it is spelled. */
struct spelling {
    bool open;           /* there is a word */
    bool apostrophe;     /* one that waits for what follows */
    bool slow;           /* the key is not what is spelled */
    uint32_t combining;  /* the mark before, if it combines, else 0 */
    const uint8_t *from; /* source: first byte, one past the last */
    const uint8_t *to;
    uint8_t *out; /* behind the key so far */
};

static bool combines_before(uint32_t a, uint32_t b)
{
    return utf8proc_get_property((utf8proc_int32_t)a)->combining_class <=
           utf8proc_get_property((utf8proc_int32_t)b)->combining_class;
}

/* The source without what is ignored, with one kind of apostrophe. */
static bool clean(struct mapper *m, const uint8_t *from, const uint8_t *to)
{
    struct buf *text = &m->normal.text;

    buf_reset(text);
    if (!buf_reserve(text, (size_t)(to - from))) {
        return false;
    }
    while (from < to) {
        uint32_t point;
        size_t len = utf8_decode(from, (size_t)(to - from), &point);
        uint32_t entry = characters_entry(m->config->characters, point);

        if ((entry & CHARACTER_CLASS) == CHARACTER_APOSTROPHE) {
            text->data[text->len++] = '\'';
        } else if ((entry & CHARACTER_CLASS) != CHARACTER_IGNORED) {
            memcpy(text->data + text->len, from, len);
            text->len += len;
        }
        from += len;
    }
    return true;
}

static void add_spelled(struct mapper *m, size_t len)
{
    if (len > DF_KEY_MAX) {
        words_left_out(&m->words);
        df_count(m->words.emitter, WORDS_COUNT_LONG, 1);
        return;
    }
    words_add(&m->words, m->spelled + m->spelled_len, len);
    m->spelled_len += len;
}

static void add_slow(struct mapper *m, const struct spelling *w)
{
    const struct buf *text = &m->normal.text;

    if (!clean(m, w->from, w->to) ||
        !normal_apply(&m->normal, m->config->letter_case)) {
        m->words.emitter->status = DF_SYSTEM;
        return;
    }
    if (text->len <= DF_KEY_MAX) {
        memcpy(m->spelled + m->spelled_len, text->data, text->len);
    }
    add_spelled(m, text->len);
}

static inline void close_word(struct mapper *m, struct spelling *w)
{
    if (!w->open) {
        return;
    }
    if (w->slow) {
        add_slow(m, w);
    } else {
        add_spelled(m, (size_t)(w->out - (m->spelled + m->spelled_len)));
    }
    w->open = false;
    w->apostrophe = false;
}

static inline void open_word(struct mapper *m, struct spelling *w,
                             const uint8_t *from)
{
    if (m->spelled_len > SPELLED_SIZE - SPELLED_ROOM) {
        words_flush(&m->words);
        m->spelled_len = 0;
    }
    *w = (struct spelling){ .open = true,
                            .from = from,
                            .out = m->spelled + m->spelled_len };
}

/* Shares that are not just the character's bytes, and marks' order. */
static inline void spell_special(struct spelling *w, const uint8_t *s,
                                 size_t len, uint32_t point, uint32_t entry)
{
    if ((entry & CHARACTER_COMBINING) != 0) {
        w->slow = w->slow ||
                  (w->combining != 0 && !combines_before(w->combining, point));
        w->combining = point;
    } else {
        w->combining = 0;
    }
    w->slow = w->slow || (entry & CHARACTER_SLOW) != 0;
    if ((entry & CHARACTER_MAPPED) != 0) {
        size_t share = (entry >> CHARACTER_LENGTH_SHIFT & 3) + 1;
        uint8_t *at = w->out + (share == 4);

        w->out[0] = s[0];
        at[0] = (uint8_t)(entry >> CHARACTER_BYTES_SHIFT);
        at[1] = (uint8_t)(entry >> (CHARACTER_BYTES_SHIFT + 8));
        at[2] = (uint8_t)(entry >> (CHARACTER_BYTES_SHIFT + 16));
        w->out += share;
    } else {
        memcpy(w->out, s, 4);
        w->out += len;
    }
    w->to = s + len;
}

static inline void spell(struct mapper *m, struct spelling *w,
                         const uint8_t *s, size_t len, uint32_t point,
                         uint32_t entry)
{
    if (!w->open) {
        open_word(m, w, s);
    }
    if (w->apostrophe) {
        *w->out++ = '\'';
        w->apostrophe = false;
        w->combining = 0;
    }
    if (entry == CHARACTER_WORD) {
        /* Up to three bytes too many; s has slack, and so has out. */
        memcpy(w->out, s, 4);
        w->out += len;
        w->combining = 0;
        w->to = s + len;
    } else {
        spell_special(w, s, len, point, entry);
    }
}

/* Goes on with a word over plain letters and digits, which is most of what
 * words are; returns where something else stands. The loop is what spell does
 * in general, without a look at what such characters cannot bring about. */
static inline const uint8_t *spell_plain(const struct characters *c,
                                         struct spelling *w, const uint8_t *s,
                                         const uint8_t *end)
{
    uint8_t *out = w->out;

    while (s < end) {
        if (s[0] < 0x80) {
            uint8_t share = c->one[s[0]];

            if (share == 0) {
                break;
            }
            *out++ = share;
            s++;
        } else if (s[0] < 0xe0) {
            uint16_t share;

            if (s[0] < 0xc2 || end - s < 2 || (s[1] & 0xc0) != 0x80 ||
                (share = c->two[(s[0] & 0x1fU) << 6 | (s[1] & 0x3fU)]) == 0) {
                break;
            }
            out[0] = (uint8_t)share;
            out[1] = (uint8_t)(share >> 8);
            out += 2;
            s += 2;
        } else {
            uint32_t point;
            size_t len = utf8_decode(s, (size_t)(end - s), &point);

            if (point == UTF8_BAD ||
                characters_entry(c, point) != CHARACTER_WORD) {
                break;
            }
            memcpy(out, s, 4);
            out += len;
            s += len;
        }
    }
    if (out != w->out) {
        w->out = out;
        w->to = s;
        w->combining = 0;
    }
    return s;
}

/* Adds the words of a run. Marks before a word's first letter are passed
 * over: a word does not begin with one. */
static void spell_run(struct mapper *m, const uint8_t *s, const uint8_t *end)
{
    const struct characters *characters = m->config->characters;
    struct spelling w = { 0 };
    size_t len;

    for (; s < end; s += len) {
        uint32_t point;
        uint32_t entry = CHARACTER_SEPARATOR;

        if (w.open && !w.apostrophe) {
            s = spell_plain(characters, &w, s, end);
            if (s == end) {
                break;
            }
        }
        len = utf8_decode(s, (size_t)(end - s), &point);
        if (point != UTF8_BAD) {
            entry = characters_entry(characters, point);
        } else {
            df_count(m->words.emitter, WORDS_COUNT_BAD, len);
        }
        switch (entry & CHARACTER_CLASS) {
        case CHARACTER_WORD:
            spell(m, &w, s, len, point, entry);
            break;
        case CHARACTER_MARK:
            if (w.open) {
                spell(m, &w, s, len, point, entry);
            }
            break;
        case CHARACTER_APOSTROPHE:
            if (w.apostrophe) {
                close_word(m, &w);
            } else {
                w.apostrophe = w.open;
            }
            break;
        case CHARACTER_IGNORED:
            break;
        default:
            close_word(m, &w);
            break;
        }
    }
    close_word(m, &w);
}

/* Turns the masks of word bytes into masks of runs. */
static void mark_runs(struct mapper *m, size_t steps)
{
    uint64_t before = 0; /* in bit 0: the byte before may be of a word */
    uint64_t bytes = m->word[0] | m->high[0];

    for (size_t i = 0; i < steps; i++) {
        uint64_t next = i + 1 < steps ? m->word[i + 1] | m->high[i + 1] : 0;
        uint64_t inner = m->apostrophe[i] & (bytes << 1 | before) &
                         (bytes >> 1 | next << 63);

        m->word[i] = bytes | inner;
        before = bytes >> 63;
        bytes = next;
    }
}

/* The first set bit at or behind `from`; `end` where there is none. */
static inline size_t next_bit(const uint64_t *masks, size_t from, size_t end)
{
    size_t i = from / VECTOR_STEP;
    uint64_t bits = masks[i] & ~UINT64_C(0) << (from % VECTOR_STEP);

    while (bits == 0) {
        if (++i * VECTOR_STEP >= end) {
            return end;
        }
        bits = masks[i];
    }
    return i * VECTOR_STEP + (size_t)__builtin_ctzll(bits);
}

/* Adds the words of n / 2 runs: those of ASCII as they stand in ascii, the
 * others spelled from data. */
static void add_runs(struct mapper *m, const uint8_t *data, size_t len,
                     const uint8_t *ascii, size_t n)
{
    const uint32_t *edges = m->edges;
    size_t i = 0;

    while (i < n) {
        size_t high = next_bit(m->high, edges[i], len);
        size_t k = high == len ? n : i;

        while (k < n && edges[k + 1] <= high) {
            k += 2;
        }
        words_add_edges(&m->words, ascii, edges + i, (k - i) / 2);
        if (k < n) {
            spell_run(m, data + edges[k], data + edges[k + 1]);
            k += 2;
        }
        i = k;
    }
}

static void unicode_block(struct mapper *m, const uint8_t *data, size_t len)
{
    const struct vector_path *vector = m->config->vector;
    const struct vector_masks masks = { m->word, m->high, m->apostrophe };
    bool keep = m->config->letter_case == CASE_KEEP;
    size_t steps = block_steps(len);
    size_t n;

    m->spelled_len = 0;
    vector->classify(data, steps, keep ? NULL : m->lowered, &masks);
    block_trim(m->word, len);
    block_trim(m->high, len);
    block_trim(m->apostrophe, len);
    mark_runs(m, steps);
    n = vector->edges(m->word, steps, m->edges);
    add_runs(m, data, len, keep ? data : m->lowered, n);
}

static void unicode_left_out(struct mapper *m, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len;) {
        uint32_t point;
        size_t bytes = utf8_decode(data + i, len - i, &point);

        if (point == UTF8_BAD) {
            df_count(m->words.emitter, WORDS_COUNT_BAD, bytes);
        }
        i += bytes;
    }
}

const struct tokenizer tokenizer_unicode = {
    .name = "unicode",
    .separator = unicode_separator,
    .block = unicode_block,
    .left_out = unicode_left_out,
};
