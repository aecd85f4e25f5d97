#include "input/batch.h"

#include <stdlib.h>

#include "input/grow.h"
#include "input/manifest.h"
#include "input/names.h"
#include "input/refuse.h"
#include "input/section.h"
#include "input/walk.h"

/* A scan under way. */
struct scan {
    struct batch *batch;
    struct pool *pool;
    size_t file_capacity;
    size_t notice_capacity;
    enum batch_section section; /* of the files that are found now */
    size_t id_begin;            /* where ids begin in their paths */
    bool has_section[2];        /* by enum batch_section */
    bool has_manifest;
    bool is_tree;
};

static enum df_status add_file(struct scan *s, const struct walk_entry *entry,
                               struct df_error *err)
{
    struct batch *b = s->batch;
    struct batch_file *files = grow_array(b->files, &s->file_capacity,
                                          b->file_count, sizeof files[0]);

    if (files == NULL) {
        return error_no_memory(err);
    }
    b->files = files;
    b->files[b->file_count++] = (struct batch_file){
        .section = s->section,
        .path = entry->path,
        .id = bytes_of_string(entry->path + s->id_begin),
        .length = entry->length,
        .mtime = entry->mtime,
    };
    return DF_OK;
}

static enum df_status add_notice(struct scan *s,
                                 const struct walk_entry *entry,
                                 struct df_error *err)
{
    struct batch *b = s->batch;
    struct batch_notice *notices = grow_array(
        b->notices, &s->notice_capacity, b->notice_count, sizeof notices[0]);

    if (notices == NULL) {
        return error_no_memory(err);
    }
    b->notices = notices;
    b->notices[b->notice_count++] =
        (struct batch_notice){ .path = entry->path, .why = entry->why };
    return DF_OK;
}

static bool is_file_named(const struct walk_entry *entry, const char *path)
{
    return entry->kind == WALK_FILE && strcmp(entry->path, path) == 0;
}

/* Visits what is below a section, or anywhere in a plain directory. */
static enum df_status visit_document(void *ctx, const struct walk_entry *entry,
                                     struct df_error *err)
{
    struct scan *s = ctx;

    if (entry->kind == WALK_LEFT_OUT) {
        return add_notice(s, entry, err);
    }
    if (s->is_tree && is_file_named(entry, MANIFEST_NAME)) {
        s->has_manifest = true;
        return DF_OK;
    }
    if (s->is_tree && is_file_named(entry, "_SUCCESS")) {
        s->batch->has_marker = true;
        return DF_OK;
    }
    return add_file(s, entry, err);
}

/* A name that means something, but not as this kind of file. */
static enum df_status refuse_kind(const struct scan *s,
                                  const struct walk_entry *entry,
                                  const char *wanted, struct df_error *err)
{
    const char *is = entry->kind == WALK_LEFT_OUT ? "a symbolic link"
                     : entry->kind == WALK_FILE   ? "a file"
                                                  : "a directory";

    return refuse(err, s->batch->path, entry->path, "is %s, must be %s", is,
                  wanted);
}

static enum df_status refuse_tracked(const struct scan *s,
                                     const struct walk_entry *entry,
                                     struct df_error *err)
{
    return refuse(err, s->batch->path, entry->path,
                  "needs a view that tracks documents, which is to come; "
                  "put the old content under deleted/ and new content "
                  "under inserted/");
}

/* Visits the top of a batch, where every name must be known: what would be
 * passed over in silence (a misspelt section) would be lost data. */
static enum df_status visit_top(void *ctx, const struct walk_entry *entry,
                                struct df_error *err)
{
    struct scan *s = ctx;
    const char *name = entry->name;

    for (int i = BATCH_DELETED; i <= BATCH_INSERTED; i++) {
        if (strcmp(name, section_name((enum batch_section)i)) == 0) {
            s->has_section[i] = true;
            return entry->kind == WALK_DIRECTORY
                       ? DF_OK
                       : refuse_kind(s, entry, "a directory", err);
        }
    }
    if (strcmp(name, MANIFEST_NAME) == 0) {
        s->has_manifest = true;
        return entry->kind == WALK_FILE ? DF_OK
                                        : refuse_kind(s, entry, "a file", err);
    }
    if (strcmp(name, "_SUCCESS") == 0) {
        s->batch->has_marker = true;
        return entry->kind == WALK_FILE ? DF_OK
                                        : refuse_kind(s, entry, "a file", err);
    }
    if (strcmp(name, "updated") == 0 || strcmp(name, "deleted.txt") == 0) {
        return refuse_tracked(s, entry, err);
    }
    if (entry->kind == WALK_LEFT_OUT) {
        return add_notice(s, entry, err);
    }
    return refuse(err, s->batch->path, entry->path,
                  "does not belong in a batch; documents go under "
                  "inserted/ and deleted/");
}

static enum df_status scan_sections(struct scan *s, struct walk *w,
                                    struct df_error *err)
{
    enum df_status status;

    w->visit = visit_top;
    status = walk_directory(w, "", err);
    w->visit = visit_document;
    for (int i = BATCH_DELETED; i <= BATCH_INSERTED; i++) {
        const char *name = section_name((enum batch_section)i);

        s->section = (enum batch_section)i;
        s->id_begin = strlen(name) + 1;
        if (status == DF_OK && s->has_section[i]) {
            status = walk_tree(w, name, err);
        }
    }
    return status;
}

static enum df_status scan_everything(struct scan *s, struct walk *w,
                                      struct df_error *err)
{
    s->section = BATCH_INSERTED;
    w->visit = visit_document;
    return walk_tree(w, "", err);
}

/* "deleted/" comes before "inserted/": order of path is order of section. */
static int compare_files(const void *a, const void *b)
{
    const struct batch_file *left = a;
    const struct batch_file *right = b;

    return strcmp(left->path, right->path);
}

static int compare_notices(const void *a, const void *b)
{
    const struct batch_notice *left = a;
    const struct batch_notice *right = b;

    return strcmp(left->path, right->path);
}

static void sort(struct batch *b)
{
    if (b->file_count > 0) {
        qsort(b->files, b->file_count, sizeof b->files[0], compare_files);
    }
    if (b->notice_count > 0) {
        qsort(b->notices, b->notice_count, sizeof b->notices[0],
              compare_notices);
    }
}

static enum df_status scan(struct scan *s, const char *path,
                           struct df_error *err)
{
    struct batch *b = s->batch;
    struct walk w = { .pool = s->pool, .ctx = s };
    enum df_status status;

    b->path = names_trimmed(s->pool, path);
    if (b->path == NULL) {
        return error_no_memory(err);
    }
    w.root = b->path;
    status = names_last(s->pool, b->path, &b->name, err);
    if (status == DF_OK) {
        status = s->is_tree ? scan_everything(s, &w, err)
                            : scan_sections(s, &w, err);
    }
    if (status != DF_OK) {
        return status;
    }
    sort(b);
    return s->has_manifest ? manifest_apply(b, s->pool, s->is_tree, err)
                           : DF_OK;
}

static enum df_status scan_as(struct batch *b, const char *path, bool is_tree,
                              struct df_error *err)
{
    struct scan s = { .batch = b, .is_tree = is_tree };
    enum df_status status;

    *b = (struct batch){ 0 };
    s.pool = calloc(1, sizeof *s.pool);
    if (s.pool == NULL) {
        return error_no_memory(err);
    }
    b->owned = s.pool;
    status = scan(&s, path, err);
    if (status != DF_OK) {
        batch_fini(b);
    }
    return status;
}

enum df_status batch_scan(struct batch *b, const char *path,
                          struct df_error *err)
{
    return scan_as(b, path, false, err);
}

enum df_status batch_scan_tree(struct batch *b, const char *path,
                               struct df_error *err)
{
    return scan_as(b, path, true, err);
}

uint64_t batch_bytes(const struct batch *b)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < b->file_count; i++) {
        bytes += b->files[i].length;
    }
    return bytes;
}

void batch_fini(struct batch *b)
{
    struct pool *pool = b->owned;

    if (pool != NULL) {
        pool_fini(pool);
    }
    free(pool);
    free(b->files);
    free(b->notices);
    *b = (struct batch){ 0 };
}

/* One document in the digest: section (one byte), length of the id, id,
 * length, hash; integers of eight bytes, big-endian. */
static void digest_document(struct hash_stream *stream,
                            const struct batch_file *file)
{
    uint8_t before[1 + 8];
    uint8_t behind[8 + HASH128_SIZE];

    before[0] = (uint8_t)file->section;
    store_be64(before + 1, file->id.len);
    store_be64(behind, file->length);
    hash128_store(behind + 8, file->hash);
    hash_stream_add(stream, bytes_of(before, sizeof before));
    hash_stream_add(stream, file->id);
    hash_stream_add(stream, bytes_of(behind, sizeof behind));
}

enum df_status batch_digest(const struct batch *b, struct hash128 *digest,
                            struct df_error *err)
{
    size_t *order = section_order_by_id(b);
    struct hash_stream *stream;

    if (order == NULL || !hash_stream_open(&stream)) {
        free(order);
        return error_no_memory(err);
    }
    for (size_t i = 0; i < b->file_count; i++) {
        digest_document(stream, &b->files[order[i]]);
    }
    *digest = hash_stream_end(stream);
    hash_stream_close(stream);
    free(order);
    return DF_OK;
}
