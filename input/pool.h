/*
 * pool.h: strings that live as long as the thing that owns the pool.
 *
 *     struct pool pool = { 0 };
 *     char *path = pool_path(&pool, "a/b", "c.txt");     "a/b/c.txt"
 *     pool_fini(&pool);                                  all strings at once
 *
 * A zeroed pool is empty and valid. Strings never move. NULL is returned
 * when memory ran out. Not safe for two threads at once.
 */
#ifndef INPUT_POOL_H
#define INPUT_POOL_H

#include "base/bytes.h"

struct pool_block;

struct pool {
    struct pool_block *blocks; /* the newest first */
};

void pool_fini(struct pool *p);

/* Moves all strings of another pool, which is empty then. */
void pool_join(struct pool *p, struct pool *from);

/* A copy with a NUL behind it, which bytes need not have. */
char *pool_copy(struct pool *p, struct bytes b);

/* directory + "/" + name, or name alone where directory is empty. */
char *pool_path(struct pool *p, struct bytes directory, struct bytes name);

#endif
