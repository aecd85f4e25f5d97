/*
 * crash: law 3. After a fault at any system call the next command gives
 * what an uninterrupted one gives.
 *
 *     crash --binary=PATH --shim=PATH --mode=MODE
 *           [--action=run|rebuild|compact|init|undo] [--shards=N]
 *           [--install=METHOD]
 *           [--option=NAME=VALUE]    of the view: keep=5, window=1
 *           (with --install=rebuild the view has a base, and the first batch
 *           is an increment)
 *           [--seeds=N] [--sticky] [--times=N] [--step=N] [--from=N]
 *           [--job=dedup]
 *
 * For n = 1, 2, 3 ... until no fault strikes any more (with --step=N at every
 * N-th call only, from another one each day; --from says from which): a fresh
 * copy of a view, the action with the n-th call made to fail (MODE: see
 * plan.h), then
 *   - the view must show the state before or the state after, nothing else;
 *   - where the process lives, it must say so: done (0), or system error (6)
 *     and one line;
 *   - the same action again must succeed and give what it gives unharmed.
 * With --job=dedup the view is one of first records, the batch is run with
 * --outcomes, and the outcome files must be complete or absent, and the same
 * bytes in the end, with nothing else left beside them; a process that could
 * not write them leaves none of them.
 * --mode=kill-9 kills --times=N times at a random moment instead. With
 * CRASH_KEEP=1 in the environment a failed trial's files stay.
 */
#include <dirent.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/faults/history.h"
#include "tests/faults/process.h"
#include "tests/faults/tree.h"

enum { SECONDS_OF_DAY = 24 * 60 * 60 };

enum action {
    ACTION_RUN,
    ACTION_REBUILD,
    ACTION_COMPACT,
    ACTION_INIT,
    ACTION_UNDO
};

static struct {
    const char *binary;
    const char *shim;
    const char *mode;
    enum action action;
    unsigned shards;
    const char *install;
    const char *option; /* NULL: none */
    uint64_t seeds;
    uint64_t step;
    uint64_t from;
    uint64_t times; /* of kill-9 */
    bool sticky;
    bool dedup;

    /* Directories, made by lab_open. */
    char *work;
    char *base;  /* holds the view that every trial starts from */
    char *trial; /* a copy of it */
    char *attic; /* see FAULT_ATTIC */
    char *report;
    char *first;     /* batch */
    char *second;    /* batch */
    char *documents; /* what survives both */
} lab;

/* What can be seen of a view. */
struct sight {
    bool readable;  /* false: export ended with 5, nothing else is set */
    char *rows;     /* the export */
    char *info;     /* digest, rows and batches out of info --json; may be
                       NULL */
    char *outcomes; /* the outcome files of the second batch, one behind the
                       other; NULL: they are not there */
};

/* ---- the command ----------------------------------------------------------
 */

/* `binary verb directory/view rest...`, under the shim, which without a
 * fault spares us the real syncs. */
enum { WORDS_MAX = 16 };
static void call(struct outcome *o, const char *const *env,
                 const char *directory, const char *verb,
                 const char *const *rest)
{
    char *view = text("%s/view", directory);
    char *preload = text("LD_PRELOAD=%s", lab.shim);
    char *root = text("FAULT_ROOT=%s", directory);
    const char *calm[] = { preload, root, "FAULT_MODE=count", NULL };
    const char *argv[WORDS_MAX] = { lab.binary, verb, view };
    unsigned n = 3;

    while (*rest != NULL) {
        argv[n++] = *rest++;
    }
    process_run(o, argv, env == NULL ? calm : env);
    free(view);
    free(preload);
    free(root);
}

static void init_view(struct outcome *o, const char *const *env,
                      const char *directory)
{
    char *shards = text("%u", lab.shards);
    char *base = text("base=%s", lab.documents);
    const char *words[8] = { "wordcount", "--shards", shards };
    unsigned n = 3;
    const char *firsts[] = { "dedup",      "key=id",   "time=at",
                             "expire=300", "span=50",  "--shards",
                             shards,       lab.option, NULL };

    if (lab.option != NULL) {
        words[n++] = lab.option;
    }
    if (strcmp(lab.install, "rebuild") == 0) {
        words[n++] = base;
    }
    call(o, env, directory, "init", lab.dedup ? firsts : words);
    free(base);
    free(shards);
}

static void run_batch(struct outcome *o, const char *const *env,
                      const char *directory, const char *batch)
{
    bool is_first = strcmp(batch, lab.first) == 0;
    char *install =
        text("--install=%s", is_first && strcmp(lab.install, "rebuild") == 0
                                 ? "increment"
                                 : lab.install);
    char *outcomes = text("--outcomes=%s/out", directory);
    const char *rest[] = {
        batch, install, "--threads", "2", lab.dedup ? outcomes : NULL, NULL
    };

    call(o, env, directory, "run", rest);
    free(install);
    free(outcomes);
}

static void run_batch_well(const char *directory, const char *batch)
{
    struct outcome o;

    run_batch(&o, NULL, directory, batch);
    if (o.exit_code != 0) {
        give_up("run: exit %d, signal %d: %s", o.exit_code, o.signal, o.err);
    }
    outcome_fini(&o);
}

static void act(struct outcome *o, const char *const *env,
                const char *directory)
{
    const char *rebuild[] = { lab.documents, "--as-of", "b2",
                              "--threads",   "2",       NULL };
    const char *compact[] = { "--threads", "2", NULL };
    char *install = text("--install=%s", lab.install);
    const char *undo[] = { "b2", install, "--threads", "2", NULL };

    switch (lab.action) {
    case ACTION_RUN:
        run_batch(o, env, directory, lab.second);
        break;
    case ACTION_REBUILD:
        call(o, env, directory, "rebuild", rebuild);
        break;
    case ACTION_COMPACT:
        call(o, env, directory, "compact", compact);
        break;
    case ACTION_INIT:
        init_view(o, env, directory);
        break;
    case ACTION_UNDO:
        call(o, env, directory, "undo", undo);
        break;
    }
    free(install);
}

/* The action until it is done, whatever was there before: init may find a
 * view, undo a batch of which everybody could see that it is undone. For init
 * also both batches, to see that the view works. */
static void act_well(const char *directory, bool is_undone)
{
    struct outcome o;

    act(&o, NULL, directory);
    if (o.exit_code != 0 && !(lab.action == ACTION_INIT && o.exit_code == 5) &&
        !(is_undone && o.exit_code == 4)) {
        give_up("again: exit %d, signal %d: %s", o.exit_code, o.signal, o.err);
    }
    outcome_fini(&o);
    if (lab.action == ACTION_INIT) {
        run_batch_well(directory, lab.first);
        run_batch_well(directory, lab.second);
    }
}

/* ---- looking at views -----------------------------------------------------
 */

/* "name": value, as it stands in the JSON text. */
static char *json_field(const char *json, const char *name)
{
    char *quoted = text("\"%s\":", name);
    const char *at = strstr(json, quoted);
    char *field;

    if (at == NULL) {
        give_up("info --json has no %s: %s", name, json);
    }
    at += strlen(quoted);
    at += strspn(at, " ");
    field = text("%.*s", (int)strcspn(at, ",}\n"), at);
    free(quoted);
    return field;
}

/* The view as it was after the first batch, where it keeps runs. */
static char *look_back(const char *directory)
{
    const char *rest[] = { "--at", "#1", NULL };
    struct outcome o;
    char *rows;

    if (lab.option == NULL || strncmp(lab.option, "keep=", 5) != 0 ||
        lab.action == ACTION_REBUILD) {
        return text("%s", "");
    }
    call(&o, NULL, directory, "export", rest);
    if (o.exit_code != 0) {
        give_up("export --at: exit %d: %s", o.exit_code, o.err);
    }
    rows = text("%s", o.out);
    outcome_fini(&o);
    return rows;
}

static char *look_at_info(const char *directory)
{
    const char *rest[] = { "--json", NULL };
    struct outcome o;
    char *digest;
    char *rows;
    char *batches;
    char *past;
    char *info;

    call(&o, NULL, directory, "info", rest);
    if (o.exit_code != 0) {
        give_up("info: exit %d: %s", o.exit_code, o.err);
    }
    digest = json_field(o.out, "digest");
    rows = json_field(o.out, "rows");
    batches = json_field(o.out, "batches");
    past = strcmp(batches, "0") == 0 ? text("%s", "") : look_back(directory);
    /* A rebuild that is done twice is two entries. */
    info = text("digest %s rows %s batches %s\n%s", digest, rows,
                lab.action == ACTION_REBUILD ? "-" : batches, past);
    free(past);
    free(digest);
    free(rows);
    free(batches);
    outcome_fini(&o);
    return info;
}

/* All outcome files of the second batch; NULL where the directory is not
 * there. One that is there must hold all five. */
static char *look_at_outcomes(const char *directory)
{
    static const char *const names[] = { "unique", "duplicate", "expired",
                                         "rejected", "retracted" };
    char *all = text("%s", "");
    size_t found = 0;

    for (size_t i = 0; i < 5; i++) {
        char *path = text("%s/out/b2/%s", directory, names[i]);
        char *file = tree_read(path);
        char *longer =
            text("%s-- %s\n%s", all, names[i], file == NULL ? "" : file);

        found += file != NULL ? 1 : 0;
        free(all);
        free(file);
        free(path);
        all = longer;
    }
    if (found != 0 && found != 5) {
        give_up("%zu of 5 outcome files; see %s", found, directory);
    }
    if (found == 0) {
        free(all);
        return NULL;
    }
    return all;
}

/* A hidden name beside the outcome files. */
static bool has_leftovers(const char *directory)
{
    char *path = text("%s/out", directory);
    DIR *dir = opendir(path);
    struct dirent *entry;
    bool found = false;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        found = found ||
                (entry->d_name[0] == '.' && strcmp(entry->d_name, ".") != 0 &&
                 strcmp(entry->d_name, "..") != 0);
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    free(path);
    return found;
}

static struct sight look(const char *directory, bool with_info)
{
    const char *rest[] = { NULL };
    struct sight s = { .readable = true };
    struct outcome o;

    call(&o, NULL, directory, "export", rest);
    if (o.exit_code == 5) {
        s.readable = false;
        outcome_fini(&o);
        return s;
    }
    if (o.exit_code != 0) {
        give_up("export: exit %d, signal %d: %s", o.exit_code, o.signal,
                o.err);
    }
    s.rows = text("%s", o.out);
    s.outcomes = look_at_outcomes(directory);
    outcome_fini(&o);
    s.info = with_info ? look_at_info(directory) : NULL;
    return s;
}

static void sight_fini(struct sight *s)
{
    free(s->rows);
    free(s->info);
    free(s->outcomes);
    *s = (struct sight){ 0 };
}

/* ---- one trial ------------------------------------------------------------
 */

static struct sight before; /* of the base; unreadable for init */
static struct sight after;  /* of an uninterrupted action */

static bool shows(const struct sight *seen, const struct sight *wanted)
{
    return seen->readable == wanted->readable &&
           (!seen->readable || strcmp(seen->rows, wanted->rows) == 0);
}

/* Outcome files are those of the action unharmed; or not there, if `perhaps`.
 */
static bool shows_outcomes(const struct sight *seen, bool perhaps)
{
    if (!lab.dedup || !seen->readable) {
        return true;
    }
    return seen->outcomes == NULL
               ? perhaps
               : strcmp(seen->outcomes, after.outcomes) == 0;
}

/* A view under init is no view or an empty one. */
static bool shows_empty(const struct sight *seen)
{
    return seen->readable && seen->rows[0] == '\0';
}

/* Old state or new state. With several shards a reader may also have to ask
 * for a run that finishes the batch. */
static void check_whole(const char *where)
{
    struct sight seen = look(lab.trial, false);
    bool whole = shows(&seen, &before) || shows(&seen, &after) ||
                 (lab.action == ACTION_INIT && shows_empty(&seen)) ||
                 (!seen.readable && lab.shards > 1);

    if (!shows_outcomes(&seen, true)) {
        give_up("%s: outcome files are not whole; see %s", where, lab.trial);
    }
    if (!whole) {
        give_up("%s: the view is neither old nor new; see %s", where,
                lab.trial);
    }
    sight_fini(&seen);
}

/* A command that said it was done has synced everything: the shim cuts the
 * power at its end, too. */
static void check_lasting(const char *where)
{
    struct sight seen = look(lab.trial, false);

    if (lab.action == ACTION_INIT
            ? !shows_empty(&seen)
            : !shows(&seen, &after) || !shows_outcomes(&seen, false)) {
        give_up("%s: done, but it did not last; see %s", where, lab.trial);
    }
    sight_fini(&seen);
}

static bool is_undone(void)
{
    struct sight seen;
    bool undone;

    if (lab.action != ACTION_UNDO) {
        return false;
    }
    seen = look(lab.trial, false);
    undone = seen.readable && shows(&seen, &after);
    sight_fini(&seen);
    return undone;
}

static void check_again(const char *where)
{
    struct sight seen;

    act_well(lab.trial, is_undone());
    seen = look(lab.trial, true);
    if (!shows_outcomes(&seen, false) ||
        (lab.dedup && has_leftovers(lab.trial))) {
        give_up("%s: in the end outcome files are missing, others or too many;"
                " see %s",
                where, lab.trial);
    }
    if (!shows(&seen, &after) || strcmp(seen.info, after.info) != 0) {
        give_up("%s: after another %s; expected %s; see %s", where, seen.info,
                after.info, lab.trial);
    }
    sight_fini(&seen);
}

static void trial_reset(void)
{
    tree_remove(lab.trial);
    tree_remove(lab.attic);
    tree_copy(lab.base, lab.trial);
    tree_make(lab.attic);
}

/* One line that begins as errors do. */
static bool says_why(const char *err)
{
    const char *newline = strchr(err, '\n');

    return strncmp(err, "deltafold: ", 11) == 0 && newline != NULL &&
           newline[1] == '\0';
}

static bool report_says_fired(void)
{
    char *report = tree_read(lab.report);
    bool fired;

    if (report == NULL) {
        give_up("the shim left no report: is it loaded?");
    }
    fired = strstr(report, "fired 1") != NULL;
    free(report);
    return fired;
}

/* Outcome files that could not be written are not left to fill the disk. What
 * fails while it is installed keeps them: it may yet be decided. */
static bool litters(const struct outcome *o)
{
    return lab.dedup && o->exit_code == 6 &&
           strstr(o->err, ".partial") != NULL &&
           strstr(o->err, "is applied") == NULL && has_leftovers(lab.trial);
}

/* The action with its n-th call struck. False: nothing was struck. */
static bool strike(const char *where, uint64_t n, uint64_t seed)
{
    const char *env[] = { text("LD_PRELOAD=%s", lab.shim),
                          text("FAULT_ROOT=%s", lab.trial),
                          text("FAULT_MODE=%s", lab.mode),
                          text("FAULT_AT=%" PRIu64, n),
                          text("FAULT_SEED=%" PRIu64, seed),
                          text("FAULT_ATTIC=%s", lab.attic),
                          text("FAULT_REPORT=%s", lab.report),
                          text("FAULT_STICKY=%d", lab.sticky),
                          NULL };
    struct outcome o;
    bool fired;

    (void)remove(lab.report);
    act(&o, env, lab.trial);
    if (o.signal != 0 && o.signal != SIGKILL) {
        give_up("%s: died of signal %d: %s", where, o.signal, o.err);
    }
    fired = o.signal == SIGKILL || report_says_fired();
    if (o.signal != SIGKILL && o.exit_code != 0 &&
        !(fired && o.exit_code == 6 && says_why(o.err))) {
        give_up("%s: exit %d, signal %d, said: %s", where, o.exit_code,
                o.signal, o.err);
    }
    if (litters(&o)) {
        give_up("%s: outcome files were left, said: %s", where, o.err);
    }
    outcome_fini(&o);
    for (size_t i = 0; env[i] != NULL; i++) {
        free((char *)(uintptr_t)env[i]);
    }
    return fired;
}

/* Returns whether a fault struck. */
static bool trial(uint64_t n, uint64_t seed)
{
    char *where =
        text("%s at call %" PRIu64 ", seed %" PRIu64, lab.mode, n, seed);
    bool fired;

    trial_reset();
    fired = strike(where, n, seed);
    if (fired) {
        check_whole(where);
    } else {
        check_lasting(where);
    }
    check_again(where);
    free(where);
    return fired;
}

/* ---- all trials -----------------------------------------------------------
 */

static void every_call(void)
{
    uint64_t trials = 0;
    uint64_t n = lab.from;
    bool struck = true;

    while (struck) {
        struck = false;
        for (uint64_t seed = 1; seed <= lab.seeds; seed++) {
            struck = trial(n, seed) || struck;
            trials++;
        }
        n += lab.step;
    }
    if (n <= lab.from + lab.step) {
        give_up("no fault struck at all");
    }
    printf("%s: from call %" PRIu64 ", last fault before %" PRIu64 ", %" PRIu64
           " trials\n",
           lab.mode, lab.from, n, trials);
}

static uint64_t microseconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void kill_somewhere(uint64_t longest)
{
    char *view = text("%s/view", lab.trial);
    char *install = text("--install=%s", lab.install);
    char *outcomes = text("--outcomes=%s/out", lab.trial);
    const char *argv[] = { lab.binary, "run",   view,
                           lab.second, install, lab.dedup ? outcomes : NULL,
                           NULL };
    uint64_t delay = (uint64_t)random() % longest;
    char *where = text("kill -9 after %" PRIu64 " us", delay);
    struct outcome o;

    trial_reset();
    process_run_and_kill(&o, argv, delay);
    outcome_fini(&o);
    check_whole(where);
    check_again(where);
    free(view);
    free(install);
    free(outcomes);
    free(where);
}

static void random_moments(void)
{
    unsigned seed = (unsigned)time(NULL);
    uint64_t begin;
    uint64_t took;

    trial_reset();
    begin = microseconds();
    run_batch_well(lab.trial, lab.second);
    took = microseconds() - begin;
    printf("kill-9: seed %u, %" PRIu64 " times within %" PRIu64 " us\n", seed,
           lab.times, took);
    srandom(seed);
    for (uint64_t i = 0; i < lab.times; i++) {
        kill_somewhere(took + took / 10);
    }
}

/* ---- the laboratory -------------------------------------------------------
 */

/* At exit, in failure too; CRASH_KEEP=1 keeps what there is to see. */
static void lab_close(void)
{
    sight_fini(&before);
    sight_fini(&after);
    if (getenv("CRASH_KEEP") == NULL) {
        tree_remove(lab.work);
    }
}

static void lab_open(void)
{
    lab.work = tree_temporary();
    (void)atexit(lab_close);
    lab.base = text("%s/base", lab.work);
    lab.trial = text("%s/trial", lab.work);
    lab.attic = text("%s/attic", lab.work);
    lab.report = text("%s/report", lab.work);
    lab.first = text("%s/deltas/b1", lab.work);
    lab.second = text("%s/deltas/b2", lab.work);
    lab.documents = text("%s/documents", lab.work);
    if (lab.dedup) {
        history_make_records(lab.first, lab.second);
    } else {
        history_make(lab.first, lab.second, lab.documents);
    }
    tree_make(lab.base);
}

/* The base that trials start from, and the two states they may end in. */
static void lab_prepare(void)
{
    struct outcome o;

    if (lab.action != ACTION_INIT) {
        init_view(&o, NULL, lab.base);
        if (o.exit_code != 0) {
            give_up("init: exit %d: %s", o.exit_code, o.err);
        }
        outcome_fini(&o);
        run_batch_well(lab.base, lab.first);
        if (lab.action == ACTION_UNDO || lab.action == ACTION_COMPACT) {
            run_batch_well(lab.base, lab.second);
        }
        before = look(lab.base, true);
    }
    trial_reset();
    act_well(lab.trial, false);
    after = look(lab.trial, true);
    if (lab.dedup && after.outcomes == NULL) {
        give_up("the action leaves no outcome files");
    }
    if (shows(&before, &after) &&
        (before.info == NULL || strcmp(before.info, after.info) == 0)) {
        give_up("the action changes nothing: this test cannot fail");
    }
    if (lab.action == ACTION_RUN && strcmp(lab.install, "defer") == 0 &&
        strstr(after.info, "rows null") == NULL) {
        give_up("the batch was not deferred: %s", after.info);
    }
}

static enum action action_of(const char *name)
{
    if (strcmp(name, "run") == 0) {
        return ACTION_RUN;
    }
    if (strcmp(name, "rebuild") == 0) {
        return ACTION_REBUILD;
    }
    if (strcmp(name, "compact") == 0) {
        return ACTION_COMPACT;
    }
    if (strcmp(name, "init") == 0) {
        return ACTION_INIT;
    }
    if (strcmp(name, "undo") == 0) {
        return ACTION_UNDO;
    }
    give_up("no action %s", name);
}

static void options(int argc, char **argv)
{
    static const struct option known[] = {
        { "binary", required_argument, NULL, 'b' },
        { "shim", required_argument, NULL, 's' },
        { "mode", required_argument, NULL, 'm' },
        { "action", required_argument, NULL, 'a' },
        { "shards", required_argument, NULL, 'n' },
        { "install", required_argument, NULL, 'i' },
        { "option", required_argument, NULL, 'o' },
        { "seeds", required_argument, NULL, 'r' },
        { "step", required_argument, NULL, 'p' },
        { "from", required_argument, NULL, 'f' },
        { "times", required_argument, NULL, 't' },
        { "sticky", no_argument, NULL, 'k' },
        { "job", required_argument, NULL, 'j' },
        { NULL, 0, NULL, 0 },
    };
    int c;

    while ((c = getopt_long(argc, argv, "", known, NULL)) >= 0) {
        switch (c) {
        case 'b':
            lab.binary = optarg;
            break;
        case 's':
            lab.shim = optarg;
            break;
        case 'm':
            lab.mode = optarg;
            break;
        case 'a':
            lab.action = action_of(optarg);
            break;
        case 'n':
            lab.shards = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'i':
            lab.install = optarg;
            break;
        case 'o':
            lab.option = optarg;
            break;
        case 'r':
            lab.seeds = strtoull(optarg, NULL, 10);
            break;
        case 'p':
            lab.step = strtoull(optarg, NULL, 10);
            break;
        case 'f':
            lab.from = strtoull(optarg, NULL, 10);
            break;
        case 't':
            lab.times = strtoull(optarg, NULL, 10);
            break;
        case 'k':
            lab.sticky = true;
            break;
        case 'j':
            lab.dedup = strcmp(optarg, "dedup") == 0;
            break;
        default:
            give_up("see the head of crash.c");
        }
    }
    if (lab.binary == NULL || lab.shim == NULL || lab.mode == NULL) {
        give_up("--binary, --shim and --mode are needed");
    }
    if (lab.from == 0) {
        lab.from = 1 + (uint64_t)time(NULL) / SECONDS_OF_DAY % lab.step;
    }
}

int main(int argc, char **argv)
{
    lab.shards = 1;
    lab.install = "increment";
    lab.seeds = 1;
    lab.step = 1;
    lab.times = 200;
    options(argc, argv);
    /* Threads that wait by spinning would cost more than all the rest. */
    (void)setenv("OMP_WAIT_POLICY", "passive", 0);
    lab_open();
    lab_prepare();
    if (strcmp(lab.mode, "kill-9") == 0) {
        random_moments();
    } else {
        every_call();
    }
    return EXIT_SUCCESS;
}
