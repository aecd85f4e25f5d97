#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void buf_fini(struct buf *b)
{
    free(b->data);
    *b = (struct buf){ 0 };
}

bool buf_grow(struct buf *b, size_t more)
{
    size_t capacity = b->capacity < 64 ? 64 : b->capacity;
    uint8_t *data;

    if (more > SIZE_MAX / 4 || b->len > SIZE_MAX / 4) {
        return false;
    }
    while (capacity < b->len + more) {
        capacity *= 2;
    }
    data = realloc(b->data, capacity);
    if (data == NULL) {
        return false;
    }
    b->data = data;
    b->capacity = capacity;
    return true;
}

bool buf_append_string(struct buf *b, const char *s)
{
    return buf_append(b, s, strlen(s));
}

bool buf_printf(struct buf *b, const char *format, ...)
{
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0 || !buf_reserve(b, (size_t)len + 1)) {
        return false;
    }
    va_start(args, format);
    (void)vsnprintf((char *)b->data + b->len, (size_t)len + 1, format, args);
    va_end(args);
    b->len += (size_t)len;
    return true;
}
