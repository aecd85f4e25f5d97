/* The names of a view's files. */
#include <stdio.h>

#include "state/view_internal.h"

char *view_path_of(const char *path, const char *name)
{
    char *joined = NULL;

    return asprintf(&joined, "%s/%s", path, name) < 0 ? NULL : joined;
}

/* One path, printed into out with its NUL. */
static enum df_status path_in(struct buf *out, struct df_error *err,
                              bool printed)
{
    return printed && buf_append_byte(out, 0) ? DF_OK : error_no_memory(err);
}

enum df_status view_file(const struct view *v, uint64_t generation,
                         const char *name, struct buf *out,
                         struct df_error *err)
{
    buf_reset(out);
    return path_in(out, err,
                   buf_printf(out, "%s/gen-%llu%s%s", v->path,
                              (unsigned long long)generation,
                              *name == '\0' ? "" : "/", name));
}

enum df_status view_shard_file(const struct view *v, uint64_t generation,
                               unsigned shard, struct buf *out,
                               struct df_error *err)
{
    buf_reset(out);
    return path_in(out, err,
                   buf_printf(out, "%s/gen-%llu/shard-%02u.mdb", v->path,
                              (unsigned long long)generation, shard));
}
