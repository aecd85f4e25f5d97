/*
 * plan.h: which call fails, and how. Read once from the environment; asked
 * before every system call and every allocation that the shim sees.
 *
 *   FAULT_ROOT    directory, absolute and canonical: only files below count
 *   FAULT_MODE    count     nothing happens; calls are counted
 *                 kill      SIGKILL before the n-th call
 *                 partial   SIGKILL after a random part of the n-th call, if
 *                           it writes; else as kill
 *                 powercut  before the n-th call all that was not synced is
 *                           taken back, then SIGKILL; where the program
 *                           ends before, it is taken back then
 *                 powercut-random   the n-th call is begun, then a random
 *                           part of what was not synced is taken back
 *                 enospc, eio   the n-th call fails
 *                 short     the n-th write writes half and says so
 *                 nomem     the n-th allocation fails
 *   FAULT_AT      n, from 1
 *   FAULT_STICKY  1: all calls from the n-th on fail
 *   FAULT_SEED    of what is random
 *   FAULT_ATTIC   directory on the file system of FAULT_ROOT, outside of it:
 *                 where powercut keeps what was unlinked or renamed over
 *   FAULT_REPORT  file that is written when the process ends by itself:
 *                 "calls N allocations N fired 0|1"
 *
 * Every function may be called from any thread, and before the program's
 * own constructors.
 */
#ifndef FAULTS_PLAN_H
#define FAULTS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a call does; not every mode can strike every kind. */
enum plan_kind {
    PLAN_WRITE,  /* write, pwrite, writev ...: can be short or partial */
    PLAN_GROW,   /* ftruncate, fallocate, creations: can find a full disk */
    PLAN_SYNC,   /* fsync, fdatasync, msync: can find a full disk */
    PLAN_CHANGE, /* rename, link, mkdir: can find a full disk */
    PLAN_REMOVE  /* unlink, rmdir: cannot find a full disk */
};

enum plan_verdict {
    PLAN_PASS,      /* do it */
    PLAN_FAIL,      /* return -1 with errno = plan_errno() */
    PLAN_SHORT,     /* write half of it */
    PLAN_KILL,      /* die at once */
    PLAN_PARTIAL,   /* write a random part, die */
    PLAN_CUT,       /* take back everything unsynced, die */
    PLAN_CUT_RANDOM /* do it unsynced, take back a random part, die */
};

enum plan_verdict plan_call(enum plan_kind kind);
bool plan_allocation_fails(void);
int plan_errno(void);

/* Whether what is not synced must be remembered. */
bool plan_cuts_power(void);

/* NULL while the environment asks for nothing. */
const char *plan_root(void);
const char *plan_attic(void);

/* Uniform in 0 .. n-1, from the seed; n > 0. Call under the shim's lock. */
uint64_t plan_random(uint64_t n);

_Noreturn void plan_die(void);

#endif
