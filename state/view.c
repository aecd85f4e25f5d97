#include "state/view_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"

enum {
    FINISH_WAIT_SECONDS = 1, /* for another reader that finishes the batch */
    RACES_MAX = 100 /* generations that may go by while a reader opens one */
};

/* Readers may not be able to write where writers leave their scratch. */
static char *scratch_of(const char *path, enum view_access access)
{
    char *scratch = view_path_of(path, "tmp");
    const char *elsewhere = getenv("TMPDIR");

    if (access == VIEW_WRITE || scratch == NULL ||
        faccessat(AT_FDCWD, scratch, W_OK, 0) == 0) {
        return scratch;
    }
    free(scratch);
    return strdup(elsewhere != NULL && *elsewhere != '\0' ? elsewhere
                                                          : "/tmp");
}

struct view *view_new(const char *path, enum view_access access)
{
    struct view *v = calloc(1, sizeof *v);

    if (v == NULL) {
        return NULL;
    }
    v->access = access;
    v->lock = -1;
    v->path = strdup(path);
    v->scratch = scratch_of(path, access);
    if (v->path == NULL || v->scratch == NULL) {
        view_close(v);
        return NULL;
    }
    return v;
}

void view_close_stores(struct view *v)
{
    for (unsigned i = 0; i < VIEW_SHARDS_MAX; i++) {
        store_close(v->stores[i]);
        v->stores[i] = NULL;
    }
}

void view_close(struct view *v)
{
    if (v == NULL) {
        return;
    }
    view_close_stores(v);
    view_unlock(v);
    buf_fini(&v->definition_text);
    buf_fini(&v->recovered);
    free(v->scratch);
    free(v->path);
    free(v);
}

/* ---- opening ---- */

/* Reads the definition from a shard and checks that it is this view's. */
static enum df_status check_shard(struct view *v, unsigned shard,
                                  struct df_error *err)
{
    struct view_definition d;
    struct store_txn *t;
    uint64_t generation;
    unsigned number;
    enum df_status status = store_begin(&t, v->stores[shard], STORE_READ, err);

    if (status != DF_OK) {
        return status;
    }
    status = definition_load(t, &d, &generation, &number, err);
    if (status == DF_OK && shard == 0) {
        buf_reset(&v->definition_text);
        v->definition = d;
        if (!buf_append(&v->definition_text, d.text.data, d.text.len)) {
            status = error_no_memory(err);
        }
        v->definition.text = buf_bytes(&v->definition_text);
    }
    if (status == DF_OK && v->format >= VIEW_FORMAT_CHECKS &&
        !store_has_checks(v->stores[shard])) {
        status = error_set(err, DF_STATE, "%s: shard %u " STORE_DAMAGED,
                           v->path, shard);
    }
    if (status == DF_OK && (generation != v->generation || number != shard ||
                            d.shards != v->definition.shards ||
                            !bytes_equal(d.text, v->definition.text))) {
        status = error_set(err, DF_STATE,
                           "%s: shard %u is not of this view: restore the "
                           "view from a copy, or make it anew",
                           v->path, shard);
    }
    store_abort(t);
    return status;
}

static enum df_status open_shards(struct view *v, bool *missing,
                                  struct df_error *err)
{
    enum store_access access =
        v->access == VIEW_WRITE ? STORE_WRITE : STORE_READ;
    enum df_status status = DF_OK;
    struct buf path = { 0 };
    struct stat st;

    v->definition.shards = 1; /* until shard 0 has said how many */
    for (unsigned i = 0; status == DF_OK && i < v->definition.shards; i++) {
        status = view_shard_file(v, v->generation, i, &path, err);
        if (status == DF_OK && stat((const char *)path.data, &st) != 0) {
            *missing = errno == ENOENT;
            status = error_errno(err, errno, "%s", (const char *)path.data);
            status = *missing ? DF_STATE : status;
        }
        if (status == DF_OK) {
            status = store_open(&v->stores[i], (const char *)path.data, access,
                                missing, err);
        }
        if (status == DF_OK) {
            status = check_shard(v, i, err);
        }
    }
    buf_fini(&path);
    return status;
}

/* Opens what `current` names; a reader looks again when the generation it
 * read of has been replaced and removed meanwhile. */
static enum df_status open_current(struct view *v, struct df_error *err)
{
    for (unsigned race = 0; race < RACES_MAX; race++) {
        uint64_t before = v->generation;
        bool missing = false;
        enum df_status status = view_current(v, &v->generation, err);

        if (status != DF_OK) {
            return status;
        }
        if (v->generation == 0) {
            return error_set(err, DF_STATE,
                             "%s: no view here: make one with 'deltafold "
                             "init'",
                             v->path);
        }
        if (race > 0 && v->generation == before) {
            return error_set(err, DF_STATE,
                             "%s: files of generation %llu are missing: "
                             "restore the view from a copy, or make it anew",
                             v->path, (unsigned long long)v->generation);
        }
        status = open_shards(v, &missing, err);
        if (status == DF_OK || !missing) {
            return status;
        }
        view_close_stores(v);
    }
    return error_set(err, DF_STATE, "%s: replaced again and again", v->path);
}

/* Removes what a crash may have left: other generations and scratch. */
static void remove_leftovers(struct view *v)
{
    DIR *dir = opendir(v->path);
    struct dirent *entry;

    directory_empty(v->scratch);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char *end;
        char *path;

        if (strncmp(entry->d_name, "gen-", 4) != 0 ||
            strtoull(entry->d_name + 4, &end, 10) == v->generation ||
            *end != '\0') {
            continue;
        }
        path = view_path_of(v->path, entry->d_name);
        if (path != NULL) {
            directory_remove(path);
            free(path);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
}

static enum df_status open_for_writing(struct view *v, unsigned wait_seconds,
                                       struct df_error *err)
{
    uint64_t generation;
    enum df_status status = view_current(v, &generation, err);

    /* A lock file is not left in a directory that is no view. */
    if (status == DF_OK && generation != 0) {
        status = view_lock(v, wait_seconds, err);
    }
    if (status == DF_OK) {
        status = open_current(v, err);
    }
    if (status == DF_OK) {
        status = directory_make(v->scratch, err);
    }
    if (status == DF_OK) {
        remove_leftovers(v);
        status = view_recover(v, err);
    }
    return status;
}

enum df_status view_open(struct view **out, const char *path,
                         enum view_access access, unsigned wait_seconds,
                         struct df_error *err)
{
    struct view *v = view_new(path, access);
    enum df_status status;

    *out = NULL;
    if (v == NULL) {
        return error_no_memory(err);
    }
    status = access == VIEW_WRITE ? open_for_writing(v, wait_seconds, err)
                                  : open_current(v, err);
    if (status != DF_OK) {
        view_close(v);
        return status;
    }
    *out = v;
    return DF_OK;
}

enum df_status view_finish_for_reader(struct view *v, struct df_error *err)
{
    struct view *writer;
    enum df_status status;

    for (unsigned i = 0; i < v->definition.shards; i++) {
        if (!store_is_idle(v->stores[i])) {
            return error_set(err, DF_STATE,
                             "%s: a batch is half committed and another "
                             "snapshot of the view is open: run 'deltafold "
                             "run' on the view",
                             v->path);
        }
    }
    /* A process has an environment open once. */
    view_close_stores(v);
    status = view_open(&writer, v->path, VIEW_WRITE, FINISH_WAIT_SECONDS, err);
    if (status == DF_OK) {
        view_close(writer);
    } else if (status != DF_STATE || !view_is_locked(v)) {
        return error_prefix(err, status,
                            "%s: a batch is half committed and could not be "
                            "finished, run 'deltafold run' on the view",
                            v->path);
    }
    v->generation = 0;
    return open_current(v, err);
}

/* ---- questions ---- */

const struct view_definition *view_definition(const struct view *v)
{
    return &v->definition;
}

const char *view_path(const struct view *v)
{
    return v->path;
}

const char *view_scratch(const struct view *v)
{
    return v->scratch;
}

struct bytes view_recovered(const struct view *v)
{
    return buf_bytes(&v->recovered);
}

uint64_t view_disk_bytes(const struct view *v)
{
    uint64_t total = 0;
    struct buf path = { 0 };
    struct df_error ignored;

    for (unsigned i = 0; i < v->definition.shards; i++) {
        struct stat st;

        if (view_shard_file(v, v->generation, i, &path, &ignored) == DF_OK &&
            stat((const char *)path.data, &st) == 0) {
            total += (uint64_t)st.st_blocks * 512;
        }
    }
    buf_fini(&path);
    return total;
}
