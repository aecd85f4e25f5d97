#include "cli/interrupt.h"

#include <string.h>

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* What the parent made us ignore (nohup, a job in the background) stays
 * ignored. */
static void catch_one(int number, const struct sigaction *action)
{
    struct sigaction old;

    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
        (void)sigaction(number, action, NULL);
    }
}

const volatile sig_atomic_t *interrupt_catch(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    /* A call that is under way is not cut short: the flag is enough. */
    action.sa_flags = SA_RESTART | (int)SA_RESETHAND;
    (void)sigemptyset(&action.sa_mask);
    catch_one(SIGINT, &action);
    catch_one(SIGTERM, &action);
    return &interrupted;
}
