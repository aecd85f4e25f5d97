#include "tests/faults/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum mode {
    MODE_COUNT,
    MODE_KILL,
    MODE_PARTIAL,
    MODE_POWERCUT,
    MODE_POWERCUT_RANDOM,
    MODE_ENOSPC,
    MODE_EIO,
    MODE_SHORT,
    MODE_NOMEM
};

static const char *const mode_names[] = {
    "count",  "kill", "partial", "powercut", "powercut-random",
    "enospc", "eio",  "short",   "nomem",
};

/* Set by the constructor, read-only afterwards. */
static struct {
    bool ready;
    enum mode mode;
    bool sticky;
    uint64_t at;
    const char *root;
    const char *attic;
    const char *report;
} plan;

static atomic_uint_fast64_t calls;
static atomic_uint_fast64_t allocations;
static atomic_bool fired;
static uint64_t random_state; /* under the shim's lock */

static enum mode mode_of(const char *name)
{
    for (size_t i = 0; i < sizeof mode_names / sizeof *mode_names; i++) {
        if (strcmp(name, mode_names[i]) == 0) {
            return (enum mode)i;
        }
    }
    abort();
}

static uint64_t number_of(const char *name)
{
    const char *text = getenv(name);

    return text == NULL ? 0 : strtoull(text, NULL, 10);
}

__attribute__((constructor)) static void plan_init(void)
{
    const char *mode = getenv("FAULT_MODE");

    plan.root = getenv("FAULT_ROOT");
    if (mode == NULL || plan.root == NULL) {
        plan.root = NULL;
        return;
    }
    plan.mode = mode_of(mode);
    plan.at = number_of("FAULT_AT");
    plan.sticky = number_of("FAULT_STICKY") == 1;
    plan.attic = getenv("FAULT_ATTIC");
    plan.report = getenv("FAULT_REPORT");
    random_state = number_of("FAULT_SEED") * 1000003 + plan.at;
    if (plan_cuts_power() && plan.attic == NULL) {
        abort();
    }
    /* The program must not see the file systems' shim in what it starts. */
    (void)unsetenv("LD_PRELOAD");
    plan.ready = true;
}

/* After all other destructors, by raw system calls: stdio may be gone. */
__attribute__((destructor(101))) static void plan_fini(void)
{
    char text[100];
    int len;
    long fd;

    if (!plan.ready || plan.report == NULL) {
        return;
    }
    plan.ready = false;
    len =
        snprintf(text, sizeof text, "calls %lu allocations %lu fired %d\n",
                 (unsigned long)calls, (unsigned long)allocations, (int)fired);
    fd = syscall(SYS_openat, AT_FDCWD, plan.report,
                 O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd >= 0) {
        (void)syscall(SYS_write, fd, text, (size_t)len);
        (void)syscall(SYS_close, fd);
    }
}

/* Whether this mode can strike this kind of call, and so counts it. */
static bool mode_counts(enum plan_kind kind)
{
    switch (plan.mode) {
    case MODE_SHORT:
        return kind == PLAN_WRITE;
    case MODE_ENOSPC:
        return kind != PLAN_REMOVE;
    case MODE_COUNT:
    case MODE_KILL:
    case MODE_PARTIAL:
    case MODE_POWERCUT:
    case MODE_POWERCUT_RANDOM:
    case MODE_EIO:
        return true;
    case MODE_NOMEM:
        return false;
    }
    return false;
}

static enum plan_verdict verdict(enum plan_kind kind)
{
    switch (plan.mode) {
    case MODE_COUNT:
    case MODE_NOMEM:
        return PLAN_PASS;
    case MODE_KILL:
        return PLAN_KILL;
    case MODE_PARTIAL:
        return kind == PLAN_WRITE ? PLAN_PARTIAL : PLAN_KILL;
    case MODE_POWERCUT:
        return PLAN_CUT;
    case MODE_POWERCUT_RANDOM:
        return PLAN_CUT_RANDOM;
    case MODE_ENOSPC:
    case MODE_EIO:
        return PLAN_FAIL;
    case MODE_SHORT:
        return PLAN_SHORT;
    }
    return PLAN_PASS;
}

static bool strikes(uint64_t n)
{
    bool hit = plan.sticky ? n >= plan.at : n == plan.at;

    if (hit) {
        atomic_store(&fired, true);
    }
    return hit;
}

enum plan_verdict plan_call(enum plan_kind kind)
{
    if (!plan.ready || !mode_counts(kind)) {
        return PLAN_PASS;
    }
    if (!strikes(atomic_fetch_add(&calls, 1) + 1) || plan.mode == MODE_COUNT) {
        return PLAN_PASS;
    }
    return verdict(kind);
}

bool plan_allocation_fails(void)
{
    if (!plan.ready || (plan.mode != MODE_NOMEM && plan.mode != MODE_COUNT)) {
        return false;
    }
    return strikes(atomic_fetch_add(&allocations, 1) + 1) &&
           plan.mode == MODE_NOMEM;
}

int plan_errno(void)
{
    return plan.mode == MODE_ENOSPC ? ENOSPC : EIO;
}

bool plan_cuts_power(void)
{
    return plan.mode == MODE_POWERCUT || plan.mode == MODE_POWERCUT_RANDOM;
}

const char *plan_root(void)
{
    return plan.ready ? plan.root : NULL;
}

const char *plan_attic(void)
{
    return plan.attic;
}

uint64_t plan_random(uint64_t n)
{
    uint64_t z = (random_state += 0x9E3779B97F4A7C15U);

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return (z ^ (z >> 31)) % n;
}

void plan_die(void)
{
    for (;;) {
        (void)syscall(SYS_kill, getpid(), SIGKILL);
    }
}
