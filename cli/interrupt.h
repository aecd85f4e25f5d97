/*
 * interrupt.h: SIGINT and SIGTERM as a flag that long work looks at.
 *
 * interrupt_catch is called once a view is open; before that, and from the
 * second signal on, they end the process as usual - which the state survives
 * like any crash.
 */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <signal.h>

const volatile sig_atomic_t *interrupt_catch(void);

#endif
