/* Documents in pieces and fingerprints: input/reader.h. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

#include "input/reader.h"
#include "tests/input_tree.h"

#define MIB ((size_t)1 << 20)
#define BYTES(literal) bytes_of(literal, sizeof(literal) - 1)

static char root[INPUT_TREE_PATH];

static int set_up(void **state)
{
    (void)state;
    input_tree_open(root);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    input_tree_remove(root);
    return 0;
}

static void check_ok(enum df_status status, const struct df_error *err)
{
    if (status != DF_OK) {
        fail_msg("%s", err->text);
    }
}

/* ---- reading everything ------------------------------------------------ */

/* A job that may be cut behind every blank. */
static size_t cut_blank(const void *config, const uint8_t *data, size_t len)
{
    const uint8_t *blank = memchr(data, ' ', len);

    (void)config;
    return blank == NULL ? 0 : (size_t)(blank - data) + 1;
}

/* A job that may be cut behind two blanks: what is a cut takes two bytes. */
static size_t cut_two_blanks(const void *config, const uint8_t *data,
                             size_t len)
{
    const uint8_t *blanks = memmem(data, len, "  ", 2);

    (void)config;
    return blanks == NULL ? 0 : (size_t)(blanks - data) + 2;
}

static const struct reader_cut free_cut = { .pieces = DF_PIECES_FREE,
                                            .cut = cut_blank,
                                            .whole_max = SIZE_MAX };

/* What one unit gave. */
struct outcome {
    struct buf content;
    struct df_piece *pieces; /* data is an offset into content */
    size_t *offsets;
    size_t count;
};

static uint8_t slack_sum; /* uninitialised slack would show in valgrind */

static enum df_status collect(void *ctx, const struct df_piece *piece,
                              struct df_error *err)
{
    struct outcome *o = ctx;

    (void)err;
    for (size_t i = 0; i < DF_SLACK; i++) {
        slack_sum = (uint8_t)(slack_sum + (piece->data[piece->len + i] > 7));
    }
    o->pieces = realloc(o->pieces, (o->count + 1) * sizeof o->pieces[0]);
    o->offsets = realloc(o->offsets, (o->count + 1) * sizeof o->offsets[0]);
    assert_non_null(o->pieces);
    assert_non_null(o->offsets);
    o->offsets[o->count] = o->content.len;
    o->pieces[o->count++] = *piece;
    assert_true(buf_append(&o->content, piece->data, piece->len));
    return DF_OK;
}

static void outcomes_free(struct outcome *o, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        buf_fini(&o[i].content);
        free(o[i].pieces);
        free(o[i].offsets);
    }
    free(o);
}

/* A batch with one document "inserted/NAME", read whole. */
struct reading {
    struct batch batch;
    struct reader_units units;
    struct outcome *outcomes;
};

static void scan(struct batch *b)
{
    struct df_error err = { "" };

    check_ok(batch_scan(b, root, 2, &err), &err);
}

static void shuffle(size_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        order[i] = i;
    }
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)random() % i;
        size_t kept = order[i - 1];

        order[i - 1] = order[j];
        order[j] = kept;
    }
}

/* Reads the batch at root, units in random order. */
static enum df_status read_all(struct reading *r, const struct reader_cut *cut,
                               struct df_error *err)
{
    enum df_status status;
    struct reader *reader;
    size_t *order;

    scan(&r->batch);
    status = reader_plan_units(&r->units, &r->batch, cut, err);
    if (status != DF_OK) {
        r->outcomes = NULL;
        return status;
    }
    r->outcomes = calloc(r->units.count + 1, sizeof r->outcomes[0]);
    order = calloc(r->units.count + 1, sizeof order[0]);
    assert_non_null(order);
    shuffle(order, r->units.count);
    check_ok(reader_open(&reader, cut, err), err);
    for (size_t i = 0; i < r->units.count && status == DF_OK; i++) {
        status = reader_read(reader, &r->units, order[i], collect,
                             &r->outcomes[order[i]], err);
    }
    reader_close(reader);
    free(order);
    return status == DF_OK ? reader_finish(&r->units, err) : status;
}

static void reading_free(struct reading *r)
{
    if (r->outcomes != NULL) {
        outcomes_free(r->outcomes, r->units.count);
    }
    reader_units_fini(&r->units);
    batch_fini(&r->batch);
}

/* The pieces of all units put together again. */
static struct bytes content_of(struct reading *r)
{
    for (size_t i = 1; i < r->units.count; i++) {
        assert_true(buf_append(&r->outcomes[0].content,
                               r->outcomes[i].content.data,
                               r->outcomes[i].content.len));
    }
    return buf_bytes(&r->outcomes[0].content);
}

static void check_same(struct bytes got, struct bytes want)
{
    assert_int_equal(got.len, want.len);
    assert_true(bytes_equal(got, want));
}

/* The document decodes to this content. */
static void check_content(const char *path, struct bytes file,
                          struct bytes want)
{
    struct df_error err = { "" };
    struct reading r;

    input_tree_file(root, path, file.data, file.len);
    check_ok(read_all(&r, &free_cut, &err), &err);
    check_same(content_of(&r), want);
    reading_free(&r);
    (void)unlink(input_tree_path(root, path));
}

/* The batch is refused with a message that names the file. */
static void check_refused(const struct reader_cut *cut, const char *path,
                          const char *why)
{
    const char *full = input_tree_path(root, path);
    struct df_error err = { "" };
    struct reading r;

    assert_int_equal(read_all(&r, cut, &err), DF_INPUT);
    if (strncmp(err.text, full, strlen(full)) != 0 ||
        err.text[strlen(full)] != ':' || strstr(err.text, why) == NULL) {
        fail_msg("message is: %s", err.text);
    }
    reading_free(&r);
}

static void check_refused_content(const char *path, struct bytes file,
                                  const char *why)
{
    input_tree_file(root, path, file.data, file.len);
    check_refused(&free_cut, path, why);
    (void)unlink(input_tree_path(root, path));
}

/* ---- compressing ------------------------------------------------------- */

static void add_gzip(struct buf *out, struct bytes b)
{
    z_stream z = { 0 };
    uLong bound;

    assert_int_equal(
        deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    bound = deflateBound(&z, (uLong)b.len) + 64;
    assert_true(buf_reserve(out, bound));
    z.next_in = (Bytef *)(uintptr_t)b.data;
    z.avail_in = (uInt)b.len;
    z.next_out = out->data + out->len;
    z.avail_out = (uInt)bound;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out->len += z.total_out;
    (void)deflateEnd(&z);
}

static void add_zstd(struct buf *out, struct bytes b, int window_log)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_inBuffer in = { b.data, b.len, 0 };
    ZSTD_outBuffer o = { NULL, ZSTD_compressBound(b.len) + 64, 0 };

    assert_non_null(c);
    assert_true(buf_reserve(out, o.size));
    o.dst = out->data + out->len;
    (void)ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    if (window_log != 0) {
        (void)ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window_log);
    }
    /* Two calls: the length is not known when the frame begins. */
    (void)ZSTD_compressStream2(c, &o, &in, ZSTD_e_continue);
    assert_int_equal(ZSTD_compressStream2(c, &o, &in, ZSTD_e_end), 0);
    out->len += o.pos;
    ZSTD_freeCCtx(c);
}

static void add_skippable(struct buf *out)
{
    assert_true(buf_append(out, "\x5A\x2A\x4D\x18\x05\0\0\0hello", 13));
}

/* ---- small documents --------------------------------------------------- */

static void test_plain(void **state)
{
    struct df_error err = { "" };
    struct reading r;
    const struct df_piece *piece;

    (void)state;
    input_tree_text(root, "inserted/a/b.txt", "hello world\n");
    check_ok(read_all(&r, &free_cut, &err), &err);
    assert_int_equal(r.units.count, 1);
    assert_ptr_equal(reader_unit_file(&r.units, 0), &r.batch.files[0]);
    assert_int_equal(reader_unit_bytes(&r.units, 0), 12);
    assert_int_equal(r.outcomes[0].count, 1);
    piece = &r.outcomes[0].pieces[0];
    assert_true(piece->first && piece->last);
    assert_false(piece->continues || piece->unfinished);
    check_same(bytes_of(piece->id, piece->id_len), BYTES("a/b.txt"));
    check_same(content_of(&r), BYTES("hello world\n"));
    assert_true(hash128_equal(r.batch.files[0].hash,
                              hash128(BYTES("hello world\n"), 0)));
    reading_free(&r);
}

static void check_one_empty_piece(struct bytes file)
{
    struct df_error err = { "" };
    struct reading r;

    input_tree_file(root, "inserted/e", file.data, file.len);
    check_ok(read_all(&r, &free_cut, &err), &err);
    assert_int_equal(r.outcomes[0].count, 1);
    assert_int_equal(r.outcomes[0].pieces[0].len, 0);
    assert_true(r.outcomes[0].pieces[0].first);
    assert_true(r.outcomes[0].pieces[0].last);
    assert_true(hash128_equal(r.batch.files[0].hash, hash128(file, 0)));
    reading_free(&r);
}

static void test_empty(void **state)
{
    struct buf packed = { 0 };

    (void)state;
    check_one_empty_piece(BYTES(""));
    check_one_empty_piece(BYTES("\xEF\xBB\xBF"));
    check_one_empty_piece(BYTES("\xFF\xFE"));
    add_gzip(&packed, BYTES(""));
    check_one_empty_piece(buf_bytes(&packed));
    buf_reset(&packed);
    add_skippable(&packed);
    check_one_empty_piece(buf_bytes(&packed));
    buf_reset(&packed);
    add_zstd(&packed, BYTES("\xFE\xFF"), 0);
    check_one_empty_piece(buf_bytes(&packed));
    buf_fini(&packed);
}

static void test_marks_and_encodings(void **state)
{
    const struct {
        struct bytes file;
        struct bytes content;
    } cases[] = {
        { BYTES("\xEF\xBB\xBFpine"), BYTES("pine") },
        { BYTES("pine\xEF\xBB\xBF"), BYTES("pine\xEF\xBB\xBF") },
        { BYTES("\xEF\xBB\xBF\xEF\xBB\xBFx"), BYTES("\xEF\xBB\xBFx") },
        { BYTES("\xEF\xBB"), BYTES("\xEF\xBB") },
        { BYTES("\xFF"), BYTES("\xFF") },
        { BYTES("\xFF\xFEh\0\xF6\0 \0"), BYTES("h\xC3\xB6 ") },
        { BYTES("\xFE\xFF\0h\0\xF6\0 "), BYTES("h\xC3\xB6 ") },
        { BYTES("\xFE\xFF\xFE\xFF"), BYTES("\xEF\xBB\xBF") },
        { BYTES("\xFE\xFF\xD8\x3D\xDE\x00"), BYTES("\xF0\x9F\x98\x80") },
        { BYTES("\xFF\xFE\x3D\xD8\x00\xDE"), BYTES("\xF0\x9F\x98\x80") },
        { BYTES("\xFE\xFF\xDB\xFF\xDF\xFF"), BYTES("\xF4\x8F\xBF\xBF") },
        /* What is no text stays none, byte for byte. */
        { BYTES("\xFE\xFF\xD8\x3D\0a"), BYTES("\xFF\xFF"
                                              "a") },
        { BYTES("\xFE\xFF\xDE\x00\0a"), BYTES("\xFF\xFF"
                                              "a") },
        { BYTES("\xFE\xFF\0a\xD8\x3D"), BYTES("a\xFF\xFF") },
        { BYTES("\xFE\xFF\0a\xD8\x3D\xDE"), BYTES("a\xFF\xFF\xFF") },
        { BYTES("\xFE\xFF\0a\0"), BYTES("a\xFF") },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf packed = { 0 };

        check_content("inserted/x", cases[i].file, cases[i].content);
        add_gzip(&packed, cases[i].file);
        check_content("inserted/x.gz", buf_bytes(&packed), cases[i].content);
        buf_reset(&packed);
        add_zstd(&packed, cases[i].file, 0);
        check_content("inserted/x.zst", buf_bytes(&packed), cases[i].content);
        buf_fini(&packed);
    }
}

/* ---- compressed documents ---------------------------------------------- */

/* A raw job gets marks and UTF-16 as they are, also from long files. */
static void test_raw(void **state)
{
    struct reader_cut raw = free_cut;
    struct df_error err = { "" };
    struct buf text = { 0 };
    struct buf packed = { 0 };
    struct reading r;

    (void)state;
    raw.raw = true;
    raw.unit_size = MIB;
    assert_true(buf_append(&text, "\xFF\xFE", 2));
    while (text.len < 3 * MIB) {
        assert_true(buf_append(&text, "h\0i\0 \0", 6));
    }
    add_gzip(&packed, buf_bytes(&text));
    input_tree_file(root, "inserted/a", text.data, text.len);
    check_ok(read_all(&r, &raw, &err), &err);
    assert_int_equal(r.units.count, 4);
    check_same(content_of(&r), buf_bytes(&text));
    reading_free(&r);
    input_tree_file(root, "inserted/a", packed.data, packed.len);
    check_ok(read_all(&r, &raw, &err), &err);
    check_same(content_of(&r), buf_bytes(&text));
    reading_free(&r);
    input_tree_text(root, "inserted/a", "\xEF\xBB\xBFutf-8");
    check_ok(read_all(&r, &raw, &err), &err);
    check_same(content_of(&r), BYTES("\xEF\xBB\xBFutf-8"));
    reading_free(&r);
    buf_fini(&packed);
    buf_fini(&text);
}

static void test_gzip_members(void **state)
{
    struct buf b = { 0 };
    uint8_t zeros[1000] = { 0 };

    (void)state;
    add_gzip(&b, BYTES("alpha "));
    check_content("inserted/no-name", buf_bytes(&b), BYTES("alpha "));
    add_gzip(&b, BYTES(""));
    add_gzip(&b, BYTES("beta"));
    check_content("inserted/x.GZ", buf_bytes(&b), BYTES("alpha beta"));
    check_refused_content("inserted/x.zst", buf_bytes(&b), "named .zst");
    assert_true(buf_append(&b, zeros, sizeof zeros));
    check_content("inserted/x.gz", buf_bytes(&b), BYTES("alpha beta"));
    assert_true(buf_append_byte(&b, 'x'));
    check_refused_content("inserted/x.gz", buf_bytes(&b), "other bytes");
    buf_reset(&b);
    add_gzip(&b, BYTES("good"));
    assert_true(buf_append_string(&b, "GARBAGE"));
    check_refused_content("inserted/x.gz", buf_bytes(&b), "member 2");
    buf_fini(&b);
    check_refused_content("inserted/x.gz", BYTES(""), "not gzip");
    check_refused_content("inserted/x.gz", BYTES("plain text"), "not gzip");
    check_refused_content("inserted/x.zst", BYTES("plain"), "not zstd");
}

static void test_zstd_frames(void **state)
{
    struct buf b = { 0 };

    (void)state;
    add_skippable(&b);
    add_zstd(&b, BYTES("alpha "), 0);
    add_skippable(&b);
    add_zstd(&b, BYTES(""), 0);
    add_zstd(&b, BYTES("beta"), 0);
    add_skippable(&b);
    check_content("inserted/x.zst", buf_bytes(&b), BYTES("alpha beta"));
    check_content("inserted/x", buf_bytes(&b), BYTES("alpha beta"));
    check_refused_content("inserted/x.gz", buf_bytes(&b), "named .gz");
    assert_true(buf_append(&b, "\0\0\0", 3));
    check_content("inserted/x.zst", buf_bytes(&b), BYTES("alpha beta"));
    assert_true(buf_append_string(&b, "junk"));
    check_refused_content("inserted/x.zst", buf_bytes(&b), "other bytes");
    buf_fini(&b);
}

static void test_zstd_window(void **state)
{
    struct buf b = { 0 };

    (void)state;
    add_zstd(&b, BYTES("alpha beta"), 23);
    check_content("inserted/x.zst", buf_bytes(&b), BYTES("alpha beta"));
    buf_reset(&b);
    add_zstd(&b, BYTES("alpha beta"), 24);
    check_refused_content("inserted/x.zst", buf_bytes(&b),
                          "larger than 8 MiB");
    buf_fini(&b);
}

/* One short, compressible document in either format. */
static void pack(struct buf *out, bool gzip)
{
    struct bytes text = BYTES("the quick brown fox and the lazy brown dog "
                              "and the quick brown dog and the lazy fox");

    buf_reset(out);
    if (gzip) {
        add_gzip(out, bytes_of(text.data, 40));
        add_gzip(out, bytes_of(text.data + 40, text.len - 40));
    } else {
        add_zstd(out, bytes_of(text.data, 40), 0);
        add_zstd(out, bytes_of(text.data + 40, text.len - 40), 0);
    }
}

/* Cut short anywhere but between members, it is refused. */
static void check_truncations(bool gzip)
{
    const char *path = gzip ? "inserted/x.gz" : "inserted/x.zst";
    struct df_error err;
    struct buf b = { 0 };
    size_t accepted = 0;

    pack(&b, gzip);
    for (size_t len = 0; len < b.len; len++) {
        struct reading r;

        input_tree_file(root, path, b.data, len);
        if (read_all(&r, &free_cut, &err) == DF_OK) {
            accepted++;
            assert_int_equal(content_of(&r).len, 40);
        } else {
            assert_non_null(strstr(err.text, path));
        }
        reading_free(&r);
    }
    assert_int_equal(accepted, 1);
    (void)unlink(input_tree_path(root, path));
    buf_fini(&b);
}

static void test_truncated(void **state)
{
    (void)state;
    check_truncations(true);
    check_truncations(false);
}

/* With a bit turned over it is refused, or it is the same document (there
 * are bits that mean nothing: the time in a gzip header). */
static void check_bit_flips(bool gzip)
{
    const char *path = gzip ? "inserted/x.gz" : "inserted/x.zst";
    struct df_error err;
    struct reading r;
    struct buf b = { 0 };
    struct buf want = { 0 };
    size_t refused = 0;

    pack(&b, gzip);
    input_tree_file(root, path, b.data, b.len);
    check_ok(read_all(&r, &free_cut, &err), &err);
    want = r.outcomes[0].content;
    r.outcomes[0].content = (struct buf){ 0 };
    reading_free(&r);
    for (size_t bit = 0; bit < 8 * b.len; bit++) {
        b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        input_tree_file(root, path, b.data, b.len);
        if (read_all(&r, &free_cut, &err) == DF_OK) {
            check_same(content_of(&r), buf_bytes(&want));
        } else {
            refused++;
        }
        reading_free(&r);
        b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(refused > 4 * b.len);
    (void)unlink(input_tree_path(root, path));
    buf_fini(&b);
    buf_fini(&want);
}

static void test_bit_flips(void **state)
{
    (void)state;
    check_bit_flips(true);
    check_bit_flips(false);
}

/* ---- long documents ---------------------------------------------------- */

/* Random words, now and then a very long one. */
static void make_document(struct buf *out, size_t len, bool with_long)
{
    buf_reset(out);
    assert_true(buf_reserve(out, len));
    while (out->len < len) {
        size_t word = (size_t)random() % 12;
        size_t room = len - out->len;

        if (with_long && random() % 60000 == 0) {
            word = (size_t)random() % (7 * MIB / 2);
        }
        word = word < room ? word : room;
        memset(out->data + out->len, 'a' + (int)(random() % 26), word);
        out->len += word;
        if (out->len < len) {
            out->data[out->len++] = ' ';
        }
    }
}

/* Words as a job counts them: those longer than DF_KEY_MAX are left out. */
struct words {
    uint64_t count;
    uint64_t sum; /* of hashes */
};

static void add_word(struct words *w, struct bytes word)
{
    if (word.len > 0 && word.len <= DF_KEY_MAX) {
        w->count++;
        w->sum += hash64(word);
    }
}

/* A word that straddles a forced cut is left out too. */
static void add_words(struct words *w, struct bytes b, bool continues,
                      bool unfinished)
{
    size_t begin = 0;

    while (begin <= b.len) {
        struct bytes rest = bytes_of(b.data + begin, b.len - begin);
        size_t cut = rest.len == 0 ? 0 : cut_blank(NULL, rest.data, rest.len);
        size_t len = cut == 0 ? rest.len : cut - 1;
        bool straddles = (continues && begin == 0) || (unfinished && cut == 0);

        if (!straddles) {
            add_word(w, bytes_of(rest.data, len));
        }
        begin += len + 1;
    }
}

/* The bytes before `end` without a cut behind any of them. */
static size_t uncut_before(struct bytes b, size_t end)
{
    size_t n = 0;

    while (n < end && b.data[end - 1 - n] != ' ') {
        n++;
    }
    return n;
}

/* Where a piece ends is a cut, or was forced and is announced on both
 * sides; first and last are where they must be. */
static void check_pieces(const struct reading *r, struct bytes document,
                         struct words *words)
{
    size_t at = 0;
    size_t pieces = 0;
    size_t last_pieces = 0;
    bool unfinished = false;

    for (size_t u = 0; u < r->units.count; u++) {
        const struct outcome *o = &r->outcomes[u];

        for (size_t i = 0; i < o->count; i++) {
            const struct df_piece *piece = &o->pieces[i];
            struct bytes b =
                bytes_of(o->content.data + o->offsets[i], piece->len);

            assert_int_equal(piece->first, pieces == 0);
            assert_int_equal(piece->continues, unfinished);
            assert_true(piece->len > 0);
            pieces++;
            at += piece->len;
            assert_int_equal(piece->last, at == document.len);
            last_pieces += piece->last;
            unfinished = piece->unfinished;
            if (unfinished) {
                assert_true(uncut_before(document, at) >= DF_UNCUT);
                assert_false(piece->last);
            } else if (!piece->last) {
                assert_int_equal(document.data[at - 1], ' ');
            }
            add_words(words, b, piece->continues, piece->unfinished);
        }
    }
    assert_int_equal(at, document.len);
    assert_int_equal(last_pieces, 1);
}

/* XXH3-128 of the file, or of the hashes of its blocks. */
static struct hash128 fingerprint(struct bytes file)
{
    struct hash128 hash;
    struct buf hashes = { 0 };

    if (file.len <= READER_HASH_BLOCK) {
        return hash128(file, 0);
    }
    for (size_t at = 0; at < file.len; at += READER_HASH_BLOCK) {
        size_t len = file.len - at < READER_HASH_BLOCK
                         ? file.len - at
                         : (size_t)READER_HASH_BLOCK;
        uint8_t canonical[HASH128_SIZE];

        hash128_store(canonical, hash128(bytes_of(file.data + at, len), 0));
        assert_true(buf_append(&hashes, canonical, sizeof canonical));
    }
    hash = hash128(buf_bytes(&hashes), 0);
    buf_fini(&hashes);
    return hash;
}

/* Reads the one file at root under a cut and checks everything. */
static void check_reading(struct bytes file, struct bytes document,
                          const struct reader_cut *cut)
{
    struct df_error err = { "" };
    struct words words = { 0 };
    struct words want = { 0 };
    struct reading r;
    uint64_t bytes = 0;

    check_ok(read_all(&r, cut, &err), &err);
    for (size_t i = 0; i < r.units.count; i++) {
        bytes += reader_unit_bytes(&r.units, i);
    }
    assert_int_equal(bytes, file.len);
    assert_true(hash128_equal(r.batch.files[0].hash, fingerprint(file)));
    check_pieces(&r, document, &words);
    add_words(&want, document, false, false);
    assert_int_equal(words.count, want.count);
    assert_int_equal(words.sum, want.sum);
    check_same(content_of(&r), document);
    reading_free(&r);
}

static void check_splits(struct bytes document)
{
    struct reader_cut cut = free_cut;

    input_tree_file(root, "inserted/d", document.data, document.len);
    for (size_t unit = 1; unit <= 4; unit++) {
        cut.unit_size = unit * MIB;
        check_reading(document, document, &cut);
    }
    cut.unit_size = 0;
    check_reading(document, document, &cut);
    cut.pieces = DF_PIECES_ORDERED;
    cut.unit_size = MIB;
    check_reading(document, document, &cut);
}

static void test_random_splits(void **state)
{
    unsigned seed = (unsigned)time(NULL);
    struct buf document = { 0 };

    (void)state;
    print_message("seed %u\n", seed);
    srandom(seed);
    for (int round = 0; round < 6; round++) {
        size_t len = MIB + (size_t)random() % (5 * MIB);

        make_document(&document, len, round % 3 != 0);
        check_splits(buf_bytes(&document));
    }
    buf_fini(&document);
}

/* Lengths and single cuts around every border. */
static void test_borders(void **state)
{
    static const size_t lengths[] = { MIB,        MIB + 1,     2 * MIB - 1,
                                      2 * MIB,    2 * MIB + 1, 3 * MIB,
                                      3 * MIB + 1 };
    static const size_t blanks[] = { 0,           5,       MIB - 2,
                                     MIB - 1,     MIB,     MIB + 1,
                                     2 * MIB - 1, 2 * MIB, SIZE_MAX };
    struct reader_cut cut = free_cut;
    uint8_t *document = malloc(3 * MIB + 1);

    (void)state;
    assert_non_null(document);
    cut.unit_size = MIB;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct bytes b = bytes_of(document, lengths[i]);

        for (size_t k = 0; k < sizeof blanks / sizeof blanks[0]; k++) {
            memset(document, 'x', lengths[i]);
            if (blanks[k] < lengths[i]) {
                document[blanks[k]] = ' ';
            }
            input_tree_file(root, "inserted/d", b.data, b.len);
            check_reading(b, b, &cut);
        }
    }
    free(document);
}

/* A cut forced exactly where it must be, and not a byte earlier. */
static void test_forced_cut(void **state)
{
    struct df_error err = { "" };
    struct reading r;
    uint8_t *document = calloc(1, 3 * MIB);

    (void)state;
    assert_non_null(document);
    memset(document, 'x', 3 * MIB);
    document[4] = ' ';
    input_tree_file(root, "inserted/d", document, 5 + DF_UNCUT);
    check_ok(read_all(&r, &free_cut, &err), &err);
    assert_false(r.outcomes[0].pieces[0].unfinished);
    assert_int_equal(r.outcomes[0].pieces[r.outcomes[0].count - 1].len,
                     DF_UNCUT);
    reading_free(&r);
    input_tree_file(root, "inserted/d", document, 5 + DF_UNCUT + 1);
    check_ok(read_all(&r, &free_cut, &err), &err);
    assert_int_equal(r.outcomes[0].count, 3);
    assert_int_equal(r.outcomes[0].pieces[0].len, 5);
    assert_int_equal(r.outcomes[0].pieces[1].len, DF_UNCUT);
    assert_true(r.outcomes[0].pieces[1].unfinished);
    assert_int_equal(r.outcomes[0].pieces[2].len, 1);
    assert_true(r.outcomes[0].pieces[2].continues);
    reading_free(&r);
    free(document);
}

static void test_cut_of_two_bytes(void **state)
{
    struct reader_cut cut = free_cut;
    struct df_error err = { "" };
    struct buf document = { 0 };

    (void)state;
    cut.cut = cut_two_blanks;
    srandom(7);
    make_document(&document, 4 * MIB, true);
    input_tree_file(root, "inserted/d", document.data, document.len);
    for (size_t unit = 1; unit <= 3; unit++) {
        struct reading r;

        cut.unit_size = unit * MIB;
        check_ok(read_all(&r, &cut, &err), &err);
        check_same(content_of(&r), buf_bytes(&document));
        reading_free(&r);
    }
    buf_fini(&document);
}

static void test_long_compressed(void **state)
{
    struct reader_cut cut = free_cut;
    struct buf document = { 0 };
    struct buf file = { 0 };

    (void)state;
    cut.unit_size = MIB;
    srandom(11);
    make_document(&document, 5 * MIB, true);
    /* Members end where they like. */
    add_gzip(&file, bytes_of(document.data, MIB + 77));
    add_gzip(&file, bytes_of(document.data + MIB + 77, 4 * MIB - 77));
    input_tree_file(root, "inserted/d", file.data, file.len);
    check_reading(buf_bytes(&file), buf_bytes(&document), &cut);
    buf_reset(&file);
    add_zstd(&file, bytes_of(document.data, 3), 0);
    add_zstd(&file, bytes_of(document.data + 3, 5 * MIB - 3), 0);
    input_tree_file(root, "inserted/d", file.data, file.len);
    check_reading(buf_bytes(&file), buf_bytes(&document), &cut);
    buf_fini(&document);
    buf_fini(&file);
}

/* A compressed file of several hash blocks, and several reads. */
static void test_long_incompressible(void **state)
{
    struct reader_cut cut = free_cut;
    struct buf document = { 0 };
    struct buf file = { 0 };

    (void)state;
    cut.unit_size = MIB;
    assert_true(buf_reserve(&document, 3 * MIB));
    for (size_t i = 0; i < 3 * MIB; i++) {
        document.data[i] = (uint8_t)(random() >> 7);
    }
    document.data[0] = 'x';
    document.len = 3 * MIB;
    add_gzip(&file, buf_bytes(&document));
    assert_true(file.len > 2 * MIB);
    input_tree_file(root, "inserted/d", file.data, file.len);
    check_reading(buf_bytes(&file), buf_bytes(&document), &cut);
    buf_fini(&document);
    buf_fini(&file);
}

/* UTF-16 whose surrogate pairs fall across the ends of reads. */
static void test_long_wide(void **state)
{
    struct reader_cut cut = free_cut;
    struct buf file = { 0 };
    struct buf document = { 0 };

    (void)state;
    cut.unit_size = MIB;
    srandom(13);
    assert_true(buf_append(&file, "\xFE\xFF", 2));
    while (file.len < 3 * MIB) {
        switch (random() % 3) {
        case 0:
            assert_true(buf_append(&file, "\0 ", 2));
            assert_true(buf_append(&document, " ", 1));
            break;
        case 1:
            assert_true(buf_append(&file, "\x20\xAC", 2));
            assert_true(buf_append(&document, "\xE2\x82\xAC", 3));
            break;
        default:
            assert_true(buf_append(&file, "\xD8\x3D\xDE\x00", 4));
            assert_true(buf_append(&document, "\xF0\x9F\x98\x80", 4));
            break;
        }
    }
    input_tree_file(root, "inserted/d", file.data, file.len);
    check_reading(buf_bytes(&file), buf_bytes(&document), &cut);
    buf_fini(&file);
    buf_fini(&document);
}

static void test_mark_of_a_split_file(void **state)
{
    struct reader_cut cut = free_cut;
    struct buf file = { 0 };
    struct buf document = { 0 };

    (void)state;
    cut.unit_size = MIB;
    srandom(17);
    make_document(&document, 3 * MIB, false);
    assert_true(buf_append(&file, "\xEF\xBB\xBF", 3));
    assert_true(buf_append(&file, document.data, document.len));
    input_tree_file(root, "inserted/d", file.data, file.len);
    check_reading(buf_bytes(&file), buf_bytes(&document), &cut);
    buf_fini(&file);
    buf_fini(&document);
}

/* ---- whole documents --------------------------------------------------- */

static void check_whole(size_t len, size_t most, bool packed)
{
    struct reader_cut cut = { .pieces = DF_PIECES_WHOLE, .whole_max = most };
    struct df_error err = { "" };
    struct buf document = { 0 };
    struct buf file = { 0 };
    struct reading r;

    make_document(&document, len, true);
    if (packed) {
        add_gzip(&file, buf_bytes(&document));
        input_tree_file(root, "inserted/d", file.data, file.len);
    } else {
        input_tree_file(root, "inserted/d", document.data, document.len);
    }
    if (len > most) {
        char limit[64];

        (void)snprintf(limit, sizeof limit, "longer than %zu bytes", most);
        check_refused(&cut, "inserted/d", limit);
    } else {
        check_ok(read_all(&r, &cut, &err), &err);
        assert_int_equal(r.units.count, 1);
        assert_int_equal(r.outcomes[0].count, 1);
        assert_true(r.outcomes[0].pieces[0].first);
        assert_true(r.outcomes[0].pieces[0].last);
        check_same(content_of(&r), buf_bytes(&document));
        reading_free(&r);
    }
    buf_fini(&document);
    buf_fini(&file);
}

static void test_whole(void **state)
{
    (void)state;
    for (int packed = 0; packed <= 1; packed++) {
        check_whole(1000, 1000, packed != 0);
        check_whole(1001, 1000, packed != 0);
        check_whole(3 * MIB, 3 * MIB, packed != 0);
        check_whole(3 * MIB + 1, 3 * MIB, packed != 0);
        check_whole(9 * MIB, 5 * MIB, packed != 0);
    }
}

/* ---- files that change ------------------------------------------------- */

enum change { GROW, SHRINK, TOUCH, REMOVE, REPLACE, MAKE_FIFO, MAKE_LINK };

static void replace(const char *full)
{
    char other[2 * INPUT_TREE_PATH];
    struct stat st;
    struct timespec times[2];
    char *data;
    FILE *f;

    /* The same length and time; only the inode tells. */
    assert_int_equal(stat(full, &st), 0);
    (void)snprintf(other, sizeof other, "%s.new", full);
    data = calloc(1, (size_t)st.st_size);
    f = fopen(other, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, (size_t)st.st_size, f), st.st_size);
    (void)fclose(f);
    free(data);
    times[0] = st.st_atim;
    times[1] = st.st_mtim;
    assert_int_equal(utimensat(AT_FDCWD, other, times, 0), 0);
    assert_int_equal(rename(other, full), 0);
}

static void make_change(enum change change)
{
    const char *full = input_tree_path(root, "inserted/d");
    struct timespec times[2] = { { 1, 0 }, { 1, 1 } };
    struct stat st;

    assert_int_equal(stat(full, &st), 0);
    switch (change) {
    case GROW:
        assert_int_equal(truncate(full, st.st_size + 1), 0);
        break;
    case SHRINK:
        assert_int_equal(truncate(full, st.st_size - 1), 0);
        break;
    case TOUCH:
        assert_int_equal(utimensat(AT_FDCWD, full, times, 0), 0);
        break;
    case REPLACE:
        replace(full);
        break;
    case REMOVE:
        assert_int_equal(unlink(full), 0);
        break;
    case MAKE_FIFO:
        assert_int_equal(unlink(full), 0);
        assert_int_equal(mkfifo(full, 0666), 0);
        break;
    case MAKE_LINK:
    default:
        assert_int_equal(unlink(full), 0);
        input_tree_link(root, "inserted/d", "elsewhere");
        break;
    }
}

struct changing {
    struct outcome outcome;
    enum change change;
    bool done;
};

static enum df_status change_once(void *ctx, const struct df_piece *piece,
                                  struct df_error *err)
{
    struct changing *c = ctx;

    if (!c->done) {
        c->done = true;
        make_change(c->change);
    }
    return collect(&c->outcome, piece, err);
}

/* The file changes after the scan, or after its first piece; the last unit
 * read must see it. */
static void check_change(size_t len, enum change change, bool while_read,
                         const char *why)
{
    struct reader_cut cut = free_cut;
    struct changing c = { .change = change };
    enum df_status status = DF_OK;
    struct df_error err = { "" };
    struct reader_units units;
    struct reader *reader;
    struct buf document = { 0 };
    struct batch b;

    cut.unit_size = MIB;
    (void)unlink(input_tree_path(root, "inserted/d"));
    make_document(&document, len, false);
    input_tree_file(root, "inserted/d", document.data, document.len);
    scan(&b);
    check_ok(reader_plan_units(&units, &b, &cut, &err), &err);
    check_ok(reader_open(&reader, &cut, &err), &err);
    if (!while_read) {
        c.done = true;
        make_change(change);
    }
    for (size_t i = 0; i < units.count && status == DF_OK; i++) {
        status = reader_read(reader, &units, i, change_once, &c, &err);
    }
    assert_int_equal(status, DF_INPUT);
    if (strstr(err.text, "inserted/d: ") == NULL ||
        strstr(err.text, why) == NULL) {
        fail_msg("message is: %s", err.text);
    }
    reader_close(reader);
    reader_units_fini(&units);
    batch_fini(&b);
    buf_fini(&document);
    buf_fini(&c.outcome.content);
    free(c.outcome.pieces);
    free(c.outcome.offsets);
}

static void test_changed(void **state)
{
    static const size_t lengths[] = { 100, 900000, 3 * MIB };

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        size_t len = lengths[i];

        for (int early = 0; early <= 1; early++) {
            check_change(len, GROW, early == 0, "changed while");
            check_change(len, SHRINK, early == 0, "changed while");
            check_change(len, TOUCH, early == 0, "changed while");
        }
        check_change(len, REMOVE, false, "No such file");
        check_change(len, MAKE_FIFO, false, "changed while");
        check_change(len, MAKE_LINK, false, "symbolic links");
    }
    /* Units of one file must be of one file. */
    check_change(3 * MIB, REPLACE, true, "changed while");
    check_change(3 * MIB, REPLACE, false, "changed while");
}

static void test_unreadable(void **state)
{
    (void)state;
    if (geteuid() == 0) {
        skip();
    }
    input_tree_text(root, "inserted/d", "x");
    assert_int_equal(chmod(input_tree_path(root, "inserted/d"), 0), 0);
    check_refused(&free_cut, "inserted/d", "Permission denied");
}

/* ---- the reader as its callers see it ---------------------------------- */

static enum df_status fail_at_once(void *ctx, const struct df_piece *piece,
                                   struct df_error *err)
{
    int *calls = ctx;

    (void)piece;
    (*calls)++;
    return error_set(err, DF_LEDGER, "enough");
}

static void test_failing_sink(void **state)
{
    struct df_error err = { "" };
    struct buf document = { 0 };
    struct reader_units units;
    struct reader *reader;
    struct outcome o = { 0 };
    struct batch b;
    int calls = 0;

    (void)state;
    make_document(&document, 2 * MIB, false);
    input_tree_file(root, "inserted/d", document.data, document.len);
    scan(&b);
    check_ok(reader_plan_units(&units, &b, &free_cut, &err), &err);
    check_ok(reader_open(&reader, &free_cut, &err), &err);
    assert_int_equal(
        reader_read(reader, &units, 0, fail_at_once, &calls, &err), DF_LEDGER);
    assert_int_equal(calls, 1);
    assert_string_equal(err.text, "enough");
    /* The reader is as good as before. */
    check_ok(reader_read(reader, &units, 0, collect, &o, &err), &err);
    check_same(buf_bytes(&o.content), buf_bytes(&document));
    reader_close(reader);
    reader_units_fini(&units);
    batch_fini(&b);
    buf_fini(&document);
    buf_fini(&o.content);
    free(o.pieces);
    free(o.offsets);
}

/* Threads that share units, each with a reader, and only hash. */
struct team {
    struct reader_units *units;
    const struct reader_cut *cut;
    size_t next; /* taken with an atomic add */
    size_t failures;
};

static void *hash_units(void *ctx)
{
    struct team *team = ctx;
    struct df_error err;
    struct reader *reader;

    if (reader_open(&reader, team->cut, &err) != DF_OK) {
        (void)__atomic_add_fetch(&team->failures, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    for (;;) {
        size_t i = __atomic_fetch_add(&team->next, 1, __ATOMIC_RELAXED);

        if (i >= team->units->count) {
            break;
        }
        if (reader_read(reader, team->units, i, NULL, NULL, &err) != DF_OK) {
            (void)__atomic_add_fetch(&team->failures, 1, __ATOMIC_RELAXED);
        }
    }
    reader_close(reader);
    return NULL;
}

static void hash_with_threads(struct team *team)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, hash_units, team),
                         0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(team->failures, 0);
}

static void test_hashes_by_many_threads(void **state)
{
    static const size_t lengths[] = { 0,       1,           1000,
                                      MIB - 1, MIB,         MIB + 1,
                                      2 * MIB, 3 * MIB + 5, 262144 };
    enum { FILES = sizeof lengths / sizeof lengths[0] };
    struct reader_cut cut = free_cut;
    struct team team = { .cut = &cut };
    struct reader_units units;
    struct hash128 want[FILES];
    struct df_error err = { "" };
    struct batch b;

    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        struct buf document = { 0 };
        char path[32];

        (void)snprintf(path, sizeof path, "inserted/%zu", i);
        make_document(&document, lengths[i], false);
        input_tree_file(root, path, document.data, document.len);
        want[i] = fingerprint(buf_bytes(&document));
        buf_fini(&document);
    }
    scan(&b);
    cut.unit_size = MIB;
    check_ok(reader_plan_units(&units, &b, &cut, &err), &err);
    assert_int_equal(units.count, 5 + 2 + 2 + 4 + 1);
    team.units = &units;
    hash_with_threads(&team);
    check_ok(reader_finish(&units, &err), &err);
    for (size_t i = 0; i < FILES; i++) {
        assert_true(hash128_equal(b.files[i].hash, want[i]));
    }
    reader_units_fini(&units);
    batch_fini(&b);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_plain),
        TEST(test_empty),
        TEST(test_marks_and_encodings),
        TEST(test_raw),
        TEST(test_gzip_members),
        TEST(test_zstd_frames),
        TEST(test_zstd_window),
        TEST(test_truncated),
        TEST(test_bit_flips),
        TEST(test_random_splits),
        TEST(test_borders),
        TEST(test_forced_cut),
        TEST(test_cut_of_two_bytes),
        TEST(test_long_compressed),
        TEST(test_long_incompressible),
        TEST(test_long_wide),
        TEST(test_mark_of_a_split_file),
        TEST(test_whole),
        TEST(test_changed),
        TEST(test_unreadable),
        TEST(test_failing_sink),
        TEST(test_hashes_by_many_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
