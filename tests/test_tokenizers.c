/*
 * Random text, every code point, every alignment and every vector path,
 * beside the oracle.
 */
#include "wordcount_subject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "jobs/wordcount/vector.h"

/* ---- random text ---- */

static void append_bytes(struct buf *out, const char *s)
{
    assert_true(buf_append_string(out, s));
}

static void append_random(struct buf *out, uint64_t kind, uint64_t *random)
{
    static const char *const quotes[] = { "'", "\xe2\x80\x99", "\xca\xbc" };
    static const char *const ignored[] = { "\xc2\xad", "\xe2\x80\x8c",
                                           "\xe2\x80\x8d", "\xe2\x81\xa0",
                                           "\xef\xbb\xbf" };
    static const char *const bad[] = {
        "\xff",     "\xc0\xaf",     "\xed\xa0\x80", "\xe2\x82",
        "\xf0\x9f", "\xf0\x9f\x98", "\x80",         "\x80\x80\x80\x80\x80",
        "\xc3",     "\xf4\x90",     "\xe0\x9f",     "\xf0\x8f\x80",
    };
    static const char ascii[] = "aabbccZZ019 .,\n-_\t";

    switch (kind) {
    case 0:
        oracle_append_point(out, 0xa0 + (int)random_below(random, 0x60));
        break;
    case 1:
        oracle_append_point(out, 0x300 + (int)random_below(random, 0x70));
        break;
    case 2:
        oracle_append_point(out, 0x4e00 + (int)random_below(random, 0x100));
        break;
    case 3:
        oracle_append_point(out, 0x1f600 + (int)random_below(random, 0x40));
        break;
    case 4:
        append_bytes(out, quotes[random_below(random, 3)]);
        break;
    case 5:
        append_bytes(out, ignored[random_below(random, 5)]);
        break;
    case 6:
        append_bytes(out, bad[random_below(random, 12)]);
        break;
    case 7: {
        /* Any code point that UTF-8 can hold. */
        int c = (int)random_below(
            random, random_below(random, 2) == 0 ? 0x3000 : 0x110000);

        oracle_append_point(out, c >= 0xd800 && c < 0xe000 ? 'x' : c);
        break;
    }
    case 8:
        assert_true(buf_append_byte(out, (uint8_t)random_next(random)));
        break;
    case 9:
        append_bytes(out, "'");
        break;
    default:
        assert_true(buf_append_byte(
            out, (uint8_t)ascii[random_below(random, sizeof ascii - 1)]));
        break;
    }
}

/* Mostly ASCII, or of a few kinds only. */
static void make_text(struct buf *out, size_t len, uint64_t *random)
{
    uint64_t kinds = random_below(random, 30) + 10;
    uint64_t only =
        random_below(random, 3) == 0 ? random_below(random, 10) : 0;

    buf_reset(out);
    while (out->len < len) {
        uint64_t kind = random_below(random, kinds);

        append_random(out, kind < 10 && only > 0 ? only : kind, random);
    }
}

static uint64_t new_seed(void)
{
    uint64_t seed = (uint64_t)time(NULL);

    print_message("seed %llu\n", (unsigned long long)seed);
    return seed;
}

static void check_random_text(const struct oracle_rule *rule, uint64_t seed)
{
    struct buf text = { 0 };
    struct subject s;

    subject_open(&s, rule);
    for (unsigned i = 0; i < 80; i++) {
        make_text(&text, random_below(&seed, i % 40 == 0 ? 40000 : 400),
                  &seed);
        subject_check(&s, rule, buf_bytes(&text));
    }
    buf_fini(&text);
    subject_close(&s);
}

static void random_text_is_as_the_oracle_says_on_every_path(void **state)
{
    uint64_t seed = new_seed();

    (void)state;
    for (size_t i = 0; vector_path(i) != NULL; i++) {
        vector_prefer(vector_path(i));
        for (size_t r = 0; r < ORACLE_RULES; r++) {
            check_random_text(&oracle_rules[r], seed + r);
        }
    }
    vector_prefer(NULL);
}

/* Every distance of a word to the edges of vector steps. */
static void alignment_makes_no_difference(void **state)
{
    char text[300];
    uint64_t seed = new_seed();

    (void)state;
    for (size_t i = 0; vector_path(i) != NULL; i++) {
        struct subject s;

        vector_prefer(vector_path(i));
        subject_open(&s, &oracle_rules[0]);
        for (size_t at = 0; at < 140; at++) {
            size_t len = 1 + random_below(&seed, 140);

            memset(text, ' ', sizeof text);
            memset(text + at, 'Q', len);
            text[at + random_below(&seed, len)] = '\'';
            subject_check(&s, &oracle_rules[0], bytes_of(text, at + len));
            subject_check(&s, &oracle_rules[0], bytes_of(text, at + len + 1));
        }
        subject_close(&s);
    }
    vector_prefer(NULL);
}

static void pieces_give_the_pairs_of_the_whole(void **state)
{
    uint64_t seed = new_seed();
    struct buf text = { 0 };

    (void)state;
    for (size_t r = 0; r < ORACLE_RULES; r++) {
        struct subject s;
        struct collector expected;

        subject_open(&s, &oracle_rules[r]);
        collector_init(&expected, s.job);
        for (unsigned i = 0; i < 60; i++) {
            make_text(&text, random_below(&seed, 3000), &seed);
            collector_reset(&expected);
            collector_reset(&s.out);
            oracle_map(&oracle_rules[r], buf_bytes(&text), &expected);
            map_in_pieces(s.job, s.spec.config, buf_bytes(&text),
                          &s.out.emitter, &seed);
            subject_assert_same(&expected, &s.out);
        }
        collector_fini(&expected);
        subject_close(&s);
    }
    buf_fini(&text);
}

static void unicode_and_ascii_agree_on_plain_text(void **state)
{
    static const char letters[] = "abcXYZ019 .,\n";
    uint64_t seed = new_seed();
    struct buf text = { 0 };
    struct subject unicode;
    struct subject ascii;

    (void)state;
    subject_open(&unicode, &oracle_rules[0]);
    subject_open(&ascii, &oracle_rules[4]);
    while (text.len < 200000) {
        assert_true(buf_append_byte(
            &text, (uint8_t)letters[random_below(&seed, sizeof letters - 1)]));
    }
    subject_map(&unicode, buf_bytes(&text), true, false, false);
    subject_map(&ascii, buf_bytes(&text), true, false, false);
    assert_true(ascii.out.count > 1000);
    subject_assert_same(&ascii.out, &unicode.out);
    /* Lists, not single keys, and not all at once. */
    assert_true(ascii.out.lists < ascii.out.count / 100);
    subject_close(&unicode);
    subject_close(&ascii);
    buf_fini(&text);
}

/* Each code point in parts, so that every pair that composes is met. */
static void every_decomposition_is_as_the_oracle_says(void **state)
{
    struct buf text = { 0 };
    struct subject s;

    (void)state;
    subject_open(&s, &oracle_rules[0]);
    for (int c = 0xa0; c < 0x30000; c++) {
        struct buf point = { 0 };
        struct buf parts;

        if (c >= 0xd800 && c < 0xe000) {
            continue;
        }
        oracle_append_point(&point, c);
        parts = oracle_mapped(buf_bytes(&point), UTF8PROC_DECOMPOSE);
        if (!bytes_equal(buf_bytes(&point), buf_bytes(&parts))) {
            assert_true(buf_append(&text, parts.data, parts.len));
            append_bytes(&text, " ");
        }
        buf_fini(&point);
        buf_fini(&parts);
    }
    for (int final = 0x11a8; final <= 0x11c2; final++) {
        oracle_append_point(&text, 0xac00);
        oracle_append_point(&text, final);
        append_bytes(&text, " ");
    }
    assert_true(text.len > 100000);
    subject_check(&s, &oracle_rules[0], buf_bytes(&text));
    subject_close(&s);
    buf_fini(&text);
}

/* Each code point between letters, alone, and after a mark. */
static void every_code_point_is_as_the_oracle_says(void **state)
{
    struct buf text = { 0 };

    (void)state;
    for (size_t r = 0; r < 3; r++) {
        struct subject s;

        subject_open(&s, &oracle_rules[r]);
        for (int c = 0; c < 0x110000; c++) {
            if (c >= 0xd800 && c < 0xe000) {
                continue;
            }
            /* Of ideographs and unassigned planes a sample. */
            if (c >= 0x20000 && c % 64 != 0 && c >> 12 != 0xe0) {
                continue;
            }
            append_bytes(&text, "a");
            oracle_append_point(&text, c);
            append_bytes(&text, "b \xcc\xa7");
            oracle_append_point(&text, c);
            append_bytes(&text, "\xcc\x81\n");
            if (text.len > 8000) {
                subject_check(&s, &oracle_rules[r], buf_bytes(&text));
                buf_reset(&text);
            }
        }
        subject_close(&s);
    }
    buf_fini(&text);
}

static void equivalent_spellings_give_one_key(void **state)
{
    uint64_t seed = new_seed();
    struct buf text = { 0 };

    (void)state;
    for (size_t r = 0; r < 3; r++) {
        struct subject s;

        subject_open(&s, &oracle_rules[r]);
        for (unsigned i = 0; i < 2000; i++) {
            struct buf other;

            buf_reset(&text);
            append_bytes(&text, "x");
            for (unsigned k = 0; k < 4; k++) {
                oracle_append_point(
                    &text, random_below(&seed, 2) == 0
                               ? 0x300 + (int)random_below(&seed, 80)
                               : 0xc0 + (int)random_below(&seed, 0x300));
            }
            other = oracle_mapped(buf_bytes(&text), UTF8PROC_DECOMPOSE);
            collector_reset(&s.out);
            subject_map(&s, buf_bytes(&text), true, false, false);
            subject_map(&s, buf_bytes(&other), true, false, false);
            assert_true(s.out.count % 2 == 0);
            for (size_t k = 0; k < s.out.count / 2; k++) {
                assert_true(
                    bytes_equal(collector_key(&s.out, k),
                                collector_key(&s.out, k + s.out.count / 2)));
            }
            buf_fini(&other);
        }
        subject_close(&s);
    }
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_text_is_as_the_oracle_says_on_every_path),
        cmocka_unit_test(alignment_makes_no_difference),
        cmocka_unit_test(pieces_give_the_pairs_of_the_whole),
        cmocka_unit_test(unicode_and_ascii_agree_on_plain_text),
        cmocka_unit_test(every_code_point_is_as_the_oracle_says),
        cmocka_unit_test(every_decomposition_is_as_the_oracle_says),
        cmocka_unit_test(equivalent_spellings_give_one_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
