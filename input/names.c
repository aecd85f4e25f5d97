#include "input/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/refuse.h"

static bool ends_in(const char *name, const char *suffix)
{
    size_t len = strlen(name);
    size_t suffix_len = strlen(suffix);

    return len >= suffix_len &&
           memcmp(name + len - suffix_len, suffix, suffix_len) == 0;
}

const char *names_left_out(const char *name)
{
    static const struct {
        const char *suffix;
        const char *why;
    } rules[] = {
        { "~", "ends in ~" },
        { ".tmp", "ends in .tmp" },
        { ".part", "ends in .part" },
        { ".partial", "ends in .partial" },
        { "._COPYING_", "ends in ._COPYING_" },
    };

    if (name[0] == '.') {
        return "begins with a dot";
    }
    if (strcmp(name, "lost+found") == 0) {
        return "belongs to the file system";
    }
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (ends_in(name, rules[i].suffix)) {
            return rules[i].why;
        }
    }
    return NULL;
}

bool names_mark_a_batch(const char *name)
{
    static const char *const marks[] = { "inserted",     "deleted",
                                         "updated",      "deleted.txt",
                                         "manifest.tsv", "_SUCCESS" };

    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (strcmp(name, marks[i]) == 0) {
            return true;
        }
    }
    return false;
}

char *names_trimmed(struct pool *pool, const char *path)
{
    size_t len = strlen(path);

    while (len > 1 && path[len - 1] == '/') {
        len--;
    }
    return pool_copy(pool, bytes_of(path, len));
}

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL || slash[1] == '\0' ? path : slash + 1;
}

enum df_status names_last(struct pool *pool, const char *path, char **name,
                          struct df_error *err)
{
    const char *last = last_component(path);
    char *real = NULL;

    if (strcmp(last, ".") == 0 || strcmp(last, "..") == 0) {
        real = realpath(path, NULL);
        if (real == NULL) {
            return refuse_errno(err, path, NULL, errno);
        }
        last = last_component(real);
    }
    *name = pool_copy(pool, bytes_of_string(last));
    free(real);
    return *name == NULL ? error_no_memory(err) : DF_OK;
}
