/* Segments of sorted rows, whole and damaged: state/run.h. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "state/run.h"

enum { COMPONENTS = 2 };
static const struct row_shape shape = { .has_element = false,
                                        .components = COMPONENTS };

/* Rows as the test keeps them. */
struct sample {
    struct bytes row_key;
    int64_t values[COMPONENTS];
    uint8_t room[ROW_HEAD_MAX];
    struct bytes head;
    struct bytes tail;
};

static char directory[64];

static int make_directory(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    (void)snprintf(directory, sizeof directory, "%s/test_run.XXXXXX",
                   base != NULL && strlen(base) < 40 ? base : "/tmp");
    return mkdtemp(directory) == NULL;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

/* A file that is gone when it is closed. */
static int scratch_file(void)
{
    char path[128];
    int fd;

    (void)snprintf(path, sizeof path, "%s/run", directory);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    return fd;
}

static int sample_order(const void *a, const void *b)
{
    const struct sample *x = a;
    const struct sample *y = b;

    return bytes_compare(x->head, y->head);
}

/* Sorts, drops repeats, and lets heads point where they moved to. */
static size_t put_in_order(struct sample *s, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        row_split(s[i].row_key, s[i].room, &s[i].head, &s[i].tail);
    }
    qsort(s, n, sizeof *s, sample_order);
    for (size_t i = 0; i < n; i++) {
        row_split(s[i].row_key, s[i].room, &s[i].head, &s[i].tail);
        if (kept > 0 && bytes_equal(s[kept - 1].head, s[i].head)) {
            free((void *)(uintptr_t)s[i].row_key.data);
            continue;
        }
        s[kept] = s[i];
        row_split(s[kept].row_key, s[kept].room, &s[kept].head, &s[kept].tail);
        kept++;
    }
    return kept;
}

static int64_t random_value(unsigned *seed)
{
    int64_t v =
        (int64_t)((uint64_t)rand_r(seed) << 33 ^ (uint64_t)rand_r(seed));

    return v >> rand_r(seed) % 64 | 1;
}

/* n rows; keys of mostly few bytes, some about the limit of heads, and
 * `giants` of the longest there can be. */
static struct sample *make_samples(size_t *n, size_t giants, unsigned *seed)
{
    struct sample *s = calloc(*n, sizeof *s);

    assert_non_null(s);
    for (size_t i = 0; i < *n; i++) {
        size_t len = 1 + (size_t)rand_r(seed) % 12;
        uint8_t *key;

        if (i < giants) {
            len = ROW_KEY_MAX - (size_t)rand_r(seed) % 3;
        } else if (rand_r(seed) % 16 == 0) {
            len = 488 + (size_t)rand_r(seed) % 30;
        }
        key = malloc(len);
        assert_non_null(key);
        memset(key, 'k', len);
        for (size_t j = len > 6 ? len - 6 : 0; j < len; j++) {
            key[j] = (uint8_t)(rand_r(seed) % 4 * 0x55);
        }
        s[i].row_key = bytes_of(key, len);
        for (int c = 0; c < COMPONENTS; c++) {
            s[i].values[c] = random_value(seed);
        }
    }
    *n = put_in_order(s, *n);
    return s;
}

static void free_samples(struct sample *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free((void *)(uintptr_t)s[i].row_key.data);
    }
    free(s);
}

static enum df_status write_samples(int fd, uint64_t begin,
                                    const struct sample *s, size_t n,
                                    struct run_segment *segment,
                                    struct df_error *err)
{
    struct run_writer *w = NULL;
    enum df_status status = run_writer_open(&w, shape, fd, begin, err);

    for (size_t i = 0; i < n && status == DF_OK; i++) {
        struct row row = { s[i].head, s[i].tail, s[i].values };

        status = run_writer_add(w, &row, err);
    }
    if (status == DF_OK) {
        status = run_writer_end(w, segment, err);
    }
    run_writer_close(w);
    return status;
}

static bool row_is(const struct row *row, const struct sample *s)
{
    return bytes_equal(row->head, s->head) &&
           bytes_equal(row->tail, s->tail) &&
           memcmp(row->values, s->values, sizeof s->values) == 0;
}

/* Reads to the end or the first failure. Every row handed out on the way
 * must be the right one; *seen counts them. */
static enum df_status read_back(struct run_source *source,
                                const struct sample *s, size_t n, size_t *seen,
                                struct df_error *err)
{
    const struct row *row = NULL;
    enum df_status status;

    *seen = 0;
    while ((status = source->next(source, &row, err)) == DF_OK &&
           row != NULL) {
        assert_true(*seen < n);
        assert_true(row_is(row, &s[*seen]));
        (*seen)++;
    }
    return status;
}

static void check_segment(const struct run_segment *segment,
                          const struct sample *s, size_t n, size_t buffer)
{
    struct run_source *source;
    struct df_error err;
    size_t seen;

    assert_int_equal(segment->rows, n);
    assert_int_equal(run_reader_open(&source, shape, segment, buffer, &err),
                     DF_OK);
    assert_int_equal(read_back(source, s, n, &seen, &err), DF_OK);
    assert_int_equal(seen, n);
    for (int again = 0; again < 2; again++) {
        const struct row *row;

        assert_int_equal(source->rewind(source, &err), DF_OK);
        if (n > 0) {
            assert_int_equal(source->next(source, &row, &err), DF_OK);
            assert_true(row_is(row, &s[0]));
        }
    }
    assert_int_equal(source->rewind(source, &err), DF_OK);
    assert_int_equal(read_back(source, s, n, &seen, &err), DF_OK);
    assert_int_equal(seen, n);
    run_reader_close(source);
}

static void test_round_trip_random(void **state)
{
    static const size_t sizes[] = { 0, 1, 2, 100, 5000 };
    static const size_t buffers[] = { 0, RUN_BUFFER_MIN + 1, 1 << 18 };
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    print_message("seed %u\n", seed);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct run_segment segment[2];
        struct df_error err;
        size_t n = sizes[i];
        struct sample *s = make_samples(&n, n / 30 < 4 ? n / 30 : 4, &seed);
        int fd = scratch_file();

        assert_int_equal(write_samples(fd, 7, s, n, &segment[0], &err), DF_OK);
        assert_int_equal(segment[0].begin, 7);
        assert_int_equal(
            write_samples(fd, segment[0].end, s, n / 2, &segment[1], &err),
            DF_OK);
        for (size_t b = 0; b < sizeof buffers / sizeof *buffers; b++) {
            check_segment(&segment[0], s, n, buffers[b]);
            check_segment(&segment[1], s, n / 2, buffers[b]);
        }
        assert_int_equal(close(fd), 0);
        free_samples(s, n);
    }
}

static void append_number(struct buf *b, uint64_t v, size_t width)
{
    while (width-- > 0) {
        assert_true(buf_append_byte(b, (uint8_t)(v >> 8 * width)));
    }
}

#define APPEND(buf, literal)                                                  \
    assert_true(buf_append(buf, literal, sizeof(literal) - 1))

/* The example at the head of run.c, byte for byte. */
static void test_documented_example(void **state)
{
    static const struct row_shape one = { .has_element = false,
                                          .components = 1 };
    static const char *const keys[] = { "tree", "treehouse", "trees",
                                        "trend" };
    static const int64_t values[] = { 3, 1, -1, 300 };
    char ys[700];
    uint8_t head[ROW_HEAD_MAX];
    struct row row = { 0 };
    struct buf payload = { 0 };
    struct buf want = { 0 };
    uint8_t got[2048];
    struct run_segment segment;
    struct run_writer *w;
    struct df_error err;
    int fd = scratch_file();

    (void)state;
    memset(ys, 'y', sizeof ys);
    assert_int_equal(run_writer_open(&w, one, fd, 0, &err), DF_OK);
    for (int i = 0; i < 4; i++) {
        row = (struct row){ .head = bytes_of_string(keys[i]),
                            .values = &values[i] };
        assert_int_equal(run_writer_add(w, &row, &err), DF_OK);
    }
    row_split(bytes_of(ys, sizeof ys), head, &row.head, &row.tail);
    row.values = &values[1];
    assert_int_equal(run_writer_add(w, &row, &err), DF_OK);
    assert_int_equal(run_writer_end(w, &segment, &err), DF_OK);
    run_writer_close(w);

    APPEND(&payload, "\0\4tree\3\4\5house\1\4\1s\xff\3\2nd\xcd\1\x2c");
    APPEND(&payload, "\0\xff\3");
    assert_true(buf_append(&payload, head, sizeof head));
    APPEND(&payload, "\xcd\1");
    assert_true(buf_append(&payload, ys, 205));
    APPEND(&payload, "\1");
    assert_int_equal(payload.len, 748);

    append_number(&want, payload.len, 4);
    append_number(&want, 5, 4);
    assert_true(buf_append(&want, payload.data, payload.len));
    buf_reset(&payload);
    append_number(&payload, hash64(buf_bytes(&want)), 8);
    assert_true(buf_append(&payload, want.data, want.len));

    assert_int_equal(segment.end - segment.begin, payload.len);
    assert_int_equal(pread(fd, got, sizeof got, 0), payload.len);
    assert_memory_equal(got, payload.data, payload.len);
    buf_fini(&payload);
    buf_fini(&want);
    assert_int_equal(close(fd), 0);
}

/* Reads a segment that is not as it was written: DF_STATE, and no wrong row
 * before that. */
static void check_damaged(const struct run_segment *segment,
                          const struct sample *s, size_t n)
{
    struct run_source *source;
    struct df_error err;
    size_t seen = 0;
    enum df_status status;

    status = run_reader_open(&source, shape, segment, 0, &err);
    if (status == DF_OK) {
        status = read_back(source, s, n, &seen, &err);
    }
    assert_int_equal(status, DF_STATE);
    assert_non_null(strstr(err.text, "damaged"));
    run_reader_close(source);
}

struct damage_case {
    struct sample *s;
    size_t n;
    struct run_segment segment;
    uint8_t *file;
    size_t len;
};

static void damage_case_open(struct damage_case *c, size_t n, unsigned *seed)
{
    struct df_error err;

    c->n = n;
    c->s = make_samples(&c->n, 0, seed);
    assert_int_equal(
        write_samples(scratch_file(), 0, c->s, c->n, &c->segment, &err),
        DF_OK);
    c->len = (size_t)c->segment.end;
    c->file = malloc(c->len);
    assert_non_null(c->file);
    assert_int_equal(pread(c->segment.fd, c->file, c->len, 0), c->len);
}

static void damage_case_close(struct damage_case *c)
{
    assert_int_equal(close(c->segment.fd), 0);
    free(c->file);
    free_samples(c->s, c->n);
}

static void put(const struct damage_case *c, size_t at, size_t len)
{
    assert_int_equal(pwrite(c->segment.fd, c->file + at, len, (off_t)at), len);
}

static void test_every_changed_byte_is_found(void **state)
{
    unsigned seed = (unsigned)time(NULL);
    struct damage_case c;

    (void)state;
    print_message("seed %u\n", seed);
    damage_case_open(&c, 800, &seed);
    assert_true(c.len > RUN_BUFFER_MIN);
    for (size_t i = 0; i < c.len; i++) {
        uint8_t change = (uint8_t)(1 + rand_r(&seed) % 255);

        c.file[i] ^= change;
        put(&c, i, 1);
        check_damaged(&c.segment, c.s, c.n);
        c.file[i] ^= change;
        put(&c, i, 1);
    }
    check_segment(&c.segment, c.s, c.n, 0);
    damage_case_close(&c);
}

static void test_every_truncation_is_found(void **state)
{
    unsigned seed = (unsigned)time(NULL);
    struct damage_case c;

    (void)state;
    print_message("seed %u\n", seed);
    damage_case_open(&c, 800, &seed);
    for (size_t len = c.len; len-- > 0;) {
        struct run_segment cut = c.segment;

        cut.end = len; /* the segment is said to be shorter */
        check_damaged(&cut, c.s, c.n);
        assert_int_equal(ftruncate(c.segment.fd, (off_t)len), 0);
        check_damaged(&c.segment, c.s, c.n); /* the file is shorter */
    }
    damage_case_close(&c);
}

static size_t block_end(const struct damage_case *c, size_t at)
{
    return at + 16 + load_be32(c->file + at + 8);
}

/* Blocks that are whole, but not those that were written there. */
static void test_lost_and_repeated_blocks_are_found(void **state)
{
    unsigned seed = (unsigned)time(NULL);
    struct damage_case c;
    struct run_segment cut;
    size_t second;
    size_t third;

    (void)state;
    print_message("seed %u\n", seed);
    damage_case_open(&c, 2000, &seed);
    second = block_end(&c, 0);
    third = block_end(&c, second);
    assert_true(third < c.len);

    cut = c.segment;
    cut.begin = second;
    check_damaged(&cut, c.s + load_be32(c.file + 12),
                  c.n - load_be32(c.file + 12));
    cut = c.segment;
    cut.end = third;
    check_damaged(&cut, c.s, c.n);
    cut = c.segment;
    cut.end = 0;
    check_damaged(&cut, c.s, c.n);
    /* The first block once more behind itself. */
    cut = c.segment;
    cut.end = 2 * second;
    put(&c, 0, second);
    assert_int_equal(pwrite(cut.fd, c.file, second, (off_t)second), second);
    check_damaged(&cut, c.s, c.n);
    damage_case_close(&c);
}

/* Behind a checksum that fits, anything may stand: rows or DF_STATE, but
 * nothing is read that is not there (the sanitizers look). */
static void test_forged_blocks_are_survived(void **state)
{
    unsigned seed = (unsigned)time(NULL);
    struct damage_case c;
    int refused = 0;

    (void)state;
    print_message("seed %u\n", seed);
    damage_case_open(&c, 40, &seed);
    for (int i = 0; i < 20000; i++) {
        struct run_source *source;
        struct df_error err;
        const struct row *row = NULL;
        enum df_status status;
        uint8_t kept[3];
        size_t at[3];

        for (int j = 0; j < 3; j++) {
            at[j] = 12 + (size_t)rand_r(&seed) % (c.len - 12);
            kept[j] = c.file[at[j]];
            c.file[at[j]] = (uint8_t)rand_r(&seed);
        }
        store_be64(c.file, hash64(bytes_of(c.file + 8, c.len - 8)));
        put(&c, 0, c.len);
        assert_int_equal(run_reader_open(&source, shape, &c.segment, 0, &err),
                         DF_OK);
        while ((status = source->next(source, &row, &err)) == DF_OK &&
               row != NULL) {
            assert_in_range(row->head.len, 1, ROW_HEAD_MAX);
        }
        assert_true(status == DF_OK || status == DF_STATE);
        refused += status == DF_STATE;
        /* Going on after a failure is useless, but harmless. */
        (void)source->next(source, &row, &err);
        run_reader_close(source);
        for (int j = 3; j-- > 0;) {
            c.file[at[j]] = kept[j];
        }
    }
    assert_true(refused > 100);
    damage_case_close(&c);
}

static void test_full_disk(void **state)
{
    unsigned seed = 1;
    struct run_segment segment;
    struct df_error err;
    size_t n = 1000;
    struct sample *s = make_samples(&n, 0, &seed);
    int fd = open("/dev/full", O_RDWR | O_CLOEXEC);

    (void)state;
    if (fd < 0) {
        free_samples(s, n);
        skip();
    }
    assert_int_equal(write_samples(fd, 0, s, n, &segment, &err), DF_SYSTEM);
    assert_string_equal(err.text, "writing a run: No space left on device");
    assert_int_equal(close(fd), 0);
    free_samples(s, n);
}

/* With `stutter` on, every other call is interrupted and the others move few
 * bytes. These stand in for the C library's. */
static bool stutter;
static unsigned calls;

static bool stutters(size_t *n)
{
    if (!stutter) {
        return false;
    }
    *n = *n > 777 ? 777 : *n;
    if (calls++ % 2 == 0) {
        errno = EINTR;
        return true;
    }
    return false;
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t offset)
{
    return stutters(&n) ? -1 : syscall(SYS_pwrite64, fd, buf, n, offset);
}

ssize_t pread(int fd, void *buf, size_t nbytes, off_t offset)
{
    return stutters(&nbytes) ? -1
                             : syscall(SYS_pread64, fd, buf, nbytes, offset);
}

static void test_interrupted_and_short_calls(void **state)
{
    unsigned seed = (unsigned)time(NULL);
    struct run_segment segment;
    struct df_error err;
    size_t n = 2000;
    struct sample *s;
    int fd = scratch_file();

    (void)state;
    print_message("seed %u\n", seed);
    s = make_samples(&n, 2, &seed);
    stutter = true;
    calls = 0;
    assert_int_equal(write_samples(fd, 0, s, n, &segment, &err), DF_OK);
    check_segment(&segment, s, n, 0);
    stutter = false;
    assert_true(calls > 100);
    check_segment(&segment, s, n, 0);
    assert_int_equal(close(fd), 0);
    free_samples(s, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip_random),
        cmocka_unit_test(test_documented_example),
        cmocka_unit_test(test_every_changed_byte_is_found),
        cmocka_unit_test(test_every_truncation_is_found),
        cmocka_unit_test(test_lost_and_repeated_blocks_are_found),
        cmocka_unit_test(test_forged_blocks_are_survived),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_interrupted_and_short_calls),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
