#include "history.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

const struct history_style history_small = {
    .documents = 24,
    .first = 10,
    .changes = 8,
    .words = 60,
    .vocabulary = 150,
    .gzip_one_in = 5,
};

const struct history_style history_site = {
    .documents = 20,
    .first = 8,
    .changes = 6,
    .words = 40,
    .vocabulary = 150,
    .is_site = true,
    .gzip_one_in = 5,
};

const struct history_style *history_for(const struct df_job *job)
{
    return job->has_element ? &history_site : &history_small;
}

const struct history_style history_wide = {
    .documents = 5,
    .first = 4,
    .changes = 2,
    .words = 25000,
    .vocabulary = 60000,
    .is_plain = true,
    .gzip_one_in = 5,
};

const struct history_style history_huge = {
    .documents = 2,
    .first = 2,
    .changes = 1,
    .words = 120000,
    .vocabulary = 300,
    .stretch = DF_UNCUT + 70000,
};

enum {
    SHARED_PREFIX = 500,  /* of the long words; beyond ROW_HEAD_EXACT */
    LONG_WORD = 60 << 10, /* just below DF_KEY_MAX */
    RARELY = 40
};

/* ---- text ---- */

static void add(struct buf *out, const void *data, size_t len)
{
    assert_true(buf_append(out, data, len));
}

static void add_text(struct buf *out, const char *text)
{
    add(out, text, strlen(text));
}

static void add_many(struct buf *out, char c, size_t n)
{
    assert_true(buf_reserve(out, n));
    memset(out->data + out->len, c, n);
    out->len += n;
}

/* Small numbers are frequent, as words are. */
static uint64_t skewed(uint64_t *random, uint64_t end)
{
    return random_below(random, 1 + random_below(random, end));
}

static void add_plain_word(struct buf *out, uint64_t number)
{
    assert_true(buf_printf(out, "word%" PRIu64, number));
}

static void add_long_word(struct buf *out, uint64_t *random)
{
    switch (random_below(random, 8)) {
    case 0:
        add_many(out, 'y', 400 + random_below(random, 200));
        break;
    case 1:
        if (random_below(random, 4) == 0) {
            add_many(out, 'z', LONG_WORD);
            break;
        }
        /* fall through */
    default:
        add_many(out, 'x', SHARED_PREFIX);
        add_plain_word(out, random_below(random, 40));
        break;
    }
}

static void add_odd_word(struct buf *out, uint64_t *random)
{
    static const char *const odd[] = {
        "It's",
        "DON\xe2\x80\x99T",
        "caf\xc3\xa9",
        "cafe\xcc\x81",
        "Stra\xc3\x9f"
        "e",
        "\xce\x9f\xce\xa3",
        "\xe4\xbb\x8a",
        "co\xc2\xad"
        "op",
        "1908\xe2\x80\x93"
        "14",
        "bad\xff"
        "end",
        "\xe2\x82",
        "<a href=\"http://h.org/x?y\">",
        "a_b",
        "",
        "k1\tk2",
        "\xf0\x9f\x98\x80",
    };

    add_text(out, odd[random_below(random, sizeof odd / sizeof *odd)]);
}

static void add_word(struct buf *out, const struct history_style *style,
                     uint64_t *random)
{
    uint64_t kind = style->is_plain ? RARELY : random_below(random, RARELY);
    size_t begin = out->len;

    if (kind == 0) {
        add_long_word(out, random);
    } else if (kind < 8) {
        add_odd_word(out, random);
    } else {
        add_plain_word(out, style->is_plain
                                ? random_below(random, style->vocabulary)
                                : skewed(random, style->vocabulary));
    }
    if (kind % 4 == 1 && out->len > begin) {
        out->data[begin] &= (uint8_t)~0x20U;
    }
}

static void add_separator(struct buf *out, uint64_t *random)
{
    static const char *const separators[] = { " ",  " ",  " ",    " ",
                                              "\n", ", ", "\r\n", ".\t" };

    add_text(out, separators[random_below(random, 8)]);
}

/* A link in one of the forms that pages have, to a page named by a word. */
static void add_link(struct buf *out, const struct history_style *style,
                     uint64_t *random)
{
    static const char *const openings[] = {
        "<a href=\"/",
        "<a href=\"",
        "<A HREF='?q=",
        "<a rel=nofollow href=\"../",
        "<area href=\"//d1/",
        "<!-- <a href=\"",
        "<a class=x href=\"#",
        "<script>\"",
        "<a href=\"https://other.example/",
        "<base href=\"/base/",
    };
    uint64_t form = skewed(random, sizeof openings / sizeof *openings);

    add_text(out, openings[form]);
    add_word(out, style, random);
    add_text(out, form == 2   ? "'>"
                  : form == 5 ? "\"> -->"
                  : form == 7 ? "\"</script>"
                              : "\">");
}

/* Words; somewhere among them the stretch, if there is to be one. */
static void make_content(struct buf *out, const struct history_style *style,
                         uint64_t *random)
{
    uint64_t words = random_below(random, style->words);
    uint64_t stretch_at = words / 3;

    if (style->is_plain || style->stretch > 0) {
        words = style->words - words / 8;
    }
    buf_reset(out);
    if (style->is_site) {
        add_text(out, "<!doctype html>");
    }
    for (uint64_t i = 0; i < words; i++) {
        if (i == stretch_at && style->stretch > 0) {
            add_many(out, 'q', style->stretch + random_below(random, 5000));
            add_separator(out, random);
        }
        if (style->is_site && random_below(random, 4) > 0) {
            add_link(out, style, random);
        } else {
            add_word(out, style, random);
        }
        add_separator(out, random);
    }
}

/* ---- files ---- */

static struct buf gzipped(struct bytes in)
{
    struct buf out = { 0 };
    z_stream z = { 0 };

    assert_int_equal(
        deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_true(buf_reserve(&out, deflateBound(&z, in.len)));
    z.next_in = (z_const Bytef *)(uintptr_t)in.data;
    z.avail_in = (uInt)in.len;
    z.next_out = out.data;
    z.avail_out = (uInt)out.capacity;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.len = out.capacity - z.avail_out;
    assert_int_equal(deflateEnd(&z), Z_OK);
    return out;
}

/* A file of the batch, plain or compressed. */
static void write_batch(struct history *h, const char *section, const char *id,
                        const struct buf *content)
{
    char path[2 * HISTORY_NAME];

    (void)snprintf(path, sizeof path, "%s/%s", section, id);
    if (h->style->gzip_one_in > 0 &&
        random_below(&h->random, h->style->gzip_one_in) == 0) {
        struct buf packed = gzipped(buf_bytes(content));

        input_tree_file(h->batch, path, packed.data, packed.len);
        buf_fini(&packed);
    } else {
        input_tree_file(h->batch, path, content->data, content->len);
    }
}

static void insert(struct history *h, struct history_document *d)
{
    write_batch(h, "inserted", d->id, &d->content);
    input_tree_file(h->survivors, d->id, d->content.data, d->content.len);
    d->alive = true;
    d->existed = true;
}

static void delete (struct history *h, struct history_document *d)
{
    write_batch(h, "deleted", d->id, &d->content);
    assert_int_equal(unlink(input_tree_path(h->survivors, d->id)), 0);
    d->alive = false;
}

/* ---- what a batch does ---- */

const char *history_batch_name(unsigned number)
{
    static char name[HISTORY_NAME];

    (void)snprintf(name, sizeof name, "batch_%u", number);
    return name;
}

static void begin_batch(struct history *h)
{
    const char *name = history_batch_name(++h->batches);

    (void)snprintf(h->batch, sizeof h->batch, "%s",
                   input_tree_path(h->deltas, name));
    input_tree_directory(h->batch, "inserted");
    for (unsigned i = 0; i < h->style->documents; i++) {
        h->documents[i].touched = false;
    }
}

/* A document that this batch has not touched, in the state asked for; NULL
 * where chance finds none. */
static struct history_document *pick(struct history *h, bool alive)
{
    for (unsigned tries = 0; tries < 20; tries++) {
        struct history_document *d =
            &h->documents[random_below(&h->random, h->style->documents)];

        if (!d->touched && d->alive == alive) {
            d->touched = true;
            return d;
        }
    }
    return NULL;
}

static void make_new(struct history *h, struct history_document *d)
{
    bool may_be_empty = h->style->stretch == 0 && !h->style->is_plain;

    make_content(&d->content, h->style, &h->random);
    if (may_be_empty && random_below(&h->random, 12) == 0) {
        buf_reset(&d->content);
    }
}

static void do_insert(struct history *h)
{
    struct history_document *d = pick(h, false);

    if (d == NULL) {
        return;
    }
    if (!d->existed || random_below(&h->random, 2) == 0) {
        make_new(h, d);
    }
    insert(h, d);
}

static void do_delete(struct history *h)
{
    struct history_document *d = pick(h, true);

    if (d != NULL) {
        delete (h, d);
    }
}

/* Half of the changes touch a part of the document. */
static void do_change(struct history *h)
{
    struct history_document *d = pick(h, true);

    if (d == NULL) {
        return;
    }
    delete (h, d);
    if (random_below(&h->random, 2) == 0) {
        make_new(h, d);
    } else {
        d->content.len = d->content.len / 2;
        add_text(&d->content, " changed word1 word2");
    }
    insert(h, d);
}

/* Two documents exchange their contents: all pairs cancel. */
static void do_exchange(struct history *h)
{
    struct history_document *a = pick(h, true);
    struct history_document *b = pick(h, true);
    struct buf content;

    if (a == NULL || b == NULL) {
        return;
    }
    delete (h, a);
    delete (h, b);
    content = a->content;
    a->content = b->content;
    b->content = content;
    insert(h, a);
    insert(h, b);
}

/* A document that lives within this batch alone. */
static void do_pass_by(struct history *h)
{
    struct history_document *d = pick(h, false);

    if (d != NULL) {
        make_new(h, d);
        insert(h, d);
        delete (h, d);
    }
}

static void do_something(struct history *h)
{
    uint64_t kind = random_below(&h->random, 10);

    if (kind < 4) {
        do_insert(h);
    } else if (kind < 6) {
        do_delete(h);
    } else {
        do_change(h);
    }
}

static void do_first(struct history *h)
{
    for (unsigned i = 0; i < h->style->first; i++) {
        do_insert(h);
    }
}

void history_step(struct history *h)
{
    uint64_t kind = random_below(&h->random, 12);
    uint64_t changes = 1 + random_below(&h->random, h->style->changes);

    begin_batch(h);
    if (h->batches == 1) {
        do_first(h);
    } else if (kind == 0) {
        return;
    } else if (kind == 1) {
        do_exchange(h);
        do_pass_by(h);
    } else {
        for (uint64_t i = 0; i < changes; i++) {
            do_something(h);
        }
    }
}

void history_steps(struct history *h, unsigned n)
{
    while (n-- > 0) {
        history_step(h);
    }
}

void history_erase(struct history *h)
{
    begin_batch(h);
    for (unsigned i = 0; i < h->style->documents; i++) {
        if (h->documents[i].alive) {
            delete (h, &h->documents[i]);
        }
    }
}

void history_fill(struct history *h)
{
    begin_batch(h);
    for (unsigned i = 0; i < h->style->documents; i++) {
        if (!h->documents[i].alive) {
            make_new(h, &h->documents[i]);
            insert(h, &h->documents[i]);
        }
    }
}

const char *history_haunt(struct history *h)
{
    static char word[HISTORY_NAME];
    char id[HISTORY_NAME];
    struct buf content = { 0 };

    make_content(&content, h->style, &h->random);
    (void)snprintf(word, sizeof word, "ghost%u", h->ghosts);
    (void)snprintf(id, sizeof id, "ghosts/%u.txt", h->ghosts);
    h->ghosts++;
    add_text(&content, " ");
    add_text(&content, word);
    write_batch(h, "deleted", id, &content);
    buf_fini(&content);
    return word;
}

/* ---- life cycle ---- */

void history_open(struct history *h, const char *root,
                  const struct history_style *style, uint64_t seed)
{
    *h = (struct history){ .style = style, .random = seed };
    h->documents = calloc(style->documents, sizeof *h->documents);
    assert_non_null(h->documents);
    for (unsigned i = 0; i < style->documents; i++) {
        (void)snprintf(h->documents[i].id, HISTORY_NAME, "d%u/doc-%u.txt",
                       i % 3, i);
    }
    (void)snprintf(h->deltas, sizeof h->deltas, "%s",
                   input_tree_path(root, "deltas"));
    (void)snprintf(h->survivors, sizeof h->survivors, "%s",
                   input_tree_path(root, "survivors"));
    input_tree_directory(root, "deltas");
    input_tree_directory(root, "survivors");
}

void history_close(struct history *h)
{
    for (unsigned i = 0; i < h->style->documents; i++) {
        buf_fini(&h->documents[i].content);
    }
    free(h->documents);
}

void history_write_survivors(const struct history *h, const char *directory)
{
    input_tree_directory(directory, "d0");
    for (unsigned i = 0; i < h->style->documents; i++) {
        const struct history_document *d = &h->documents[i];

        if (d->alive) {
            input_tree_file(directory, d->id, d->content.data, d->content.len);
        }
    }
}

uint64_t history_seed(void)
{
    const char *given = getenv("DELTAFOLD_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10)
                                  : (uint64_t)time(NULL) % 1000000007;

    print_message("DELTAFOLD_SEED=%" PRIu64 "\n", seed);
    return seed;
}

unsigned history_times(unsigned n)
{
    const char *given = getenv("DELTAFOLD_HISTORIES");
    unsigned long times = given != NULL ? strtoul(given, NULL, 10) : 1;

    return n * (unsigned)(times == 0 ? 1 : times);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif
#else
enum { IS_SANITIZED = 0 };
#endif

bool history_is_sanitized(void)
{
    return IS_SANITIZED;
}

unsigned history_tenth(unsigned n)
{
    return IS_SANITIZED ? (n + 9) / 10 : n;
}
