/* The job `links`: what a page may bring. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "jobs/registry.h"

enum { BASE = 60000, LINKS = 20000, LONG_URLS = 4 };

/* Adds up what is emitted. */
struct sums {
    struct df_emitter emitter; /* first: map is given this */
    size_t pairs;
    size_t bytes;
};

static void add_pair(struct df_emitter *e, const uint8_t *key, size_t key_len,
                     const uint8_t *element, size_t element_len,
                     const int64_t *values)
{
    struct sums *s = (struct sums *)e;

    (void)key;
    (void)element;
    assert_int_equal(values[0], 1);
    s->pairs++;
    s->bytes += key_len + element_len;
}

static struct sums map_page(struct buf *page)
{
    static const char id[] = "site.example/a.html";
    struct sums s = { .emitter = { .pair = add_pair } };
    struct jobspec spec = { 0 };
    struct df_error err;
    size_t len = page->len;
    void *mapper;

    for (unsigned i = 0; i < DF_SLACK; i++) {
        assert_true(buf_append_byte(page, 0));
    }
    assert_int_equal(
        jobspec_open(&spec, registry_find("links"), NULL, 0, &err), DF_OK);
    assert_int_equal(spec.job->mapper_open(spec.config, &mapper, &err), DF_OK);
    spec.job->map(mapper,
                  &(struct df_piece){ .id = (const uint8_t *)id,
                                      .id_len = sizeof id - 1,
                                      .data = page->data,
                                      .len = len,
                                      .first = true,
                                      .last = true },
                  &s.emitter);
    assert_int_equal(s.emitter.status, DF_OK);
    spec.job->mapper_close(mapper);
    jobspec_close(&spec);
    return s;
}

static void add_base(struct buf *page, size_t len)
{
    assert_true(buf_append_string(page, "<!doctype html><base href=\"/"));
    for (size_t i = 0; i < len; i++) {
        assert_true(buf_append_byte(page, 'b'));
    }
    assert_true(buf_append_string(page, "/\">"));
}

static void add_links(struct buf *page, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        assert_true(buf_printf(page, "<a href=%u>x</a>", i));
    }
}

static void test_long_base_is_bounded(void **state)
{
    struct buf page = { 0 };
    struct sums s;

    (void)state;
    add_base(&page, BASE);
    add_links(&page, LINKS);
    s = map_page(&page);
    assert_true(s.pairs > 1000);
    assert_true(s.bytes < (size_t)200 << 20);
    assert_int_equal(s.pairs + s.emitter.counters[LONG_URLS], LINKS);
    buf_fini(&page);
}

static void test_ordinary_links_are_not(void **state)
{
    struct buf page = { 0 };
    struct sums s;

    (void)state;
    add_base(&page, 500);
    add_links(&page, 50 * LINKS);
    s = map_page(&page);
    assert_int_equal(s.pairs, 50 * LINKS);
    assert_int_equal(s.emitter.counters[LONG_URLS], 0);
    buf_fini(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_base_is_bounded),
        cmocka_unit_test(test_ordinary_links_are_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
