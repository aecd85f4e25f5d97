#include "job_conformance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "record_conformance.h"

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t random_below(uint64_t *state, uint64_t end)
{
    return random_next(state) % end;
}

/* ---- collector ---- */

static unsigned component_count(const struct df_job *job)
{
    unsigned n = 0;

    while (job->components[n] != NULL) {
        n++;
    }
    return n;
}

static void keep_pair(struct collector *c, struct bytes key,
                      struct bytes element, const int64_t *values)
{
    struct collected *pair;

    if (c->count == c->capacity) {
        c->capacity = c->capacity == 0 ? 64 : 2 * c->capacity;
        c->pairs = realloc(c->pairs, c->capacity * sizeof *c->pairs);
        assert_non_null(c->pairs);
    }
    pair = &c->pairs[c->count++];
    *pair = (struct collected){ .key = c->bytes.len,
                                .key_len = key.len,
                                .element_len = element.len };
    memcpy(pair->values, values, c->shape.components * sizeof *pair->values);
    assert_true(buf_append(&c->bytes, key.data, key.len));
    assert_true(buf_append(&c->bytes, element.data, element.len));
}

/* Reads the slack, so that a sanitizer may object. */
static void check_bytes(const uint8_t *data, size_t len, bool slack)
{
    volatile uint8_t last;

    assert_true(len <= DF_KEY_MAX);
    if (slack) {
        assert_true(len > 0);
        last = data[len + DF_SLACK - 1];
        (void)last;
    }
}

static void collect_pair(struct df_emitter *e, const uint8_t *key,
                         size_t key_len, const uint8_t *element,
                         size_t element_len, const int64_t *values)
{
    struct collector *c = (struct collector *)(void *)e;

    check_bytes(key, key_len, false);
    if (!c->shape.has_element) {
        element_len = 0;
    }
    check_bytes(element, element_len, false);
    keep_pair(c, bytes_of(key, key_len), bytes_of(element, element_len),
              values);
}

static void collect_keys(struct df_emitter *e, const struct df_key *keys,
                         size_t n)
{
    struct collector *c = (struct collector *)(void *)e;
    const int64_t one = 1;

    assert_false(c->shape.has_element);
    assert_int_equal(c->shape.components, 1);
    c->lists++;
    for (size_t i = 0; i < n; i++) {
        check_bytes(keys[i].data, keys[i].len, true);
        keep_pair(c, bytes_of(keys[i].data, keys[i].len), bytes_of(NULL, 0),
                  &one);
    }
}

static void collect_pairs(struct df_emitter *e, const struct df_pair *pairs,
                          size_t n)
{
    struct collector *c = (struct collector *)(void *)e;

    c->lists++;
    for (size_t i = 0; i < n; i++) {
        volatile uint8_t last = pairs[i].key[pairs[i].key_len + DF_SLACK - 1];

        (void)last;
        collect_pair(e, pairs[i].key, pairs[i].key_len, pairs[i].element,
                     pairs[i].element_len, pairs[i].values);
    }
}

static void collect_refusal(struct df_emitter *e,
                            const struct df_record *record, const char *why)
{
    struct collector *c = (struct collector *)(void *)e;

    assert_non_null(record);
    assert_true(strlen(why) > 0 && strlen(why) < sizeof c->refused);
    assert_null(strchr(why, '\n'));
    strcpy(c->refused, why);
    e->status = DF_INPUT;
}

void collector_init(struct collector *c, const struct df_job *job)
{
    *c = (struct collector){
        .emitter = { .pair = collect_pair,
                     .keys = collect_keys,
                     .pairs = collect_pairs,
                     .refuse = collect_refusal },
        .job = job,
        .shape = { .has_element = job->has_element,
                   .components = component_count(job) },
    };
}

void collector_init_spec(struct collector *c, const struct jobspec *spec)
{
    collector_init(c, spec->job);
    c->shape = (struct row_shape){ .has_element = spec->shape.has_element,
                                   .components = spec->components,
                                   .wide = spec->shape.wide };
}

void collector_fini(struct collector *c)
{
    buf_fini(&c->bytes);
    free(c->pairs);
    *c = (struct collector){ 0 };
}

void collector_reset(struct collector *c)
{
    buf_reset(&c->bytes);
    c->count = 0;
    c->lists = 0;
    c->refused[0] = '\0';
    memset(c->emitter.counters, 0, sizeof c->emitter.counters);
    c->emitter.status = DF_OK;
}

struct bytes collector_key(const struct collector *c, size_t i)
{
    return bytes_of(c->bytes.data + c->pairs[i].key, c->pairs[i].key_len);
}

static struct bytes element_of(const struct collected *p)
{
    return bytes_of(p->owner->bytes.data + p->key + p->key_len,
                    p->element_len);
}

static int compare_heads(const void *left, const void *right)
{
    const struct collected *a = left;
    const struct collected *b = right;
    int order =
        bytes_compare(bytes_of(a->owner->bytes.data + a->key, a->key_len),
                      bytes_of(b->owner->bytes.data + b->key, b->key_len));

    return order != 0 ? order : bytes_compare(element_of(a), element_of(b));
}

static bool is_zero(const struct collected *p)
{
    static const int64_t zeros[DF_COMPONENTS_MAX];

    return memcmp(p->values, zeros, sizeof zeros) == 0;
}

void collector_sum(struct collector *c)
{
    size_t out = 0;

    for (size_t i = 0; i < c->count; i++) {
        c->pairs[i].owner = c;
    }
    if (c->count > 0) {
        qsort(c->pairs, c->count, sizeof *c->pairs, compare_heads);
    }
    for (size_t i = 0; i < c->count;) {
        struct collected sum = c->pairs[i++];

        while (i < c->count && compare_heads(&sum, &c->pairs[i]) == 0) {
            assert_true(
                row_values_add(c->shape, sum.values, c->pairs[i++].values));
        }
        if (!is_zero(&sum)) {
            c->pairs[out++] = sum;
        }
    }
    c->count = out;
}

static bool pair_equal(const struct collector *a, const struct collector *b,
                       size_t i)
{
    const struct collected *p = &a->pairs[i];
    const struct collected *q = &b->pairs[i];

    return p->key_len == q->key_len && p->element_len == q->element_len &&
           bytes_equal(
               bytes_of(a->bytes.data + p->key, p->key_len + p->element_len),
               bytes_of(b->bytes.data + q->key,
                        q->key_len + q->element_len)) &&
           memcmp(p->values, q->values, sizeof p->values) == 0;
}

bool collector_equal(const struct collector *a, const struct collector *b)
{
    if (a->count != b->count ||
        memcmp(a->emitter.counters, b->emitter.counters,
               sizeof a->emitter.counters) != 0) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (!pair_equal(a, b, i)) {
            return false;
        }
    }
    return true;
}

/* ---- mapping ---- */

void map_copy(const struct df_job *job, void *mapper, struct df_piece piece,
              struct df_emitter *emitter, uint64_t *random)
{
    size_t odd = random_below(random, 64);
    uint8_t *memory = malloc(odd + piece.len + DF_SLACK);

    assert_non_null(memory);
    if (piece.len > 0) {
        memcpy(memory + odd, piece.data, piece.len);
    }
    for (size_t i = 0; i < DF_SLACK; i++) {
        memory[odd + piece.len + i] = (uint8_t)random_next(random);
    }
    piece.data = memory + odd;
    job->map(mapper, &piece, emitter);
    free(memory);
}

static struct df_piece whole(struct bytes document)
{
    return (struct df_piece){ .id = (const uint8_t *)"id",
                              .id_len = 2,
                              .data = document.data,
                              .len = document.len,
                              .first = true,
                              .last = true };
}

static void *open_mapper(const struct df_job *job, const void *config)
{
    struct df_error err;
    void *mapper = NULL;

    assert_int_equal(job->mapper_open(config, &mapper, &err), DF_OK);
    return mapper;
}

/* The next place to cut behind `at`, the end of the document where there is
 * none. */
static size_t next_border(const struct df_job *job, const void *config,
                          struct bytes document, size_t at, uint64_t *random)
{
    size_t left = document.len - at;
    uint64_t reach = UINT64_C(1) << random_below(random, 14);
    size_t from = at + random_below(random, left < reach ? left + 1 : reach);
    size_t c =
        job->pieces(config) == DF_PIECES_WHOLE
            ? 0
            : job->cut(config, document.data + from, document.len - from);

    return c == 0 ? document.len : from + c;
}

void map_in_pieces(const struct df_job *job, const void *config,
                   struct bytes document, struct df_emitter *emitter,
                   uint64_t *random)
{
    bool ordered = job->pieces(config) != DF_PIECES_FREE;
    void *mappers[2] = { open_mapper(job, config), open_mapper(job, config) };
    size_t at = 0;

    do {
        size_t end = next_border(job, config, document, at, random);
        struct df_piece piece = whole(document);

        if (document.len > 0) {
            piece.data = document.data + at;
        }
        piece.len = end - at;
        piece.first = at == 0;
        piece.last = end == document.len;
        map_copy(job, mappers[ordered ? 0 : random_below(random, 2)], piece,
                 emitter, random);
        at = end;
    } while (at < document.len);
    job->mapper_close(mappers[0]);
    job->mapper_close(mappers[1]);
}

/* ---- documents ---- */

static void append_point(struct buf *out, uint32_t c)
{
    uint8_t utf8[4] = { (uint8_t)(0xf0 | c >> 18),
                        (uint8_t)(0x80 | (c >> 12 & 0x3f)),
                        (uint8_t)(0x80 | (c >> 6 & 0x3f)),
                        (uint8_t)(0x80 | (c & 0x3f)) };

    if (c < 0x80) {
        assert_true(buf_append_byte(out, (uint8_t)c));
    } else if (c < 0x800) {
        utf8[2] = (uint8_t)(0xc0 | c >> 6);
        assert_true(buf_append(out, utf8 + 2, 2));
    } else if (c < 0x10000) {
        utf8[1] = (uint8_t)(0xe0 | c >> 12);
        assert_true(buf_append(out, utf8 + 1, 3));
    } else {
        assert_true(buf_append(out, utf8, 4));
    }
}

static void append_noise(struct buf *out, uint64_t kind, uint64_t *random)
{
    static const char text[] = "abcde XYZ 019 '\t\n\r,.;\"<>/=&{}[]-_";

    switch (kind) {
    case 0:
        assert_true(buf_append_byte(out, (uint8_t)random_next(random)));
        break;
    case 1:
        append_point(out, (uint32_t)random_below(random, 0x3100));
        break;
    case 2:
        append_point(out, (uint32_t)random_below(random, 0x110000));
        break;
    default:
        assert_true(buf_append_byte(
            out, (uint8_t)text[random_below(random, sizeof text - 1)]));
        break;
    }
}

static void make_document(struct buf *out, uint64_t *random)
{
    uint64_t len =
        random_below(random, UINT64_C(1) << random_below(random, 16));
    uint64_t kind = random_below(random, 6);

    buf_reset(out);
    assert_true(buf_reserve(out, 1)); /* even an empty one is somewhere */
    while (out->len < len) {
        append_noise(out, kind < 4 ? kind : random_below(random, 6), random);
    }
}

/* ---- checks ---- */

static void check_cut(const struct df_job *job, const void *config,
                      struct bytes document, uint64_t *random)
{
    size_t from;
    struct bytes rest;
    size_t c;

    if (document.len == 0 || job->pieces(config) == DF_PIECES_WHOLE) {
        return;
    }
    from = random_below(random, document.len);
    rest = bytes_of(document.data + from, document.len - from);
    c = job->cut(config, rest.data, rest.len);
    assert_true(c <= rest.len);
    if (c == 0) {
        assert_int_equal(
            job->cut(config, rest.data, random_below(random, rest.len)), 0);
        return;
    }
    /* The smallest, and whatever stands behind it. */
    assert_int_equal(job->cut(config, rest.data, c - 1), 0);
    assert_int_equal(job->cut(config, rest.data, c), c);
}

static void check_counters(const struct df_job *job, const struct collector *c)
{
    size_t n = 0;

    while (job->counters[n] != NULL) {
        n++;
    }
    assert_true(n <= DF_COUNTERS_MAX);
    while (n < DF_COUNTERS_MAX) {
        assert_true(c->emitter.counters[n++] == 0);
    }
}

static void check_document(const struct df_job *job, const void *config,
                           void *mapper, struct bytes document,
                           uint64_t *random)
{
    struct collector first;
    struct collector again;
    struct collector pieces;

    collector_init(&first, job);
    collector_init(&again, job);
    collector_init(&pieces, job);
    map_copy(job, mapper, whole(document), &first.emitter, random);
    map_copy(job, mapper, whole(document), &again.emitter, random);
    map_in_pieces(job, config, document, &pieces.emitter, random);
    assert_int_equal(first.emitter.status, DF_OK);
    assert_true(document.len > 0 || first.count == 0);
    collector_sum(&first);
    collector_sum(&again);
    collector_sum(&pieces);
    assert_true(collector_equal(&first, &again));
    assert_true(collector_equal(&first, &pieces));
    check_counters(job, &first);
    check_cut(job, config, document, random);
    collector_fini(&first);
    collector_fini(&again);
    collector_fini(&pieces);
}

void job_conformance(const struct df_job *job, const char *const *given,
                     size_t n, uint64_t seed)
{
    struct jobspec spec;
    struct df_error err;
    struct buf document = { 0 };
    uint64_t random = seed;
    void *mapper;

    print_message("%s: seed %llu\n", job->name, (unsigned long long)seed);
    assert_true(job->version > 0);
    assert_int_equal(jobspec_open(&spec, job, given, n, &err), DF_OK);
    assert_true(spec.components >= 1 && spec.components <= DF_COMPONENTS_MAX);
    assert_true(row_shape_is_sound((struct row_shape){
        spec.shape.has_element, spec.components, spec.shape.wide }));
    if (job->fold != NULL) {
        jobspec_close(&spec); /* its laws are others: test_dedup.c */
        return;
    }
    if (job->columns != NULL) {
        record_conformance(&spec, seed);
        jobspec_close(&spec);
        return;
    }
    mapper = open_mapper(job, spec.config);
    check_document(job, spec.config, mapper, bytes_of("", 0), &random);
    for (unsigned i = 0; i < 60; i++) {
        make_document(&document, &random);
        check_document(job, spec.config, mapper, buf_bytes(&document),
                       &random);
    }
    job->mapper_close(mapper);
    job->mapper_close(NULL);
    job->release(NULL);
    jobspec_close(&spec);
    buf_fini(&document);
}
