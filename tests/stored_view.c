#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "state/cost.h"
#include "stored_view.h"

void stored_open(struct stored *s, struct row_shape shape, unsigned shards)
{
    struct view_definition d = { .text = bytes_of_string("test 1"),
                                 .shape = shape,
                                 .shards = shards };

    cost_set_stall(0); /* for else few rows are one thread's work */
    *s = (struct stored){ .shape = shape,
                          .shards = shards,
                          .model = { .shape = shape },
                          .run = { .shape = shape },
                          .method = INSTALL_INCREMENT,
                          .memory = 64 << 20,
                          .threads = 1,
                          .record_high = true };
    input_tree_open(s->root);
    (void)snprintf(s->path, sizeof s->path, "%s",
                   input_tree_path(s->root, "view"));
    assert_int_equal(view_create(s->path, &d, &s->err), DF_OK);
}

void stored_close(struct stored *s)
{
    rows_source_fini(&s->model);
    rows_source_fini(&s->run);
    install_negatives_fini(&s->negatives);
    input_tree_remove(s->root);
}

const char *stored_file(const struct stored *s, const char *name)
{
    return input_tree_path(s->path, name);
}

static bool same_digest(struct hash128 a, struct hash128 b)
{
    return hash128_equal(a, b);
}

static void check_entry(const struct stored *s, struct hash128 run_digest)
{
    const struct ledger_entry *e = &s->entry;

    assert_int_equal(e->seq, s->seq);
    assert_int_equal(e->run_rows, s->run.count);
    assert_true(
        same_digest(e->view_after, digest_add(e->view_before, run_digest)));
    assert_true(same_digest(e->view_after, rows_source_digest(&s->model)));
    assert_int_equal(e->rows_seen, e->method != INSTALL_DEFER);
    if (!e->rows_seen) {
        assert_true(e->rows + e->unfolded >= s->model.count);
        assert_true(e->rows <= s->model.count + e->unfolded);
        return;
    }
    assert_int_equal(e->rows, s->model.count);
    assert_int_equal(e->unfolded, 0);
    assert_int_equal(e->rows_added + e->rows_changed + e->rows_removed,
                     e->run_rows);
}

static void on_applied(struct stored *s)
{
    s->seq++;
    rows_source_add_all(&s->model, &s->run, 1);
    rows_source_order(&s->model, ROWS_BY_KEY);
    check_entry(s, rows_source_digest(&s->run));
    rows_source_reset(&s->run);
}

/* What the method is given: the run, or all rows there are to be. */
static void make_rows(const struct stored *s, struct rows_source *rows)
{
    *rows = (struct rows_source){ .shape = s->shape,
                                  .before = s->run.before,
                                  .before_ctx = s->run.before_ctx };
    rows_source_add_all(rows, &s->run, 1);
    if (s->method == INSTALL_REBUILD) {
        rows_source_add_all(rows, &s->model, 1);
    }
    rows_source_order(rows, ROWS_BY_HEAD);
}

static enum df_status install(struct stored *s, struct view *v,
                              const char *name)
{
    struct rows_source rows;
    struct rows_source parts[VIEW_SHARDS_MAX];
    struct install_shard shards[VIEW_SHARDS_MAX] = { 0 };
    struct install_batch b = { .method = s->method,
                               .shards = shards,
                               .entry = &s->entry,
                               .files = s->files,
                               .file_count = s->file_count,
                               .memory = s->memory,
                               .threads = s->threads,
                               .allow_negative = s->allow_negative,
                               .keep = s->keep,
                               .record_high = s->record_high,
                               .started_us = clock_us(),
                               .stop = s->stop };
    enum df_status status;

    s->entry = (struct ledger_entry){ .kind = LEDGER_BATCH,
                                      .name = bytes_of_string(name),
                                      .program = bytes_of_string("test") };
    s->entry.digest = hash128(s->entry.name, 7);
    make_rows(s, &rows);
    for (unsigned i = 0; i < s->shards; i++) {
        rows_source_of_shard(&rows, s->shards, i, &parts[i]);
        shards[i] = (struct install_shard){
            .run = &parts[i].source,
            .rows_bound = parts[i].count + s->more_rows,
            .bytes_bound = rows_source_bytes(&parts[i]),
        };
    }
    install_negatives_fini(&s->negatives);
    status = install_batch(v, &b, &s->negatives, &s->err);
    for (unsigned i = 0; i < s->shards; i++) {
        rows_source_fini(&parts[i]);
    }
    rows_source_fini(&rows);
    return status;
}

enum df_status stored_apply(struct stored *s, const char *name)
{
    struct view *v;
    enum df_status status;

    rows_source_order(&s->run, ROWS_BY_HEAD);
    assert_int_equal(view_open(&v, s->path, VIEW_WRITE, 0, &s->err), DF_OK);
    status = install(s, v, name);
    view_close(v);
    if (status == DF_OK) {
        on_applied(s);
    }
    s->entry.name = bytes_of(NULL, 0);
    s->entry.program = bytes_of(NULL, 0);
    return status;
}

/* ---- looking ---- */

static void check_get(struct stored *s, struct snapshot *snapshot,
                      const struct snapshot_row *row)
{
    int64_t values[DF_COMPONENTS_MAX];
    bool found;

    assert_int_equal(snapshot_get(snapshot, row->key, row->element, values,
                                  &found, &s->err),
                     DF_OK);
    assert_true(found);
    assert_memory_equal(values, row->values,
                        s->shape.components * sizeof *values);
}

static void check_row(const struct stored *s, size_t i,
                      const struct snapshot_row *row)
{
    struct buf room = { 0 };
    struct bytes key;
    struct bytes element;

    assert_true(i < s->model.count);
    rows_source_decode(&s->model, i, &room, &key, &element);
    assert_true(bytes_equal(row->key, key));
    assert_true(bytes_equal(row->element, element));
    assert_memory_equal(row->values, s->model.at[i].values,
                        s->shape.components * sizeof *row->values);
    buf_fini(&room);
}

static void check_scan(struct stored *s, struct snapshot *snapshot)
{
    struct snapshot_scan *scan;
    const struct snapshot_row *row = NULL;
    size_t n = 0;
    enum df_status status = snapshot_scan_open(&scan, snapshot, SNAPSHOT_ALL,
                                               bytes_of(NULL, 0), &s->err);

    while (status == DF_OK &&
           (status = snapshot_scan_next(scan, &row, &s->err)) == DF_OK &&
           row != NULL) {
        check_row(s, n++, row);
        check_get(s, snapshot, row);
    }
    assert_int_equal(status, DF_OK);
    snapshot_scan_close(scan);
    assert_int_equal(n, s->model.count);
}

/* The shards as runs hold what they should, in head order. */
static void check_shard(struct stored *s, struct snapshot *snapshot,
                        unsigned shard, const struct rows_source *expected)
{
    struct run_source *run;
    const struct row *row;
    struct buf key = { 0 };

    assert_int_equal(snapshot_shard_open(&run, snapshot, shard, &s->err),
                     DF_OK);
    for (size_t i = 0; i <= expected->count; i++) {
        assert_int_equal(run->next(run, &row, &s->err), DF_OK);
        if (i == expected->count) {
            assert_null(row);
            break;
        }
        assert_non_null(row);
        buf_reset(&key);
        assert_true(row_join(&key, row->head, row->tail));
        assert_int_equal(key.len, expected->at[i].len);
        assert_memory_equal(key.data, expected->at[i].row_key, key.len);
    }
    snapshot_shard_close(run);
    buf_fini(&key);
}

void stored_check_snapshot(struct stored *s, struct snapshot *snapshot)
{
    struct snapshot_state state = snapshot_state(snapshot);

    assert_int_equal(state.seq, s->seq);
    if (state.unfolded == 0) {
        assert_int_equal(state.rows, s->model.count);
    }
    assert_true(same_digest(state.digest, rows_source_digest(&s->model)));
    check_scan(s, snapshot);
    for (unsigned i = 0; i < s->shards; i++) {
        struct rows_source part;

        rows_source_of_shard(&s->model, s->shards, i, &part);
        rows_source_order(&part, ROWS_BY_HEAD);
        check_shard(s, snapshot, i, &part);
        rows_source_fini(&part);
    }
}

void stored_check(struct stored *s)
{
    struct view *v;
    struct snapshot *snapshot;

    assert_int_equal(view_open(&v, s->path, VIEW_READ, 0, &s->err), DF_OK);
    assert_int_equal(snapshot_open(&snapshot, v, &s->err), DF_OK);
    stored_check_snapshot(s, snapshot);
    snapshot_close(snapshot);
    view_close(v);
}

/* ---- a reader elsewhere ---- */

/* Where an assertion fails the process does not end with 0. */
static void read_on_cue(struct stored *s, int ready, int cue)
{
    struct view *v;
    struct snapshot *snapshot;
    char byte = 0;

    assert_int_equal(view_open(&v, s->path, VIEW_READ, 0, &s->err), DF_OK);
    assert_int_equal(snapshot_open(&snapshot, v, &s->err), DF_OK);
    assert_int_equal(write(ready, &byte, 1), 1);
    assert_int_equal(read(cue, &byte, 1), 1);
    stored_check_snapshot(s, snapshot);
    snapshot_close(snapshot);
    view_close(v);
    _exit(0);
}

struct stored_reader stored_reader_begin(struct stored *s)
{
    struct stored_reader reader;
    int ready[2];
    int cue[2];
    char byte;

    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(cue), 0);
    reader.process = fork();
    assert_true(reader.process >= 0);
    if (reader.process == 0) {
        (void)close(cue[1]);
        (void)close(ready[0]);
        read_on_cue(s, ready[1], cue[0]);
    }
    (void)close(ready[1]);
    (void)close(cue[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    reader.go = cue[1];
    return reader;
}

void stored_reader_end(struct stored_reader reader)
{
    int status = -1;

    assert_int_equal(write(reader.go, "", 1), 1);
    (void)close(reader.go);
    assert_int_equal(waitpid(reader.process, &status, 0), reader.process);
    assert_int_equal(status, 0);
}
