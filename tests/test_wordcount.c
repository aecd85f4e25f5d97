/*
 * Words that are known, long words, and places to cut.
 */
#include "wordcount_subject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static void append_bytes(struct buf *out, const char *s)
{
    assert_true(buf_append_string(out, s));
}

static uint64_t new_seed(void)
{
    uint64_t seed = (uint64_t)time(NULL);

    print_message("seed %llu\n", (unsigned long long)seed);
    return seed;
}

/* ---- words given ---- */

#define LIT(s) bytes_of(s, sizeof(s) - 1)
#define TEXT(s)                                                               \
    {                                                                         \
        (const uint8_t *)(s), sizeof(s) - 1                                   \
    }

static void check_words(const struct oracle_rule *rule, struct bytes text,
                        const char *words)
{
    struct subject s;
    struct buf found = { 0 };

    subject_open(&s, rule);
    subject_check(&s, rule, text);
    for (size_t i = 0; i < s.out.count; i++) {
        struct bytes key = collector_key(&s.out, i);

        assert_true(i == 0 || buf_append_byte(&found, '|'));
        assert_true(buf_append(&found, key.data, key.len));
    }
    assert_true(buf_append_byte(&found, '\0'));
    assert_string_equal((const char *)found.data, words);
    buf_fini(&found);
    subject_close(&s);
}

static void cases_give_the_words_that_are_known(void **state)
{
    static const struct {
        struct bytes text;
        const char *words;
    } cases[] = {
        /* A01: three kinds of apostrophe */
        { TEXT("don't don\xe2\x80\x99t don\xca\xbct DON'T "
               "'quoted' rock \xe2\x80\x99n\xe2\x80\x99 roll "
               "dogs' o'clock\n"),
          "don't|don't|don't|don't|quoted|rock|n|roll|dogs|o'clock" },
        /* A03: sharp s */
        { TEXT("STRASSE Stra\xc3\x9f"
               "e STRA\xe1\xba\x9e"
               "E stra\xc3\x9f"
               "e strasse\n"),
          "strasse|stra\xc3\x9f"
          "e|stra\xc3\x9f"
          "e|stra\xc3\x9f"
          "e|strasse" },
        /* A04: final sigma */
        { TEXT("\xce\x9f\xce\x94\xce\x9f\xce\xa3 "
               "\xce\xbf\xce\xb4\xce\xbf\xcf\x82 "
               "\xce\xbf\xce\xb4\xce\xbf\xcf\x83 "
               "\xce\x9f\xce\xb4\xce\xbf\xcf\x82\n"),
          "\xce\xbf\xce\xb4\xce\xbf\xcf\x83|\xce\xbf\xce\xb4\xce\xbf\xcf\x82|"
          "\xce\xbf\xce\xb4\xce\xbf\xcf\x83|"
          "\xce\xbf\xce\xb4\xce\xbf\xcf\x82" },
        /* A05: composed and decomposed */
        { TEXT("caf\xc3\xa9 CAF\xc3\x89 cafe\xcc\x81 "
               "CAFE\xcc\x81"),
          "caf\xc3\xa9|caf\xc3\xa9|caf\xc3\xa9|caf\xc3\xa9" },
        /* A07: bytes that are not UTF-8 */
        { TEXT("alpha \xff beta\xfegamma \xc3( delta "
               "\xe2\x82 omega \xf0\x9f\x98 zeta a\xc0\xaf"
               "b c\xed\xa0\x80"
               "d last\n"),
          "alpha|beta|gamma|delta|omega|zeta|a|b|c|d|last" },
        /* A09: no spaces, ideographic space, middle dot */
        { TEXT("\xe4\xbb\x8a\xe6\x97\xa5 one "
               "\xe3\x83\x96\xe3\x80\x80\xe3\x82\xaa "
               "\xe3\x83\x96\xe3\x83\xbb\xe3\x82\xaa\n"),
          "\xe4\xbb\x8a\xe6\x97\xa5|one|\xe3\x83\x96|\xe3\x82\xaa|"
          "\xe3\x83\x96|\xe3\x82\xaa" },
        /* A10: dashes */
        { TEXT("well-known is\xe2\x80\x94"
               "a test decent--let rock'n'roll "
               "\xe2\x80\x93x- 1908\xe2\x80\x93"
               "1914 co-\noperate\n"),
          "well|known|is|a|test|decent|let|rock'n'roll|x|1908|1914|co|"
          "operate" },
        /* A12: NUL bytes */
        { TEXT("one\0 two three\0\nfour\0five six\n\0\nseven\0"),
          "one|two|three|four|five|six|seven" },
        /* A14: U+FEFF in front and inside */
        { TEXT("\xef\xbb\xbf"
               "apple pine\xef\xbb\xbf"
               "apple\n\xef\xbb\xbf"),
          "apple|pineapple" },
        /* A17: CR, CRLF, vertical tab, form feed */
        { TEXT("red green\rblue red\r\ngreen\rred\vgreen\f"
               "blue\n"),
          "red|green|blue|red|green|red|green|blue" },
        /* A20: blank documents */
        { TEXT(""), "" },
        { TEXT("\n"), "" },
        { TEXT(" \t\n\n"), "" },
        { TEXT("word"), "word" },
        /* Apostrophes and marks at the edges of the rules. */
        { TEXT("a''b c'\xc2\xad'd e'\xc2\xad"
               "f '\xcc\x81g h'\xcc\x81 "
               "\xcc\x81i'"),
          "a|b|c|d|e'f|g|h'\xcc\x81|i" },
        /* U+0130 by the simple mapping, however it is written. */
        { TEXT("\xc4\xb0 I\xcc\x87"), "i|i" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_words(&oracle_rules[0], cases[i].text, cases[i].words);
    }
}

static void letter_case_is_as_asked(void **state)
{
    static const struct oracle_rule fold = { "unicode", "fold", 1 };
    static const struct oracle_rule keep = { "unicode", "keep", 1 };
    static const struct oracle_rule ascii = { "ascii", "lower", 1 };
    static const struct oracle_rule blanks = { "whitespace", "lower", 1 };

    (void)state;
    check_words(&fold, LIT("STRASSE Stra\xc3\x9f"), "strasse|strass");
    check_words(&fold, LIT("\xce\xa3 \xcf\x82"), "\xcf\x83|\xcf\x83");
    check_words(&keep, LIT("Cafe\xcc\x81 ABC"), "Caf\xc3\xa9|ABC");
    check_words(&ascii, LIT("It's A1_b\xc3\xa9X"), "it|s|a1|b|x");
    check_words(&blanks, LIT(" It's\tA\0b\xff\v"), "It's|A");
}

static void ngrams_are_joined_within_a_document(void **state)
{
    static const struct oracle_rule two = { "unicode", "lower", 2 };
    struct subject s;

    (void)state;
    check_words(&two, LIT("A b, c"), "a b|b c");
    check_words(&two, LIT("alone"), "");
    subject_open(&s, &two);
    subject_map(&s, LIT("one two "), true, false, false);
    subject_map(&s, LIT("three"), false, false, false);
    subject_map(&s, LIT("four five"), true, false, false);
    assert_int_equal(s.out.count, 3);
    assert_true(bytes_equal(collector_key(&s.out, 1), LIT("two three")));
    assert_true(bytes_equal(collector_key(&s.out, 2), LIT("four five")));
    subject_close(&s);
}

/* ---- long words ---- */

static void append_many(struct buf *out, const char *what, size_t times)
{
    while (times-- > 0) {
        append_bytes(out, what);
    }
}

static void words_as_long_as_a_key_may_be_are_kept(void **state)
{
    static const struct {
        const char *unit;
        size_t times;
        const char *behind;
        uint64_t left_out;
    } cases[] = {
        { "a", DF_KEY_MAX, "", 0 },
        { "a", DF_KEY_MAX, " ", 0 },
        { "a", DF_KEY_MAX + 1, "", 1 },
        { "a", DF_KEY_MAX + 1, " ", 1 },
        { "a", DF_KEY_MAX, "\xe3\x80\x80", 0 },
        { "a", DF_KEY_MAX + 1, "\xe3\x80\x80", 1 },
        { "\xc3\xa9", DF_KEY_MAX / 2, "\n", 0 },
        { "\xc3\xa9", DF_KEY_MAX / 2 + 1, "\n", 1 },
        /* Grows by half when lowered. */
        { "\xc8\xba", DF_KEY_MAX / 3, "\n", 0 },
        { "\xc8\xba", DF_KEY_MAX / 3 + 1, "\n", 1 },
        /* Grows when composed, being excluded from composition. */
        { "\xe0\xa5\x98", DF_KEY_MAX / 6, "\n", 0 },
        { "\xe0\xa5\x98", DF_KEY_MAX / 6 + 1, "\n", 1 },
    };
    struct subject s;

    (void)state;
    subject_open(&s, &oracle_rules[0]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf text = { 0 };

        append_bytes(&text, "before ");
        append_many(&text, cases[i].unit, cases[i].times);
        append_bytes(&text, cases[i].behind);
        append_bytes(&text, "\nafter");
        subject_check(&s, &oracle_rules[0], buf_bytes(&text));
        assert_int_equal(s.out.emitter.counters[0], cases[i].left_out);
        assert_int_equal(s.out.count, 3 - cases[i].left_out);
        buf_fini(&text);
    }
    subject_close(&s);
}

/* One stretch of many words whose keys are twice as long as they are. */
static void words_of_a_stretch_may_grow(void **state)
{
    struct subject s;
    struct buf text = { 0 };

    (void)state;
    subject_open(&s, &oracle_rules[0]);
    while (text.len < DF_KEY_MAX - 1000) {
        append_many(&text, "\xe0\xa5\x98", 50);
        append_bytes(&text, "''");
    }
    subject_check(&s, &oracle_rules[0], buf_bytes(&text));
    assert_true(s.out.count > 400);
    assert_true(s.out.bytes.len > DF_KEY_MAX);
    subject_close(&s);
    buf_fini(&text);
}

/* A document with a stretch that has no place to cut for more than DF_UNCUT
 * bytes, cut inside it by force at random places. */
static void check_forced(const struct oracle_rule *rule, const char *unit,
                         uint64_t *random)
{
    struct subject s;
    struct collector expected;
    struct buf text = { 0 };
    size_t begin;
    size_t end;
    size_t cuts[3];

    append_bytes(&text, "one two,\n");
    begin = text.len;
    append_many(&text, unit, DF_UNCUT / strlen(unit) + 2000);
    end = text.len;
    append_bytes(&text, "\nthree FOUR");
    subject_open(&s, rule);
    collector_init(&expected, s.job);
    oracle_map(rule, buf_bytes(&text), &expected);
    cuts[0] = begin + 4 + random_below(random, 200);
    cuts[1] = cuts[0] + 1 + random_below(random, end - cuts[0] - 300);
    cuts[2] = end - 1 - random_below(random, 200);
    for (size_t i = 0; i < 3; i++) {
        while ((text.data[cuts[i]] & 0xc0) == 0x80) {
            cuts[i]--;
        }
    }
    subject_map(&s, bytes_of(text.data, cuts[0]), true, false, true);
    subject_map(&s, bytes_of(text.data + cuts[0], cuts[1] - cuts[0]), false,
                true, true);
    subject_map(&s, bytes_of(text.data + cuts[1], cuts[2] - cuts[1]), false,
                true, true);
    subject_map(&s, bytes_of(text.data + cuts[2], text.len - cuts[2]), false,
                true, false);
    assert_int_equal(expected.emitter.counters[0], 1);
    subject_assert_same(&expected, &s.out);
    collector_fini(&expected);
    subject_close(&s);
    buf_fini(&text);
}

static void forced_cuts_give_the_pairs_of_the_whole(void **state)
{
    /* Words, only what is ignored, only marks, what is spelled slowly, bytes
     * that are bad in a way that only what follows shows. */
    static const char *const units[] = { "a",        "\xc3\xa9",  "\xc2\xad",
                                         "\xcc\x81", "e\xcc\x81", "x'",
                                         "\xe2\x82x" };
    uint64_t seed = new_seed();

    (void)state;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        check_forced(&oracle_rules[0], units[i], &seed);
    }
    check_forced(&oracle_rules[3], "a", &seed);
    check_forced(&oracle_rules[4], "a", &seed);
    check_forced(&oracle_rules[7], "\xff'", &seed);
    check_forced(&oracle_rules[8], "a", &seed);
}

static void long_words_break_ngrams(void **state)
{
    static const struct oracle_rule two = { "ascii", "lower", 2 };
    struct subject s;
    struct buf text = { 0 };

    (void)state;
    subject_open(&s, &two);
    append_bytes(&text, "one two ");
    append_many(&text, "x", DF_KEY_MAX + 1);
    append_bytes(&text, " three four ");
    subject_check(&s, &two, buf_bytes(&text));
    assert_int_equal(s.out.count, 2);
    /* Two words that fit, whose n-gram does not. */
    buf_reset(&text);
    append_many(&text, "x", DF_KEY_MAX - 1);
    append_bytes(&text, " y z");
    subject_check(&s, &two, buf_bytes(&text));
    assert_int_equal(s.out.count, 1);
    assert_int_equal(s.out.emitter.counters[0], 1);
    subject_close(&s);
    buf_fini(&text);
}

static void cut_knows_separators_only(void **state)
{
    static const struct {
        struct bytes text;
        size_t cut;
    } cases[] = {
        { TEXT("word next"), 5 },
        { TEXT("word"), 0 },
        { TEXT("it''s"), 0 },
        { TEXT("\xe3\x80\x80"), 3 },
        /* The end of a code point that began before. */
        { TEXT("\x80\x80 x"), 3 },
        { TEXT("\x80\x80\x80\x80x"), 4 },
        { TEXT("a\xff"), 2 },
        { TEXT("a\xe2\x82"), 0 },
        { TEXT("\xc2\xad\xcc\x81\xe2\x80\x99"), 0 },
    };
    struct subject s;

    (void)state;
    subject_open(&s, &oracle_rules[0]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(
            s.job->cut(s.spec.config, cases[i].text.data, cases[i].text.len),
            cases[i].cut);
    }
    assert_int_equal(s.job->pieces(s.spec.config), DF_PIECES_FREE);
    subject_close(&s);
    subject_open(&s, &oracle_rules[3]);
    assert_int_equal(s.job->pieces(s.spec.config), DF_PIECES_ORDERED);
    subject_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_give_the_words_that_are_known),
        cmocka_unit_test(letter_case_is_as_asked),
        cmocka_unit_test(ngrams_are_joined_within_a_document),
        cmocka_unit_test(words_as_long_as_a_key_may_be_are_kept),
        cmocka_unit_test(words_of_a_stretch_may_grow),
        cmocka_unit_test(forced_cuts_give_the_pairs_of_the_whole),
        cmocka_unit_test(long_words_break_ngrams),
        cmocka_unit_test(cut_knows_separators_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
