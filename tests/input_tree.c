#include "tests/input_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *what, const char *path)
{
    (void)fprintf(stderr, "%s %s: %s\n", what, path, strerror(errno));
    abort();
}

void input_tree_open(char path[INPUT_TREE_PATH])
{
    const char *base = getenv("TMPDIR");

    (void)snprintf(path, INPUT_TREE_PATH, "%s/deltafold-test-XXXXXX",
                   base == NULL || base[0] == '\0' ? "/tmp" : base);
    if (mkdtemp(path) == NULL) {
        fail("mkdtemp", path);
    }
}

void input_tree_remove(const char *path)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        (void)execlp("rm", "rm", "-rf", "--", path, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fail("rm", path);
    }
}

const char *input_tree_path(const char *root, const char *path)
{
    static char full[2 * INPUT_TREE_PATH];

    (void)snprintf(full, sizeof full, "%s/%s", root, path);
    return full;
}

static void make_directories(char *full)
{
    for (char *slash = strchr(full + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(full, 0777) != 0 && errno != EEXIST) {
            fail("mkdir", full);
        }
        *slash = '/';
    }
}

void input_tree_directory(const char *root, const char *path)
{
    char full[2 * INPUT_TREE_PATH];

    (void)snprintf(full, sizeof full, "%s/%s/", root, path);
    make_directories(full);
}

void input_tree_file(const char *root, const char *path, const void *data,
                     size_t len)
{
    char full[2 * INPUT_TREE_PATH];
    FILE *f;

    (void)snprintf(full, sizeof full, "%s/%s", root, path);
    make_directories(full);
    /* Writing over a file makes some file systems flush it to disk. */
    (void)unlink(full);
    f = fopen(full, "wb");
    if (f == NULL || (len > 0 && fwrite(data, 1, len, f) != len) ||
        fclose(f) != 0) {
        fail("write", full);
    }
}

void input_tree_text(const char *root, const char *path, const char *text)
{
    input_tree_file(root, path, text, strlen(text));
}

void input_tree_link(const char *root, const char *path, const char *target)
{
    const char *full = input_tree_path(root, path);

    if (symlink(target, full) != 0) {
        fail("symlink", full);
    }
}
