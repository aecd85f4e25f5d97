#include "wordcount_oracle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* A code point, or -1 for ill-formed bytes, and where it stands. */
struct unit {
    utf8proc_int32_t point;
    size_t at;
    size_t len;
};

static bool is_well_formed(const uint8_t *s, size_t len)
{
    utf8proc_int32_t c;

    return utf8proc_iterate(s, (utf8proc_ssize_t)len, &c) ==
           (utf8proc_ssize_t)len;
}

/* Whether continuation bytes can complete s to a well-formed sequence. */
static bool can_be_completed(const uint8_t *s, size_t len)
{
    static const uint8_t seconds[] = { 0x80, 0x90, 0xa0 };
    uint8_t whole[4] = { 0x80, 0x80, 0x80, 0x80 };

    memcpy(whole, s, len);
    for (size_t total = len + 1; total <= 4; total++) {
        for (size_t i = 0; i < 3; i++) {
            if (len == 1) {
                whole[1] = seconds[i];
            }
            if (is_well_formed(whole, total)) {
                return true;
            }
        }
    }
    return false;
}

static struct unit unit_at(struct bytes text, size_t at)
{
    const uint8_t *s = text.data + at;
    size_t left = text.len - at;
    struct unit u = { -1, at, 1 };

    for (size_t len = 1; len <= 4 && len <= left; len++) {
        if (is_well_formed(s, len)) {
            (void)utf8proc_iterate(s, (utf8proc_ssize_t)len, &u.point);
            u.len = len;
            return u;
        }
    }
    while (u.len < left && u.len < 3 && can_be_completed(s, u.len + 1)) {
        u.len++;
    }
    return u;
}

static char category(utf8proc_int32_t c)
{
    return *utf8proc_category_string(c < 0 ? 0 : c);
}

static bool is_apostrophe(utf8proc_int32_t c)
{
    return c == 0x27 || c == 0x2019 || c == 0x2bc;
}

static bool is_ignored(utf8proc_int32_t c)
{
    return c == 0xad || c == 0x200c || c == 0x200d || c == 0x2060 ||
           c == 0xfeff;
}

static bool is_of_word(const struct oracle_rule *rule, utf8proc_int32_t c)
{
    if (strcmp(rule->tokenizer, "ascii") == 0) {
        return c >= 0 && c < 0x80 && strchr("LN", category(c)) != NULL;
    }
    if (strcmp(rule->tokenizer, "whitespace") == 0) {
        return c != ' ' && !(c >= 9 && c <= 13);
    }
    return !is_apostrophe(c) && strchr("LMN", category(c)) != NULL;
}

static bool is_unicode(const struct oracle_rule *rule)
{
    return strcmp(rule->tokenizer, "unicode") == 0;
}

static utf8proc_option_t options(int bits)
{
    return (utf8proc_option_t)(bits | UTF8PROC_STABLE);
}

struct buf oracle_mapped(struct bytes in, int bits)
{
    uint8_t *out = NULL;
    struct buf result = { 0 };
    utf8proc_ssize_t len =
        utf8proc_map(in.data, (utf8proc_ssize_t)in.len, &out, options(bits));

    assert_true(len >= 0);
    assert_true(buf_append(&result, out, (size_t)len));
    free(out);
    return result;
}

void oracle_append_point(struct buf *out, utf8proc_int32_t c)
{
    uint8_t bytes[4];
    utf8proc_ssize_t len = utf8proc_encode_char(c, bytes);

    assert_true(buf_append(out, bytes, (size_t)len));
}

static struct buf lowered(struct bytes in)
{
    struct buf out = { 0 };

    for (size_t i = 0; i < in.len;) {
        struct unit u = unit_at(in, i);

        oracle_append_point(&out, utf8proc_tolower(u.point));
        i += u.len;
    }
    return out;
}

/* The key of a word of code points; the caller's to free. */
static struct buf key_of(const struct oracle_rule *rule, struct bytes word)
{
    struct buf first;
    struct buf second;

    if (strcmp(rule->letter_case, "keep") == 0) {
        return oracle_mapped(word, UTF8PROC_COMPOSE);
    }
    if (strcmp(rule->letter_case, "fold") == 0) {
        first = oracle_mapped(word, UTF8PROC_DECOMPOSE);
        second = oracle_mapped(buf_bytes(&first),
                               UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD);
    } else {
        struct buf composed = oracle_mapped(word, UTF8PROC_COMPOSE);

        first = lowered(buf_bytes(&composed));
        buf_fini(&composed);
        second = oracle_mapped(buf_bytes(&first), UTF8PROC_COMPOSE);
    }
    buf_fini(&first);
    return second;
}

/* What the oracle has found so far; words as pairs of a collector. */
struct oracle {
    const struct oracle_rule *rule;
    struct collector *out;
    struct buf grams[8]; /* the last words, the newest last */
    size_t have;
};

static void oracle_break(struct oracle *o)
{
    while (o->have > 0) {
        buf_fini(&o->grams[--o->have]);
    }
}

static void oracle_long(struct oracle *o)
{
    o->out->emitter.counters[0]++;
    oracle_break(o);
}

static void oracle_emit(struct oracle *o)
{
    struct buf key = { 0 };
    uint8_t slack[DF_SLACK] = { 0 };
    struct df_key list;

    for (size_t i = 0; i < o->have; i++) {
        assert_true(i == 0 || buf_append_byte(&key, ' '));
        assert_true(buf_append(&key, o->grams[i].data, o->grams[i].len));
    }
    if (key.len > DF_KEY_MAX) {
        o->out->emitter.counters[0]++;
    } else {
        list.len = key.len;
        assert_true(buf_append(&key, slack, sizeof slack));
        list.data = key.data;
        df_emit_keys(&o->out->emitter, &list, 1);
    }
    buf_fini(&key);
}

/* Takes the key over. */
static void oracle_word(struct oracle *o, struct buf key)
{
    if (key.len > DF_KEY_MAX) {
        buf_fini(&key);
        oracle_long(o);
        return;
    }
    if (o->have == o->rule->ngram) {
        buf_fini(&o->grams[0]);
        memmove(o->grams, o->grams + 1, (o->have - 1) * sizeof *o->grams);
        o->have--;
    }
    o->grams[o->have++] = key;
    if (o->have == o->rule->ngram) {
        oracle_emit(o);
    }
}

/* The words of bytes: ascii and whitespace. */
static void oracle_plain(struct oracle *o, struct bytes s)
{
    bool keep = strcmp(o->rule->tokenizer, "whitespace") == 0 ||
                strcmp(o->rule->letter_case, "keep") == 0;
    struct buf word = { 0 };

    for (size_t i = 0; i <= s.len; i++) {
        if (i < s.len && is_of_word(o->rule, s.data[i])) {
            uint8_t b = s.data[i];

            assert_true(buf_append_byte(
                &word, !keep && b >= 'A' && b <= 'Z' ? b + 32U : b));
        } else if (word.len > 0) {
            oracle_word(o, word);
            word = (struct buf){ 0 };
        }
    }
}

/* word := (L | N) (apostrophe? (L | M | N))*, over what is not ignored. */
static void oracle_points(struct oracle *o, const utf8proc_int32_t *c,
                          size_t n)
{
    size_t i = 0;

    while (i < n) {
        struct buf word = { 0 };

        if (!is_of_word(o->rule, c[i]) || category(c[i]) == 'M') {
            i++;
            continue;
        }
        oracle_append_point(&word, c[i++]);
        for (;;) {
            if (i < n && is_of_word(o->rule, c[i])) {
                oracle_append_point(&word, c[i++]);
            } else if (i + 1 < n && is_apostrophe(c[i]) &&
                       is_of_word(o->rule, c[i + 1])) {
                oracle_append_point(&word, '\'');
                i++;
            } else {
                break;
            }
        }
        oracle_word(o, key_of(o->rule, buf_bytes(&word)));
        buf_fini(&word);
    }
}

static void oracle_unicode(struct oracle *o, struct bytes s)
{
    utf8proc_int32_t *points = calloc(s.len + 1, sizeof *points);
    size_t n = 0;

    assert_non_null(points);
    for (size_t i = 0; i < s.len;) {
        struct unit u = unit_at(s, i);

        if (!is_ignored(u.point)) {
            points[n++] = u.point;
        }
        i += u.len;
    }
    oracle_points(o, points, n);
    free(points);
}

/* The bytes of the separator that ends the first i bytes, or 0. */
static size_t separator_before(const struct oracle_rule *rule, struct bytes s,
                               size_t i)
{
    if (!is_unicode(rule)) {
        return is_of_word(rule, s.data[i - 1]) ? 0 : 1;
    }
    for (size_t len = 1; len <= 4 && len <= i; len++) {
        if (is_well_formed(s.data + i - len, len)) {
            utf8proc_int32_t c = unit_at(s, i - len).point;

            return is_of_word(rule, c) || is_apostrophe(c) || is_ignored(c)
                       ? 0
                       : len;
        }
    }
    if (s.data[i - 1] > 0xf4 || s.data[i - 1] == 0xc0 ||
        s.data[i - 1] == 0xc1) {
        return 1;
    }
    for (size_t k = 1; k <= 4; k++) {
        if (i < k || (s.data[i - k] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return 1;
}

static void oracle_stretch(struct oracle *o, struct bytes s, size_t separator)
{
    if (s.len - separator > DF_KEY_MAX) {
        oracle_long(o);
    } else if (is_unicode(o->rule)) {
        oracle_unicode(o, s);
    } else {
        oracle_plain(o, s);
    }
}

void oracle_map(const struct oracle_rule *rule, struct bytes s,
                struct collector *out)
{
    struct oracle o = { .rule = rule, .out = out };
    size_t begin = 0;

    for (size_t i = 1; i <= s.len; i++) {
        size_t separator = separator_before(rule, s, i);

        if (separator > 0 || i == s.len) {
            oracle_stretch(&o, bytes_of(s.data + begin, i - begin), separator);
            begin = i;
        }
    }
    oracle_break(&o);
    for (size_t i = 0; is_unicode(rule) && i < s.len;) {
        struct unit u = unit_at(s, i);

        out->emitter.counters[1] += u.point < 0 ? u.len : 0;
        i += u.len;
    }
}

const struct oracle_rule oracle_rules[] = {
    { "unicode", "lower", 1 },   { "unicode", "fold", 1 },
    { "unicode", "keep", 1 },    { "unicode", "lower", 3 },
    { "ascii", "lower", 1 },     { "ascii", "keep", 1 },
    { "ascii", "fold", 8 },      { "whitespace", "lower", 1 },
    { "whitespace", "keep", 2 },
};
