/*
 * power.h: the power cut itself. Ends the process, with what durable.h says
 * the disk would have lost.
 */
#ifndef FAULTS_POWER_H
#define FAULTS_POWER_H

#include <stdbool.h>

/* at_random: see durable_cut. Call under the shim's lock. */
_Noreturn void power_off(bool at_random);

#endif
