/*
 * bounds.c: a code is the length of a record, or FAR and then gap and length
 * in full. Records of 3, 3 and 300 bytes, two bytes (CRLF) between them, the
 * first at 8 behind a header:
 *
 *     FAR 8 3   FAR 2 3   FAR 2 300   and on with one byte each
 */
#include "input/bounds.h"

enum { FAR = 255, FAR_SIZE = 1 + 8 + 8 };

void bounds_fini(struct bounds *b)
{
    buf_fini(&b->codes);
    *b = (struct bounds){ 0 };
}

static void add(struct bounds *b, uint64_t at, size_t len)
{
    uint8_t *to = b->codes.data + b->codes.len;
    uint64_t gap = at - b->end;

    if (gap == b->gap && len < FAR) {
        *to = (uint8_t)len;
        b->codes.len++;
    } else {
        *to = FAR;
        store_be64(to + 1, gap);
        store_be64(to + 9, len);
        b->codes.len += FAR_SIZE;
    }
    b->gap = gap;
    b->end = at + len;
}

bool bounds_add(struct bounds *b, uint64_t at, const struct df_record *records,
                size_t n)
{
    if (!buf_reserve(&b->codes, n * FAR_SIZE)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        add(b, at + (uint64_t)(records[i].data - records[0].data),
            records[i].len);
    }
    return true;
}

struct bounds_walk bounds_walk(const struct bounds *b)
{
    return (struct bounds_walk){ .codes = buf_bytes(&b->codes) };
}

bool bounds_next(struct bounds_walk *w, uint64_t *at, size_t *len)
{
    const uint8_t *code = w->codes.data;
    size_t size = 1;

    if (w->codes.len == 0) {
        return false;
    }
    *len = code[0];
    if (code[0] == FAR) {
        size = FAR_SIZE;
        w->gap = load_be64(code + 1);
        *len = (size_t)load_be64(code + 9);
    }
    *at = w->end + w->gap;
    w->end = *at + *len;
    w->codes = bytes_of(code + size, w->codes.len - size);
    return true;
}
