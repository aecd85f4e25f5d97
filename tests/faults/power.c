/*
 * Files must change under no running thread: one that reads a map of a file
 * that is cut would see SIGBUS, which no power cut brings. So the process
 * forks, stops with all its threads, and the child takes back what was not
 * synced and kills it. Whoever waits for the process should also reap that
 * child (process.c does).
 */
#include "tests/faults/power.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/faults/durable.h"
#include "tests/faults/plan.h"

/* Whether /proc says T for this thread: "1234 (name) T ..." */
static bool thread_stopped(const char *tasks, const char *thread)
{
    char path[128];
    char stat[256];
    const char *state;
    ssize_t len;
    int fd;

    (void)snprintf(path, sizeof path, "%s/%.20s/stat", tasks, thread);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return true; /* it is gone */
    }
    len = read(fd, stat, sizeof stat - 1);
    (void)close(fd);
    stat[len < 0 ? 0 : len] = '\0';
    state = strrchr(stat, ')');
    return state == NULL || state[2] == 'T';
}

static bool all_stopped(pid_t process)
{
    char tasks[64];
    bool stopped = true;
    struct dirent *thread;
    DIR *dir;

    (void)snprintf(tasks, sizeof tasks, "/proc/%d/task", (int)process);
    dir = opendir(tasks);
    if (dir == NULL) {
        abort();
    }
    while (stopped && (thread = readdir(dir)) != NULL) {
        stopped =
            thread->d_name[0] == '.' || thread_stopped(tasks, thread->d_name);
    }
    (void)closedir(dir);
    return stopped;
}

void power_off(bool at_random)
{
    pid_t process = getpid();
    pid_t child = fork();

    if (child < 0) {
        abort();
    }
    if (child == 0) {
        while (!all_stopped(process)) {
            (void)usleep(50);
        }
        durable_cut(at_random);
        (void)kill(process, SIGKILL);
        (void)syscall(SYS_exit_group, 0);
    }
    for (;;) {
        (void)syscall(SYS_kill, process, SIGSTOP);
    }
}
