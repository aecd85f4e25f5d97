#include "state/view_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Raised when an older program could not read what this one writes: since 2
 * shards may have inboxes (inbox.h). */
#define FORMAT_NOW '2'
#define FORMAT "deltafold view format "
#define GENERATION "\ngeneration "

enum {
    DIRECTORY_MODE = 0777, /* less the umask */
    FILE_MODE = 0666,
    CURRENT_MAX = 128,       /* longest text in VIEW/current */
    FINISH_WAIT_SECONDS = 1, /* for another reader that finishes the batch */
    RACES_MAX = 100 /* generations that may go by while a reader opens one */
};

/* Joins path and name; NULL without memory. */
static char *join(const char *path, const char *name)
{
    char *joined = NULL;

    return asprintf(&joined, "%s/%s", path, name) < 0 ? NULL : joined;
}

/* Readers may not be able to write where writers leave their scratch. */
static char *scratch_of(const char *path, enum view_access access)
{
    char *scratch = join(path, "tmp");
    const char *elsewhere = getenv("TMPDIR");

    if (access == VIEW_WRITE || scratch == NULL ||
        faccessat(AT_FDCWD, scratch, W_OK, 0) == 0) {
        return scratch;
    }
    free(scratch);
    return strdup(elsewhere != NULL && *elsewhere != '\0' ? elsewhere
                                                          : "/tmp");
}

static struct view *view_new(const char *path, enum view_access access)
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

static void close_stores(struct view *v)
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
    close_stores(v);
    view_unlock(v);
    buf_fini(&v->definition_text);
    buf_fini(&v->recovered);
    free(v->scratch);
    free(v->path);
    free(v);
}

/* ---- which generation ---- */

static enum df_status parse_current(struct view *v, const char *text,
                                    uint64_t *generation, struct df_error *err)
{
    const size_t head = sizeof FORMAT - 1;
    const size_t middle = head + 1 + sizeof GENERATION - 1;
    char *end;

    if (strncmp(text, FORMAT, head) != 0 || text[head] < '1' ||
        text[head] > FORMAT_NOW ||
        strncmp(text + head + 1, GENERATION, sizeof GENERATION - 1) != 0) {
        return error_set(err, DF_STATE, "%s: not a view this version can read",
                         v->path);
    }
    v->format = text[head];
    *generation = strtoull(text + middle, &end, 10);
    if (end == text + middle || strcmp(end, "\n") != 0 || *generation == 0) {
        return error_set(err, DF_STATE, "%s/current is damaged", v->path);
    }
    return DF_OK;
}

/* *generation is 0 when there is no view here. */
static enum df_status read_current(struct view *v, uint64_t *generation,
                                   struct df_error *err)
{
    char text[CURRENT_MAX] = { 0 };
    char *path = join(v->path, "current");
    enum df_status status;
    ssize_t len;
    int fd;

    *generation = 0;
    if (path == NULL) {
        return error_no_memory(err);
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR
                   ? DF_OK
                   : error_errno(err, errno, "%s/current", v->path);
    }
    len = read(fd, text, sizeof text - 1);
    status = len < 0 ? error_errno(err, errno, "%s/current", v->path)
                     : parse_current(v, text, generation, err);
    (void)close(fd);
    return status;
}

/* Writes the text of `current` into a file beside it and syncs that. */
static enum df_status write_current(const char *path, uint64_t generation,
                                    struct df_error *err)
{
    enum df_status status = DF_OK;
    char text[CURRENT_MAX];
    int len = snprintf(text, sizeof text, FORMAT "%c" GENERATION "%llu\n",
                       FORMAT_NOW, (unsigned long long)generation);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
    ssize_t written;

    if (fd < 0) {
        return error_errno(err, errno, "%s", path);
    }
    written = write(fd, text, (size_t)len);
    if (written != len) {
        /* So few bytes are cut short by nothing but a full disk. */
        status = error_errno(err, written < 0 ? errno : ENOSPC, "%s", path);
    } else if (fsync(fd) != 0) {
        status = error_errno(err, errno, "%s: cannot sync", path);
    }
    (void)close(fd);
    return status;
}

enum df_status view_switch(const struct view *v, uint64_t generation,
                           struct df_error *err)
{
    char *fresh = join(v->path, "current.new");
    char *current = join(v->path, "current");
    enum df_status status;

    if (fresh == NULL || current == NULL) {
        status = error_no_memory(err);
        goto out;
    }
    /* The generation's own name must last before it is pointed to. */
    status = sync_directory(v->path, err);
    if (status == DF_OK) {
        status = write_current(fresh, generation, err);
    }
    if (status == DF_OK && rename(fresh, current) != 0) {
        status = error_errno(err, errno, "%s", current);
    }
    if (status == DF_OK) {
        status = sync_directory(v->path, err);
    }
out:
    free(fresh);
    free(current);
    return status;
}

enum df_status view_need_format(struct view *v, struct df_error *err)
{
    enum df_status status = DF_OK;

    if (v->format < FORMAT_NOW) {
        status = view_switch(v, v->generation, err);
        v->format = status == DF_OK ? FORMAT_NOW : v->format;
    }
    return status;
}

/* ---- making ---- */

static enum df_status make_directory(const char *path, struct df_error *err)
{
    if (mkdir(path, DIRECTORY_MODE) == 0 || errno == EEXIST) {
        return DF_OK;
    }
    return error_errno(err, errno, "%s: cannot make the directory", path);
}

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
        remove_directory((const char *)path.data, false);
        status = make_directory((const char *)path.data, err);
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
        status = sync_directory((const char *)path.data, err);
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
    enum df_status status = read_current(v, &generation, err);

    if (status == DF_OK && generation != 0) {
        status =
            error_set(err, DF_STATE, "%s: there is a view already", v->path);
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
    char *up = join(path, "..");
    enum df_status status =
        up == NULL ? error_no_memory(err) : sync_directory(up, err);

    free(up);
    return status;
}

static enum df_status create_locked(struct view *v,
                                    const struct view_definition *definition,
                                    struct df_error *err)
{
    enum df_status status = check_free(v, err);

    if (status == DF_OK) {
        status = make_directory(v->scratch, err);
    }
    if (status == DF_OK) {
        status = view_make_generation(v, definition, 1, v->stores, err);
    }
    close_stores(v);
    if (status == DF_OK) {
        status = view_switch(v, 1, err);
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
    status = make_directory(path, err);
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
        char *part = join(path, parts[i]);

        if (part != NULL) {
            remove_directory(part, true);
            free(part);
        }
    }
    remove_directory(path, true);
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
        enum df_status status = read_current(v, &v->generation, err);

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
        close_stores(v);
    }
    return error_set(err, DF_STATE, "%s: replaced again and again", v->path);
}

/* Removes what a crash may have left: other generations and scratch. */
static void remove_leftovers(struct view *v)
{
    DIR *dir = opendir(v->path);
    struct dirent *entry;

    remove_directory(v->scratch, false);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char *end;
        char *path;

        if (strncmp(entry->d_name, "gen-", 4) != 0 ||
            strtoull(entry->d_name + 4, &end, 10) == v->generation ||
            *end != '\0') {
            continue;
        }
        path = join(v->path, entry->d_name);
        if (path != NULL) {
            remove_directory(path, true);
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
    enum df_status status = read_current(v, &generation, err);

    /* A lock file is not left in a directory that is no view. */
    if (status == DF_OK && generation != 0) {
        status = view_lock(v, wait_seconds, err);
    }
    if (status == DF_OK) {
        status = open_current(v, err);
    }
    if (status == DF_OK) {
        status = make_directory(v->scratch, err);
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
    close_stores(v);
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
