/*
 * How a view comes to be: a directory, its lock, a generation of empty shards,
 * and last the file that names it.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "base/directory.h"
#include "state/view_internal.h"

static enum df_status fill_new_store(struct store *s,
                                     const struct view_definition *d,
                                     uint64_t generation, unsigned shard,
                                     struct df_error *err)
{
    const struct shard_state empty = { 0 };
    struct store_txn *t;
    enum df_status status;

    do {
        status = store_begin(&t, s, STORE_WRITE, err);
        if (status != DF_OK) {
            return status;
        }
        status = shard_state_store(t, &empty, err);
        if (status == DF_OK) {
            status = definition_store(t, d, generation, shard, err);
        }
        if (status == DF_OK) {
            status = store_commit(t, err);
        } else {
            store_abort(t);
        }
    } while (status != DF_OK && store_grow_if_full(s, &status, err));
    return status;
}

enum df_status view_make_generation(const struct view *v,
                                    const struct view_definition *d,
                                    uint64_t generation, struct store **stores,
                                    struct df_error *err)
{
    struct buf path = { 0 };
    enum df_status status = view_file(v, generation, "", &path, err);

    if (status == DF_OK) {
        directory_empty((const char *)path.data);
        status = directory_make((const char *)path.data, err);
    }
    for (unsigned i = 0; status == DF_OK && i < d->shards; i++) {
        status = view_shard_file(v, generation, i, &path, err);
        if (status == DF_OK) {
            status = store_open(&stores[i], (const char *)path.data,
                                STORE_WRITE, NULL, err);
        }
        if (status == DF_OK) {
            status = fill_new_store(stores[i], d, generation, i, err);
        }
    }
    if (status == DF_OK) {
        status = view_file(v, generation, "", &path, err);
    }
    if (status == DF_OK) {
        status = directory_sync((const char *)path.data, err);
    }
    buf_fini(&path);
    return status;
}

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* *is_free tells whether a directory is empty or holds only what an
 * interrupted view_create leaves: a lock, for that is made first, and after
 * it the others. */
static enum df_status look_inside(const char *path, bool *is_free,
                                  struct df_error *err)
{
    static const char *const ours[] = { "lock", "gen-1", "current.new",
                                        "tmp" };
    DIR *dir = opendir(path);
    struct dirent *entry;
    bool is_empty = true;
    bool has_lock = false;

    *is_free = dir != NULL;
    if (dir == NULL) {
        return errno == ENOTDIR ? DF_OK : error_errno(err, errno, "%s", path);
    }
    while (*is_free && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        is_empty = false;
        has_lock = has_lock || strcmp(entry->d_name, "lock") == 0;
        *is_free = is_one_of(entry->d_name, ours, sizeof ours / sizeof *ours);
    }
    (void)closedir(dir);
    *is_free = *is_free && (is_empty || has_lock);
    return DF_OK;
}

/* DF_STATE when there is a view already or something else. */
static enum df_status check_free(struct view *v, struct df_error *err)
{
    uint64_t generation;
    bool is_free;
    enum df_status status = view_current(v, &generation, err);

    if (status == DF_OK && generation != 0) {
        status = error_set(err, DF_STATE,
                           "%s: there is a view already, which 'deltafold "
                           "info' shows: a new one needs another directory",
                           v->path);
    }
    if (status == DF_OK) {
        status = look_inside(v->path, &is_free, err);
    }
    if (status == DF_OK && !is_free) {
        status = error_set(err, DF_STATE,
                           "%s: not an empty directory: give the view one of "
                           "its own",
                           v->path);
    }
    return status;
}

/* The directory that holds VIEW, so that VIEW's own name lasts. */
static enum df_status sync_parent(const char *path, struct df_error *err)
{
    char *up = view_path_of(path, "..");
    enum df_status status =
        up == NULL ? error_no_memory(err) : directory_sync(up, err);

    free(up);
    return status;
}

static enum df_status create_locked(struct view *v,
                                    const struct view_definition *definition,
                                    struct df_error *err)
{
    enum df_status status = check_free(v, err);

    if (status == DF_OK) {
        status = directory_make(v->scratch, err);
    }
    if (status == DF_OK) {
        status = view_make_generation(v, definition, 1, v->stores, err);
    }
    view_close_stores(v);
    if (status == DF_OK) {
        status = view_switch(v, VIEW_FORMAT_NOW, 1, err);
    }
    return status == DF_OK ? sync_parent(v->path, err) : status;
}

enum df_status view_create(const char *path,
                           const struct view_definition *definition,
                           struct df_error *err)
{
    struct view *v = view_new(path, VIEW_WRITE);
    enum df_status status;

    if (v == NULL) {
        return error_no_memory(err);
    }
    status = directory_make(path, err);
    /* Looked at before the lock file is left in a stranger's directory. */
    if (status == DF_OK) {
        status = check_free(v, err);
    }
    if (status == DF_OK) {
        status = view_lock(v, 0, err);
    }
    if (status == DF_OK) {
        status = create_locked(v, definition, err);
    }
    view_close(v);
    return status;
}

void view_remove(const char *path)
{
    static const char *const parts[] = { "gen-1", "tmp" };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char *part = view_path_of(path, parts[i]);

        if (part != NULL) {
            directory_remove(part);
            free(part);
        }
    }
    directory_remove(path);
}
