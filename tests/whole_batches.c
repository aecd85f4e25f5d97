#include "whole_batches.h"

#include "state/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { SHARED_PREFIX = 500, NAME = 64 };

static const char chaff_start[] = "chaff";

/* ---- writing ---- */

const char *whole_steady(char word[WHOLE_WORD], unsigned i)
{
    size_t len = 0;

    if (i < WHOLE_LONG) {
        memset(word, 's', SHARED_PREFIX);
        len = SHARED_PREFIX;
    }
    (void)snprintf(word + len, WHOLE_WORD - len, "steady%u", i);
    return word;
}

static void write_steady(const char *root, unsigned batch,
                         const char *directory)
{
    struct buf text = { 0 };
    char path[NAME];

    for (unsigned i = 0; i < WHOLE_STEADY; i++) {
        char word[WHOLE_WORD];

        assert_true(buf_append_string(&text, whole_steady(word, i)) &&
                    buf_append_byte(&text, '\n'));
    }
    (void)snprintf(path, sizeof path, "%s/steady-%u", directory, batch);
    input_tree_file(root, path, text.data, text.len);
    buf_fini(&text);
}

static void write_chaff(const char *root, unsigned generation,
                        const char *directory)
{
    struct buf text = { 0 };
    char path[NAME];

    for (unsigned i = 0; i < WHOLE_CHAFF; i++) {
        assert_true(
            buf_printf(&text, "%s%ux%u\n", chaff_start, generation, i));
    }
    (void)snprintf(path, sizeof path, "%s/chaff-%u", directory, generation);
    input_tree_file(root, path, text.data, text.len);
    buf_fini(&text);
}

void whole_write(const char *root, unsigned batch)
{
    char path[NAME];

    (void)snprintf(path, sizeof path, "deltas/batch_%u/inserted", batch);
    write_steady(root, batch, path);
    write_chaff(root, batch, path);
    write_steady(root, batch, "survivors");
    write_chaff(root, batch, "survivors");
    if (batch > 1) {
        (void)snprintf(path, sizeof path, "deltas/batch_%u/deleted", batch);
        write_chaff(root, batch - 1, path);
        (void)snprintf(path, sizeof path, "survivors/chaff-%u", batch - 1);
        assert_int_equal(unlink(input_tree_path(root, path)), 0);
    }
}

/* ---- looking ---- */

static bool is_chaff(struct bytes key)
{
    size_t len = sizeof chaff_start - 1;

    return key.len > len && memcmp(key.data, chaff_start, len) == 0;
}

static unsigned generation_of(struct bytes key)
{
    char text[NAME] = { 0 };

    assert_true(key.len < sizeof text);
    memcpy(text, key.data, key.len);
    return (unsigned)strtoul(text + sizeof chaff_start - 1, NULL, 10);
}

void whole_add_row(struct whole_rows *w, struct bytes key, int64_t count)
{
    if (is_chaff(key)) {
        unsigned generation = generation_of(key);

        w->generation = w->generation == 0 ? generation : w->generation;
        assert_int_equal(generation, w->generation);
        assert_int_equal(count, 1);
        w->chaff++;
    } else {
        w->count = w->count == 0 ? count : w->count;
        assert_int_equal(count, w->count);
        w->steady++;
    }
}

uint64_t whole_end(const struct whole_rows *w)
{
    bool any = w->steady > 0;

    assert_int_equal(w->steady, any ? WHOLE_STEADY : 0);
    assert_int_equal(w->chaff, any ? WHOLE_CHAFF : 0);
    assert_int_equal(w->count, w->generation);
    return w->generation;
}

static void check(enum df_status status, const struct df_error *err)
{
    if (status != DF_OK) {
        fail_msg("%s", err->text);
    }
}

static uint64_t check_scan(struct snapshot *s)
{
    struct whole_rows w = { 0 };
    struct snapshot_scan *scan;
    const struct snapshot_row *row = NULL;
    struct df_error err;

    check(snapshot_scan_open(&scan, s, SNAPSHOT_ALL, bytes_of(NULL, 0), &err),
          &err);
    do {
        check(snapshot_scan_next(scan, &row, &err), &err);
        if (row != NULL) {
            whole_add_row(&w, row->key, row->values[0]);
        }
    } while (row != NULL);
    snapshot_scan_close(scan);
    if (snapshot_state(s).unfolded == 0) {
        assert_int_equal(snapshot_state(s).rows, w.steady + w.chaff);
    }
    return whole_end(&w);
}

static void check_gets(struct snapshot *s, uint64_t batch)
{
    for (unsigned i = 0; i < WHOLE_STEADY; i++) {
        char word[WHOLE_WORD];
        int64_t values[DF_COMPONENTS_MAX] = { 0 };
        struct df_error err;
        bool found;

        check(snapshot_get(s, bytes_of_string(whole_steady(word, i)),
                           bytes_of(NULL, 0), values, &found, &err),
              &err);
        assert_int_equal(found, batch > 0);
        assert_int_equal(found ? values[0] : 0, batch);
    }
}

/* The last entry, a batch's or a rebuild's, is of this batch. */
static void check_entry(struct snapshot *s, uint64_t batch)
{
    struct snapshot_state state = snapshot_state(s);
    struct ledger_entry e;
    struct df_error err;
    char name[NAME];
    bool found;

    check(snapshot_ledger_get(s, state.seq + 1, &e, &found, &err), &err);
    assert_false(found);
    if (batch == 0) {
        assert_int_equal(state.seq, 0);
        return;
    }
    check(snapshot_ledger_get(s, state.seq, &e, &found, &err), &err);
    assert_true(found);
    assert_true(hash128_equal(e.view_after, state.digest));
    if (e.unfolded == 0) {
        assert_int_equal(e.rows, state.rows);
    }
    (void)snprintf(name, sizeof name, "batch_%u", (unsigned)batch);
    assert_true(bytes_equal(e.name, bytes_of_string(name)));
    assert_true(bytes_equal(snapshot_ledger_high(s), bytes_of_string(name)));
}

/* As far back as the view keeps: whole batches as well. */
static void check_past(struct snapshot *s, uint64_t batch)
{
    uint64_t last = snapshot_state(s).seq;
    struct df_error err;
    uint64_t reach;

    check(snapshot_reach(s, &reach, &err), &err);
    for (uint64_t back = 1; back <= last - reach; back++) {
        check(snapshot_show_at(s, last - back, &err), &err);
        assert_int_equal(check_scan(s), batch - back);
        check_gets(s, batch - back);
    }
    snapshot_show_now(s);
}

uint64_t whole_check(struct snapshot *s)
{
    uint64_t batch = check_scan(s);

    check_gets(s, batch);
    check_entry(s, batch);
    check_past(s, batch);
    return batch;
}
