/*
 * toy: as much of the command as crash looks at, so that crash can be tested
 * itself. Its view is a file with the names of the batches, replaced as a
 * whole. TOY_FLAW names a mistake that crash must find:
 *
 *     no-sync     the new file is renamed without having been synced
 *     no-dirsync  the directory is not synced
 *     in-place    names are appended to the file, in two writes
 *     silent      a failed write is not noticed
 *     chatty      a failure is told, but not in the one line that is agreed
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = 1000 };

static bool flaw(const char *name)
{
    const char *set = getenv("TOY_FLAW");

    return set != NULL && strcmp(set, name) == 0;
}

static int fail(int status)
{
    int errnum = errno;

    if (flaw("chatty")) {
        (void)fprintf(stderr, "something went wrong:\n");
    }
    (void)fprintf(stderr, "deltafold: toy: %s\n", strerror(errnum));
    return status;
}

static bool load(char rows[ROOM])
{
    int fd = open("rows", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, rows, ROOM - 1);

    if (len < 0) {
        return false;
    }
    rows[len] = '\0';
    (void)close(fd);
    return true;
}

static bool put(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);

        if (n < 0) {
            return flaw("silent");
        }
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

static bool sync_directory(void)
{
    int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = fd >= 0 && fsync(fd) == 0;

    (void)close(fd);
    return synced;
}

static bool save(const char *rows)
{
    int fd = open("rows.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool saved = fd >= 0 && put(fd, rows, strlen(rows)) &&
                 (flaw("no-sync") || fsync(fd) == 0);

    if (fd >= 0) {
        (void)close(fd);
    }
    return saved && rename("rows.new", "rows") == 0 &&
           (flaw("no-dirsync") || sync_directory());
}

static bool add_in_place(const char *name)
{
    int fd = open("rows", O_WRONLY | O_APPEND | O_CLOEXEC);
    bool added = fd >= 0 && put(fd, name, strlen(name)) && put(fd, "\n", 1) &&
                 fsync(fd) == 0;

    (void)close(fd);
    return added;
}

static int run(const char *batch)
{
    const char *name = strrchr(batch, '/') + 1;
    char rows[ROOM];
    char line[ROOM];

    if (!load(rows)) {
        return fail(5);
    }
    (void)snprintf(line, sizeof line, "%s\n", name);
    if (strstr(rows, line) != NULL) {
        return 0;
    }
    if (flaw("in-place")) {
        return add_in_place(name) ? 0 : fail(6);
    }
    if (strlen(rows) + strlen(line) >= ROOM) {
        return fail(6);
    }
    (void)strncat(rows, line, ROOM - strlen(rows) - 1);
    return save(rows) ? 0 : fail(6);
}

static int show(bool as_json)
{
    char rows[ROOM];

    if (!load(rows)) {
        return fail(5);
    }
    if (as_json) {
        printf("{\"digest\": \"%zu\", \"rows\": %zu, \"batches\": 0}\n",
               strlen(rows), strlen(rows));
    } else {
        (void)fputs(rows, stdout);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        return 2;
    }
    if (strcmp(argv[1], "init") == 0) {
        if (mkdir(argv[2], 0777) != 0 || chdir(argv[2]) != 0) {
            return fail(5);
        }
        return save("") ? 0 : fail(6);
    }
    if (chdir(argv[2]) != 0) {
        return fail(5);
    }
    if (strcmp(argv[1], "run") == 0 && argc > 3) {
        return run(argv[3]);
    }
    return show(strcmp(argv[1], "info") == 0);
}
