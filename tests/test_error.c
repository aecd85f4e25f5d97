/* base/error: names in messages, and messages with names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/error.h"

/* Text, as a name and within a message. */
static const struct {
    const char *text;
    const char *name;
    const char *line;
} told[] = {
    { "", "", "" },
    { "plain \"name\" ~", "plain \"name\" ~", "plain \"name\" ~" },
    { "a\\b", "a\\\\b", "a\\b" },
    { "a\n\t\r\x1b[2J\x7f", "a\\n\\t\\r\\x1B[2J\\x7F",
      "a\\n\\t\\r\\x1B[2J\\x7F" },
    /* Letters, marks and emoji stay, and what joins them. */
    { "\u00e4\u05d0\u0627\u0301\u200d\U0001F600",
      "\u00e4\u05d0\u0627\u0301\u200d\U0001F600",
      "\u00e4\u05d0\u0627\u0301\u200d\U0001F600" },
    { "\xff\xc3(\xe2\x80", "\\xFF\\xC3(\\xE2\\x80", "\\xFF\\xC3(\\xE2\\x80" },
    { "\xc2\x80\xc2\x9f\u00a0", "\\xC2\\x80\\xC2\\x9F\u00a0",
      "\\xC2\\x80\\xC2\\x9F\u00a0" },
    { "\u2027\u2028\u2029\u202a\u202e\u202f",
      "\u2027\\xE2\\x80\\xA8\\xE2\\x80\\xA9\\xE2\\x80\\xAA\\xE2\\x80\\xAE"
      "\u202f",
      "\u2027\\xE2\\x80\\xA8\\xE2\\x80\\xA9\\xE2\\x80\\xAA\\xE2\\x80\\xAE"
      "\u202f" },
    { "\u2065\u2066\u2069\u206a", "\u2065\\xE2\\x81\\xA6\\xE2\\x81\\xA9\u206a",
      "\u2065\\xE2\\x81\\xA6\\xE2\\x81\\xA9\u206a" },
    { "\u061b\u061c\u200d\u200e\u200f",
      "\u061b\\xD8\\x9C\u200d\\xE2\\x80\\x8E\\xE2\\x80\\x8F",
      "\u061b\\xD8\\x9C\u200d\\xE2\\x80\\x8E\\xE2\\x80\\x8F" },
};

static void what_is_not_seen_is_escaped(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        char line[SHOWN_LINE(100)];
        struct shown s;

        assert_string_equal(shown(&s, bytes_of_string(told[i].text)),
                            told[i].name);
        assert_string_equal(shown_line(line, sizeof line, told[i].text),
                            told[i].line);
    }
}

/* Names of any length, of what takes most room: cut, with dots, in time. */
static void long_names_are_cut(void **state)
{
    static const char *const letters[] = { "a", "\\", "\xff", "\u202e",
                                           "\U0001F600" };

    (void)state;
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
        char text[1200] = "";
        struct shown s;
        size_t len;

        for (size_t k = 0; k < 290; k++) {
            (void)shown(&s, bytes_of_string(text));
            len = strlen(s.text);
            assert_true(len < sizeof s.text);
            assert_true(len + 20 > sizeof s.text ||
                        strstr(s.text, "...") == NULL);
            (void)strncat(text, letters[i], sizeof text - strlen(text) - 1);
        }
        assert_non_null(strstr(shown(&s, bytes_of_string(text)), "..."));
    }
}

static void a_line_has_room_for_all_of_it(void **state)
{
    enum { SIZE = 50 };
    char text[SIZE];
    char line[SHOWN_LINE(SIZE)];

    (void)state;
    memset(text, '\x01', SIZE - 1);
    text[SIZE - 1] = '\0';
    assert_int_equal(strlen(shown_line(line, sizeof line, text)),
                     4 * (SIZE - 1));
    /* Too small a room cuts. */
    assert_true(strlen(shown_line(line, 30, text)) < 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_seen_is_escaped),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(a_line_has_room_for_all_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
