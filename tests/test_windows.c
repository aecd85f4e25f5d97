/*
 * The law of windows: after every batch a view is what a recomputation over
 * the batches of its window gives, for every window and slide from 1 to 9, by
 * count and by number, with gaps, late nights, empty nights, deletions and
 * runs that were interrupted. And the names that batches are placed by.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "jobs/wordcount/wordcount.h"
#include "kept_view.h"
#include "oracle.h"
#include "runtime/window.h"
#include "way.h"
#include "workplace.h"

enum { LONGEST = 9, NIGHTS = 14, NUMBERS = 60, VOCABULARY = 12 };

/* ---- the model: words of each night, and what a window should hold ---- */

struct night {
    bool applied;
    int counts[VOCABULARY];
};

struct model {
    uint64_t random;
    unsigned size;
    unsigned slide;
    bool by_number;
    struct night nights[NUMBERS]; /* by number */
    unsigned applied;
    unsigned greatest; /* number */
    int end;           /* by number: the last that is shown; by count: the
                          greatest night that is shown, 0: none */
};

/* How many nights that were applied come after a number. */
static unsigned nights_after(const struct model *m, int number)
{
    unsigned n = 0;

    for (int i = number + 1; i < NUMBERS; i++) {
        n += i >= 0 && m->nights[i].applied ? 1 : 0;
    }
    return n;
}

static void move_end(struct model *m, unsigned number)
{
    if (m->by_number) {
        if (m->applied == 1) {
            m->end = (int)number - 1;
        }
        while (m->end + (int)m->slide <= (int)m->greatest) {
            m->end += (int)m->slide;
        }
    } else if (nights_after(m, m->end) >= m->slide) {
        m->end = (int)m->greatest;
    }
}

static bool is_shown(const struct model *m, int number)
{
    if (!m->nights[number].applied || number > m->end) {
        return false;
    }
    if (m->by_number) {
        return number > m->end - (int)m->size;
    }
    return nights_after(m, number) - nights_after(m, m->end) < m->size;
}

static void expected_rows(const struct model *m, struct buf *out)
{
    buf_reset(out);
    for (int word = 0; word < VOCABULARY; word++) {
        int count = 0;

        for (int i = 0; i < NUMBERS; i++) {
            count += is_shown(m, i) ? m->nights[i].counts[word] : 0;
        }
        if (count != 0) {
            assert_true(buf_printf(out, "3:w%02d 0: %d\n", word, count));
        }
    }
}

/* ---- nights on disk ---- */

static void write_night(struct model *m, const char *root, unsigned number)
{
    struct night *n = &m->nights[number];
    char path[64];
    char text[2][200] = { "", "" };

    for (unsigned side = 0; side < 2; side++) {
        unsigned words = (unsigned)random_below(&m->random, 6);

        for (unsigned i = 0; i < words; i++) {
            unsigned word = (unsigned)random_below(&m->random, VOCABULARY);

            (void)snprintf(text[side] + (size_t)4 * i, 5, "w%02u ", word);
            n->counts[word] += side == 0 ? 1 : -1;
        }
        (void)snprintf(path, sizeof path, "deltas/n%u/%s/%u", number,
                       side == 0 ? "inserted" : "deleted", number);
        if (words > 0) {
            input_tree_text(root, path, text[side]);
        }
    }
    (void)snprintf(path, sizeof path, "deltas/n%u/inserted", number);
    input_tree_directory(root, path);
}

/* The next night: after all others, with a gap now and then, or late, which
 * the first cannot be. */
static unsigned next_number(struct model *m)
{
    uint64_t kind = random_below(&m->random, 6);

    if (kind == 0 && m->applied > 0) {
        for (unsigned i = m->greatest; i > 0 && m->greatest - i < 12; i--) {
            if (!m->nights[i].applied && random_below(&m->random, 2) == 0) {
                return i;
            }
        }
    }
    return m->greatest + 1 +
           (kind == 1 ? (unsigned)random_below(&m->random, 3) : 0);
}

/* ---- a view ---- */

static void open_view(struct kept_view *k, struct model *m, const char *root)
{
    char size[32];
    char slide[32];
    const char *given[] = { size, slide, "interval=1" };
    static const unsigned shards[] = { 1, 3 };

    (void)snprintf(size, sizeof size, "window=%u", m->size);
    (void)snprintf(slide, sizeof slide, "slide=%u", m->slide);
    kept_open(k, root, "view", &wordcount_job, given, m->by_number ? 3 : 2,
              shards[random_below(&m->random, 2)]);
}

static const enum install_method methods[] = { INSTALL_INCREMENT,
                                               INSTALL_OVERWRITE,
                                               INSTALL_DEFER, INSTALL_DEFER };

static void apply_night(struct kept_view *k, struct model *m, const char *root,
                        unsigned number)
{
    const volatile sig_atomic_t stop = 1;
    char path[64];

    (void)snprintf(path, sizeof path, "deltas/n%u", number);
    k->options.allow_late = true;
    k->options.allow_repeat = true;
    k->options.threads = 1 + (unsigned)random_below(&m->random, 2);
    k->options.method = methods[random_below(&m->random, 4)];
    if (random_below(&m->random, 8) == 0) {
        k->options.stop = &stop;
        assert_int_equal(kept_run(k, input_tree_path(root, path)),
                         DF_INTERRUPTED);
        k->options.stop = NULL;
    }
    kept_must(kept_run(k, input_tree_path(root, path)), k);
    assert_int_equal(k->outcomes[ENGINE_APPLIED], 1);
}

static void check_view(struct kept_view *k, const struct model *m,
                       const char *root, bool verify)
{
    struct buf expected = { 0 };
    struct buf found = { 0 };

    expected_rows(m, &expected);
    kept_rows(k, &found);
    assert_same_rows(&expected, &found);
    if (verify) {
        kept_must(kept_verify(k, input_tree_path(root, "deltas"), true), k);
    }
    buf_fini(&expected);
    buf_fini(&found);
}

static void live_through(struct model *m)
{
    char root[INPUT_TREE_PATH];
    struct kept_view k;

    (void)workplace_new(root);
    open_view(&k, m, root);
    for (unsigned i = 0; i < NIGHTS; i++) {
        unsigned number = next_number(m);

        assert_true(number < NUMBERS);
        write_night(m, root, number);
        apply_night(&k, m, root, number);
        m->nights[number].applied = true;
        m->applied++;
        if (m->applied == 1 || number > m->greatest) {
            m->greatest = number;
        }
        move_end(m, number);
        check_view(&k, m, root, i % 4 == 3);
    }
    kept_close(&k);
}

static void windows(bool by_number)
{
    uint64_t seed = history_seed();

    for (unsigned size = 1; size <= LONGEST; size++) {
        for (unsigned slide = 1; slide <= size; slide++) {
            struct model m = { .random = seed + (uint64_t)size * 100 + slide,
                               .size = size,
                               .slide = slide,
                               .by_number = by_number };

            /* Numbers begin where there is room for late ones. */
            m.greatest = 3;
            m.end = by_number ? 0 : -1;
            print_message("window=%u slide=%u\n", size, slide);
            live_through(&m);
        }
    }
}

static void test_windows_by_count(void **state)
{
    (void)state;
    windows(false);
}

static void test_windows_by_number(void **state)
{
    (void)state;
    windows(true);
}

/* ---- names ---- */

static void test_names_tell_positions(void **state)
{
    static const struct {
        struct window window;
        const char *name;
        bool known;
        int64_t position;
    } cases[] = {
        { { .by = WINDOW_NUMBERS, .interval = 1 }, "b5", true, 5 },
        { { .by = WINDOW_NUMBERS, .interval = 1 }, "007", true, 7 },
        { { .by = WINDOW_NUMBERS, .interval = 10 }, "b19", true, 1 },
        { { .by = WINDOW_NUMBERS, .interval = 1 }, "b5x", false, 0 },
        { { .by = WINDOW_NUMBERS, .interval = 1 },
          "b1234567890123456789",
          false,
          0 },
        { { .by = WINDOW_TIMES, .interval = 86400 }, "1970-01-01", true, 0 },
        { { .by = WINDOW_TIMES, .interval = 86400 }, "1970-01-31", true, 30 },
        { { .by = WINDOW_TIMES, .interval = 86400 },
          "2026-11-29",
          true,
          20786 },
        { { .by = WINDOW_TIMES, .interval = 86400 }, "20261129", true, 20786 },
        { { .by = WINDOW_TIMES, .interval = 86400 },
          "night-2026-11-29-fixed",
          true,
          20786 },
        { { .by = WINDOW_TIMES, .interval = 86400 },
          "2024-02-29",
          true,
          19782 },
        { { .by = WINDOW_TIMES, .interval = 86400 }, "2026-02-29", false, 0 },
        { { .by = WINDOW_TIMES, .interval = 86400 }, "2026-13-01", false, 0 },
        { { .by = WINDOW_TIMES, .interval = 86400 }, "2026-1101", false, 0 },
        { { .by = WINDOW_TIMES, .interval = 86400 }, "202611290", false, 0 },
        { { .by = WINDOW_TIMES, .interval = 3600 },
          "1970-01-02T05",
          true,
          29 },
        { { .by = WINDOW_TIMES, .interval = 3600 },
          "1970-01-02_0559",
          true,
          29 },
        { { .by = WINDOW_TIMES, .interval = 3600 },
          "1970-01-02 06:00:00",
          true,
          30 },
        { { .by = WINDOW_TIMES, .interval = 3600 }, "1970-01-02", true, 24 },
        { { .by = WINDOW_TIMES, .interval = 86400 }, "1969-12-31", true, -1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t position = 0;
        bool known = window_position(
            &cases[i].window, bytes_of_string(cases[i].name), &position);

        if (known != cases[i].known ||
            (known && position != cases[i].position)) {
            fail_msg("'%s': %d %lld", cases[i].name, known,
                     (long long)position);
        }
    }
}

static void test_names_tell_gaps(void **state)
{
    static const struct {
        const char *before;
        const char *name;
        bool daily;
        uint64_t gap;
    } cases[] = {
        { "b2", "b3", false, 0 },
        { "b2", "b5", false, 2 },
        { "a2", "b5", false, 0 },
        { "b9", "b11", false, 1 },
        { "2026-11-12", "2026-11-14", true, 1 },
        { "2026-11-30", "2026-12-02", true, 1 },
        { "2026-11-01", "2026-11-08", false, 0 },
        { "monday", "tuesday", false, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(window_gap(bytes_of_string(cases[i].before),
                                    bytes_of_string(cases[i].name),
                                    cases[i].daily),
                         cases[i].gap);
    }
}

/* ---- options ---- */

static void test_options_are_checked(void **state)
{
    static const struct {
        const char *given[3];
        enum df_status status;
        uint64_t size;
        uint64_t slide;
    } cases[] = {
        { { "window=3" }, DF_OK, 3, 1 },
        { { "window=9", "slide=9" }, DF_OK, 9, 9 },
        { { "window=4096" }, DF_OK, WINDOW_MAX, 1 },
        { { "window=4097" }, DF_USAGE, 0, 0 },
        { { "window=7d", "interval=1d" }, DF_OK, 7, 1 },
        { { "window=1w", "slide=2d", "interval=24h" }, DF_OK, 7, 2 },
        { { "window=6", "slide=4", "interval=2" }, DF_OK, 3, 2 },
        { { "window=36h", "interval=1d" }, DF_USAGE, 0, 0 },
        { { "window=7d", "slide=36h", "interval=1d" }, DF_USAGE, 0, 0 },
        { { "window=7", "interval=2" }, DF_USAGE, 0, 0 },
        { { "window=7d" }, DF_USAGE, 0, 0 },
        { { "window=7", "interval=1d" }, DF_USAGE, 0, 0 },
        { { "window=3", "slide=4" }, DF_USAGE, 0, 0 },
        { { "window=0" }, DF_USAGE, 0, 0 },
        { { "window=-1" }, DF_USAGE, 0, 0 },
        { { "window=3x" }, DF_USAGE, 0, 0 },
        { { "window=99999999999999999999" }, DF_USAGE, 0, 0 },
        { { "window=3", "slide=0" }, DF_USAGE, 0, 0 },
        { { "window=3", "interval=0" }, DF_USAGE, 0, 0 },
        { { "slide=2" }, DF_USAGE, 0, 0 },
        { { "interval=1d" }, DF_USAGE, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct jobspec job;
        struct window w;
        struct df_error err;
        size_t n = 0;

        while (n < 3 && cases[i].given[n] != NULL) {
            n++;
        }
        assert_int_equal(
            jobspec_open(&job, &wordcount_job, cases[i].given, n, &err),
            DF_OK);
        assert_int_equal(window_of(&w, &job, &err), cases[i].status);
        if (cases[i].status == DF_OK) {
            assert_int_equal(w.size, cases[i].size);
            assert_int_equal(w.slide, cases[i].slide);
        }
        jobspec_close(&job);
    }
}

/* ---- what is refused ---- */

static void test_a_name_without_place_is_refused(void **state)
{
    const char *given[] = { "window=3d", "interval=1d" };
    char root[INPUT_TREE_PATH];
    struct kept_view k;

    (void)state;
    (void)workplace_new(root);
    kept_open(&k, root, "view", &wordcount_job, given, 2, 1);
    input_tree_text(root, "deltas/monday/inserted/a", "word");
    assert_int_equal(kept_run(&k, input_tree_path(root, "deltas")), DF_INPUT);
    assert_int_equal(kept_state(&k).seq, 0);
    assert_int_equal(
        kept_rebuild(&k, input_tree_path(root, "deltas"), NULL, 1), DF_USAGE);
    assert_int_equal(kept_verify(&k, input_tree_path(root, "deltas"), false),
                     DF_USAGE);
    kept_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows_by_count),
        cmocka_unit_test(test_windows_by_number),
        cmocka_unit_test(test_names_tell_positions),
        cmocka_unit_test(test_names_tell_gaps),
        cmocka_unit_test(test_options_are_checked),
        cmocka_unit_test(test_a_name_without_place_is_refused),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
