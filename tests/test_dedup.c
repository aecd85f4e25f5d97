/*
 * Dedup against its oracle over random histories, from csv files to rows
 * and outcome files, on every way there is: threads, shards, budgets, both
 * ways to install. Outcome files are compared byte by byte, the view by its
 * digest.
 *
 * DELTAFOLD_SEED repeats a run, DELTAFOLD_HISTORIES=N does N times as much.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "dedup_oracle.h"
#include "jobs/dedup/dedup.h"
#include "way.h"
#include "workplace.h"

enum {
    BATCHES = 8,
    RECORDS = 400, /* of a batch, at most */
    FILES = 5,
    KEYS = 60,
    GIVEN = 8,
    KEY_ROOM = 1200
};

static const char *const file_names[FILES] = { "unique", "duplicate",
                                               "expired", "rejected",
                                               "retracted" };

/* A record as the history knows it. */
struct told {
    char key[KEY_ROOM];
    int64_t time;
};

struct trial {
    struct kept_view k;
    struct dedup_oracle o;
    struct way way;
    uint64_t random;
    char root[INPUT_TREE_PATH];
    char outcomes[INPUT_TREE_PATH];
    char given[GIVEN][64];
    const char *list[GIVEN];
    size_t given_count;
    int64_t now;      /* where times are drawn around */
    struct told *log; /* what was inserted, for deletions */
    size_t log_count;
    unsigned number; /* of the batch */

    /* Of the batch at hand. */
    struct buf expected[FILES];
    bool is_turned; /* the first file has its columns the other way round */
    bool has_first;
};

/* ---- the rule ---- */

static void give(struct trial *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void give(struct trial *t, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(t->given[t->given_count], 64, format, args);
    va_end(args);
    t->list[t->given_count] = t->given[t->given_count];
    t->given_count++;
}

static struct dedup_rule random_rule(struct trial *t)
{
    struct dedup_rule rule = { .is_timed = random_below(&t->random, 5) != 0 };

    give(t, "key=id");
    if (!rule.is_timed) {
        return rule;
    }
    rule.period = 1 + (int64_t)random_below(&t->random, 60);
    rule.span = 1 + (int64_t)random_below(&t->random, (uint64_t)rule.period);
    rule.by_bucket = random_below(&t->random, 2) == 0;
    rule.has_reference = random_below(&t->random, 2) == 0;
    rule.reference = (int64_t)random_below(&t->random, 200) - 100;
    rule.has_max_ahead = random_below(&t->random, 3) == 0;
    rule.max_ahead = (int64_t)random_below(&t->random, 20);
    give(t, "time=ts");
    give(t, "expire=%" PRId64, rule.period);
    give(t, "span=%" PRId64, rule.span);
    give(t, "identity=%s", rule.by_bucket ? "bucket" : "period");
    if (rule.has_reference) {
        give(t, "reference=%" PRId64, rule.reference);
    }
    if (rule.has_max_ahead) {
        give(t, "max_ahead=%" PRId64, rule.max_ahead);
    }
    return rule;
}

static void trial_open(struct trial *t, uint64_t seed)
{
    struct dedup_rule rule;

    *t = (struct trial){ .random = seed };
    (void)workplace_new(t->root);
    (void)snprintf(t->outcomes, sizeof t->outcomes, "%s",
                   input_tree_path(t->root, "outcomes"));
    rule = random_rule(t);
    t->way = way_random(&t->random);
    t->now = (int64_t)random_below(&t->random, 100) - 50;
    dedup_oracle_open(&t->o, &rule);
    kept_open(&t->k, t->root, "view", &dedup_job, t->list, t->given_count,
              t->way.shards);
    t->k.options.outcomes = t->outcomes;
}

static void trial_close(struct trial *t)
{
    dedup_oracle_close(&t->o);
    kept_close(&t->k);
    for (int i = 0; i < FILES; i++) {
        buf_fini(&t->expected[i]);
    }
    free(t->log);
}

static void show(const struct trial *t, uint64_t seed)
{
    print_message("seed %" PRIu64 ", batch %u:", seed, t->number);
    for (size_t i = 0; i < t->given_count; i++) {
        print_message(" %s", t->list[i]);
    }
    print_message("\n");
    way_show(&t->way);
}

/* ---- one batch ---- */

static void random_key(struct trial *t, char key[KEY_ROOM])
{
    uint64_t number = random_below(&t->random, KEYS);

    memset(key, 0, KEY_ROOM);
    if (number % 10 == 9) { /* beyond what a head holds */
        memset(key, 'k', 480 + (size_t)number);
    }
    (void)snprintf(key + strlen(key), 32, "%" PRIu64,
                   number == 1 ? UINT64_C(18446744073709551615) : number);
    if (number == 0) {
        key[0] = '\0'; /* an empty text is a key */
    }
}

static int64_t random_time(struct trial *t)
{
    if (random_below(&t->random, 4) == 0) {
        t->now += (int64_t)random_below(&t->random, 6);
    }
    if (random_below(&t->random, 150) == 0) {
        t->now += (int64_t)random_below(&t->random, 300);
    }
    return t->now - (int64_t)random_below(&t->random, 30) +
           (int64_t)random_below(&t->random, 12);
}

/* The fields of a record as they stand in files: either way round. */
static void put_line(struct buf *out, bool turned, const char *key,
                     const char *time, const char *extra)
{
    assert_true(turned ? buf_printf(out, "%s,%s,%s", extra, time, key)
                       : buf_printf(out, "%s,%s,%s", key, time, extra));
}

static const char *random_extra(struct trial *t)
{
    static const char *const extras[] = { "", "x", "\"a,b\"",
                                          "\"say \"\"so\"\"\"",
                                          "\"two\nlines\"" };

    return extras[random_below(&t->random, 5)];
}

static void expect(struct trial *t, int file, const char *key,
                   const char *time, const char *extra, const char *reason)
{
    struct buf *out = &t->expected[file];

    put_line(out, t->is_turned, key, time, extra);
    if (reason != NULL) {
        assert_true(buf_printf(out, ",%s", reason));
    }
    assert_true(buf_append_byte(out, '\n'));
}

static void expect_outcome(struct trial *t, enum dedup_oracle_outcome outcome,
                           const char *key, const char *time,
                           const char *extra)
{
    static const int files[] = { 0, 1, 2, 4, 3 };

    expect(t, files[outcome], key, time, extra,
           outcome == ORACLE_FUTURE ? "future_time" : NULL);
}

static void tell_bad(struct trial *t, struct buf *file, bool turned)
{
    static const struct {
        const char *time;
        const char *reason;
    } bad[] = { { "", "missing_time" },
                { "12x", "unreadable_time" },
                { "1152921504606846977", "unreadable_time" },
                { "1.5", "unreadable_time" } };
    size_t i = random_below(&t->random, 4);

    put_line(file, turned, "bad", bad[i].time, "");
    if (t->o.rule.is_timed) {
        expect(t, 3, "bad", bad[i].time, "", bad[i].reason);
    } else {
        expect_outcome(t, dedup_oracle_insert(&t->o, "bad", 0), "bad",
                       bad[i].time, "");
    }
}

static void remember(struct trial *t, const char *key, int64_t time)
{
    t->log = realloc(t->log, (t->log_count + 1) * sizeof *t->log);
    assert_non_null(t->log);
    (void)snprintf(t->log[t->log_count].key, KEY_ROOM, "%s", key);
    t->log[t->log_count++].time = time;
}

static void tell_inserted(struct trial *t, struct buf *file, bool turned)
{
    const char *extra = random_extra(t);
    char key[KEY_ROOM];
    char time[32];
    int64_t at = random_time(t);

    random_key(t, key);
    (void)snprintf(time, sizeof time, "%" PRId64, at);
    put_line(file, turned, key, time, extra);
    expect_outcome(t, dedup_oracle_insert(&t->o, key, at), key, time, extra);
    remember(t, key, at);
}

static void tell_deleted(struct trial *t, struct buf *file, bool turned)
{
    const struct told *r = &t->log[random_below(&t->random, t->log_count)];
    enum dedup_oracle_outcome outcome =
        dedup_oracle_delete(&t->o, r->key, r->time);
    char time[32];

    if (outcome == ORACLE_REFUSED) {
        return;
    }
    (void)snprintf(time, sizeof time, "%" PRId64, r->time);
    put_line(file, turned, r->key, time, "gone");
    assert_true(buf_append_byte(file, '\n'));
    expect_outcome(t, outcome, r->key, time, "gone");
}

static void end_file(struct trial *t, struct buf *file, const char *path)
{
    char whole[64];

    (void)snprintf(whole, sizeof whole, "batch_%u/%s", t->number, path);
    input_tree_file(input_tree_path(t->root, "deltas"), whole, file->data,
                    file->len);
    buf_fini(file);
}

static bool begin_file(struct trial *t, struct buf *file)
{
    bool turned = random_below(&t->random, 4) == 0;

    if (!t->has_first) {
        t->is_turned = turned;
    }
    put_line(file, turned, "id", "ts", "x");
    assert_true(buf_append_byte(file, '\n'));
    return turned;
}

static void write_deleted(struct trial *t)
{
    struct buf file = { 0 };
    bool turned = begin_file(t, &file);
    size_t before = file.len;

    for (uint64_t n = random_below(&t->random, 30); n > 0; n--) {
        tell_deleted(t, &file, turned);
    }
    t->has_first = file.len > before;
    end_file(t, &file, "deleted/d.csv");
}

static void write_inserted(struct trial *t, unsigned number)
{
    struct buf file = { 0 };
    bool turned = begin_file(t, &file);
    uint64_t n = random_below(&t->random, RECORDS);
    char path[32];

    t->has_first = t->has_first || n > 0;
    for (; n > 0; n--) {
        if (random_below(&t->random, 40) == 0) {
            tell_bad(t, &file, turned);
        } else {
            tell_inserted(t, &file, turned);
        }
        if (n > 1 || random_below(&t->random, 2) == 0) {
            assert_true(buf_append_string(
                &file, random_below(&t->random, 3) == 0 ? "\r\n" : "\n"));
        }
    }
    (void)snprintf(path, sizeof path, "inserted/%u.csv", number);
    end_file(t, &file, path);
}

static void write_batch(struct trial *t)
{
    t->number++;
    t->has_first = false;
    for (int i = 0; i < FILES; i++) {
        buf_reset(&t->expected[i]);
    }
    if (t->log_count > 0 && random_below(&t->random, 2) == 0) {
        write_deleted(t);
    }
    for (unsigned i = 0; i < 1 + random_below(&t->random, 3); i++) {
        write_inserted(t, i);
    }
}

/* ---- what must hold ---- */

static void read_whole(const char *path, struct buf *out)
{
    FILE *f = fopen(path, "rb");
    uint8_t room[4096];
    size_t n;

    buf_reset(out);
    if (f == NULL) {
        fail_msg("%s is not there", path);
    }
    while ((n = fread(room, 1, sizeof room, f)) > 0) {
        assert_true(buf_append(out, room, n));
    }
    (void)fclose(f);
}

static void check_file(struct trial *t, int i)
{
    struct buf found = { 0 };
    struct buf expected = { 0 };
    char path[64];

    (void)snprintf(path, sizeof path, "batch_%u/%s", t->number, file_names[i]);
    read_whole(input_tree_path(t->outcomes, path), &found);
    if (t->has_first) {
        put_line(&expected, t->is_turned, "id", "ts", "x");
        assert_true(buf_append_string(&expected, i == 3 ? ",reason\n" : "\n"));
    }
    assert_true(
        buf_append(&expected, t->expected[i].data, t->expected[i].len));
    if (!bytes_equal(buf_bytes(&expected), buf_bytes(&found))) {
        print_message("%s: expected\n%.*s\nfound\n%.*s\n", path,
                      (int)expected.len, (char *)expected.data, (int)found.len,
                      (char *)found.data);
        fail();
    }
    buf_fini(&found);
    buf_fini(&expected);
}

static uint64_t lines_of(const struct buf *b)
{
    uint64_t n = 0;
    bool inside = false;

    for (size_t i = 0; i < b->len; i++) {
        inside = inside != (b->data[i] == '"');
        n += b->data[i] == '\n' && !inside ? 1 : 0;
    }
    return n;
}

static void check_counts(const struct trial *t)
{
    static const int counters[FILES] = { 0, 1, 2, 4, 3 };

    for (int i = 0; i < FILES; i++) {
        assert_int_equal(t->k.applied.counters[counters[i]],
                         lines_of(&t->expected[i]));
    }
}

static void check_view(const struct trial *t)
{
    struct snapshot_state state = kept_state(&t->k);
    uint64_t rows;
    struct hash128 digest = dedup_oracle_digest(&t->o, &rows);

    /* A deferred batch tells how many rows change, not how many there are. */
    if (state.unfolded == 0) {
        assert_int_equal(state.rows, rows);
    }
    assert_true(hash128_equal(state.digest, digest));
}

static void run_batch(struct trial *t, uint64_t seed)
{
    char path[64];

    write_batch(t);
    way_take(&t->k, &t->way, t->number);
    (void)snprintf(path, sizeof path, "deltas/batch_%u", t->number);
    if (kept_run(&t->k, input_tree_path(t->root, path)) != DF_OK) {
        show(t, seed);
        fail_msg("%s", t->k.err.text);
    }
    check_view(t);
    check_counts(t);
    for (int i = 0; i < FILES; i++) {
        check_file(t, i);
    }
}

static void histories_agree_with_the_oracle(void **state)
{
    uint64_t seed = history_seed();

    (void)state;
    for (unsigned i = 0; i < history_times(history_tenth(20)); i++) {
        struct trial t;

        trial_open(&t, seed + i);
        show(&t, seed + i);
        for (unsigned b = 0; b < BATCHES; b++) {
            run_batch(&t, seed + i);
        }
        kept_must(kept_verify(&t.k, input_tree_path(t.root, "deltas"), true),
                  &t.k);
        trial_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histories_agree_with_the_oracle),
    };

    return cmocka_run_group_tests(tests, workplace_open, workplace_remove);
}
