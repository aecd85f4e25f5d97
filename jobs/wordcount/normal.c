#include "jobs/wordcount/normal.h"

#include <assert.h>
#include <stdlib.h>
#include <utf8proc.h>

void normal_fini(struct normal *n)
{
    buf_fini(&n->text);
    buf_fini(&n->points);
}

static utf8proc_int32_t *points_of(struct normal *n)
{
    return (utf8proc_int32_t *)(void *)n->points.data;
}

/* Decomposes text into points. */
static bool decompose(struct normal *n, int options, size_t *count)
{
    utf8proc_ssize_t need = 0;
    size_t room = 0;

    do {
        if (!buf_reserve(&n->points,
                         ((size_t)need + 16) * sizeof(utf8proc_int32_t))) {
            return false;
        }
        room = n->points.capacity / sizeof(utf8proc_int32_t);
        need = utf8proc_decompose(n->text.data, (utf8proc_ssize_t)n->text.len,
                                  points_of(n), (utf8proc_ssize_t)room,
                                  (utf8proc_option_t)options);
        assert(need >= 0);
    } while ((size_t)need > room);
    *count = (size_t)need;
    return true;
}

/* Text from points. */
static bool encode(struct normal *n, size_t count)
{
    buf_reset(&n->text);
    if (!buf_reserve(&n->text, 4 * count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        n->text.len += (size_t)utf8proc_encode_char(
            points_of(n)[i], n->text.data + n->text.len);
    }
    return true;
}

/* One pass over the word: decompose, compose where options say so, lower. */
static bool pass(struct normal *n, int options, bool lower)
{
    size_t count;

    if (!decompose(n, options | UTF8PROC_STABLE, &count)) {
        return false;
    }
    if ((options & UTF8PROC_COMPOSE) != 0) {
        utf8proc_ssize_t composed = utf8proc_normalize_utf32(
            points_of(n), (utf8proc_ssize_t)count,
            (utf8proc_option_t)(options | UTF8PROC_STABLE));

        assert(composed >= 0);
        count = (size_t)composed;
    }
    for (size_t i = 0; lower && i < count; i++) {
        points_of(n)[i] = utf8proc_tolower(points_of(n)[i]);
    }
    return encode(n, count);
}

bool normal_apply(struct normal *n, enum letter_case letter_case)
{
    switch (letter_case) {
    case CASE_LOWER:
        return pass(n, UTF8PROC_COMPOSE, true) &&
               pass(n, UTF8PROC_COMPOSE, false);
    case CASE_FOLD:
        return pass(n, UTF8PROC_DECOMPOSE, false) &&
               pass(n, UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD, false);
    case CASE_KEEP:
        return pass(n, UTF8PROC_COMPOSE, false);
    }
    abort(); /* not a letter case */
}
