/*
 * packed.h: compressed bytes for tests. Every function appends to out what
 * b is in that form, and aborts the test when it cannot.
 */
#ifndef TESTS_PACKED_H
#define TESTS_PACKED_H

#include "base/buf.h"

void packed_gzip(struct buf *out, struct bytes b);
void packed_zlib(struct buf *out, struct bytes b);    /* RFC 1950 */
void packed_deflate(struct buf *out, struct bytes b); /* RFC 1951 */
void packed_zstd(struct buf *out, struct bytes b);

/* The chunked transfer coding: chunks of `size` bytes, sizes in lower or
 * upper case. */
void packed_chunks(struct buf *out, struct bytes b, size_t size, bool upper);

#endif
