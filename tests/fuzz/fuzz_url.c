/*
 * Any bytes as a base and a reference: no crash, and what is resolved is in
 * normal form. The first byte says how many of the others are the base; where
 * they are none, the base is a plain one.
 */
#include <stdlib.h>

#include "jobs/links/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void expect_settled(const struct url_base *base, struct bytes url)
{
    struct buf again = { 0 };
    struct url_base other = { 0 };

    for (size_t i = 0; i < url.len; i++) {
        expect(url.data[i] > ' ' && url.data[i] < 0x7f && url.data[i] != '#');
    }
    expect(url_resolve(base, url, &again) == URL_OK);
    expect(bytes_equal(buf_bytes(&again), url));
    expect(url_base_set(&other, url) == URL_OK);
    expect(bytes_equal(buf_bytes(&other.text), url));
    expect(other.host_end < other.dir_end && other.dir_end <= other.path_end &&
           other.path_end <= url.len);
    url_base_fini(&other);
    buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct url_base base = { 0 };
    struct buf out = { 0 };
    size_t cut = size > 0 && data[0] < size ? data[0] : 0;

    if (size == 0) {
        return 0;
    }
    if (url_base_set(&base, bytes_of(data + 1, cut)) == URL_OK) {
        expect_settled(&base, buf_bytes(&base.text));
    } else {
        expect(base.text.len == 0);
        expect(url_base_set(&base, bytes_of_string("https://h/a/b?c")) ==
               URL_OK);
    }
    if (url_resolve(&base, bytes_of(data + 1 + cut, size - 1 - cut), &out) ==
        URL_OK) {
        expect_settled(&base, buf_bytes(&out));
    } else {
        expect(out.len == 0);
    }
    buf_fini(&out);
    url_base_fini(&base);
    return 0;
}
