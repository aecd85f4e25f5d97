/*
 * Law 6: readers see whole batches.
 *
 * One process applies batches while others read; or it is killed at any
 * moment and somebody looks at what it left. Every process but the test
 * itself is this program again, with a role: nothing of LMDB or OpenMP
 * survives a fork, and each process opens a view once.
 */
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "deltafold/view.h"
#include "kept_view.h"
#include "state/commit.h"
#include "state/compact.h"
#include "state/inbox.h"
#include "state/view_internal.h"
#include "whole_batches.h"
#include "workplace.h"

enum {
    READERS = 3,
    BATCHES = 64,
    REBUILD_EVERY = 12,
    AHEAD = 6, /* batches that the writer may be ahead of a reader */
    PATIENCE_S = 100
};

/* A page that all processes of a test share. */
struct page {
    uint64_t seen[READERS]; /* batch that each reader has seen */
    uint32_t is_over;       /* a process has failed: the others give up */
};

/* What a role is given. */
static const char *root;
static unsigned number;
static struct page *page;

static void pause_us(long us)
{
    struct timespec t = { .tv_nsec = us * 1000 };

    (void)nanosleep(&t, NULL);
}

static void check(enum df_status status, const struct df_error *err)
{
    if (status != DF_OK) {
        fail_msg("%s", err->text);
    }
}

static struct page *map_page(const char *directory, int flags)
{
    int fd = open(input_tree_path(directory, "page"), O_RDWR | flags, 0666);
    void *at;

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof(struct page)), 0);
    at = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED,
              fd, 0);
    assert_true(at != MAP_FAILED);
    (void)close(fd);
    return at;
}

/* ---- the writer ---- */

static void attach(struct kept_view *k)
{
    kept_attach(k, root, "view", registry_find("wordcount"), NULL, 0);
    k->options.threads = 2;
}

/* Until no reader is too far behind: so each sees many batches, however the
 * machine deals out its time. */
static void wait_for_readers(unsigned batch)
{
    for (unsigned i = 0; i < READERS; i++) {
        while (__atomic_load_n(&page->seen[i], __ATOMIC_RELAXED) + AHEAD <
               batch) {
            assert_false(__atomic_load_n(&page->is_over, __ATOMIC_RELAXED));
            pause_us(200);
        }
    }
}

static const enum install_method methods[] = {
    INSTALL_DEFER, INSTALL_INCREMENT, INSTALL_DEFER, INSTALL_DEFER,
    INSTALL_DEFER, INSTALL_OVERWRITE, INSTALL_AUTO
};
enum {
    METHODS = sizeof methods / sizeof *methods,
    SMALL_SCALE = 3000 /* bytes: the view is folded often */
};

static void write_all(void **state)
{
    struct kept_view k;

    (void)state;
    compact_set_scale(SMALL_SCALE);
    attach(&k);
    for (unsigned i = 1; i <= BATCHES; i++) {
        char path[HISTORY_NAME];

        wait_for_readers(i);
        whole_write(root, i);
        (void)snprintf(path, sizeof path, "deltas/%s", history_batch_name(i));
        k.options.method = methods[i % METHODS];
        check(kept_run(&k, input_tree_path(root, path)), &k.err);
        if (i % REBUILD_EVERY == 0) {
            unsigned shards = number + i / REBUILD_EVERY % 2;

            check(kept_rebuild(&k, input_tree_path(root, "survivors"), NULL,
                               shards),
                  &k.err);
        }
    }
    kept_close(&k);
}

/* ---- readers ---- */

/* What a reader has seen so far. */
struct watch {
    uint64_t seq;
    uint64_t batch;
    unsigned distinct; /* batches seen */
};

static bool goes_on(struct watch *w, uint64_t seq, uint64_t batch)
{
    assert_true(seq >= w->seq);
    assert_true(batch >= w->batch);
    w->distinct += batch > w->batch ? 1 : 0;
    w->seq = seq;
    w->batch = batch;
    __atomic_store_n(&page->seen[number], batch, __ATOMIC_RELAXED);
    assert_false(__atomic_load_n(&page->is_over, __ATOMIC_RELAXED));
    return batch < BATCHES;
}

static void end_watch(const struct watch *w)
{
    print_message("reader %u saw %u of %u batches\n", number, w->distinct,
                  BATCHES);
    assert_true(w->distinct >= BATCHES / (AHEAD + 1));
}

static struct view *open_view(void)
{
    struct df_error err;
    struct view *v;

    check(view_open(&v, input_tree_path(root, "view"), VIEW_READ, 0, &err),
          &err);
    return v;
}

static struct snapshot *open_snapshot(struct view *v)
{
    struct df_error err;
    struct snapshot *s;

    check(snapshot_open(&s, v, &err), &err);
    return s;
}

/* Opens everything each time. */
static void read_anew(void **state)
{
    struct watch w = { 0 };
    bool more = true;

    (void)state;
    while (more) {
        struct view *v = open_view();
        struct snapshot *s = open_snapshot(v);

        more = goes_on(&w, snapshot_state(s).seq, whole_check(s));
        snapshot_close(s);
        view_close(v);
    }
    end_watch(&w);
}

/* Holds a snapshot while newer ones come and go: it stays as it was. */
static void read_old(void **state)
{
    enum { SNAPSHOTS = 8 };
    struct watch w = { 0 };
    bool more = true;

    (void)state;
    while (more) {
        struct view *v = open_view();
        struct snapshot *old = open_snapshot(v);
        struct snapshot_state was = snapshot_state(old);
        uint64_t batch = whole_check(old);

        more = goes_on(&w, was.seq, batch);
        for (unsigned i = 0; more && i < SNAPSHOTS; i++) {
            struct snapshot *s = open_snapshot(v);

            more = goes_on(&w, snapshot_state(s).seq, whole_check(s));
            snapshot_close(s);
        }
        assert_int_equal(whole_check(old), batch);
        assert_int_equal(snapshot_state(old).seq, was.seq);
        snapshot_close(old);
        view_close(v);
    }
    end_watch(&w);
}

static int add_public_row(void *ctx, const struct df_view_row *row)
{
    whole_add_row(ctx, bytes_of(row->key, row->key_len), row->values[0]);
    return 0;
}

static uint64_t check_public(struct df_view *v, uint64_t *seq)
{
    struct whole_rows w = { 0 };
    struct df_view_info info;
    struct df_error err;
    uint64_t batch;

    check(df_view_each(v, NULL, 0, add_public_row, &w, &err), &err);
    batch = whole_end(&w);
    df_view_info(v, &info);
    if (info.unfolded == 0) {
        assert_int_equal(info.rows, w.steady + w.chaff);
    }
    for (unsigned i = 0; i < WHOLE_STEADY; i++) {
        char word[WHOLE_WORD];
        int64_t count;
        enum df_status status;

        (void)whole_steady(word, i);
        status = df_view_get(v, word, strlen(word), NULL, 0, &count, &err);
        assert_int_equal(status, batch > 0 ? DF_OK : DF_DIFFERS);
        assert_int_equal(count, batch);
    }
    *seq = info.batches;
    return batch;
}

/* Through the public functions. */
static void read_refreshed(void **state)
{
    struct watch w = { 0 };
    struct df_view *v;
    struct df_error err;
    uint64_t seq;
    bool more = true;

    (void)state;
    check(df_view_open(&v, input_tree_path(root, "view"), &err), &err);
    while (more) {
        uint64_t batch = check_public(v, &seq);

        more = goes_on(&w, seq, batch);
        check(df_view_refresh(v, &err), &err);
    }
    df_view_close(v);
    end_watch(&w);
}

/* ---- whom a writer has left alone ---- */

/* Applies all batches, to be killed. */
static void write_until_killed(void **state)
{
    struct kept_view k;

    (void)state;
    compact_set_scale(SMALL_SCALE);
    attach(&k);
    k.options.method = methods[number % METHODS];
    check(kept_run(&k, input_tree_path(root, "deltas")), &k.err);
    kept_close(&k);
}

/* Looks once. */
static void glance(void **state)
{
    struct view *v = open_view();
    struct snapshot *s = open_snapshot(v);

    (void)state;
    assert_true(whole_check(s) >= number);
    snapshot_close(s);
    view_close(v);
}

/* ---- roles ---- */

static const struct CMUnitTest roles[] = {
    cmocka_unit_test(write_all),          cmocka_unit_test(read_anew),
    cmocka_unit_test(read_old),           cmocka_unit_test(read_refreshed),
    cmocka_unit_test(write_until_killed), cmocka_unit_test(glance),
};

/* argv: role, root, number. */
static int play(char **argv)
{
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (strcmp(argv[1], roles[i].name) == 0) {
            const struct CMUnitTest role[] = { roles[i] };

            root = argv[2];
            number = (unsigned)strtoul(argv[3], NULL, 10);
            page = map_page(root, 0);
            (void)alarm(PATIENCE_S);
            return cmocka_run_group_tests_name(argv[1], role, NULL, NULL);
        }
    }
    return 2;
}

static pid_t start(const char *role, const char *directory, unsigned n)
{
    char text[HISTORY_NAME];
    pid_t child;

    (void)snprintf(text, sizeof text, "%u", n);
    (void)fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int log = open(input_tree_path(directory, "log"),
                       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

        (void)dup2(log, STDOUT_FILENO);
        (void)dup2(log, STDERR_FILENO);
        (void)execl("/proc/self/exe", "test_readers", role, directory, text,
                    (char *)NULL);
        _exit(127);
    }
    return child;
}

/* What the roles have said. */
static void show_log(const char *directory)
{
    FILE *f = fopen(input_tree_path(directory, "log"), "r");
    char line[DF_ERROR_SIZE];

    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        print_message("    %s", line);
    }
    if (f != NULL) {
        (void)fclose(f);
    }
}

static void assert_ended_well(pid_t child, const char *directory)
{
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0) {
        show_log(directory);
        fail_msg("a process ended with status %#x", (unsigned)status);
    }
}

/* ---- tests ---- */

static void make_view(char directory[INPUT_TREE_PATH], unsigned shards,
                      uint64_t keep)
{
    struct kept_view k;

    (void)workplace_new(directory);
    input_tree_directory(directory, "deltas");
    kept_open(&k, directory, "view", registry_find("wordcount"), NULL, 0,
              shards);
    kept_keep(&k, keep);
    kept_close(&k);
}

/* Waits for n processes; that one fails is told to the others. */
static void await(size_t n, const char *directory, struct page *shared)
{
    bool well = true;

    while (n-- > 0) {
        int status;

        assert_true(waitpid(-1, &status, 0) > 0);
        if (status != 0) {
            __atomic_store_n(&shared->is_over, 1, __ATOMIC_RELAXED);
            well = false;
        }
    }
    if (!well) {
        show_log(directory);
        fail_msg("a process has failed");
    }
}

static void read_while_written(unsigned shards, uint64_t keep)
{
    static const char *const readers[READERS] = { "read_anew", "read_old",
                                                  "read_refreshed" };
    char directory[INPUT_TREE_PATH];
    struct page *shared;

    make_view(directory, shards, keep);
    shared = map_page(directory, O_CREAT);
    (void)start("write_all", directory, shards);
    for (unsigned i = 0; i < READERS; i++) {
        (void)start(readers[i], directory, i);
    }
    await(READERS + 1, directory, shared);
    for (unsigned i = 0; i < READERS; i++) {
        assert_int_equal(shared->seen[i], BATCHES);
    }
    (void)munmap(shared, sizeof *shared);
}

static void readers_of_one_shard_see_whole_batches(void **state)
{
    (void)state;
    read_while_written(1, 0);
}

static void readers_of_three_shards_see_whole_batches(void **state)
{
    (void)state;
    read_while_written(3, 0);
}

/* And the whole batches before, as far as they are kept. */
static void readers_of_kept_runs_see_whole_batches(void **state)
{
    (void)state;
    read_while_written(1, 3);
    read_while_written(3, 3);
}

/* ---- after a kill ---- */

/* A decided batch that lies there; zeroed when there is none. */
struct pending_file {
    ino_t inode;
    struct timespec time;
};

static struct pending_file look_for_pending(const char *directory)
{
    struct pending_file p;
    struct stat st;
    glob_t found;

    /* Compared as memory. */
    memset(&p, 0, sizeof p);
    if (glob(input_tree_path(directory, "view/gen-*/pending.run"), 0, NULL,
             &found) == 0) {
        if (stat(found.gl_pathv[0], &st) == 0) {
            p.inode = st.st_ino;
            p.time.tv_sec = st.st_mtim.tv_sec;
            p.time.tv_nsec = st.st_mtim.tv_nsec;
        }
        globfree(&found);
    }
    return p;
}

/* Whether there is a decided batch other than the one that was. */
static bool is_decided(const char *directory, const struct pending_file *was)
{
    struct pending_file is = look_for_pending(directory);

    return is.inode != 0 && memcmp(&is, was, sizeof is) != 0;
}

/* Whether batches are decided by a file when the writer's number is n. */
static bool decides(unsigned n)
{
    enum install_method m = methods[n % METHODS];

    return m == INSTALL_INCREMENT || m == INSTALL_OVERWRITE;
}

/* Starts a writer and kills it, soon after it has decided a batch of its own
 * or at any moment. */
static void start_and_kill(const char *directory, unsigned n, bool decided,
                           uint64_t *random)
{
    /* In memory all shards have committed in less than a millisecond. */
    static const uint64_t soon[] = { 3000, 300 };
    struct pending_file was = look_for_pending(directory);
    pid_t writer = start("write_until_killed", directory, n);
    int status = 0;
    bool ended = false;

    while (decided && !ended && !is_decided(directory, &was)) {
        pause_us(20);
        ended = waitpid(writer, &status, WNOHANG) == writer;
    }
    pause_us((long)random_below(random, decided ? soon[random_below(random, 2)]
                                                : 40000));
    if (!ended) {
        (void)kill(writer, SIGKILL);
        assert_int_equal(waitpid(writer, &status, 0), writer);
    }
    /* It may have been done before; it must not have failed. */
    assert_true(status == 0 || WIFSIGNALED(status));
}

/* Whether shards are at different batches, with what lies in inboxes. */
static bool is_torn(struct view *v)
{
    struct shard_state first;
    struct shard_state other;
    struct df_error err;
    bool torn = false;

    check(shard_look(v->stores[0], &first, &err), &err);
    for (unsigned i = 1; i < v->definition.shards; i++) {
        check(view_shard_look(v, i, &other, &err), &err);
        torn = torn || other.seq != first.seq;
    }
    return torn;
}

/* Two readers at once look at what was left; returns whether it was torn. */
static bool look_at_remains(const char *directory, uint64_t *batch)
{
    pid_t other = look_for_pending(directory).inode != 0
                      ? start("glance", directory, (unsigned)*batch)
                      : 0;
    struct df_error err;
    struct snapshot *s;
    struct view *v;
    uint64_t now;
    bool torn;

    check(
        view_open(&v, input_tree_path(directory, "view"), VIEW_READ, 0, &err),
        &err);
    torn = is_torn(v);
    check(snapshot_open(&s, v, &err), &err);
    now = whole_check(s);
    assert_true(now >= *batch);
    *batch = now;
    snapshot_close(s);
    view_close(v);
    if (other != 0) {
        assert_ended_well(other, directory);
    }
    return torn;
}

static void killed_writers_leave_whole_batches(void **state)
{
    enum { KILLS = 40, KILLS_MOST = 4000, SHARDS = 8 };
    uint64_t random = history_seed();
    char directory[INPUT_TREE_PATH];
    uint64_t batch = 0;
    unsigned torn = 0;
    unsigned kills = 0;

    (void)state;
    make_view(directory, SHARDS, 0);
    (void)munmap(map_page(directory, O_CREAT), sizeof(struct page));
    while (kills < KILLS || (torn == 0 && kills < KILLS_MOST)) {
        unsigned i = ++kills;

        whole_write(directory, i);
        start_and_kill(directory, i, i % 4 != 0 && decides(i), &random);
        torn += look_at_remains(directory, &batch) ? 1 : 0;
    }
    print_message("%u of %u views were torn, at batch %u in the end\n", torn,
                  kills, (unsigned)batch);
    assert_true(torn > 0);
    assert_ended_well(start("write_until_killed", directory, 0), directory);
    assert_false(look_at_remains(directory, &batch));
    assert_int_equal(batch, kills);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_of_one_shard_see_whole_batches),
        cmocka_unit_test(readers_of_three_shards_see_whole_batches),
        cmocka_unit_test(readers_of_kept_runs_see_whole_batches),
        cmocka_unit_test(killed_writers_leave_whole_batches),
    };

    if (argc == 4) {
        return play(argv);
    }
    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
