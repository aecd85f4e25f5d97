#include "input/pool.h"

#include <stdlib.h>

/* Large enough that a million names take few allocations. */
#define POOL_BLOCK ((size_t)64 << 10)

struct pool_block {
    struct pool_block *next;
    size_t used;
    size_t capacity;
    char text[];
};

void pool_fini(struct pool *p)
{
    while (p->blocks != NULL) {
        struct pool_block *next = p->blocks->next;

        free(p->blocks);
        p->blocks = next;
    }
}

void pool_join(struct pool *p, struct pool *from)
{
    struct pool_block **end = &from->blocks;

    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = p->blocks;
    p->blocks = from->blocks;
    from->blocks = NULL;
}

static char *take(struct pool *p, size_t len)
{
    struct pool_block *block = p->blocks;
    char *text;

    if (block == NULL || block->capacity - block->used < len) {
        size_t capacity = len > POOL_BLOCK ? len : POOL_BLOCK;

        block = malloc(sizeof *block + capacity);
        if (block == NULL) {
            return NULL;
        }
        block->next = p->blocks;
        block->used = 0;
        block->capacity = capacity;
        p->blocks = block;
    }
    text = block->text + block->used;
    block->used += len;
    return text;
}

char *pool_copy(struct pool *p, struct bytes b)
{
    return pool_path(p, bytes_of(NULL, 0), b);
}

char *pool_path(struct pool *p, struct bytes directory, struct bytes name)
{
    size_t before = directory.len == 0 ? 0 : directory.len + 1;
    char *text = take(p, before + name.len + 1);

    if (text == NULL) {
        return NULL;
    }
    if (before > 0) {
        memcpy(text, directory.data, directory.len);
        text[directory.len] = '/';
    }
    if (name.len > 0) {
        memcpy(text + before, name.data, name.len);
    }
    text[before + name.len] = '\0';
    return text;
}
