#include "record_conformance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RECORDS = 300, ROUNDS = 40 };

/* ---- records ---- */

/* Odd places, and noise behind each field. */
static size_t place(struct buf *bytes, const char *text, size_t len,
                    uint64_t *random)
{
    size_t at;

    assert_true(buf_reserve(bytes, 16 + len + DF_SLACK));
    bytes->len += random_below(random, 16);
    at = bytes->len;
    if (len > 0) {
        memcpy(bytes->data + at, text, len);
    }
    bytes->len += len;
    for (size_t i = 0; i < DF_SLACK; i++) {
        bytes->data[bytes->len++] = (uint8_t)random_next(random);
    }
    return at;
}

void made_records_init(struct made_records *r, const struct made_field *fields,
                       size_t n, size_t columns, uint64_t *random)
{
    size_t *at = calloc(n * columns + 1, sizeof *at);

    *r = (struct made_records){ .n = n, .columns = columns };
    r->records = calloc(n + 1, sizeof *r->records);
    r->fields = calloc(n * columns + 1, sizeof *r->fields);
    assert_true(at != NULL && r->records != NULL && r->fields != NULL);
    for (size_t i = 0; i < n * columns; i++) {
        const char *text = fields[i].text;

        r->fields[i].kind = fields[i].kind;
        r->fields[i].len = text == NULL ? 0 : strlen(text);
        at[i] = place(&r->bytes, text, r->fields[i].len, random);
    }
    for (size_t i = 0; i < n * columns; i++) { /* bytes do not move now */
        r->fields[i].data = r->bytes.data + at[i];
    }
    for (size_t i = 0; i < n; i++) {
        r->records[i].fields = r->fields + i * columns;
    }
    free(at);
}

void made_records_fini(struct made_records *r)
{
    free(r->records);
    free(r->fields);
    buf_fini(&r->bytes);
    *r = (struct made_records){ 0 };
}

/* Numbers, so that most records are taken; now and then what is none. */
static struct made_field random_field(bool is_json, uint64_t *random)
{
    static const char *const texts[] = { "1",  "2",    "2.5",  "-3", "1e2",
                                         "01", "+7.0", "2.50", "0",  "" };
    static const char *const odd[] = { "x", "a,b", "\x01", "1.2.3", "\xff" };
    static const struct made_field json[] = {
        { DF_NUMBER, "1" },     { DF_NUMBER, "1.0" },  { DF_NUMBER, "-2e1" },
        { DF_NULL, "null" },    { DF_ABSENT, NULL },   { DF_TEXT, "1" },
        { DF_NUMBER, "10e-1" }, { DF_NUMBER, "12.5" }, { DF_TEXT, "3" },
    };
    static const struct made_field odd_json[] = { { DF_TRUE, "true" },
                                                  { DF_FALSE, "false" },
                                                  { DF_NESTED, "[1,2]" },
                                                  { DF_TEXT, "" } };

    if (is_json) {
        return random_below(random, 2000) == 0
                   ? odd_json[random_below(random, 4)]
                   : json[random_below(random, 9)];
    }
    return (struct made_field){ DF_TEXT,
                                random_below(random, 2000) == 0
                                    ? odd[random_below(random, 5)]
                                    : texts[random_below(random, 10)] };
}

/* ---- checks ---- */

static void *open_mapper(const struct jobspec *spec)
{
    struct df_error err;
    void *mapper = NULL;

    assert_int_equal(spec->job->mapper_open(spec->config, &mapper, &err),
                     DF_OK);
    return mapper;
}

/* Maps all, in lists of at most `most`, on one of two mappers each. */
static void map_lists(const struct jobspec *spec, const struct made_records *r,
                      size_t most, struct collector *c, uint64_t *random)
{
    void *mappers[2] = { open_mapper(spec), open_mapper(spec) };
    size_t at = 0;

    collector_init_spec(c, spec);
    while (at < r->n && c->emitter.status == DF_OK) {
        size_t n = 1 + random_below(random, most);

        n = n < r->n - at ? n : r->n - at;
        spec->job->map_records(mappers[random_below(random, 2)],
                               r->records + at, n, &c->emitter);
        at += n;
    }
    spec->job->mapper_close(mappers[0]);
    spec->job->mapper_close(mappers[1]);
}

static void shuffle(struct made_records *r, uint64_t *random)
{
    for (size_t i = r->n; i > 1; i--) {
        size_t k = random_below(random, i);
        struct df_record t = r->records[i - 1];

        r->records[i - 1] = r->records[k];
        r->records[k] = t;
    }
}

static void check_counters(const struct collector *c)
{
    size_t n = 0;

    while (c->job->counters[n] != NULL) {
        n++;
    }
    while (n < DF_COUNTERS_MAX) {
        assert_true(c->emitter.counters[n++] == 0);
    }
}

static void check_list(const struct jobspec *spec, struct made_records *r,
                       uint64_t *random)
{
    struct collector c[3];

    map_lists(spec, r, r->n, &c[0], random);
    map_lists(spec, r, 1 + random_below(random, 20), &c[1], random);
    shuffle(r, random);
    map_lists(spec, r, 1 + random_below(random, r->n), &c[2], random);
    for (unsigned i = 1; i < 3; i++) {
        assert_int_equal(c[i].emitter.status, c[0].emitter.status);
    }
    /* In one order it is one record that is refused, in whatever list. */
    assert_string_equal(c[1].refused, c[0].refused);
    assert_int_equal(c[0].emitter.status == DF_INPUT, c[0].refused[0] != '\0');
    check_counters(&c[0]);
    for (unsigned i = 0; i < 3; i++) {
        collector_sum(&c[i]);
    }
    for (unsigned i = 1; c[0].emitter.status == DF_OK && i < 3; i++) {
        assert_true(collector_equal(&c[0], &c[i]));
    }
    for (unsigned i = 0; i < 3; i++) {
        collector_fini(&c[i]);
    }
}

void record_conformance(const struct jobspec *spec, uint64_t seed)
{
    const struct df_columns *columns = spec->job->columns(spec->config);
    size_t n = columns->n + (columns->whole ? 1 : 0);
    bool is_json = spec->form->format == FORM_NDJSON;
    struct made_field *fields = calloc(RECORDS * (n + 1), sizeof *fields);
    uint64_t random = seed;

    assert_non_null(fields);
    assert_true(columns->n <= DF_COLUMNS_MAX);
    assert_true(spec->job->map == NULL && spec->job->pieces == NULL);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct made_records r;

        for (size_t i = 0; i < RECORDS * n; i++) {
            fields[i] = random_field(is_json, &random);
        }
        made_records_init(&r, fields, 1 + random_below(&random, RECORDS), n,
                          &random);
        check_list(spec, &r, &random);
        made_records_fini(&r);
    }
    free(fields);
    spec->job->mapper_close(NULL);
    spec->job->release(NULL);
}
