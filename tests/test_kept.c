/*
 * Kept runs: the rows are at every moment the sum of the runs that are said to
 * be in them, and so is every past that is kept. Random entries - batches
 * that are shown, that are not yet, that push others out, undo and redo -
 * against a model that keeps every run in memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "history.h"
#include "oracle.h"
#include "state/commit.h"
#include "state/history.h"
#include "stored_view.h"

enum { ENTRIES = 24, KEYS = 60 };

struct world {
    struct stored s; /* root, path, shape and shards; its model is not used */
    uint64_t random;
    uint64_t seq;
    struct rows_source runs[ENTRIES + 1]; /* by number */
    int64_t times[ENTRIES + 1];
    bool kept[ENTRIES + 1];
    struct rows_source past[ENTRIES + 1]; /* the rows after each entry */
};

static void world_open(struct world *w, uint64_t seed, unsigned shards)
{
    const struct row_shape shape = { .components = 2,
                                     .has_element = seed % 2 == 0 };

    *w = (struct world){ .random = seed };
    stored_open(&w->s, shape, shards);
    w->s.threads = 2;
    for (unsigned i = 0; i <= ENTRIES; i++) {
        w->runs[i].shape = shape;
        w->past[i].shape = shape;
    }
}

static void world_close(struct world *w)
{
    for (unsigned i = 0; i <= ENTRIES; i++) {
        rows_source_fini(&w->runs[i]);
        rows_source_fini(&w->past[i]);
    }
    stored_close(&w->s);
}

/* Keys short and long, many of which share their first bytes. */
static void random_run(struct world *w, struct rows_source *run)
{
    unsigned n = (unsigned)random_below(&w->random, KEYS);

    for (unsigned i = 0; i < n; i++) {
        char key[800];
        uint64_t id = random_below(&w->random, KEYS);
        const int64_t values[] = {
            (int64_t)random_below(&w->random, 7) - 3,
            (int64_t)random_below(&w->random, 3),
        };

        (void)snprintf(key, sizeof key, "%0*llu", id % 5 == 0 ? 700 : 3,
                       (unsigned long long)id);
        rows_source_add(run, bytes_of_string(key), bytes_of(key, 1 + id % 3),
                        values);
    }
    rows_source_order(run, ROWS_BY_HEAD);
}

/* ---- an entry ---- */

struct made {
    struct buf effects;
    struct buf drops;
};

static void effect(struct world *w, struct made *m, uint64_t seq, bool minus)
{
    assert_true(ledger_effects_add(
        &m->effects, (struct ledger_effect){ .seq = seq, .minus = minus }));
    w->times[seq] += minus ? -1 : 1;
}

/* Up to two runs change from in to out or back. */
static void random_effects(struct world *w, struct made *m)
{
    for (unsigned i = 0; i < 2 && w->seq > 0; i++) {
        uint64_t seq = 1 + random_below(&w->random, w->seq);

        if (w->kept[seq]) {
            effect(w, m, seq, w->times[seq] == 1);
        }
    }
}

static void random_drop(struct world *w, struct made *m)
{
    uint64_t seq = 1 + random_below(&w->random, ENTRIES);

    if (seq <= w->seq && w->kept[seq] && random_below(&w->random, 4) == 0) {
        assert_true(ledger_drops_add(&m->drops, seq));
        w->kept[seq] = false;
    }
}

static enum df_status install_entry(struct world *w, struct view *v, bool own,
                                    const struct made *m)
{
    struct rows_source parts[VIEW_SHARDS_MAX];
    struct install_shard shards[VIEW_SHARDS_MAX] = { 0 };
    char name[32];
    struct ledger_entry e = { .kind = own ? LEDGER_BATCH : LEDGER_UNDO,
                              .program = bytes_of_string("test"),
                              .has_effects = true,
                              .effects = buf_bytes(&m->effects),
                              .drops = buf_bytes(&m->drops) };
    static const enum install_method methods[] = {
        INSTALL_INCREMENT, INSTALL_OVERWRITE, INSTALL_DEFER, INSTALL_DEFER
    };
    struct install_batch b = { .method = methods[random_below(&w->random, 4)],
                               .shards = shards,
                               .entry = &e,
                               .memory = w->s.memory,
                               .threads = w->s.threads,
                               .keep = own,
                               .allow_negative = true };
    enum df_status status;

    (void)snprintf(name, sizeof name, "entry %llu",
                   (unsigned long long)w->seq + 1);
    e.name = bytes_of_string(name);
    e.digest = hash128(e.name, 1);
    for (unsigned i = 0; i < w->s.shards; i++) {
        rows_source_of_shard(&w->runs[w->seq + 1], w->s.shards, i, &parts[i]);
        if (own) {
            shards[i] = (struct install_shard){
                .run = &parts[i].source,
                .rows_bound = parts[i].count,
                .bytes_bound = rows_source_bytes(&parts[i]),
            };
        }
    }
    status = install_batch(v, &b, &w->s.negatives, &w->s.err);
    for (unsigned i = 0; i < w->s.shards; i++) {
        rows_source_fini(&parts[i]);
    }
    return status;
}

static void remember(struct world *w)
{
    struct rows_source *now = &w->past[w->seq];

    for (uint64_t i = 1; i <= w->seq; i++) {
        if (w->times[i] != 0) {
            rows_source_add_all(now, &w->runs[i], w->times[i]);
        }
    }
    rows_source_order(now, ROWS_BY_KEY);
}

static void step(struct world *w)
{
    bool own = w->seq == 0 || random_below(&w->random, 3) > 0;
    struct made m = { 0 };
    struct view *v;

    if (own) {
        random_run(w, &w->runs[w->seq + 1]);
    }
    random_effects(w, &m);
    random_drop(w, &m);
    if (own && random_below(&w->random, 4) > 0) {
        effect(w, &m, w->seq + 1, false);
    }
    if (m.effects.len == 0) {
        assert_true(buf_reserve(&m.effects, 1));
    }
    assert_int_equal(view_open(&v, w->s.path, VIEW_WRITE, 0, &w->s.err),
                     DF_OK);
    if (install_entry(w, v, own, &m) != DF_OK) {
        fail_msg("%s", w->s.err.text);
    }
    view_close(v);
    w->seq++;
    w->kept[w->seq] = own;
    remember(w);
    buf_fini(&m.effects);
    buf_fini(&m.drops);
}

/* ---- looking ---- */

static void check_row(struct world *w, struct snapshot *s,
                      const struct snapshot_row *row,
                      const struct rows_source *expected, size_t i)
{
    size_t size = w->s.shape.components * sizeof(int64_t);
    struct buf room = { 0 };
    struct bytes key;
    struct bytes element;
    int64_t values[DF_COMPONENTS_MAX];
    bool found;

    assert_true(i < expected->count);
    rows_source_decode(expected, i, &room, &key, &element);
    assert_true(bytes_equal(row->key, key));
    assert_true(bytes_equal(row->element, element));
    assert_memory_equal(row->values, expected->at[i].values, size);
    assert_int_equal(snapshot_get(s, key, element, values, &found, &w->s.err),
                     DF_OK);
    assert_true(found);
    assert_memory_equal(values, expected->at[i].values, size);
    buf_fini(&room);
}

/* What the snapshot shows, by scan and by look-up. */
static void check_shown(struct world *w, struct snapshot *s,
                        const struct rows_source *expected)
{
    struct snapshot_scan *scan;
    const struct snapshot_row *row = NULL;
    int64_t values[DF_COMPONENTS_MAX];
    size_t n = 0;
    bool found;

    assert_int_equal(snapshot_scan_open(&scan, s, SNAPSHOT_ALL,
                                        bytes_of(NULL, 0), &w->s.err),
                     DF_OK);
    for (;;) {
        assert_int_equal(snapshot_scan_next(scan, &row, &w->s.err), DF_OK);
        if (row == NULL) {
            break;
        }
        check_row(w, s, row, expected, n++);
    }
    snapshot_scan_close(scan);
    assert_int_equal(n, expected->count);
    assert_int_equal(snapshot_get(s, bytes_of_string("no such key"),
                                  bytes_of(NULL, 0), values, &found,
                                  &w->s.err),
                     DF_OK);
    assert_false(found);
}

/* What is kept, as the model has it; every run of it in full. */
static void check_kept(struct world *w, struct snapshot *s)
{
    uint64_t seq = 0;

    for (uint64_t i = 1; i <= w->seq; i++) {
        struct kept_run kept;
        bool found;

        if (!w->kept[i]) {
            continue;
        }
        assert_int_equal(snapshot_kept_after(s, seq, &kept, &found, &w->s.err),
                         DF_OK);
        assert_true(found);
        assert_int_equal(kept.seq, i);
        assert_int_equal(kept.times, w->times[i]);
        assert_int_equal(kept.rows, w->runs[i].count);
        assert_true(
            hash128_equal(kept.digest, rows_source_digest(&w->runs[i])));
        seq = i;
        assert_int_equal(snapshot_show_run(s, i, &w->s.err), DF_OK);
        rows_source_order(&w->runs[i], ROWS_BY_KEY);
        check_shown(w, s, &w->runs[i]);
        rows_source_order(&w->runs[i], ROWS_BY_HEAD);
    }
}

static void check_change(struct world *w, struct snapshot *s, uint64_t from,
                         uint64_t to)
{
    struct rows_source change = { .shape = w->s.shape };

    rows_source_add_all(&change, &w->past[to], 1);
    rows_source_add_all(&change, &w->past[from], -1);
    rows_source_order(&change, ROWS_BY_KEY);
    assert_int_equal(snapshot_show_change(s, from, to, &w->s.err), DF_OK);
    check_shown(w, s, &change);
    rows_source_fini(&change);
}

static void check_past(struct world *w, struct snapshot *s)
{
    uint64_t reach;
    uint64_t from;
    uint64_t to;

    assert_int_equal(snapshot_reach(s, &reach, &w->s.err), DF_OK);
    for (uint64_t seq = reach; seq <= w->seq; seq++) {
        struct snapshot_state state;

        assert_int_equal(snapshot_show_at(s, seq, &w->s.err), DF_OK);
        check_shown(w, s, &w->past[seq]);
        state = snapshot_state(s);
        if (state.unfolded == 0) {
            assert_int_equal(state.rows, w->past[seq].count);
        }
        assert_true(
            hash128_equal(state.digest, rows_source_digest(&w->past[seq])));
    }
    from = reach + random_below(&w->random, w->seq - reach + 1);
    to = reach + random_below(&w->random, w->seq - reach + 1);
    check_change(w, s, from, to);
    if (reach > 0) {
        assert_int_equal(snapshot_show_at(s, reach - 1, &w->s.err), DF_LEDGER);
    }
    assert_int_equal(snapshot_show_at(s, w->seq + 1, &w->s.err), DF_LEDGER);
    snapshot_show_now(s);
    check_shown(w, s, &w->past[w->seq]);
}

static void check(struct world *w)
{
    struct snapshot *s;
    struct view *v;

    assert_int_equal(view_open(&v, w->s.path, VIEW_READ, 0, &w->s.err), DF_OK);
    assert_int_equal(snapshot_open(&s, v, &w->s.err), DF_OK);
    assert_int_equal(snapshot_state(s).seq, w->seq);
    if (snapshot_state(s).unfolded == 0) {
        assert_int_equal(snapshot_state(s).rows, w->past[w->seq].count);
    }
    assert_true(hash128_equal(snapshot_state(s).digest,
                              rows_source_digest(&w->past[w->seq])));
    check_shown(w, s, &w->past[w->seq]);
    check_kept(w, s);
    check_past(w, s);
    snapshot_close(s);
    view_close(v);
}

static void test_rows_are_the_sum_of_the_runs_in_them(void **state)
{
    uint64_t seed = history_seed();

    (void)state;
    for (unsigned i = 0; i < history_times(12); i++) {
        struct world w;

        world_open(&w, seed + i, i % 3 == 0 ? 1 : 3);
        for (unsigned k = 0; k < ENTRIES; k++) {
            step(&w);
            check(&w);
        }
        world_close(&w);
    }
}

/* ---- crashes ---- */

/* Puts a run of the next entry into every shard, as install does ahead. */
static void keep_ahead(struct world *w, struct view *v)
{
    random_run(w, &w->runs[w->seq + 1]);
    for (unsigned i = 0; i < w->s.shards; i++) {
        struct rows_source part;
        struct kept_run kept;
        struct store_txn *t = NULL;
        const struct runs_put put = { .shape = w->s.shape,
                                      .seq = w->seq + 1,
                                      .run = &part.source,
                                      .keep = true,
                                      .chunk = 1 };

        rows_source_of_shard(&w->runs[w->seq + 1], w->s.shards, i, &part);
        assert_int_equal(runs_put(&put, v->stores[i], &t, &kept, &w->s.err),
                         DF_OK);
        assert_int_equal(store_commit(t, &w->s.err), DF_OK);
        rows_source_fini(&part);
    }
}

static void make_world(struct world *w, uint64_t seed, unsigned entries)
{
    world_open(w, seed, 3);
    for (unsigned i = 0; i < entries; i++) {
        step(w);
    }
}

static void test_run_that_was_not_decided_goes(void **state)
{
    struct world w;
    struct view *v;

    (void)state;
    make_world(&w, history_seed(), 6);
    assert_int_equal(view_open(&v, w.s.path, VIEW_WRITE, 0, &w.s.err), DF_OK);
    keep_ahead(&w, v);
    view_close(v);
    check(&w); /* readers do not see it */
    rows_source_reset(&w.runs[w.seq + 1]);
    step(&w);
    check(&w);
    world_close(&w);
}

/* Decides an entry that adds its own run and takes one that is in the rows
 * away, and commits it in some shards. */
static void decide(struct world *w, struct view *v, unsigned committed)
{
    struct made m = { 0 };
    struct pending p;
    struct ledger_entry e = { .seq = w->seq + 1,
                              .kind = LEDGER_BATCH,
                              .name = bytes_of_string("decided"),
                              .digest = { 1, 2 },
                              .kept = true,
                              .has_effects = true };

    for (uint64_t i = 1; i <= w->seq; i++) {
        if (w->times[i] == 1 && w->kept[i]) {
            effect(w, &m, i, true);
            assert_true(ledger_drops_add(&m.drops, i));
            w->kept[i] = false;
            break;
        }
    }
    effect(w, &m, e.seq, false);
    e.effects = buf_bytes(&m.effects);
    e.drops = buf_bytes(&m.drops);
    w->seq++;
    w->kept[w->seq] = true;
    remember(w);
    e.rows = w->past[w->seq].count;
    e.view_after = rows_source_digest(&w->past[w->seq]);
    pending_init(&p);
    p.seq = e.seq;
    p.kept = true;
    assert_int_equal(ledger_record_make(&p.record, &e, NULL, 0, &w->s.err),
                     DF_OK);
    assert_int_equal(pending_decide(&p, v, &w->s.err), DF_OK);
    for (unsigned i = 0; i < committed; i++) {
        assert_int_equal(shard_finish(v, w->s.shards - 1 - i, &p, &w->s.err),
                         DF_OK);
    }
    pending_fini(&p);
    buf_fini(&m.effects);
    buf_fini(&m.drops);
}

static void test_decided_entry_is_completed(void **state)
{
    uint64_t seed = history_seed();

    (void)state;
    for (unsigned committed = 0; committed <= 3; committed++) {
        struct world w;
        struct view *v;

        make_world(&w, seed + committed, 6);
        assert_int_equal(view_open(&v, w.s.path, VIEW_WRITE, 0, &w.s.err),
                         DF_OK);
        keep_ahead(&w, v);
        decide(&w, v, committed);
        view_close(v);
        assert_int_equal(view_open(&v, w.s.path, VIEW_WRITE, 0, &w.s.err),
                         DF_OK);
        view_close(v);
        check(&w);
        step(&w);
        check(&w);
        world_close(&w);
    }
}

/* ---- one run ---- */

static void put_numbers(struct rows_source *run, unsigned n)
{
    char key[600];

    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(key, sizeof key, "%0*u", i % 50 == 0 ? 599 : 9, 3 * i);
        rows_source_add_text(run, key, i + 1);
    }
    rows_source_order(run, ROWS_BY_HEAD);
}

static void check_seek(struct run_source *kept, struct rows_source *run,
                       size_t at, struct df_error *err)
{
    const struct row *row;
    uint8_t room[ROW_HEAD_MAX];
    struct bytes head;
    struct bytes tail;
    struct bytes want;

    row_split(bytes_of(run->at[at].row_key, run->at[at].len), room, &head,
              &tail);
    /* The head itself, and one a little before it. */
    for (size_t less = 0; less <= 1; less++) {
        want = bytes_of(head.data, head.len - less);
        assert_int_equal(kept->seek(kept, want, err), DF_OK);
        for (size_t i = at; i < at + 3 && i < run->count; i++) {
            assert_int_equal(kept->next(kept, &row, err), DF_OK);
            if (less == 0) {
                assert_int_equal(row->values[0], run->at[i].values[0]);
            } else {
                assert_true(bytes_compare(row->head, want) >= 0);
            }
        }
    }
}

static void test_a_head_is_found_in_any_block(void **state)
{
    const struct row_shape shape = { .components = 1 };
    struct rows_source run = { .shape = shape };
    struct df_error err;
    char root[INPUT_TREE_PATH];
    struct store *store;
    struct store_txn *t;
    struct kept_run kept;
    struct run_source *source;
    const struct row *row;

    (void)state;
    input_tree_open(root);
    put_numbers(&run, 20000);
    assert_int_equal(store_open(&store, input_tree_path(root, "store"),
                                STORE_WRITE, NULL, &err),
                     DF_OK);
    assert_int_equal(runs_put(&(struct runs_put){ .shape = shape,
                                                  .seq = 7,
                                                  .run = &run.source,
                                                  .chunk = 100000 },
                              store, &t, &kept, &err),
                     DF_OK);
    assert_true(kept.blocks > 10);
    assert_true(kept.stored < rows_source_bytes(&run));
    assert_int_equal(runs_open(&source, t, 1, 7, true, &err), DF_OK);
    for (size_t i = 0; i < run.count; i += 7) {
        check_seek(source, &run, i, &err);
    }
    assert_int_equal(source->seek(source, bytes_of_string("~"), &err), DF_OK);
    assert_int_equal(source->next(source, &row, &err), DF_OK);
    assert_null(row);
    runs_close(source);
    assert_int_equal(runs_drop(t, 7, &err), DF_OK);
    assert_int_equal(runs_open(&source, t, 1, 7, true, &err), DF_STATE);
    store_abort(t);
    store_close(store);
    rows_source_fini(&run);
    input_tree_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_the_sum_of_the_runs_in_them),
        cmocka_unit_test(test_run_that_was_not_decided_goes),
        cmocka_unit_test(test_decided_entry_is_completed),
        cmocka_unit_test(test_a_head_is_found_in_any_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
