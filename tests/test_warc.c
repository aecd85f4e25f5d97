/* Archives as a source of documents: input/warc.h, and through files
 * input/reader.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "input/reader.h"
#include "input/warc.h"
#include "tests/input_tree.h"
#include "tests/packed.h"
#include "tests/warc_memory.h"

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

/* ---- making archives --------------------------------------------------- */

/* fields: more lines of the head, each with its end. */
static void add_record(struct buf *out, const char *type, const char *uri,
                       const char *fields, struct bytes block)
{
    assert_true(buf_printf(out,
                           "WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: "
                           "%s\r\n%sContent-Length: %zu\r\n\r\n",
                           type, uri, fields, block.len) &&
                buf_append(out, block.data, block.len) &&
                buf_append_string(out, "\r\n\r\n"));
}

/* fields: those of the HTTP head. */
static void add_response(struct buf *out, const char *uri, const char *fields,
                         struct bytes body)
{
    struct buf block = { 0 };

    assert_true(buf_printf(&block, "HTTP/1.1 200 OK\r\n%s\r\n", fields) &&
                buf_append(&block, body.data, body.len));
    add_record(out, "response", uri, "", buf_bytes(&block));
    buf_fini(&block);
}

static void add_text(struct buf *out, size_t words)
{
    while (words-- > 0) {
        assert_true(buf_printf(out, "%lx ", (unsigned long)random()));
    }
}

/* ---- reading them ------------------------------------------------------ */

enum { DOCUMENTS_MAX = 64 };

struct document {
    struct buf uri;
    struct buf content;
    size_t pieces;
};

/* All documents of a batch, in the order of its files. */
struct reading {
    struct batch batch;
    struct reader_units units;
    struct document documents[DOCUMENTS_MAX];
    size_t count;
    bool is_open; /* the last document has not ended */
    struct reader_counts counts;
};

static enum df_status collect(void *ctx, const struct df_piece *piece,
                              struct df_error *err)
{
    struct reading *r = ctx;
    struct document *d;

    (void)err;
    assert_int_equal(piece->first, !r->is_open);
    if (piece->first) {
        assert_true(r->count < DOCUMENTS_MAX);
        d = &r->documents[r->count++];
        assert_true(buf_append(&d->uri, piece->id, piece->id_len));
    }
    d = &r->documents[r->count - 1];
    assert_true(
        bytes_equal(buf_bytes(&d->uri), bytes_of(piece->id, piece->id_len)));
    assert_true(buf_append(&d->content, piece->data, piece->len));
    d->pieces++;
    r->is_open = !piece->last;
    return DF_OK;
}

static size_t cut_blank(const void *config, const uint8_t *data, size_t len)
{
    const uint8_t *blank = memchr(data, ' ', len);

    (void)config;
    return blank == NULL ? 0 : (size_t)(blank - data) + 1;
}

static const struct reader_cut free_cut = { .pieces = DF_PIECES_FREE,
                                            .cut = cut_blank,
                                            .unit_size = MIB };
static const struct reader_cut whole_cut = { .pieces = DF_PIECES_WHOLE,
                                             .whole_max = SIZE_MAX };

static enum df_status read_batch(struct reading *r,
                                 const struct reader_cut *cut,
                                 struct df_error *err)
{
    enum df_status status;
    struct reader *reader;

    *r = (struct reading){ 0 };
    check_ok(batch_scan(&r->batch, root, 2, err), err);
    check_ok(reader_plan_units(&r->units, &r->batch, cut, err), err);
    check_ok(reader_open(&reader, cut, err), err);
    status = DF_OK;
    for (size_t i = 0; i < r->units.count && status == DF_OK; i++) {
        status = reader_read(reader, &r->units, i, collect, r, err);
        assert_true(status != DF_OK || !r->is_open);
    }
    r->counts = reader_counts(reader);
    reader_close(reader);
    return status == DF_OK ? reader_finish(&r->units, err) : status;
}

static void reading_free(struct reading *r)
{
    for (size_t i = 0; i < r->count; i++) {
        buf_fini(&r->documents[i].uri);
        buf_fini(&r->documents[i].content);
    }
    reader_units_fini(&r->units);
    batch_fini(&r->batch);
}

static void check_document(const struct reading *r, size_t i, const char *uri,
                           struct bytes content)
{
    const struct document *d = &r->documents[i];

    assert_true(i < r->count);
    if (!bytes_equal(buf_bytes(&d->uri), bytes_of_string(uri))) {
        fail_msg("%.*s instead of %s", (int)d->uri.len,
                 (const char *)d->uri.data, uri);
    }
    if (!bytes_equal(buf_bytes(&d->content), content)) {
        fail_msg("%s: %zu bytes: %.*s", uri, d->content.len,
                 d->content.len < 80 ? (int)d->content.len : 80,
                 (const char *)d->content.data);
    }
}

static void put(const char *path, const struct buf *archive)
{
    input_tree_file(root, path, archive->data, archive->len);
}

/* Puts the archive at path, reads the batch and takes it away again. */
static void read_one(struct reading *r, const struct reader_cut *cut,
                     const char *path, const struct buf *archive)
{
    struct df_error err = { "" };

    put(path, archive);
    check_ok(read_batch(r, cut, &err), &err);
    (void)unlink(input_tree_path(root, path));
}

/* The batch is refused with a message that has `where` behind the file. */
static void check_refused(const struct reader_cut *cut, const char *path,
                          const struct buf *archive, const char *where,
                          const char *why)
{
    const char *full = input_tree_path(root, path);
    struct df_error err = { "" };
    struct reading r;
    char begin[INPUT_TREE_PATH + 512];

    put(path, archive);
    assert_int_equal(read_batch(&r, cut, &err), DF_INPUT);
    (void)snprintf(begin, sizeof begin, "%s: %s", full, where);
    if (strncmp(err.text, begin, strlen(begin)) != 0 ||
        strstr(err.text, why) == NULL) {
        fail_msg("message is: %s", err.text);
    }
    reading_free(&r);
    (void)unlink(input_tree_path(root, path));
}

/* ---- what is a document ------------------------------------------------ */

static void add_site(struct buf *out)
{
    add_record(out, "warcinfo", "x", "", BYTES("software: test\r\n"));
    add_record(out, "request", "http://a/", "",
               BYTES("GET / HTTP/1.1\r\n\r\n"));
    add_response(out, "<http://a/>", "Content-Type: text/html\r\n",
                 BYTES("one two"));
    add_record(out, "metadata", "http://a/", "", BYTES("a: b\r\n"));
    add_record(out, "response", "http://a/gone", "",
               BYTES("HTTP/1.1 404 Not Found\r\n\r\nnot there"));
    add_record(out, "response", "http://a/moved", "",
               BYTES("HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n"));
    add_record(out, "response", "dns:a", "", BYTES("a. IN A 127.0.0.1"));
    add_record(out, "response", "http://a/old", "", BYTES("<html>0.9"));
    add_record(out, "resource", "https://a/r", "", BYTES("HTTP/1.1 200 OK"));
    add_record(out, "resource", "metadata://log", "", BYTES("log"));
    add_record(out, "revisit", "http://a/", "",
               BYTES("HTTP/1.1 200 OK\r\n\r\n"));
    add_record(out, "response", "http://a/cut", "WARC-Truncated: length\r\n",
               BYTES("HTTP/1.1 200 OK\r\n\r\nhal"));
    add_record(out, "response", "http://a/s", "WARC-Segment-Number: 1\r\n",
               BYTES("HTTP/1.1 200 OK\r\n\r\nfirst half"));
    add_record(out, "continuation", "http://a/s", "WARC-Segment-Number: 2\r\n",
               BYTES(" and second"));
    add_record(out, "conversion", "http://a/", "", BYTES("one two"));
    add_response(out, "http://a/br", "Content-Encoding: br\r\n",
                 BYTES("\x0b\x02\x80hello\x03"));
    add_response(out, "http://a/empty", "", BYTES(""));
    add_response(out, "http://a/", "", BYTES("one two"));
}

static void check_site(const struct reading *r)
{
    const struct reader_counts *c = &r->counts;

    assert_int_equal(r->count, 4);
    check_document(r, 0, "http://a/", BYTES("one two"));
    check_document(r, 1, "https://a/r", BYTES("HTTP/1.1 200 OK"));
    check_document(r, 2, "http://a/empty", BYTES(""));
    check_document(r, 3, "http://a/", BYTES("one two"));
    assert_int_equal(c->records, 18);
    assert_int_equal(c->documents, 4);
    assert_int_equal(c->other_types, 6);
    assert_int_equal(c->other_targets, 2);
    assert_int_equal(c->other_statuses, 3);
    assert_int_equal(c->truncated, 2);
    assert_int_equal(c->undecodable, 1);
    assert_int_equal(c->already_decoded, 0);
}

/* The records of an archive, each compressed for itself. */
static void pack_records(struct buf *out, struct bytes archive,
                         void (*pack)(struct buf *, struct bytes))
{
    while (archive.len > 0) {
        const uint8_t *next =
            memmem(archive.data + 1, archive.len - 1, "WARC/1.0\r\n", 10);
        size_t len =
            next == NULL ? archive.len : (size_t)(next - archive.data);

        pack(out, bytes_of(archive.data, len));
        archive = bytes_of(archive.data + len, archive.len - len);
    }
}

static void test_records(void **state)
{
    struct buf site = { 0 };
    struct buf packed = { 0 };
    struct reading r;

    (void)state;
    add_site(&site);
    read_one(&r, &free_cut, "inserted/a.warc", &site);
    check_site(&r);
    assert_int_equal(r.batch.file_count, 1);
    assert_true(
        hash128_equal(r.batch.files[0].hash, hash128(buf_bytes(&site), 0)));
    reading_free(&r);
    read_one(&r, &whole_cut, "deleted/x/A.WARC", &site);
    check_site(&r);
    reading_free(&r);

    packed_gzip(&packed, buf_bytes(&site));
    read_one(&r, &free_cut, "inserted/a.warc.gz", &packed);
    check_site(&r);
    assert_true(
        hash128_equal(r.batch.files[0].hash, hash128(buf_bytes(&packed), 0)));
    reading_free(&r);
    buf_reset(&packed);
    pack_records(&packed, buf_bytes(&site), packed_gzip);
    read_one(&r, &whole_cut, "inserted/a.Warc.Gz", &packed);
    check_site(&r);
    reading_free(&r);
    read_one(&r, &free_cut, "inserted/a.warc", &packed);
    check_site(&r);
    reading_free(&r);
    buf_reset(&packed);
    pack_records(&packed, buf_bytes(&site), packed_zstd);
    read_one(&r, &free_cut, "inserted/a.warc.zst", &packed);
    check_site(&r);
    reading_free(&r);
    buf_fini(&packed);
    buf_fini(&site);
}

/* The same URI in two files: documents of a multiset. Counts add up. */
static void test_two_files(void **state)
{
    struct df_error err = { "" };
    struct buf site = { 0 };
    struct reading r;

    (void)state;
    add_site(&site);
    put("inserted/a.warc", &site);
    put("inserted/b.warc", &site);
    input_tree_text(root, "inserted/c.txt", "plain");
    check_ok(read_batch(&r, &free_cut, &err), &err);
    assert_int_equal(r.count, 9);
    check_document(&r, 4, "http://a/", BYTES("one two"));
    check_document(&r, 8, "c.txt", BYTES("plain"));
    assert_int_equal(r.counts.records, 36);
    assert_int_equal(r.counts.documents, 8);
    reading_free(&r);
    buf_fini(&site);
}

/* ---- content ----------------------------------------------------------- */

static const struct {
    const char *fields;
    void (*pack)(struct buf *, struct bytes);
} codings[] = {
    { "", NULL },
    { "Content-Encoding: identity\r\n", NULL },
    { "Content-Encoding: gzip\r\n", packed_gzip },
    { "Content-Encoding: X-Gzip\r\n", packed_gzip },
    { "Content-Encoding: deflate\r\n", packed_zlib },
    { "Content-Encoding: deflate\r\n", packed_deflate },
    { "Content-Encoding: zstd\r\n", packed_zstd },
    { "Transfer-Encoding: gzip\r\n", packed_gzip },
};

/* One response with this content, in a coding, in chunks of `chunk` bytes
 * if not 0. */
static void add_coded(struct buf *out, size_t coding, size_t chunk,
                      struct bytes content)
{
    struct buf packed = { 0 };
    struct buf body = { 0 };
    char fields[200];

    if (codings[coding].pack != NULL) {
        codings[coding].pack(&packed, content);
    } else {
        assert_true(buf_append(&packed, content.data, content.len));
    }
    if (chunk != 0) {
        packed_chunks(&body, buf_bytes(&packed), chunk, chunk % 2 == 0);
    } else {
        assert_true(buf_append(&body, packed.data, packed.len));
    }
    (void)snprintf(fields, sizeof fields, "%s%s", codings[coding].fields,
                   chunk != 0 ? "Transfer-Encoding: chunked\r\n" : "");
    add_response(out, "http://a/", fields, buf_bytes(&body));
    buf_fini(&packed);
    buf_fini(&body);
}

static void check_coded(size_t coding, size_t chunk, struct bytes content)
{
    struct buf archive = { 0 };
    struct buf packed = { 0 };
    struct reading r;

    add_coded(&archive, coding, chunk, content);
    add_response(&archive, "http://b/", "", BYTES("next"));
    read_one(&r, &free_cut, "inserted/a.warc", &archive);
    assert_int_equal(r.count, 2);
    check_document(&r, 0, "http://a/", content);
    check_document(&r, 1, "http://b/", BYTES("next"));
    assert_int_equal(r.counts.already_decoded, 0);
    if (content.len > MIB) {
        assert_true(r.documents[0].pieces > 1);
    }
    reading_free(&r);
    pack_records(&packed, buf_bytes(&archive), packed_gzip);
    read_one(&r, &whole_cut, "inserted/a.warc.gz", &packed);
    assert_int_equal(r.count, 2);
    check_document(&r, 0, "http://a/", content);
    assert_int_equal(r.documents[0].pieces, 1);
    reading_free(&r);
    buf_fini(&packed);
    buf_fini(&archive);
}

static void test_content(void **state)
{
    struct buf text = { 0 };

    (void)state;
    add_text(&text, 150000);
    assert_true(text.len > MIB);
    for (size_t i = 0; i < sizeof codings / sizeof codings[0]; i++) {
        check_coded(i, 0, BYTES(""));
        check_coded(i, 0, BYTES("hello world"));
        check_coded(i, 3, BYTES("hello world"));
        check_coded(i, 16, BYTES("hello world, hello world"));
        check_coded(i, 0, buf_bytes(&text));
        check_coded(i, 8191, buf_bytes(&text));
        check_coded(i, 300000, buf_bytes(&text));
    }
    buf_fini(&text);
}

/* Several members, and zeros behind them, as in files. */
static void test_gzip_members(void **state)
{
    struct buf archive = { 0 };
    struct buf packed = { 0 };
    struct reading r;

    (void)state;
    packed_gzip(&packed, BYTES("one "));
    packed_gzip(&packed, BYTES("two"));
    assert_true(buf_append(&packed, "\0\0", 2));
    add_response(&archive, "http://a/", "Content-Encoding: gzip\r\n",
                 buf_bytes(&packed));
    read_one(&r, &free_cut, "inserted/a.warc", &archive);
    check_document(&r, 0, "http://a/", BYTES("one two"));
    reading_free(&r);
    buf_fini(&packed);
    buf_fini(&archive);
}

/* Writers that decode content but leave the head as it was. */
static void test_already_decoded(void **state)
{
    static const char *const fields[] = {
        "Content-Encoding: gzip\r\n",
        "Content-Encoding: zstd\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n",
    };
    const size_t n = sizeof fields / sizeof fields[0];
    struct buf archive = { 0 };
    struct buf packed = { 0 };
    struct reading r;

    (void)state;
    for (size_t i = 0; i < n; i++) {
        add_response(&archive, "http://a/", fields[i], BYTES("<p>text"));
        add_response(&archive, "http://a/", fields[i], BYTES(""));
        add_response(&archive, "http://a/", fields[i], BYTES("x"));
    }
    packed_gzip(&packed, BYTES("packed"));
    add_response(&archive, "http://a/", fields[3], buf_bytes(&packed));
    read_one(&r, &free_cut, "inserted/a.warc", &archive);
    assert_int_equal(r.count, 3 * n + 1);
    for (size_t i = 0; i < n; i++) {
        check_document(&r, 3 * i, "http://a/", BYTES("<p>text"));
        check_document(&r, 3 * i + 1, "http://a/", BYTES(""));
        check_document(&r, 3 * i + 2, "http://a/", BYTES("x"));
    }
    check_document(&r, 3 * n, "http://a/", BYTES("packed"));
    assert_int_equal(r.counts.already_decoded, 2 * n + 1);
    reading_free(&r);
    buf_fini(&packed);
    buf_fini(&archive);
}

static void test_encodings(void **state)
{
    struct reader_cut raw = whole_cut;
    struct buf archive = { 0 };
    struct reading r;

    (void)state;
    add_response(&archive, "http://a/", "", BYTES("\xEF\xBB\xBFutf-8"));
    add_response(&archive, "http://b/", "", BYTES("\xFF\xFEh\0i\0"));
    add_response(&archive, "http://c/", "", BYTES("plain"));
    read_one(&r, &whole_cut, "inserted/a.warc", &archive);
    check_document(&r, 0, "http://a/", BYTES("utf-8"));
    check_document(&r, 1, "http://b/", BYTES("hi"));
    check_document(&r, 2, "http://c/", BYTES("plain"));
    reading_free(&r);
    raw.raw = true;
    read_one(&r, &raw, "inserted/a.warc", &archive);
    check_document(&r, 0, "http://a/", BYTES("\xEF\xBB\xBFutf-8"));
    check_document(&r, 1, "http://b/", BYTES("\xFF\xFEh\0i\0"));
    reading_free(&r);
    buf_fini(&archive);
}

/* A document must fit where it is wanted whole; the archive need not. */
static void test_whole_max(void **state)
{
    struct reader_cut cut = { .pieces = DF_PIECES_WHOLE, .whole_max = 300000 };
    struct buf archive = { 0 };
    struct buf text = { 0 };
    struct reading r;
    char where[100];
    size_t at;

    (void)state;
    add_text(&text, 40000);
    text.len = 300000;
    add_response(&archive, "http://a/1", "", buf_bytes(&text));
    add_response(&archive, "http://a/2", "", buf_bytes(&text));
    read_one(&r, &cut, "inserted/a.warc", &archive);
    check_document(&r, 1, "http://a/2", buf_bytes(&text));
    reading_free(&r);
    at = archive.len;
    assert_true(buf_append_byte(&text, 'x'));
    add_response(&archive, "http://a/long", "", buf_bytes(&text));
    (void)snprintf(where, sizeof where,
                   "record at byte %zu (http://a/long):", at);
    check_refused(&cut, "inserted/a.warc", &archive, where,
                  "longer than 300000 bytes");
    buf_fini(&text);
    buf_fini(&archive);
}

/* Longer than a unit: one unit all the same. */
static void test_long_archive(void **state)
{
    struct buf archive = { 0 };
    struct buf text = { 0 };
    struct reading r;

    (void)state;
    add_text(&text, 50000);
    while (archive.len < 3 * MIB) {
        add_response(&archive, "http://a/", "", buf_bytes(&text));
    }
    read_one(&r, &free_cut, "inserted/a.warc", &archive);
    assert_int_equal(r.units.count, 1);
    for (size_t i = 0; i < r.count; i++) {
        check_document(&r, i, "http://a/", buf_bytes(&text));
    }
    reading_free(&r);
    buf_fini(&text);
    buf_fini(&archive);
}

/* ---- heads ------------------------------------------------------------- */

static void test_odd_heads(void **state)
{
    struct buf b = { 0 };
    struct reading r;

    (void)state;
    assert_true(buf_append_string(
        &b, "WARC/1.1\r\nwarc-target-uri:\r\n http://a/\r\n"
            "X-Other: a\r\n\tb\r\nCONTENT-LENGTH:21\r\n"
            "warc-type:\tResponse \r\n\r\nHTTP/1.0 200\r\n\r\nhello"
            "\r\n\r\n"
            "WARC/1.0\nWARC-Type: response\nWARC-Target-URI: http://b/\n"
            "Content-Length: 22\n\nHTTP/1.1 200 OK\n\nthere\n"
            "WARC/1.0\nWARC-Type: resource\nWARC-Target-URI: http://c/\n"
            "Content-Length: 0\n\n\r\n\r\n\r\n\n\n"));
    add_response(&b, "http://d/", "Transfer-Encoding:\r\n\tchunked\r\n",
                 BYTES("2\r\nhi\r\n0\r\n\r\n"));
    read_one(&r, &free_cut, "inserted/a.warc", &b);
    assert_int_equal(r.count, 4);
    check_document(&r, 0, "http://a/", BYTES("hello"));
    check_document(&r, 1, "http://b/", BYTES("there"));
    check_document(&r, 2, "http://c/", BYTES(""));
    check_document(&r, 3, "http://d/", BYTES("hi"));
    reading_free(&r);
    buf_fini(&b);
}

static void test_long_heads(void **state)
{
    struct buf archive = { 0 };
    struct buf uri = { 0 };
    struct buf fields = { 0 };
    struct reading r;

    (void)state;
    assert_true(buf_append_string(&uri, "http://a/"));
    while (uri.len < DF_KEY_MAX) {
        assert_true(buf_append_byte(&uri, 'u'));
    }
    assert_true(buf_append_byte(&uri, '\0'));
    add_response(&archive, (const char *)uri.data, "", BYTES("text"));
    while (fields.len < WARC_HEAD_MAX) {
        assert_true(buf_append_string(&fields, "Cookie: monster\r\n"));
    }
    assert_true(buf_append_byte(&fields, '\0'));
    add_response(&archive, "http://a/", (const char *)fields.data,
                 BYTES("text"));
    add_response(&archive, "http://b/", "", BYTES("text"));
    read_one(&r, &free_cut, "inserted/a.warc", &archive);
    assert_int_equal(r.count, 2);
    check_document(&r, 0, (const char *)uri.data, BYTES("text"));
    check_document(&r, 1, "http://b/", BYTES("text"));
    assert_int_equal(r.counts.other_statuses, 1);
    reading_free(&r);
    buf_reset(&archive);
    add_record(&archive, "request", "http://a/", (const char *)fields.data,
               BYTES(""));
    check_refused(&free_cut, "inserted/a.warc", &archive,
                  "record at byte 0:", "head is too long");
    buf_fini(&archive);
    buf_fini(&uri);
    buf_fini(&fields);
}

/* ---- what is refused --------------------------------------------------- */

static void test_not_an_archive(void **state)
{
    static const char *const contents[] = { "",
                                            "text",
                                            "WARC/0.18\r\n\r\n",
                                            "\r\nWARC/1.0\r\n",
                                            "WARC/1",
                                            "\xEF\xBB\xBFWARC/1.0\r\n" };
    struct buf b = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        struct buf packed = { 0 };

        buf_reset(&b);
        assert_true(buf_append_string(&b, contents[i]));
        check_refused(&free_cut, "inserted/a.warc", &b,
                      "is named .warc but its content does not begin", "");
        packed_gzip(&packed, buf_bytes(&b));
        check_refused(&free_cut, "inserted/a.warc.gz", &packed,
                      "is named .warc but its content does not begin", "");
        buf_fini(&packed);
    }
    check_refused(&free_cut, "inserted/a.warc.gz", &b, "is named .gz", "");
    buf_fini(&b);
}

/* What is wrong with an archive whose second record is broken. */
static void test_broken_records(void **state)
{
    static const struct {
        const char *record;
        const char *why;
    } cases[] = {
        { "junk", "is none" },
        { "WARC/1.0", "truncated" },
        { "WARC/1.0\r\nWARC-Type: x\r\nContent-Length: 5\r\n", "truncated" },
        { "WARC/1.0\r\nWARC-Type: x\r\nContent-Length: 5\r\n\r\n1234",
          "truncated" },
        { "WARC/1.0\r\nWARC-Type: x\r\nContent-Length: "
          "9223372036854775799\r\n\r\n1234",
          "truncated" },
        { "WARC/1.0\r\nWARC-Type: x\r\nContent-Length: 4\r\n\r\n1234",
          "no line end" },
        { "WARC/1.0\r\nWARC-Type: x\r\nContent-Length: 4\r\n\r\n1234\r",
          "no line end" },
        { "WARC/1.0\r\nWARC-Type: x\r\nContent-Length: 4\r\n\r\n12345\r\n",
          "no line end" },
        { "WARC/2.0\r\nWARC-Type: x\r\nContent-Length: 0\r\n\r\n\r\n",
          "version" },
        { "WARC/1.0\r\nWARC-Type: x\r\n\r\n\r\n", "no Content-Length" },
        { "WARC/1.0\r\nWARC-Type: x\r\nContent-Length: x\r\n\r\n\r\n",
          "not a number" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf b = { 0 };
        char where[100];

        add_response(&b, "http://a/", "", BYTES("text"));
        (void)snprintf(where, sizeof where, "record at byte %zu:", b.len);
        assert_true(buf_append_string(&b, cases[i].record));
        check_refused(&free_cut, "inserted/a.warc", &b, where, cases[i].why);
        buf_fini(&b);
    }
}

static void add_byte(struct buf *b, size_t at, int change)
{
    b->data[at] = (uint8_t)(b->data[at] + change);
}

/* Content that does not decode. */
static void check_broken_content(const char *fields, struct bytes body,
                                 const char *why)
{
    struct buf b = { 0 };
    char where[100];

    add_response(&b, "http://a/", "", BYTES("text"));
    (void)snprintf(where, sizeof where,
                   "record at byte %zu (http://b/):", b.len);
    add_response(&b, "http://b/", fields, body);
    add_response(&b, "http://c/", "", BYTES("text"));
    check_refused(&free_cut, "inserted/a.warc", &b, where, why);
    buf_fini(&b);
}

static void test_broken_content(void **state)
{
    static const char chunked[] = "Transfer-Encoding: chunked\r\n";
    struct buf b = { 0 };

    (void)state;
    check_broken_content(chunked, BYTES("5\r\nhello\r\n"), "ends early");
    check_broken_content(chunked, BYTES("5\r\nhello"), "ends early");
    check_broken_content(chunked, BYTES("5\r\nhel"), "ends early");
    check_broken_content(chunked, BYTES("5"), "ends early");
    check_broken_content(chunked, BYTES("4\r\nhello\r\n0\r\n\r\n"), "broken");
    check_broken_content(chunked, BYTES("ffffffffffffffffff\r\nx\r\n"),
                         "broken");
    check_broken_content(chunked, BYTES("7fffffffffffffff\r\nx\r\n"),
                         "ends early");
    check_broken_content(chunked, BYTES("1\r\na\r\n0\r\n\r\nmore"),
                         "behind its last chunk");
    for (size_t i = 0; i < sizeof codings / sizeof codings[0]; i++) {
        if (codings[i].pack == NULL) {
            continue;
        }
        buf_reset(&b);
        codings[i].pack(&b, BYTES("hello hello hello world"));
        check_broken_content(codings[i].fields, bytes_of(b.data, b.len - 1),
                             "truncated: ");
        assert_true(buf_append_string(&b, "more"));
        check_broken_content(codings[i].fields, buf_bytes(&b),
                             codings[i].pack == packed_gzip ||
                                     codings[i].pack == packed_zstd
                                 ? "corrupt "
                                 : "other bytes");
    }
    buf_reset(&b);
    packed_gzip(&b, BYTES("hello hello hello world"));
    add_byte(&b, b.len - 6, 1); /* in the check sum */
    check_broken_content("Content-Encoding: gzip\r\n", buf_bytes(&b),
                         "corrupt gzip data");
    buf_fini(&b);
}

/* The place of a record: on disk where it begins a member, else in what was
 * decompressed. */
static void test_places(void **state)
{
    struct buf first = { 0 };
    struct buf broken = { 0 };
    struct buf packed = { 0 };
    char where[100];

    (void)state;
    add_response(&first, "http://a/", "", BYTES("text"));
    add_response(&broken, "http://b/", "Transfer-Encoding: chunked\r\n",
                 BYTES("1\r\naaa"));
    packed_gzip(&packed, buf_bytes(&first));
    packed_gzip(&packed, BYTES(""));
    (void)snprintf(
        where, sizeof where,
        "record in the member at byte %zu (http://b/):", packed.len);
    packed_gzip(&packed, buf_bytes(&broken));
    check_refused(&free_cut, "inserted/a.warc.gz", &packed, where, "broken");

    (void)snprintf(where, sizeof where,
                   "record at byte %zu of the decompressed content "
                   "(http://b/):",
                   first.len);
    assert_true(buf_append(&first, broken.data, broken.len));
    buf_reset(&packed);
    packed_zstd(&packed, buf_bytes(&first));
    check_refused(&free_cut, "inserted/a.warc.zst", &packed, where, "broken");
    buf_fini(&first);
    buf_fini(&broken);
    buf_fini(&packed);
}

/* A member that is corrupt is named by its place. */
static void test_corrupt_member(void **state)
{
    struct buf first = { 0 };
    struct buf packed = { 0 };
    char why[100];

    (void)state;
    add_response(&first, "http://a/", "", BYTES("text"));
    packed_gzip(&packed, buf_bytes(&first));
    (void)snprintf(why, sizeof why, "member 2, which begins at byte %zu",
                   packed.len);
    packed_gzip(&packed, buf_bytes(&first));
    add_byte(&packed, packed.len - 6, 1);
    check_refused(&free_cut, "inserted/a.warc.gz", &packed,
                  "corrupt gzip data", why);
    buf_fini(&first);
    buf_fini(&packed);
}

/* ---- damage ------------------------------------------------------------ */

/* All documents of a good archive, and how far another reading agrees. */
struct agreement {
    struct hash128 documents[DOCUMENTS_MAX];
    size_t count; /* of the good archive */
    size_t seen;
    bool is_wrong;
};

static void take_document(void *ctx, struct bytes uri, struct bytes content)
{
    struct agreement *a = ctx;

    assert_true(a->count < DOCUMENTS_MAX);
    a->documents[a->count++] = hash128(content, hash64(uri));
}

static void see_document(void *ctx, struct bytes uri, struct bytes content)
{
    struct agreement *a = ctx;
    struct hash128 h = hash128(content, hash64(uri));

    a->is_wrong = a->is_wrong || a->seen >= a->count ||
                  !hash128_equal(h, a->documents[a->seen]);
    a->seen++;
}

/* A few documents, each coding once. */
static void add_small_site(struct buf *out)
{
    add_response(out, "http://a/", "", BYTES("text"));
    for (size_t i = 0; i < sizeof codings / sizeof codings[0]; i++) {
        add_coded(out, i, i % 2 == 0 ? 0 : 7, BYTES("hello hello world"));
    }
    add_record(out, "revisit", "http://a/", "", BYTES("HTTP/1.1 200 OK"));
    add_record(out, "resource", "http://a/r", "", BYTES("as it is"));
}

/* Cut anywhere: refused, or cut between two records. What is given before
 * are documents, whole. */
static void check_truncations(struct bytes archive, size_t borders)
{
    struct warc_memory *m = warc_memory_open();
    struct df_error err = { "" };
    struct agreement a = { .count = 0 };
    size_t good = 0;

    check_ok(warc_memory_read(m, archive, SIZE_MAX, take_document, &a, &err),
             &err);
    for (size_t len = 0; len < archive.len; len++) {
        enum df_status status;

        a.seen = 0;
        status = warc_memory_read(m, bytes_of(archive.data, len), SIZE_MAX,
                                  see_document, &a, &err);
        assert_true(status == DF_OK || status == DF_INPUT);
        assert_false(a.is_wrong);
        good += status == DF_OK;
    }
    assert_int_equal(good, borders);
    warc_memory_close(m);
}

static size_t records_of(struct bytes archive)
{
    struct warc_memory *m = warc_memory_open();
    struct df_error err = { "" };
    struct agreement a = { .count = 0 };
    size_t n;

    check_ok(warc_memory_read(m, archive, SIZE_MAX, take_document, &a, &err),
             &err);
    n = (size_t)warc_memory_counts(m).records;
    warc_memory_close(m);
    return n;
}

static void test_truncations(void **state)
{
    struct buf site = { 0 };
    struct buf packed = { 0 };
    size_t records;

    (void)state;
    add_small_site(&site);
    records = records_of(buf_bytes(&site));
    /* One line end behind a block is enough: three of the last four bytes
     * can be missing, and behind the last record its own end. */
    check_truncations(buf_bytes(&site), 3 * records - 1);
    pack_records(&packed, buf_bytes(&site), packed_gzip);
    check_truncations(buf_bytes(&packed), records - 1);
    buf_reset(&packed);
    packed_gzip(&packed, buf_bytes(&site));
    check_truncations(buf_bytes(&packed), 0);
    buf_fini(&site);
    buf_fini(&packed);
}

/* One bit wrong: never a crash. Where a check sum covers it (all of a gzip
 * member but fields of its head) never a wrong document. */
static void check_bit_flips(const struct buf *archive, bool is_checked)
{
    struct warc_memory *m = warc_memory_open();
    struct df_error err = { "" };
    struct agreement a = { .count = 0 };
    size_t refused = 0;

    check_ok(warc_memory_read(m, buf_bytes(archive), SIZE_MAX, take_document,
                              &a, &err),
             &err);
    for (size_t bit = 0; bit < 8 * archive->len; bit++) {
        enum df_status status;

        archive->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        a.seen = 0;
        a.is_wrong = false;
        status = warc_memory_read(m, buf_bytes(archive), SIZE_MAX,
                                  see_document, &a, &err);
        assert_true(status == DF_OK || status == DF_INPUT);
        if (is_checked && status == DF_OK) {
            assert_false(a.is_wrong);
            assert_int_equal(a.seen, a.count);
        }
        refused += status == DF_INPUT;
        archive->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(refused > archive->len);
    warc_memory_close(m);
}

static void test_bit_flips(void **state)
{
    struct buf site = { 0 };
    struct buf packed = { 0 };

    (void)state;
    add_small_site(&site);
    check_bit_flips(&site, false);
    packed_gzip(&packed, buf_bytes(&site));
    check_bit_flips(&packed, true);
    buf_fini(&site);
    buf_fini(&packed);
}

/* The same documents however the bytes come. */
static void test_steps(void **state)
{
    struct warc_memory *m = warc_memory_open();
    struct df_error err = { "" };
    struct agreement a = { .count = 0 };
    struct buf site = { 0 };
    struct buf packed = { 0 };

    (void)state;
    add_site(&site);
    add_small_site(&site);
    pack_records(&packed, buf_bytes(&site), packed_zstd);
    check_ok(warc_memory_read(m, buf_bytes(&site), SIZE_MAX, take_document, &a,
                              &err),
             &err);
    for (size_t step = 1; step < 40; step++) {
        a.seen = 0;
        check_ok(warc_memory_read(m, buf_bytes(&site), step, see_document, &a,
                                  &err),
                 &err);
        assert_int_equal(a.seen, a.count);
        a.seen = 0;
        check_ok(warc_memory_read(m, buf_bytes(&packed), step, see_document,
                                  &a, &err),
                 &err);
        assert_int_equal(a.seen, a.count);
        assert_false(a.is_wrong);
    }
    warc_memory_close(m);
    buf_fini(&site);
    buf_fini(&packed);
}

/* Documents that are left unread are passed over, their codings with them:
 * an archive without its first documents is one of the rest. */
static void test_left_unread(void **state)
{
    struct warc_memory *m = warc_memory_open();
    struct df_error err = { "" };
    struct agreement all = { .count = 0 };
    struct buf site = { 0 };

    (void)state;
    add_small_site(&site);
    check_ok(warc_memory_read(m, buf_bytes(&site), SIZE_MAX, take_document,
                              &all, &err),
             &err);
    for (size_t n = 0; n <= all.count; n++) {
        struct agreement rest = { .count = 0 };

        warc_memory_leave(m, n);
        check_ok(warc_memory_read(m, buf_bytes(&site), SIZE_MAX, take_document,
                                  &rest, &err),
                 &err);
        assert_int_equal(rest.count, all.count - n);
        assert_memory_equal(rest.documents, all.documents + n,
                            rest.count * sizeof rest.documents[0]);
    }
    warc_memory_close(m);
    buf_fini(&site);
}

/* Archives of random documents with random codings. */
static void test_random_archives(void **state)
{
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    print_message("seed %u\n", seed);
    srandom(seed);
    for (int round = 0; round < 30; round++) {
        size_t n = (size_t)random() % 10 + 1;
        struct buf texts[10] = { { 0 } };
        struct buf archive = { 0 };
        struct buf packed = { 0 };
        struct reading r;

        for (size_t i = 0; i < n; i++) {
            add_text(&texts[i], (size_t)random() % 20000);
            add_coded(&archive,
                      (size_t)random() % (sizeof codings / sizeof codings[0]),
                      (size_t)random() % 3 * 1234, buf_bytes(&texts[i]));
        }
        pack_records(&packed, buf_bytes(&archive), packed_gzip);
        read_one(&r, &free_cut,
                 random() % 2 == 0 ? "inserted/a.warc" : "inserted/b.warc.gz",
                 &packed);
        assert_int_equal(r.count, n);
        for (size_t i = 0; i < n; i++) {
            check_document(&r, i, "http://a/", buf_bytes(&texts[i]));
            buf_fini(&texts[i]);
        }
        reading_free(&r);
        buf_fini(&archive);
        buf_fini(&packed);
    }
}

/* ---- the reader around it ---------------------------------------------- */

static enum df_status fail_second(void *ctx, const struct df_piece *piece,
                                  struct df_error *err)
{
    size_t *seen = ctx;

    (void)piece;
    return ++*seen == 2 ? error_set(err, DF_SYSTEM, "full") : DF_OK;
}

/* A failing sink ends the read; the reader goes on with the next file, from
 * its start. Without a sink the file is hashed and no more. */
static void test_failing_sink(void **state)
{
    struct df_error err = { "" };
    struct buf site = { 0 };
    struct reading r = { .count = 0 };
    struct reader *reader;
    size_t seen = 0;

    (void)state;
    add_site(&site);
    put("inserted/a.warc", &site);
    check_ok(batch_scan(&r.batch, root, 2, &err), &err);
    check_ok(reader_plan_units(&r.units, &r.batch, &free_cut, &err), &err);
    check_ok(reader_open(&reader, &free_cut, &err), &err);
    assert_int_equal(
        reader_read(reader, &r.units, 0, fail_second, &seen, &err), DF_SYSTEM);
    assert_string_equal(err.text, "full");
    check_ok(reader_read(reader, &r.units, 0, NULL, NULL, &err), &err);
    assert_true(
        hash128_equal(r.batch.files[0].hash, hash128(buf_bytes(&site), 0)));
    check_ok(reader_read(reader, &r.units, 0, collect, &r, &err), &err);
    assert_int_equal(r.count, 4);
    check_document(&r, 0, "http://a/", BYTES("one two"));
    reader_close(reader);
    reading_free(&r);
    buf_fini(&site);
}

static void test_names(void **state)
{
    (void)state;
    assert_true(warc_is_named(bytes_of_string("inserted/a.warc")));
    assert_true(warc_is_named(bytes_of_string("inserted/a.warc.gz")));
    assert_true(warc_is_named(bytes_of_string("inserted/A.WARC.GZ")));
    assert_true(warc_is_named(bytes_of_string("a.warc.zst")));
    assert_false(warc_is_named(bytes_of_string("a.warc.txt")));
    assert_false(warc_is_named(bytes_of_string("a_warc")));
    assert_false(warc_is_named(bytes_of_string("a.gz")));
    assert_false(warc_is_named(bytes_of_string("a.warc/b")));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names),           TEST(test_records),
        TEST(test_two_files),       TEST(test_content),
        TEST(test_gzip_members),    TEST(test_already_decoded),
        TEST(test_encodings),       TEST(test_whole_max),
        TEST(test_long_archive),    TEST(test_odd_heads),
        TEST(test_long_heads),      TEST(test_not_an_archive),
        TEST(test_broken_records),  TEST(test_broken_content),
        TEST(test_places),          TEST(test_corrupt_member),
        TEST(test_truncations),     TEST(test_bit_flips),
        TEST(test_steps),           TEST(test_left_unread),
        TEST(test_random_archives), TEST(test_failing_sink),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
