#include "base/spelling.h"

#include <string.h>

enum { WORD_MAX = 40 }; /* longer words resemble nothing */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* One row of the table of edit distances, from the two before it. */
static void distance_row(const char *a, size_t i, const char *b,
                         const size_t *two, const size_t *one, size_t *row)
{
    row[0] = i;
    for (size_t j = 1; b[j - 1] != '\0'; j++) {
        size_t d = one[j - 1] + (a[i - 1] != b[j - 1]);

        d = least(d, least(one[j] + 1, row[j - 1] + 1));
        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
            d = least(d, two[j - 2] + 1);
        }
        row[j] = d;
    }
}

size_t spelling_distance(const char *a, const char *b)
{
    size_t rows[3][WORD_MAX + 1] = { { 0 } };
    size_t a_len = strlen(a);
    size_t b_len = strlen(b);

    if (a_len > WORD_MAX || b_len > WORD_MAX) {
        return WORD_MAX;
    }
    for (size_t j = 0; j <= b_len; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a_len; i++) {
        distance_row(a, i, b, rows[(i + 1) % 3], rows[(i + 2) % 3],
                     rows[i % 3]);
    }
    return rows[a_len % 3][b_len];
}

void spelling_look(struct spelling *near, const char *given, const char *name)
{
    size_t distance = spelling_distance(given, name);
    size_t tolerated = strlen(name) < 5 ? 1 : 2;

    if (distance <= tolerated &&
        (near->name == NULL || distance < near->distance)) {
        *near = (struct spelling){ name, distance };
    }
}
