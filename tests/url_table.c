#include "url_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *text_of(enum url_result result, struct buf *out)
{
    switch (result) {
    case URL_INVALID:
        return URL_TABLE_INVALID;
    case URL_OTHER:
        return URL_TABLE_OTHER;
    case URL_OK:
        assert_true(buf_append_byte(out, 0));
        return (const char *)out->data;
    case URL_NO_MEMORY:
        break;
    }
    fail_msg("out of memory");
    return NULL;
}

static void set_base(struct url_base *base, const char *url)
{
    if (url != NULL) {
        assert_int_equal(url_base_set(base, bytes_of_string(url)), URL_OK);
    }
}

/* A copy that a sanitizer guards to the byte. */
static struct bytes guarded(struct bytes text, void **copy)
{
    *copy = malloc(text.len + (text.len == 0));
    assert_non_null(*copy);
    if (text.len > 0) {
        memcpy(*copy, text.data, text.len);
    }
    return bytes_of(*copy, text.len);
}

void url_table_check_bytes(const struct url_base *base, struct bytes href,
                           const char *expected)
{
    struct buf out = { 0 };
    void *copy;
    const char *got;

    got = text_of(url_resolve(base, guarded(href, &copy), &out), &out);
    if (strcmp(got, expected) != 0) {
        fail_msg("<%.*s>: %s, not %s", (int)href.len, (const char *)copy, got,
                 expected);
    }
    free(copy);
    buf_fini(&out);
}

void url_table_check(const char *against, const struct url_row *rows, size_t n)
{
    struct url_base base = { 0 };

    set_base(&base, against);
    for (size_t i = 0; i < n; i++) {
        url_table_check_bytes(&base, bytes_of_string(rows[i].href),
                              rows[i].expected);
    }
    url_base_fini(&base);
}
