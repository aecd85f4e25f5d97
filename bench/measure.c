/*
 * measure.c: how long a command takes, from its start to its end.
 *
 *     bench_measure [-n RUNS] [-o FILE] COMMAND [ARGUMENT ...]
 *
 * Runs COMMAND that many times (1), one after the other, with nothing on
 * standard input and with standard output in FILE (/dev/null). Prints a line
 * per run: wall clock and processor time in microseconds, and the peak
 * memory in KiB of the largest process, children included. Ends with 1, and
 * without a line for it, when COMMAND does not end with 0: a time is only
 * worth something when the work was done.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUNS_MAX = 1000000 };

struct usage {
    int64_t wall_us;
    int64_t processor_us;
    long peak_kib;
};

static _Noreturn void fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "bench_measure: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static int64_t now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t time_us(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

/* Where the command's input comes from and its output goes. */
static void redirect(posix_spawn_file_actions_t *actions, const char *output)
{
    int flags = O_WRONLY | O_CREAT | O_TRUNC;

    if (posix_spawn_file_actions_init(actions) != 0 ||
        posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null",
                                         O_RDONLY, 0) != 0 ||
        posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, output, flags,
                                         0644) != 0) {
        fail(output, "out of memory");
    }
}

static void check(const char *command, int status)
{
    char why[64];

    if (WIFSIGNALED(status)) {
        (void)snprintf(why, sizeof why, "ended by signal %d",
                       WTERMSIG(status));
        fail(command, why);
    }
    if (WEXITSTATUS(status) != 0) {
        (void)snprintf(why, sizeof why, "ended with %d", WEXITSTATUS(status));
        fail(command, why);
    }
}

static struct usage run(char **command,
                        const posix_spawn_file_actions_t *actions)
{
    struct rusage used;
    int status;
    pid_t child;
    int64_t start = now_us();
    int errnum =
        posix_spawnp(&child, command[0], actions, NULL, command, environ);

    if (errnum != 0) {
        fail(command[0], strerror(errnum));
    }
    while (wait4(child, &status, 0, &used) < 0) {
        if (errno != EINTR) {
            fail(command[0], strerror(errno));
        }
    }
    struct usage usage = {
        .wall_us = now_us() - start,
        .processor_us = time_us(used.ru_utime) + time_us(used.ru_stime),
        .peak_kib = used.ru_maxrss,
    };
    check(command[0], status);
    return usage;
}

static unsigned long parse_runs(const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    if (*end != '\0' || n == 0 || n > RUNS_MAX) {
        fail(text, "not a number of runs");
    }
    return n;
}

int main(int argc, char **argv)
{
    posix_spawn_file_actions_t actions;
    const char *output = "/dev/null";
    unsigned long runs = 1;
    int option;

    while ((option = getopt(argc, argv, "+n:o:")) != -1) {
        if (option == 'n') {
            runs = parse_runs(optarg);
        } else if (option == 'o') {
            output = optarg;
        } else {
            fail("usage", "bench_measure [-n RUNS] [-o FILE] COMMAND ...");
        }
    }
    if (optind == argc) {
        fail("usage", "bench_measure [-n RUNS] [-o FILE] COMMAND ...");
    }
    redirect(&actions, output);
    for (unsigned long i = 0; i < runs; i++) {
        struct usage u = run(argv + optind, &actions);

        (void)printf("%" PRId64 " %" PRId64 " %ld\n", u.wall_us,
                     u.processor_us, u.peak_kib);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
