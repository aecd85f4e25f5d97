/* Every state that a crash can leave, built by hand, and its mending. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "state/commit.h"
#include "state/fold.h"
#include "stored_view.h"

static const struct row_shape shape = { .components = 1 };
enum { SHARDS = 3, CHUNK = 4 << 20 };

/* What a crash came after. */
enum point {
    ROWS_WRITTEN, /* the files or tables are there, nothing is decided */
    DECIDED
};

struct crash {
    bool overwrite;
    enum point point;
    unsigned committed; /* shards that have the batch, from the last down */
};

/* ---- a view, a batch, and a crash in the midst of it ---- */

static void add_rows(struct stored *s, int from, int to, int64_t value)
{
    char key[600];

    for (int i = from; i < to; i++) {
        /* Every seventh has a tail. */
        (void)snprintf(key, sizeof key, "%0*d", i % 7 == 0 ? 550 : 4, i);
        rows_source_add_text(&s->run, key, value);
    }
}

static void open_filled(struct stored *s)
{
    stored_open(s, shape, SHARDS);
    for (int batch = 6; batch <= 7; batch++) {
        char name[32];

        (void)snprintf(name, sizeof name, "batch %d", batch);
        add_rows(s, 10 * batch, 10 * batch + 60, batch);
        assert_int_equal(stored_apply(s, name), DF_OK);
    }
    add_rows(s, 0, 40, 3);
    add_rows(s, 17, 18, -100);
    for (size_t i = 0; i < s->model.count; i += 2) {
        struct rows_source one = { .at = &s->model.at[i],
                                   .count = 1,
                                   .shape = shape };

        rows_source_add_all(&s->run, &one, -1);
    }
    rows_source_order(&s->run, ROWS_BY_HEAD);
}

static void write_rows_file(struct pending *p, const struct view *v,
                            unsigned shard, struct rows_source *part)
{
    struct run_writer *w;
    const struct row *row;
    struct df_error err;

    assert_int_equal(pending_open_rows(p, v, shard, true, &err), DF_OK);
    assert_int_equal(run_writer_open(&w, shape, p->runs[shard].fd, 0, &err),
                     DF_OK);
    while (part->source.next(&part->source, &row, &err) == DF_OK &&
           row != NULL) {
        assert_int_equal(run_writer_add(w, row, &err), DF_OK);
    }
    assert_int_equal(run_writer_end(w, &p->runs[shard], &err), DF_OK);
    run_writer_close(w);
}

static void fill_other_table(const struct view *v, unsigned shard,
                             struct rows_source *part)
{
    struct install_negatives negatives = { 0 };
    struct shard_state state;
    struct fold f = { .shape = shape,
                      .run = &part->source,
                      .state = &state,
                      .allow_negative = true,
                      .negatives = &negatives };
    struct store_txn *t;
    struct df_error err;

    assert_int_equal(shard_look(v->stores[shard], &state, &err), DF_OK);
    assert_int_equal(fold_overwrite(&f, v->stores[shard], CHUNK, &t, &err),
                     DF_OK);
    state.prepared = state.seq + 1;
    state.prepared_rows = shard_after(&f).rows;
    state.prepared_magnitude = shard_after(&f).magnitude;
    state.prepared_digest = shard_after(&f).digest;
    assert_int_equal(shard_state_store(t, &state, &err), DF_OK);
    assert_int_equal(store_commit(t, &err), DF_OK);
}

static void make_record(struct stored *s, struct pending *p, uint64_t seq)
{
    struct ledger_entry e = { .seq = seq,
                              .kind = LEDGER_BATCH,
                              .name = bytes_of_string("batch 8"),
                              .method = INSTALL_INCREMENT,
                              .digest = { 8, 8 },
                              .program = bytes_of_string("test") };
    const struct ledger_file file = { .inserted = true,
                                      .path = bytes_of_string("a/b"),
                                      .id = bytes_of_string("a/b") };

    p->record.record_high = true;
    assert_int_equal(ledger_record_make(&p->record, &e, &file, 1, &s->err),
                     DF_OK);
}

/* Applies s->run as far as the crash lets it. */
static void crash(struct stored *s, struct crash how)
{
    struct pending p;
    struct view *v;

    pending_init(&p);
    assert_int_equal(view_open(&v, s->path, VIEW_WRITE, 0, &s->err), DF_OK);
    for (unsigned i = 0; i < SHARDS; i++) {
        struct rows_source part;

        rows_source_of_shard(&s->run, SHARDS, i, &part);
        if (how.overwrite) {
            fill_other_table(v, i, &part);
        } else {
            write_rows_file(&p, v, i, &part);
        }
        rows_source_fini(&part);
    }
    if (how.point == DECIDED) {
        p.seq = s->seq + 1;
        p.prepared = how.overwrite;
        make_record(s, &p, p.seq);
        assert_int_equal(pending_decide(&p, v, &s->err), DF_OK);
    }
    for (unsigned i = 0; i < how.committed; i++) {
        assert_int_equal(shard_finish(v, SHARDS - 1 - i, &p, &s->err), DF_OK);
    }
    pending_fini(&p);
    view_close(v);
}

/* The model goes on to where the batch leads. */
static void batch_counts(struct stored *s)
{
    s->seq++;
    rows_source_add_all(&s->model, &s->run, 1);
    rows_source_order(&s->model, ROWS_BY_KEY);
    rows_source_reset(&s->run);
}

static bool is_there(const struct stored *s, const char *name)
{
    return access(stored_file(s, name), F_OK) == 0;
}

static void check_nothing_pending(const struct stored *s)
{
    assert_false(is_there(s, "gen-1/pending.run"));
    assert_false(is_there(s, "gen-1/pending.new"));
    assert_false(is_there(s, "gen-1/pending-00.rows"));
    assert_false(is_there(s, "gen-1/pending-02.rows"));
}

/* The other tables are empty and wait for nothing. */
static void check_tables(struct stored *s)
{
    struct view *v;

    assert_int_equal(view_open(&v, s->path, VIEW_READ, 0, &s->err), DF_OK);
    for (unsigned i = 0; i < SHARDS; i++) {
        struct shard_state state;
        struct store_size size;
        struct store_txn *t;

        assert_int_equal(store_begin(&t, v->stores[i], STORE_READ, &s->err),
                         DF_OK);
        assert_int_equal(shard_state_load(t, &state, &s->err), DF_OK);
        assert_int_equal(state.prepared, 0);
        assert_int_equal(
            store_table_size(t, shard_other_table(&state), &size, &s->err),
            DF_OK);
        assert_int_equal(size.entries, 0);
        store_abort(t);
    }
    view_close(v);
}

static void check_next_batch(struct stored *s)
{
    check_nothing_pending(s);
    check_tables(s);
    stored_check(s);
    rows_source_reset(&s->run);
    s->allow_negative = true;
    add_rows(s, 5, 25, 1);
    assert_int_equal(stored_apply(s, "batch 9"), DF_OK);
    stored_check(s);
    stored_close(s);
}

/* Opens for writing; tells which batch was completed. */
static void recover(struct stored *s, const char *expected)
{
    struct view *v;

    if (view_open(&v, s->path, VIEW_WRITE, 0, &s->err) != DF_OK) {
        fail_msg("%s", s->err.text);
    }
    assert_true(bytes_equal(view_recovered(v), bytes_of_string(expected)));
    view_close(v);
}

/* ---- the table at the head of install.c ---- */

static void test_undecided_is_forgotten(void **state)
{
    (void)state;
    for (int overwrite = 0; overwrite <= 1; overwrite++) {
        struct stored s;

        open_filled(&s);
        crash(&s, (struct crash){ overwrite == 1, ROWS_WRITTEN, 0 });
        stored_check(&s);
        recover(&s, "");
        check_next_batch(&s);
    }
}

static void test_decided_is_completed_by_a_writer(void **state)
{
    (void)state;
    for (unsigned committed = 0; committed <= SHARDS; committed++) {
        for (int overwrite = 0; overwrite <= 1; overwrite++) {
            struct stored s;

            open_filled(&s);
            crash(&s, (struct crash){ overwrite == 1, DECIDED, committed });
            batch_counts(&s);
            recover(&s, committed == SHARDS ? "" : "batch 8");
            check_next_batch(&s);
        }
    }
}

static void test_decided_is_completed_by_a_reader(void **state)
{
    (void)state;
    for (unsigned committed = 1; committed < SHARDS; committed++) {
        for (int overwrite = 0; overwrite <= 1; overwrite++) {
            struct stored s;

            open_filled(&s);
            crash(&s, (struct crash){ overwrite == 1, DECIDED, committed });
            batch_counts(&s);
            stored_check(&s);
            check_next_batch(&s);
        }
    }
}

/* Until a shard has the batch, readers see what was before. */
static void test_decided_but_nowhere_is_not_seen(void **state)
{
    struct stored s;

    (void)state;
    open_filled(&s);
    crash(&s, (struct crash){ false, DECIDED, 0 });
    stored_check(&s);
    assert_true(is_there(&s, "gen-1/pending.run"));
    batch_counts(&s);
    recover(&s, "batch 8");
    check_next_batch(&s);
}

static void test_completion_in_a_map_that_is_too_small(void **state)
{
    struct stored s;

    (void)state;
    store_set_map_step(16384);
    open_filled(&s);
    add_rows(&s, 1000, 8000, 1);
    rows_source_order(&s.run, ROWS_BY_HEAD);
    crash(&s, (struct crash){ false, DECIDED, 1 });
    batch_counts(&s);
    recover(&s, "batch 8");
    check_next_batch(&s);
    store_set_map_step(0);
}

/* An overwrite that was cut off while its table was being filled. */
static void test_half_filled_table_is_emptied(void **state)
{
    struct stored s;
    struct view *v;
    struct store_txn *t;

    (void)state;
    open_filled(&s);
    assert_int_equal(view_open(&v, s.path, VIEW_WRITE, 0, &s.err), DF_OK);
    for (unsigned i = 0; i < SHARDS; i += 2) {
        struct shard_state shard;

        assert_int_equal(shard_look(v->stores[i], &shard, &s.err), DF_OK);
        assert_int_equal(store_begin(&t, v->stores[i], STORE_WRITE, &s.err),
                         DF_OK);
        assert_int_equal(store_put(t, shard_other_table(&shard),
                                   bytes_of_string("zz"), bytes_of("\1", 1),
                                   &s.err),
                         DF_OK);
        assert_int_equal(store_commit(t, &s.err), DF_OK);
    }
    view_close(v);
    stored_check(&s);
    s.method = INSTALL_OVERWRITE;
    s.allow_negative = true;
    assert_int_equal(stored_apply(&s, "batch 8"), DF_OK);
    check_next_batch(&s);
}

/* ---- files that come back, are lost or damaged ---- */

static struct buf read_whole(const char *path)
{
    struct buf content = { 0 };
    uint8_t some[4096];
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    while ((n = read(fd, some, sizeof some)) > 0) {
        assert_true(buf_append(&content, some, (size_t)n));
    }
    (void)close(fd);
    return content;
}

static void write_whole(const char *path, const uint8_t *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), len);
    (void)close(fd);
}

/* The power was cut before the removal of pending.run had reached the disk;
 * its rows files are gone or not. */
static void test_finished_batch_that_comes_back(void **state)
{
    (void)state;
    for (int overwrite = 0; overwrite <= 1; overwrite++) {
        struct stored s;
        struct buf old;

        open_filled(&s);
        crash(&s, (struct crash){ overwrite == 1, DECIDED, 0 });
        old = read_whole(stored_file(&s, "gen-1/pending.run"));
        batch_counts(&s);
        recover(&s, "batch 8");
        write_whole(stored_file(&s, "gen-1/pending.run"), old.data, old.len);
        stored_check(&s);
        recover(&s, "");
        check_nothing_pending(&s);
        /* Also after more batches. */
        add_rows(&s, 5, 25, 1);
        assert_int_equal(stored_apply(&s, "batch 9"), DF_OK);
        write_whole(stored_file(&s, "gen-1/pending.run"), old.data, old.len);
        recover(&s, "");
        buf_fini(&old);
        check_next_batch(&s);
    }
}

static void check_refused(struct stored *s, enum view_access access)
{
    struct view *v = NULL;
    struct snapshot *snapshot = NULL;
    int64_t begun = clock_us();
    enum df_status status = view_open(&v, s->path, access, 0, &s->err);

    if (status == DF_OK) {
        status = snapshot_open(&snapshot, v, &s->err);
        snapshot_close(snapshot);
    }
    assert_int_equal(status, DF_STATE);
    assert_true(clock_us() - begun < 5000000);
    view_close(v);
}

static void check_not_loaded(struct stored *s, const struct view *v,
                             struct bytes content)
{
    struct pending p;
    bool there;

    write_whole(stored_file(s, "gen-1/pending.run"), content.data,
                content.len);
    pending_init(&p);
    assert_int_equal(pending_load(&p, v, &there, &s->err), DF_STATE);
    assert_true(there);
    assert_non_null(strstr(s->err.text, "damaged"));
    pending_fini(&p);
}

/* Every byte of pending.run counts; the view before it stays readable. */
static void test_damaged_pending_batch(void **state)
{
    struct stored s;
    struct buf good;
    struct view *v;

    (void)state;
    open_filled(&s);
    crash(&s, (struct crash){ false, DECIDED, 0 });
    good = read_whole(stored_file(&s, "gen-1/pending.run"));
    assert_int_equal(view_open(&v, s.path, VIEW_READ, 0, &s.err), DF_OK);
    for (size_t i = 0; i < good.len; i++) {
        good.data[i] ^= 0x10;
        check_not_loaded(&s, v, buf_bytes(&good));
        good.data[i] ^= 0x10;
        check_not_loaded(&s, v, bytes_of(good.data, i));
    }
    view_close(v);
    check_refused(&s, VIEW_WRITE);
    assert_non_null(strstr(s.err.text, "damaged"));
    stored_check(&s);
    write_whole(stored_file(&s, "gen-1/pending.run"), good.data, good.len);
    batch_counts(&s);
    recover(&s, "batch 8");
    buf_fini(&good);
    check_next_batch(&s);
}

/* Half a batch that cannot be completed is not shown, and soon said. */
static void test_half_a_batch_without_its_file(void **state)
{
    struct stored s;

    (void)state;
    open_filled(&s);
    crash(&s, (struct crash){ false, DECIDED, 1 });
    write_whole(stored_file(&s, "gen-1/pending.run"), (const uint8_t *)"?", 1);
    check_refused(&s, VIEW_WRITE);
    check_refused(&s, VIEW_READ);
    assert_int_equal(unlink(stored_file(&s, "gen-1/pending.run")), 0);
    check_refused(&s, VIEW_WRITE);
    check_refused(&s, VIEW_READ);
    assert_non_null(strstr(s.err.text, "shard 2"));
    stored_close(&s);
}

static void test_damaged_rows_file(void **state)
{
    struct stored s;
    struct buf good;
    struct view *v;

    (void)state;
    open_filled(&s);
    crash(&s, (struct crash){ false, DECIDED, 1 });
    good = read_whole(stored_file(&s, "gen-1/pending-01.rows"));
    for (size_t i = 0; i < good.len; i += 1 + good.len / 20) {
        good.data[i] ^= 1;
        write_whole(stored_file(&s, "gen-1/pending-01.rows"), good.data,
                    good.len);
        check_refused(&s, VIEW_WRITE);
        good.data[i] ^= 1;
        write_whole(stored_file(&s, "gen-1/pending-01.rows"), good.data, i);
        check_refused(&s, VIEW_WRITE);
    }
    assert_int_equal(unlink(stored_file(&s, "gen-1/pending-01.rows")), 0);
    assert_int_not_equal(view_open(&v, s.path, VIEW_WRITE, 0, &s.err), DF_OK);
    assert_non_null(strstr(s.err.text, "pending-01.rows"));
    /* With the file back, all is well. */
    write_whole(stored_file(&s, "gen-1/pending-01.rows"), good.data, good.len);
    batch_counts(&s);
    recover(&s, "batch 8");
    buf_fini(&good);
    check_next_batch(&s);
}

/* A pending batch whose number does not follow the ledger's. */
static void test_pending_batch_of_another_time(void **state)
{
    struct stored s;

    (void)state;
    open_filled(&s);
    s.seq++;
    crash(&s, (struct crash){ false, DECIDED, 0 });
    s.seq--;
    check_refused(&s, VIEW_WRITE);
    assert_non_null(strstr(s.err.text, "not where its ledger says"));
    assert_int_equal(unlink(stored_file(&s, "gen-1/pending.run")), 0);
    recover(&s, "");
    check_next_batch(&s);
}

/* ---- readers beside a writer ---- */

/* A process that holds the lock for a while, as a writer between two
 * commits does. Returns when it has it. */
static pid_t hold_lock(const struct stored *s, long milliseconds)
{
    const struct timespec pause = { .tv_sec = milliseconds / 1000,
                                    .tv_nsec = milliseconds % 1000 * 1000000 };
    char byte;
    int ends[2];
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int fd = open(stored_file(s, "lock"), O_RDWR | O_CLOEXEC);

        if (flock(fd, LOCK_EX) != 0 || write(ends[1], "", 1) != 1) {
            _exit(1);
        }
        (void)nanosleep(&pause, NULL);
        _exit(0);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return child;
}

static void test_reader_waits_for_the_writer(void **state)
{
    struct stored s;
    int64_t begun;
    pid_t writer;

    (void)state;
    open_filled(&s);
    crash(&s, (struct crash){ false, DECIDED, 2 });
    batch_counts(&s);
    begun = clock_us();
    writer = hold_lock(&s, 300);
    stored_check(&s);
    assert_true(clock_us() - begun >= 290000);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    check_next_batch(&s);
}

static void read_and_exit(struct stored *s)
{
    struct view *v;
    struct snapshot *snapshot;

    if (view_open(&v, s->path, VIEW_READ, 0, &s->err) != DF_OK ||
        snapshot_open(&snapshot, v, &s->err) != DF_OK ||
        snapshot_state(snapshot).seq != s->seq) {
        (void)fprintf(stderr, "reader: %s\n", s->err.text);
        _exit(1);
    }
    snapshot_close(snapshot);
    view_close(v);
    _exit(0);
}

/* Several readers find half a batch at once: one completes it, none fails. */
static void test_readers_at_once(void **state)
{
    enum { READERS = 6 };
    struct stored s;
    pid_t readers[READERS];

    (void)state;
    open_filled(&s);
    crash(&s, (struct crash){ false, DECIDED, 1 });
    batch_counts(&s);
    for (int i = 0; i < READERS; i++) {
        readers[i] = fork();
        assert_true(readers[i] >= 0);
        if (readers[i] == 0) {
            read_and_exit(&s);
        }
    }
    for (int i = 0; i < READERS; i++) {
        int status = -1;

        assert_int_equal(waitpid(readers[i], &status, 0), readers[i]);
        assert_int_equal(status, 0);
    }
    check_next_batch(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_undecided_is_forgotten),
        cmocka_unit_test(test_decided_is_completed_by_a_writer),
        cmocka_unit_test(test_decided_is_completed_by_a_reader),
        cmocka_unit_test(test_decided_but_nowhere_is_not_seen),
        cmocka_unit_test(test_completion_in_a_map_that_is_too_small),
        cmocka_unit_test(test_half_filled_table_is_emptied),
        cmocka_unit_test(test_finished_batch_that_comes_back),
        cmocka_unit_test(test_damaged_pending_batch),
        cmocka_unit_test(test_half_a_batch_without_its_file),
        cmocka_unit_test(test_damaged_rows_file),
        cmocka_unit_test(test_pending_batch_of_another_time),
        cmocka_unit_test(test_reader_waits_for_the_writer),
        cmocka_unit_test(test_readers_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
