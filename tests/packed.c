#include "tests/packed.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

static void check(bool ok)
{
    if (!ok) {
        (void)fputs("cannot compress for a test\n", stderr);
        abort();
    }
}

static void add_zlib(struct buf *out, struct bytes b, int window_bits)
{
    z_stream z = { 0 };
    uLong bound;

    check(deflateInit2(&z, 6, Z_DEFLATED, window_bits, 8,
                       Z_DEFAULT_STRATEGY) == Z_OK);
    bound = deflateBound(&z, (uLong)b.len) + 64;
    check(buf_reserve(out, bound));
    z.next_in = (Bytef *)(uintptr_t)b.data;
    z.avail_in = (uInt)b.len;
    z.next_out = out->data + out->len;
    z.avail_out = (uInt)bound;
    check(deflate(&z, Z_FINISH) == Z_STREAM_END);
    out->len += z.total_out;
    (void)deflateEnd(&z);
}

void packed_gzip(struct buf *out, struct bytes b)
{
    add_zlib(out, b, 16 + MAX_WBITS);
}

void packed_zlib(struct buf *out, struct bytes b)
{
    add_zlib(out, b, MAX_WBITS);
}

void packed_deflate(struct buf *out, struct bytes b)
{
    add_zlib(out, b, -MAX_WBITS);
}

void packed_zstd(struct buf *out, struct bytes b)
{
    size_t bound = ZSTD_compressBound(b.len);
    size_t len;

    check(buf_reserve(out, bound));
    len = ZSTD_compress(out->data + out->len, bound, b.data, b.len, 3);
    check(!ZSTD_isError(len));
    out->len += len;
}

void packed_chunks(struct buf *out, struct bytes b, size_t size, bool upper)
{
    while (b.len > 0) {
        size_t n = b.len < size ? b.len : size;

        check(buf_printf(out, upper ? "%zX\r\n" : "%zx\r\n", n) &&
              buf_append(out, b.data, n) && buf_append_string(out, "\r\n"));
        b = bytes_of(b.data + n, b.len - n);
    }
    check(buf_append_string(out, "0\r\n\r\n"));
}
