/* cli/options: command lines by table, strictly. */
#include "cli/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct first {
    bool dry;
    uint64_t threads;
    uint64_t memory;
    unsigned install;
};
struct second {
    const char *prefix;
};

static const struct option first_options[] = {
    { .name = "dry-run",
      .kind = OPTION_FLAG,
      .offset = offsetof(struct first, dry),
      .help = "change nothing" },
    { .name = "threads",
      .letter = 'n',
      .kind = OPTION_NUMBER,
      .offset = offsetof(struct first, threads),
      .min = 1,
      .max = 64,
      .value = "N",
      .help = "workers",
      .initial = "2" },
    { .name = "memory",
      .kind = OPTION_SIZE,
      .offset = offsetof(struct first, memory),
      .min = 1 << 20,
      .step = 1 << 20,
      .value = "SIZE",
      .help = "bytes" },
    { .name = "install",
      .kind = OPTION_CHOICE,
      .offset = offsetof(struct first, install),
      .choices = "increment|overwrite",
      .help = "how" },
    { 0 }
};
static const struct option second_options[] = {
    { .name = "prefix",
      .kind = OPTION_TEXT,
      .offset = offsetof(struct second, prefix),
      .value = "P",
      .help = "a long explanation that does not fit on one line and is "
              "therefore folded at a blank" },
    { 0 }
};

enum { WORDS_MAX = 10 };

/* A parsed command line; words are split at blanks, "''" is empty. */
struct parsed {
    struct first first;
    struct second second;
    char text[200];
    char *argv[WORDS_MAX];
    int argc;
    enum df_status status;
    struct df_error err;
};

static void parse(struct parsed *p, const char *line)
{
    const struct option_group groups[] = { { first_options, &p->first },
                                           { second_options, &p->second } };
    char *save = NULL;

    *p = (struct parsed){ 0 };
    assert_true(strlen(line) < sizeof p->text);
    strcpy(p->text, line);
    for (char *word = strtok_r(p->text, " ", &save); word != NULL;
         word = strtok_r(NULL, " ", &save)) {
        assert_true(p->argc < WORDS_MAX);
        if (strcmp(word, "''") == 0) {
            word[0] = '\0';
        }
        p->argv[p->argc++] = word;
    }
    p->status = options_parse("deltafold run --help", groups, 2, &p->argc,
                              p->argv, &p->err);
}

static void options_stand_anywhere(void **state)
{
    struct parsed p;

    (void)state;
    parse(&p, "view --threads=4 --memory 512M a --dry-run b --prefix x=y");
    assert_int_equal(p.status, DF_OK);
    assert_int_equal(p.argc, 3);
    assert_string_equal(p.argv[0], "view");
    assert_string_equal(p.argv[1], "a");
    assert_string_equal(p.argv[2], "b");
    assert_true(p.first.dry);
    assert_int_equal(p.first.threads, 4);
    assert_int_equal(p.first.memory, 512u << 20);
    assert_string_equal(p.second.prefix, "x=y");
}

static void short_options_take_values_either_way(void **state)
{
    struct parsed p;

    (void)state;
    parse(&p, "-n 5");
    assert_int_equal(p.first.threads, 5);
    parse(&p, "-n7 -");
    assert_int_equal(p.first.threads, 7);
    assert_int_equal(p.argc, 1);
    assert_string_equal(p.argv[0], "-");
}

static void the_last_of_two_wins(void **state)
{
    struct parsed p;

    (void)state;
    parse(&p, "--install=overwrite --install=increment -n1 --threads 2");
    assert_int_equal(p.status, DF_OK);
    assert_int_equal(p.first.install, 0);
    assert_int_equal(p.first.threads, 2);
}

static void two_dashes_end_options(void **state)
{
    struct parsed p;

    (void)state;
    parse(&p, "view -- --dry-run -- -n");
    assert_int_equal(p.status, DF_OK);
    assert_int_equal(p.argc, 4);
    assert_false(p.first.dry);
    assert_string_equal(p.argv[1], "--dry-run");
    assert_string_equal(p.argv[2], "--");
}

static void an_empty_text_is_a_value(void **state)
{
    struct parsed p;

    (void)state;
    parse(&p, "--prefix=");
    assert_int_equal(p.status, DF_OK);
    assert_string_equal(p.second.prefix, "");
    parse(&p, "--prefix ''");
    assert_string_equal(p.second.prefix, "");
}

static const struct {
    const char *line;
    const char *message;
} refused[] = {
    { "--foo", "unknown option '--foo': see 'deltafold run --help'" },
    { "--thread=4", "unknown option '--thread', did you mean '--threads'? "
                    "See 'deltafold run --help'" },
    { "--instlal=x", "unknown option '--instlal', did you mean '--install'? "
                     "See 'deltafold run --help'" },
    { "-x", "unknown option '-x': see 'deltafold run --help'" },
    { "--threads", "--threads needs a value: see 'deltafold run --help'" },
    { "-n", "-n needs a value: see 'deltafold run --help'" },
    { "--dry-run=yes", "--dry-run takes no value: see 'deltafold run "
                       "--help'" },
    { "--threads=0", "--threads: '0' is not a number from 1 to 64: see "
                     "'deltafold run --help'" },
    { "--threads=65", "--threads: '65' is not a number from 1 to 64: see "
                      "'deltafold run --help'" },
    { "--threads=4x", "--threads: '4x' is not a number: see 'deltafold run "
                      "--help'" },
    { "--threads=", "--threads: '' is not a number: see 'deltafold run "
                    "--help'" },
    { "--threads=-1", "--threads: '-1' is not a number: see 'deltafold run "
                      "--help'" },
    { "--threads=99999999999999999999",
      "--threads: '99999999999999999999' is not a number: see 'deltafold run "
      "--help'" },
    { "--memory=12Q", "--memory: '12Q' is not a size, such as 512M: see "
                      "'deltafold run --help'" },
    { "--memory=1",
      "--memory: '1' is not a size of at least 1M: see 'deltafold run "
      "--help'" },
    { "--memory=1500K", "--memory: '1500K' is not a multiple of 1M: see "
                        "'deltafold run --help'" },
    { "--install=incr", "--install: 'incr' is not one of increment|overwrite: "
                        "see 'deltafold run --help'" },
    { "--install=", "--install: '' is not one of increment|overwrite: see "
                    "'deltafold run --help'" },
};

static void what_is_wrong_is_said_in_one_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct parsed p;

        parse(&p, refused[i].line);
        assert_int_equal(p.status, DF_USAGE);
        assert_string_equal(p.err.text, refused[i].message);
    }
}

static void sizes_have_binary_suffixes(void **state)
{
    uint64_t v;

    (void)state;
    assert_true(options_size("0", &v) && v == 0);
    assert_true(options_size("1023", &v) && v == 1023);
    assert_true(options_size("1K", &v) && v == 1024);
    assert_true(options_size("3m", &v) && v == 3 << 20);
    assert_true(options_size("2G", &v) && v == (uint64_t)2 << 30);
    assert_true(options_size("16777215T", &v));
    assert_true(v == (uint64_t)16777215 << 40);
    assert_false(options_size("16777216T", &v));
    assert_false(options_size("K", &v));
    assert_false(options_size("1KB", &v));
    assert_false(options_size("1.5G", &v));
    assert_false(options_size(" 1", &v));
    assert_false(options_size("", &v));
    assert_true(options_number("18446744073709551615", &v));
    assert_true(v == UINT64_MAX);
    assert_false(options_number("18446744073709551616", &v));
    assert_false(options_number("+1", &v));
    assert_false(options_number("0x10", &v));
}

static void sizes_are_told_as_one_types_them(void **state)
{
    static const struct {
        uint64_t size;
        const char *text;
    } told[] = {
        { 0, "0" },
        { 1023, "1023" },
        { 1024, "1K" },
        { 1536000, "1500K" },
        { 16 << 20, "16M" },
        { (uint64_t)2048 << 30, "2T" },
        { (uint64_t)1 << 60, "1048576T" },
        { UINT64_MAX, "18446744073709551615" },
    };
    char room[OPTIONS_SIZE_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        assert_string_equal(options_size_text(room, told[i].size),
                            told[i].text);
    }
}

static void help_is_folded_and_shows_defaults(void **state)
{
    struct buf out = { 0 };
    const char *line;

    (void)state;
    assert_true(options_help(first_options, &out));
    assert_true(options_help(second_options, &out));
    assert_true(buf_append_byte(&out, '\0'));
    line = (const char *)out.data;
    assert_non_null(strstr(line, "  -n, --threads=N        workers "
                                 "[default: 2]\n"));
    assert_non_null(strstr(line, "  --install=increment|overwrite\n"
                                 "                         how\n"));
    for (; *line != '\0'; line += strcspn(line, "\n") + 1) {
        assert_true(strcspn(line, "\n") <= 79);
    }
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_stand_anywhere),
        cmocka_unit_test(short_options_take_values_either_way),
        cmocka_unit_test(the_last_of_two_wins),
        cmocka_unit_test(two_dashes_end_options),
        cmocka_unit_test(an_empty_text_is_a_value),
        cmocka_unit_test(what_is_wrong_is_said_in_one_line),
        cmocka_unit_test(sizes_have_binary_suffixes),
        cmocka_unit_test(sizes_are_told_as_one_types_them),
        cmocka_unit_test(help_is_folded_and_shows_defaults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
