#include "tests/faults/process.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void give_up(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    exit(EXIT_FAILURE);
}

char *text(const char *format, ...)
{
    va_list args;
    char *s;

    va_start(args, format);
    if (vasprintf(&s, format, args) < 0) {
        give_up("no memory");
    }
    va_end(args);
    return s;
}

/* In the child: the environment, the three descriptors, the program. */
static void become(const char *const *argv, const char *const *env, int out,
                   int err)
{
    char **words = (char **)(uintptr_t)argv;

    for (; env != NULL && *env != NULL; env++) {
        (void)putenv((char *)(uintptr_t)*env);
    }
    if (dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0) {
        (void)execv(words[0], words);
    }
    _exit(127);
}

static int sheet(void)
{
    int fd = memfd_create("output", MFD_CLOEXEC);

    if (fd < 0) {
        give_up("memfd_create: %s", strerror(errno));
    }
    return fd;
}

static char *sheet_read(int fd)
{
    off_t len = lseek(fd, 0, SEEK_END);
    char *s = malloc((size_t)len + 1);

    if (s == NULL || pread(fd, s, (size_t)len, 0) != len) {
        give_up("cannot read what the program said");
    }
    s[len] = '\0';
    (void)close(fd);
    return s;
}

/* Waits for the child, and for what it left behind: a power cut is made by a
 * child of its own (power.c). */
static int reap(pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            give_up("waitpid: %s", strerror(errno));
        }
    }
    while (waitpid(-1, NULL, 0) > 0) {
    }
    return status;
}

static void run(struct outcome *o, const char *const *argv,
                const char *const *env, const uint64_t *kill_after)
{
    int out = sheet();
    int err = sheet();
    int status;
    pid_t child;

    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    child = fork();
    if (child == 0) {
        become(argv, env, out, err);
    }
    if (child < 0) {
        give_up("fork: %s", strerror(errno));
    }
    if (kill_after != NULL) {
        (void)usleep((useconds_t)*kill_after);
        (void)kill(child, SIGKILL);
    }
    status = reap(child);
    o->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    o->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    o->out = sheet_read(out);
    o->err = sheet_read(err);
    if (o->exit_code == 127) {
        give_up("cannot run %s", argv[0]);
    }
}

void process_run(struct outcome *o, const char *const *argv,
                 const char *const *env)
{
    run(o, argv, env, NULL);
}

void process_run_and_kill(struct outcome *o, const char *const *argv,
                          uint64_t microseconds)
{
    run(o, argv, NULL, &microseconds);
}

void outcome_fini(struct outcome *o)
{
    free(o->out);
    free(o->err);
    *o = (struct outcome){ 0 };
}
