#include "tests/faults/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/faults/process.h"
#include "tests/faults/tree.h"

enum { DOCUMENTS = 12, WORDS = 150, VOCABULARY = 1500, LONG_WORD = 700 };

/* A document of words that depend on its number and generation alone. */
static char *document(unsigned number, unsigned generation)
{
    char *s = malloc(WORDS * 16 + LONG_WORD + 2);
    uint64_t state = number * 7919 + generation * 104729 + 1;
    size_t len = 0;

    if (s == NULL) {
        give_up("no memory");
    }
    for (unsigned i = 0; i < WORDS; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        len += (size_t)sprintf(s + len, "w%" PRIu64 "%s",
                               (state >> 33) % VOCABULARY,
                               i % 10 == 9 ? "\n" : " ");
    }
    memset(s + len, 'a' + (int)(number % 26), LONG_WORD);
    s[len + LONG_WORD] = '\n';
    s[len + LONG_WORD + 1] = '\0';
    return s;
}

static void put(const char *directory, unsigned number, unsigned generation)
{
    char *path = text("%s/%u.txt", directory, number);
    char *content = document(number, generation);

    tree_write(path, content);
    free(content);
    free(path);
}

void history_make(const char *first, const char *second, const char *documents)
{
    char *base = text("%s/inserted", first);
    char *inserted = text("%s/inserted", second);
    char *deleted = text("%s/deleted", second);

    for (unsigned i = 0; i < DOCUMENTS; i++) {
        put(base, i, 0);
        if (i % 3 == 0) {
            put(deleted, i, 0);
            put(inserted, DOCUMENTS + i, 0);
            put(documents, DOCUMENTS + i, 0);
        } else if (i % 3 == 1) {
            put(deleted, i, 0);
            put(inserted, i, 1);
            put(documents, i, 1);
        } else {
            put(documents, i, 0);
        }
    }
    free(base);
    free(inserted);
    free(deleted);
}
