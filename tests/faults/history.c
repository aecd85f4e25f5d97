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

enum { RECORDS = 300, LONG_ID = 600 };

/* Records from number `from` on, every `step`th; some ids are longer than a
 * key of the store. */
static char *records(unsigned from, unsigned n, unsigned step)
{
    char *s = malloc((size_t)n * (LONG_ID + 64) + 64);
    size_t len;

    if (s == NULL) {
        give_up("no memory");
    }
    len = (size_t)sprintf(s, "id,at\n");
    for (unsigned i = 0; i < n; i++) {
        unsigned number = from + i * step;

        if (number % 29 == 0) {
            memset(s + len, 'k', LONG_ID);
            len += LONG_ID;
        }
        len += (size_t)sprintf(s + len, "%u,%u\n", number, number);
    }
    return s;
}

static void put_records(const char *batch, const char *file, char *content)
{
    char *path = text("%s/%s", batch, file);

    tree_write(path, content);
    free(content);
    free(path);
}

void history_make_records(const char *first, const char *second)
{
    put_records(first, "inserted/a.csv", records(0, RECORDS, 1));
    put_records(first, "inserted/b.csv", records(100, RECORDS, 1));
    put_records(second, "deleted/a.csv", records(150, 40, 3));
    put_records(second, "inserted/a.csv", records(200, RECORDS, 1));
    put_records(second, "inserted/b.csv", records(0, RECORDS, 2));
    put_records(second, "inserted/c.csv",
                text("%s", "id,at\nx,soon\ny,650\n"));
}
