/*
 * walk.h: reading directories, with the rules of what is left out and what
 * is refused (README.md, "How deltas are laid out") applied to every entry.
 *
 *     struct walk w = { .root = path, .pool = &pool, .visit = f, .ctx = c };
 *     walk_directory(&w, "", err);           entries of root, not below
 *     walk_tree(lanes, n, "inserted", err);  all files below root/inserted
 *
 * Entries come in the order of the directory: sort afterwards. What is
 * refused (DF_INPUT) does not end the walk, which then fails with the
 * refusal whose path is the lowest in byte order: the message does not
 * depend on the order of the directory. A lane has one descriptor open at a
 * time, and the C stack does not grow with the depth. Nothing is opened but
 * directories, and links are not followed (root itself may be one).
 */
#ifndef INPUT_WALK_H
#define INPUT_WALK_H

#include <sys/stat.h>

#include "base/error.h"
#include "input/pool.h"

/* What lanes have found is merged by a look at each of them for every name
 * (batch_scan.c): they are to be few. */
enum { WALK_LANES_MAX = 8 };

enum walk_kind { WALK_FILE, WALK_DIRECTORY, WALK_LEFT_OUT };

struct walk_entry {
    enum walk_kind kind;
    const char *path; /* below root; in the pool */
    const char *name; /* its last component */
    const char *why;  /* WALK_LEFT_OUT: the reason, static */
    uint64_t length;  /* WALK_FILE: bytes */
    int64_t mtime;    /* WALK_FILE: nanoseconds since 1970 */
};

/* A failure is returned from the walk as it is: DF_INPUT as said above, any
 * other at once. */
typedef enum df_status walk_visit(void *ctx, const struct walk_entry *entry,
                                  struct df_error *err);

struct walk {
    const char *root;  /* as the user wrote it */
    struct pool *pool; /* where paths are put */
    walk_visit *visit;
    void *ctx;
};

/* Visits every entry of root/below ("" is root). */
enum df_status walk_directory(const struct walk *w, const char *below,
                              struct df_error *err) DF_MUST_CHECK;

/* Visits files and names left out at any depth; directories only lead on. By
 * as many threads as there are lanes, walks of the same root each with its own
 * pool and visit: who reads a directory visits what is in it. */
enum df_status walk_tree(const struct walk *lanes, unsigned count,
                         const char *below,
                         struct df_error *err) DF_MUST_CHECK;

/* Nanoseconds since 1970, modulo 2^64 where a file system holds nonsense. */
static inline int64_t walk_mtime(const struct stat *st)
{
    return (int64_t)((uint64_t)st->st_mtim.tv_sec * 1000000000u +
                     (uint64_t)st->st_mtim.tv_nsec);
}

#endif
