/*
 * batch_list.c: which batches a path stands for, and in which order.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "input/batch.h"
#include "input/grow.h"
#include "input/names.h"
#include "input/refuse.h"
#include "input/walk.h"

/* A list being made. */
struct listing {
    struct batch_list *list;
    struct pool *pool;
    const char *path; /* trimmed */
    size_t batch_capacity;
    size_t notice_capacity;
    bool is_batch;  /* path itself is one */
    bool has_files; /* beside batches, or without any */
};

/* What a subdirectory turns out to be. */
struct look {
    bool is_batch;
    bool has_more; /* than names that are left out */
};

/* The longer of two runs of digits without leading zeros is the greater
 * number; runs of one length compare as bytes. Moves both past the runs.
 * *zeros is the first difference of leading zeros so far. */
static int compare_numbers(const char **a, const char **b, int *zeros)
{
    size_t a_zeros = strspn(*a, "0");
    size_t b_zeros = strspn(*b, "0");
    size_t a_len = strspn(*a + a_zeros, "0123456789");
    size_t b_len = strspn(*b + b_zeros, "0123456789");
    int order;

    if (a_len != b_len) {
        return a_len < b_len ? -1 : 1;
    }
    order = memcmp(*a + a_zeros, *b + b_zeros, a_len);
    if (order != 0) {
        return order;
    }
    *a += a_zeros + a_len;
    *b += b_zeros + b_len;
    if (*zeros == 0) {
        *zeros = (a_zeros > b_zeros) - (a_zeros < b_zeros);
    }
    return 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int batch_name_compare(const char *a, const char *b)
{
    int zeros = 0;

    while (*a != '\0' && *b != '\0') {
        if (is_digit(*a) && is_digit(*b)) {
            int order = compare_numbers(&a, &b, &zeros);

            if (order != 0) {
                return order;
            }
        } else if (*a != *b) {
            break;
        } else {
            a++;
            b++;
        }
    }
    return *a != *b ? (unsigned char)*a - (unsigned char)*b : zeros;
}

static enum df_status add_batch(struct listing *l, const char *name,
                                struct df_error *err)
{
    struct batch_list *list = l->list;
    char **names = grow_array(list->names, &l->batch_capacity, list->count,
                              sizeof names[0]);
    char *copy = pool_copy(l->pool, bytes_of_string(name));

    if (names != NULL) {
        list->names = names;
    }
    if (names == NULL || copy == NULL) {
        return error_no_memory(err);
    }
    list->names[list->count++] = copy;
    return DF_OK;
}

static enum df_status add_notice(struct listing *l, const char *path,
                                 const char *why, struct df_error *err)
{
    struct batch_list *list = l->list;
    struct batch_notice *notices =
        grow_array(list->notices, &l->notice_capacity, list->notice_count,
                   sizeof notices[0]);

    if (notices == NULL) {
        return error_no_memory(err);
    }
    list->notices = notices;
    list->notices[list->notice_count++] =
        (struct batch_notice){ .path = path, .why = why };
    return DF_OK;
}

static enum df_status visit_subdirectory(void *ctx,
                                         const struct walk_entry *entry,
                                         struct df_error *err)
{
    struct look *look = ctx;

    (void)err;
    look->is_batch = look->is_batch || names_mark_a_batch(entry->name);
    look->has_more = look->has_more || entry->kind != WALK_LEFT_OUT;
    return DF_OK;
}

/* Visits what lies in the path that was given. */
static enum df_status visit_entry(void *ctx, const struct walk_entry *entry,
                                  struct df_error *err)
{
    struct listing *l = ctx;

    l->is_batch = l->is_batch || names_mark_a_batch(entry->name);
    switch (entry->kind) {
    case WALK_DIRECTORY:
        return add_batch(l, entry->path, err);
    case WALK_LEFT_OUT:
        return add_notice(l, entry->path, entry->why, err);
    case WALK_FILE:
    default:
        l->has_files = true;
        return add_notice(l, entry->path, "a file beside batches", err);
    }
}

static enum df_status check_subdirectory(const struct listing *l,
                                         const char *name,
                                         struct df_error *err)
{
    struct look look = { 0 };
    struct walk w = { .root = l->path,
                      .pool = l->pool,
                      .visit = visit_subdirectory,
                      .ctx = &look };
    enum df_status status = walk_directory(&w, name, err);

    if (status == DF_OK && !look.is_batch && look.has_more) {
        return refuse(err, l->path, name,
                      "is no batch: it has neither inserted/ nor deleted/ "
                      "in it, and is not empty");
    }
    return status;
}

static int compare_names(const void *a, const void *b)
{
    const char *const *left = a;
    const char *const *right = b;

    return batch_name_compare(*left, *right);
}

static int compare_notices(const void *a, const void *b)
{
    const struct batch_notice *left = a;
    const struct batch_notice *right = b;

    return strcmp(left->path, right->path);
}

/* The path is itself the batch; what was found in it is for its scan. */
static enum df_status list_one(struct listing *l, struct df_error *err)
{
    char *name;
    enum df_status status = names_last(l->pool, l->path, &name, err);

    l->list->count = 0;
    l->list->notice_count = 0;
    return status == DF_OK ? add_batch(l, name, err) : status;
}

static enum df_status list_many(struct listing *l, struct df_error *err)
{
    struct batch_list *list = l->list;
    enum df_status status = DF_OK;

    if (list->count > 0) {
        qsort(list->names, list->count, sizeof list->names[0], compare_names);
    }
    if (list->notice_count > 0) {
        qsort(list->notices, list->notice_count, sizeof list->notices[0],
              compare_notices);
    }
    /* Nothing at all may be a night that is to come; files alone are as a rule
     * the wrong directory. */
    if (list->count == 0 && l->has_files) {
        return refuse(err, l->path, NULL,
                      "has files in it and no batch: a batch is a directory "
                      "with inserted/ or deleted/ in it");
    }
    for (size_t i = 0; i < list->count && status == DF_OK; i++) {
        status = check_subdirectory(l, list->names[i], err);
    }
    return status;
}

static enum df_status set_paths(struct listing *l, struct df_error *err)
{
    struct batch_list *list = l->list;

    list->paths = calloc(list->count + 1, sizeof list->paths[0]);
    if (list->paths == NULL) {
        return error_no_memory(err);
    }
    for (size_t i = 0; i < list->count; i++) {
        list->paths[i] = l->is_batch
                             ? pool_copy(l->pool, bytes_of_string(l->path))
                             : pool_path(l->pool, bytes_of_string(l->path),
                                         bytes_of_string(list->names[i]));
        if (list->paths[i] == NULL) {
            return error_no_memory(err);
        }
    }
    return DF_OK;
}

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static enum df_status list_path(struct listing *l, const char *path,
                                struct df_error *err)
{
    struct walk w = { .pool = l->pool, .visit = visit_entry, .ctx = l };
    enum df_status status;

    l->path = names_trimmed(l->pool, path);
    if (l->path == NULL) {
        return error_no_memory(err);
    }
    w.root = l->path;
    if (is_file(l->path)) {
        return refuse(err, l->path, NULL,
                      "is a file, and a batch is a directory with inserted/ "
                      "or deleted/ in it");
    }
    status = walk_directory(&w, "", err);
    if (status == DF_OK) {
        status = l->is_batch ? list_one(l, err) : list_many(l, err);
    }
    return status == DF_OK ? set_paths(l, err) : status;
}

enum df_status batch_list_open(struct batch_list *list, const char *path,
                               struct df_error *err)
{
    struct listing l = { .list = list };
    enum df_status status;

    *list = (struct batch_list){ 0 };
    l.pool = calloc(1, sizeof *l.pool);
    if (l.pool == NULL) {
        return error_no_memory(err);
    }
    list->owned = l.pool;
    status = list_path(&l, path, err);
    if (status != DF_OK) {
        batch_list_fini(list);
    }
    return status;
}

void batch_list_fini(struct batch_list *list)
{
    struct pool *pool = list->owned;

    if (pool != NULL) {
        pool_fini(pool);
    }
    free(pool);
    free(list->paths);
    free(list->names);
    free(list->notices);
    *list = (struct batch_list){ 0 };
}
