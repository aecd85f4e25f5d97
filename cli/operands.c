#include "cli/operands.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/names.h"

bool operands_is_view(const char *directory)
{
    static const char mark[] = "deltafold";
    char text[sizeof mark - 1];
    char path[PATH_MAX + 16];
    ssize_t len;
    int fd;

    (void)snprintf(path, sizeof path, "%s/current", directory);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    len = read(fd, text, sizeof text);
    (void)close(fd);
    return len == (ssize_t)sizeof text && memcmp(text, mark, sizeof text) == 0;
}

/* The real path of what may not be there yet, but whose directory is. */
static bool find_place(const char *path, char place[PATH_MAX])
{
    char above[PATH_MAX];
    char name[PATH_MAX];
    size_t len = strlen(path);
    size_t begin;

    if (realpath(path, place) != NULL) {
        return true;
    }
    while (len > 1 && path[len - 1] == '/') {
        len--;
    }
    for (begin = len; begin > 0 && path[begin - 1] != '/'; begin--) {
    }
    if (errno != ENOENT || len >= sizeof name) {
        return false;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)begin, path);
    if (realpath(begin == 0 ? "." : name, above) == NULL) {
        return false;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)(len - begin),
                   path + begin);
    return snprintf(place, PATH_MAX, "%s/%s",
                    strcmp(above, "/") == 0 ? "" : above, name) < PATH_MAX;
}

/* Whether any name of a path is one that is left out. */
static bool is_left_out(const char *path)
{
    char name[NAME_MAX + 1];

    while (*path != '\0') {
        size_t len = strcspn(path, "/");

        (void)snprintf(name, sizeof name, "%.*s", (int)len, path);
        if (names_left_out(name) != NULL) {
            return true;
        }
        path += len + (path[len] == '/');
    }
    return false;
}

/* What of a path lies below a directory, where its files would be read; empty
 * for the directory itself, NULL where nothing does. */
static const char *below(const char *directory, const char *path,
                         char place[PATH_MAX])
{
    char outer[PATH_MAX];
    size_t len;

    if (!find_place(path, place) || realpath(directory, outer) == NULL) {
        return NULL;
    }
    len = strlen(outer);
    len -= outer[len - 1] == '/'; /* the root */
    if (strncmp(place, outer, len) != 0 ||
        (place[len] != '/' && place[len] != '\0') ||
        is_left_out(place + len)) {
        return NULL;
    }
    return place + len;
}

static bool lies_within(const char *view, const char *directory)
{
    char place[PATH_MAX];
    const char *rest = below(directory, view, place);

    return rest != NULL && rest[0] != '\0';
}

/* Called for each name in a directory that is not left out; false ends it. */
typedef bool visit_name(const char *directory, const char *name, void *ctx);

/* False also where the directory cannot be read. */
static bool each_name(const char *directory, visit_name *visit, void *ctx)
{
    DIR *dir = opendir(directory);
    const struct dirent *entry;
    bool more = dir != NULL;

    while (more && (entry = readdir(dir)) != NULL) {
        more = names_left_out(entry->d_name) != NULL ||
               visit(directory, entry->d_name, ctx);
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return more;
}

static bool is_section(const char *directory, const char *name, void *ctx)
{
    bool *has_documents = ctx;

    (void)directory;
    *has_documents = *has_documents || strcmp(name, "inserted") == 0 ||
                     strcmp(name, "deleted") == 0;
    return names_mark_a_batch(name);
}

static bool is_batch(const char *directory)
{
    bool has_documents = false;

    return each_name(directory, is_section, &has_documents) && has_documents;
}

static bool is_batch_in(const char *directory, const char *name, void *ctx)
{
    char path[PATH_MAX];
    bool *any = ctx;
    struct stat st;

    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        return true; /* a file beside batches */
    }
    *any = true;
    return is_batch(path);
}

/* A batch, or batches and no other directories. */
static bool holds_batches(const char *directory)
{
    bool any = false;

    return is_batch(directory) ||
           (each_name(directory, is_batch_in, &any) && any);
}

static enum df_status swapped(const char *first, const char *view,
                              struct df_error *err)
{
    struct shown a;
    struct shown b;

    return error_set(
        err, DF_USAGE, "VIEW comes first: '%s' is one, '%s' is not",
        shown(&b, bytes_of_string(view)), shown(&a, bytes_of_string(first)));
}

enum df_status operands_check_path(enum operands kind, const char *view,
                                   const char *path, struct df_error *err)
{
    const char *wanted = kind == OPERANDS_BATCHES ? "batches" : "documents";
    struct shown a;
    struct shown b;

    (void)shown(&a, bytes_of_string(path));
    if (operands_is_view(path)) {
        return error_set(err, DF_USAGE,
                         "'%s' is a view: name a directory of %s", a.text,
                         wanted);
    }
    if (view != NULL && lies_within(view, path)) {
        return error_set(err, DF_USAGE,
                         "the view '%s' lies within '%s': name a directory "
                         "that holds %s alone",
                         shown(&b, bytes_of_string(view)), a.text, wanted);
    }
    if (kind == OPERANDS_DOCUMENTS && holds_batches(path)) {
        return error_set(err, DF_USAGE,
                         "'%s' holds batches, and documents are expected: "
                         "batches are for 'deltafold run', or for 'deltafold "
                         "verify' with --deltas=DIR",
                         a.text);
    }
    return DF_OK;
}

enum df_status operands_check(enum operands kind, char *const *argv, int argc,
                              struct df_error *err)
{
    enum df_status status = DF_OK;
    bool first_is_view;

    if (kind == OPERANDS_NONE || argc < 2) {
        return DF_OK;
    }
    first_is_view = operands_is_view(argv[0]);
    for (int i = 1; status == DF_OK && i < argc; i++) {
        if (!first_is_view && operands_is_view(argv[i])) {
            status = swapped(argv[0], argv[i], err);
        } else if (first_is_view && kind != OPERANDS_WORDS) {
            status = operands_check_path(kind, argv[0], argv[i], err);
        }
    }
    return status;
}

enum df_status operands_check_output(const char *path, char *const *batches,
                                     int count, struct df_error *err)
{
    char place[PATH_MAX];
    struct shown a;
    struct shown b;

    (void)shown(&a, bytes_of_string(path));
    if (operands_is_view(path)) {
        return error_set(err, DF_USAGE,
                         "'%s' is a view: name a directory of its own for "
                         "what is written",
                         a.text);
    }
    for (int i = 0; i < count; i++) {
        if (below(batches[i], path, place) != NULL) {
            return error_set(err, DF_USAGE,
                             "'%s' lies within '%s', where it would be read "
                             "as part of the batches: name a directory "
                             "elsewhere",
                             a.text, shown(&b, bytes_of_string(batches[i])));
        }
    }
    return DF_OK;
}
