/*
 * batch_scan.c: what is in a batch directory. Threads read different
 * directories of it, each into a list of its own; these are sorted, and
 * merged at the end.
 */
#include <assert.h>
#include <stdlib.h>

#include "input/batch.h"
#include "input/grow.h"
#include "input/manifest.h"
#include "input/names.h"
#include "input/refuse.h"
#include "input/section.h"
#include "input/walk.h"

struct scan;

/* What one thread finds. */
struct found {
    struct scan *scan;
    struct pool pool;
    struct batch_file *files;
    size_t file_count;
    size_t file_capacity;
    struct batch_notice *notices;
    size_t notice_count;
    size_t notice_capacity;
    bool has_manifest;
    bool has_marker;
};

/* A scan under way. */
struct scan {
    struct batch *batch;
    struct pool *pool; /* the batch's */
    unsigned threads;
    struct found found[WALK_LANES_MAX]; /* by thread */
    bool has_section[2];                /* by enum batch_section */
    enum batch_section section;         /* of the files that are found now */
    size_t id_begin;                    /* where ids begin in their paths */
    bool is_tree;
};

static enum df_status add_file(struct found *f, const struct walk_entry *entry,
                               struct df_error *err)
{
    struct batch_file *files = grow_array(f->files, &f->file_capacity,
                                          f->file_count, sizeof files[0]);

    if (files == NULL) {
        return error_no_memory(err);
    }
    f->files = files;
    f->files[f->file_count++] = (struct batch_file){
        .section = f->scan->section,
        .path = entry->path,
        .id = bytes_of_string(entry->path + f->scan->id_begin),
        .length = entry->length,
        .mtime = entry->mtime,
    };
    return DF_OK;
}

static enum df_status add_notice(struct found *f,
                                 const struct walk_entry *entry,
                                 struct df_error *err)
{
    struct batch_notice *notices = grow_array(
        f->notices, &f->notice_capacity, f->notice_count, sizeof notices[0]);

    if (notices == NULL) {
        return error_no_memory(err);
    }
    f->notices = notices;
    f->notices[f->notice_count++] =
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
    struct found *f = ctx;

    if (entry->kind == WALK_LEFT_OUT) {
        return add_notice(f, entry, err);
    }
    if (f->scan->is_tree && is_file_named(entry, MANIFEST_NAME)) {
        f->has_manifest = true;
        return DF_OK;
    }
    if (f->scan->is_tree && is_file_named(entry, "_SUCCESS")) {
        f->has_marker = true;
        return DF_OK;
    }
    return add_file(f, entry, err);
}

/* A name that means something, but not as this kind of file. */
static enum df_status refuse_kind(const struct found *f,
                                  const struct walk_entry *entry,
                                  const char *wanted, struct df_error *err)
{
    const char *is = entry->kind == WALK_LEFT_OUT ? "a symbolic link"
                     : entry->kind == WALK_FILE   ? "a file"
                                                  : "a directory";

    return refuse(err, f->scan->batch->path, entry->path, "is %s, must be %s",
                  is, wanted);
}

static enum df_status refuse_tracked(const struct found *f,
                                     const struct walk_entry *entry,
                                     struct df_error *err)
{
    return refuse(err, f->scan->batch->path, entry->path,
                  "needs a view that tracks documents, which is to come; "
                  "put the old content under deleted/ and new content "
                  "under inserted/");
}

/* Visits the top of a batch, where every name must be known: what would be
 * passed over in silence (a misspelt section) would be lost data. */
static enum df_status visit_top(void *ctx, const struct walk_entry *entry,
                                struct df_error *err)
{
    struct found *f = ctx;
    const char *name = entry->name;

    for (int i = BATCH_DELETED; i <= BATCH_INSERTED; i++) {
        if (strcmp(name, section_name((enum batch_section)i)) == 0) {
            f->scan->has_section[i] = true;
            return entry->kind == WALK_DIRECTORY
                       ? DF_OK
                       : refuse_kind(f, entry, "a directory", err);
        }
    }
    if (strcmp(name, MANIFEST_NAME) == 0) {
        f->has_manifest = true;
        return entry->kind == WALK_FILE ? DF_OK
                                        : refuse_kind(f, entry, "a file", err);
    }
    if (strcmp(name, "_SUCCESS") == 0) {
        f->has_marker = true;
        return entry->kind == WALK_FILE ? DF_OK
                                        : refuse_kind(f, entry, "a file", err);
    }
    if (strcmp(name, "updated") == 0 || strcmp(name, "deleted.txt") == 0) {
        return refuse_tracked(f, entry, err);
    }
    if (entry->kind == WALK_LEFT_OUT) {
        return add_notice(f, entry, err);
    }
    return refuse(err, f->scan->batch->path, entry->path,
                  "does not belong in a batch; documents go under "
                  "inserted/ and deleted/");
}

/* Everything below a directory, by all threads. */
static enum df_status scan_below(struct scan *s, const char *below,
                                 struct df_error *err)
{
    struct walk lanes[WALK_LANES_MAX];

    for (unsigned i = 0; i < s->threads; i++) {
        lanes[i] = (struct walk){ .root = s->batch->path,
                                  .pool = &s->found[i].pool,
                                  .visit = visit_document,
                                  .ctx = &s->found[i] };
    }
    return walk_tree(lanes, s->threads, below, err);
}

static enum df_status scan_sections(struct scan *s, struct df_error *err)
{
    struct found *top = &s->found[0];
    struct walk w = { .root = s->batch->path,
                      .pool = &top->pool,
                      .visit = visit_top,
                      .ctx = top };
    enum df_status status = walk_directory(&w, "", err);

    for (int i = BATCH_DELETED; i <= BATCH_INSERTED; i++) {
        const char *name = section_name((enum batch_section)i);

        s->section = (enum batch_section)i;
        s->id_begin = strlen(name) + 1;
        if (status == DF_OK && s->has_section[i]) {
            status = scan_below(s, name, err);
        }
    }
    return status;
}

static enum df_status scan_everything(struct scan *s, struct df_error *err)
{
    s->section = BATCH_INSERTED;
    return scan_below(s, "", err);
}

/* ---- all that was found ---- */

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

static void sort_files(struct scan *s)
{
    /* A team is not worth it where the others have found nothing. */
    bool together = false;

    for (unsigned i = 1; i < s->threads; i++) {
        together = together || s->found[i].file_count > 0;
    }
#pragma omp parallel for num_threads(s->threads)                              \
    schedule(static, 1) if (together)
    for (unsigned i = 0; i < s->threads; i++) {
        struct found *f = &s->found[i];

        if (f->file_count > 0) {
            qsort(f->files, f->file_count, sizeof f->files[0], compare_files);
        }
    }
}

/* Room in the batch for all of it. */
static bool make_room(struct scan *s)
{
    struct batch *b = s->batch;
    size_t files = 0;
    size_t notices = 0;

    for (unsigned i = 0; i < s->threads; i++) {
        files += s->found[i].file_count;
        notices += s->found[i].notice_count;
    }
    b->files = calloc(files + 1, sizeof b->files[0]);
    b->notices = calloc(notices + 1, sizeof b->notices[0]);
    return b->files != NULL && b->notices != NULL;
}

/* Takes the files of all threads in order. */
static void merge_files(struct scan *s)
{
    struct batch *b = s->batch;
    size_t taken[WALK_LANES_MAX] = { 0 };

    for (;;) {
        const struct batch_file *next = NULL;
        unsigned from = 0;

        for (unsigned i = 0; i < s->threads; i++) {
            const struct found *f = &s->found[i];

            if (taken[i] < f->file_count &&
                (next == NULL ||
                 compare_files(&f->files[taken[i]], next) < 0)) {
                next = &f->files[taken[i]];
                from = i;
            }
        }
        if (next == NULL) {
            return;
        }
        b->files[b->file_count++] = *next;
        taken[from]++;
    }
}

/* Few: one behind the other, then sorted. */
static void gather_notices(struct scan *s)
{
    struct batch *b = s->batch;

    for (unsigned i = 0; i < s->threads; i++) {
        for (size_t k = 0; k < s->found[i].notice_count; k++) {
            b->notices[b->notice_count++] = s->found[i].notices[k];
        }
    }
    qsort(b->notices, b->notice_count, sizeof b->notices[0], compare_notices);
}

static enum df_status gather(struct scan *s, struct df_error *err)
{
    bool has_manifest = false;

    if (!make_room(s)) {
        return error_no_memory(err);
    }
    sort_files(s);
    merge_files(s);
    gather_notices(s);
    for (unsigned i = 0; i < s->threads; i++) {
        has_manifest = has_manifest || s->found[i].has_manifest;
        s->batch->has_marker = s->batch->has_marker || s->found[i].has_marker;
    }
    return has_manifest ? manifest_apply(s->batch, s->pool, s->is_tree, err)
                        : DF_OK;
}

/* Names stay with the batch, whatever came of the scan. */
static void found_fini(struct scan *s)
{
    for (unsigned i = 0; i < s->threads; i++) {
        struct found *f = &s->found[i];

        pool_join(s->pool, &f->pool);
        free(f->files);
        free(f->notices);
    }
}

static enum df_status scan(struct scan *s, const char *path,
                           struct df_error *err)
{
    struct batch *b = s->batch;
    enum df_status status;

    b->path = names_trimmed(s->pool, path);
    if (b->path == NULL) {
        return error_no_memory(err);
    }
    status = names_last(s->pool, b->path, &b->name, err);
    if (status == DF_OK) {
        status = s->is_tree ? scan_everything(s, err) : scan_sections(s, err);
    }
    return status == DF_OK ? gather(s, err) : status;
}

static enum df_status scan_as(struct batch *b, const char *path,
                              unsigned threads, bool is_tree,
                              struct df_error *err)
{
    struct scan s = { .batch = b,
                      .pool = calloc(1, sizeof *s.pool),
                      .threads =
                          threads < WALK_LANES_MAX ? threads : WALK_LANES_MAX,
                      .is_tree = is_tree };
    enum df_status status;

    assert(threads > 0);
    *b = (struct batch){ .owned = s.pool };
    if (s.pool == NULL) {
        return error_no_memory(err);
    }
    for (unsigned i = 0; i < s.threads; i++) {
        s.found[i].scan = &s;
    }
    status = scan(&s, path, err);
    found_fini(&s);
    if (status != DF_OK) {
        batch_fini(b);
    }
    return status;
}

enum df_status batch_scan(struct batch *b, const char *path, unsigned threads,
                          struct df_error *err)
{
    return scan_as(b, path, threads, false, err);
}

enum df_status batch_scan_tree(struct batch *b, const char *path,
                               unsigned threads, struct df_error *err)
{
    return scan_as(b, path, threads, true, err);
}
