#include "tests/faults/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/faults/process.h"

char *tree_temporary(void)
{
    const char *base = getenv("TMPDIR");
    char *template = text("%s/deltafold-XXXXXX", base == NULL ? "/tmp" : base);
    char *path;

    if (mkdtemp(template) == NULL) {
        give_up("mkdtemp %s: %s", template, strerror(errno));
    }
    path = realpath(template, NULL);
    if (path == NULL) {
        give_up("realpath %s: %s", template, strerror(errno));
    }
    free(template);
    return path;
}

static void make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            give_up("mkdir %s: %s", path, strerror(errno));
        }
        *slash = '/';
    }
}

void tree_make(const char *path)
{
    char *copy = text("%s/", path);

    make_parents(copy);
    free(copy);
}

void tree_write(const char *path, const char *content)
{
    char *copy = text("%s", path);
    FILE *f;

    make_parents(copy);
    free(copy);
    f = fopen(path, "w");
    if (f == NULL || fputs(content, f) < 0 || fclose(f) != 0) {
        give_up("write %s: %s", path, strerror(errno));
    }
}

static void copy_file(const char *from, const char *to, off_t len)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (in < 0 || out < 0) {
        give_up("copy %s to %s: %s", from, to, strerror(errno));
    }
    while (len > 0) {
        ssize_t n = sendfile(out, in, NULL, (size_t)len);

        if (n <= 0) {
            give_up("copy %s to %s: %s", from, to, strerror(errno));
        }
        len -= n;
    }
    (void)close(in);
    (void)close(out);
}

static void copy_entry(const char *from, const char *to)
{
    struct stat st;

    if (lstat(from, &st) != 0) {
        give_up("stat %s: %s", from, strerror(errno));
    }
    if (S_ISDIR(st.st_mode)) {
        tree_copy(from, to);
    } else if (S_ISREG(st.st_mode)) {
        copy_file(from, to, st.st_size);
    }
}

void tree_copy(const char *from, const char *to)
{
    DIR *dir = opendir(from);
    struct dirent *entry;

    if (dir == NULL || mkdir(to, 0777) != 0) {
        give_up("copy %s to %s: %s", from, to, strerror(errno));
    }
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0) {
            char *source = text("%s/%s", from, entry->d_name);
            char *target = text("%s/%s", to, entry->d_name);

            copy_entry(source, target);
            free(source);
            free(target);
        }
    }
    (void)closedir(dir);
}

static int remove_one(const char *path, const struct stat *st, int kind,
                      struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

void tree_remove(const char *path)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 &&
        errno != ENOENT) {
        give_up("remove %s: %s", path, strerror(errno));
    }
}

char *tree_read(const char *path)
{
    FILE *f = fopen(path, "r");
    char *content = NULL;
    size_t room = 0;

    if (f == NULL) {
        return NULL;
    }
    if (getdelim(&content, &room, '\0', f) < 0) {
        free(content);
        content = text("%s", "");
    }
    (void)fclose(f);
    return content;
}
