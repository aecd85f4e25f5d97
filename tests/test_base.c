/*
 * Batches rebuilt from the documents that they leave (runtime/base.h): over
 * random histories rows, runs and ledger are those of the delta, whatever was
 * rebuilt and what was not; a base that does not hold the survivors, or not
 * any more, is found out, and only then the delta is mapped.
 *
 * DELTAFOLD_SEED repeats a run, DELTAFOLD_HISTORIES=N does N times as much.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base.h"
#include "runtime/survivors.h"
#include "state/install.h"
#include "way.h"
#include "workplace.h"

enum { BATCHES = 10, KEEP = 4 };

/* ---- random histories ---- */

/* A view that has a base, and one that has none and goes the plain way. */
struct twins {
    struct history_style style;
    struct history h;
    struct kept_view k;
    struct kept_view plain;
    uint64_t random;
    struct buf expected;
    struct buf found;
};

static void twins_open(struct twins *t, const struct df_job *job,
                       uint64_t seed)
{
    char root[INPUT_TREE_PATH];
    struct way way;

    *t = (struct twins){ .random = seed, .style = *history_for(job) };
    way = way_random(&t->random);
    /* Survivors are files as they are; so must be those of batches. */
    t->style.gzip_one_in = 0;
    (void)workplace_new(root);
    history_open(&t->h, root, &t->style, seed);
    kept_open(&t->k, root, "view", job, NULL, 0, way.shards);
    kept_open(&t->plain, root, "plain", job, NULL, 0, way.shards);
    kept_base(&t->k, t->h.survivors);
    if (random_below(&t->random, 2) == 0) {
        kept_keep(&t->k, KEEP);
        kept_keep(&t->plain, KEEP);
    }
    way_take(&t->plain, &way_plain, 0);
}

static void twins_close(struct twins *t)
{
    history_close(&t->h);
    kept_close(&t->k);
    kept_close(&t->plain);
    buf_fini(&t->expected);
    buf_fini(&t->found);
}

/* What the last entries say of the batch is the same. */
static void check_entries(const struct ledger_entry *a,
                          const struct ledger_entry *b)
{
    assert_int_equal(a->seq, b->seq);
    assert_true(hash128_equal(a->digest, b->digest));
    assert_true(hash128_equal(a->view_before, b->view_before));
    assert_true(hash128_equal(a->view_after, b->view_after));
    assert_int_equal(a->inserted, b->inserted);
    assert_int_equal(a->deleted, b->deleted);
    assert_int_equal(a->input_bytes, b->input_bytes);
    assert_int_equal(a->run_rows, b->run_rows);
    assert_true(a->survivors.known && b->survivors.known);
    assert_true(survivors_equal(&a->survivors, &b->survivors));
    if (a->rows_seen && b->rows_seen) {
        assert_int_equal(a->rows_added, b->rows_added);
        assert_int_equal(a->rows_changed, b->rows_changed);
        assert_int_equal(a->rows_removed, b->rows_removed);
        assert_int_equal(a->rows, b->rows);
    }
}

static void check_twins(struct twins *t)
{
    uint64_t seq = t->k.applied.seq;
    uint64_t reach = kept_reach(&t->plain);

    check_entries(&t->k.applied, &t->plain.applied);
    kept_rows(&t->plain, &t->expected);
    kept_rows(&t->k, &t->found);
    assert_same_rows(&t->expected, &t->found);
    assert_int_equal(kept_reach(&t->k), reach);
    for (; reach < seq; reach++) {
        kept_must(kept_rows_at(&t->plain, reach, &t->expected), &t->plain);
        kept_must(kept_rows_at(&t->k, reach, &t->found), &t->k);
        assert_same_rows(&t->expected, &t->found);
    }
}

static void apply_batch(struct twins *t)
{
    struct way way = way_random(&t->random);
    bool rebuild = random_below(&t->random, 2) == 0;

    way_take(&t->k, &way, t->h.batches);
    if (rebuild) {
        t->k.options.method = INSTALL_REBUILD;
    }
    kept_must(kept_run(&t->k, t->h.deltas), &t->k);
    assert_int_equal(t->k.outcomes[ENGINE_APPLIED], 1);
    assert_true(!rebuild || t->k.applied.method == INSTALL_REBUILD);
    kept_must(kept_run(&t->plain, t->h.batch), &t->plain);
}

static void live_through(struct twins *t)
{
    for (unsigned i = 0; i < BATCHES; i++) {
        history_step(&t->h);
        apply_batch(t);
        check_twins(t);
    }
    kept_must(kept_verify(&t->k, t->h.survivors, false), &t->k);
    kept_must(kept_verify(&t->k, t->h.deltas, true), &t->k);
    history_erase(&t->h);
    t->k.options.method = INSTALL_REBUILD;
    kept_must(kept_run(&t->k, t->h.batch), &t->k);
    assert_int_equal(kept_state(&t->k).rows, 0);
    assert_int_equal(t->k.applied.survivors.files, 0);
    assert_int_equal(t->k.applied.survivors.bytes, 0);
}

static void rebuilt_or_not_it_is_the_same(void **state)
{
    uint64_t seed = history_seed();
    const struct df_job *job;

    (void)state;
    for (size_t i = 0; (job = registry_job(i)) != NULL; i++) {
        for (unsigned n = 0;
             job->columns == NULL && n < history_times(history_tenth(6));
             n++) {
            struct twins t;

            twins_open(&t, job, seed + n);
            live_through(&t);
            twins_close(&t);
        }
    }
}

/* ---- a small world of two documents ---- */

struct world {
    char root[INPUT_TREE_PATH];
    char base[INPUT_TREE_PATH];
    struct kept_view k;
};

/* Batch b1 has inserted a and b; b2, yet to be applied, deletes a and inserts
 * c. The base is as after b2. */
static void world_open(struct world *w)
{
    (void)workplace_new(w->root);
    input_tree_text(w->root, "b1/inserted/a", "ant ant\n");
    input_tree_text(w->root, "b1/inserted/b", "bee\n");
    input_tree_text(w->root, "b2/deleted/a", "ant ant\n");
    input_tree_text(w->root, "b2/inserted/c", "cow\n");
    input_tree_text(w->root, "base/b", "bee\n");
    input_tree_text(w->root, "base/c", "cow\n");
    (void)snprintf(w->base, sizeof w->base, "%s",
                   input_tree_path(w->root, "base"));
    kept_open(&w->k, w->root, "view", registry_find("wordcount"), NULL, 0, 3);
    kept_base(&w->k, w->base);
    kept_must(kept_run(&w->k, input_tree_path(w->root, "b1")), &w->k);
}

static void world_close(struct world *w)
{
    kept_close(&w->k);
}

static enum df_status run(struct world *w, const char *batch,
                          enum install_method method)
{
    w->k.options.method = method;
    return kept_run(&w->k, input_tree_path(w->root, batch));
}

/* Refused, with a reason, and nothing has happened. */
static void refuses(struct world *w, const char *batch, enum df_status status,
                    const char *why)
{
    struct snapshot_state before = kept_state(&w->k);
    struct snapshot_state after;

    assert_int_equal(run(w, batch, INSTALL_REBUILD), status);
    if (strstr(w->k.err.text, why) == NULL) {
        fail_msg("'%s' is not in '%s'", why, w->k.err.text);
    }
    after = kept_state(&w->k);
    assert_memory_equal(&after, &before, sizeof after);
}

static void rebuilds(struct world *w, const char *batch)
{
    kept_must(run(w, batch, INSTALL_REBUILD), &w->k);
    assert_int_equal(w->k.outcomes[ENGINE_APPLIED], 1);
    assert_int_equal(w->k.applied.method, INSTALL_REBUILD);
    kept_must(kept_verify(&w->k, w->base, false), &w->k);
}

static void another_base_is_found_out(void **state)
{
    struct world w;

    (void)state;
    world_open(&w);
    input_tree_text(w.root, "base/d", "dog\n");
    refuses(&w, "b2", DF_INPUT, "3 files of 12 bytes, not 2 of 8");
    assert_int_equal(unlink(input_tree_path(w.base, "d")), 0);
    assert_int_equal(unlink(input_tree_path(w.base, "c")), 0);
    refuses(&w, "b2", DF_INPUT, "1 files of 4 bytes, not 2 of 8");
    input_tree_text(w.root, "base/c", "cat\n");
    refuses(&w, "b2", DF_INPUT, "another name or content");
    assert_int_equal(unlink(input_tree_path(w.base, "c")), 0);
    input_tree_text(w.root, "base/d", "cow\n");
    refuses(&w, "b2", DF_INPUT, "another name or content");
    /* Documents are told by their ids. */
    input_tree_text(w.root, "base/manifest.tsv", "d\tc\n");
    rebuilds(&w, "b2");
    world_close(&w);
}

static void a_base_that_is_away_refuses(void **state)
{
    struct world w;

    (void)state;
    world_open(&w);
    kept_base(&w.k, input_tree_path(w.root, "nowhere"));
    refuses(&w, "b2", DF_INPUT, "nowhere");
    kept_base(&w.k, "");
    refuses(&w, "b2", DF_USAGE, "does not know where the documents lie");
    world_close(&w);
}

/* Changes the base once the delta is being read. */
static void change_base(void *ctx, const struct engine_progress *now)
{
    struct world *w = ctx;

    if (strcmp(now->batch, "b2") == 0) {
        input_tree_text(w->root, "base/c", "cow cow\n");
    }
}

static void a_base_that_changes_refuses(void **state)
{
    struct world w;

    (void)state;
    world_open(&w);
    w.k.options.progress = change_base;
    w.k.options.progress_ctx = &w;
    refuses(&w, "b2", DF_INPUT, "base/c");
    w.k.options.progress = NULL;
    kept_must(run(&w, "b2", INSTALL_AUTO), &w.k);
    world_close(&w);
}

/* Of several at hand the last is rebuilt; the ones before it cannot be. */
static void only_the_last_is_rebuilt(void **state)
{
    struct world w;

    (void)state;
    world_open(&w);
    input_tree_text(w.root, "d/b3/inserted/d", "dog\n");
    input_tree_text(w.root, "d/b4/deleted/d", "dog\n");
    input_tree_text(w.root, "d/b4/deleted/b", "bee\n");
    input_tree_text(w.root, "d/b5/inserted/e", "eel\n");
    kept_must(run(&w, "b2", INSTALL_INCREMENT), &w.k);
    kept_must(run(&w, "d/b5", INSTALL_INCREMENT), &w.k);
    input_tree_text(w.root, "base/e", "eel\n");
    assert_int_equal(unlink(input_tree_path(w.base, "b")), 0);
    w.k.options.allow_late = true;
    kept_must(run(&w, "d", INSTALL_REBUILD), &w.k);
    assert_int_equal(w.k.outcomes[ENGINE_APPLIED], 2);
    assert_int_equal(w.k.outcomes[ENGINE_ALREADY_APPLIED], 1);
    assert_int_equal(w.k.applied.method, INSTALL_REBUILD);
    kept_must(kept_verify(&w.k, w.base, false), &w.k);
    world_close(&w);
}

/* The length of what base_directory finds. */
static size_t directory(struct world *w, enum install_method method)
{
    struct engine_options options = { .method = method };
    struct base_ask ask = { .options = &options };
    struct bytes found = { 0 };

    kept_must(view_open(&ask.v, w->k.path, VIEW_READ, 0, &w->k.err), &w->k);
    kept_must(snapshot_open(&ask.snapshot, ask.v, &w->k.err), &w->k);
    kept_must(base_directory(&ask, &found, &w->k.err), &w->k);
    snapshot_close(ask.snapshot);
    view_close(ask.v);
    return found.len;
}

/* Nothing is looked up of batches where no base could be used. */
static void only_some_methods_ask_for_the_base(void **state)
{
    struct world w;

    (void)state;
    world_open(&w);
    assert_int_equal(directory(&w, INSTALL_REBUILD), strlen(w.base));
    assert_int_equal(directory(&w, INSTALL_AUTO), strlen(w.base));
    assert_int_equal(directory(&w, INSTALL_INCREMENT), 0);
    assert_int_equal(directory(&w, INSTALL_OVERWRITE), 0);
    assert_int_equal(directory(&w, INSTALL_DEFER), 0);
    kept_base(&w.k, "");
    assert_int_equal(directory(&w, INSTALL_AUTO), 0);
    world_close(&w);
}

/* By what the delta's hashes tell: a base of the right size is not enough. */
static void repeats_are_refused(void **state)
{
    struct world w;

    (void)state;
    world_open(&w);
    rebuilds(&w, "b2");
    input_tree_text(w.root, "b3/deleted/a", "ant ant\n");
    input_tree_text(w.root, "b3/inserted/c", "cow\n");
    input_tree_text(w.root, "base/b", "");
    refuses(&w, "b3", DF_LEDGER, "has the content of 'b2'");
    world_close(&w);
}

static void undo(struct world *w, const char *batch, bool redo)
{
    w->k.options.method = INSTALL_AUTO;
    kept_must(kept_undo(&w->k, batch, redo), &w->k);
}

static void what_was_undone_is_not_left(void **state)
{
    struct world w;

    (void)state;
    world_open(&w);
    kept_keep(&w.k, KEEP);
    rebuilds(&w, "b2");
    undo(&w, "b2", false);
    input_tree_text(w.root, "b3/inserted/d", "dog\n");
    input_tree_text(w.root, "base/d", "dog\n");
    refuses(&w, "b3", DF_INPUT, "3 files of 12 bytes, not 3 of 16");
    assert_int_equal(unlink(input_tree_path(w.base, "c")), 0);
    input_tree_text(w.root, "base/a", "ant ant\n");
    rebuilds(&w, "b3");
    undo(&w, "b2", true);
    input_tree_text(w.root, "b4/inserted/e", "eel\n");
    input_tree_text(w.root, "base/e", "eel\n");
    input_tree_text(w.root, "base/c", "cow\n");
    assert_int_equal(unlink(input_tree_path(w.base, "a")), 0);
    rebuilds(&w, "b4");
    world_close(&w);
}

static void what_was_left_out_is_left(void **state)
{
    struct world w;

    (void)state;
    world_open(&w);
    input_tree_text(w.root, "b2/deleted/ghost", "ghost\n");
    refuses(&w, "b2", DF_INPUT, "2 files of 8 bytes, not 1 of 2");
    w.k.options.on_negative = ENGINE_NEGATIVE_QUARANTINE;
    kept_must(run(&w, "b2", INSTALL_INCREMENT), &w.k);
    assert_int_equal(w.k.applied.quarantined, 1);
    input_tree_text(w.root, "b3/deleted/b", "bee\n");
    assert_int_equal(unlink(input_tree_path(w.base, "b")), 0);
    rebuilds(&w, "b3");
    world_close(&w);
}

/* A document that is owed is in no directory; once it is there again, the
 * rows are those of the base. */
static void what_is_negative_is_never_rebuilt(void **state)
{
    struct world w;

    (void)state;
    world_open(&w);
    input_tree_text(w.root, "b2/deleted/ghost", "ghost\n");
    w.k.options.on_negative = ENGINE_NEGATIVE_ALLOW;
    kept_must(run(&w, "b2", INSTALL_INCREMENT), &w.k);
    assert_int_equal(kept_count(&w.k, "ghost"), -1);
    input_tree_text(w.root, "b3/inserted/ghost", "ghoul\n");
    refuses(&w, "b3", DF_INPUT, "another name or content");
    input_tree_text(w.root, "b3/inserted/ghost", "ghost\n");
    rebuilds(&w, "b3");
    assert_int_equal(kept_count(&w.k, "ghost"), 0);
    world_close(&w);
}

static void an_archive_is_mapped(void **state)
{
    struct world w;

    (void)state;
    world_open(&w);
    input_tree_text(w.root, "b2/inserted/x.warc", "");
    refuses(&w, "b2", DF_USAGE, "x.warc is an archive");
    world_close(&w);
}

/* An entry of a program that did not note what is left. */
static void apply_old(struct world *w)
{
    struct install_shard shards[VIEW_SHARDS_MAX] = { 0 };
    struct install_negatives none = { 0 };
    struct ledger_entry e = { .kind = LEDGER_UNDO,
                              .name = bytes_of_string("old"),
                              .program = bytes_of_string("old"),
                              .has_effects = true };
    struct install_batch b = { .method = INSTALL_INCREMENT,
                               .shards = shards,
                               .entry = &e,
                               .threads = 1 };
    struct view *v;

    kept_must(view_open(&v, w->k.path, VIEW_WRITE, 0, &w->k.err), &w->k);
    kept_must(install_batch(v, &b, &none, &w->k.err), &w->k);
    view_close(v);
}

static void what_was_not_noted_is_not_known(void **state)
{
    struct world w;

    (void)state;
    world_open(&w);
    apply_old(&w);
    refuses(&w, "b2", DF_LEDGER, "'deltafold rebuild VIEW DIR'");
    kept_must(run(&w, "b2", INSTALL_INCREMENT), &w.k);
    input_tree_text(w.root, "b3/deleted/b", "bee\n");
    refuses(&w, "b3", DF_LEDGER, "was not noted");
    kept_must(kept_rebuild(&w.k, w.base, NULL, 2), &w.k);
    assert_int_equal(unlink(input_tree_path(w.base, "b")), 0);
    rebuilds(&w, "b3");
    world_close(&w);
}

/* ---- auto ---- */

enum { PAGES = 16, PAGE = 1 << 20 };

/* A document of few distinct words, whose mapping is most of the work. */
static void page(struct world *w, const char *path, unsigned number)
{
    static const char letters[] = "abcdefghijklmnopqrst";
    static char text[PAGE];

    memset(text, ' ', sizeof text);
    for (size_t i = 0; i < sizeof text; i++) {
        if (i % 8 != 7) {
            text[i] = letters[(i / 8 + number) % 20];
        }
    }
    input_tree_file(w->root, path, text, sizeof text);
}

/* Batch c1 is many pages, c2 takes all but one of them away. */
static void pages(struct world *w)
{
    char path[HISTORY_NAME];

    for (unsigned i = 0; i < PAGES; i++) {
        (void)snprintf(path, sizeof path, "c1/inserted/%u", i);
        page(w, path, i);
        if (i > 0) {
            (void)snprintf(path, sizeof path, "c2/deleted/%u", i);
            page(w, path, i);
        }
    }
    page(w, "base/0", 0);
    kept_must(run(w, "c1", INSTALL_AUTO), &w->k);
    assert_int_not_equal(w->k.applied.method, INSTALL_REBUILD);
}

static void auto_rebuilds_where_little_is_left(void **state)
{
    struct world w;

    (void)state;
    world_open(&w);
    kept_must(run(&w, "b2", INSTALL_INCREMENT), &w.k);
    pages(&w);
    kept_must(run(&w, "c2", INSTALL_AUTO), &w.k);
    assert_int_equal(w.k.applied.method, INSTALL_REBUILD);
    assert_string_equal(w.k.remark, "");
    kept_must(kept_verify(&w.k, w.base, false), &w.k);
    world_close(&w);
}

/* And says why, where it cannot. */
static void auto_maps_the_delta_where_the_base_differs(void **state)
{
    struct world w;

    (void)state;
    world_open(&w);
    kept_must(run(&w, "b2", INSTALL_INCREMENT), &w.k);
    pages(&w);
    page(&w, "base/0", 1);
    kept_must(run(&w, "c2", INSTALL_AUTO), &w.k);
    assert_int_not_equal(w.k.applied.method, INSTALL_REBUILD);
    assert_non_null(strstr(w.k.remark, "another name or content"));
    assert_null(strstr(w.k.remark, "--install"));
    page(&w, "base/0", 0);
    kept_must(kept_verify(&w.k, w.base, false), &w.k);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rebuilt_or_not_it_is_the_same),
        cmocka_unit_test(another_base_is_found_out),
        cmocka_unit_test(a_base_that_is_away_refuses),
        cmocka_unit_test(a_base_that_changes_refuses),
        cmocka_unit_test(only_the_last_is_rebuilt),
        cmocka_unit_test(only_some_methods_ask_for_the_base),
        cmocka_unit_test(repeats_are_refused),
        cmocka_unit_test(what_was_undone_is_not_left),
        cmocka_unit_test(what_was_left_out_is_left),
        cmocka_unit_test(what_is_negative_is_never_rebuilt),
        cmocka_unit_test(an_archive_is_mapped),
        cmocka_unit_test(what_was_not_noted_is_not_known),
        cmocka_unit_test(auto_rebuilds_where_little_is_left),
        cmocka_unit_test(auto_maps_the_delta_where_the_base_differs),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
